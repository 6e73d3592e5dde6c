/* SPDX-License-Identifier: Apache-2.0 */
/* Separable and in integers: the weights of a triangle at half-pixel centres are ratios of whole numbers, and
 * the 14-bit weights of a pixel sum exactly to 1, so that a constant stays constant.
 *
 * Per target row: source rows are summed down into one row with 7 bits behind the point (16 bits a value),
 * which is then summed across. */
#include "image/resize.h"

#include <assert.h>
#include <string.h>

enum { WEIGHT_BITS = 14, ROW_BITS = 7 };

/* Which source pixels a target pixel is made of. */
typedef struct taps {
    int32_t first, count;
    int16_t *weights;
} taps;

/* Most taps that any pixel of this axis can have. */
static size_t count_taps(int64_t source, int64_t target)
{
    const int64_t wide = source > target ? 2 * source / target + 2 : 3;
    return (size_t)(wide < source ? wide : source);
}

/* Height of the triangle over source pixel j for target pixel i, in units of 1 / (2 max(source, target)).
 * Centres are (2j+1)/2 and (2i+1)/2 * source/target; multiplied by 2 * target all is whole. */
static int64_t triangle(int64_t source, int64_t target, int64_t i, int64_t j)
{
    const int64_t apart = (2 * j + 1) * target - (2 * i + 1) * source;
    const int64_t reach = 2 * (source > target ? source : target);
    return reach - (apart < 0 ? -apart : apart);
}

/* Fills *pixel for target pixel i; pixel->weights is the caller's. Rounding is carried along, so that the
 * weights sum to 1 and no single one is off by more than a unit. */
static void find_taps(int64_t source, int64_t target, int64_t i, taps *pixel)
{
    const int64_t reach = 2 * (source > target ? source : target), centre = (2 * i + 1) * source;
    int64_t first = (centre - reach) / (2 * target) - 1, last = (centre + reach) / (2 * target) + 1;
    if (first < 0) first = 0;
    if (last > source - 1) last = source - 1;
    while (triangle(source, target, i, first) <= 0)
        first++;
    while (triangle(source, target, i, last) <= 0)
        last--;
    uint64_t total = 0, sum = 0;
    for (int64_t j = first; j <= last; j++)
        total += (uint64_t)triangle(source, target, i, j);
    pixel->first = (int32_t)first;
    pixel->count = (int32_t)(last - first + 1);
    for (int64_t j = first, before = 0; j <= last; j++) {
        sum += (uint64_t)triangle(source, target, i, j);
        const int64_t now = (int64_t)((((unsigned __int128)sum << WEIGHT_BITS) + total / 2) / total);
        pixel->weights[j - first] = (int16_t)(now - before);
        before = now;
    }
}

/* The parts of scratch; sizes in items. */
typedef struct plan {
    taps *across;     /* [target.w] */
    int16_t *weights; /* [target.w * most] then [most] for the current row */
    int16_t *row;     /* [source.w * channels] */
    taps down;
} plan;

static stk_status make_plan(plan *made, stk__pixels source, stk__pixels target, stk__buffer *scratch,
                            stk_error *error)
{
    const size_t w = (size_t)target.w, values = (size_t)source.w * (size_t)source.channels;
    const size_t most_x = count_taps(source.w, target.w), most_y = count_taps(source.h, target.h);
    const size_t size = w * sizeof(taps) + (values + w * most_x + most_y) * sizeof(int16_t);
    STK__TRY(stk__buffer_reserve(scratch, size, error));
    made->across = (taps *)(void *)scratch->data;
    made->row = (int16_t *)(void *)(made->across + w);
    made->weights = made->row + values;
    made->down = (taps){0, 0, made->weights + w * most_x};
    for (size_t x = 0; x < w; x++) {
        made->across[x].weights = made->weights + x * most_x;
        find_taps(source.w, target.w, (int64_t)x, &made->across[x]);
    }
    return STK_OK;
}

/* Values that are summed at once: their sums stay in the nearest cache. */
enum { STRIPE = 256 };

