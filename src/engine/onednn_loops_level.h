/* The bodies of onednn_loops.h. Included by one file for each set of instructions. */
#ifndef STK_ENGINE_ONEDNN_LOOPS_LEVEL_H
#define STK_ENGINE_ONEDNN_LOOPS_LEVEL_H

#include "engine/onednn_exp.h"
#include "engine/onednn_loops.h"

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
            y[k] = value > 0 ? value : 0;
        }
    for (; rows > 0; rows--, x += c, y += c)
        for (int64_t k = 0; k < c; k++)
            y[k] = (x[k] - mean[k]) * scale[k] + shift[k];
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
        y[i] = a[i] + b[i] > 0 ? a[i] + b[i] : 0;
}

static void pass_relu(const float *y, const float *dy, float *dx, int64_t count)
{
    STK__INDEPENDENT
    for (int64_t i = 0; i < count; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

enum { POOL_LANES = 16 };

/* One output pixel's channels first … first + lanes - 1. at: of the window's first place in its sample. */
static inline __attribute__((always_inline)) void pool_lanes(const stk__pool_row *r, const int64_t from[4],
                                                             int64_t left, int64_t pixel, int64_t first,
                                                             int lanes)
{
    const int64_t c = r->c;
    float best[POOL_LANES];
    int32_t won[POOL_LANES];
    const int32_t start = (int32_t)((from[0] - r->top) * r->kernel[1] + from[2] - left);
    const float *x = r->x + (from[0] * r->w + from[2]) * c + first;
    for (int l = 0; l < lanes; l++)
        best[l] = x[l], won[l] = start;
    for (int64_t h = from[0]; h < from[1]; h++)
        for (int64_t w = from[2]; w < from[3]; w++) {
            const int32_t tap = (int32_t)((h - r->top) * r->kernel[1] + w - left);
            x = r->x + (h * r->w + w) * c + first;
            for (int l = 0; l < lanes; l++) {
                const bool wins = (x[l] > best[l]) | (x[l] != x[l]);
                best[l] = wins ? x[l] : best[l];
                won[l] = wins ? tap : won[l];
            }
        }
    for (int l = 0; l < lanes; l++) {
        r->y[pixel * c + first + l] = best[l];
        r->taps[pixel * c + first + l] = (uint8_t)won[l];
    }
}

static void max_pool(const stk__pool_row *r)
{
    const int64_t bottom = r->top + r->kernel[0], top = r->top > 0 ? r->top : 0;
    for (int64_t pixel = 0; pixel < r->out_w; pixel++) {
        const int64_t left = r->left + pixel * r->step, right = left + r->kernel[1];
        const int64_t from[4] = {top, bottom < r->h ? bottom : r->h, left > 0 ? left : 0,
                                 right < r->w ? right : r->w};
        int64_t first = 0;
        for (; first + POOL_LANES <= r->c; first += POOL_LANES)
            pool_lanes(r, from, left, pixel, first, POOL_LANES);
        for (; first < r->c; first++)
            pool_lanes(r, from, left, pixel, first, 1);
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
        norm_measure, norm_apply, norm_gather, norm_spread, add, pass_relu, max_pool, pool_back              \
    }

#endif
