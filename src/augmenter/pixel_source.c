/* SPDX-License-Identifier: Apache-2.0 */
/* From the caller's values to interleaved bytes, row by row: a row is one lane of values when it is dense,
 * else one lane for each channel. Floats become levels by v * 255 + 0.5, cut off; what is no level is found
 * without a branch for each value, and searched for only then. Threads: everything is the caller's. */
#include "augmenter/pixel_source.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 512 };

/* Values that follow each other in a fixed distance. */
typedef struct value_lane {
    const uint8_t *from;
    int64_t step_bytes;
    uint8_t *to;
    int32_t to_step, count;
} value_lane;

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

static bool copy_bytes(const value_lane *lane)
{
    if (lane->step_bytes == 1 && lane->to_step == 1) memcpy(lane->to, lane->from, (size_t)lane->count);
    for (int32_t i = 0; i < lane->count && (lane->step_bytes != 1 || lane->to_step != 1); i++)
        lane->to[i * (int64_t)lane->to_step] = lane->from[i * lane->step_bytes];
    return true;
}

/* count floats, one after the other. NaN differs from itself. */
static bool convert_floats(const float *from, uint8_t *to, int32_t count)
{
    int strange = 0;
    for (int32_t i = 0; i < count; i++) {
        const float v = from[i], above = v > 0 ? v : 0, level = above < 1 ? above : 1;
        strange |= level != v;
        to[i] = (uint8_t)(int)(level * 255 + 0.5f);
    }
    return !strange;
}

static bool convert_lane(const value_lane *lane)
{
    bool good = true;
    if (lane->step_bytes == sizeof(float) && lane->to_step == 1)
        return convert_floats((const float *)(const void *)lane->from, lane->to, lane->count);
    for (int32_t at = 0; at < lane->count; at += CHUNK) {
        const int32_t count = lane->count - at < CHUNK ? lane->count - at : CHUNK;
        const uint8_t *from = lane->from + at * lane->step_bytes;
        uint8_t levels[CHUNK], *to = lane->to + at * (int64_t)lane->to_step;
        float values[CHUNK];
        const float *in = (const float *)(const void *)from;
        if (lane->step_bytes != sizeof(float)) {
            for (int32_t i = 0; i < count; i++)
                memcpy(&values[i], from + i * lane->step_bytes, sizeof(float));
            in = values;
        }
        good &= convert_floats(in, levels, count);
        for (int32_t i = 0; i < count; i++)
            to[i * lane->to_step] = levels[i];
    }
    return good;
}

static bool convert_ids(const value_lane *lane)
{
    uint64_t all = 0;
    for (int32_t i = 0; i < lane->count; i++) {
        int64_t id;
        memcpy(&id, lane->from + i * lane->step_bytes, sizeof id);
        all |= (uint64_t)id;
        lane->to[i * (int64_t)lane->to_step] = (uint8_t)id;
    }
    return all <= 255;
}

static bool convert_row(const stk__pixel_source *source, int32_t y, uint8_t *to)
{
    const uint8_t *from = source->data + y * source->row_bytes;
    const bool dense = has_dense_rows(source);
    const int32_t lanes = dense ? 1 : source->channels;
    bool good = true;
    for (int32_t c = 0; c < lanes; c++) {
        const value_lane lane = {.from = from + c * source->channel_bytes,
                                 .step_bytes = dense ? stk_dtype_bytes(source->dtype) : source->pixel_bytes,
                                 .to = to + c,
                                 .to_step = lanes,
                                 .count = dense ? source->w * source->channels : source->w};
        good &= source->dtype == STK_DTYPE_F32   ? convert_lane(&lane)
                : source->dtype == STK_DTYPE_I64 ? convert_ids(&lane)
                                                 : copy_bytes(&lane);
    }
    return good;
}

static stk_status refuse_value(const stk__pixel_source *source, int32_t y, stk_error *error)
{
    for (int64_t i = 0; i < (int64_t)source->w * source->channels; i++) {
        const int32_t x = (int32_t)(i / source->channels), c = (int32_t)(i % source->channels);
        const uint8_t *at =
            source->data + y * source->row_bytes + x * source->pixel_bytes + c * source->channel_bytes;
        float value = 0;
        int64_t id = 0;
        if (source->dtype == STK_DTYPE_F32)
            memcpy(&value, at, sizeof value);
        else
            memcpy(&id, at, sizeof id);
        if (value >= 0 && value <= 1 && id >= 0 && id <= 255) continue;
        const unsigned long long item = source->item;
        if (source->dtype == STK_DTYPE_F32)
            stk__fail(error, STK_ERROR_DATA,
                      "%s: sample %llu has the value %g at row %d, column %d, not 0 to 1", source->name, item,
                      (double)value, y, x);
        else
            stk__fail(error, STK_ERROR_DATA,
                      "%s: sample %llu has the id %lld at row %d, column %d, not 0 to 255", source->name,
                      item, (long long)id, y, x);
        stk__error_hint(error, source->dtype == STK_DTYPE_F32
                                   ? "divide levels of 0 to 255 by 255, or give them as u8; normalize by "
                                     "options.mean and options.std"
                                   : "use 255 for pixels that the loss ignores");
        break;
    }
    return STK_ERROR_DATA;
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
    for (int32_t y = 0; y < source->h; y++)
        if (!convert_row(source, y, stk__pixels_row(*pixels, y))) return refuse_value(source, y, error);
    return STK_OK;
}
