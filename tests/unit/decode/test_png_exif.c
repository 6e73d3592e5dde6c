/* SPDX-License-Identifier: Apache-2.0 */
/* The EXIF orientation of PNGs: all eight, both byte orders, before and behind the image data; whatever is
 * wrong with the block, the image decodes as stored. */
#include "decode/exif.h"
#include "support/pictures.h"
#include "decoding.h"

#include <stdlib.h>
#include <string.h>

enum { W = 13, H = 7, BLOCK_BYTES = 26 };

/* One entry: Orientation, a SHORT. */
static void make_block(uint8_t *block, int orientation, bool big)
{
    static const uint8_t little[BLOCK_BYTES] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                                0,   1,   0,  0, 0, 0, 0, 0, 0, 0, 0,    0, 0};
    static const uint8_t other[BLOCK_BYTES] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                               3,   0,   0, 0,  1, 0, 0, 0, 0, 0, 0, 0,    0};
    memcpy(block, big ? other : little, BLOCK_BYTES);
    block[18 + big] = (uint8_t)orientation;
}

static void insert_block(stk__buffer *png, const char *before, const void *block, size_t size)
{
    pictures_png_insert(png, pictures_png_find(png, before, 0), "eXIf", block, size);
}

static stk__picture read_header(stk__decoder *decoder, const stk__buffer *png)
{
    stk__picture picture;
    stk_error error = {0};
    const stk_status status = stk__decode_header(decoder, as_encoded(png), "png", &picture, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    return picture;
}

static void check_turned(stk__decoder *decoder, const stk__buffer *png, stk__pixels drawn, int orientation)
{
    const stk__picture picture = read_header(decoder, png);
    assert_int_equal(picture.orientation, orientation);
    const bool swaps = orientation > 4;
    stk__pixels wanted = make_target(swaps ? H : W, swaps ? W : H, 3),
                got = make_target(wanted.w, wanted.h, 3);
    stk__orientation_apply(drawn, wanted, (stk__orientation)orientation);
    assert_int_equal(stk__decode_image(decoder, as_encoded(png), &picture, got, NULL), STK_OK);
    assert_memory_equal(got.data, wanted.data, size_of(wanted));
    stk__free(wanted.data);
    stk__free(got.data);
}

static void all_orientations_are_obeyed(void **state)
{
    (void)state;
    static const char *const places[] = {"IDAT", "IEND"};
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer png = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 1);
    for (int i = 0; i < 8 * 2 * 2 * 2; i++) {
        uint8_t block[6 + BLOCK_BYTES] = "Exif\0";
        const int orientation = 1 + i % 8;
        const bool prefix = i / 32;
        make_block(block + 6, orientation, i / 8 % 2);
        pictures_png_plain(&png, drawn, 0);
        insert_block(&png, places[i / 16 % 2], prefix ? block : block + 6,
                     prefix ? sizeof block : BLOCK_BYTES);
        check_turned(decoder, &png, drawn, orientation);
    }
    stk__free(drawn.data);
    stk__buffer_fini(&png);
    stk__decoder_destroy(&decoder);
}

static void nonsense_means_as_stored(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer png = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 1);
    uint8_t block[BLOCK_BYTES];
    for (size_t size = 0; size < 22; size++) { /* cut before the tag is complete */
        make_block(block, 6, false);
        pictures_png_plain(&png, drawn, 0);
        insert_block(&png, "IDAT", block, size);
        check_turned(decoder, &png, drawn, 1);
    }
    static const struct {
        size_t at;
        uint8_t value;
    } changes[] = {{0, 'X'},   {2, 43}, {4, 255}, {7, 255}, {8, 0},
                   {10, 0x13}, {12, 2}, {18, 0},  {18, 9},  {19, 1}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        make_block(block, 6, false);
        block[changes[i].at] = changes[i].value;
        pictures_png_plain(&png, drawn, 0);
        insert_block(&png, "IDAT", block, sizeof block);
        check_turned(decoder, &png, drawn, 1);
    }
    stk__free(drawn.data);
    stk__buffer_fini(&png);
    stk__decoder_destroy(&decoder);
}

/* Random blocks, in memory of exactly their size: whatever is found is an orientation. */
static void any_block_is_read_within_its_bytes(void **state)
{
    (void)state;
    uint32_t seed = 5;
    for (int i = 0; i < 20000; i++) {
        uint8_t drawn[64];
        const size_t size = pictures_random(&seed) % sizeof drawn;
        make_block(drawn, 6, i % 2);
        for (size_t k = 4; k < sizeof drawn; k++)
            if (k >= BLOCK_BYTES || pictures_random(&seed) % 4 == 0)
                drawn[k] = (uint8_t)pictures_random(&seed);
        uint8_t *block = malloc(size);
        assert_true(block || size == 0);
        if (size) memcpy(block, drawn, size);
        const stk__orientation found = stk__exif_block_orientation((stk__encoded){block, size});
        assert_in_range(found, 1, 8);
        free(block);
    }
}

/* The first one counts; behind the end nothing does; a wrong checksum is damage as in any chunk. */
static void other_places(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer png = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 1);
    uint8_t first[BLOCK_BYTES], second[BLOCK_BYTES];
    make_block(first, 3, false);
    make_block(second, 6, false);
    pictures_png_plain(&png, drawn, 0);
    insert_block(&png, "IEND", second, sizeof second);
    insert_block(&png, "IDAT", first, sizeof first);
    check_turned(decoder, &png, drawn, 3);
    pictures_png_plain(&png, drawn, 0);
    pictures_png_insert(&png, png.size_bytes, "eXIf", first, sizeof first);
    check_turned(decoder, &png, drawn, 1);
    pictures_png_plain(&png, drawn, 0);
    insert_block(&png, "IDAT", first, sizeof first);
    png.data[pictures_png_find(&png, "eXIf", 0) + 8 + 20] ^= 1;
    assert_int_equal(find_damage(decoder, &png), STK_DAMAGE_BAD_CHECKSUM);
    stk__free(drawn.data);
    stk__buffer_fini(&png);
    stk__decoder_destroy(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_orientations_are_obeyed),
        cmocka_unit_test(nonsense_means_as_stored),
        cmocka_unit_test(any_block_is_read_within_its_bytes),
        cmocka_unit_test(other_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
