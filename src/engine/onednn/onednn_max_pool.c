/* SPDX-License-Identifier: Apache-2.0 */
/* Max pool by our own loops: which place of a window won is kept in a byte. Windows of more places than a
 * byte can count are oneDNN's. */
#include "engine/onednn/onednn_engine.h"

#include <math.h>
#include <string.h>

enum { PLACES_MOST = 256 };

typedef struct pool_run {
    const stk__op *op;
    const float *x, *dy;
    float *y, *dx;
    uint8_t *taps; /* [outputs] */
} pool_run;

static bool is_wide(const stk__op *op)
{
    return (int64_t)op->spec.kernel[0] * op->spec.kernel[1] > PLACES_MOST;
}

static stk_status create(stk__op *op, stk_error *error)
{
    if (is_wide(op)) return stk__onednn_pool.create(op, error);
    op->needs.saved_bytes = (size_t)stk__shape_count(&op->form.output);
    return STK_OK;
}

static void destroy(stk__op *op)
{
    if (is_wide(op)) stk__onednn_pool.destroy(op);
}

/* first … last: rows of the output, over all samples */
static void pool_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const pool_run *run = context;
    const stk__op_spec *spec = &run->op->spec;
    const int64_t *in = spec->input[0].dim, *out = run->op->form.output.dim;
    for (int64_t row = first; row < last; row++) {
        const int64_t start = row * out[2] * out[3];
        const stk__pool_row r = {.x = run->x + row / out[1] * in[1] * in[2] * in[3],
                                 .y = run->y + start,
                                 .taps = run->taps + start,
                                 .h = in[1],
                                 .w = in[2],
                                 .c = in[3],
                                 .out_w = out[2],
                                 .top = row % out[1] * spec->stride[0] - spec->pad[0],
                                 .left = -spec->pad[1],
                                 .step = spec->stride[1],
                                 .kernel = {spec->kernel[0], spec->kernel[1]}};
        stk__loops_of(run->op)->max_pool(&r);
    }
}

/* Of one channel; top and left may lie in the padding. */
static bool window_has_nan(const pool_run *run, int64_t sample, int64_t top, int64_t left, int64_t channel)
{
    const stk__op_spec *spec = &run->op->spec;
    const int64_t *in = spec->input[0].dim;
    for (int64_t h = top < 0 ? 0 : top; h < top + spec->kernel[0] && h < in[1]; h++)
        for (int64_t w = left < 0 ? 0 : left; w < left + spec->kernel[1] && w < in[2]; w++)
            if (isnan(run->x[((sample * in[1] + h) * in[2] + w) * in[3] + channel])) return true;
    return false;
}

static void mark_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const pool_run *run = context;
    const stk__op_spec *spec = &run->op->spec;
    const int64_t *out = run->op->form.output.dim, values = out[2] * out[3];
    for (int64_t row = first; row < last; row++)
        for (int64_t i = 0; i < values; i++)
            if (window_has_nan(run, row / out[1], row % out[1] * spec->stride[0] - spec->pad[0],
                               i / out[3] * spec->stride[1] - spec->pad[1], i % out[3]))
                run->y[row * values + i] = NAN;
}

/* oneDNN passes over NaN, which wins everywhere else. Inputs without one are read once more. */
static stk_status forward_wide(stk__op *op, const stk__op_io *io, stk_error *error)
{
    pool_run run = {.op = op, .x = stk__floats(io->x[0]), .y = stk__floats(io->y)};
    STK__TRY(stk__onednn_pool.forward(op, io, error));
    if (isnan(stk__loops_of(op)->sum_squares(run.x, stk__shape_count(&op->spec.input[0]))))
        stk__onednn_loop(op->engine, op->form.output.dim[0] * op->form.output.dim[1], 1, mark_rows, &run);
    return STK_OK;
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    if (is_wide(op)) return forward_wide(op, io, error);
    pool_run run = {
        .op = op, .x = stk__floats(io->x[0]), .y = stk__floats(io->y), .taps = stk__onednn_at(io->saved, 0)};
    stk__onednn_loop(op->engine, op->form.output.dim[0] * op->form.output.dim[1], 1, pool_rows, &run);
    return STK_OK;
}

/* What one row of the output gives to a row of the input, which it meets in row kh of its windows. */
static void give_row(const pool_run *run, int64_t out_row, float *dx, int64_t kh)
{
    const stk__op_spec *spec = &run->op->spec;
    const stk__onednn_loops *loops = stk__loops_of(run->op);
    const int64_t w = spec->input[0].dim[2], c = spec->input[0].dim[3], out_w = run->op->form.output.dim[2];
    for (int64_t i = 0; i < out_w; i++) {
        const int64_t from = (out_row * out_w + i) * c, left = i * spec->stride[1] - spec->pad[1];
        for (int64_t kw = left < 0 ? -left : 0; kw < spec->kernel[1] && left + kw < w; kw++)
            loops->pool_back(run->taps + from, run->dy + from, dx + (left + kw) * c, c,
                             (uint8_t)(kh * spec->kernel[1] + kw));
    }
}

/* first … last: rows of the input, over all samples. Each belongs to one thread, so the order of sums is
 * always the same. */
static void give_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const pool_run *run = context;
    const stk__op_spec *spec = &run->op->spec;
    const int64_t *in = spec->input[0].dim, *out = run->op->form.output.dim;
    for (int64_t row = first; row < last; row++) {
        const int64_t n = row / in[1], h = row % in[1] + spec->pad[0];
        const int64_t least = h < spec->kernel[0] ? 0 : (h - spec->kernel[0]) / spec->stride[0] + 1;
        float *dx = run->dx + row * in[2] * in[3];
        memset(dx, 0, (size_t)(in[2] * in[3]) * sizeof *dx);
        for (int64_t i = least; i < out[1] && i * spec->stride[0] <= h; i++)
            give_row(run, n * out[1] + i, dx, h - i * spec->stride[0]);
    }
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    if (is_wide(op)) return stk__onednn_pool.backward(op, io, error);
    pool_run run = {.op = op,
                    .dy = stk__floats(io->dy),
                    .dx = stk__floats_at(io->dx, 0),
                    .taps = stk__onednn_at(io->saved, 0)};
    const int64_t *in = op->spec.input[0].dim;
    if (run.dx) stk__onednn_loop(op->engine, in[0] * in[1], 1, give_rows, &run);
    return STK_OK;
}

const stk__onednn_kind stk__onednn_max_pool = {create, destroy, forward, backward};
