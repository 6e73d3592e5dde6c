/* From a row as PNG stores it (1 to 16 bits, with or without palette and alpha) to 8-bit pixels or ids. */
#include "decode/png.h"

#include <string.h>

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
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG pixel %d of a palette with %d colours", largest,
                            png->palette_count);
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
            return stk__damaged(error, STK_DAMAGE_MASK_IDS, "the mask has id %d, more than 255",
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
