/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm, alone or with the relu behind it, in chunks of rows: each is measured while it lies in the
 * cache, and chunks are joined in order, so that results do not depend on the number of threads. */
#include "core/memory.h"
#include "engine/onednn/onednn_engine.h"

#include <math.h>

enum { CHUNK = 1 << 14, ROWS_LEAST = 4, ROWS_MOST = 512 }; /* values of a chunk; floats add up so many rows */

typedef struct norm {
    int64_t rows, c, grain, chunks; /* grain: rows of a chunk */
    size_t variance;                /* saved: after the mean */
    size_t scale, slope, tilt;      /* scratch: numbers of each channel */
    size_t parts;                   /* scratch: [chunks 2 c] floats, what each chunk has found */
} norm;

typedef struct norm_run {
    const norm *own;
    const stk__onednn_loops *loops;
    stk__norm_numbers numbers;
    const float *x, *dy, *plus; /* plus: added to the output; NULL: nothing */
    float *target, *parts;
} norm_run;

static void plan_memory(stk__op *op, norm *own)
{
    const size_t channel_bytes = (size_t)own->c * sizeof(float);
    size_t *scratch = &op->needs.scratch_bytes;
    stk__onednn_reserve(&op->needs.saved_bytes, channel_bytes);
    own->variance = stk__onednn_reserve(&op->needs.saved_bytes, channel_bytes);
    own->scale = stk__onednn_reserve(scratch, channel_bytes);
    own->slope = stk__onednn_reserve(scratch, channel_bytes);
    own->tilt = stk__onednn_reserve(scratch, channel_bytes);
    own->parts = stk__onednn_reserve(scratch, 2 * channel_bytes * (size_t)own->chunks);
}

static stk_status create(stk__op *op, stk_error *error)
{
    norm *own = op->own = stk__alloc(sizeof *own);
    if (!own) return stk__fail_memory(error, sizeof *own, "a layer");
    own->c = op->form.param[0].shape.dim[0];
    own->rows = stk__shape_count(&op->form.output) / own->c;
    own->grain = CHUNK / own->c;
    if (own->grain < ROWS_LEAST) own->grain = ROWS_LEAST;
    if (own->grain > ROWS_MOST) own->grain = ROWS_MOST;
    own->chunks = (own->rows + own->grain - 1) / own->grain;
    plan_memory(op, own);
    op->joins = !op->spec.relu;
    return STK_OK;
}

static const float *mean_of(const stk__op_io *io)
{
    return io->training ? stk__floats(io->saved) : stk__floats(io->buffer[0]);
}

static const float *variance_of(const norm *own, const stk__op_io *io)
{
    return io->training ? stk__onednn_at(io->saved, own->variance) : stk__floats(io->buffer[1]);
}

static double inverse_std(const stk__op *op, const stk__op_io *io, int64_t k)
{
    return 1 / sqrt((double)variance_of(op->own, io)[k] + op->spec.eps);
}

/* Both passes make the same numbers from the same statistics: the backward pass finds the relu's zeros again
 * to the bit. */
static norm_run prepare(const stk__op *op, const stk__op_io *io)
{
    const norm *own = op->own;
    float *scale = stk__onednn_at(io->scratch, own->scale);
    const float *weight = stk__floats(io->param[0]);
    for (int64_t k = 0; k < own->c; k++)
        scale[k] = (float)(inverse_std(op, io, k) * (double)weight[k]);
    return (norm_run){.own = own,
                      .loops = stk__loops_of(op),
                      .numbers = {.mean = mean_of(io),
                                  .scale = scale,
                                  .shift = stk__floats(io->param[1]),
                                  .slope = stk__onednn_at(io->scratch, own->slope),
                                  .tilt = stk__onednn_at(io->scratch, own->tilt),
                                  .c = own->c,
                                  .relu = op->spec.relu},
                      .x = stk__floats(io->x[0]),
                      .dy = stk__floats(io->dy),
                      .parts = stk__onednn_at(io->scratch, own->parts)};
}

static void measure_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const norm_run *run = context;
    const int64_t c = run->own->c;
    float *part = run->parts + first / run->own->grain * 2 * c;
    run->loops->norm_measure(run->x + first * c, last - first, c, part, part + c);
}

/* Joins what the chunks have found of channel k: means and sums of squares around them. */
static void join_moments(const norm_run *run, int64_t k, float *mean, float *variance)
{
    const norm *own = run->own;
    double rows = 0, middle = 0, squares = 0;
    for (int64_t i = 0; i < own->chunks; i++) {
        const float *part = run->parts + i * 2 * own->c + k;
        const double more = (double)(i + 1 < own->chunks ? own->grain : own->rows - i * own->grain);
        const double away = (double)part[0] - middle;
        squares += (double)part[own->c] + away * away * rows * more / (rows + more);
        middle += away * more / (rows + more);
        rows += more;
    }
    *mean = (float)middle;
    *variance = (float)(squares / rows);
}

