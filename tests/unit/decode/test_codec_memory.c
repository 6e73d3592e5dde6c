/* SPDX-License-Identifier: Apache-2.0 */
/* The codecs' own memory: how often they ask for it, and what happens when there is none. malloc is replaced
 * for the whole process, so this test is not built with sanitizers. Our own memory comes from aligned_alloc:
 * those calls are not counted. */
#include "decode/decode.h"
#include "pack/jpeg_rewrite.h"
#include "image/png_write.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void *__libc_malloc(size_t size_bytes);
void *__libc_calloc(size_t count, size_t size_bytes);
void *__libc_memalign(size_t alignment, size_t size_bytes);
void __libc_free(void *memory);

#define VISIBLE __attribute__((visibility("default"))) /* so that the codecs' libraries find ours first */

static bool armed, for_good; /* for_good: after the n-th call every other fails too */
static long calls, fail_at, living;

static bool refuse(void)
{
    if (!armed || ++calls < fail_at || fail_at == 0) return false;
    return for_good || calls == fail_at;
}

VISIBLE void *malloc(size_t size_bytes)
{
    void *memory = refuse() ? NULL : __libc_malloc(size_bytes);
    living += armed && memory;
    return memory;
}

VISIBLE void *calloc(size_t count, size_t size_bytes)
{
    void *memory = refuse() ? NULL : __libc_calloc(count, size_bytes);
    living += armed && memory;
    return memory;
}

VISIBLE void *aligned_alloc(size_t alignment, size_t size_bytes)
{
    void *memory = __libc_memalign(alignment, size_bytes);
    living += armed && memory;
    return memory;
}

VISIBLE void free(void *memory)
{
    living -= armed && memory;
    __libc_free(memory);
}

static stk__encoded as_encoded(const stk__buffer *buffer)
{
    return (stk__encoded){buffer->data, buffer->size_bytes};
}

static stk_status decode(stk__decoder *decoder, const stk__buffer *bytes, bool mask, stk_error *error)
{
    static uint8_t data[512 * 512 * 3];
    const stk__mask_options options = {.orientation = 1, .ignore = 255};
    stk__picture picture;
    STK__TRY(stk__decode_header(decoder, as_encoded(bytes), NULL, &picture, error));
    const stk__pixels target = stk__pixels_dense(data, picture.w, picture.h, mask ? 1 : 3);
    if (mask) return stk__decode_mask(decoder, as_encoded(bytes), &picture, &options, target, error);
    return stk__decode_image(decoder, as_encoded(bytes), &picture, target, error);
}

static long count_calls(const stk__buffer *bytes, bool mask)
{
    stk__decoder *decoder = NULL;
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    assert_int_equal(decode(decoder, bytes, mask, NULL), STK_OK);
    long first = 0;
    for (int i = 0; i < 20; i++) {
        calls = fail_at = 0;
        armed = true;
        const stk_status status = decode(decoder, bytes, mask, NULL);
        armed = false;
        assert_int_equal(status, STK_OK);
        if (i == 0) first = calls;
        assert_int_equal(calls, first);
    }
    stk__decoder_destroy(&decoder);
    return first;
}

/* The n-th call of the codec fails; afterwards the same decoder must still be good. Whether n was reached. */
static bool starve_at(long n, const stk__buffer *bytes, bool mask)
{
    stk__decoder *decoder = NULL;
    stk_error error = {0};
    calls = living = 0;
    fail_at = n;
    armed = true;
    stk_status status = stk__decoder_create(&decoder, NULL, &error);
    if (status == STK_OK) status = decode(decoder, bytes, mask, &error);
    const bool reached = calls >= n;
    fail_at = 0;
    const stk_status again = decoder ? decode(decoder, bytes, mask, NULL) : STK_OK;
    stk__decoder_destroy(&decoder);
    armed = false;
    assert_int_equal(living, 0);
    assert_int_equal(again, STK_OK);
    /* After a single failure libjpeg may have been content with less. */
    const bool helped = status == STK_OK && !for_good;
    if (!helped) assert_int_equal(status, reached ? STK_ERROR_MEMORY : STK_OK);
    return reached;
}

