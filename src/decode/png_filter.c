/* SPDX-License-Identifier: Apache-2.0 */
/* Undoes PNG's row filters (Sub, Up, Average, Paeth). Masks have one byte per pixel and long runs of
 * zeros, for which the result is known at once; their Sub is a prefix sum by SSE2. Pure functions on rows.
 * */
#include "decode/png.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { RUN_BYTES = STK__PNG_RUN_BYTES };

/* --- pixels of one byte, which is what masks have ------------------------------------------------------ */

/* Filters other than Up work byte after byte, but where areas are flat their bytes are 0 and the result is
 * known for a whole run. */
static bool is_flat(const uint8_t *from, size_t count)
{
    uint64_t run;
    memcpy(&run, from, sizeof run); /* up to 7 bytes too far: they are reserved */
    return count == RUN_BYTES && run == 0;
}

static size_t next_run(size_t x, size_t w)
{
    return w - x < RUN_BYTES ? w - x : RUN_BYTES;
}

#ifdef __SSE2__
/* Running sums of the first whole runs of 16 bytes; returns how many bytes that is, *left is the last sum.
 * The sums of a run do not wait for the run before: only its total is added on. */
static size_t undo_sub_sse2(const uint8_t *from, uint8_t *to, size_t w, uint8_t *left)
{
    __m128i carry = _mm_setzero_si128();
    size_t x = 0;
    for (; x + 16 <= w; x += 16) {
        __m128i run = _mm_loadu_si128((const __m128i *)(const void *)(from + x));
        run = _mm_add_epi8(run, _mm_slli_si128(run, 1));
        run = _mm_add_epi8(run, _mm_slli_si128(run, 2));
        run = _mm_add_epi8(run, _mm_slli_si128(run, 4));
        run = _mm_add_epi8(run, _mm_slli_si128(run, 8));
        _mm_storeu_si128((__m128i *)(void *)(to + x), _mm_add_epi8(run, carry));
        const __m128i last = _mm_shufflehi_epi16(_mm_unpackhi_epi8(run, run), 0xff);
        carry = _mm_add_epi8(carry, _mm_shuffle_epi32(last, 0xff));
    }
    *left = (uint8_t)_mm_cvtsi128_si32(carry);
    return x;
}
#endif

static void undo_sub(const uint8_t *from, uint8_t *to, size_t w)
{
    uint8_t left = 0;
    size_t x = 0;
#ifdef __SSE2__
    x = undo_sub_sse2(from, to, w, &left);
#endif
    for (; x < w; x++)
        to[x] = left = (uint8_t)(from[x] + left);
}

static void undo_up(const uint8_t *from, const uint8_t *up, uint8_t *to, size_t w)
{
    for (size_t x = 0; x < w; x++)
        to[x] = (uint8_t)(from[x] + up[x]);
}

static void undo_average(const uint8_t *from, const uint8_t *up, uint8_t *to, size_t w)
{
    uint8_t left = 0;
    for (size_t x = 0, count; x < w; x += count) {
        uint8_t same[RUN_BYTES];
        count = next_run(x, w);
        memset(same, left, sizeof same);
        if (is_flat(from + x, count) && memcmp(up + x, same, RUN_BYTES) == 0) {
            memcpy(to + x, same, RUN_BYTES);
            continue;
        }
        for (size_t i = x; i < x + count; i++)
            to[i] = left = (uint8_t)(from[i] + ((left + up[i]) >> 1));
    }
}

/* Of left a, above b and above left c, the one nearest to a + b - c; a before b before c. */
static inline int choose_paeth(int a, int b, int c)
{
    const int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
    const int near = pb <= pc ? b : c;
    return pa <= pb && pa <= pc ? a : near;
}

/* When a equals c it is b, so a run of zeros copies the row above. */
static void undo_paeth(const uint8_t *from, const uint8_t *up, uint8_t *to, size_t w)
{
    int a = 0, c = 0;
    for (size_t x = 0, count; x < w; x += count) {
        count = next_run(x, w);
        if (a == c && is_flat(from + x, count)) {
            memcpy(to + x, up + x, RUN_BYTES);
            a = c = up[x + RUN_BYTES - 1];
            continue;
        }
        for (size_t i = x; i < x + count; i++) {
            a = to[i] = (uint8_t)(from[i] + choose_paeth(a, up[i], c));
            c = up[i];
        }
    }
}

/* --- wider pixels -------------------------------------------------------------------------------------- */

static void undo_sub_wide(const uint8_t *from, uint8_t *to, size_t size, size_t step)
{
    memmove(to, from, step);
    for (size_t x = step; x < size; x++)
        to[x] = (uint8_t)(from[x] + to[x - step]);
}

static void undo_average_wide(const uint8_t *from, const uint8_t *up, uint8_t *to, size_t size, size_t step)
{
    for (size_t x = 0; x < step; x++)
        to[x] = (uint8_t)(from[x] + (up[x] >> 1));
    for (size_t x = step; x < size; x++)
        to[x] = (uint8_t)(from[x] + ((to[x - step] + up[x]) >> 1));
}

static void undo_paeth_wide(const uint8_t *from, const uint8_t *up, uint8_t *to, size_t size, size_t step)
{
    undo_up(from, up, to, step);
    for (size_t x = step; x < size; x++)
        to[x] = (uint8_t)(from[x] + choose_paeth(to[x - step], up[x], up[x - step]));
}

bool stk__png_undo_filter(int filter, const uint8_t *from, const uint8_t *up, uint8_t *to, size_t size,
                          size_t step)
{
    const bool wide = step > 1;
    switch (filter) {
    case 0:
        if (from != to) memcpy(to, from, size);
        return true;
    case 1:
        wide ? undo_sub_wide(from, to, size, step) : undo_sub(from, to, size);
        return true;
    case 2:
        undo_up(from, up, to, size);
        return true;
    case 3:
        wide ? undo_average_wide(from, up, to, size, step) : undo_average(from, up, to, size);
        return true;
    case 4:
        wide ? undo_paeth_wide(from, up, to, size, step) : undo_paeth(from, up, to, size);
        return true;
    default:
        return false;
    }
}
