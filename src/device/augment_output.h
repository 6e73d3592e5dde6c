/* Erasing, normalising and storing of rows, in the target's type and layout. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_OUTPUT_H
#define STK_DEVICE_AUGMENT_OUTPUT_H

#include "device/augment_rows.h"

enum { STREAM_BYTES = 256 * 1024 }; /* a sample so large is not read again before it leaves the caches */

/* Pixel after pixel: value e of LANES pixels (channel e % 3 of pixel e / 3) goes to lane e % LANES of vector
 * e / LANES. 3 and LANES have no common divisor, so one permutation per channel puts all its values into the
 * right lanes, and each of the three vectors picks its lanes from the three channels.
 * layout[c]: that permutation. layout[3 + k]: lanes of vector k; bit 0: red, bit 1: green. */
static inline void lay_out(pass *p)
{
    for (int32_t e = 0; e < 3 * LANES; e++) {
        p->layout[e % 3][e % LANES] = e / 3;
        p->layout[3 + e / LANES][e % LANES] = e % 3 == 0 ? 1 : e % 3 == 1 ? 2 : 0;
    }
}

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

static inline vf normalised(const pass *p, row r, int32_t c, int32_t x)
{
    return vf_fma(vf_load(r.line[c] + x), vf_all(p->target->scale[c]), vf_all(p->target->bias[c]));
}

/* As many whole vectors as a line has; kind and streams are constants. */
ROW_INLINE int32_t store_vectors(const pass *p, row r, int32_t c, size_t at, output_kind kind)
{
    void *const image = p->target->image;
    const float *const line = r.line[c];
    const vf scale = vf_all(p->target->scale[c]), bias = vf_all(p->target->bias[c]);
    const int32_t w = p->w;
    int32_t x = 0;
    for (; x + LANES <= w; x += LANES)
        put_as(image, at + (size_t)x, vf_fma(vf_load(line + x), scale, bias), kind);
    return x;
}

static inline void store_line(const pass *p, row r, int32_t c, size_t at)
{
    int32_t x = 0;
    switch (p->kind) {
    case OUTPUT_FLOATS:
        x = store_vectors(p, r, c, at, OUTPUT_FLOATS);
        break;
    case OUTPUT_FLOATS_STREAMED:
        x = store_vectors(p, r, c, at, OUTPUT_FLOATS_STREAMED);
        break;
    case OUTPUT_HALVES:
        x = store_vectors(p, r, c, at, OUTPUT_HALVES);
        break;
    case OUTPUT_HALVES_STREAMED:
        x = store_vectors(p, r, c, at, OUTPUT_HALVES_STREAMED);
        break;
    case OUTPUT_BFLOATS:
        x = store_vectors(p, r, c, at, OUTPUT_BFLOATS);
        break;
    case OUTPUT_BFLOATS_STREAMED:
        x = store_vectors(p, r, c, at, OUTPUT_BFLOATS_STREAMED);
        break;
    }
    if (x < p->w) put_some(p, at + (size_t)x, normalised(p, r, c, x), p->w - x);
}

static inline void store_interleaved(const pass *p, row r, size_t at)
{
    for (int32_t x = 0; x < p->w; x += LANES) {
        vf v[3];
        for (int c = 0; c < 3; c++)
            v[c] = vf_permute(normalised(p, r, c, x), vi_load(p->layout[c]));
        for (int k = 0; k < 3; k++) {
            const vi lanes = vi_load(p->layout[3 + k]);
            const vf mixed =
                vf_pick(vi_odd(lanes), v[0], vf_pick(vi_odd(vi_shift_signed(lanes, 1)), v[1], v[2]));
            const int32_t left = 3 * (p->w - x) - k * LANES;
            const size_t to = at + 3 * (size_t)x + (size_t)(k * LANES);
            if (left >= LANES)
                put_as(p->target->image, to, mixed, p->kind);
            else if (left > 0)
                put_some(p, to, mixed, left);
        }
    }
}

static inline void store_row(const pass *p, row r, int32_t y)
{
    const size_t area = (size_t)p->w * (size_t)p->h, at = (size_t)y * (size_t)p->w;
    if (p->channels == 3 && !p->target->planar) {
        store_interleaved(p, r, 3 * at);
        return;
    }
    for (int32_t c = 0; c < p->channels; c++)
        store_line(p, r, c, (size_t)c * area + at);
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
