/* SPDX-License-Identifier: Apache-2.0 */
/* The one PNG encoder: 8 bits, grey, RGB or palette. One writer per thread; it keeps its memory. */
#ifndef STK_IMAGE_PNG_WRITE_H
#define STK_IMAGE_PNG_WRITE_H

#include "core/memory.h"
#include "image/pixels.h"

typedef struct stk__png_writer stk__png_writer;

/* Levels of libdeflate. Masks that are packed are written once and read often. */
enum { STK_PNG_LEVEL_QUICK = 4, STK_PNG_LEVEL_SMALL = 6 };

stk_status stk__png_writer_create(stk__png_writer **writer, int level, stk_error *error);
void stk__png_writer_destroy(stk__png_writer **writer);

typedef enum stk__png_filter {
    STK_PNG_LEFT, /* every row by its left neighbours, as OpenCV writes all its PNGs */
    STK_PNG_BEST, /* per row the one of none, left, up that leaves the smallest differences */
    STK_PNG_NONE  /* for masks that are quick to decode: half the instructions of rows by left neighbours */
} stk__png_filter;

typedef struct stk__png_options {
    stk__png_filter filter;
    /* Colours that show the ids of a mask (one channel) to people; ids beyond them get black. */
    const uint8_t *palette; /* [palette_count][3] */
    int palette_count;      /* 0: grey or RGB, by the channels */
} stk__png_options;

/* The bytes, followed by 64 readable ones, replace what file holds. */
stk_status stk__png_write(stk__png_writer *writer, stk__pixels pixels, const stk__png_options *options,
                          stk__buffer *file, stk_error *error);

#endif
