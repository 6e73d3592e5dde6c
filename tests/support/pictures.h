/* SPDX-License-Identifier: Apache-2.0 */
/* Test pictures: pixels drawn from a seed, encoded as JPEG, PNG or npy with every knob the decoders have to
 * cope with. All functions stop the test when something goes wrong. Buffers are emptied first and end with
 * 64 readable bytes that do not count; the caller frees them with stk__buffer_fini. */
#ifndef PICTURES_H
#define PICTURES_H

#include "core/memory.h"
#include "image/pixels.h"

#include <stdbool.h>

/* A small reproducible random number. */
uint32_t pictures_random(uint32_t *seed);

/* Smooth shapes with a little noise, like a photo. data is newly made: free with stk__free. */
stk__pixels pictures_draw(int32_t w, int32_t h, int32_t channels, uint32_t seed);

/* Areas of ids below class_count, like a segmentation mask. */
stk__pixels pictures_draw_mask(int32_t w, int32_t h, int32_t class_count, uint32_t seed);

typedef enum pictures_space {
    PICTURES_YCC, /* colour as usual */
    PICTURES_GREY,
    PICTURES_RGB,
    PICTURES_CMYK, /* data has 4 channels, 255 = full ink */
    PICTURES_YCCK
} pictures_space;

typedef struct pictures_jpeg_options {
    int quality;          /* 0: 90 */
    int sampling;         /* chroma subsampling: 0 or 2: 4:2:0, 1: 4:4:4 */
    int luma[2];          /* sampling factors of the first component, h and v, instead: {4, 1} is 4:1:1 */
    pictures_space space; /* channels of the pixels: 3, 1, 3, 4, 4 */
    bool progressive;
    bool optimised; /* Huffman tables of its own instead of the usual ones */
    bool arithmetic;
    bool no_adobe;    /* CMYK without Adobe's marker, so not inverted */
    int orientation;  /* of EXIF; 0: no EXIF */
    bool exif_big;    /* byte order of EXIF */
    int restart_rows; /* 0: no restart markers */
    int scan_repeats; /* > 0: sequential, a scan per component, the last one repeated so often */
} pictures_jpeg_options;

void pictures_jpeg(stk__buffer *out, stk__pixels pixels, const pictures_jpeg_options *options);

enum { PICTURES_FILTER_MIX = 5 }; /* another filter in every row */

typedef struct pictures_png_options {
    int colour;     /* PNG colour type 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGB + alpha */
    int depth;      /* 1, 2, 4, 8, 16; 0: 8 */
    int filter;     /* 0 to 4 or PICTURES_FILTER_MIX */
    int idat_bytes; /* image data is cut into chunks of this size; 0: one */
    bool interlaced;
    const uint8_t *palette; /* [palette_count][3] */
    int palette_count;
    bool bad_adler;  /* wrong check value inside the compressed data */
    bool extra;      /* ancillary chunks around the image data */
    int short_bytes; /* image data lacks so many bytes before compression (negative: has more) */
} pictures_png_options;

/* samples: [h][w][channels of the colour type] as stored, each below 2^depth. */
void pictures_png(stk__buffer *out, const uint16_t *samples, int32_t w, int32_t h,
                  const pictures_png_options *options);

/* 8-bit grey of a mask, or RGB, by the above. */
void pictures_png_plain(stk__buffer *out, stk__pixels pixels, int filter);

/* Where chunk number `nth` of that type starts (its length field); the test stops when there is none. */
size_t pictures_png_find(const stk__buffer *png, const char *type, int nth);
void pictures_png_fix_crc(stk__buffer *png, size_t chunk); /* after a change; nothing if it has no end */
/* Puts a chunk in front of offset `at`. */
void pictures_png_insert(stk__buffer *png, size_t at, const char *type, const void *data, size_t size);

/* text: the dictionary; version 1 to 3 */
void pictures_npy(stk__buffer *out, int version, const char *text, const void *data, size_t size);

/* A copy with readable bytes behind it: [0, size) of the original. */
void pictures_cut(stk__buffer *out, const stk__buffer *original, size_t size);

#endif
