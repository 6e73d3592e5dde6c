/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of pixels whose taps all may be loaded, in whole numbers: bilinear for the image, nearest for the
 * mask. Part of the template.
 *
 * The taps of a pixel are loaded one pixel after the other (8 bytes hold both taps of a row in all channels),
 * weighed in 16 bits, and turned into lines per channel GROUP pixels at once. */
#ifndef STK_DEVICE_AUGMENT_TAPS_H
#define STK_DEVICE_AUGMENT_TAPS_H

#include "device/cpu/augment_places.h"

/* A row on its way through a turned source changes lines all the time, and the CPU cannot guess which come
 * next. Outside of the source this prefetches memory that is never read, which is harmless. */
static inline void fetch_early(const uint8_t *data, ptrdiff_t offset)
{
    __builtin_prefetch((const void *)((uintptr_t)data + (uintptr_t)offset));
}

/* Weights of bytes that stand side by side: the left one, and how far the right one is from it, in 1/64. */
static inline vw lefts_of(vw bytes)
{
    return vw_weigh_bytes(bytes, vw_all_bytes(STK_AUGMENT_LEVEL, 0));
}

static inline vw steps_of(vw bytes)
{
    return vw_weigh_bytes(bytes, vw_all_bytes(-STK_AUGMENT_LEVEL, STK_AUGMENT_LEVEL));
}

/* Two taps of a row, as neighbouring bytes, become one value. */
static inline vw weigh_row(vw taps, vw weight)
{
    return vw_add_part(lefts_of(taps), steps_of(taps), weight);
}

/* Two pixels of eight bytes, of which six are r g b r g b: both taps of both, channel by channel. */
static const int8_t by_channel[16] = {0, 3, 8, 11, 1, 4, 9, 12, 2, 5, 10, 13, 6, 7, 14, 15};

/* In each part: two words of each channel, of two pixels. */
ROW_INLINE vw sample_two(const uint8_t *upper, const uint8_t *lower, const int32_t *at, vw weight_x,
                         vw weight_y)
{
    const vw order = vw_parts(by_channel);
    const vw above = weigh_row(vw_shuffle(vw_taps(upper, at), order), weight_x);
    const vw below = weigh_row(vw_shuffle(vw_taps(lower, at), order), weight_x);
    return vw_between(above, below, weight_y);
}

/* From eight pixels in each part, two at a time, to lines per channel. */
ROW_INLINE void store_channels(const vw pairs[4], int16_t *const out[3])
{
    const vw first = vw_unpack_low(pairs[0], pairs[1]), second = vw_unpack_low(pairs[2], pairs[3]);
    vw_store(out[0], vw_lows(first, second));
    vw_store(out[1], vw_highs(first, second));
    vw_store(out[2], vw_lows(vw_unpack_high(pairs[0], pairs[1]), vw_unpack_high(pairs[2], pairs[3])));
}

ROW_INLINE void sample_rgb(stk__pixels image, const int32_t *at, const int16_t *weights,
                           int16_t *const out[3])
{
    const uint8_t *const upper = image.data, *const lower = image.data + image.pitch_bytes;
    const vw x = vw_load(weights), y = vw_load(weights + GROUP);
    const vw pairs[4] = {sample_two(upper, lower, at, vw_pair(x, 0), vw_pair(y, 0)),
                         sample_two(upper, lower, at + 2, vw_pair(x, 1), vw_pair(y, 1)),
                         sample_two(upper, lower, at + LANES, vw_pair(x, 2), vw_pair(y, 2)),
                         sample_two(upper, lower, at + LANES + 2, vw_pair(x, 3), vw_pair(y, 3))};
    store_channels(pairs, out);
}

/* In each part: two bytes of four pixels from the upper row, then from the lower. */
ROW_INLINE vw sample_grey_half(stk__pixels image, const int32_t *at, vw x, vw y)
{
    const vw taps = vw_grey_taps(image.data, image.data + image.pitch_bytes, at);
    const vw rows = weigh_row(taps, x);
    return vw_between(rows, vw_highs(rows, rows), y);
}

ROW_INLINE void sample_grey(stk__pixels image, const int32_t *at, const int16_t *weights, int16_t *out)
{
    const vw x = vw_load(weights), y = vw_load(weights + GROUP);
    const vw first = sample_grey_half(image, at, vw_lows(x, x), vw_lows(y, y));
    const vw second = sample_grey_half(image, at + LANES, vw_highs(x, x), vw_highs(y, y));
    vw_store(out, vw_lows(first, second));
}

ROW_INLINE void sample_ids(const uint8_t *mask, const int32_t *at, uint8_t *ids)
{
    for (int lane = 0; lane < LANES; lane += 2) {
        const int to = lane / 4 * 8 + lane % 4;
        const offsets first = two_offsets(at + lane), second = two_offsets(at + LANES + lane);
        ids[to] = mask[first.of[0]];
        ids[to + 1] = mask[first.of[1]];
        ids[to + 4] = mask[second.of[0]];
        ids[to + 5] = mask[second.of[1]];
    }
}

/* Image and mask together: the one keeps the CPU's vectors busy, the other its loads. */
ROW_INLINE void sample_inner(const pass *p, const sampler *s, int16_t *levels, stretch groups,
                             int32_t channels, bool has_mask)
{
    const stk__pixels image = p->source->image;
    const uint8_t *const mask = p->source->mask.data;
    uint8_t *const ids = p->ids;
    const places at = p->places;
    const size_t apart = channels == 3 ? p->line_values : 0;
    const ptrdiff_t ahead = s->ahead, mask_ahead = s->mask_ahead;
    for (int32_t i = groups.from; i < groups.to; i += GROUP) {
        int16_t *const out[3] = {levels + i, levels + apart + i, levels + 2 * apart + i};
        fetch_early(image.data, at.offset[i] + ahead);
        fetch_early(image.data, at.offset[i + LANES - 1] + ahead);
        if (channels == 3)
            sample_rgb(image, at.offset + i, at.weights + 2 * i, out);
        else
            sample_grey(image, at.offset + i, at.weights + 2 * i, out[0]);
        if (!has_mask) continue;
        fetch_early(mask, at.id_offset[i] + mask_ahead);
        sample_ids(mask, at.id_offset + i, ids + i);
    }
}

#endif
