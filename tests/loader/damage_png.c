/* SPDX-License-Identifier: Apache-2.0 */
/* PNG, npy and mask files that are damaged in one way each, with checksums made right again where the
 * damage lies deeper. */
#include "loader/damage_bytes.h"
#include "loader/damage_operators.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { SEED = 78, PIXELS = DAMAGE_W * DAMAGE_H, CHUNK_HEAD_BYTES = 8, ZLIB_HEAD_BYTES = 2 };

static const uint8_t zeros[4096];

static void append(stk__buffer *bytes, const void *data, size_t size)
{
    assert_int_equal(stk__buffer_append(bytes, data, size, NULL), STK_OK);
}

void make_nothing(stk__buffer *bytes, int amount)
{
    (void)amount;
    bytes->size_bytes = 0;
}

void make_text(stk__buffer *bytes, int amount)
{
    static const char page[] = "<html><head><title>404 Not Found</title></head></html>\n";
    (void)amount;
    append(bytes, page, sizeof page - 1);
}

void make_zeros(stk__buffer *bytes, int amount)
{
    append(bytes, zeros, (size_t)amount);
}

static void make_npy(stk__buffer *bytes, const char *type, const char *fortran, size_t data_bytes)
{
    char text[128];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }\n", type, fortran,
             DAMAGE_H, DAMAGE_W);
    static const uint8_t items[PIXELS * 4 + 1];
    pictures_npy(bytes, 1, text, items, data_bytes);
}

void make_npy_u8(stk__buffer *bytes, int amount)
{
    (void)amount;
    make_npy(bytes, "|u1", "False", PIXELS);
}

void make_npy_f4(stk__buffer *bytes, int amount)
{
    (void)amount;
    make_npy(bytes, "<f4", "False", PIXELS * 4);
}

void make_npy_fortran(stk__buffer *bytes, int amount)
{
    (void)amount;
    make_npy(bytes, "|u1", "True", PIXELS);
}

void make_npy_cut(stk__buffer *bytes, int amount)
{
    make_npy(bytes, "|u1", "False", PIXELS);
    bytes->size_bytes = bytes->size_bytes * (size_t)amount / 100;
}

void make_npy_longer(stk__buffer *bytes, int amount)
{
    make_npy(bytes, "|u1", "False", PIXELS + (size_t)amount);
}

/* Random samples below `below`, of the colour type in options. */
static void encode(stk__buffer *bytes, unsigned below, const pictures_png_options *options)
{
    static uint16_t samples[PIXELS * 3];
    uint32_t seed = SEED;
    for (size_t i = 0; i < PIXELS * 3; i++)
        samples[i] = (uint16_t)(pictures_random(&seed) % below);
    samples[PIXELS / 2] = (uint16_t)(below - 1);
    pictures_png(bytes, samples, DAMAGE_W, DAMAGE_H, options);
}

void make_good_png(stk__buffer *bytes, int amount)
{
    (void)amount;
    encode(bytes, 256, &(pictures_png_options){.colour = 2});
}

static void keep_percent(stk__buffer *bytes, int percent)
{
    bytes->size_bytes = bytes->size_bytes * (size_t)percent / 100;
}

/* The byte at an offset in the first chunk of a type is replaced; its checksum then fits again. */
static void change(stk__buffer *bytes, const char *type, size_t offset, uint8_t value)
{
    const size_t chunk = pictures_png_find(bytes, type, 0);
    bytes->data[chunk + CHUNK_HEAD_BYTES + offset] = value;
    pictures_png_fix_crc(bytes, chunk);
}

static void spoil_checksum(stk__buffer *bytes, const char *type)
{
    const size_t chunk = pictures_png_find(bytes, type, 0);
    bytes->data[chunk + CHUNK_HEAD_BYTES + 1] ^= 1;
}

/* Deflate has three kinds of blocks; this is the fourth. */
static void spoil_deflate(stk__buffer *bytes)
{
    change(bytes, "IDAT", ZLIB_HEAD_BYTES, 0x07);
}

