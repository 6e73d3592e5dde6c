/* SPDX-License-Identifier: Apache-2.0 */
/* The reference engine: plain loops over dense host memory, one thread. The oracle of the tests; it is never
 * made faster. */
#include "engine/host_arena.h"
#include "engine/reference/reference.h"

#include "core/memory.h"

#include <assert.h>
#include <string.h>

static const stk__reference_kernel *const kernels[STK_OP_COUNT] = {
    [STK_OP_CONV] = &stk__reference_conv,
    [STK_OP_CONV_TRANSPOSE] = &stk__reference_conv_transpose,
    [STK_OP_BATCH_NORM] = &stk__reference_batch_norm,
    [STK_OP_RELU] = &stk__reference_relu,
    [STK_OP_SILU] = &stk__reference_silu,
    [STK_OP_GELU] = &stk__reference_gelu,
    [STK_OP_SIGMOID] = &stk__reference_sigmoid,
    [STK_OP_TANH] = &stk__reference_tanh,
    [STK_OP_MAX_POOL] = &stk__reference_max_pool,
    [STK_OP_AVG_POOL] = &stk__reference_avg_pool,
    [STK_OP_GLOBAL_POOL] = &stk__reference_global_pool,
    [STK_OP_LINEAR] = &stk__reference_linear,
    [STK_OP_ADD] = &stk__reference_add,
    [STK_OP_CONCAT] = &stk__reference_concat,
    [STK_OP_RESIZE] = &stk__reference_resize,
    [STK_OP_DROPOUT] = &stk__reference_dropout,
    [STK_OP_LSTM] = &stk__reference_lstm,
    [STK_OP_AFFINE] = &stk__reference_affine,
    [STK_OP_CROSS_ENTROPY] = &stk__reference_cross_entropy,
    [STK_OP_L1] = &stk__reference_values,
    [STK_OP_MSE] = &stk__reference_values,
    [STK_OP_SMOOTH_L1] = &stk__reference_values,
    [STK_OP_POINTS] = &stk__reference_points,
    [STK_OP_CONFUSION] = &stk__reference_confusion,
    [STK_OP_TOP_K] = &stk__reference_top_k,
    [STK_OP_POINT_ERROR] = &stk__reference_point_error,
    [STK_OP_VALUE_ERROR] = &stk__reference_value_error,
    [STK_OP_BCE] = &stk__reference_bce,
    [STK_OP_LABEL_HITS] = &stk__reference_label_hits,
};

static stk_status open_engine(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    stk__engine *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "the reference engine");
    made->ops = &stk__engine_reference;
    made->info = (stk__engine_info){.name = "reference",
                                    .threads = 1, /* more would make another order of sums */
                                    .dry = options->dry,
                                    .bf16 = STK_HALF_WIDENED,
                                    .f16 = STK_HALF_WIDENED,
                                    .half_why = "the reference engine computes in float32 only",
                                    .fuses = true};
    *engine = made;
    return STK_OK;
}

static void close_engine(stk__engine *engine)
{
    stk__free(engine);
}

static size_t count_bytes(const stk__tensor *tensor)
{
    return (size_t)stk__shape_count(&tensor->desc.shape) * (size_t)stk_dtype_bytes(tensor->desc.dtype);
}

static stk_status zero_tensor(stk__tensor *tensor, stk_error *error)
{
    (void)error;
    memset(tensor->memory, 0, count_bytes(tensor));
    return STK_OK;
}

static stk_status add_tensor(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    (void)error;
    float *to = target->memory;
    const float *from = source->memory;
    for (int64_t i = 0, count = stk__shape_count(&target->desc.shape); i < count; i++)
        to[i] += from[i];
    return STK_OK;
}

static stk_status copy_tensor(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    (void)error;
    memcpy(target->memory, source->memory, count_bytes(target));
    return STK_OK;
}

static stk_status create_op(stk__op *op, stk_error *error)
{
    (void)error;
    if (kernels[op->spec.kind]->needs) op->needs = kernels[op->spec.kind]->needs(op);
    return STK_OK;
}

static stk_status run_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    kernels[op->spec.kind]->forward(op, io);
    return STK_OK;
}

static stk_status run_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    kernels[op->spec.kind]->backward(op, io);
    return STK_OK;
}

const stk__engine_ops stk__engine_reference = {
    .name = "reference",
    .open = open_engine,
    .close = close_engine,
    .arena_create = stk__host_arena_create_backed,
    .arena_destroy = stk__host_arena_destroy,
    .tensor_zero = zero_tensor,
    .tensor_add = add_tensor,
    .tensor_copy = copy_tensor,
    .op_create = create_op,
    .forward = run_forward,
    .backward = run_backward,
    .update = stk__reference_update,
    .average = stk__reference_average,
};
