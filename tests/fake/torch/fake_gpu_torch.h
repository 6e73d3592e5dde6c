/* SPDX-License-Identifier: Apache-2.0 */
/* A libtorch_cpu.so (and a libtorch_cuda.so, which only reports to it) that has a GPU where there is none:
 * device type CUDA is PyTorch's CPU backend on memory of the fake driver (tests/fake/cuda), and the
 * current stream is one of its streams. The real library, in the folder that STOKER_FAKE_TORCH_REAL names,
 * computes. It is stricter than PyTorch on a CPU can be:
 *
 *   - memory that is no device memory is refused as CUDA memory; fresh memory is full of poison
 *   - tensors of host and GPU in one call are refused, but for numbers where PyTorch takes them; those of two
 *     GPUs always
 *   - an operator waits for what the stream has to do before it; what nobody ordered is seen as poison
 *   - calls after which PyTorch would wait for the GPU are counted
 *   - what only PyTorch's CUDA operators refuse is refused, and they compute as CUDA's do
 * (fake_gpu_torch_rules.c)
 *   - a CUDA part that is loaded after the first operator is never found
 *   - a lost context makes every operator fail
 *
 * STOKER_FAKE_TORCH_STREAM=own: the current stream is not the default one; none: there is none.
 * STOKER_FAKE_TORCH_SHORT=N: from the N-th operator on (the first is 1) PyTorch is out of memory.
 * STOKER_FAKE_TORCH_WRONG=evaluation|frozen: batch norm by running statistics is wrong, forward or backward;
 * bf16|fp16: there are no such tensors on a GPU.
 * STOKER_FAKE_TORCH_COUNTS=FILE: operators, syncs and launches of graphs are told there at the end.
 * STOKER_FAKE_TORCH_TRACE=FILE: a JSON line for each operator on a GPU: what, start_ns, end_ns
 * (stk__clock_ns).
 */
#ifndef FAKE_GPU_TORCH_H
#define FAKE_GPU_TORCH_H

#include "engine/torch/torch_cuda.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

/* For tests, by dlsym: operators (called so far), syncs (calls for which PyTorch would have waited), tensors
 * (in our book now), captures and launches of graphs so far, graphs that there are now. -1: no such word. */
FAKE_EXPORT long fake_torch_count(const char *what);

/* For fake_gpu_torch_cuda.c, by dlsym. */
FAKE_EXPORT void fake_torch_register_cuda(void);
FAKE_EXPORT int32_t fake_torch_stream(int32_t index, void **stream);
FAKE_EXPORT int32_t fake_torch_set_stream(void *stream, int32_t index);
FAKE_EXPORT int32_t fake_torch_new_stream(int32_t index, void **stream);
FAKE_EXPORT void fake_torch_graph(const char *member, void *object, int mode); /* "begin", "replay" … */

/* What is known of a tensor or list by its address. */
typedef struct fake_thing {
    const void *key;
    uint32_t gpus; /* it, or something in it, lies there: a bit for each */
    bool host;     /* or there */
    bool number;   /* a tensor of no dimension on the host */
    bool cell;     /* no tensor, but what an optional one is handed over in */
    bool list;     /* or a list */
    char text[16]; /* or a text: this one */
    uint64_t own;  /* device memory that goes with it; 0: none */
    bool lent;     /* which is a graph's */
} fake_thing;

/* fake_gpu_torch_book.c; any thread calls. */
void fake_put(fake_thing thing);
bool fake_take(const void *key, fake_thing *thing); /* and forgets it; false: not known */
bool fake_look(const void *key, fake_thing *thing); /* false: not known */
long fake_book_size(void);

/* What one call of an operator is given, and whether PyTorch would take it. */
typedef struct fake_call {
    const char *name, *overload;
    uint32_t gpus;          /* some argument lies there: a bit for each */
    bool host, number_only; /* or there; all of these are numbers */
    int host_argument;      /* the first on the host */
    bool gpu_value;         /* argument 2 is on the GPU */
} fake_call;
fake_call fake_judge(const char *name, const char *overload, const uint64_t *stack);
bool fake_is_mixed(const fake_call *call); /* host and GPU in a way that PyTorch refuses */
bool fake_syncs(const fake_call *call);
int fake_results(const char *name); /* tensors that it hands out */

