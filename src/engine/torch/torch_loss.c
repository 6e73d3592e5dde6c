/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of values and labels, and what all losses share. */
#include "engine/torch/torch_loss.h"

stk__torch_handle stk__torch_ids(stk__torch_scope *scope, const stk__tensor *ids, const stk__shape *shape)
{
    const stk__torch_handle given = stk__torch_shaped(scope, ids, shape);
    if (ids->desc.dtype == STK_DTYPE_I64) return given;
    return stk__torch_convert(scope, given, scope->engine->api->aoti_torch_dtype_int64());
}

static stk__torch_handle sum_at(stk__torch_scope *s, const stk__op_io *io, int64_t i)
{
    stk__torch_form form = stk__torch_dense_form(s->engine, STK_DTYPE_F64, &(stk__shape){0});
    form.offset = i;
    return stk__torch_view(s, io->y, &form);
}

stk__torch_handle stk__torch_finish(stk__torch_scope *scope, const stk__op_io *io,
                                    stk__torch_handle numerator, stk__torch_handle denominator)
{
    stk__torch_add(scope, sum_at(scope, io, STK_LOSS_NUMERATOR), numerator, 1);
    stk__torch_add(scope, sum_at(scope, io, STK_LOSS_DENOMINATOR), denominator, 1);
    const stk__torch_handle factor =
        STK_TORCH_RUN(scope, "aten::div", "Tensor", STK_TORCH_T(stk__torch_number(scope, io->grad_scale)),
                      STK_TORCH_T(denominator));
    return STK_TORCH_RUN(scope, "aten::nan_to_num", "", STK_TORCH_T(factor), STK_TORCH_SOME_F(0),
                         STK_TORCH_SOME_F(0), STK_TORCH_SOME_F(0));
}

stk__torch_handle stk__torch_per_sample(stk__torch_scope *scope, const stk__tensor *list, int ndim)
{
    if (!list) return NULL;
    stk__shape shape = {ndim, {stk__shape_count(&list->desc.shape), 1, 1, 1}};
    return stk__torch_shaped(scope, list, &shape);
}

stk__torch_handle stk__torch_compare(stk__torch_scope *scope, const char *name, stk__torch_handle values,
                                     stk__torch_handle with)
{
    return STK_TORCH_RUN(scope, name, "Tensor", STK_TORCH_T(values), STK_TORCH_T(with));
}

stk__torch_handle stk__torch_both(stk__torch_scope *scope, stk__torch_handle a, stk__torch_handle b)
{
    return STK_TORCH_RUN(scope, "aten::logical_and", "", STK_TORCH_T(a), STK_TORCH_T(b));
}

/* The value lies on the host: PyTorch would fetch it from a GPU, and wait. */
void stk__torch_leave_out(stk__torch_scope *scope, stk__torch_handle values, stk__torch_handle weights)
{
    if (!weights) return;
    const int mark = scope->count;
    STK_TORCH_RUN(scope, "aten::masked_fill_", "Tensor", STK_TORCH_T(values),
                  STK_TORCH_T(stk__torch_compare(scope, "aten::eq", weights, scope->engine->zero)),
                  STK_TORCH_T(stk__torch_number(scope, 0)));
    stk__torch_release(scope, mark);
}

/* Not by clamp, which takes no bounds on the host for values on a GPU. */
stk__torch_handle stk__torch_smooth_slope(stk__torch_scope *scope, stk__torch_handle error)
{
    const stk__torch_handle low = STK_TORCH_RUN(scope, "aten::maximum", "", STK_TORCH_T(error),
                                                STK_TORCH_T(stk__torch_number(scope, -1)));
    return STK_TORCH_RUN(scope, "aten::minimum", "", STK_TORCH_T(low),
                         STK_TORCH_T(stk__torch_number(scope, 1)));
}

/* slope x (error - slope / 2) is both branches at once. */
stk__torch_handle stk__torch_smooth(stk__torch_scope *scope, stk__torch_handle error)
{
    const stk__torch_handle slope = stk__torch_smooth_slope(scope, error);
    const stk__torch_handle rest = stk__torch_multiply(scope, slope, stk__torch_number(scope, -0.5));
    stk__torch_add(scope, rest, error, 1);
    return stk__torch_multiply(scope, slope, rest);
}

static stk__torch_handle value_loss(stk__torch_scope *s, stk__op_kind kind, stk__torch_handle error)
{
    if (kind == STK_OP_L1) return STK_TORCH_RUN(s, "aten::abs", "", STK_TORCH_T(error));
    if (kind == STK_OP_MSE) return stk__torch_multiply(s, error, error);
    return stk__torch_smooth(s, error);
}

