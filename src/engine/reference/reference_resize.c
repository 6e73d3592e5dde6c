/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing of pictures [n h w c] with half-pixel centres. */
#include "engine/reference/reference.h"

#include <math.h>

/* Where one output row or column comes from: share of low, the rest of high. */
typedef struct mixture {
    int64_t low, high;
    double low_share;
} mixture;

static mixture mix_along(const stk__op_spec *spec, int axis, int64_t out)
{
    const int64_t from = spec->input[0].dim[1 + axis], to = spec->size[axis];
    if (spec->resize == STK_RESIZE_NEAREST) {
        const int64_t nearest = (2 * out + 1) * from / (2 * to); /* holds the centre of out */
        return (mixture){nearest, nearest, 1};
    }
    const double centre = fmax(((double)out + 0.5) * (double)from / (double)to - 0.5, 0);
    const int64_t low = (int64_t)floor(centre);
    return (mixture){low, low + 1 < from ? low + 1 : low, 1 - (centre - (double)low)};
}

/* The four input values of an output value and their shares. */
typedef struct corners {
    int64_t at[4];
    double share[4];
} corners;

static corners corners_of(const stk__op_spec *spec, int64_t n, int64_t h, int64_t w)
{
    const int64_t *x = spec->input[0].dim;
    const mixture row = mix_along(spec, 0, h), column = mix_along(spec, 1, w);
    corners found;
    for (int i = 0; i < 4; i++) {
        const int64_t from_h = i / 2 ? row.high : row.low, from_w = i % 2 ? column.high : column.low;
        found.at[i] = ((n * x[1] + from_h) * x[2] + from_w) * x[3];
        found.share[i] =
            (i / 2 ? 1 - row.low_share : row.low_share) * (i % 2 ? 1 - column.low_share : column.low_share);
    }
    return found;
}

static void resize_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t *dim = op->form.output.dim, c = dim[3];
    const float *x = stk__reference_f32(io->x[0]);
    float *y = stk__reference_f32(io->y);
    for (int64_t pixel = 0; pixel < dim[0] * dim[1] * dim[2]; pixel++) {
        const corners from =
            corners_of(&op->spec, pixel / (dim[1] * dim[2]), pixel / dim[2] % dim[1], pixel % dim[2]);
        for (int64_t k = 0; k < c; k++) {
            double sum = 0;
            for (int i = 0; i < 4; i++)
                sum += from.share[i] * x[from.at[i] + k];
            y[pixel * c + k] = (float)sum;
        }
    }
}

static void resize_backward(const stk__op *op, const stk__op_io *io)
{
    const int64_t *dim = op->form.output.dim, c = dim[3];
    const float *dy = stk__reference_f32(io->dy);
    float *dx = stk__reference_dx(io, 0);
    if (!dx) return;
    for (int64_t i = 0, count = stk__shape_count(&op->spec.input[0]); i < count; i++)
        dx[i] = 0;
    for (int64_t pixel = 0; pixel < dim[0] * dim[1] * dim[2]; pixel++) {
        const corners to =
            corners_of(&op->spec, pixel / (dim[1] * dim[2]), pixel / dim[2] % dim[1], pixel % dim[2]);
        for (int64_t k = 0; k < c; k++)
            for (int i = 0; i < 4; i++)
                dx[to.at[i] + k] = (float)(dx[to.at[i] + k] + to.share[i] * dy[pixel * c + k]);
    }
}

const stk__reference_kernel stk__reference_resize = {resize_forward, resize_backward, NULL};