/* Captures of the fake driver: what is queued there meanwhile has its place between the operators. In the
 * context of GPU 0. */
typedef struct fake_capture {
    int (*add)(void *stream, int device, void (*run)(const void *task), const void *task, size_t bytes);
    int (*begin)(stk__cu_handle stream, int mode);
    int (*end)(stk__cu_handle stream, stk__cu_handle *graph);
    int (*instantiate)(stk__cu_handle *exec, stk__cu_handle graph, unsigned long long flags);
    int (*launch)(stk__cu_handle exec, stk__cu_handle stream);
    int (*destroy)(stk__cu_handle exec);
    int (*exchange_mode)(int *mode);
} fake_capture;

void fake_capture_find(fake_capture *capture, void *driver);

/* The real library on CPUs. */
typedef struct fake_real {
    fake_capture capture;
    const stk__torch_api *api;
    const stk__torch_cuda_api *cuda; /* of its context */
    int32_t (*half)(void), (*bfloat16)(void);
    int32_t (*get_dim)(stk__torch_handle tensor, int64_t *dim);
    int32_t (*get_sizes)(stk__torch_handle tensor, int64_t **sizes);
    int32_t (*is_defined)(stk__torch_handle tensor, bool *defined);
    size_t (*item_bytes)(int32_t dtype);
    void (*move)(stk__torch_handle tensor, uint64_t own); /* its values to memory of the GPU */
    void (*free_on_gpu)(uint64_t own);
    int32_t (*run)(const char *name, const char *overload, uint64_t *stack,
                   uint64_t version); /* an operator */
} fake_real;
const fake_real *fake_real_open(void);
/* A new tensor, list or text, if all went well, goes to the book; returns result. */
int32_t fake_noted(int32_t result, stk__torch_handle *tensor, fake_thing thing);

/* fake_gpu_torch_lstm.c: fused cells. Takes what is on the stack and puts results there; returns why it does
 * not, or NULL. */
bool fake_has_cell(const char *name);
const char *fake_run_cell(const fake_real *real, const char *name, uint64_t *stack);

/* fake_gpu_torch_graph.c: at::cuda::CUDAGraph. Members return why PyTorch would throw, or NULL. */
void fake_graph_construct(void *object, bool keep);
void fake_graph_destruct(const fake_real *real, void *object);
const char *fake_graph_begin(const fake_real *real, void *object, void *stream, int mode);
const char *fake_graph_end(const fake_real *real, void *object);
const char *fake_graph_replay(const fake_real *real, void *object);
long fake_graph_count(const char *what);
/* While there is a capture: an operator before it is called, then its results. */
bool fake_graph_captures(void);
void *fake_graph_keep(const fake_real *real, const char *name, const char *overload, const uint64_t *stack,
                      uint64_t version);
/* It becomes another operator with another second argument, a number of the host. */
void fake_graph_change(const fake_real *real, void *kept, const char *name, const uint64_t *stack);
void fake_graph_keep_results(const fake_real *real, void *kept, const uint64_t *stack, int count);
void fake_graph_keep_move(const fake_real *real, stk__torch_handle tensor, uint64_t own);
void fake_graph_keep_fill(const fake_real *real, stk__torch_handle tensor, double value);

/* fake_gpu_torch_rules.c. Calls of the real library that they need. */
typedef struct fake_rules {
    const stk__torch_api *real;
    int32_t (*get_numel)(stk__torch_handle tensor, int64_t *values);
    int32_t (*get_sizes)(stk__torch_handle tensor, int64_t **sizes);
} fake_rules;
/* Why PyTorch's CUDA operator does not take these arguments, though the CPU's does; NULL: it does. */
const char *fake_refuses(const fake_rules *rules, const fake_call *call, const uint64_t *stack);
/* Whether a division is a multiplication there; then its divisor has become its reciprocal. */
bool fake_multiplies(const fake_rules *rules, const fake_call *call, uint64_t *stack);
/* STOKER_FAKE_TORCH_WRONG names this. */
bool fake_has_wrong(const char *part);
/* Batch norm by running statistics, if it is to be wrong. */
void fake_spoil_norm(const char *name, uint64_t *stack);
/* cudnn_convolution.out, which CPUs have not, by convolution and a copy. */
int32_t fake_convolve(const fake_rules *rules, uint64_t *stack, uint64_t version);

#endif