static stk__torch_handle value_slope(stk__torch_scope *s, stk__op_kind kind, stk__torch_handle error)
{
    if (kind == STK_OP_L1) return STK_TORCH_RUN(s, "aten::sign", "", STK_TORCH_T(error));
    if (kind == STK_OP_MSE) return stk__torch_multiply(s, error, stk__torch_number(s, 2));
    return stk__torch_smooth_slope(s, error);
}

static stk_status values_forward(stk__op *op, const stk__op_io *io, stk_error *failure)
{
    const stk__shape list = {1, {op->spec.input[0].dim[0]}};
    stk__torch_scope s = stk__torch_begin(op->engine, failure);
    const stk__torch_handle weights = stk__torch_per_sample(&s, io->x[STK_LOSS_WEIGHTS], 1);
    const stk__torch_handle error = stk__torch_multiply(
        &s, stk__torch_shaped(&s, io->x[STK_LOSS_TARGET], &list), stk__torch_number(&s, -1));
    stk__torch_add(&s, error, stk__torch_shaped(&s, io->x[0], &list), 1); /* no copy of either */
    stk__torch_leave_out(&s, error, weights);
    stk__torch_handle loss = value_loss(&s, op->spec.kind, error);
    if (weights) loss = stk__torch_multiply(&s, loss, weights);
    const stk__torch_handle all = stk__torch_sum(
        &s, weights ? weights
                    : STK_TORCH_RUN(&s, "aten::ones_like", "", STK_TORCH_T(error), STK_TORCH_NOTHING,
                                    STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_NOTHING,
                                    STK_TORCH_NOTHING)); /* where the sums are: maybe on a GPU */
    const stk__torch_handle factor = stk__torch_finish(&s, io, stk__torch_sum(&s, loss), all);
    if (stk__torch_at(io->dx, 0)) {
        stk__torch_handle slope = value_slope(&s, op->spec.kind, error);
        if (weights) slope = stk__torch_multiply(&s, slope, weights);
        STK_TORCH_RUN(&s, "aten::mul", "out", STK_TORCH_T(slope), STK_TORCH_T(factor),
                      STK_TORCH_T(stk__torch_shaped(&s, io->dx[0], &list)));
    }
    return stk__torch_end(&s);
}

/* A copy that can be written to, without the samples of weight 0. */
static stk__torch_handle kept_copy(stk__torch_scope *s, const stk__tensor *tensor, const stk__shape *shape,
                                   stk__torch_handle weights)
{
    const stk__torch_handle copy =
        stk__torch_multiply(s, stk__torch_shaped(s, tensor, shape), stk__torch_number(s, 1));
    stk__torch_leave_out(s, copy, weights);
    return copy;
}

/* The loss of a sample that is left out is log 2, of weight 0. */
static stk_status labels_forward(stk__op *op, const stk__op_io *io, stk_error *failure)
{
    enum { REDUCE_NONE };
    const stk__shape *shape = &op->spec.input[0];
    stk__torch_scope s = stk__torch_begin(op->engine, failure);
    const stk__torch_handle weights = stk__torch_per_sample(&s, io->x[STK_LOSS_WEIGHTS], 2);
    const stk__torch_handle x = kept_copy(&s, io->x[0], shape, weights),
                            target = kept_copy(&s, io->x[STK_LOSS_TARGET], shape, weights);
    stk__torch_handle loss =
        STK_TORCH_RUN(&s, "aten::binary_cross_entropy_with_logits", "", STK_TORCH_T(x), STK_TORCH_T(target),
                      STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_I(REDUCE_NONE));
    stk__torch_handle counts =
        STK_TORCH_RUN(&s, "aten::ones_like", "", STK_TORCH_T(x), STK_TORCH_NOTHING, STK_TORCH_NOTHING,
                      STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_NOTHING);
    if (weights) loss = stk__torch_multiply(&s, loss, weights);
    if (weights) counts = stk__torch_multiply(&s, counts, weights);
    const stk__torch_handle factor =
        stk__torch_finish(&s, io, stk__torch_sum(&s, loss), stk__torch_sum(&s, counts));
    if (stk__torch_at(io->dx, 0)) {
        const stk__torch_handle slope = STK_TORCH_RUN(&s, "aten::sigmoid", "", STK_TORCH_T(x));
        stk__torch_add(&s, slope, target, -1);
        STK_TORCH_RUN(&s, "aten::mul", "out", STK_TORCH_T(stk__torch_multiply(&s, slope, counts)),
                      STK_TORCH_T(factor), STK_TORCH_T(stk__torch_shaped(&s, io->dx[0], shape)));
    }
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_labels = {labels_forward, NULL, NULL};
const stk__torch_op_kind stk__torch_values = {values_forward, NULL, NULL};
