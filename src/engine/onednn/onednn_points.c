/* SPDX-License-Identifier: Apache-2.0 */
/* Loss and metric of points by heat maps with offsets (op.h, image_size): one item of the pool is the map of
 * one point of one sample. */
#include "core/distance.h"
#include "engine/onednn/onednn_exp.h"
#include "engine/onednn/onednn_targets.h"

#include <math.h>

enum { BLOCK = 64 }; /* cells of a map */

/* Where a point lies in its map. */
typedef struct coord {
    int64_t cell; /* -1: left out */
    double offset[2];
} coord;

typedef struct points_run {
    const stk__op_spec *spec;
    stk__targets targets;
    const float *x; /* [n h w 3k] */
    float *dx;      /* NULL: not wanted */
    double *sums;   /* one a point: its loss, or its distance in px; scratch */
    double scale;   /* of the gradient */
    int64_t k, cells, channels;
} points_run;

static double cell_px(const stk__op_spec *spec, int axis)
{
    return (double)spec->image_size[axis] / (double)spec->input[0].dim[1 + axis];
}

static const float *point_at(const points_run *run, int64_t item)
{
    return stk__floats(run->targets.a) + item * 3;
}

static double weight_of(const points_run *run, int64_t item)
{
    return (double)stk__target_weight(&run->targets, item / run->k);
}

static coord find_coord(const points_run *run, int64_t item)
{
    const float *point = point_at(run, item);
    const int64_t h = run->spec->input[0].dim[1], w = run->spec->input[0].dim[2];
    const double x = (double)point[0] / cell_px(run->spec, 1), y = (double)point[1] / cell_px(run->spec, 0);
    const bool inside = point[2] > 0 && x >= 0 && y >= 0 && x < (double)w && y < (double)h;
    if (!inside || weight_of(run, item) == 0) return (coord){.cell = -1};
    return (coord){(int64_t)y * w + (int64_t)x, {x - (floor(x) + 0.5), y - (floor(y) + 0.5)}};
}

static const float *heat_of(const points_run *run, int64_t item)
{
    return run->x + item / run->k * run->cells * run->channels + item % run->k;
}

/* Offsets of a cell: (x, y). */
static int64_t offset_at(const points_run *run, int64_t item, int64_t cell)
{
    return (item / run->k * run->cells + cell) * run->channels + run->k + item % run->k * 2;
}

static int64_t find_largest(const points_run *run, const float *heat)
{
    int64_t best = 0;
    for (int64_t i = 1; i < run->cells; i++)
        if (heat[i * run->channels] > heat[best * run->channels]) best = i;
    return best;
}

static double smooth(double error)
{
    const double size = fabs(error);
    return size < 1 ? 0.5 * error * error : size - 0.5;
}

static double smooth_slope(double error)
{
    return fabs(error) < 1 ? error : (error > 0) - (error < 0);
}

/* Sum of exp(heat - most) over a map; they go to dheat, too. In blocks, which the compiler makes vectors of.
 */
static double sum_powers(const points_run *run, const float *heat, float most, float *dheat)
{
    double total = 0;
    for (int64_t first = 0; first < run->cells; first += BLOCK) {
        const int64_t count = first + BLOCK < run->cells ? BLOCK : run->cells - first;
        float power[BLOCK];
        for (int64_t i = 0; i < BLOCK; i++)
            power[i] = heat[(first + (i < count ? i : 0)) * run->channels] - most;
        for (int64_t i = 0; i < BLOCK; i++)
            power[i] = stk__exp(power[i]);
        for (int64_t i = 0; i < count; i++)
            total += (double)power[i];
        for (int64_t i = 0; dheat && i < count; i++)
            dheat[(first + i) * run->channels] = power[i];
    }
    return total;
}

/* dheat has the powers of the map. dx of a left out point stays 0. */
static void store_gradient(const points_run *run, int64_t item, const coord *at, double total)
{
    float *dheat = run->dx + (heat_of(run, item) - run->x);
    const double scale = run->scale * weight_of(run, item), share = scale / total;
    const float there = dheat[at->cell * run->channels];
    for (int64_t i = 0; i < run->cells; i++)
        dheat[i * run->channels] = (float)(share * (double)dheat[i * run->channels]);
    dheat[at->cell * run->channels] = (float)(share * (double)there - scale);
    const int64_t offset = offset_at(run, item, at->cell);
    for (int a = 0; a < 2; a++)
        run->dx[offset + a] = (float)(scale * smooth_slope((double)run->x[offset + a] - at->offset[a]));
}

