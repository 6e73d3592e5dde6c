#include "engine/host_arena.h"

#include "core/memory.h"

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

void stk__host_arena_destroy(stk__arena *arena)
{
    stk__unmap(arena->memory, arena->size_bytes);
    stk__free(arena);
}
