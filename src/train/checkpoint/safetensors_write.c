/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file: tensors are placed one after the other, the JSON is padded with blanks
 * to 8 bytes as the format's own library does. Data is written by the caller. */
#include "train/checkpoint/safetensors.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH_BYTES = 8, ALIGN_BYTES = 8 };

static const char *dtype_word(stk_dtype dtype)
{
    switch (dtype) {
    case STK_DTYPE_U8:
        return "U8";
    case STK_DTYPE_I64:
        return "I64";
    case STK_DTYPE_F16:
        return "F16";
    case STK_DTYPE_BF16:
        return "BF16";
    case STK_DTYPE_F32:
        return "F32";
    case STK_DTYPE_F64:
        return "F64";
    case STK_DTYPE_NONE:
        break;
    }
    return NULL;
}

static stk_status put(stk__buffer *text, const char *more, stk_error *error)
{
    return stk__buffer_append(text, more, strlen(more), error);
}

static stk_status put_string(stk__buffer *text, const char *string, stk_error *error)
{
    STK__TRY(put(text, "\"", error));
    for (; *string; string++) {
        char escape[8];
        if (*string == '"' || *string == '\\')
            snprintf(escape, sizeof escape, "\\%c", *string);
        else if ((unsigned char)*string < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*string);
        else
            snprintf(escape, sizeof escape, "%c", *string);
        STK__TRY(put(text, escape, error));
    }
    return put(text, "\"", error);
}

static stk_status put_metadata(stk__buffer *text, const char *const (*pairs)[2], int count, stk_error *error)
{
    STK__TRY(put(text, "\"__metadata__\":{", error));
    for (int i = 0; i < count; i++) {
        if (i) STK__TRY(put(text, ",", error));
        STK__TRY(put_string(text, pairs[i][0], error));
        STK__TRY(put(text, ":", error));
        STK__TRY(put_string(text, pairs[i][1], error));
    }
    return put(text, "}", error);
}

static stk_status put_tensor(stk__buffer *text, const stk__safetensor *tensor, stk_error *error)
{
    char number[64];
    STK__TRY(put_string(text, tensor->name, error));
    STK__TRY(put(text, ":{\"dtype\":\"", error));
    STK__TRY(put(text, dtype_word(tensor->dtype), error));
    STK__TRY(put(text, "\",\"shape\":[", error));
    for (int i = 0; i < tensor->shape.ndim; i++) {
        snprintf(number, sizeof number, i ? ",%lld" : "%lld", (long long)tensor->shape.dim[i]);
        STK__TRY(put(text, number, error));
    }
    snprintf(number, sizeof number, "],\"data_offsets\":[%llu,%llu]}",
             (unsigned long long)tensor->offset_bytes,
             (unsigned long long)(tensor->offset_bytes + tensor->size_bytes));
    return put(text, number, error);
}

static stk_status place_tensors(stk__safetensor *tensors, int count, stk_error *error)
{
    uint64_t offset = 0;
    for (int i = 0; i < count; i++) {
        stk__safetensor *t = &tensors[i];
        if (!dtype_word(t->dtype))
            return stk__fail(error, STK_ERROR_ARGUMENT, "tensor '%s' has no dtype", t->name);
        const uint64_t element_bytes = (uint64_t)stk_dtype_bytes(t->dtype);
        if (offset % element_bytes)
            return stk__fail(error, STK_ERROR_ARGUMENT, "tensor '%s' has larger elements than those before",
                             t->name);
        t->offset_bytes = offset;
        t->size_bytes = (uint64_t)stk__shape_count(&t->shape) * element_bytes;
        offset += t->size_bytes;
    }
    return STK_OK;
}

static stk_status put_header(const stk__safetensor *tensors, int count, stk__buffer *text, stk_error *error)
{
    for (int i = 0; i < count; i++) {
        if (text->data[text->size_bytes - 1] != '{') STK__TRY(put(text, ",", error));
        STK__TRY(put_tensor(text, &tensors[i], error));
    }
    return put(text, "}", error);
}

stk_status stk__safetensors_header(stk__safetensor *tensors, int count, const char *const (*metadata)[2],
                                   int metadata_count, stk__buffer *text, stk_error *error)
{
    const size_t start = text->size_bytes;
    uint8_t length[LENGTH_BYTES] = {0};
    STK__TRY(place_tensors(tensors, count, error));
    STK__TRY(stk__buffer_append(text, length, LENGTH_BYTES, error));
    STK__TRY(put(text, "{", error));
    if (metadata) STK__TRY(put_metadata(text, metadata, metadata_count, error));
    STK__TRY(put_header(tensors, count, text, error));
    while ((text->size_bytes - start) % ALIGN_BYTES)
        STK__TRY(put(text, " ", error));
    const uint64_t size = text->size_bytes - start - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++)
        text->data[start + (size_t)i] = (uint8_t)(size >> 8 * i);
    return STK_OK;
}
