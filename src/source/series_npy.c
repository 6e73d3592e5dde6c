/* SPDX-License-Identifier: Apache-2.0 */
/* A series from a .npy array of shape [rows, columns]: any number type becomes float32. */
#include "source/series.h"

#include "core/file.h"
#include "core/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define READ_AS(type)                                                                                        \
    {                                                                                                        \
        type item;                                                                                           \
        memcpy(&item, place, sizeof item);                                                                   \
        return (float)item;                                                                                  \
    }

static float read_item(const stk__npy *npy, const uint8_t *place)
{
    switch (npy->kind << 4 | npy->item_bytes) {
    case 'f' << 4 | 4:
        READ_AS(float)
    case 'f' << 4 | 8:
        READ_AS(double)
    case 'i' << 4 | 1:
        READ_AS(int8_t)
    case 'i' << 4 | 2:
        READ_AS(int16_t)
    case 'i' << 4 | 4:
        READ_AS(int32_t)
    case 'i' << 4 | 8:
        READ_AS(int64_t)
    case 'u' << 4 | 1:
        READ_AS(uint8_t)
    case 'u' << 4 | 2:
        READ_AS(uint16_t)
    case 'u' << 4 | 4:
        READ_AS(uint32_t)
    default:
        READ_AS(uint64_t)
    }
}

static bool is_table(const stk__npy *npy)
{
    const bool kind = (npy->kind == 'f' && npy->item_bytes >= 4) || npy->kind == 'i' || npy->kind == 'u';
    return kind && npy->ndim == 2 && npy->shape[1] >= 2 && npy->shape[1] <= INT32_MAX;
}

static stk_status add_row(stk__series *series, const stk__npy *npy, const uint8_t *items, float *cells,
                          stk_error *error)
{
    const uint64_t columns = npy->shape[1], row = series->row_count;
    stk__bad_row bad = {.row = row, .line = row + 1};
    for (uint64_t i = 0; i < columns; i++) {
        const uint64_t at = npy->fortran ? i * npy->shape[0] + row : row * columns + i;
        cells[i] = read_item(npy, items + at * (uint64_t)npy->item_bytes);
        if (isfinite(cells[i]) || bad.damage != STK_DAMAGE_NONE) continue;
        bad.damage = STK_DAMAGE_BAD_VALUES;
        bad.column = (uint32_t)i + 1;
    }
    if (bad.damage != STK_DAMAGE_NONE) STK__TRY(stk__series_add_bad(series, bad, error));
    return stk__series_add(series, cells, columns - 1, error);
}

static stk_status reserve(stk__series *series, const stk__npy *npy, stk_error *error)
{
    series->column_count = (int32_t)npy->shape[1] - 1;
    const uint64_t cells = npy->shape[0] * (npy->shape[1] - 1);
    STK__TRY(stk__buffer_reserve(&series->features, cells * sizeof(float), error));
    STK__TRY(stk__buffer_reserve(&series->targets, npy->shape[0] * sizeof(float), error));
    for (uint64_t i = 0; i < npy->shape[1]; i++) {
        char number[24];
        const int length = snprintf(number, sizeof number, "%llu", (unsigned long long)i + 1);
        STK__TRY(stk__buffer_text(&series->names, number, (size_t)length, NULL, error));
    }
    return STK_OK;
}

static stk_status add_rows(stk__series *series, const stk__buffer *bytes, stk_error *error)
{
    stk__npy npy;
    STK__TRY(stk__npy_parse(&npy, bytes->data, bytes->size_bytes, error));
    STK__TRY(stk__npy_check_size(&npy, bytes->size_bytes, error));
    if (!is_table(&npy))
        return stk__series_refuse(
            series, "the array is not [rows][two columns or more] of f4, f8 or integers", error);
    if (npy.shape[0] == 0) return STK_OK; /* whatever the number of columns: it costs nothing */
    STK__TRY(reserve(series, &npy, error));
    const size_t size = (size_t)npy.shape[1] * sizeof(float);
    float *cells = stk__alloc(size);
    if (!cells) return stk__fail_memory(error, size, "a row");
    stk_status status = STK_OK;
    for (uint64_t row = 0; row < npy.shape[0] && status == STK_OK; row++)
        status = add_row(series, &npy, bytes->data + npy.offset_bytes, cells, error);
    stk__free(cells);
    return status;
}

stk_status stk__series_read_npy(stk__series *series, stk_error *error)
{
    stk__buffer bytes = {0};
    stk_error why = {0};
    stk_status status = stk__file_read(series->path, 0, &bytes, &why);
    if (status == STK_OK) status = add_rows(series, &bytes, &why);
    stk__buffer_fini(&bytes);
    if (status == STK_ERROR_SAMPLE)
        return stk__series_refuse(series, why.message, error); /* all depends on it */
    if (error) *error = why;
    return status;
}
