/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds for the fuzzers of JPEG, PNG and npy: one small file for each kind that the decoders tell apart,
 * and some that are damaged on purpose. */
#include "fuzz_seeds.h"

#include "support/pictures.h"
#include "../unit/decode/decoding.h"

static void put(const char *target, const char *kind, int number, stk__buffer *bytes)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%02d", kind, number);
    fuzz_seed(target, name, bytes->data, bytes->size_bytes);
    snprintf(name, sizeof name, "%s-%02d", target, number);
    fuzz_seed("pack", name, bytes->data, bytes->size_bytes);
    stk__buffer_fini(bytes);
}

/* Of three components the first alone: the file ends before the scan of the second. */
static void make_unfinished_jpegs(int number)
{
    for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
        stk__buffer bytes = {0};
        stk__pixels drawn = pictures_draw(16, 16, 3, 1);
        pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.scan_repeats = 1, .arithmetic = arithmetic});
        size_t at = 2;
        for (int scans = 0; scans < 2; at++)
            scans += memcmp(bytes.data + at, "\xFF\xDA", 2) == 0;
        bytes.data[at] = 0xD9;
        bytes.size_bytes = at + 1;
        put("jpeg", "kind", number + arithmetic, &bytes);
        stk__free(drawn.data);
    }
}

/* A frame of Motion JPEG, and one that cannot do without its tables. */
static void make_jpegs_without_tables(int number)
{
    for (int progressive = 0; progressive < 2; progressive++) {
        stk__buffer bytes = {0};
        stk__pixels drawn = pictures_draw(16, 16, 3, 1);
        pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.progressive = progressive});
        remove_segments(&bytes, 0xC4);
        put("jpeg", "kind", number + progressive, &bytes);
        stk__free(drawn.data);
    }
}

/* Bytes too many before the last marker; a progressive one that ends after its first scans. */
static void make_odd_jpegs(int number)
{
    for (int i = 0; i < 3; i++) {
        stk__buffer bytes = {0};
        stk__pixels drawn = pictures_draw(16, 16, i % 2 ? 1 : 3, 1);
        pictures_jpeg(
            &bytes, drawn,
            &(pictures_jpeg_options){.progressive = i == 2, .space = i % 2 ? PICTURES_GREY : PICTURES_YCC});
        size_t at = bytes.size_bytes - 2;
        while (i == 2 && memcmp(bytes.data + at, "\xFF\xDA", 2) != 0)
            at--;
        bytes.size_bytes = at;
        const char *end = i == 2 ? "\xFF\xD9" : "sixteen too many\xFF\xD9";
        assert_int_equal(stk__buffer_append(&bytes, end, i == 2 ? 2 : 18, NULL), STK_OK);
        put("jpeg", "kind", number + i, &bytes);
        stk__free(drawn.data);
    }
}

static void make_jpegs(void)
{
    static const int channels[] = {3, 1, 3, 4, 4};
    const pictures_jpeg_options kinds[] = {
        {.quality = 50},
        {.sampling = 1, .orientation = 6},
        {.space = PICTURES_GREY, .orientation = 8, .exif_big = true},
        {.space = PICTURES_RGB, .restart_rows = 1},
        {.space = PICTURES_CMYK},
        {.space = PICTURES_CMYK, .no_adobe = true},
        {.space = PICTURES_YCCK},
        {.progressive = true, .quality = 30},
        {.space = PICTURES_GREY, .progressive = true},
        {.scan_repeats = 3},
        {.arithmetic = true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        stk__buffer bytes = {0};
        stk__pixels drawn =
            pictures_draw(16 + 8 * (int32_t)(i % 3), 24 - (int32_t)i % 2, channels[kinds[i].space], 1);
        pictures_jpeg(&bytes, drawn, &kinds[i]);
        put("jpeg", "kind", (int)i, &bytes);
        stk__free(drawn.data);
    }
    make_unfinished_jpegs(sizeof kinds / sizeof kinds[0]);
    make_jpegs_without_tables(sizeof kinds / sizeof kinds[0] + 2);
    make_odd_jpegs(sizeof kinds / sizeof kinds[0] + 4);
}

static void make_png(int number, const pictures_png_options *options, int32_t w, int32_t h)
{
    static const int channels[] = {1, 0, 3, 1, 2, 0, 4};
    uint16_t samples[32 * 32 * 4];
    uint32_t seed = (uint32_t)number;
    for (int i = 0; i < w * h * channels[options->colour]; i++)
        samples[i] = (uint16_t)((pictures_random(&seed) % 9 ? i / 7 : i) & ((1 << options->depth) - 1));
    stk__buffer bytes = {0};
    pictures_png(&bytes, samples, w, h, options);
    put("png", "kind", number, &bytes);
}

/* Turned by eXIf, before the image data or behind. */
static void make_turned_png(int number, const char *before)
{
    static const uint8_t block[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                    3,   0,   0, 0,  1, 0, 6, 0, 0, 0, 0, 0,    0};
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(9, 5, 3, 1);
    pictures_png_plain(&bytes, drawn, 0);
    pictures_png_insert(&bytes, pictures_png_find(&bytes, before, 0), "eXIf", block, sizeof block);
    put("png", "kind", number, &bytes);
    stk__free(drawn.data);
}

static void make_pngs(void)
{
    static const int kinds[][2] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                                   {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};
    uint8_t palette[768];
    int number = 0;
    for (int i = 0; i < 768; i++)
        palette[i] = (uint8_t)(i * 37 + 11);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            pictures_png_options options = {.colour = kinds[k][0],
                                            .depth = kinds[k][1],
                                            .interlaced = interlaced,
                                            .filter = PICTURES_FILTER_MIX,
                                            .extra = k % 3 == 0,
                                            .idat_bytes = k % 4 == 3 ? 40 : 0};
            options.palette = options.colour == 3 ? palette : NULL;
            options.palette_count = options.colour == 3 ? 1 << options.depth : 0;
            make_png(number++, &options, k % 2 ? 19 : 8, 11);
        }
    for (int filter = 0; filter < 5; filter++) /* rows longer than a run of the quick way */
        make_png(number++, &(pictures_png_options){.depth = 8, .filter = filter}, 32, 6);
    make_png(number++, &(pictures_png_options){.depth = 8, .bad_adler = true}, 8, 8);
    make_png(number++, &(pictures_png_options){.depth = 8, .short_bytes = 3}, 8, 8);
    make_png(number++, &(pictures_png_options){.depth = 8, .short_bytes = -3}, 8, 8);
    make_turned_png(number++, "IDAT");
    make_turned_png(number++, "IEND");
}

static void make_npys(void)
{
    static const char *const texts[] = {
        "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 6, 3), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 9), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 9, 1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 3), }",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 3)}",
        "{\"shape\": (9, 2), 'descr': '<i4', 'fortran_order': False}",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (12, 3), }  \n",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 3), }",
        "{'descr': '<u8', 'fortran_order': False, 'shape': (3, 3), }",
        "{'descr': '|i1', 'fortran_order': False, 'shape': (24, 3), }",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (72,), }",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (), }",
    };
    uint8_t data[72];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 5);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk__buffer bytes = {0};
        pictures_npy(&bytes, 1 + (int)i % 3, texts[i], data, i == 11 ? 2 : sizeof data);
        put("npy", "kind", (int)i, &bytes);
    }
}

void fuzz_seed_pictures(void)
{
    make_jpegs();
    make_pngs();
    make_npys();
}
