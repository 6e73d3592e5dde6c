/* Inside the PNG decoder: the chunks of a file, and the two ways from compressed data to rows. */
#ifndef STK_DECODE_PNG_H
#define STK_DECODE_PNG_H

#include "decode/format.h"

#include <libdeflate.h>

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
    stk__encoded palette_span, data_span, end_span;
    size_t data_count;     /* IDAT chunks, one behind the other in data_span */
    size_t data_bytes;     /* what is in them */
    size_t raw_row_bytes;  /* of a row that is not interlaced, without its filter byte */
    const uint8_t *stream; /* the compressed data when there is one chunk */
} stk__png;

typedef struct stk__png_state {
    const stk__limits *limits;
    struct libdeflate_decompressor *inflater;
    stk__buffer joined; /* compressed data of several chunks */
    stk__buffer raw;    /* inflated rows */
    stk__buffer row;    /* one row of unpacked samples */
} stk__png_state;

/* Where rows go: colours (ids false) or ids into target. */
typedef struct stk__png_sink {
    const stk__png *png;
    stk__pixels target;
    bool ids;
    uint8_t *unpacked; /* [w], for less than 8 bits */
} stk__png_sink;

/* Signature and IHDR. */
stk_status stk__png_read_header(stk__encoded bytes, stk__png *png, stk_error *error);

/* All chunks: lengths, checksums, order. */
stk_status stk__png_read_chunks(stk__encoded bytes, stk__png *png, stk_error *error);

/* Converts one unfiltered row as stored. */
stk_status stk__png_put_row(const stk__png_sink *sink, const uint8_t *raw, int32_t y, stk_error *error);

/* 8 bits, one sample a pixel, not interlaced: everything inflated at once by libdeflate. */
bool stk__png_is_simple(const stk__png *png);
stk_status stk__png_decode_simple(stk__png_state *state, const stk__png_sink *sink, stk_error *error);

/* Everything, by libspng. */
stk_status stk__png_decode_any(stk__png_state *state, stk__encoded bytes, const stk__png_sink *sink,
                               stk_error *error);

#endif
