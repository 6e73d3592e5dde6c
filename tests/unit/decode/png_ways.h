/* SPDX-License-Identifier: Apache-2.0 */
/* Another way from a PNG to pixels: libspng inflates and undoes filters. */
#ifndef PNG_WAYS_H
#define PNG_WAYS_H

#include "decode/png.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <spng.h>

static inline uint8_t *png_copy(uint8_t *to, const void *data, size_t size)
{
    memcpy(to, data, size);
    return to + size;
}

/* A file of the critical chunks alone, image data in one of them; its checksums are not looked at. */
static inline uint8_t *png_join(stk__encoded bytes, const stk__png *png, size_t *size)
{
    const size_t data = png->data_bytes;
    const uint8_t head[] = {(uint8_t)(data >> 24),
                            (uint8_t)(data >> 16),
                            (uint8_t)(data >> 8),
                            (uint8_t)data,
                            'I',
                            'D',
                            'A',
                            'T'};
    uint8_t *file = malloc(bytes.size_bytes + 64), *to = png_copy(file, bytes.data, 33);
    assert(file);
    if (png->colour == STK_PNG_PALETTE)
        to = png_copy(to, png->palette - 8, (size_t)png->palette_count * 3 + 12);
    to = png_copy(to, head, sizeof head);
    const uint8_t *at = png->data_span.data;
    for (size_t i = 0; i < png->data_count; i++) {
        const size_t part = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
        to = png_copy(to, at + 8, part);
        at += part + 12;
    }
    to = png_copy(to, "\0\0\0", 4);
    to = png_copy(to, png->end_span.data, png->end_span.size_bytes);
    *size = (size_t)(to - file);
    return file;
}

/* Returns libspng's code, 0 if it was content; rows that it gave are converted by our own function. */
static inline int png_decode_spng(stk__encoded bytes, const stk__png *png, stk__png_sink *sink,
                                  stk_status *status)
{
    const size_t raw_bytes = png->raw_row_bytes * (size_t)png->h;
    size_t size;
    uint8_t *file = png_join(bytes, png, &size), *raw = calloc(1, raw_bytes);
    uint8_t *unpacked = malloc((size_t)png->w);
    spng_ctx *codec = spng_ctx_new(0);
    assert(codec && raw && unpacked);
    int code = spng_set_crc_action(codec, SPNG_CRC_USE, SPNG_CRC_USE);
    if (code == 0) code = spng_set_png_buffer(codec, file, size);
    if (code == 0) code = spng_decode_image(codec, raw, raw_bytes, SPNG_FMT_RAW, 0);
    sink->unpacked = unpacked;
    *status = code == 0 ? STK_OK : STK_ERROR_SAMPLE;
    for (int32_t y = 0; *status == STK_OK && y < png->h; y++)
        *status = stk__png_put_row(sink, raw + png->raw_row_bytes * (size_t)y, y, NULL);
    spng_ctx_free(codec);
    free(unpacked);
    free(file);
    free(raw);
    return code;
}

/* libspng stops behind the last row: more rows, an end that is missing and, even though it gets all data at
 * once, now and then a wrong check value do not trouble it. */
static inline bool png_spng_is_lax(int code, const stk_error *ours)
{
    return code == 0 && (ours->damage == STK_DAMAGE_BAD_CHECKSUM ||
                         strstr(ours->message, "does not match the image size") ||
                         strstr(ours->message, "cannot be decompressed"));
}

#endif