static void measure(const stk__op *op, const stk__op_io *io)
{
    const norm *own = op->own;
    float *mean = stk__floats(io->saved), *variance = stk__onednn_at(io->saved, own->variance);
    norm_run run = {.own = own,
                    .loops = stk__loops_of(op),
                    .x = stk__floats(io->x[0]),
                    .parts = stk__onednn_at(io->scratch, own->parts)};
    stk__onednn_loop(op->engine, own->rows, own->grain, measure_rows, &run);
    for (int64_t k = 0; k < own->c; k++)
        join_moments(&run, k, &mean[k], &variance[k]);
}

static void track(const stk__op *op, const stk__op_io *io)
{
    const norm *own = op->own;
    const float *mean = mean_of(io), *variance = variance_of(own, io);
    float *running_mean = stk__floats(io->buffer[0]), *running_var = stk__floats(io->buffer[1]);
    const double momentum = op->spec.momentum, rows = (double)own->rows;
    const double unbiased = own->rows > 1 ? rows / (rows - 1) : 1;
    for (int64_t i = 0; i < own->c; i++) {
        running_mean[i] = (float)((1 - momentum) * running_mean[i] + momentum * mean[i]);
        running_var[i] = (float)((1 - momentum) * running_var[i] + momentum * unbiased * variance[i]);
    }
    ++*(int64_t *)io->buffer[2]->memory;
}

/* The second sweep over a tensor goes backwards: what the first has read last is still in the cache. */
static int64_t turn(const norm_run *run, int64_t first, int64_t *rows)
{
    const norm *own = run->own;
    const int64_t start = (own->chunks - 1 - first / own->grain) * own->grain;
    *rows = start + own->grain < own->rows ? own->grain : own->rows - start;
    return start * own->c;
}

static void apply_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)last, (void)worker;
    const norm_run *run = context;
    int64_t rows;
    const int64_t at = turn(run, first, &rows);
    if (run->plus)
        run->loops->norm_join(run->x + at, run->plus + at, run->target + at, rows, &run->numbers);
    else
        run->loops->norm_apply(run->x + at, run->target + at, rows, &run->numbers);
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const norm *own = op->own;
    if (io->training) measure(op, io);
    norm_run run = prepare(op, io);
    run.target = stk__floats(io->y);
    run.plus = stk__floats(io->plus);
    if (run.plus) run.numbers.relu = io->plus_relu; /* its own would be computed before */
    stk__onednn_loop(op->engine, own->rows, own->grain, apply_rows, &run);
    if (io->training && !io->again) track(op, io);
    return STK_OK;
}

static void gather_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const norm_run *run = context;
    const int64_t c = run->own->c;
    run->loops->norm_gather(run->x + first * c, run->dy + first * c, last - first, &run->numbers,
                            run->parts + first / run->own->grain * 2 * c);
}

static void learn(const stk__op_io *io, int param, int64_t k, double gradient)
{
    float *target = stk__floats_at(io->dparam, param);
    if (target) target[k] = (float)(io->add_dparam ? (double)target[k] + gradient : gradient);
}

/* Adds the chunks' sums up: gradients of the parameters, and what the statistics' dependence on x takes. */
static void join_sums(const stk__op *op, const stk__op_io *io, const norm_run *run)
{
    const norm *own = op->own;
    float *slope = stk__onednn_at(io->scratch, own->slope), *tilt = stk__onednn_at(io->scratch, own->tilt);
    for (int64_t k = 0; k < own->c; k++) {
        const double inverse = inverse_std(op, io, k), rows = (double)own->rows;
        double sum = 0, product = 0;
        for (int64_t i = 0; i < own->chunks; i++) {
            sum += (double)run->parts[i * 2 * own->c + k];
            product += (double)run->parts[(i * 2 + 1) * own->c + k];
        }
        learn(io, 0, k, product * inverse);
        learn(io, 1, k, sum);
        slope[k] = io->training ? (float)(sum / rows) : 0;
        tilt[k] = io->training ? (float)(product * inverse * inverse / rows) : 0;
    }
}

static void spread_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)last, (void)worker;
    const norm_run *run = context;
    int64_t rows;
    const int64_t at = turn(run, first, &rows);
    run->loops->norm_spread(run->x + at, run->dy + at, run->target + at, rows, &run->numbers);
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const norm *own = op->own;
    norm_run run = prepare(op, io);
    run.target = stk__floats_at(io->dx, 0);
    stk__onednn_loop(op->engine, own->rows, own->grain, gather_rows, &run);
    join_sums(op, io, &run);
    if (run.target) stk__onednn_loop(op->engine, own->rows, own->grain, spread_rows, &run);
    return STK_OK;
}

const stk__onednn_kind stk__onednn_norm = {create, NULL, forward, backward};
