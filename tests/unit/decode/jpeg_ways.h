/* SPDX-License-Identifier: Apache-2.0 */
/* JPEGs decoded with our Huffman decoder and by libjpeg alone: pixels and verdicts must be the same, word for
 * word. And what it takes to write scans bit by bit. */
#ifndef JPEG_WAYS_H
#define JPEG_WAYS_H

#include "decode/jpeg.h"
#include "support/pictures.h"
#include "decoding.h"

typedef struct verdict {
    stk_status status;
    stk_error error;
    stk__pixels pixels;  /* data NULL: the header is bad */
    bool taken;          /* ours went through the whole scan */
    const char *warning; /* accepted; a constant */
} verdict;

static const stk__limits *limits = &stk__limits_default;
static int shrink = 1;
static bool coarse;

static inline stk__jpeg_state *make_state(bool alone)
{
    void *state = NULL;
    assert_int_equal(stk__format_jpeg.create(&state, limits, NULL), STK_OK);
    ((stk__jpeg_state *)state)->alone = alone;
    return state;
}

static inline verdict judge(stk__jpeg_state *state, const stk__buffer *bytes, int channels)
{
    verdict v = {0};
    stk__picture picture = {0};
    v.status = stk__format_jpeg.header(state, as_encoded(bytes), &picture, &v.error);
    if (v.status != STK_OK) return v;
    picture.coarse = coarse;
    v.pixels = make_target(picture.w / shrink, picture.h / shrink, channels);
    state->huffman.mcu_left = 1; /* 0 only if ours counts it down */
    v.status = stk__format_jpeg.image(state, as_encoded(bytes), &picture, v.pixels, &v.error);
    v.taken = v.status == STK_OK && state->huffman.mcu_left == 0 && !state->left_over;
    v.warning = stk__format_jpeg.warning(state);
    return v;
}

/* Both on the same bytes; returns whether ours went through. */
static inline bool compare(stk__jpeg_state *ours, stk__jpeg_state *alone, const stk__buffer *bytes,
                           int channels)
{
    verdict a = judge(ours, bytes, channels), b = judge(alone, bytes, channels);
    assert_int_equal(a.status, b.status);
    assert_int_equal(a.error.damage, b.error.damage);
    assert_string_equal(a.error.message, b.error.message);
    assert_false(b.taken);
    if (a.status == STK_OK) assert_memory_equal(a.pixels.data, b.pixels.data, size_of(a.pixels));
    if (a.status == STK_OK) assert_ptr_equal(a.warning, b.warning);
    stk__free(a.pixels.data);
    stk__free(b.pixels.data);
    return a.taken;
}

typedef struct pair {
    stk__jpeg_state *ours, *alone;
} pair;

static inline pair make_pair(void)
{
    return (pair){make_state(false), make_state(true)};
}

static inline void free_pair(pair p)
{
    stk__format_jpeg.destroy(p.ours);
    stk__format_jpeg.destroy(p.alone);
}

static inline void put_bits(stk__buffer *out, uint32_t *pending, int *count, uint32_t bits, int more)
{
    *pending = *pending << more | bits;
    for (*count += more; *count >= 8; *count -= 8) {
        const uint8_t byte[] = {(uint8_t)(*pending >> (*count - 8)), 0};
        assert_int_equal(stk__buffer_append(out, byte, byte[0] == 0xFF ? 2 : 1, NULL), STK_OK);
    }
}

static inline void append(stk__buffer *out, const void *data, size_t size)
{
    assert_int_equal(stk__buffer_append(out, data, size, NULL), STK_OK);
    assert_int_equal(stk__buffer_reserve(out, out->size_bytes + 64, NULL), STK_OK);
}

static inline void append_divisors(stk__buffer *out)
{
    append(out, "\xFF\xDB\x00\x43\x00", 5);
    for (int i = 0; i < DCTSIZE2; i++)
        append(out, "\x01", 1);
}

#endif
