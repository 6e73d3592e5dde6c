/* SPDX-License-Identifier: Apache-2.0 */
/* From inflated data to pixels: filters are undone row by row, then the samples of a row (1 to 16 bits, with
 * or without palette and alpha) are converted to 8-bit pixels or ids; interlaced pictures pass by pass. */
#include "decode/inflate_gate.h"
#include "decode/png.h"

#include <string.h>

enum { ROWS_PER_LOOK = 32 };

/* --- rows: 1 to 16 bits, with or without palette and alpha, to 8-bit pixels or ids -------------------------
 */

static void unpack(const uint8_t *raw, int32_t w, int depth_bits, unsigned scale, uint8_t *to)
{
    const unsigned mask = (1u << depth_bits) - 1;
    const int per_byte = 8 / depth_bits;
    for (int32_t x = 0; x < w; x++) {
        const int shift = 8 - depth_bits * (x % per_byte + 1);
        to[x] = (uint8_t)((raw[x / per_byte] >> shift & mask) * scale);
    }
}

/* step: bytes from pixel to pixel */
static void put_grey(const uint8_t *from, size_t step, uint8_t *to, stk__pixels target)
{
    if (target.channels == 1) {
        for (int32_t x = 0; x < target.w; x++)
            to[x] = from[(size_t)x * step];
        return;
    }
    for (int32_t x = 0; x < target.w; x++, from += step, to += 3)
        to[0] = to[1] = to[2] = *from;
}

/* sample: bytes from red to green */
static void put_colour(const uint8_t *from, size_t step, size_t sample, uint8_t *to, stk__pixels target)
{
    for (int32_t x = 0; x < target.w; x++, from += step, to += target.channels) {
        const uint8_t r = from[0], g = from[sample], b = from[2 * sample];
        if (target.channels == 1) {
            *to = stk__luma(r, g, b);
            continue;
        }
        to[0] = r;
        to[1] = g;
        to[2] = b;
    }
}

static stk_status put_palette(const stk__png *png, const uint8_t *from, uint8_t *to, stk__pixels target,
                              stk_error *error)
{
    uint8_t largest = 0;
    for (int32_t x = 0; x < target.w; x++)
        largest = from[x] > largest ? from[x] : largest;
    if (largest >= png->palette_count)
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG palette index %d in a palette of %d colors",
                            largest, png->palette_count);
    for (int32_t x = 0; x < target.w; x++, to += target.channels) {
        const uint8_t *colour = png->palette + 3 * from[x];
        if (target.channels == 1)
            *to = stk__luma(colour[0], colour[1], colour[2]);
        else
            memcpy(to, colour, 3);
    }
    return STK_OK;
}

/* Ids of 16 bits must fit in 8. */
static stk_status put_wide_ids(const uint8_t *from, size_t step, uint8_t *to, int32_t w, stk_error *error)
{
    for (int32_t x = 0; x < w; x++, from += step) {
        if (from[0])
            return stk__damaged(error, STK_DAMAGE_MASK_IDS, "the mask has class id %d, more than 255",
                                from[0] << 8 | from[1]);
        to[x] = from[1];
    }
    return STK_OK;
}

stk_status stk__png_put_row(const stk__png_sink *sink, const uint8_t *raw, int32_t y, stk_error *error)
{
    const stk__png *png = sink->png;
    uint8_t *to = stk__pixels_row(sink->target, y);
    const uint8_t *from = raw;
    if (png->depth_bits < 8) {
        const bool scaled = png->colour == STK_PNG_GREY && !sink->ids;
        unpack(raw, png->w, png->depth_bits, scaled ? 255u / ((1u << png->depth_bits) - 1) : 1,
               sink->unpacked);
        from = sink->unpacked;
    }
    const size_t sample = png->depth_bits == 16 ? 2 : 1;
    const size_t step = sample * (png->colour == STK_PNG_RGB_ALPHA    ? 4
                                  : png->colour == STK_PNG_RGB        ? 3
                                  : png->colour == STK_PNG_GREY_ALPHA ? 2
                                                                      : 1);
    if (sink->ids && sample == 2) return put_wide_ids(from, step, to, png->w, error);
    if (png->colour == STK_PNG_PALETTE && !sink->ids) return put_palette(png, from, to, sink->target, error);
    if (png->colour == STK_PNG_RGB || png->colour == STK_PNG_RGB_ALPHA)
        put_colour(from, step, sample, to, sink->target);
    else
        put_grey(from, step, to, sink->target);
    return STK_OK;
}

/* --- pictures ------------------------------------------------------------------------------------------- */

/* The pixels (x + i * dx, y + j * dy), rows of their own in the file. */
typedef struct pass {
    int32_t x, y, dx, dy;
} pass;

