/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding in tests of the codecs: everything stops the test when it goes wrong. */
#ifndef DECODING_H
#define DECODING_H

#include "decode/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <jpeglib.h>

static inline stk__decoder *make_decoder(const stk__limits *limits)
{
    stk__decoder *decoder = NULL;
    assert_int_equal(stk__decoder_create(&decoder, limits, NULL), STK_OK);
    return decoder;
}

static inline stk__encoded as_encoded(const stk__buffer *buffer)
{
    return (stk__encoded){buffer->data, buffer->size_bytes};
}

static inline stk__pixels make_target(int32_t w, int32_t h, int32_t channels)
{
    uint8_t *data = stk__alloc((size_t)w * (size_t)h * (size_t)channels);
    assert_non_null(data);
    return stk__pixels_dense(data, w, h, channels);
}

static inline size_t size_of(stk__pixels pixels)
{
    return (size_t)pixels.w * (size_t)pixels.h * (size_t)pixels.channels;
}

/* libjpeg as its manual shows it: what our decoder must agree with bit by bit. */
static inline stk__pixels decode_bare(const stk__buffer *bytes, int channels, unsigned shrink)
{
    struct jpeg_decompress_struct codec = {0};
    struct jpeg_error_mgr errors;
    codec.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&codec);
    jpeg_mem_src(&codec, bytes->data, bytes->size_bytes);
    jpeg_read_header(&codec, TRUE);
    codec.scale_denom = shrink;
    codec.out_color_space = channels == 4 ? JCS_CMYK : channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_start_decompress(&codec);
    stk__pixels target = make_target((int32_t)codec.output_width, (int32_t)codec.output_height, channels);
    while (codec.output_scanline < codec.output_height) {
        JSAMPROW row = stk__pixels_row(target, (int32_t)codec.output_scanline);
        jpeg_read_scanlines(&codec, &row, 1);
    }
    jpeg_destroy_decompress(&codec);
    return target;
}

static inline stk_damage try_decode(stk__decoder *decoder, const stk__buffer *bytes, int channels,
                                    stk_status *status)
{
    stk_error error = {0};
    stk__picture picture;
    *status = stk__decode_header(decoder, as_encoded(bytes), "jpg", &picture, &error);
    if (*status != STK_OK) return error.damage;
    stk__pixels target = make_target(picture.w, picture.h, channels);
    *status = stk__decode_image(decoder, as_encoded(bytes), &picture, target, &error);
    stk__free(target.data);
    return error.damage;
}

static inline stk_damage find_damage(stk__decoder *decoder, const stk__buffer *bytes)
{
    stk_status status;
    const stk_damage damage = try_decode(decoder, bytes, 3, &status);
    assert_int_equal(status, damage == STK_DAMAGE_NONE ? STK_OK : STK_ERROR_SAMPLE);
    return damage;
}

/* All segments of a kind that stand before the first scan of a JPEG. */
static inline void remove_segments(stk__buffer *bytes, uint8_t marker)
{
    size_t at = 2;
    while (bytes->data[at + 1] != 0xDA) {
        const size_t length = 2 + ((size_t)bytes->data[at + 2] << 8 | bytes->data[at + 3]);
        if (bytes->data[at + 1] != marker) {
            at += length;
            continue;
        }
        memmove(bytes->data + at, bytes->data + at + length, bytes->size_bytes - at - length);
        bytes->size_bytes -= length;
    }
}

#endif
