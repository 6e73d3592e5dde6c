/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-entropy with everything op.h allows: weights of samples and classes, ignored ones, a second target of
 * mixed samples, smoothing. The pull of a target on class c (reference_loss.c) makes a matrix; its product
 * with the logarithms of the softmax is the loss, PyTorch's gradient of log_softmax does the rest. */
#include "engine/torch/torch_loss.h"

/* Shapes: [n p c] of predictions, [n p 1] of everything a row has one of. p: pixels of a sample. */
typedef struct rows {
    const stk__op *op;
    const stk__op_io *io;
    stk__shape all, one;
    int64_t classes;
    stk__torch_handle logs;          /* [n p c], scratch */
    stk__torch_handle class_weights; /* [c], or NULL */
} rows;

typedef struct target {
    stk__torch_handle safe;   /* i64 [n p 1]: its class, 0 where it is none */
    stk__torch_handle share;  /* f32 [n p 1]: what the row counts for this target; 0: left out */
    stk__torch_handle weight; /* share x weight of the class */
} target;

/* scratch: logarithms of the softmax, and pulls. */
static stk__op_needs needs(const stk__op *op)
{
    const size_t bytes = (size_t)stk__shape_count(&op->spec.input[0]) * sizeof(float);
    stk__op_needs made = {0};
    stk__torch_reserve(&made.scratch_bytes, bytes);
    stk__torch_reserve(&made.scratch_bytes, bytes);
    return made;
}

static stk__torch_handle scratch_part(stk__torch_scope *s, const rows *r, int i)
{
    const stk__torch_form form = stk__torch_dense_form(s->engine, STK_DTYPE_F32, &r->all);
    return stk__torch_part(s, r->io->scratch, (size_t)i * (needs(r->op).scratch_bytes / 2), &form);
}

static rows rows_of(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const stk__shape *x = &op->spec.input[0];
    const int64_t n = x->dim[0], classes = op->spec.classes, pixels = stk__shape_count(x) / n / classes;
    rows r = {.op = op, .io = io, .all = {3, {n, pixels, classes}}, .one = {3, {n, pixels, 1}}};
    r.classes = classes;
    r.logs = scratch_part(s, &r, 0);
    r.class_weights = stk__torch_dense(s, io->x[STK_LOSS_CLASS_WEIGHTS]);
    return r;
}

/* Where the target is a class that counts. */
static stk__torch_handle find_valid(stk__torch_scope *s, const rows *r, stk__torch_handle ids)
{
    const stk__op_spec *spec = &r->op->spec;
    stk__torch_handle valid =
        stk__torch_both(s, stk__torch_compare(s, "aten::ge", ids, s->engine->zero),
                        stk__torch_compare(s, "aten::lt", ids, stk__torch_number(s, (double)r->classes)));
    if (spec->ignores)
        valid = stk__torch_both(
            s, valid,
            stk__torch_compare(s, "aten::ne", ids, stk__torch_number(s, (double)spec->ignore_index)));
    return valid;
}

/* What samples count for a target: [n 1 1], or the engine's one. */
static stk__torch_handle find_share(stk__torch_scope *s, const rows *r, int second)
{
    const stk__op_io *io = r->io;
    stk__torch_handle share = stk__torch_per_sample(s, io->x[STK_LOSS_WEIGHTS], 3);
    stk__torch_handle lambda =
        io->x[STK_LOSS_TARGET2] ? stk__torch_per_sample(s, io->x[STK_LOSS_LAMBDA], 3) : NULL;
    if (!lambda && second) return s->engine->zero; /* no shares: all is the first's */
    if (lambda && second) {
        lambda = stk__torch_multiply(s, lambda, stk__torch_number(s, -1));
        stk__torch_add(s, lambda, s->engine->one, 1);
    }
    if (!share) return lambda ? lambda : s->engine->one;
    return lambda ? stk__torch_multiply(s, share, lambda) : share;
}

static target find_target(stk__torch_scope *s, const rows *r, int second)
{
    const stk__tensor *given = r->io->x[second ? STK_LOSS_TARGET2 : STK_LOSS_TARGET];
    const stk__torch_handle ids = stk__torch_ids(s, given, &r->one);
    const stk__torch_handle valid = find_valid(s, r, ids);
    target t = {.safe = stk__torch_multiply(s, ids, valid),
                .share = stk__torch_multiply(s, valid, find_share(s, r, second))};
    t.weight = t.share;
    if (r->class_weights)
        t.weight = stk__torch_multiply(
            s, t.share,
            STK_TORCH_RUN(s, "aten::take", "", STK_TORCH_T(r->class_weights), STK_TORCH_T(t.safe)));
    return t;
}

