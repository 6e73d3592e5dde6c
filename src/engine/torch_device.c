#include "engine/torch_device.h"

#include "engine/host_arena.h"

#include <string.h>

stk_status stk__torch_device_find(const stk__torch_api *api, const char *word, stk__torch_device *device,
                                  stk_error *error)
{
    if (word && strcmp(word, "auto") != 0 && strcmp(word, "cpu") != 0) {
        stk__fail(error, STK_ERROR_UNSUPPORTED, "the engine 'torch' of this version cannot use '%s' yet",
                  word);
        stk__error_hint(error, "run.device=cpu trains on the CPU");
        return STK_ERROR_UNSUPPORTED;
    }
    *device = (stk__torch_device){.type = api->aoti_torch_device_type_cpu(), .index = 0};
    return STK_OK;
}

const char *stk__torch_device_name(const stk__torch_device *device)
{
    (void)device;
    return "CPU";
}

stk_status stk__torch_arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                   stk_error *error)
{
    return stk__host_arena_create(engine, size_bytes, arena, error);
}

void stk__torch_arena_destroy(stk__arena *arena)
{
    stk__host_arena_destroy(arena);
}
