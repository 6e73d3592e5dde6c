/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine onednn share. Tensors are dense host memory in the order of their shapes. */
#ifndef STK_ENGINE_ONEDNN_ENGINE_H
#define STK_ENGINE_ONEDNN_ENGINE_H

#include "engine/engine.h"
#include "core/align.h"
#include "engine/onednn/onednn_cost.h"
#include "engine/onednn/onednn_loops.h"
#include "engine/onednn/onednn_step.h"

enum { STK_ONEDNN_SUMS = 1024 };

typedef struct stk__onednn {
    stk__engine front;
    stk__dnn dnn;
    stk__dnn_cost cost;
    stk__onednn_memo *memos; /* of an engine that is dry; NULL: it is not */
    const stk__onednn_loops *loops;
    stk__conv conv;
    bool tune;
    double partial[STK_ONEDNN_SUMS]; /* of the gradients' squares */
} stk__onednn;

/* How operations of some kinds are made and run. */
typedef struct stk__onednn_kind {
    stk_status (*create)(stk__op *op, stk_error *error); /* NULL: there is nothing to make */
    void (*destroy)(stk__op *op); /* frees what own points into; own itself is freed for it. NULL: nothing */
    stk_status (*forward)(stk__op *op, const stk__op_io *io, stk_error *error);
    stk_status (*backward)(stk__op *op, const stk__op_io *io, stk_error *error); /* NULL: losses, metrics */
} stk__onednn_kind;

extern const stk__onednn_kind stk__onednn_conv_linear, stk__onednn_conv_transpose, stk__onednn_norm,
    stk__onednn_eltwise, stk__onednn_pool, stk__onednn_max_pool, stk__onednn_add, stk__onednn_relu,
    stk__onednn_concat, stk__onednn_resize, stk__onednn_dropout, stk__onednn_lstm, stk__onednn_affine,
    stk__onednn_cross_entropy, stk__onednn_values, stk__onednn_labels, stk__onednn_points,
    stk__onednn_confusion, stk__onednn_top_k, stk__onednn_point_error;

bool stk__onednn_choose(stk__op *op, const char *method); /* see stk__op_choose */
stk_status stk__onednn_update(stk__engine *engine, const stk__update *update, stk_error *error);
stk_status stk__onednn_average(stk__engine *engine, const stk__tensor_list *average,
                               const stk__tensor_list *value, double decay, stk_error *error);

static inline stk__onednn *stk__onednn_of(const stk__op *op)
{
    return (stk__onednn *)op->engine;
}

static inline const stk__dnn *stk__dnn_of(const stk__op *op)
{
    return &stk__onednn_of(op)->dnn;
}

static inline const stk__onednn_loops *stk__loops_of(const stk__op *op)
{
    return stk__onednn_of(op)->loops;
}

static inline float *stk__floats(const stk__tensor *tensor)
{
    return tensor ? tensor->memory : NULL;
}

/* Where tensor i of an array lies; NULL: there is no array, or nothing at i. */
static inline float *stk__floats_at(stk__tensor *const *tensors, int i)
{
    return tensors ? stk__floats(tensors[i]) : NULL;
}

/* A place of size_bytes in memory of *total_bytes so far; returns its offset. */
static inline size_t stk__onednn_reserve(size_t *total_bytes, size_t size_bytes)
{
    const size_t offset = *total_bytes;
    *total_bytes += stk__align_up(size_bytes, STK_LINE_BYTES);
    return offset;
}

static inline void *stk__onednn_at(const stk__tensor *memory, size_t offset_bytes)
{
    return memory ? (char *)memory->memory + offset_bytes : NULL;
}

/* Pictures [n h w c] as oneDNN counts them; other shapes [.. c] count as [rows 1 1 c]. */
stk__dnn_layout stk__onednn_picture(const stk__shape *shape);
stk__dnn_layout stk__onednn_dense(int ndim, const int64_t *dim);

/* --- loops on the pool's threads --------------------------------------------------------------------------
 */

/* Rows first … last-1. worker: below the engine's threads, no two at one time have the same. */
typedef void (*stk__onednn_rows)(void *context, int64_t first, int64_t last, int worker);

/* Chunks of grain rows each (the last may be shorter) whatever the number of threads, so that sums a chunk do
 * not depend on it. */
void stk__onednn_loop(const stk__engine *engine, int64_t count, int64_t grain, stk__onednn_rows run,
                      void *context);

void stk__onednn_zero(const stk__engine *engine, void *target, size_t size_bytes);
void stk__onednn_copy(const stk__engine *engine, void *target, const void *source, size_t size_bytes);
void stk__onednn_add_to(const stk__engine *engine, float *target, const float *source, int64_t count);

#endif
