/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and its transpose, pictures [n h w c].
 *
 * Both are one relation between a large picture (conv: x, transpose: y) and a small one (conv: y, transpose:
 * x): value (h, w) of the small one meets value (h stride - pad + kh dilation, …) of the large one through
 * weight[small channel][large channel of its group][kh][kw]. Forward of one is the gradient of the other. */
#include "engine/reference/reference.h"

typedef struct relation {
    const stk__op_spec *spec;
    int64_t n, large_h, large_w, large_c, small_h, small_w, small_c;
    int64_t large_group, small_group; /* channels of one group */
    int64_t kh, kw;
} relation;

static relation relate(const stk__op_spec *spec, const stk__shape *large, const stk__shape *small)
{
    return (relation){.spec = spec,
                      .n = large->dim[0],
                      .large_h = large->dim[1],
                      .large_w = large->dim[2],
                      .large_c = large->dim[3],
                      .small_h = small->dim[1],
                      .small_w = small->dim[2],
                      .small_c = small->dim[3],
                      .large_group = large->dim[3] / spec->groups,
                      .small_group = small->dim[3] / spec->groups,
                      .kh = spec->kernel[0],
                      .kw = spec->kernel[1]};
}

static int64_t weight_at(const relation *r, int64_t small_c, int64_t large_c, int64_t kh, int64_t kw)
{
    return ((small_c * r->large_group + large_c % r->large_group) * r->kh + kh) * r->kw + kw;
}

static int64_t small_at(const relation *r, int64_t n, int64_t h, int64_t w)
{
    return ((n * r->small_h + h) * r->small_w + w) * r->small_c;
}

/* Index of the first channel of the large picture that small (h, w) meets through (kh, kw); -1: padding. */
static int64_t meet(const relation *r, const int64_t small[3], int64_t kh, int64_t kw)
{
    const stk__op_spec *spec = r->spec;
    const int64_t h = small[1] * spec->stride[0] - spec->pad[0] + kh * spec->dilation[0];
    const int64_t w = small[2] * spec->stride[1] - spec->pad[1] + kw * spec->dilation[1];
    if (h < 0 || h >= r->large_h || w < 0 || w >= r->large_w) return -1;
    return ((small[0] * r->large_h + h) * r->large_w + w) * r->large_c;
}

/* The other way round: the small place along one axis that meets large through tap k; -1: none. */
static int64_t meet_back(const stk__op_spec *spec, int axis, int64_t large, int64_t k, int64_t small_length)
{
    const int64_t shifted = large + spec->pad[axis] - k * spec->dilation[axis];
    if (shifted < 0 || shifted % spec->stride[axis]) return -1;
    const int64_t small = shifted / spec->stride[axis];
    return small < small_length ? small : -1;
}

static double gather_one(const relation *r, const int64_t at[3], int64_t c, const float *large,
                         const float *weight)
{
    const int64_t first = c / r->small_group * r->large_group;
    double sum = 0;
    for (int64_t kh = 0; kh < r->kh; kh++)
        for (int64_t kw = 0; kw < r->kw; kw++) {
            const int64_t from = meet(r, at, kh, kw);
            if (from < 0) continue;
            for (int64_t l = first; l < first + r->large_group; l++)
                sum += (double)large[from + l] * weight[weight_at(r, c, l, kh, kw)];
        }
    return sum;
}

/* small = weight over large (+ bias) */
static void gather(const relation *r, const float *large, const float *weight, const float *bias,
                   float *small)
{
    for (int64_t n = 0; n < r->n; n++)
        for (int64_t h = 0; h < r->small_h; h++)
            for (int64_t w = 0; w < r->small_w; w++)
                for (int64_t c = 0; c < r->small_c; c++) {
                    const double sum = gather_one(r, (const int64_t[]){n, h, w}, c, large, weight);
                    small[small_at(r, n, h, w) + c] = (float)(sum + (bias ? bias[c] : 0));
                }
}

static double spread_one(const relation *r, const int64_t at[3], int64_t c, const float *small,
                         const float *weight)
{
    const int64_t first = c / r->large_group * r->small_group;
    double sum = 0;
    for (int64_t kh = 0; kh < r->kh; kh++)
        for (int64_t kw = 0; kw < r->kw; kw++) {
            const int64_t h = meet_back(r->spec, 0, at[1], kh, r->small_h);
            const int64_t w = meet_back(r->spec, 1, at[2], kw, r->small_w);
            if (h < 0 || w < 0) continue;
            for (int64_t s = first; s < first + r->small_group; s++)
                sum += (double)small[small_at(r, at[0], h, w) + s] * weight[weight_at(r, s, c, kh, kw)];
        }
    return sum;
}

