/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of onednn_loops.h. Included by one file for each set of instructions. */
#ifndef STK_ENGINE_ONEDNN_LOOPS_LEVEL_H
#define STK_ENGINE_ONEDNN_LOOPS_LEVEL_H

#include "engine/onednn/onednn_exp.h"
#include "engine/onednn/onednn_loops.h"

#include <math.h>
#include <string.h>

enum { TOGETHER = 4 }; /* rows whose values are added before they go to the sums */

static void add_rows(const float *restrict x, int64_t rows, int64_t c, float *restrict sum)
{
    memset(sum, 0, (size_t)c * sizeof *sum);
    for (; rows >= TOGETHER; rows -= TOGETHER, x += TOGETHER * c)
        for (int64_t k = 0; k < c; k++)
            sum[k] += (x[k] + x[c + k]) + (x[2 * c + k] + x[3 * c + k]);
    for (; rows > 0; rows--, x += c)
        for (int64_t k = 0; k < c; k++)
            sum[k] += x[k];
}

static void add_squares(const float *restrict x, int64_t rows, int64_t c, const float *restrict mean,
                        float *restrict sum)
{
    memset(sum, 0, (size_t)c * sizeof *sum);
    for (; rows >= TOGETHER; rows -= TOGETHER, x += TOGETHER * c)
        for (int64_t k = 0; k < c; k++) {
            const float m = mean[k], a = x[k] - m, b = x[c + k] - m, d = x[2 * c + k] - m;
            const float e = x[3 * c + k] - m;
            sum[k] += (a * a + b * b) + (d * d + e * e);
        }
    for (; rows > 0; rows--, x += c)
        for (int64_t k = 0; k < c; k++)
            sum[k] += (x[k] - mean[k]) * (x[k] - mean[k]);
}

static void norm_measure(const float *x, int64_t rows, int64_t c, float *mean, float *squares)
{
    const float share = 1 / (float)rows;
    add_rows(x, rows, c, mean);
    for (int64_t k = 0; k < c; k++)
        mean[k] *= share;
    add_squares(x, rows, c, mean, squares);
}

static void norm_apply(const float *restrict x, float *restrict y, int64_t rows, const stk__norm_numbers *n)
{
    const float *restrict mean = n->mean, *restrict scale = n->scale, *restrict shift = n->shift;
    const int64_t c = n->c;
    for (; n->relu && rows > 0; rows--, x += c, y += c)
        for (int64_t k = 0; k < c; k++) {
            const float value = (x[k] - mean[k]) * scale[k] + shift[k];
            y[k] = value < 0 ? 0 : value; /* NaN stays */
        }
    for (; rows > 0; rows--, x += c, y += c)
        for (int64_t k = 0; k < c; k++)
            y[k] = (x[k] - mean[k]) * scale[k] + shift[k];
}

static inline __attribute__((always_inline)) void join(const float *x, const float *plus, float *y,
                                                       int64_t rows, const stk__norm_numbers *n, bool relu)
{
    const float *mean = n->mean, *scale = n->scale, *shift = n->shift;
    const int64_t c = n->c;
    for (; rows > 0; rows--, x += c, plus += c, y += c) {
        STK__INDEPENDENT
        for (int64_t k = 0; k < c; k++) {
            const float value = ((x[k] - mean[k]) * scale[k] + shift[k]) + plus[k];
            y[k] = relu && value < 0 ? 0 : value;
        }
    }
}

static void norm_join(const float *x, const float *plus, float *y, int64_t rows, const stk__norm_numbers *n)
{
    if (n->relu)
        join(x, plus, y, rows, n, true);
    else
        join(x, plus, y, rows, n, false);
}

/* dy, or 0 where the relu let nothing pass; away: x - mean */
static inline float behind(float away, float dy, float scale, float shift, bool relu)
{
    return !relu || away * scale + shift > 0 ? dy : 0;
}

static inline __attribute__((always_inline)) void gather(const float *restrict x, const float *restrict dy,
                                                         int64_t rows, const stk__norm_numbers *n,
                                                         float *restrict sums, bool relu)
{
    const float *restrict mean = n->mean, *restrict scale = n->scale, *restrict shift = n->shift;
    const int64_t c = n->c;
    float *restrict products = sums + c;
    for (; rows >= 2; rows -= 2, x += 2 * c, dy += 2 * c)
        for (int64_t k = 0; k < c; k++) {
            const float a = x[k] - mean[k], b = x[c + k] - mean[k];
            const float da = behind(a, dy[k], scale[k], shift[k], relu);
            const float db = behind(b, dy[c + k], scale[k], shift[k], relu);
            sums[k] += da + db;
            products[k] += da * a + db * b;
        }
    for (int64_t k = 0; rows && k < c; k++) {
        const float a = x[k] - mean[k], da = behind(a, dy[k], scale[k], shift[k], relu);
        sums[k] += da;
        products[k] += da * a;
    }
}

