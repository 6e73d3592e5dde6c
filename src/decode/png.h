/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the PNG decoder: the chunks of a file, what is compressed in them, and its rows. */
#ifndef STK_DECODE_PNG_H
#define STK_DECODE_PNG_H

#include "decode/format.h"

#include <libdeflate.h>

enum { STK__PNG_RUN_BYTES = 8 }; /* that filters look at together */

typedef enum stk__png_colour {
    STK_PNG_GREY = 0,
    STK_PNG_RGB = 2,
    STK_PNG_PALETTE = 3,
    STK_PNG_GREY_ALPHA = 4,
    STK_PNG_RGB_ALPHA = 6
} stk__png_colour;

/* What the chunks say; pointers lead into the file. A span covers whole chunks with length and checksum. */
typedef struct stk__png {
    int32_t w, h;
    int depth_bits;
    stk__png_colour colour;
    bool interlaced;
    const uint8_t *palette; /* [palette_count][3] */
    int palette_count;
    stk__encoded data_span, end_span;
    size_t data_count;     /* IDAT chunks, one behind the other in data_span */
    size_t data_bytes;     /* what is in them */
    int pixel_bits;        /* of all samples */
    size_t raw_row_bytes;  /* of a row that is not interlaced, without its filter byte */
    const uint8_t *stream; /* the compressed data when there is one chunk */
} stk__png;

typedef struct stk__png_state {
    const stk__limits *limits;
    struct libdeflate_decompressor *inflater;
    stk__buffer joined; /* compressed data of several chunks */
    stk__buffer raw;    /* inflated rows */
    stk__buffer row;    /* single rows: of zeros, of unpacked samples, of pixels */
} stk__png_state;

/* Where rows go: colours (ids false) or ids into target. */
typedef struct stk__png_sink {
    const stk__png *png;
    stk__pixels target;
    bool ids;
    uint8_t *unpacked; /* [w], for less than 8 bits; the decoder's */
} stk__png_sink;

/* Signature and IHDR. */
stk_status stk__png_read_header(stk__encoded bytes, stk__png *png, stk_error *error);

/* Of the eXIf chunk, before or behind the image data; 1 when there is none, or nonsense in it. */
stk__orientation stk__png_orientation(stk__encoded bytes);

/* All chunks: lengths, checksums, order. */
stk_status stk__png_read_chunks(stk__encoded bytes, stk__png *png, stk_error *error);

/* Converts one unfiltered row as stored. */
stk_status stk__png_put_row(const stk__png_sink *sink, const uint8_t *raw, int32_t y, stk_error *error);

/* 8 bits, one sample a pixel, not interlaced, as masks are: rows as stored are rows of ids. */
bool stk__png_is_simple(const stk__png *png);

/* Fills state->raw with the image data; they must have that size and their check value. STK__PNG_RUN_BYTES
 * behind them can be read. */
stk_status stk__png_inflate(stk__png_state *state, const stk__png *png, size_t wanted, stk_error *error);

/* from: a row as inflated, without its filter; up: the finished row above, zeros for the first; step: bytes
 * of a pixel, at least 1. from and to may be the same. false: there is no such filter. */
bool stk__png_undo_filter(int filter, const uint8_t *from, const uint8_t *up, uint8_t *to, size_t size,
                          size_t step);

/* All pixels, of every kind of PNG. Large images go through the gate of the limits, and leave no memory. */
stk_status stk__png_decode(stk__png_state *state, stk__png_sink *sink, stk_error *error);

#endif