/* large = what every small value spreads over it (+ bias) */
static void spread(const relation *r, const float *small, const float *weight, const float *bias,
                   float *large)
{
    for (int64_t n = 0; n < r->n; n++)
        for (int64_t h = 0; h < r->large_h; h++)
            for (int64_t w = 0; w < r->large_w; w++)
                for (int64_t c = 0; c < r->large_c; c++) {
                    const double sum = spread_one(r, (const int64_t[]){n, h, w}, c, small, weight);
                    const int64_t to = ((n * r->large_h + h) * r->large_w + w) * r->large_c + c;
                    large[to] = (float)(sum + (bias ? bias[c] : 0));
                }
}

/* Sum over all pairs that meet through one weight: small channel s, channel l of its group's large ones. */
static double correlate(const relation *r, const float *large, const float *small, const int64_t tap[4])
{
    const int64_t s = tap[0], l = s / r->small_group * r->large_group + tap[1];
    double sum = 0;
    for (int64_t n = 0; n < r->n; n++)
        for (int64_t h = 0; h < r->small_h; h++)
            for (int64_t w = 0; w < r->small_w; w++) {
                const int64_t from = meet(r, (const int64_t[]){n, h, w}, tap[2], tap[3]);
                if (from >= 0) sum += (double)large[from + l] * small[small_at(r, n, h, w) + s];
            }
    return sum;
}

static void learn_weight(const relation *r, const stk__op_io *io, const float *large, const float *small)
{
    float *dweight = stk__reference_dparam(io, 0);
    if (!dweight) return;
    for (int64_t s = 0; s < r->small_c; s++)
        for (int64_t l = 0; l < r->large_group; l++)
            for (int64_t kh = 0; kh < r->kh; kh++)
                for (int64_t kw = 0; kw < r->kw; kw++)
                    stk__reference_learn(io, &dweight[weight_at(r, s, l, kh, kw)],
                                         correlate(r, large, small, (const int64_t[]){s, l, kh, kw}));
}

void stk__reference_learn_bias(const stk__op *op, const stk__op_io *io)
{
    float *dbias = op->spec.no_bias ? NULL : stk__reference_dparam(io, 1);
    if (!dbias) return;
    const float *dy = stk__reference_f32(io->dy);
    const stk__reference_rows y = stk__reference_split(&op->form.output);
    for (int64_t c = 0; c < y.c; c++) {
        double sum = 0;
        for (int64_t row = 0; row < y.rows; row++)
            sum += dy[row * y.c + c];
        stk__reference_learn(io, &dbias[c], sum);
    }
}

static const float *bias_of(const stk__op *op, const stk__op_io *io)
{
    return op->spec.no_bias ? NULL : stk__reference_f32(io->param[1]);
}

static void conv_forward(const stk__op *op, const stk__op_io *io)
{
    const relation r = relate(&op->spec, &op->spec.input[0], &op->form.output);
    gather(&r, stk__reference_f32(io->x[0]), stk__reference_f32(io->param[0]), bias_of(op, io),
           stk__reference_f32(io->y));
}

static void conv_backward(const stk__op *op, const stk__op_io *io)
{
    const relation r = relate(&op->spec, &op->spec.input[0], &op->form.output);
    const float *dy = stk__reference_f32(io->dy);
    float *dx = stk__reference_dx(io, 0);
    if (dx) spread(&r, dy, stk__reference_f32(io->param[0]), NULL, dx);
    learn_weight(&r, io, stk__reference_f32(io->x[0]), dy);
    stk__reference_learn_bias(op, io);
}

static void transpose_forward(const stk__op *op, const stk__op_io *io)
{
    const relation r = relate(&op->spec, &op->form.output, &op->spec.input[0]);
    spread(&r, stk__reference_f32(io->x[0]), stk__reference_f32(io->param[0]), bias_of(op, io),
           stk__reference_f32(io->y));
}

static void transpose_backward(const stk__op *op, const stk__op_io *io)
{
    const relation r = relate(&op->spec, &op->form.output, &op->spec.input[0]);
    const float *dy = stk__reference_f32(io->dy);
    float *dx = stk__reference_dx(io, 0);
    if (dx) gather(&r, dy, stk__reference_f32(io->param[0]), NULL, dx);
    learn_weight(&r, io, dy, stk__reference_f32(io->x[0]));
    stk__reference_learn_bias(op, io);
}

const stk__reference_kernel stk__reference_conv = {conv_forward, conv_backward, NULL};
const stk__reference_kernel stk__reference_conv_transpose = {transpose_forward, transpose_backward, NULL};