static void judge_point(const points_run *run, int64_t item)
{
    const coord at = find_coord(run, item);
    const float *heat = heat_of(run, item);
    run->sums[item] = 0;
    if (at.cell < 0) return;
    const float most = heat[find_largest(run, heat) * run->channels];
    const double total = sum_powers(run, heat, most, run->dx ? run->dx + (heat - run->x) : NULL);
    const double log_total = (double)most + log(total);
    const float *offset = run->x + offset_at(run, item, at.cell);
    run->sums[item] = weight_of(run, item) *
                      (log_total - (double)heat[at.cell * run->channels] +
                       smooth((double)offset[0] - at.offset[0]) + smooth((double)offset[1] - at.offset[1]));
    if (run->dx) store_gradient(run, item, &at, total);
}

static void judge_points(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    for (int64_t item = first; item < last; item++)
        judge_point(context, item);
}

static void measure_points(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const points_run *run = context;
    for (int64_t item = first; item < last; item++) {
        const int64_t w = run->spec->input[0].dim[2];
        const int64_t cell = find_largest(run, heat_of(run, item));
        const float *offset = run->x + offset_at(run, item, cell), *point = point_at(run, item);
        const double x = ((double)(cell % w) + 0.5 + (double)offset[0]) * cell_px(run->spec, 1);
        const double y = ((double)(cell / w) + 0.5 + (double)offset[1]) * cell_px(run->spec, 0);
        run->sums[item] =
            find_coord(run, item).cell < 0 ? -1 : stk__distance(x - (double)point[0], y - (double)point[1]);
    }
}

static points_run prepare(const stk__op *op, const stk__op_io *io)
{
    const int64_t *dim = op->spec.input[0].dim;
    return (points_run){.spec = &op->spec,
                        .targets = stk__targets_of(op, io),
                        .x = stk__floats(io->x[0]),
                        .dx = stk__floats_at(io->dx, 0),
                        .sums = stk__onednn_at(io->scratch, 0),
                        .k = dim[3] / 3,
                        .cells = dim[1] * dim[2],
                        .channels = dim[3]};
}

static int64_t items_of(const stk__op *op)
{
    return op->spec.input[0].dim[0] * (op->spec.input[0].dim[3] / 3);
}

static stk_status create(stk__op *op, stk_error *error)
{
    (void)error;
    op->needs.scratch_bytes = (size_t)items_of(op) * sizeof(double);
    return STK_OK;
}

static stk_status forward_points(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    points_run run = prepare(op, io);
    const int64_t items = items_of(op);
    double *y = io->y->memory, numerator = 0, denominator = 0;
    for (int64_t item = 0; item < items; item++)
        if (find_coord(&run, item).cell >= 0) denominator += weight_of(&run, item);
    run.scale = denominator > 0 ? io->grad_scale / denominator : 0;
    if (run.dx)
        stk__onednn_zero(op->engine, run.dx, (size_t)stk__shape_count(&op->spec.input[0]) * sizeof *run.dx);
    stk__onednn_loop(op->engine, items, 1, judge_points, &run);
    for (int64_t item = 0; item < items; item++)
        numerator += run.sums[item];
    y[STK_LOSS_NUMERATOR] += numerator;
    y[STK_LOSS_DENOMINATOR] += denominator;
    return STK_OK;
}

static stk_status forward_point_error(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    points_run run = prepare(op, io);
    const int64_t items = items_of(op);
    double *y = io->y->memory;
    stk__onednn_loop(op->engine, items, 1, measure_points, &run);
    for (int64_t item = 0; item < items; item++) {
        const double distance_px = run.sums[item];
        if (distance_px == -1) continue;
        y[0] += 1;
        y[1] += distance_px;
        y[2] += distance_px <= 5;
    }
    return STK_OK;
}

const stk__onednn_kind stk__onednn_points = {.create = create, .forward = forward_points};
const stk__onednn_kind stk__onednn_point_error = {.create = create, .forward = forward_point_error};
