/* SPDX-License-Identifier: Apache-2.0 */
/* Test pictures: random pixels from a seed, encoded by libjpeg with every option that the decoder meets
 * (progressive, restarts, EXIF, missing tables), and npy arrays. */
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jpeglib.h>

uint32_t pictures_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

stk__pixels pictures_draw(int32_t w, int32_t h, int32_t channels, uint32_t seed)
{
    uint8_t *data = stk__alloc((size_t)w * (size_t)h * (size_t)channels);
    assert_non_null(data);
    const int64_t cx = (int64_t)(pictures_random(&seed) % (uint32_t)w), cy = pictures_random(&seed) % h;
    const uint32_t slope = 1 + pictures_random(&seed) % 3;
    uint8_t *to = data;
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++)
            for (int32_t c = 0; c < channels; c++) {
                const int64_t far = (x - cx) * (x - cx) + (y - cy) * (y - cy);
                const uint32_t disc = far * 9 < (int64_t)w * h ? 80 : 0;
                const uint32_t ramp = (uint32_t)(x * (c + 1) + y) * slope * 60 / (uint32_t)(w + h);
                *to++ = (uint8_t)(20 + ramp % 140 + disc + pictures_random(&seed) % 9);
            }
    return stk__pixels_dense(data, w, h, channels);
}

stk__pixels pictures_draw_mask(int32_t w, int32_t h, int32_t class_count, uint32_t seed)
{
    enum { SPOTS = 24 };
    int32_t spot_x[SPOTS], spot_y[SPOTS];
    for (int i = 0; i < SPOTS; i++) {
        spot_x[i] = (int32_t)(pictures_random(&seed) % (uint32_t)w);
        spot_y[i] = (int32_t)(pictures_random(&seed) % (uint32_t)h);
    }
    uint8_t *data = stk__alloc((size_t)w * (size_t)h);
    assert_non_null(data);
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++) {
            int best = 0;
            int64_t nearest = INT64_MAX;
            for (int i = 0; i < SPOTS; i++) {
                const int64_t dx = x - spot_x[i], dy = y - spot_y[i], far = dx * dx + dy * dy;
                if (far < nearest) best = i;
                if (far < nearest) nearest = far;
            }
            data[(size_t)y * (size_t)w + (size_t)x] = (uint8_t)(best % class_count);
        }
    return stk__pixels_dense(data, w, h, 1);
}

static void add(stk__buffer *out, const void *data, size_t size)
{
    assert_int_equal(stk__buffer_append(out, data, size, NULL), STK_OK);
}

static void finish(stk__buffer *out)
{
    static const uint8_t zeros[64];
    add(out, zeros, sizeof zeros);
    out->size_bytes -= sizeof zeros;
}

void pictures_cut(stk__buffer *out, const stk__buffer *original, size_t size)
{
    out->size_bytes = 0;
    add(out, original->data, size);
    finish(out);
}

static void write_exif(j_compress_ptr codec, const pictures_jpeg_options *options)
{
    uint8_t block[] = {'E',  'x', 'i', 'f', 0, 0,                   /* */
                       'I',  'I', 42,  0,   8, 0, 0, 0,             /* TIFF, folder at 8 */
                       2,    0,                                     /* two entries: ImageWidth, Orientation */
                       0,    1,   3,   0,   1, 0, 0, 0, 9, 0, 0, 0, /* */
                       0x12, 1,   3,   0,   1, 0, 0, 0, 0, 0, 0, 0, /* */
                       0,    0,   0,   0};
    block[16 + 12 + 8] = (uint8_t)options->orientation;
    if (options->exif_big) {
        const uint8_t big[] = {'M', 'M',  0, 42, 0, 0, 0, 8, 0, 2, /* */
                               1,   0,    0, 3,  0, 0, 0, 1, 0, 9,
                               0,   0, /* */
                               1,   0x12, 0, 3,  0, 0, 0, 1, 0, (uint8_t)options->orientation,
                               0,   0};
        memcpy(block + 6, big, sizeof big);
    }
    jpeg_write_marker(codec, JPEG_APP0 + 1, block, sizeof block);
}

static void configure(j_compress_ptr codec, stk__pixels pixels, const pictures_jpeg_options *options)
{
    static const J_COLOR_SPACE in[] = {JCS_RGB, JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_CMYK};
    static const J_COLOR_SPACE stored[] = {JCS_YCbCr, JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_YCCK};
    codec->image_width = (JDIMENSION)pixels.w;
    codec->image_height = (JDIMENSION)pixels.h;
    codec->input_components = pixels.channels;
    codec->in_color_space = in[options->space];
    jpeg_set_defaults(codec);
    jpeg_set_colorspace(codec, stored[options->space]);
    jpeg_set_quality(codec, options->quality ? options->quality : 90, TRUE);
    if (options->sampling == 1) codec->comp_info[0].h_samp_factor = codec->comp_info[0].v_samp_factor = 1;
    if (options->luma[0]) {
        codec->comp_info[0].h_samp_factor = options->luma[0];
        codec->comp_info[0].v_samp_factor = options->luma[1];
    }
    if (options->no_adobe) codec->write_Adobe_marker = FALSE;
    codec->restart_in_rows = options->restart_rows;
    codec->arith_code = options->arithmetic;
    codec->optimize_coding = options->optimised;
    if (options->progressive) jpeg_simple_progression(codec);
}

/* The last scan, from its SOS marker to the EOI, is written n times more. */
static void repeat_scan(stk__buffer *out, const uint8_t *data, size_t size, int n)
{
    size_t scan = size - 2;
    while (scan > 0 && !(data[scan] == 0xFF && data[scan + 1] == 0xDA))
        scan--;
    assert_true(scan > 0);
    add(out, data, size - 2);
    for (int i = 0; i < n; i++)
        add(out, data + scan, size - 2 - scan);
    add(out, data + size - 2, 2);
}

void pictures_jpeg(stk__buffer *out, stk__pixels pixels, const pictures_jpeg_options *options)
{
    static const jpeg_scan_info one_each[] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}, {1, {3}, 0, 63, 0, 0}};
    struct jpeg_compress_struct codec = {0};
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long size = 0;
    codec.err = jpeg_std_error(&errors);
    jpeg_create_compress(&codec);
    jpeg_mem_dest(&codec, &data, &size);
    configure(&codec, pixels, options);
    if (options->scan_repeats) {
        codec.scan_info = one_each;
        codec.num_scans = codec.num_components;
    }
    jpeg_start_compress(&codec, TRUE);
    if (options->orientation) write_exif(&codec, options);
    for (int32_t y = 0; y < pixels.h; y++) {
        JSAMPROW row = stk__pixels_row(pixels, y);
        jpeg_write_scanlines(&codec, &row, 1);
    }
    jpeg_finish_compress(&codec);
    jpeg_destroy_compress(&codec);
    out->size_bytes = 0;
    if (options->scan_repeats)
        repeat_scan(out, data, size, options->scan_repeats);
    else
        add(out, data, size);
    finish(out);
    free(data);
}

void pictures_npy(stk__buffer *out, int version, const char *text, const void *data, size_t size)
{
    const size_t length = strlen(text), prefix = version == 1 ? 10 : 12;
    uint8_t start[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)version};
    for (size_t i = 8; i < prefix; i++)
        start[i] = (uint8_t)(length >> (8 * (i - 8)));
    out->size_bytes = 0;
    add(out, start, prefix);
    add(out, text, length);
    add(out, data, size);
    finish(out);
}
