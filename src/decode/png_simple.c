/* The whole image at once: libdeflate inflates all rows, then each row's filter is undone. For pictures of
 * one byte a pixel, which is what masks are, this takes a fraction of a row-by-row decoder's time. */
#include "decode/png.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { ZLIB_HEAD_BYTES = 2, ZLIB_TAIL_BYTES = 4, RUN_BYTES = 8 };

bool stk__png_is_simple(const stk__png *png)
{
    return png->depth_bits == 8 && !png->interlaced &&
           (png->colour == STK_PNG_GREY || png->colour == STK_PNG_PALETTE);
}

/* One piece of memory with all compressed data. */
static stk_status join_data(stk__png_state *state, const stk__png *png, const uint8_t **stream,
                            stk_error *error)
{
    *stream = png->stream;
    if (png->data_count == 1) return STK_OK;
    STK__TRY(stk__buffer_reserve(&state->joined, png->data_bytes, error));
    const uint8_t *at = png->data_span.data;
    size_t used = 0;
    for (size_t i = 0; i < png->data_count; i++) {
        const size_t size = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
        memcpy(state->joined.data + used, at + 8, size);
        used += size;
        at += size + 12;
    }
    *stream = state->joined.data;
    return STK_OK;
}

/* RFC 1950: method 8, window up to 32 KiB, no dictionary, divisible by 31. */
static bool is_zlib_head(const uint8_t *head)
{
    return (head[0] & 15) == 8 && head[0] >> 4 <= 7 && !(head[1] & 32) && (head[0] << 8 | head[1]) % 31 == 0;
}

/* Taken apart instead of libdeflate's zlib function, to tell a wrong checksum from damaged data. */
static stk_status inflate_all(stk__png_state *state, const uint8_t *stream, size_t stream_bytes,
                              size_t wanted, stk_error *error)
{
    if (stream_bytes < ZLIB_HEAD_BYTES + ZLIB_TAIL_BYTES || !is_zlib_head(stream))
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG image data is not compressed by zlib");
    STK__TRY(stk__buffer_reserve(&state->raw, wanted + RUN_BYTES, error));
    size_t used = 0, made = 0;
    const size_t room = stream_bytes - ZLIB_HEAD_BYTES - ZLIB_TAIL_BYTES;
    const enum libdeflate_result result = libdeflate_deflate_decompress_ex(
        state->inflater, stream + ZLIB_HEAD_BYTES, room, state->raw.data, wanted, &used, &made);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE || (result == LIBDEFLATE_SUCCESS && made != wanted))
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG image data has not the size of the image");
    if (result != LIBDEFLATE_SUCCESS)
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG image data cannot be inflated");
    const uint8_t *tail = stream + ZLIB_HEAD_BYTES + used;
    const uint32_t sum =
        (uint32_t)tail[0] << 24 | (uint32_t)tail[1] << 16 | (uint32_t)tail[2] << 8 | (uint32_t)tail[3];
    if (libdeflate_adler32(1, state->raw.data, wanted) != sum)
        return stk__damaged(error, STK_DAMAGE_BAD_CHECKSUM, "PNG image data has a wrong checksum");
    return STK_OK;
}

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

/* Of left a, above b and above left c, the one nearest to a + b - c; a before b before c. When a equals c
 * that is b, so a run of zeros copies the row above. */
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
            const int b = up[i], pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
            const int near = pb <= pc ? b : c;
            a = to[i] = (uint8_t)(from[i] + (pa <= pb && pa <= pc ? a : near));
            c = b;
        }
    }
}

/* up: the finished row above, zeros for the first. from and to may be the same. */
static bool undo_filter(int filter, const uint8_t *from, const uint8_t *up, uint8_t *to, size_t w)
{
    switch (filter) {
    case 0:
        if (from != to) memcpy(to, from, w);
        return true;
    case 1:
        undo_sub(from, to, w);
        return true;
    case 2:
        undo_up(from, up, to, w);
        return true;
    case 3:
        undo_average(from, up, to, w);
        return true;
    case 4:
        undo_paeth(from, up, to, w);
        return true;
    default:
        return false;
    }
}

/* Ids and grey go straight to their place; colours are made from rows that are unfiltered where they are. */
static stk_status put_rows(stk__png_state *state, const stk__png_sink *sink, stk_error *error)
{
    const stk__png *png = sink->png;
    const size_t w = png->raw_row_bytes;
    const bool straight = sink->target.channels == 1 && (sink->ids || png->colour == STK_PNG_GREY);
    STK__TRY(stk__buffer_reserve(&state->row, w, error));
    memset(state->row.data, 0, w);
    const uint8_t *up = state->row.data;
    for (int32_t y = 0; y < png->h; y++) {
        uint8_t *from = state->raw.data + (size_t)y * (w + 1);
        uint8_t *to = straight ? stk__pixels_row(sink->target, y) : from + 1;
        if (!undo_filter(from[0], from + 1, up, to, w))
            return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG row %d has the unknown filter %d", y,
                                from[0]);
        if (!straight) STK__TRY(stk__png_put_row(sink, to, y, error));
        up = to;
    }
    return STK_OK;
}

stk_status stk__png_decode_simple(stk__png_state *state, const stk__png_sink *sink, stk_error *error)
{
    const stk__png *png = sink->png;
    const uint8_t *stream = NULL;
    STK__TRY(join_data(state, png, &stream, error));
    STK__TRY(inflate_all(state, stream, png->data_bytes, (png->raw_row_bytes + 1) * (size_t)png->h, error));
    return put_rows(state, sink, error);
}
