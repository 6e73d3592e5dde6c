/* SPDX-License-Identifier: Apache-2.0 */
/* Points by heat maps with offsets (op.h, image_size): loss and metric. */
#include "engine/reference/reference.h"

#include "core/distance.h"

#include <math.h>

double stk__reference_smooth_l1(double error)
{
    return fabs(error) < 1 ? 0.5 * error * error : fabs(error) - 0.5;
}

double stk__reference_smooth_l1_slope(double error)
{
    return fabs(error) < 1 ? error : (error > 0) - (error < 0);
}

/* Pixels of the image that one cell covers along an axis (0: h, 1: w). */
static double cell_px(const stk__op_spec *spec, int axis)
{
    return (double)spec->image_size[axis] / (double)spec->input[0].dim[1 + axis];
}

bool stk__reference_coord_find(const stk__op_spec *spec, const float point[3], stk__reference_coord *coord)
{
    const int64_t map_h = spec->input[0].dim[1], map_w = spec->input[0].dim[2];
    const double x = point[0] / cell_px(spec, 1), y = point[1] / cell_px(spec, 0);
    if (!(point[2] > 0 && x >= 0 && y >= 0 && x < (double)map_w && y < (double)map_h)) return false;
    coord->cell = (int64_t)floor(y) * map_w + (int64_t)floor(x);
    coord->offset[0] = x - (floor(x) + 0.5);
    coord->offset[1] = y - (floor(y) + 0.5);
    return true;
}

/* The maps of one point of one sample: heat of cell i is heat[i * stride], its offset offset[i * stride] and
 * the one behind. */
typedef struct maps {
    int64_t cells, stride;
    const float *heat, *offset;
} maps;

static int64_t point_count(const stk__op *op)
{
    return op->spec.input[0].dim[3] / 3;
}

static maps maps_of(const stk__op *op, const stk__op_io *io, int64_t n, int64_t j)
{
    const int64_t *dim = op->spec.input[0].dim;
    const float *first = stk__reference_f32(io->x[0]) + n * dim[1] * dim[2] * dim[3];
    return (maps){dim[1] * dim[2], dim[3], first + j, first + point_count(op) + 2 * j};
}

static const float *point_of(const stk__op *op, const stk__op_io *io, int64_t n, int64_t j)
{
    return stk__reference_f32(io->x[STK_LOSS_TARGET]) + (n * point_count(op) + j) * 3;
}

static double log_total(const maps *m)
{
    double most = m->heat[0], total = 0;
    for (int64_t i = 1; i < m->cells; i++)
        most = fmax(most, m->heat[i * m->stride]);
    for (int64_t i = 0; i < m->cells; i++)
        total += exp(m->heat[i * m->stride] - most);
    return most + log(total);
}

static double point_loss(const maps *m, const stk__reference_coord *coord)
{
    const float *offset = m->offset + coord->cell * m->stride;
    return log_total(m) - m->heat[coord->cell * m->stride] +
           stk__reference_smooth_l1(offset[0] - coord->offset[0]) +
           stk__reference_smooth_l1(offset[1] - coord->offset[1]);
}

/* dx: that of the whole prediction, zeroed. */
static void slope_point(const stk__op_io *io, const maps *m, const stk__reference_coord *coord, double factor)
{
    const float *x = stk__reference_f32(io->x[0]);
    float *dx = stk__reference_dx(io, 0);
    float *dheat = dx + (m->heat - x), *doffset = dx + (m->offset - x) + coord->cell * m->stride;
    const float *offset = m->offset + coord->cell * m->stride;
    const double total = log_total(m);
    for (int64_t i = 0; i < m->cells; i++)
        dheat[i * m->stride] =
            (float)(factor * (exp(m->heat[i * m->stride] - total) - (i == coord->cell ? 1 : 0)));
    for (int a = 0; a < 2; a++)
        doffset[a] = (float)(factor * stk__reference_smooth_l1_slope(offset[a] - coord->offset[a]));
}

static void points_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t count = op->spec.input[0].dim[0] * point_count(op), k = point_count(op);
    float *dx = stk__reference_dx(io, 0);
    double sums[STK_LOSS_SUMS] = {0};
    stk__reference_coord coord;
    for (int64_t i = 0; i < count; i++) {
        const double weight = stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i / k);
        const maps m = maps_of(op, io, i / k, i % k);
        if (weight == 0 || !stk__reference_coord_find(&op->spec, point_of(op, io, i / k, i % k), &coord))
            continue;
        sums[STK_LOSS_NUMERATOR] += weight * point_loss(&m, &coord);
        sums[STK_LOSS_DENOMINATOR] += weight;
    }
    const double factor = stk__reference_finish(io, sums);
    for (int64_t i = 0, values = stk__shape_count(&op->spec.input[0]); dx && i < values; i++)
        dx[i] = 0;
    for (int64_t i = 0; dx && i < count; i++) {
        const double weight = stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i / k);
        const maps m = maps_of(op, io, i / k, i % k);
        if (weight == 0 || !stk__reference_coord_find(&op->spec, point_of(op, io, i / k, i % k), &coord))
            continue;
        slope_point(io, &m, &coord, factor * weight);
    }
}

/* Distance in px of a point from where the maps see it: the centre of the largest cell, plus its offset. */
static double point_distance(const stk__op_spec *spec, const maps *m, const float point[3])
{
    const int64_t map_w = spec->input[0].dim[2];
    int64_t best = 0;
    for (int64_t i = 1; i < m->cells; i++)
        if (m->heat[i * m->stride] > m->heat[best * m->stride]) best = i;
    const float *offset = m->offset + best * m->stride;
    const double x = ((double)(best % map_w) + 0.5 + offset[0]) * cell_px(spec, 1);
    const double y = ((double)(best / map_w) + 0.5 + offset[1]) * cell_px(spec, 0);
    return stk__distance(x - point[0], y - point[1]);
}

static void point_error_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t count = op->spec.input[0].dim[0] * point_count(op), k = point_count(op);
    double *y = io->y->memory;
    stk__reference_coord coord;
    for (int64_t i = 0; i < count; i++) {
        const float *point = point_of(op, io, i / k, i % k);
        const maps m = maps_of(op, io, i / k, i % k);
        if (stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i / k) == 0) continue;
        if (!stk__reference_coord_find(&op->spec, point, &coord)) continue;
        const double distance_px = point_distance(&op->spec, &m, point);
        y[0] += 1;
        y[1] += distance_px;
        y[2] += distance_px <= 5;
    }
}

const stk__reference_kernel stk__reference_points = {points_forward, NULL, NULL};
const stk__reference_kernel stk__reference_point_error = {point_error_forward, NULL, NULL};
