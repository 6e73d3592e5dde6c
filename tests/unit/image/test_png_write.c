/* SPDX-License-Identifier: Apache-2.0 */
/* Masks written as PNG are read back with the same ids, palettes included, by the decoder's fast path. What
 * the filters of other pictures leave is read by libspng in test_make_write.c. */
#include "decode/png.h"
#include "image/png_write.h"
#include "support/fail_alloc.h"
#include "support/pictures.h"
#include "../decode/decoding.h"

#include <string.h>

static const stk__png_options plain = {.filter = STK_PNG_NONE};
static stk__png_writer *writer;
static stk__decoder *decoder;

static int make_tools(void **state)
{
    (void)state;
    decoder = make_decoder(NULL);
    return stk__png_writer_create(&writer, STK_PNG_LEVEL_SMALL, NULL);
}

static int remove_tools(void **state)
{
    (void)state;
    stk__png_writer_destroy(&writer);
    stk__decoder_destroy(&decoder);
    return writer || decoder;
}

/* What the decoder takes the quick way, with the ids that were put in. */
static stk__png check_mask(const stk__buffer *file, stk__pixels ids)
{
    stk__png png;
    stk__picture picture;
    assert_int_equal(stk__png_read_chunks(as_encoded(file), &png, NULL), STK_OK);
    assert_true(stk__png_is_simple(&png));
    assert_int_equal(png.data_count, 1);
    assert_int_equal(stk__decode_header(decoder, as_encoded(file), "png", &picture, NULL), STK_OK);
    assert_int_equal(picture.w, ids.w);
    assert_int_equal(picture.h, ids.h);
    stk__pixels got = make_target(ids.w, ids.h, 1);
    const stk__mask_options options = {.orientation = 1};
    assert_int_equal(stk__decode_mask(decoder, as_encoded(file), &picture, &options, got, NULL), STK_OK);
    for (int32_t y = 0; y < ids.h; y++)
        assert_memory_equal(stk__pixels_row(got, y), stk__pixels_row(ids, y), (size_t)ids.w);
    stk__free(got.data);
    for (int i = 0; i < 64; i++)
        assert_int_equal(file->data[file->size_bytes + (size_t)i], 0);
    return png;
}

static void ids_of_every_size(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{1, 1}, {7, 5}, {512, 512}, {1, 300}, {300, 1}, {31, 64}};
    stk__buffer file = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        stk__pixels ids = pictures_draw_mask(sizes[i][0], sizes[i][1], 19, 3);
        assert_int_equal(stk__png_write(writer, ids, &plain, &file, NULL), STK_OK);
        assert_int_equal(check_mask(&file, ids).colour, STK_PNG_GREY);
        stk__free(ids.data);
    }
    stk__buffer_fini(&file);
}

static void every_id_and_rows_apart(void **state)
{
    (void)state;
    static uint8_t data[16 * 40];
    const stk__pixels ids = {data, 40, 16, 16, 1};
    stk__buffer file = {0};
    for (int i = 0; i < 16 * 40; i++)
        data[i] = i % 40 < 16 ? (uint8_t)(i / 40 * 16 + i % 40) : (uint8_t)99; /* between the rows */
    assert_int_equal(stk__png_write(writer, ids, &plain, &file, NULL), STK_OK);
    check_mask(&file, ids);
    stk__buffer_fini(&file);
}

static void palettes_stay(void **state)
{
    (void)state;
    static const uint8_t colours[6][3] = {{1, 2, 3},    {4, 5, 6},    {7, 8, 9},
                                          {10, 11, 12}, {13, 14, 15}, {16, 17, 18}};
    stk__pixels ids = pictures_draw_mask(20, 20, 5, 3);
    stk__buffer file = {0};
    ids.data[0] = 4;
    /* One colour more than ids, as many, and fewer: those that lack are black. */
    for (int count = 6; count >= 3; count--) {
        const stk__png_options palette = {STK_PNG_NONE, colours[0], count};
        assert_int_equal(stk__png_write(writer, ids, &palette, &file, NULL), STK_OK);
        const stk__png png = check_mask(&file, ids);
        assert_int_equal(png.colour, STK_PNG_PALETTE);
        assert_int_equal(png.palette_count, count > 5 ? count : 5);
        assert_memory_equal(png.palette, colours, 3 * (size_t)count);
        for (int i = 3 * count; i < 3 * png.palette_count; i++)
            assert_int_equal(png.palette[i], 0);
    }
    stk__free(ids.data);
    stk__buffer_fini(&file);
}

static stk_status write_once(void *context, stk_error *error)
{
    (void)context;
    static uint8_t data[64 * 64];
    stk__png_writer *own = NULL;
    stk__buffer file = {0};
    stk_status status = stk__png_writer_create(&own, STK_PNG_LEVEL_SMALL, error);
    if (status == STK_OK)
        status = stk__png_write(own, stk__pixels_dense(data, 64, 64, 1), &plain, &file, error);
    stk__buffer_fini(&file);
    stk__png_writer_destroy(&own);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_int_equal(fail_alloc_each(write_once, NULL), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ids_of_every_size, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(every_id_and_rows_apart, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(palettes_stay, make_tools, remove_tools),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