/* Each row's logarithms, weighted and added: what smoothing pulls at. [n p 1] */
static stk__torch_handle add_logs(stk__torch_scope *s, const rows *r)
{
    const stk__torch_handle logs =
        r->class_weights ? stk__torch_multiply(s, r->logs, r->class_weights) : r->logs;
    return STK_TORCH_RUN(s, "aten::sum", "dim_IntList", STK_TORCH_T(logs),
                         STK_TORCH_SOME_INT_LIST(&(int64_t){2}, 1), STK_TORCH_I(true), STK_TORCH_NOTHING);
}

static void sum_target(stk__torch_scope *s, const rows *r, const target *t, stk__torch_handle sums[2])
{
    const double smoothing = r->op->spec.label_smoothing;
    const stk__torch_handle picked = STK_TORCH_RUN(s, "aten::gather", "", STK_TORCH_T(r->logs),
                                                   STK_TORCH_I(2), STK_TORCH_T(t->safe), STK_TORCH_I(false));
    stk__torch_add(s, sums[STK_LOSS_NUMERATOR], stk__torch_sum(s, stk__torch_multiply(s, picked, t->weight)),
                   smoothing - 1);
    stk__torch_add(s, sums[STK_LOSS_DENOMINATOR], stk__torch_sum(s, t->weight), 1);
    if (smoothing > 0)
        stk__torch_add(s, sums[STK_LOSS_NUMERATOR],
                       stk__torch_sum(s, stk__torch_multiply(s, add_logs(s, r), t->share)),
                       -smoothing / (double)r->classes);
}

/* Minus the pulls, times factor: the gradient of the loss by the logarithms. */
static void pull(stk__torch_scope *s, const rows *r, const target *t, stk__torch_handle factor,
                 stk__torch_handle pulls)
{
    const int mark = s->count;
    const double smoothing = r->op->spec.label_smoothing;
    const stk__torch_handle scaled = stk__torch_multiply(s, t->share, factor);
    if (smoothing > 0) stk__torch_add(s, pulls, scaled, -smoothing / (double)r->classes);
    STK_TORCH_RUN(s, "aten::scatter_add_", "", STK_TORCH_T(pulls), STK_TORCH_I(2), STK_TORCH_T(t->safe),
                  STK_TORCH_T(stk__torch_multiply(s, scaled, stk__torch_number(s, smoothing - 1))));
    stk__torch_release(s, mark);
}

static void find_slopes(stk__torch_scope *s, const rows *r, const target *targets, int count,
                        stk__torch_handle factor)
{
    const stk__torch_handle pulls = scratch_part(s, r, 1);
    STK_TORCH_RUN(s, "aten::zero_", "", STK_TORCH_T(pulls));
    for (int i = 0; i < count; i++)
        pull(s, r, &targets[i], factor, pulls);
    if (r->class_weights)
        STK_TORCH_RUN(s, "aten::mul", "out", STK_TORCH_T(pulls), STK_TORCH_T(r->class_weights),
                      STK_TORCH_T(pulls));
    STK_TORCH_RUN(s, "aten::_log_softmax_backward_data", "out", STK_TORCH_T(pulls), STK_TORCH_T(r->logs),
                  STK_TORCH_I(2), STK_TORCH_I(s->engine->api->aoti_torch_dtype_float32()),
                  STK_TORCH_T(stk__torch_shaped(s, r->io->dx[0], &r->all)));
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int count = io->x[STK_LOSS_TARGET2] ? 2 : 1;
    target targets[2];
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const rows r = rows_of(&s, op, io);
    const stk__torch_handle sums[STK_LOSS_SUMS] = {
        stk__torch_convert(&s, s.engine->zero, s.engine->api->aoti_torch_dtype_float64()),
        stk__torch_convert(&s, s.engine->zero, s.engine->api->aoti_torch_dtype_float64())};
    STK_TORCH_RUN(&s, "aten::_log_softmax", "out", STK_TORCH_T(stk__torch_shaped(&s, io->x[0], &r.all)),
                  STK_TORCH_I(2), STK_TORCH_I(false), STK_TORCH_T(r.logs));
    stk__torch_leave_out(&s, r.logs, stk__torch_per_sample(&s, io->x[STK_LOSS_WEIGHTS], 3));
    for (int i = 0; i < count; i++) {
        targets[i] = find_target(&s, &r, i);
        sum_target(&s, &r, &targets[i], (stk__torch_handle[]){sums[0], sums[1]});
    }
    const stk__torch_handle factor = stk__torch_finish(&s, io, sums[0], sums[1]);
    if (stk__torch_at(io->dx, 0)) find_slopes(&s, &r, targets, count, factor);
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_cross_entropy = {forward, NULL, needs};
