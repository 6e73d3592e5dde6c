/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax cross-entropy and its gradient in one pass over the prediction, 16 rows at a time: a row is a pixel
 * (or a sample) with its classes. Sums are kept a chunk and added in order: the same for every number of
 * threads. */
#include "engine/onednn/onednn_targets.h"

#include <math.h>
#include <string.h>

enum { LANES = STK_SOFTMAX_ROWS, GRAIN = 64 * LANES }; /* rows of a block, of a chunk */

typedef struct entropy_run {
    stk__targets targets;
    const stk__onednn_loops *loops;
    const float *x; /* [rows classes] */
    float *dx;      /* NULL: not wanted */
    int64_t classes;
    double weight_sum; /* of all classes */
    double *sums;      /* two a chunk */
    double scale;      /* of the gradient */
} entropy_run;

/* A row's part in the loss, for the first and the second target. */
typedef struct row_share {
    int64_t id[2];    /* class, or -1: left out */
    double share[2];  /* weight[n] x lambda or 1 - lambda; 0 where left out */
    double weight[2]; /* of the class */
} row_share;

static float class_weight(const entropy_run *run, int64_t c)
{
    return run->targets.class_weights ? run->targets.class_weights[c] : 1;
}

static row_share share_of(const entropy_run *run, int64_t row)
{
    const stk__targets *t = &run->targets;
    const int64_t n = row / t->rows;
    const double weight = (double)stk__target_weight(t, n), lambda = t->lambda ? (double)t->lambda[n] : 1;
    row_share s = {.id = {stk__target_class(t, t->a, row), t->b ? stk__target_class(t, t->b, row) : -1},
                   .share = {weight * lambda, weight * (1 - lambda)}};
    for (int i = 0; i < 2; i++) {
        if (s.share[i] == 0) s.id[i] = -1;
        if (s.id[i] < 0) s.share[i] = 0;
        s.weight[i] = s.id[i] < 0 ? 0 : (double)class_weight(run, s.id[i]);
    }
    return s;
}

static void weigh_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const entropy_run *run = context;
    double sum = 0;
    for (int64_t row = first; row < last; row++) {
        const row_share s = share_of(run, row);
        sum += s.share[0] * s.weight[0] + s.share[1] * s.weight[1];
    }
    run->sums[first / GRAIN * 2 + 1] = sum;
}

/* The loss of one row; sets what its gradient needs. */
static double judge_row(const entropy_run *run, const row_share *s, int64_t row, int lane,
                        stk__softmax_block *b)
{
    const double smoothing = run->targets.spec->label_smoothing, each = smoothing / (double)run->classes;
    const double log_sum = (double)logf(b->sum[lane]);
    const double even = log_sum * run->weight_sum - (double)b->weighted[lane]; /* sum of w_c nll_c */
    double loss = 0, factor = 0;
    for (int i = 0; i < 2; i++) {
        if (s->id[i] < 0) continue;
        const double below = (double)run->x[row * run->classes + s->id[i]] - (double)b->largest[lane];
        loss += s->share[i] * ((1 - smoothing) * s->weight[i] * (log_sum - below) + each * even);
        factor += s->share[i] * ((1 - smoothing) * s->weight[i] + each * run->weight_sum);
    }
    b->factor[lane] = (float)(run->scale * factor / (double)b->sum[lane]);
    b->even[lane] = (float)(run->scale * each * (s->share[0] + s->share[1]));
    return loss;
}

/* Rows that are left out get 0, whatever their prediction. */
static void give_targets(const entropy_run *run, const row_share *s, float *dx)
{
    const double smoothing = run->targets.spec->label_smoothing;
    if (s->id[0] < 0 && s->id[1] < 0) memset(dx, 0, (size_t)run->classes * sizeof *dx);
    for (int i = 0; i < 2; i++)
        if (s->id[i] >= 0) dx[s->id[i]] -= (float)(run->scale * s->share[i] * (1 - smoothing) * s->weight[i]);
}

static double judge_block(const entropy_run *run, int64_t first, int64_t last, stk__softmax_block *b)
{
    const int rows = last - first < LANES ? (int)(last - first) : LANES;
    const float *weights = run->targets.class_weights;
    row_share shares[LANES];
    double sum = 0;
    run->loops->softmax(run->x + first * run->classes, rows, run->classes, weights, b);
    for (int l = 0; l < LANES; l++)
        b->factor[l] = b->even[l] = 0;
    for (int l = 0; l < rows; l++) {
        shares[l] = share_of(run, first + l);
        sum += judge_row(run, &shares[l], first + l, l, b);
    }
    if (!run->dx) return sum;
    float *dx = run->dx + first * run->classes;
    run->loops->softmax_back(b, rows, run->classes, weights, dx);
    for (int l = 0; l < rows; l++)
        give_targets(run, &shares[l], dx + l * run->classes);
    return sum;
}

static void judge_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const entropy_run *run = context;
    stk__softmax_block b;
    double sum = 0;
    for (int64_t row = first; row < last; row += LANES)
        sum += judge_block(run, row, last, &b);
    run->sums[first / GRAIN * 2] = sum;
}

static double add_up(const entropy_run *run, int64_t chunks, int which)
{
    double sum = 0;
    for (int64_t i = 0; i < chunks; i++)
        sum += run->sums[i * 2 + which];
    return sum;
}

static int64_t rows_of(const stk__op *op)
{
    return stk__shape_count(&op->spec.input[0]) / op->spec.classes;
}

static stk_status create(stk__op *op, stk_error *error)
{
    (void)error;
    op->needs.scratch_bytes = (size_t)((rows_of(op) + GRAIN - 1) / GRAIN) * 2 * sizeof(double);
    return STK_OK;
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const int64_t rows = rows_of(op), chunks = (rows + GRAIN - 1) / GRAIN;
    entropy_run run = {.targets = stk__targets_of(op, io),
                       .loops = stk__loops_of(op),
                       .x = stk__floats(io->x[0]),
                       .dx = stk__floats_at(io->dx, 0),
                       .classes = op->spec.classes,
                       .sums = stk__onednn_at(io->scratch, 0)};
    for (int64_t c = 0; c < run.classes; c++)
        run.weight_sum += (double)class_weight(&run, c);
    stk__onednn_loop(op->engine, rows, GRAIN, weigh_rows, &run);
    const double denominator = add_up(&run, chunks, 1);
    run.scale = denominator > 0 ? io->grad_scale / denominator : 0;
    stk__onednn_loop(op->engine, rows, GRAIN, judge_rows, &run);
    double *sums = io->y->memory;
    sums[STK_LOSS_NUMERATOR] += add_up(&run, chunks, 0);
    sums[STK_LOSS_DENOMINATOR] += denominator;
    return STK_OK;
}

const stk__onednn_kind stk__onednn_cross_entropy = {.create = create, .forward = forward};