static const pass whole[] = {{0, 0, 1, 1}};
static const pass adam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                             {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

static int32_t count_steps(int32_t from, int32_t end, int32_t step)
{
    return end > from ? (end - from + step - 1) / step : 0;
}

static size_t row_bytes(const stk__png *png, const pass *one)
{
    return ((size_t)count_steps(one->x, png->w, one->dx) * (size_t)png->pixel_bits + 7) / 8;
}

/* Rows of no pixels are not there, not even their filters. */
static size_t pass_bytes(const stk__png *png, const pass *one)
{
    const size_t size = row_bytes(png, one);
    return size ? (size + 1) * (size_t)count_steps(one->y, png->h, one->dy) : 0;
}

/* What is still to be read of the inflated data. */
typedef struct reader {
    const stk__png *png;
    const uint8_t *zeros; /* the row above the first */
    uint8_t *line;        /* [w * 3]: a row of a pass as pixels */
    uint8_t *next;        /* filter of the next row, the row behind it */
    const uint8_t *row;   /* the last one that is finished */
    size_t row_count;
    stk__deadline deadline;
} reader;

/* Finishes the next row: in `to`, or where it is if that is NULL. */
static stk_status read_row(reader *from, uint8_t *to, size_t size, stk_error *error)
{
    uint8_t *stored = from->next + 1;
    const size_t step = (size_t)(from->png->pixel_bits + 7) / 8;
    if (!to) to = stored;
    if (!stk__png_undo_filter(stored[-1], stored, from->row, to, size, step))
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG row %zu has the invalid filter type %d",
                            from->row_count, stored[-1]);
    from->row = to;
    from->next = stored + size;
    if (++from->row_count % ROWS_PER_LOOK == 0 && stk__deadline_passed(&from->deadline))
        return stk__deadline_fail(&from->deadline, error);
    return STK_OK;
}

bool stk__png_is_simple(const stk__png *png)
{
    return png->depth_bits == 8 && !png->interlaced &&
           (png->colour == STK_PNG_GREY || png->colour == STK_PNG_PALETTE);
}

/* Rows as stored are rows of the target. */
static bool is_straight(const stk__png_sink *sink)
{
    const stk__png *png = sink->png;
    if (sink->target.channels == 3) return png->colour == STK_PNG_RGB && png->depth_bits == 8;
    return stk__png_is_simple(png) && (png->colour == STK_PNG_GREY || sink->ids);
}

static stk_status put_whole(reader *from, const stk__png_sink *sink, stk_error *error)
{
    const bool straight = is_straight(sink);
    from->row = from->zeros;
    for (int32_t y = 0; y < sink->png->h; y++) {
        uint8_t *to = straight ? stk__pixels_row(sink->target, y) : NULL;
        STK__TRY(read_row(from, to, sink->png->raw_row_bytes, error));
        if (!straight) STK__TRY(stk__png_put_row(sink, from->row, y, error));
    }
    return STK_OK;
}

static void spread(const uint8_t *line, int32_t count, int32_t step, uint8_t *to, int32_t channels)
{
    for (int32_t i = 0; i < count; i++)
        for (int32_t c = 0; c < channels; c++)
            to[i * step * channels + c] = line[i * channels + c];
}

/* A pass is a picture of its own, of which each row is made in `line`. */
static stk_status put_pass(reader *from, const stk__png_sink *sink, const pass *one, stk_error *error)
{
    stk__png png = *sink->png;
    const size_t size = row_bytes(&png, one);
    const int32_t channels = sink->target.channels, h = size ? count_steps(one->y, png.h, one->dy) : 0;
    png.w = count_steps(one->x, png.w, one->dx);
    stk__png_sink part = *sink;
    part.png = &png;
    part.target = stk__pixels_dense(from->line, png.w, 1, channels);
    from->row = from->zeros;
    for (int32_t i = 0; i < h; i++) {
        uint8_t *to = stk__pixels_row(sink->target, one->y + i * one->dy);
        STK__TRY(read_row(from, NULL, size, error));
        STK__TRY(stk__png_put_row(&part, from->row, 0, error));
        spread(from->line, png.w, one->dx, to + one->x * channels, channels);
    }
    return STK_OK;
}

static stk_status decode(stk__png_state *state, stk__png_sink *sink, size_t wanted, stk_error *error)
{
    const stk__png *png = sink->png;
    const size_t count = png->interlaced ? 7 : 1, w = (size_t)png->w;
    const pass *passes = png->interlaced ? adam7 : whole;
    reader from = {.png = png, .deadline = stk__deadline_start(state->limits)};
    STK__TRY(stk__png_inflate(state, png, wanted, error));
    if (stk__deadline_passed(&from.deadline)) return stk__deadline_fail(&from.deadline, error);
    STK__TRY(stk__buffer_reserve(&state->row, png->raw_row_bytes + 4 * w, error));
    memset(state->row.data, 0, png->raw_row_bytes);
    from.next = state->raw.data;
    from.zeros = state->row.data;
    sink->unpacked = state->row.data + png->raw_row_bytes;
    from.line = sink->unpacked + w;
    if (!png->interlaced) return put_whole(&from, sink, error);
    for (size_t i = 0; i < count; i++)
        STK__TRY(put_pass(&from, sink, &passes[i], error));
    return STK_OK;
}

stk_status stk__png_decode(stk__png_state *state, stk__png_sink *sink, stk_error *error)
{
    const stk__png *png = sink->png;
    const size_t count = png->interlaced ? 7 : 1;
    const pass *passes = png->interlaced ? adam7 : whole;
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++)
        wanted += pass_bytes(png, &passes[i]);
    stk__inflate_gate *gate = wanted > STK_INFLATE_KEPT_BYTES ? state->limits->gate : NULL;
    stk__inflate_gate_enter(gate, wanted);
    const stk_status status = decode(state, sink, wanted, error);
    if (gate) stk__buffer_fini(&state->raw);
    stk__inflate_gate_leave(gate, wanted);
    return status;
}
