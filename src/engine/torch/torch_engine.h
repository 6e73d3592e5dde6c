/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine torch share. */
#ifndef STK_ENGINE_TORCH_ENGINE_H
#define STK_ENGINE_TORCH_ENGINE_H

#include "engine/engine.h"
#include "engine/torch/torch_api.h"
#include "engine/torch/torch_device.h"

/* torch_dropout.c: dropout drawn on the GPU. */
typedef struct stk__torch_draws {
    bool tried; /* to build the kernel */
    stk__arena *arena;
    stk__tensor *numbers; /* i64 [2]: seed, epoch */
    bool known;           /* the numbers there are these */
    uint64_t seed;
    uint32_t epoch;
} stk__torch_draws;
/* Once, with the first dropout: info.draws. What fails costs time, nothing else. */
void stk__torch_draws_open(stk__engine *engine);
void stk__torch_draws_close(stk__torch_draws *draws);

typedef struct stk__torch {
    stk__engine front;
    const stk__torch_api *api;
    stk__torch_device device;
    /* f32 of no dimension, on the device; the last three are the optimiser's, of which norm is [1 1] */
    stk__torch_handle one, zero, step, norm, factor;
    stk__torch_handle unit;   /* 1 as f64 [1] on the host */
    stk__torch_handle more;   /* 1 as i64 of no dimension, on the device */
    bool has_cudnn, no_cudnn; /* a convolution by cuDNN went well; the first one did not: PyTorch has none */
    bool places;              /* results come to lie where they are expected (torch_place.h) */
    stk__torch_draws draws;
    long alive; /* handles, lists, texts and cells of PyTorch's that are ours to release */
    long views; /* handles that our tensors keep to be shown by */
    long taken; /* handles that our tensors keep, because their values lie there */
} stk__torch;

/* Layout of convolutions' weights [o i h w]: they lie as [o h w i], PyTorch's channels_last. */
enum { STK_TORCH_KERNEL = 1 };

/* How operations of some kinds are run. */
typedef struct stk__torch_op_kind {
    stk_status (*forward)(stk__op *op, const stk__op_io *io, stk_error *error);
    stk_status (*backward)(stk__op *op, const stk__op_io *io, stk_error *error); /* NULL: losses, metrics */
    stk__op_needs (*needs)(const stk__op *op);                                   /* NULL: none */
} stk__torch_op_kind;

extern const stk__torch_op_kind stk__torch_conv, stk__torch_linear, stk__torch_norm, stk__torch_affine,
    stk__torch_activation, stk__torch_max_pool, stk__torch_avg_pool, stk__torch_global_pool,
    stk__torch_add_op, stk__torch_concat, stk__torch_resize, stk__torch_dropout, stk__torch_lstm,
    stk__torch_cross_entropy, stk__torch_values, stk__torch_labels, stk__torch_points, stk__torch_metric;

/* As stk__engine_ops has them; the host sees a kernel as [o i h w]. */
stk_status stk__torch_layout_map(stk__tensor *tensor, stk_tensor *view, stk_error *error);
stk_status stk__torch_layout_map_new(stk__tensor *tensor, stk_tensor *view, stk_error *error);
stk_status stk__torch_layout_unmap(stk__tensor *tensor, const stk_tensor *view, bool changed,
                                   stk_error *error);

/* Gives back what stk__torch_take has taken. */
void stk__torch_tensor_drop(stk__tensor *tensor);
stk_status stk__torch_tensor_create(stk__tensor *tensor, stk_error *error);
void stk__torch_tensor_destroy(stk__tensor *tensor); /* and its view */

stk_status stk__torch_update(stk__engine *engine, const stk__update *update, stk_error *error);
stk_status stk__torch_average(stk__engine *engine, const stk__tensor_list *average,
                              const stk__tensor_list *value, double decay, stk_error *error);

/* What PyTorch allocates for itself during a run of the operation on a CPU, at most (torch_inside.c). */
void stk__torch_plan_inside(stk__op *op); /* into its needs */

static inline stk__torch *stk__torch_of(const stk__engine *engine)
{
    return (stk__torch *)engine;
}

#endif