static void norm_gather(const float *x, const float *dy, int64_t rows, const stk__norm_numbers *n,
                        float *sums)
{
    memset(sums, 0, 2 * (size_t)n->c * sizeof *sums);
    if (n->relu)
        gather(x, dy, rows, n, sums, true);
    else
        gather(x, dy, rows, n, sums, false);
}

static inline __attribute__((always_inline)) void spread(const float *x, const float *dy, float *dx,
                                                         int64_t rows, const stk__norm_numbers *n, bool relu)
{
    const float *mean = n->mean, *scale = n->scale, *shift = n->shift, *slope = n->slope, *tilt = n->tilt;
    const int64_t c = n->c;
    for (; rows > 0; rows--, x += c, dy += c, dx += c) {
        STK__INDEPENDENT
        for (int64_t k = 0; k < c; k++) {
            const float a = x[k] - mean[k], da = behind(a, dy[k], scale[k], shift[k], relu);
            dx[k] = scale[k] * ((da - slope[k]) - a * tilt[k]);
        }
    }
}

static void norm_spread(const float *x, const float *dy, float *dx, int64_t rows, const stk__norm_numbers *n)
{
    if (n->relu)
        spread(x, dy, dx, rows, n, true);
    else
        spread(x, dy, dx, rows, n, false);
}

static void add(const float *a, const float *b, float *y, int64_t count, bool relu)
{
    if (!relu) {
        STK__INDEPENDENT
        for (int64_t i = 0; i < count; i++)
            y[i] = a[i] + b[i];
        return;
    }
    STK__INDEPENDENT
    for (int64_t i = 0; i < count; i++)
        y[i] = a[i] + b[i] < 0 ? 0 : a[i] + b[i];
}

static void pass_relu_sum(const float *y, const float *a, const float *b, float *dx, int64_t count)
{
    STK__INDEPENDENT
    for (int64_t i = 0; i < count; i++)
        dx[i] = y[i] > 0 ? a[i] + b[i] : 0;
}

enum { LANES = 8 }; /* values side by side, wherever they lie */

