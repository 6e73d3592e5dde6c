/* SPDX-License-Identifier: Apache-2.0 */
/* Device of the engine torch: the one place that distinguishes host and GPU. */
#ifndef STK_ENGINE_TORCH_DEVICE_H
#define STK_ENGINE_TORCH_DEVICE_H

#include "engine/torch/torch_cuda.h"

typedef struct stk__torch_device {
    int32_t type, index;      /* as PyTorch counts them */
    stk__torch_cuda *cuda;    /* NULL: the host, or dry */
    bool dry_gpu;             /* dry: it would be a GPU */
    char why[STK_ENGINE_WHY]; /* "auto" chose the host although there is a GPU: the reason; else empty */
} stk__torch_device;

/* word: "auto", "cpu", "cuda:0"; NULL: "auto". Is there such a device, as far as that can be known without
 * PyTorch: a driver, a GPU? */
stk_status stk__torch_device_check(const char *word, stk_error *error);

/* A word that was checked; "auto" is the first GPU if PyTorch can use it. GPUs are refused with the reason:
 * PyTorch has no CUDA, or cannot use the GPU. */
stk_status stk__torch_device_open(const stk__torch_api *api, const char *word, stk__torch_device *device,
                                  stk_error *error);
/* The same for a plan: nothing is opened, and a GPU that the driver lists counts as one that PyTorch can use.
 */
void stk__torch_device_plan(const char *word, stk__torch_device *device);
void stk__torch_device_close(stk__torch_device *device);
/* Operators run on CPUs, by oneDNN, and arenas cost nothing where they are not used. */
static inline bool stk__torch_device_is_host(const stk__torch_device *device)
{
    return !device->cuda && !device->dry_gpu;
}
/* why: the reason; hint: what helps. */
stk_status stk__torch_device_refuse(const char *word, const char *why, const char *hint, stk_error *error);
/* "CPU", "cuda:0" */
const char *stk__torch_device_name(const stk__torch_device *device);
/* Does the driver list a GPU that can be used? Costs nothing where there is no driver. false: why not, where
 * there is a driver that fails or a GPU that is too old; empty, where there is none. */
bool stk__torch_device_lists_gpu(char why[STK_ENGINE_WHY]);

/* As stk__engine_ops has them. */
stk_status stk__torch_arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                   stk_error *error);
void stk__torch_arena_destroy(stk__arena *arena);
stk_status stk__torch_tensor_map(stk__tensor *tensor, stk_tensor *view, stk_error *error);
stk_status stk__torch_tensor_map_new(stk__tensor *tensor, stk_tensor *view, stk_error *error);
stk_status stk__torch_tensor_unmap(stk__tensor *tensor, const stk_tensor *view, bool changed,
                                   stk_error *error);
stk_status stk__torch_fetch_begin(stk__tensor *tensor, stk_tensor *view, stk_error *error);
stk_status stk__torch_fetch_ask(stk__tensor *tensor, const stk_tensor *view, bool *there, stk_error *error);
stk_status stk__torch_fetch_wait(stk__tensor *tensor, const stk_tensor *view, stk_error *error);
stk_status stk__torch_sync(stk__engine *engine, stk_error *error);
void stk__torch_mark(stk__engine *engine);
bool stk__torch_is_busy(const stk__engine *engine);
bool stk__torch_stream(const stk__engine *engine, void **stream);
stk__engine_memory stk__torch_measure(stk__engine *engine);

#endif
