/* SPDX-License-Identifier: Apache-2.0 */
/* From the caller's values to interleaved bytes, row by row: a dense row at once, a row of three planes in
 * chunks that are converted and then woven, all else one lane of values for each channel, gathered first.
 * What is no pixel is searched for only when a row has told that there is something. Threads: everything is
 * the caller's. */
#include "augmenter/pixel_source.h"

#include <string.h>

enum { CHUNK = 512 };

/* A distance that nothing is reached by is the usual one. */
stk__pixel_source stk__pixel_source_make(const stk_tensor *tensor, stk__pixel_axes axes, int64_t first)
{
    const int64_t bytes = stk_dtype_bytes(tensor->dtype);
    const bool has_channels = axes.c >= 0;
    stk__pixel_source source = {.dtype = tensor->dtype,
                                .data = (const uint8_t *)tensor->data + first * bytes,
                                .w = (int32_t)tensor->shape[axes.w],
                                .h = (int32_t)tensor->shape[axes.h],
                                .channels = has_channels ? (int32_t)tensor->shape[axes.c] : 1};
    source.channel_bytes = source.channels > 1 ? tensor->strides[axes.c] * bytes : bytes;
    source.pixel_bytes = source.w > 1 ? tensor->strides[axes.w] * bytes : bytes * source.channels;
    source.row_bytes = source.h > 1 ? tensor->strides[axes.h] * bytes : source.pixel_bytes * source.w;
    return source;
}

/* Do the values of a row follow each other without a gap? */
static bool has_dense_rows(const stk__pixel_source *source)
{
    const int64_t bytes = stk_dtype_bytes(source->dtype);
    return source->channel_bytes == bytes && source->pixel_bytes == bytes * source->channels;
}

bool stk__pixel_source_is_direct(const stk__pixel_source *source)
{
    return source->dtype == STK_DTYPE_U8 && has_dense_rows(source) &&
           source->row_bytes >= source->pixel_bytes * source->w;
}

/* Values that follow each other, as bytes; false: one is none. */
static bool convert(const stk__pixel_source *source, const uint8_t *from, uint8_t *to, int32_t count)
{
    const stk__pixel_rows *rows = source->rows;
    if (source->dtype == STK_DTYPE_F32) return rows->levels((const float *)(const void *)from, to, count);
    if (source->dtype == STK_DTYPE_I64) return rows->ids((const int64_t *)(const void *)from, to, count);
    memcpy(to, from, (size_t)count);
    return true;
}

static bool convert_planes(const stk__pixel_source *source, const uint8_t *from, uint8_t *to)
{
    const int64_t bytes = stk_dtype_bytes(source->dtype);
    bool good = true;
    for (int32_t at = 0; at < source->w; at += CHUNK) {
        const int32_t count = source->w - at < CHUNK ? source->w - at : CHUNK;
        uint8_t levels[3][CHUNK];
        const uint8_t *planes[3];
        for (int c = 0; c < 3; c++) {
            planes[c] = from + c * source->channel_bytes + at * bytes;
            if (source->dtype == STK_DTYPE_U8) continue;
            good &= convert(source, planes[c], levels[c], count);
            planes[c] = levels[c];
        }
        source->rows->weave(planes, to + 3 * (int64_t)at, count);
    }
    return good;
}

static bool convert_lane(const stk__pixel_source *source, const uint8_t *from, uint8_t *to)
{
    const int64_t bytes = stk_dtype_bytes(source->dtype);
    bool good = true;
    for (int32_t at = 0; at < source->w; at += CHUNK) {
        const int32_t count = source->w - at < CHUNK ? source->w - at : CHUNK;
        _Alignas(8) uint8_t values[CHUNK * 8];
        uint8_t levels[CHUNK];
        for (int32_t i = 0; i < count; i++)
            memcpy(values + i * bytes, from + (at + i) * source->pixel_bytes, (size_t)bytes);
        good &= convert(source, values, levels, count);
        for (int32_t i = 0; i < count; i++)
            to[(int64_t)(at + i) * source->channels] = levels[i];
    }
    return good;
}

static bool convert_row(const stk__pixel_source *source, int32_t y, uint8_t *to)
{
    const uint8_t *from = source->data + y * source->row_bytes;
    bool good = true;
    if (has_dense_rows(source)) return convert(source, from, to, source->w * source->channels);
    if (source->channels == 3 && source->pixel_bytes == stk_dtype_bytes(source->dtype))
        return convert_planes(source, from, to);
    for (int32_t c = 0; c < source->channels; c++)
        good &= convert_lane(source, from + c * source->channel_bytes, to + c);
    return good;
}

/* The first value of the row that is no pixel. */
static stk__wrong_value find_wrong(const stk__pixel_source *source, int32_t y)
{
    const int64_t count = (int64_t)source->w * source->channels;
    stk__wrong_value found = {.y = y};
    for (int64_t i = 0; i < count && found.level >= 0 && found.level <= 1 + STK_PIXEL_ROUNDING &&
                        found.id >= 0 && found.id <= 255;
         i++) {
        found.x = (int32_t)(i / source->channels);
        const uint8_t *at = source->data + y * source->row_bytes + found.x * source->pixel_bytes +
                            i % source->channels * source->channel_bytes;
        if (source->dtype == STK_DTYPE_F32)
            memcpy(&found.level, at, sizeof found.level);
        else
            memcpy(&found.id, at, sizeof found.id);
    }
    return found;
}

stk_status stk__pixel_source_refuse(const stk__pixel_source *source, const stk__wrong_value *wrong,
                                    stk_error *error)
{
    const unsigned long long item = source->item;
    if (source->dtype == STK_DTYPE_F32) {
        stk__damaged(error, STK_DAMAGE_BAD_VALUES,
                     "%s: sample %llu has the value %g at row %d, column %d, not 0 to 1", source->name, item,
                     (double)wrong->level, wrong->y, wrong->x);
        stk__error_hint(error, "divide levels of 0 to 255 by 255, or give them as u8; normalize by "
                               "options.mean and options.std");
    } else {
        stk__damaged(error, STK_DAMAGE_MASK_IDS,
                     "%s: sample %llu has the id %lld at row %d, column %d, not 0 to 255", source->name, item,
                     (long long)wrong->id, wrong->y, wrong->x);
        stk__error_hint(error, "use 255 for pixels that the loss ignores");
    }
    return STK_ERROR_SAMPLE;
}

stk_status stk__pixel_source_read(const stk__pixel_source *source, bool copy, stk__buffer *room,
                                  stk__pixels *pixels, stk_error *error)
{
    if (!copy && stk__pixel_source_is_direct(source)) {
        *pixels = (stk__pixels){(uint8_t *)source->data, (size_t)source->row_bytes, source->w, source->h,
                                source->channels};
        return STK_OK;
    }
    *pixels = stk__pixels_dense(NULL, source->w, source->h, source->channels);
    STK__TRY(stk__buffer_reserve(room, pixels->pitch_bytes * (size_t)pixels->h, error));
    pixels->data = room->data;
    for (int32_t y = 0; y < source->h; y++) {
        if (convert_row(source, y, stk__pixels_row(*pixels, y))) continue;
        const stk__wrong_value wrong = find_wrong(source, y);
        return stk__pixel_source_refuse(source, &wrong, error);
    }
    return STK_OK;
}
