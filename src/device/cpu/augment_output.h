/* SPDX-License-Identifier: Apache-2.0 */
/* Erasing, normalising and storing of rows, in the target's type and layout. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_OUTPUT_H
#define STK_DEVICE_AUGMENT_OUTPUT_H

#include "device/cpu/augment_rows.h"

enum { STREAM_BYTES = 256 * 1024 }; /* a sample so large is not read again before it leaves the caches */

static inline size_t value_bytes(const stk__augment_target *target)
{
    return target->dtype == STK_DTYPE_F32 ? 4 : 2;
}

static inline output_kind find_kind(const stk__augment_target *target, bool streams)
{
    if (target->dtype == STK_DTYPE_F16) return streams ? OUTPUT_HALVES_STREAMED : OUTPUT_HALVES;
    if (target->dtype == STK_DTYPE_BF16) return streams ? OUTPUT_BFLOATS_STREAMED : OUTPUT_BFLOATS;
    return streams ? OUTPUT_FLOATS_STREAMED : OUTPUT_FLOATS;
}

/* Streaming pays for large samples; each store then has to be aligned, in every row and channel. */
static inline bool may_stream(const stk__augment_target *target)
{
    const size_t bytes = value_bytes(target), vector = LANES * bytes;
    const size_t row_bytes = (size_t)target->w * bytes * (target->planar ? 1 : (size_t)target->channels);
    const size_t all = (size_t)target->w * (size_t)target->h * (size_t)target->channels * bytes;
    return all >= STREAM_BYTES && row_bytes % vector == 0 && (uintptr_t)target->image % vector == 0 &&
           (size_t)target->w % LANES == 0;
}

/* Round to nearest even, as stk__bfloat_from_float. */
static inline vh round_bfloat(vf v)
{
    const vi bits = vi_bits(v), up = vi_all(0x8000), down = vi_all(0x7fff);
    const vf odd = vf_from_bits(vi_add(bits, up)), even = vf_from_bits(vi_add(bits, down));
    return vh_top_words(vi_bits(vf_pick(vi_odd(vi_shift_signed(bits, 16)), odd, even)));
}

/* LANES values, to value number `at` of the image. */
ROW_INLINE void put_as(void *image, size_t at, vf v, output_kind kind)
{
    switch (kind) {
    case OUTPUT_FLOATS:
        vf_store((float *)image + at, v);
        break;
    case OUTPUT_FLOATS_STREAMED:
        vf_stream((float *)image + at, v);
        break;
    case OUTPUT_HALVES:
        vh_store((uint16_t *)image + at, vh_half(v));
        break;
    case OUTPUT_HALVES_STREAMED:
        vh_stream((uint16_t *)image + at, vh_half(v));
        break;
    case OUTPUT_BFLOATS:
        vh_store((uint16_t *)image + at, round_bfloat(v));
        break;
    case OUTPUT_BFLOATS_STREAMED:
        vh_stream((uint16_t *)image + at, round_bfloat(v));
        break;
    }
}

/* The first `count` of LANES values. */
static inline void put_some(const pass *p, size_t at, vf v, int32_t count)
{
    float floats[LANES];
    uint16_t words[LANES];
    const size_t bytes = value_bytes(p->target);
    vf_store(floats, v);
    if (p->target->dtype == STK_DTYPE_F16) vh_store(words, vh_half(v));
    if (p->target->dtype == STK_DTYPE_BF16) vh_store(words, round_bfloat(v));
    memcpy((uint8_t *)p->target->image + at * bytes, bytes == 4 ? (const void *)floats : words,
           (size_t)count * bytes);
}

/* kind is p->kind, as a constant: so in all that follow. */
ROW_INLINE void store_line(const pass *p, row r, int32_t c, size_t at, output_kind kind)
{
    void *const image = p->target->image;
    const float *const line = r.line[c];
    const vf scale = vf_all(p->target->scale[c]), bias = vf_all(p->target->bias[c]);
    const int32_t w = p->w;
    int32_t x = 0;
    for (; x + LANES <= w; x += LANES)
        put_as(image, at + (size_t)x, vf_fma(vf_load(line + x), scale, bias), kind);
    if (x < w) put_some(p, at + (size_t)x, vf_fma(vf_load(line + x), scale, bias), w - x);
}

/* Pixel after pixel: value e of LANES pixels (channel e % 3 of pixel e / 3) goes to lane e % LANES of vector
 * e / LANES. 3 and LANES have no common divisor, so one permutation per channel puts all its values into the
 * right lanes, and each of the three vectors picks its lanes from the three channels. */
