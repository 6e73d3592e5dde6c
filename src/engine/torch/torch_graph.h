/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs of the engine torch, by PyTorch's own at::cuda::CUDAGraph: what operators allocate while a
 * stream is captured comes from a memory pool that belongs to the graph, which only that class can ask for.
 *
 * The class is C++ and its members throw. torch_parallel_for, of PyTorch's C interface, calls a C function
 * and turns exceptions into results: every call of a member goes through it (tables to unwind our frames are
 * there by default, as for all code of the platforms that PyTorch runs on). */
#ifndef STK_ENGINE_TORCH_GRAPH_H
#define STK_ENGINE_TORCH_GRAPH_H

#include "engine/engine.h"
#include "engine/torch/torch_api.h"

/* std::pair of two numbers, which is passed and returned like this; zeros: a new pool. */
typedef struct stk__torch_pool {
    unsigned long long first, second;
} stk__torch_pool;

typedef struct stk__torch_graph_api {
    int32_t (*set_stream)(void *stream, int32_t device_index); /* of the calling thread */
    int32_t (*pool_stream)(bool high_priority, int32_t device_index, void **stream);
    int32_t (*enter_device)(int32_t device_index, void **entered); /* the thread's current device */
    int32_t (*leave_device)(void *entered);
    int32_t (*guard)(int64_t begin, int64_t end, int64_t grain,
                     void (*call)(int64_t begin, int64_t end, void *context), void *context);
    void (*construct)(void *graph, bool keep);
    void (*destruct)(void *graph);
    void (*begin)(void *graph, stk__torch_pool pool, int mode);
    void (*end)(void *graph);
    void (*replay)(void *graph);
    stk__torch_pool (*pool)(void *graph);
    const char *missing; /* the first call that this PyTorch does not have; NULL: all are there */
} stk__torch_graph_api;

/* cuda, host: PyTorch's libraries, open. */
void stk__torch_graph_api_find(stk__torch_graph_api *calls, void *cuda, void *host);

/* As stk__engine_ops has them. */
stk_status stk__torch_graph_begin(stk__engine *engine, stk_error *error);
stk_status stk__torch_graph_end(stk__engine *engine, stk__graph **graph, stk_error *error);
stk_status stk__torch_graph_launch(stk__graph *graph, stk_error *error);
void stk__torch_graph_destroy(stk__graph *graph);

#endif
