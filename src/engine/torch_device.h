/* Where the engine torch keeps its tensors: the one place that tells the host from a GPU. */
#ifndef STK_ENGINE_TORCH_DEVICE_H
#define STK_ENGINE_TORCH_DEVICE_H

#include "engine/engine.h"
#include "engine/torch_api.h"

typedef struct stk__torch_device {
    int32_t type, index; /* as PyTorch counts them */
} stk__torch_device;

/* word: "auto", "cpu", "cuda:0"; NULL: "auto". GPUs are refused with the reason, so far always: PyTorch has
 * no CUDA, there is no driver or no GPU, or this version does not train on it. */
stk_status stk__torch_device_find(const stk__torch_api *api, const char *word, stk__torch_device *device,
                                  stk_error *error);
/* One sentence why, one what to do. */
stk_status stk__torch_device_refuse(const char *word, const char *why, const char *hint, stk_error *error);
/* "CPU" */
const char *stk__torch_device_name(const stk__torch_device *device);

/* As stk__engine_ops has them. */
stk_status stk__torch_arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                   stk_error *error);
void stk__torch_arena_destroy(stk__arena *arena);

#endif