static void starve(const stk__buffer *bytes, bool mask)
{
    for (int mode = 0; mode < 2; mode++) {
        for_good = mode;
        for (long n = 1; starve_at(n, bytes, mask); n++)
            continue;
    }
}

static void pictures_of_all_codecs(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    stk__pixels photo = pictures_draw(512, 512, 3, 1), mask = pictures_draw_mask(512, 512, 19, 1);
    pictures_jpeg(&bytes, photo, &(pictures_jpeg_options){0});
    print_message("JPEG baseline: %ld calls an image\n", count_calls(&bytes, false));
    starve(&bytes, false);
    pictures_jpeg(&bytes, photo, &(pictures_jpeg_options){.progressive = true});
    print_message("JPEG progressive: %ld calls an image\n", count_calls(&bytes, false));
    starve(&bytes, false);
    pictures_png_plain(&bytes, photo, PICTURES_FILTER_MIX);
    assert_int_equal(count_calls(&bytes, false), 0);
    starve(&bytes, false);
    pictures_png_plain(&bytes, mask, PICTURES_FILTER_MIX);
    assert_int_equal(count_calls(&bytes, true), 0);
    starve(&bytes, true);
    stk__free(photo.data);
    stk__free(mask.data);
    stk__buffer_fini(&bytes);
}

/* --- writing ------------------------------------------------------------------------------------------- */

static stk_status rewrite(stk__jpeg_rewriter *rewriter, const stk__buffer *bytes, stk_error *error)
{
    stk__buffer file = {0};
    const stk_status status = stk__jpeg_rewrite(rewriter, as_encoded(bytes), 1, &file, error);
    stk__buffer_fini(&file);
    return status;
}

/* As starve_at. */
static bool starve_rewriter_at(long n, const stk__buffer *bytes)
{
    stk__jpeg_rewriter *rewriter = NULL;
    stk_error error = {0};
    calls = living = 0;
    fail_at = n;
    armed = true;
    stk_status status = stk__jpeg_rewriter_create(&rewriter, &stk__limits_default, &error);
    if (status == STK_OK) status = rewrite(rewriter, bytes, &error);
    const bool reached = calls >= n;
    fail_at = 0;
    const stk_status again = rewriter ? rewrite(rewriter, bytes, NULL) : STK_OK;
    stk__jpeg_rewriter_destroy(&rewriter);
    armed = false;
    assert_int_equal(living, 0);
    assert_int_equal(again, STK_OK);
    const bool helped = status == STK_OK && !for_good;
    if (!helped) assert_int_equal(status, reached ? STK_ERROR_MEMORY : STK_OK);
    return reached;
}

static void jpegs_written_anew(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    stk__pixels photo = pictures_draw(512, 512, 3, 1);
    for (int progressive = 0; progressive < 2; progressive++) {
        long n = 1;
        pictures_jpeg(&bytes, photo, &(pictures_jpeg_options){.progressive = progressive});
        for (int mode = 0; mode < 2; mode++) {
            for_good = mode;
            for (n = 1; starve_rewriter_at(n, &bytes); n++)
                continue;
        }
        assert_true(n > 10);
    }
    stk__free(photo.data);
    stk__buffer_fini(&bytes);
}

static void masks_without_a_compressor(void **state)
{
    (void)state;
    stk__png_writer *writer = NULL;
    stk_error error = {0};
    calls = living = 0;
    fail_at = 1;
    for_good = armed = true;
    const stk_status status = stk__png_writer_create(&writer, STK_PNG_LEVEL_SMALL, &error);
    armed = false;
    assert_int_equal(status, STK_ERROR_MEMORY);
    assert_null(writer);
    assert_int_equal(living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pictures_of_all_codecs),
                                       cmocka_unit_test(jpegs_written_anew),
                                       cmocka_unit_test(masks_without_a_compressor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
