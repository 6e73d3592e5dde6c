#include "engine/host_arena.h"

#include "core/memory.h"
#include "core/pool.h"

#include <sys/mman.h>

#ifdef MADV_POPULATE_WRITE

enum { PIECE_BYTES = 8 << 20 };

static void back_piece(void *context, size_t item, int worker)
{
    (void)worker;
    const stk__arena *arena = context;
    const size_t at = item * PIECE_BYTES, left = arena->size_bytes - at;
    /* a kernel that cannot gives them one by one, at the first use of each */
    (void)madvise((char *)arena->memory + at, left < PIECE_BYTES ? left : PIECE_BYTES, MADV_POPULATE_WRITE);
}

/* Asks for all pages at once, on all threads. Otherwise the first step meets a fault in each of them; and
 * where it reads before it writes, as an optimiser does, two, and the other CPUs are interrupted for it. */
static void back(stk__arena *arena)
{
    const size_t pieces = (arena->size_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    stk__pool_run(&(stk__pool_job){.run = back_piece, .context = arena, .count = pieces});
}

#else

static void back(stk__arena *arena)
{
    (void)arena;
}

#endif

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
    back(made);
    *arena = made;
    return STK_OK;
}

void stk__host_arena_destroy(stk__arena *arena)
{
    stk__unmap(arena->memory, arena->size_bytes);
    stk__free(arena);
}
