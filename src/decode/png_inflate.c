/* SPDX-License-Identifier: Apache-2.0 */
/* The compressed data as a whole, by libdeflate: faster than in pieces, and not a row is used before the
 * check value has vouched for all of them. */
#include "decode/png.h"

#include <string.h>

enum { ZLIB_HEAD_BYTES = 2, ZLIB_TAIL_BYTES = 4 };

/* One piece of memory with all compressed data. */
static stk_status join_data(stk__png_state *state, const stk__png *png, const uint8_t **stream,
                            stk_error *error)
{
    *stream = png->stream;
    if (png->data_count == 1) return STK_OK;
    STK__TRY(stk__buffer_reserve(&state->joined, png->data_bytes, error));
    const uint8_t *at = png->data_span.data;
    size_t used = 0;
    for (size_t i = 0; i < png->data_count; i++) {
        const size_t size = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
        memcpy(state->joined.data + used, at + 8, size);
        used += size;
        at += size + 12;
    }
    *stream = state->joined.data;
    return STK_OK;
}

/* RFC 1950: method 8, window up to 32 KiB, no dictionary, divisible by 31. */
static bool is_zlib_head(const uint8_t *head)
{
    return (head[0] & 15) == 8 && head[0] >> 4 <= 7 && !(head[1] & 32) && (head[0] << 8 | head[1]) % 31 == 0;
}

/* Taken apart instead of libdeflate's zlib function, to tell a wrong checksum from damaged data. */
stk_status stk__png_inflate(stk__png_state *state, const stk__png *png, size_t wanted, stk_error *error)
{
    const uint8_t *stream = NULL;
    STK__TRY(join_data(state, png, &stream, error));
    if (png->data_bytes < ZLIB_HEAD_BYTES + ZLIB_TAIL_BYTES || !is_zlib_head(stream))
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG data is not a zlib stream");
    STK__TRY(stk__buffer_reserve(&state->raw, wanted + STK__PNG_RUN_BYTES, error));
    size_t used = 0, made = 0;
    const size_t room = png->data_bytes - ZLIB_HEAD_BYTES - ZLIB_TAIL_BYTES;
    const enum libdeflate_result result = libdeflate_deflate_decompress_ex(
        state->inflater, stream + ZLIB_HEAD_BYTES, room, state->raw.data, wanted, &used, &made);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE || (result == LIBDEFLATE_SUCCESS && made != wanted))
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG data does not match the image size");
    if (result != LIBDEFLATE_SUCCESS)
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG data cannot be decompressed");
    const uint8_t *tail = stream + ZLIB_HEAD_BYTES + used;
    const uint32_t sum =
        (uint32_t)tail[0] << 24 | (uint32_t)tail[1] << 16 | (uint32_t)tail[2] << 8 | (uint32_t)tail[3];
    if (libdeflate_adler32(1, state->raw.data, wanted) != sum)
        return stk__damaged(error, STK_DAMAGE_BAD_CHECKSUM, "PNG data has a wrong checksum");
    return STK_OK;
}
