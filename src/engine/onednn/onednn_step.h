/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN behind a few calls of our own, so that its versions differ in one file (onednn_descriptors.c). A
 * step is one of its primitives with all its memory objects, made once; a run only sets where they lie.
 * float32 only. */
#ifndef STK_ENGINE_ONEDNN_STEP_H
#define STK_ENGINE_ONEDNN_STEP_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct stk__onednn_api;
typedef struct stk__dnn_cost stk__dnn_cost; /* onednn_cost.h */

typedef struct stk__dnn { /* init/fini */
    const struct stk__onednn_api *api;
    struct dnnl_engine *engine;
    struct dnnl_stream *stream;
    int threads;
    bool dry; /* steps are described, which gives their sizes, but not created: they cannot be run */
    stk__dnn_cost *cost; /* counts what they would keep; the engine's */
} stk__dnn;

/* Arguments of steps. */
typedef enum stk__dnn_place {
    STK_DNN_SRC,
    STK_DNN_WEIGHTS,
    STK_DNN_BIAS,
    STK_DNN_DST,
    STK_DNN_MEAN,
    STK_DNN_VARIANCE,
    STK_DNN_SCALE,
    STK_DNN_SHIFT,
    STK_DNN_WORKSPACE,
    STK_DNN_SCRATCHPAD,
    STK_DNN_DIFF_SRC,
    STK_DNN_DIFF_WEIGHTS,
    STK_DNN_DIFF_BIAS,
    STK_DNN_DIFF_DST,
    STK_DNN_DIFF_SCALE,
    STK_DNN_DIFF_SHIFT,
    STK_DNN_PLACES
} stk__dnn_place;

/* How an argument lies: in oneDNN's order of dimensions (n c h w; g o i h w), strides in elements. */
typedef struct stk__dnn_layout {
    int ndim; /* 0: absent */
    bool any; /* oneDNN chooses; strides mean nothing */
    int64_t dim[5], stride[5];
} stk__dnn_layout;

typedef enum stk__dnn_kind {
    STK_DNN_CONV,
    STK_DNN_DECONV,
    STK_DNN_LINEAR,
    STK_DNN_NORM,       /* statistics of the batch */
    STK_DNN_NORM_GIVEN, /* statistics are inputs */
    STK_DNN_SIGMOID,    /* backward by dst, as tanh */
    STK_DNN_TANH,
    STK_DNN_SILU, /* backward by src, as gelu */
    STK_DNN_GELU,
    STK_DNN_MAX_POOL,
    STK_DNN_AVG_POOL /* padding counts */
} stk__dnn_kind;

typedef enum stk__dnn_pass {
    STK_DNN_FORWARD,
    STK_DNN_BACKWARD,        /* of conv, deconv, linear: of the data alone */
    STK_DNN_BACKWARD_WEIGHTS /* conv, deconv, linear */
} stk__dnn_pass;

typedef struct stk__dnn_layer {
    stk__dnn_kind kind;
    stk__dnn_layout src, weights, bias, dst;
    int32_t kernel[2], stride[2], pad[2], dilation[2]; /* pools, conv, deconv; dilation 1: none */
    double eps;                                        /* norm */
} stk__dnn_layer;

typedef struct stk__dnn_step { /* create/fini; zeroed: nothing to do */
    struct dnnl_primitive_desc *desc;
    struct dnnl_primitive *primitive; /* NULL: nothing to do, or dry */
    struct dnnl_memory *memory[STK_DNN_PLACES];
    size_t size_bytes[STK_DNN_PLACES]; /* 0: not an argument */
} stk__dnn_step;

stk_status stk__dnn_init(stk__dnn *dnn, const struct stk__onednn_api *api, int threads, stk_error *error);
void stk__dnn_fini(stk__dnn *dnn);
void stk__dnn_describe(const stk__dnn *dnn, char *text, size_t size); /* "oneDNN 2.6.3, AVX2" */
bool stk__dnn_has_bf16(const stk__dnn *dnn);
bool stk__dnn_has_avx512(const stk__dnn *dnn);

/* forward: the step of the same layer's forward pass (backward passes), or NULL. */
stk_status stk__dnn_step_create(const stk__dnn *dnn, const stk__dnn_layer *layer, stk__dnn_pass pass,
                                const stk__dnn_step *forward, stk__dnn_step *step, stk_error *error);

/* From a plain layout (src) into the one that user chose for place (dst), or back. Stays zeroed when both are
 * the same: use the memory itself then. */
typedef enum stk__dnn_way { STK_DNN_INTO, STK_DNN_OUT_OF } stk__dnn_way;
typedef struct stk__dnn_reorder {
    const stk__dnn_layout *plain;
    const stk__dnn_step *user;
    stk__dnn_place place;
    stk__dnn_way way;
} stk__dnn_reorder;
stk_status stk__dnn_reorder_create(const stk__dnn *dnn, const stk__dnn_reorder *reorder, stk__dnn_step *step,
                                   stk_error *error);

void stk__dnn_step_fini(const stk__dnn *dnn, stk__dnn_step *step);

/* Where an argument lies from now on; of a step without that argument: nothing. */
void stk__dnn_step_set(const stk__dnn *dnn, stk__dnn_step *step, stk__dnn_place place, const void *data);
stk_status stk__dnn_step_run(const stk__dnn *dnn, const stk__dnn_step *step, stk_error *error);

/* c [m n] = a [m k] (or its transpose) x b [k n] (or …) + beta c; rows are dense, ld elements apart. On as
 * many threads as the calling thread has been given by stk__dnn_threads. */
typedef struct stk__dnn_product {
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    bool transpose_a, transpose_b;
    float beta;
} stk__dnn_product;
stk_status stk__dnn_multiply(const stk__dnn *dnn, const stk__dnn_product *product, stk_error *error);

/* How many threads oneDNN's calls from this thread use. Steps run with as many as they were made with. */
void stk__dnn_threads(const stk__dnn *dnn, int threads);

#endif
