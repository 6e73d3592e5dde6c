/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of classes: threads find what each row says, one thread counts. */
#include "engine/onednn/onednn_targets.h"

enum { GRAIN = 1024 }; /* rows a chunk */

typedef struct classes_run {
    stk__targets targets;
    const float *x; /* [rows classes] */
    int64_t classes;
    int32_t *found; /* a number for each row; scratch */
} classes_run;

static int64_t truth_of(const classes_run *run, int64_t row)
{
    const int64_t n = row / run->targets.rows;
    if (stk__target_weight(&run->targets, n) == 0) return -1;
    return stk__target_class(&run->targets, stk__target_main(&run->targets, n), row);
}

/* found: truth x classes + prediction, or -1 */
static void confuse_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const classes_run *run = context;
    for (int64_t row = first; row < last; row++) {
        const float *x = run->x + row * run->classes;
        const int64_t truth = truth_of(run, row);
        int64_t best = 0;
        for (int64_t c = 1; c < run->classes; c++)
            if (x[c] > x[best]) best = c;
        run->found[row] = truth < 0 ? -1 : (int32_t)(truth * run->classes + best);
    }
}

/* found: classes that come before the truth, or -1; NaN comes before it. */
static void rank_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const classes_run *run = context;
    for (int64_t row = first; row < last; row++) {
        const float *x = run->x + row * run->classes;
        const int64_t truth = truth_of(run, row);
        int32_t rank = truth < 0 ? -1 : 0;
        for (int64_t c = 0; truth >= 0 && c < run->classes; c++)
            rank += c < truth ? !(x[c] < x[truth]) : c > truth && !(x[c] <= x[truth]);
        run->found[row] = rank;
    }
}

static int64_t rows_of(const stk__op *op)
{
    return stk__shape_count(&op->spec.input[0]) / op->spec.classes;
}

static stk_status create(stk__op *op, stk_error *error)
{
    (void)error;
    op->needs.scratch_bytes = (size_t)rows_of(op) * sizeof(int32_t);
    return STK_OK;
}

static const int32_t *find(const stk__op *op, const stk__op_io *io, stk__onednn_rows how)
{
    classes_run run = {.targets = stk__targets_of(op, io),
                       .x = stk__floats(io->x[0]),
                       .classes = op->spec.classes,
                       .found = stk__onednn_at(io->scratch, 0)};
    stk__onednn_loop(op->engine, rows_of(op), GRAIN, how, &run);
    return run.found;
}

static stk_status forward_confusion(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const int32_t *cell = find(op, io, confuse_rows);
    int64_t *y = io->y->memory;
    for (int64_t row = 0; row < rows_of(op); row++)
        if (cell[row] >= 0) y[cell[row]]++;
    return STK_OK;
}

static stk_status forward_top_k(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const int32_t *rank = find(op, io, rank_rows);
    int64_t *y = io->y->memory;
    for (int64_t row = 0; row < rows_of(op); row++) {
        y[0] += rank[row] >= 0;
        y[1] += rank[row] == 0;
        y[2] += rank[row] >= 0 && rank[row] < 5;
    }
    return STK_OK;
}

const stk__onednn_kind stk__onednn_confusion = {.create = create, .forward = forward_confusion};
const stk__onednn_kind stk__onednn_top_k = {.create = create, .forward = forward_top_k};