static double sum_squares(const float *values, int64_t count)
{
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += (double)values[i + k] * (double)values[i + k];
    for (; i < count; i++)
        sum += (double)values[i] * (double)values[i];
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

static void adamw(const stk__adamw_values *values, int64_t count, const stk__adamw_numbers *numbers)
{
    const stk__adamw_numbers n = *numbers;
    float *restrict param = values->param, *restrict first = values->first, *restrict second = values->second;
    const float *restrict grad = values->grad;
    for (int64_t i = 0; i < count; i++) {
        const float g = grad[i] * n.factor;
        const float m = first[i] + n.first_share * (g - first[i]);
        const float v = second[i] * n.second_keep + n.second_share * g * g;
        const float root = sqrtf(v) / n.root2 + n.eps;
        first[i] = m;
        second[i] = v;
        param[i] = param[i] * n.keep - n.step_size * (m / root);
    }
}

static void relu_values(const float *x, float *y, int64_t count)
{
    STK__INDEPENDENT
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

static void pass_relu(const float *y, const float *dy, float *dx, int64_t count)
{
    STK__INDEPENDENT
    for (int64_t i = 0; i < count; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

static void load_rows(const float *restrict x, int64_t rows, int64_t classes, stk__softmax_block *restrict b)
{
    for (int l = 0; l < STK_SOFTMAX_ROWS; l++) {
        const float *row = x + (l < rows ? l : rows - 1) * classes;
        for (int64_t c = 0; c < classes; c++)
            b->value[c][l] = row[c];
    }
}

static void softmax(const float *x, int64_t rows, int64_t classes, const float *weights,
                    stk__softmax_block *b)
{
    float largest[STK_SOFTMAX_ROWS], sum[STK_SOFTMAX_ROWS] = {0}, weighted[STK_SOFTMAX_ROWS] = {0};
    load_rows(x, rows, classes, b);
    memcpy(largest, b->value[0], sizeof largest);
    for (int64_t c = 1; c < classes; c++)
        for (int l = 0; l < STK_SOFTMAX_ROWS; l++)
            largest[l] = b->value[c][l] > largest[l] ? b->value[c][l] : largest[l];
    for (int64_t c = 0; c < classes; c++) {
        const float weight = weights ? weights[c] : 1;
        float *restrict value = b->value[c];
        for (int l = 0; l < STK_SOFTMAX_ROWS; l++) {
            const float below = value[l] - largest[l], power = stk__exp(below);
            weighted[l] += weight * below;
            value[l] = power;
            sum[l] += power;
        }
    }
    memcpy(b->largest, largest, sizeof largest);
    memcpy(b->sum, sum, sizeof sum);
    memcpy(b->weighted, weighted, sizeof weighted);
}

static void softmax_back(stk__softmax_block *b, int64_t rows, int64_t classes, const float *weights,
                         float *restrict dx)
{
    float factor[STK_SOFTMAX_ROWS], even[STK_SOFTMAX_ROWS];
    memcpy(factor, b->factor, sizeof factor);
    memcpy(even, b->even, sizeof even);
    for (int64_t c = 0; c < classes; c++) {
        const float weight = weights ? weights[c] : 1;
        float *restrict value = b->value[c];
        for (int l = 0; l < STK_SOFTMAX_ROWS; l++)
            value[l] = value[l] * factor[l] - weight * even[l];
    }
    for (int64_t l = 0; l < rows; l++)
        for (int64_t c = 0; c < classes; c++)
            dx[l * classes + c] = b->value[c][l];
}

/* The compiler makes two halves of them where it has to. */
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t lane_marks __attribute__((vector_size(4 * LANES)));
typedef uint8_t lane_bytes __attribute__((vector_size(LANES), aligned(1), may_alias));

/* The part of one window that lies in the picture. */
typedef struct pool_window {
    int64_t top, bottom, left, right; /* ends excluded */
    int64_t corner;                   /* column at which the whole window begins */
} pool_window;

static inline const float *pool_place(const stk__pool_row *r, int64_t h, int64_t w, int64_t channel)
{
    return r->x + (h * r->w + w) * r->c + channel;
}

static inline int32_t pool_tap(const stk__pool_row *r, const pool_window *in, int64_t h, int64_t w)
{
    return (int32_t)((h - r->top) * r->kernel[1] + w - in->corner);
}

/* Eight channels of one output pixel. The first of equals wins, and a NaN over everything. */
static void pool_lanes(const stk__pool_row *r, const pool_window *in, int64_t pixel, int64_t channel)
{
    lane_marks best = (lane_marks) * (const lanes *)pool_place(r, in->top, in->left, channel);
    lane_marks won = (lane_marks){0} + pool_tap(r, in, in->top, in->left);
    for (int64_t h = in->top; h < in->bottom; h++)
        for (int64_t w = in->left; w < in->right; w++) {
            const lanes x = *(const lanes *)pool_place(r, h, w, channel);
            const lane_marks wins = (x > (lanes)best) | (x != x);
            best = ((lane_marks)x & wins) | (best & ~wins);
            won = (((lane_marks){0} + pool_tap(r, in, h, w)) & wins) | (won & ~wins);
        }
    *(lanes *)(r->y + pixel * r->c + channel) = (lanes)best;
    *(lane_bytes *)(r->taps + pixel * r->c + channel) = __builtin_convertvector(won, lane_bytes);
}

static void pool_one(const stk__pool_row *r, const pool_window *in, int64_t pixel, int64_t channel)
{
    float best = *pool_place(r, in->top, in->left, channel);
    int32_t won = pool_tap(r, in, in->top, in->left);
    for (int64_t h = in->top; h < in->bottom; h++)
        for (int64_t w = in->left; w < in->right; w++) {
            const float x = *pool_place(r, h, w, channel);
            if (!(x > best || x != x)) continue;
            best = x;
            won = pool_tap(r, in, h, w);
        }
    r->y[pixel * r->c + channel] = best;
    r->taps[pixel * r->c + channel] = (uint8_t)won;
}

static void max_pool(const stk__pool_row *r)
{
    const int64_t bottom = r->top + r->kernel[0];
    pool_window in = {.top = r->top > 0 ? r->top : 0, .bottom = bottom < r->h ? bottom : r->h};
    for (int64_t pixel = 0; pixel < r->out_w; pixel++) {
        in.corner = r->left + pixel * r->step;
        in.left = in.corner > 0 ? in.corner : 0;
        in.right = in.corner + r->kernel[1] < r->w ? in.corner + r->kernel[1] : r->w;
        int64_t channel = 0;
        for (; channel + LANES <= r->c; channel += LANES)
            pool_lanes(r, &in, pixel, channel);
        for (; channel < r->c; channel++)
            pool_one(r, &in, pixel, channel);
    }
}

static void pool_back(const uint8_t *restrict taps, const float *restrict dy, float *restrict dx,
                      int64_t count, uint8_t tap)
{
    for (int64_t i = 0; i < count; i++)
        dx[i] += taps[i] == tap ? dy[i] : 0;
}

#define STK__LOOPS_TABLE                                                                                     \
    {                                                                                                        \
        add_rows, norm_measure, norm_apply, norm_join, norm_gather, norm_spread, add, pass_relu_sum,         \
            sum_squares, adamw, relu_values, pass_relu, softmax, softmax_back, max_pool, pool_back           \
    }

#endif
