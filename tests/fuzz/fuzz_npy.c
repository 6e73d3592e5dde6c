/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npy file: its header printed and read again is the same, and so is one read from its first
 * bytes alone; as an image the pixels are those in the file (and what fuzz_decode.c asks for), as a series
 * the numbers. */
#include "fuzz.h"
#include "fuzz_decode.h"

#include "core/npy.h"
#include "source/kinds.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t print_header(const stk__npy *npy, uint8_t bytes[512])
{
    char text[400], shape[128] = "";
    for (int i = 0; i < npy->ndim; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%llu, ",
                 (unsigned long long)npy->shape[i]);
    const int length = snprintf(
        text, sizeof text, "{'descr': '%c%c%d', 'fortran_order': %s, 'shape': (%s), }",
        npy->item_bytes == 1 ? '|' : '<', npy->kind, npy->item_bytes, npy->fortran ? "True" : "False", shape);
    memcpy(bytes, "\x93NUMPY\1\0", 8);
    bytes[8] = (uint8_t)length;
    bytes[9] = (uint8_t)(length >> 8);
    memcpy(bytes + 10, text, (size_t)length);
    return 10 + (size_t)length;
}

static bool is_same(const stk__npy *a, const stk__npy *b)
{
    bool same = a->kind == b->kind && a->item_bytes == b->item_bytes && a->fortran == b->fortran &&
                a->ndim == b->ndim && a->data_bytes == b->data_bytes;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static void check_header(const stk__npy *npy, const uint8_t *data, size_t size)
{
    stk__npy again;
    uint8_t bytes[512];
    assert(npy->ndim >= 0 && npy->ndim <= STK_NPY_DIMS && npy->offset_bytes <= size);
    stk_status status = stk__npy_parse(&again, bytes, print_header(npy, bytes), NULL);
    assert(status == STK_OK && is_same(npy, &again));
    uint8_t *start = fuzz_copy(data, npy->offset_bytes, 0);
    status = stk__npy_parse(&again, start, npy->offset_bytes, NULL);
    assert(status == STK_OK && is_same(npy, &again) && again.offset_bytes == npy->offset_bytes);
    free(start);
}

static void check_ids(stk__decoder *decoder, const stk__npy *npy, stk__encoded bytes,
                      const stk__picture *picture)
{
    const stk__mask_options options = {.orientation = 1, .ignore = 255};
    const size_t count = (size_t)picture->w * (size_t)picture->h;
    fuzz_target target = fuzz_target_make(picture->w, picture->h, 1, 0x5A);
    bool ids = bytes.size_bytes == npy->offset_bytes + npy->data_bytes;
    const uint8_t *item = bytes.data + npy->offset_bytes;
    const stk_status status = stk__decode_mask(decoder, bytes, picture, &options, target.pixels, NULL);
    for (size_t i = 0; ids && i < count; i++, item += npy->item_bytes) {
        for (int b = 1; b < npy->item_bytes; b++)
            ids = ids && item[b] == 0;
        ids = ids && !(npy->kind == 'i' && npy->item_bytes == 1 && item[0] > 127);
        const int32_t x = (int32_t)(i % (size_t)picture->w), y = (int32_t)(i / (size_t)picture->w);
        assert(status != STK_OK || stk__pixels_row(target.pixels, y)[x] == item[0]);
    }
    assert((status == STK_OK) == ids);
    fuzz_target_free(&target);
}

/* An array that can be an image is its own pixels, one that can be a mask its own ids. */
static void check_pixels(const stk__npy *npy, const uint8_t *data, size_t size)
{
    const stk__encoded bytes = {data, size};
    stk__decoder *decoder = NULL;
    stk__picture picture;
    stk_status status = stk__decoder_create(&decoder, &fuzz_limits, NULL);
    assert(status == STK_OK);
    status = stk__decode_header(decoder, bytes, "npy", &picture, NULL);
    if (status == STK_OK) {
        fuzz_target target = fuzz_target_make(picture.w, picture.h, picture.channels, 0x5A);
        const size_t row = (size_t)picture.w * (size_t)picture.channels;
        status = stk__decode_image(decoder, bytes, &picture, target.pixels, NULL);
        const bool pixels = npy->kind == 'u' && npy->item_bytes == 1; /* other integers can be masks alone */
        assert((status == STK_OK) == (pixels && size == npy->offset_bytes + npy->data_bytes));
        for (int32_t y = 0; status == STK_OK && y < picture.h; y++)
            assert(memcmp(stk__pixels_row(target.pixels, y), data + npy->offset_bytes + (size_t)y * row,
                          row) == 0);
        fuzz_target_free(&target);
        if (picture.channels == 1) check_ids(decoder, npy, bytes, &picture);
    }
    stk__decoder_destroy(&decoder);
}

static void check_windows(const stk__source *source)
{
    stk__sample_facts facts;
    for (uint64_t id = 0; id < source->info.count && id < 100; id++) {
        stk_error error = {0};
        const stk_status status = source->ops->facts(source, id, &facts, &error);
        const int64_t cells = (int64_t)source->info.window_rows * source->info.window_columns;
        assert(status == STK_OK || error.damage == STK_DAMAGE_BAD_VALUES);
        for (int64_t i = 0; status == STK_OK && i < cells; i++)
            assert(isfinite(facts.window[i]));
        if (status == STK_OK)
            assert(isfinite(facts.label));
        else
            fuzz_check_damage(status, &error);
    }
}

static void read_series(const stk__npy *npy, const uint8_t *data, size_t size)
{
    const stk__source_options options = {.window_rows = 2};
    stk__site site = {.options = &options};
    stk__source *source = NULL;
    stk_error error = {0};
    snprintf(site.file, sizeof site.file, "%s", fuzz_file("series.npy", data, size));
    const stk_status status = stk__series_open(&source, &site, &error);
    assert((status == STK_OK) == (source != NULL));
    if (status != STK_OK) {
        assert(status == STK_ERROR_DATA);
        fuzz_check_failure(status, &error);
        fuzz_check_place(&error, site.file);
        return;
    }
    assert(npy && source->info.count == npy->shape[0] - 1);
    assert((uint64_t)source->info.window_columns == npy->shape[1] - 1);
    check_windows(source);
    stk__source_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stk__npy npy;
    stk_error error = {0};
    uint8_t *bytes = fuzz_copy(data, size, 64);
    fuzz_decode("npy", bytes, size);
    const stk_status status = stk__npy_parse(&npy, data, size, &error);
    if (status == STK_OK) {
        check_header(&npy, data, size);
        check_pixels(&npy, bytes, size);
    } else {
        fuzz_check_damage(status, &error);
    }
    read_series(status == STK_OK ? &npy : NULL, data, size);
    free(bytes);
    return 0;
}
