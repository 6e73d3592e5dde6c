/* SPDX-License-Identifier: Apache-2.0 */
/* A PNG encoder for tests with every colour type, depth, filter and interlacing, chunk by chunk, so that
 * tests can build files that no library would write. */
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <libdeflate.h>

static void add(stk__buffer *out, const void *data, size_t size)
{
    assert_int_equal(stk__buffer_append(out, data, size, NULL), STK_OK);
}

static void store_number(uint8_t *to, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(number >> (24 - 8 * i));
}

static uint32_t load_number(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static void add_chunk(stk__buffer *out, const char *type, const void *data, size_t size)
{
    uint8_t head[8], tail[4];
    store_number(head, (uint32_t)size);
    memcpy(head + 4, type, 4);
    store_number(tail, libdeflate_crc32(libdeflate_crc32(0, type, 4), data ? data : "", size));
    add(out, head, 8);
    add(out, data, size);
    add(out, tail, 4);
}

static void finish(stk__buffer *out)
{
    static const uint8_t zeros[64];
    add(out, zeros, sizeof zeros);
    out->size_bytes -= sizeof zeros;
}

typedef struct encoder {
    const uint16_t *samples;
    int32_t w, h;
    int channels, depth, filter;
    uint8_t *row, *above; /* packed */
    stk__buffer rows;     /* filtered */
    uint32_t seed;
} encoder;

/* A pass takes every dx-th pixel from x0 on. */
typedef struct pass {
    int32_t x0, y0, dx, dy;
} pass;

static size_t pack_row(encoder *one, pass step, int32_t y)
{
    size_t bit = 0;
    memset(one->row, 0, (size_t)one->w * 8);
    for (int32_t x = step.x0; x < one->w; x += step.dx)
        for (int c = 0; c < one->channels; c++, bit += (size_t)one->depth) {
            const unsigned value =
                one->samples[((size_t)y * (size_t)one->w + (size_t)x) * (size_t)one->channels + (size_t)c];
            if (one->depth == 16) {
                one->row[bit / 8] = (uint8_t)(value >> 8);
                one->row[bit / 8 + 1] = (uint8_t)value;
            } else {
                one->row[bit / 8] |= (uint8_t)(value << (8 - one->depth - (int)(bit % 8)));
            }
        }
    return (bit + 7) / 8;
}

static int predict(int filter, int left, int up, int corner)
{
    const int p = left + up - corner, pa = abs(p - left), pb = abs(p - up), pc = abs(p - corner);
    const int paeth = pa <= pb && pa <= pc ? left : pb <= pc ? up : corner;
    const int all[] = {0, left, up, (left + up) / 2, paeth};
    return all[filter];
}

static void add_row(encoder *one, size_t size)
{
    const int filter =
        one->filter == PICTURES_FILTER_MIX ? (int)(pictures_random(&one->seed) % 5) : one->filter;
    const size_t back = one->channels * one->depth < 8 ? 1 : (size_t)(one->channels * one->depth / 8);
    const uint8_t kind = (uint8_t)filter;
    add(&one->rows, &kind, 1);
    for (size_t i = 0; i < size; i++) {
        const int left = i < back ? 0 : one->row[i - back], corner = i < back ? 0 : one->above[i - back];
        const uint8_t rest =
            filter > 4 ? one->row[i] : (uint8_t)(one->row[i] - predict(filter, left, one->above[i], corner));
        add(&one->rows, &rest, 1);
    }
    uint8_t *row = one->row;
    one->row = one->above;
    one->above = row;
}

static void add_pass(encoder *one, pass step)
{
    if (step.x0 >= one->w) return;
    memset(one->above, 0, (size_t)one->w * 8);
    for (int32_t y = step.y0; y < one->h; y += step.dy)
        add_row(one, pack_row(one, step, y));
}

static void compress_rows(encoder *one, stk__buffer *packed, const pictures_png_options *options)
{
    static const uint8_t zeros[256];
    if (options->short_bytes > 0) one->rows.size_bytes -= (size_t)options->short_bytes;
    if (options->short_bytes < 0) add(&one->rows, zeros, (size_t)-options->short_bytes);
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(6);
    assert_non_null(deflater);
    const size_t bound = libdeflate_zlib_compress_bound(deflater, one->rows.size_bytes);
    assert_int_equal(stk__buffer_reserve(packed, bound, NULL), STK_OK);
    packed->size_bytes =
        libdeflate_zlib_compress(deflater, one->rows.data, one->rows.size_bytes, packed->data, bound);
    assert_true(packed->size_bytes > 0);
    libdeflate_free_compressor(deflater);
    if (options->bad_adler) packed->data[packed->size_bytes - 1] ^= 1;
}

static void add_head(stk__buffer *out, int32_t w, int32_t h, const pictures_png_options *options)
{
    uint8_t header[13] = {0};
    store_number(header, (uint32_t)w);
    store_number(header + 4, (uint32_t)h);
    header[8] = (uint8_t)(options->depth ? options->depth : 8);
    header[9] = (uint8_t)options->colour;
    header[12] = options->interlaced;
    out->size_bytes = 0;
    add(out, "\x89PNG\r\n\x1A\n", 8);
    add_chunk(out, "IHDR", header, sizeof header);
    if (options->extra) add_chunk(out, "gAMA", "\0\0\0\0", 4); /* 0 is illegal, and of no importance */
    if (options->extra) add_chunk(out, "prVt", "private", 7);
    if (options->palette) add_chunk(out, "PLTE", options->palette, (size_t)options->palette_count * 3);
}

static void add_body(stk__buffer *out, const stk__buffer *packed, const pictures_png_options *options)
{
    const size_t part = options->idat_bytes ? (size_t)options->idat_bytes : packed->size_bytes;
    for (size_t at = 0; at < packed->size_bytes; at += part)
        add_chunk(out, "IDAT", packed->data + at,
                  packed->size_bytes - at < part ? packed->size_bytes - at : part);
    if (options->extra) add_chunk(out, "tEXt", "Comment\0none", 12);
    add_chunk(out, "IEND", NULL, 0);
    finish(out);
}

void pictures_png(stk__buffer *out, const uint16_t *samples, int32_t w, int32_t h,
                  const pictures_png_options *options)
{
    static const int channels[] = {1, 0, 3, 1, 2, 0, 4};
    static const pass passes[] = {{0, 0, 1, 1}, {0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8},
                                  {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    encoder one = {.samples = samples, .w = w, .h = h, .seed = 1, .filter = options->filter};
    stk__buffer packed = {0};
    one.channels = channels[options->colour];
    one.depth = options->depth ? options->depth : 8;
    one.row = malloc((size_t)w * 8);
    one.above = malloc((size_t)w * 8);
    assert_true(one.row && one.above);
    for (int i = options->interlaced ? 1 : 0; i < (options->interlaced ? 8 : 1); i++)
        add_pass(&one, passes[i]);
    compress_rows(&one, &packed, options);
    add_head(out, w, h, options);
    add_body(out, &packed, options);
    free(one.row);
    free(one.above);
    stk__buffer_fini(&one.rows);
    stk__buffer_fini(&packed);
}

void pictures_png_plain(stk__buffer *out, stk__pixels pixels, int filter)
{
    const size_t values = (size_t)pixels.w * (size_t)pixels.channels, count = values * (size_t)pixels.h;
    uint16_t *samples = malloc(count * sizeof *samples);
    assert_non_null(samples);
    for (int32_t y = 0; y < pixels.h; y++)
        for (size_t i = 0; i < values; i++)
            samples[(size_t)y * values + i] = stk__pixels_row(pixels, y)[i];
    const pictures_png_options options = {.colour = pixels.channels == 3 ? 2 : 0, .filter = filter};
    pictures_png(out, samples, pixels.w, pixels.h, &options);
    free(samples);
}

size_t pictures_png_find(const stk__buffer *png, const char *type, int nth)
{
    size_t at = 8;
    while (at + 12 <= png->size_bytes) {
        if (memcmp(png->data + at + 4, type, 4) == 0 && nth-- == 0) return at;
        at += 12 + (size_t)load_number(png->data + at);
    }
    fail_msg("the PNG has no such chunk %s", type);
    return 0;
}

void pictures_png_fix_crc(stk__buffer *png, size_t chunk)
{
    const uint32_t size = load_number(png->data + chunk);
    if (size > png->size_bytes || chunk + 12 + size > png->size_bytes) return;
    store_number(png->data + chunk + 8 + size, libdeflate_crc32(0, png->data + chunk + 4, (size_t)size + 4));
}

void pictures_png_insert(stk__buffer *png, size_t at, const char *type, const void *data, size_t size)
{
    stk__buffer whole = {0};
    add(&whole, png->data, at);
    add_chunk(&whole, type, data, size);
    add(&whole, png->data + at, png->size_bytes - at);
    finish(&whole);
    stk__buffer_fini(png);
    *png = whole;
}
