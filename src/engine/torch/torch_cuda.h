/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch on an NVIDIA GPU: what the engine torch does itself there, which is little. Operators are the same
 * as on the CPU; arenas are PyTorch's own memory; the host sees tensors through pinned memory, copied on
 * PyTorch's stream, so that everything is in order without a wait. Driver calls are those of
 * device/cuda, in the primary context, which is PyTorch's too. */
#ifndef STK_ENGINE_TORCH_CUDA_H
#define STK_ENGINE_TORCH_CUDA_H

#include "device/cuda/cuda_device.h"
#include "engine/engine.h"
#include "engine/torch/torch_api.h"
#include "engine/torch/torch_graph.h"

enum { STK_TORCH_STAGES = 32 };

/* Pinned memory between a tensor and the host. */
typedef struct stk__torch_stage {
    stk__cuda_pinned memory;
    stk__cu_handle over; /* after the copy that uses it; NULL: not made yet */
    bool lent;           /* it is mapped */
    bool flying;         /* a copy may still use it */
} stk__torch_stage;

/* Calls of PyTorch's that only its CUDA part has or needs. */
typedef struct stk__torch_cuda_api {
    int32_t (*get_stream)(int32_t device_index, void **stream);
    int32_t (*get_data)(stk__torch_handle tensor, void **data);
    int32_t (*device_type)(void);
    /* C++, but plain: at::globalContext() and members of it. NULL: TF32 stays as it is. */
    void *(*context)(void);
    void (*allow_products)(void *context, bool allow);
    void (*allow_convolutions)(void *context, bool allow);
    void (*set_benchmark)(void *context, bool on);
    void (*set_deterministic)(void *context, bool on);
    void (*set_deterministic_all)(void *context, bool on, bool only_warn);
    void (*set_precision)(void *context, int backend, int op, int precision); /* NULL: it has only the old */
    stk__torch_graph_api graphs;
} stk__torch_cuda_api;

/* torch_cuda_api.c. Before the first operator: loads PyTorch's CUDA part, if a GPU could ever be used. */
void stk__torch_cuda_load(const stk__torch_api *api);
/* Was this PyTorch built for CUDA? */
bool stk__torch_cuda_is_built(const stk__torch_api *api);
/* STK_ERROR_UNSUPPORTED: it cannot be opened, or something is missing in it. */
stk_status stk__torch_cuda_api_open(stk__torch_cuda_api *calls, const stk__torch_api *api, stk_error *error);

typedef struct stk__torch_cuda {
    stk__cuda driver; /* its stream is PyTorch's */
    stk__torch_cuda_api api;
    stk__torch_pool pool;  /* of all graphs; zeros: none yet */
    int graph_count;       /* graphs that use it */
    stk__graph *capturing; /* what is queued goes there; NULL: to the GPU */
    bool own_stream;       /* threads must set it as their current stream */
    stk__torch_stage stages[STK_TORCH_STAGES];
    stk__cu_handle behind; /* after what was queued at the last mark; NULL: none yet */
    long waits, fetches;   /* so far: how often the host waited for the stream, and copied from the GPU */
    int64_t first_free_bytes, least_free_bytes; /* -1: unknown */
    char half_why[96];                          /* see stk__engine_info */
} stk__torch_cuda;

/* index: as the driver counts. STK_ERROR_UNSUPPORTED: why PyTorch cannot use it, and what to do. */
stk_status stk__torch_cuda_open(stk__torch_cuda **cuda, const stk__torch_api *api, int index,
                                stk_error *error);
void stk__torch_cuda_close(stk__torch_cuda **cuda); /* waits for copies; accepts NULL inside */

/* For graphs: work on a stream that can be captured, which the default one cannot, if PyTorch has what it
 * takes; graphs and graphs_why of info. Before anything is queued. */
void stk__torch_cuda_use_graphs(stk__torch_cuda *cuda, stk__engine_info *info);
/* Every thread, before it calls operators: PyTorch has a current stream for each. */
void stk__torch_cuda_prepare_thread(const stk__torch_cuda *cuda);

/* Products of f32 as TF32, or not; returns whether they are. */
bool stk__torch_cuda_set_tf32(stk__torch_cuda *cuda, bool allow);

/* How cuDNN's algorithms are chosen: measured, or by its rules; among those that are deterministic alone, as
 * of all other operators where PyTorch has such ones. Returns false: this PyTorch does not let it be set. */
bool stk__torch_cuda_set_algorithms(stk__torch_cuda *cuda, bool measured, bool deterministic);

/* bf16, f16 and half_why of info, which lives no longer than cuda: what this GPU gains by 16 bits. */
void stk__torch_cuda_tell_half(stk__torch_cuda *cuda, stk__engine_info *info);

/* The kernels of the kernel source. */
stk_status stk__torch_cuda_build(stk__torch_cuda *cuda, stk_error *error);

/* As stk__engine_ops has them, for tensors at an address of the GPU. */
stk_status stk__torch_cuda_map(stk__torch_cuda *cuda, const stk__tensor *tensor, stk_tensor *view,
                               stk_error *error);
stk_status stk__torch_cuda_map_new(stk__torch_cuda *cuda, stk_tensor *view, stk_error *error);
stk_status stk__torch_cuda_unmap(stk__torch_cuda *cuda, const stk__tensor *tensor, const stk_tensor *view,
                                 bool changed, stk_error *error);
/* A copy of the tensor into view, begun now: is it there, and until it is. */
stk_status stk__torch_cuda_fetch(stk__torch_cuda *cuda, const stk__tensor *tensor, stk_tensor *view,
                                 stk_error *error);
stk_status stk__torch_cuda_ask(stk__torch_cuda *cuda, const stk_tensor *view, bool *there, stk_error *error);
stk_status stk__torch_cuda_wait(stk__torch_cuda *cuda, const stk_tensor *view, stk_error *error);
stk_status stk__torch_cuda_sync(stk__torch_cuda *cuda, stk_error *error);
void stk__torch_cuda_mark(stk__torch_cuda *cuda);
bool stk__torch_cuda_is_busy(stk__torch_cuda *cuda);
stk__engine_memory stk__torch_cuda_measure(stk__torch_cuda *cuda);

#endif
