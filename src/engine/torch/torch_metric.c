/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of classes, values and labels. They stay on the device: sums are added to y there, and the host
 * never reads a value here. */
#include "engine/torch/torch_metric.h"

#include <math.h>

stk__torch_handle stk__torch_as(stk__torch_scope *scope, stk__torch_handle values, stk_dtype dtype)
{
    const stk__torch_api *api = scope->engine->api;
    return stk__torch_convert(scope, values,
                              dtype == STK_DTYPE_I64 ? api->aoti_torch_dtype_int64()
                                                     : api->aoti_torch_dtype_float64());
}

stk__torch_handle stk__torch_has_weight(stk__torch_scope *scope, const stk__op_io *io, int ndim)
{
    const stk__torch_handle weights = stk__torch_per_sample(scope, io->x[STK_LOSS_WEIGHTS], ndim);
    return weights ? stk__torch_compare(scope, "aten::ne", weights, stk__torch_number(scope, 0)) : NULL;
}

void stk__torch_tally(stk__torch_scope *scope, const stk__op_io *io, int64_t i, stk__torch_handle values)
{
    const int mark = scope->count;
    const stk_dtype dtype = io->y->desc.dtype;
    stk__torch_form form = stk__torch_dense_form(scope->engine, dtype, &(stk__shape){0});
    form.offset = i;
    const stk__torch_handle sum =
        STK_TORCH_RUN(scope, "aten::sum", "", STK_TORCH_T(values), STK_TORCH_SOME_I(form.dtype));
    const stk__torch_handle one =
        STK_TORCH_RUN(scope, "aten::ones_like", "", STK_TORCH_T(sum), STK_TORCH_NOTHING, STK_TORCH_NOTHING,
                      STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_NOTHING);
    stk__torch_add_product(scope, stk__torch_view(scope, io->y, &form), sum, one, 1);
    stk__torch_release(scope, mark);
}

stk__torch_handle stk__torch_best(stk__torch_scope *scope, stk__torch_handle values)
{
    const stk__torch_handle numbers =
        STK_TORCH_RUN(scope, "aten::nan_to_num", "", STK_TORCH_T(values), STK_TORCH_SOME_F(-INFINITY),
                      STK_TORCH_SOME_F(INFINITY), STK_TORCH_SOME_F(-INFINITY));
    return STK_TORCH_RUN(scope, "aten::argmax", "", STK_TORCH_T(numbers), STK_TORCH_SOME_I(2),
                         STK_TORCH_I(true));
}

/* --- classes ---------------------------------------------------------------------------------------------
 */

/* Shapes: [n p c] of predictions, [n p 1] of everything a row has one of. */
typedef struct truths {
    stk__torch_handle valid; /* bool: the row counts */
    stk__torch_handle safe;  /* i64: its class, 0 where it does not count */
} truths;

static stk__shape rows_of(const stk__op *op, int64_t last)
{
    const stk__shape *x = &op->spec.input[0];
    return (stk__shape){3, {x->dim[0], stk__shape_count(x) / x->dim[0] / op->spec.classes, last}};
}

/* The target that a mixed sample has most of. */
static stk__torch_handle find_ids(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const stk__shape one = rows_of(op, 1);
    const stk__torch_handle first = stk__torch_ids(s, io->x[STK_LOSS_TARGET], &one);
    const stk__torch_handle lambda =
        io->x[STK_LOSS_TARGET2] ? stk__torch_per_sample(s, io->x[STK_LOSS_LAMBDA], 3) : NULL;
    if (!lambda) return first;
    const stk__torch_handle second = stk__torch_ids(s, io->x[STK_LOSS_TARGET2], &one);
    const stk__torch_handle less = stk__torch_compare(s, "aten::lt", lambda, stk__torch_number(s, 0.5));
    return STK_TORCH_RUN(s, "aten::where", "self", STK_TORCH_T(less), STK_TORCH_T(second),
                         STK_TORCH_T(first));
}

static truths find_truths(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const stk__op_spec *spec = &op->spec;
    const stk__torch_handle ids = find_ids(s, op, io), weighs = stk__torch_has_weight(s, io, 3);
    truths t;
    t.valid =
        stk__torch_both(s, stk__torch_compare(s, "aten::ge", ids, stk__torch_number(s, 0)),
                        stk__torch_compare(s, "aten::lt", ids, stk__torch_number(s, (double)spec->classes)));
    if (spec->ignores)
        t.valid = stk__torch_both(
            s, t.valid,
            stk__torch_compare(s, "aten::ne", ids, stk__torch_number(s, (double)spec->ignore_index)));
    if (weighs) t.valid = stk__torch_both(s, t.valid, weighs);
    t.safe = stk__torch_multiply(s, ids, t.valid);
    return t;
}

static stk__torch_handle as_row(stk__torch_scope *s, stk__torch_handle values, int64_t count)
{
    return STK_TORCH_RUN(s, "aten::reshape", "", STK_TORCH_T(values), STK_TORCH_INT_LIST(&count, 1));
}

/* Cell truth x classes + prediction counts up, by 0 where a row does not count. In whole numbers all the way.
 */
static stk_status confusion(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t classes = op->spec.classes, rows = stk__shape_count(&op->spec.input[0]) / classes;
    const stk__shape all = rows_of(op, classes), cells = {1, {classes * classes}};
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const truths t = find_truths(&s, op, io);
    const stk__torch_handle cell = stk__torch_best(&s, stk__torch_shaped(&s, io->x[0], &all));
    stk__torch_add_product(&s, cell, t.safe, s.engine->more, (double)classes);
    STK_TORCH_RUN(&s, "aten::scatter_add_", "", STK_TORCH_T(stk__torch_shaped(&s, io->y, &cells)),
                  STK_TORCH_I(0), STK_TORCH_T(as_row(&s, cell, rows)),
                  STK_TORCH_T(as_row(&s, stk__torch_as(&s, t.valid, STK_DTYPE_I64), rows)));
    return stk__torch_end(&s);
}