typedef struct interleaver {
    vi from[3];                /* of channel c: from which lane each lane comes */
    vm is_red[3], is_green[3]; /* of vector k */
    vf scale[3], bias[3];
} interleaver;

static inline interleaver start_interleaver(const stk__augment_target *target)
{
    int32_t from[3][LANES], red[3][LANES], green[3][LANES];
    for (int e = 0; e < 3 * LANES; e++) {
        from[e % 3][e % LANES] = e / 3;
        red[e / LANES][e % LANES] = e % 3 == 0;
        green[e / LANES][e % LANES] = e % 3 == 1;
    }
    interleaver i;
    for (int c = 0; c < 3; c++) {
        i.from[c] = vi_load(from[c]);
        i.is_red[c] = vi_odd(vi_load(red[c]));
        i.is_green[c] = vi_odd(vi_load(green[c]));
        i.scale[c] = vf_all(target->scale[c]);
        i.bias[c] = vf_all(target->bias[c]);
    }
    return i;
}

ROW_INLINE vf place_channel(const interleaver *i, row r, int32_t x, int c)
{
    return vf_permute(vf_fma(vf_load(r.line[c] + x), i->scale[c], i->bias[c]), i->from[c]);
}

ROW_INLINE vf mix(const interleaver *i, int k, vf red, vf green, vf blue)
{
    return vf_pick(i->is_red[k], red, vf_pick(i->is_green[k], green, blue));
}

ROW_INLINE void store_interleaved(const pass *p, row r, size_t at, output_kind kind)
{
    void *const image = p->target->image;
    const interleaver i = start_interleaver(p->target);
    const int32_t w = p->w;
    for (int32_t x = 0; x < w; x += LANES) {
        const vf red = place_channel(&i, r, x, 0), green = place_channel(&i, r, x, 1);
        const vf blue = place_channel(&i, r, x, 2);
        const vf out[3] = {mix(&i, 0, red, green, blue), mix(&i, 1, red, green, blue),
                           mix(&i, 2, red, green, blue)};
        const size_t to = at + 3 * (size_t)x;
        if (x + LANES <= w) {
            put_as(image, to, out[0], kind);
            put_as(image, to + LANES, out[1], kind);
            put_as(image, to + 2 * LANES, out[2], kind);
            continue;
        }
        for (int32_t k = 0, left = 3 * (w - x); left > 0; k++, left -= LANES)
            put_some(p, to + (size_t)(k * LANES), out[k], left < LANES ? left : LANES);
    }
}

ROW_INLINE void store_row_as(const pass *p, row r, int32_t y, output_kind kind)
{
    const size_t area = (size_t)p->w * (size_t)p->h, at = (size_t)y * (size_t)p->w;
    if (p->channels == 3 && !p->target->planar) {
        store_interleaved(p, r, 3 * at, kind);
        return;
    }
    for (int32_t c = 0; c < p->channels; c++)
        store_line(p, r, c, (size_t)c * area + at, kind);
}

static inline void store_row(const pass *p, row r, int32_t y)
{
    switch (p->kind) {
    case OUTPUT_FLOATS:
        store_row_as(p, r, y, OUTPUT_FLOATS);
        break;
    case OUTPUT_FLOATS_STREAMED:
        store_row_as(p, r, y, OUTPUT_FLOATS_STREAMED);
        break;
    case OUTPUT_HALVES:
        store_row_as(p, r, y, OUTPUT_HALVES);
        break;
    case OUTPUT_HALVES_STREAMED:
        store_row_as(p, r, y, OUTPUT_HALVES_STREAMED);
        break;
    case OUTPUT_BFLOATS:
        store_row_as(p, r, y, OUTPUT_BFLOATS);
        break;
    case OUTPUT_BFLOATS_STREAMED:
        store_row_as(p, r, y, OUTPUT_BFLOATS_STREAMED);
        break;
    }
}

static inline void store_ids(const pass *p, int32_t y)
{
    const size_t at = (size_t)y * (size_t)p->w;
    if (p->target->mask_dtype != STK_DTYPE_I64) {
        memcpy((uint8_t *)p->target->mask + at, p->ids, (size_t)p->w);
        return;
    }
    int64_t *const out = (int64_t *)p->target->mask + at;
    for (int32_t x = 0; x < p->w; x++)
        out[x] = p->ids[x];
}

static inline void erase_row(const pass *p, row r, int32_t y)
{
    const stk__augment_block *const b = p->block;
    if (y < b->erase_y || y >= b->erase_y + b->erase_h) return;
    const int32_t from = b->erase_x > 0 ? b->erase_x : 0;
    const int32_t end = b->erase_x + b->erase_w, to = end < p->w ? end : p->w;
    fill_span(p, r, from, to);
}

#endif
