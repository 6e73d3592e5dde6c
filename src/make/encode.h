/* Encoders of the pictures that Stoker writes. One encoder per thread; it keeps its memory. */
#ifndef STK_MAKE_ENCODE_H
#define STK_MAKE_ENCODE_H

#include "core/memory.h"
#include "image/pixels.h"

typedef struct stk__encoder stk__encoder;

stk_status stk__encoder_create(stk__encoder **encoder, stk_error *error);
void stk__encoder_destroy(stk__encoder **encoder);

/* Baseline JPEG of an RGB picture, 4:2:0. The bytes replace what file holds. */
stk_status stk__encode_jpeg(stk__pixels pixels, int quality, stk__buffer *file, stk_error *error);

typedef enum stk__png_filter {
    STK_PNG_LEFT, /* every row by its left neighbours, as OpenCV writes all its PNGs */
    STK_PNG_BEST  /* per row the one of none, left, up that leaves the smallest differences */
} stk__png_filter;

/* 8-bit PNG, grey or RGB. The bytes replace what file holds. */
stk_status stk__encode_png(stk__encoder *encoder, stk__pixels pixels, stk__png_filter filter,
                           stk__buffer *file, stk_error *error);

#endif
