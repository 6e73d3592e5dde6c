/* SPDX-License-Identifier: Apache-2.0 */
/* Huffman decoding of JPEG scans in libjpeg's place, in less than half of its time: one look into a table
 * tells what the next bits mean, up to two coefficients at once. Everything else (headers, inverse DCT,
 * colours) stays libjpeg's.
 *
 * It knows scans that are in order. From whatever is odd it turns away, and the image is decoded once more by
 * libjpeg alone, whose pixels, warnings and errors are the truth. */
#ifndef STK_DECODE_JPEG_HUFFMAN_H
#define STK_DECODE_JPEG_HUFFMAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h> /* jpeglib.h needs FILE */
#include <jpeglib.h>

enum {
    STK__JPEG_LOOK_BITS = 10,       /* 8 KiB a table; larger ones push each other out of the first cache */
    STK__JPEG_WINDOW_BYTES = 16384, /* of a scan at a time */
    STK__JPEG_MCU_BYTES = 2560      /* more than an MCU can take and read ahead */
};
_Static_assert(STK__JPEG_MCU_BYTES >= D_MAX_BLOCKS_IN_MCU * DCTSIZE2 * 31 / 8 + 3 * 8,
               "words have up to 31 bits");

typedef struct stk__jpeg_table {
    uint8_t bits[17], symbols[256]; /* as in the file; the rest is made of them */
    uint64_t look[1 << STK__JPEG_LOOK_BITS];
    uint32_t end[17];  /* by length: the first code that is longer, as the upper of 16 bits */
    int32_t first[17]; /* by length: what has to be added to a code to get the place of its symbol */
} stk__jpeg_table;

/* A block's place in an MCU (the smallest unit of a scan: a block of each component, or several). */
typedef struct stk__jpeg_place {
    const stk__jpeg_table *dc_table, *ac_table;
    int component;
} stk__jpeg_place;

typedef struct stk__jpeg_huffman {
    uint64_t bits;           /* the next ones, from the top */
    int count;               /* of them that are surely there */
    bool ended;              /* the window goes up to a marker */
    const uint8_t *at, *end; /* of the window */
    int32_t dc[MAX_COMPS_IN_SCAN];
    unsigned interval_left; /* MCUs up to a restart marker */
    unsigned restart_next;  /* its number */
    uint64_t mcu_left;      /* of the scan */
    bool walking;           /* bytes left over behind the last MCU are no reason to turn away */
    stk__jpeg_place places[D_MAX_BLOCKS_IN_MCU];
    stk__jpeg_table dc_tables[NUM_HUFF_TBLS], ac_tables[NUM_HUFF_TBLS]; /* kept from image to image */
    uint8_t window[STK__JPEG_WINDOW_BYTES + STK__JPEG_MCU_BYTES]; /* stuffed bytes left out; then zeros */
} stk__jpeg_huffman;

struct stk__jpeg_state;

/* Between jpeg_start_decompress and the first row: takes over the scan if it is of a known kind. From a scan
 * that is odd, libjpeg's functions then jump to state->jump with state->odd. False: libjpeg decodes. */
bool stk__jpeg_huffman_take(struct stk__jpeg_state *state);

/* Makes the tables for a scan of a known kind, before or after its rows, but before what follows it is read.
 * False: of another kind. */
bool stk__jpeg_huffman_prepare(struct stk__jpeg_state *state);

/* libjpeg asks for the coefficients of an MCU; its blocks are all zeros. */
boolean stk__jpeg_huffman_mcu(j_decompress_ptr codec, JBLOCKROW *blocks);

/* After prepare: goes through the bytes of a scan that has more than its blocks need. False: they are data,
 * because the bits behind the last block do not fill up its byte, or further blocks follow up to the marker:
 * the decoder has lost its place, or the header lies about the size. */
bool stk__jpeg_huffman_walk(struct stk__jpeg_state *state, const uint8_t *scan, size_t size_bytes);

#endif