static void sum_down(const plan *made, stk__pixels source)
{
    const size_t values = (size_t)source.w * (size_t)source.channels;
    for (size_t start = 0; start < values; start += STRIPE) {
        const size_t count = values - start < STRIPE ? values - start : STRIPE;
        int16_t *restrict row = made->row + start;
        int32_t sums[STRIPE];
        for (size_t i = 0; i < STRIPE; i++)
            sums[i] = 1 << (WEIGHT_BITS - ROW_BITS - 1);
        for (int32_t t = 0; t < made->down.count; t++) {
            const uint8_t *restrict from = stk__pixels_row(source, made->down.first + t) + start;
            const int16_t weight = made->down.weights[t];
            for (size_t i = 0; i < count; i++)
                sums[i] += weight * (int16_t)from[i];
        }
        for (size_t i = 0; i < count; i++)
            row[i] = (int16_t)(sums[i] >> (WEIGHT_BITS - ROW_BITS));
    }
}

enum { HALF = 1 << (WEIGHT_BITS + ROW_BITS - 1) };

static void sum_across_1(const plan *made, uint8_t *to, int32_t w)
{
    for (int32_t x = 0; x < w; x++) {
        const taps *pixel = &made->across[x];
        const int16_t *from = made->row + pixel->first;
        int32_t sum = HALF;
        for (int32_t t = 0; t < pixel->count; t++)
            sum += pixel->weights[t] * from[t];
        to[x] = (uint8_t)(sum >> (WEIGHT_BITS + ROW_BITS));
    }
}

static void sum_across_3(const plan *made, uint8_t *to, int32_t w)
{
    for (int32_t x = 0; x < w; x++, to += 3) {
        const taps *pixel = &made->across[x];
        const int16_t *from = made->row + (size_t)pixel->first * 3;
        int32_t r = HALF, g = HALF, b = HALF;
        for (int32_t t = 0; t < pixel->count; t++, from += 3) {
            const int32_t weight = pixel->weights[t];
            r += weight * from[0];
            g += weight * from[1];
            b += weight * from[2];
        }
        to[0] = (uint8_t)(r >> (WEIGHT_BITS + ROW_BITS));
        to[1] = (uint8_t)(g >> (WEIGHT_BITS + ROW_BITS));
        to[2] = (uint8_t)(b >> (WEIGHT_BITS + ROW_BITS));
    }
}

stk_status stk__resize_image(stk__pixels source, stk__pixels target, stk__buffer *scratch, stk_error *error)
{
    assert(source.channels == target.channels && (source.channels == 1 || source.channels == 3));
    plan made;
    STK__TRY(make_plan(&made, source, target, scratch, error));
    for (int32_t y = 0; y < target.h; y++) {
        find_taps(source.h, target.h, y, &made.down);
        sum_down(&made, source);
        if (target.channels == 1)
            sum_across_1(&made, stk__pixels_row(target, y), target.w);
        else
            sum_across_3(&made, stk__pixels_row(target, y), target.w);
    }
    return STK_OK;
}

void stk__resize_mask(stk__pixels source, stk__pixels target)
{
    assert(source.channels == 1 && target.channels == 1);
    /* Column (2x + 1) * source.w / (2 * target.w), without a division per pixel. */
    const int64_t whole = 2 * (int64_t)target.w, step = source.w / target.w;
    const int64_t step_rest = 2 * (int64_t)(source.w % target.w);
    for (int32_t y = 0; y < target.h; y++) {
        const int64_t from_y = (2 * (int64_t)y + 1) * source.h / (2 * (int64_t)target.h);
        const uint8_t *from = stk__pixels_row(source, (int32_t)from_y);
        uint8_t *to = stk__pixels_row(target, y);
        int64_t column = source.w / whole, rest = source.w % whole;
        for (int32_t x = 0; x < target.w; x++) {
            to[x] = from[column];
            rest += step_rest;
            column += step + (rest >= whole);
            rest -= rest >= whole ? whole : 0;
        }
    }
}
