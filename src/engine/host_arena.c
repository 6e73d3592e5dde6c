/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas in host memory. Pages are requested from the kernel at once and on all threads
 * (MADV_POPULATE_WRITE, else by touching them), so that the first step does not pay for page faults. */
#include "engine/host_arena.h"

#include "core/memory.h"
#include "core/pool.h"

#include <sys/mman.h>

enum { PIECE_BYTES = 8 << 20, PAGE_BYTES = 4096 };

/* Many pages at once, where the kernel can (since 5.14). */
static bool populate(char *memory, size_t size_bytes)
{
#ifdef MADV_POPULATE_WRITE
    return madvise(memory, size_bytes, MADV_POPULATE_WRITE) == 0;
#else
    (void)memory, (void)size_bytes;
    return false;
#endif
}

static void back_piece(void *context, size_t item, int worker)
{
    (void)worker;
    const stk__arena *arena = context;
    char *memory = (char *)arena->memory + item * PIECE_BYTES;
    const size_t left = arena->size_bytes - item * PIECE_BYTES;
    const size_t size_bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
    if (populate(memory, size_bytes)) return;
    for (size_t at = 0; at < size_bytes; at += PAGE_BYTES)
        *(volatile char *)(memory + at) = 0;
}

/* Asks for all pages now, on all threads. Otherwise the first step meets a fault in each of them; and where
 * it reads before it writes, as an optimiser does, two, and the other CPUs are interrupted for it. */
static void back(stk__arena *arena)
{
    const size_t pieces = (arena->size_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    stk__pool_run(&(stk__pool_job){.run = back_piece, .context = arena, .count = pieces});
}

stk_status stk__host_arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                  stk_error *error)
{
    stk__arena *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "an arena");
    *made = (stk__arena){.engine = engine, .memory = stk__map(size_bytes), .size_bytes = size_bytes};
    if (!made->memory) {
        stk__free(made);
        return stk__fail_memory(error, size_bytes, "tensors");
    }
    *arena = made;
    return STK_OK;
}

stk_status stk__host_arena_create_backed(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                         stk_error *error)
{
    STK__TRY(stk__host_arena_create(engine, size_bytes, arena, error));
    back(*arena);
    (*arena)->backed = true;
    return STK_OK;
}

void stk__host_arena_destroy(stk__arena *arena)
{
    stk__unmap(arena->memory, arena->size_bytes);
    stk__free(arena);
}