/* Classes that come before the truth, [n p 1]: larger ones, and equal ones of lower number. NaN
 * puts the truth behind. */
static stk__torch_handle rank_of(stk__torch_scope *s, stk__torch_handle x, stk__torch_handle safe)
{
    const stk__torch_handle truth = STK_TORCH_RUN(s, "aten::gather", "", STK_TORCH_T(x), STK_TORCH_I(2),
                                                  STK_TORCH_T(safe), STK_TORCH_I(false));
    const stk__torch_handle ones =
        STK_TORCH_RUN(s, "aten::ones_like", "", STK_TORCH_T(x), STK_TORCH_NOTHING, STK_TORCH_NOTHING,
                      STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_NOTHING);
    const stk__torch_handle number = /* 1, 2, … along the classes */
        STK_TORCH_RUN(s, "aten::cumsum", "", STK_TORCH_T(ones), STK_TORCH_I(2), STK_TORCH_NOTHING);
    const stk__torch_handle own = stk__torch_as(s, safe, STK_DTYPE_F64);
    stk__torch_add(s, own, s->engine->one, 1);
    const stk__torch_handle behind =
        STK_TORCH_RUN(s, "aten::where", "self", STK_TORCH_T(stk__torch_compare(s, "aten::lt", number, own)),
                      STK_TORCH_T(stk__torch_compare(s, "aten::lt", x, truth)),
                      STK_TORCH_T(stk__torch_compare(s, "aten::le", x, truth)));
    const stk__torch_handle before =
        stk__torch_both(s, STK_TORCH_RUN(s, "aten::logical_not", "", STK_TORCH_T(behind)),
                        stk__torch_compare(s, "aten::ne", number, own));
    return STK_TORCH_RUN(s, "aten::sum", "dim_IntList", STK_TORCH_T(before),
                         STK_TORCH_SOME_INT_LIST(&(int64_t){2}, 1), STK_TORCH_I(true), STK_TORCH_NOTHING);
}

static stk_status top_k(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__shape all = rows_of(op, op->spec.classes);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const truths t = find_truths(&s, op, io);
    const stk__torch_handle rank = rank_of(&s, stk__torch_shaped(&s, io->x[0], &all), t.safe);
    const int within[] = {1, 5};
    stk__torch_tally(&s, io, 0, t.valid);
    for (int i = 0; i < 2; i++)
        stk__torch_tally(
            &s, io, i + 1,
            stk__torch_both(&s, t.valid,
                            stk__torch_compare(&s, "aten::lt", rank, stk__torch_number(&s, within[i]))));
    return stk__torch_end(&s);
}

/* --- values ----------------------------------------------------------------------------------------------
 */

static stk_status value_error(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__shape list = {1, {op->spec.input[0].dim[0]}};
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle weights = stk__torch_per_sample(&s, io->x[STK_LOSS_WEIGHTS], 1);
    const stk__torch_handle truth =
        stk__torch_as(&s, stk__torch_shaped(&s, io->x[STK_LOSS_TARGET], &list), STK_DTYPE_F64);
    const stk__torch_handle off = stk__torch_as(&s, stk__torch_shaped(&s, io->x[0], &list), STK_DTYPE_F64);
    stk__torch_add(&s, off, truth, -1);
    const stk__torch_handle counts =
        weights ? stk__torch_has_weight(&s, io, 1)
                : STK_TORCH_RUN(&s, "aten::ones_like", "", STK_TORCH_T(off), STK_TORCH_NOTHING,
                                STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_NOTHING);
    stk__torch_leave_out(&s, off, weights);
    stk__torch_leave_out(&s, truth, weights);
    stk__torch_tally(&s, io, 0, counts);
    stk__torch_tally(&s, io, 1, STK_TORCH_RUN(&s, "aten::abs", "", STK_TORCH_T(off)));
    stk__torch_tally(&s, io, 2, stk__torch_multiply(&s, off, off));
    stk__torch_tally(&s, io, 3, truth);
    stk__torch_tally(&s, io, 4, stk__torch_multiply(&s, truth, truth));
    return stk__torch_end(&s);
}

/* --- labels ----------------------------------------------------------------------------------------------
 */

static stk_status label_hits(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__shape *shape = &op->spec.input[0];
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle weighs = stk__torch_has_weight(&s, io, 2);
    stk__torch_handle said = stk__torch_compare(&s, "aten::gt", stk__torch_shaped(&s, io->x[0], shape),
                                                stk__torch_number(&s, 0)),
                      truth = stk__torch_compare(&s, "aten::gt",
                                                 stk__torch_shaped(&s, io->x[STK_LOSS_TARGET], shape),
                                                 stk__torch_number(&s, 0.5));
    if (weighs) said = stk__torch_both(&s, said, weighs);
    if (weighs) truth = stk__torch_both(&s, truth, weighs);
    stk__torch_tally(&s, io, 0, stk__torch_both(&s, said, truth));
    stk__torch_tally(&s, io, 1, said);
    stk__torch_tally(&s, io, 2, truth);
    return stk__torch_end(&s);
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    switch (op->spec.kind) {
    case STK_OP_CONFUSION:
        return confusion(op, io, error);
    case STK_OP_TOP_K:
        return top_k(op, io, error);
    case STK_OP_POINT_ERROR:
        return stk__torch_point_error(op, io, error);
    case STK_OP_LABEL_HITS:
        return label_hits(op, io, error);
    default:
        return value_error(op, io, error);
    }
}

const stk__torch_op_kind stk__torch_metric = {forward, NULL, NULL};