void make_png_cut(stk__buffer *bytes, int amount)
{
    make_good_png(bytes, 0);
    keep_percent(bytes, amount);
}

void make_png_checksum(stk__buffer *bytes, int amount)
{
    make_good_png(bytes, 0);
    spoil_checksum(bytes, amount ? "IDAT" : "IHDR");
}

void make_png_side(stk__buffer *bytes, int amount)
{
    make_good_png(bytes, 0);
    for (size_t i = 0; i < 8; i++)
        change(bytes, "IHDR", i, (uint8_t)((unsigned)amount >> (24 - 8 * (i % 4))));
}

void make_png_without_end(stk__buffer *bytes, int amount)
{
    (void)amount;
    make_good_png(bytes, 0);
    bytes->size_bytes = pictures_png_find(bytes, "IEND", 0);
}

void make_png_bad_adler(stk__buffer *bytes, int amount)
{
    (void)amount;
    encode(bytes, 256, &(pictures_png_options){.colour = 2, .bad_adler = true});
}

void make_png_bad_deflate(stk__buffer *bytes, int amount)
{
    (void)amount;
    make_good_png(bytes, 0);
    spoil_deflate(bytes);
}

void make_png_short(stk__buffer *bytes, int amount)
{
    encode(bytes, 256, &(pictures_png_options){.colour = 2, .short_bytes = amount});
}

void make_png_colour_type(stk__buffer *bytes, int amount)
{
    make_good_png(bytes, 0);
    change(bytes, "IHDR", 9, (uint8_t)amount);
}

void make_png_unknown_chunk(stk__buffer *bytes, int amount)
{
    (void)amount;
    make_good_png(bytes, 0);
    pictures_png_insert(bytes, pictures_png_find(bytes, "IDAT", 0), "NEWC", "?", 1);
}

void make_png_without_palette(stk__buffer *bytes, int amount)
{
    (void)amount;
    encode(bytes, 8, &(pictures_png_options){.colour = 3});
}

void make_png_beyond_palette(stk__buffer *bytes, int amount)
{
    (void)amount;
    encode(bytes, 8, &(pictures_png_options){.colour = 3, .palette = zeros, .palette_count = 7});
}

void damage_good_mask(stk__buffer *bytes, uint32_t seed)
{
    const stk__pixels ids = pictures_draw_mask(DAMAGE_W, DAMAGE_H, DAMAGE_CLASS_COUNT, seed);
    pictures_png_plain(bytes, ids, 0);
    stk__free(ids.data);
}

void make_mask_cut(stk__buffer *bytes, int amount)
{
    damage_good_mask(bytes, SEED);
    keep_percent(bytes, amount);
}

void make_mask_checksum(stk__buffer *bytes, int amount)
{
    damage_good_mask(bytes, SEED);
    spoil_checksum(bytes, amount ? "IDAT" : "IHDR");
}

void make_mask_bad_adler(stk__buffer *bytes, int amount)
{
    (void)amount;
    encode(bytes, DAMAGE_CLASS_COUNT, &(pictures_png_options){.bad_adler = true});
}

void make_mask_bad_deflate(stk__buffer *bytes, int amount)
{
    (void)amount;
    damage_good_mask(bytes, SEED);
    spoil_deflate(bytes);
}

void make_mask_filter(stk__buffer *bytes, int amount)
{
    encode(bytes, DAMAGE_CLASS_COUNT, &(pictures_png_options){.filter = amount});
}

void make_mask_other_size(stk__buffer *bytes, int amount)
{
    (void)amount;
    const stk__pixels ids = pictures_draw_mask(DAMAGE_H, DAMAGE_W, DAMAGE_CLASS_COUNT, SEED);
    pictures_png_plain(bytes, ids, 0);
    stk__free(ids.data);
}

void make_mask_ids(stk__buffer *bytes, int amount)
{
    encode(bytes, (unsigned)amount + 1, &(pictures_png_options){0});
}

void make_mask_wide_ids(stk__buffer *bytes, int amount)
{
    encode(bytes, (unsigned)amount + 1, &(pictures_png_options){.depth = 16});
}
