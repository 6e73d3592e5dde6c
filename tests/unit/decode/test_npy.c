/* SPDX-License-Identifier: Apache-2.0 */
/* The npy decoder: images and masks, classes of damage, and the time limit. */
#include "decode/decode.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { W = 5, H = 4 };

static stk__limits limits;

static stk_status decode(const stk__buffer *bytes, int channels, bool mask, uint8_t *data, stk_error *error)
{
    stk__decoder *decoder = NULL;
    stk__picture picture;
    const stk__encoded encoded = {bytes->data, bytes->size_bytes};
    const stk__mask_options options = {.orientation = 1, .ignore = 255};
    const stk__pixels target = stk__pixels_dense(data, W, H, channels);
    assert_int_equal(stk__decoder_create(&decoder, &limits, NULL), STK_OK);
    stk_status status = stk__decode_header(decoder, encoded, "npy", &picture, error);
    if (status == STK_OK && mask)
        status = stk__decode_mask(decoder, encoded, &picture, &options, target, error);
    else if (status == STK_OK)
        status = stk__decode_image(decoder, encoded, &picture, target, error);
    stk__decoder_destroy(&decoder);
    return status;
}

static void make(stk__buffer *bytes, const char *kind, const char *order, const char *shape, size_t size)
{
    char text[200];
    uint8_t data[W * H * 3 + 1];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 3);
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", kind, order,
             shape);
    pictures_npy(bytes, 1, text, data, size);
}

static void arrays_are_images(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    uint8_t got[W * H * 3];
    static const char *const grey[] = {"4, 5", "4, 5, 1"};
    for (int i = 0; i < 2; i++) {
        make(&bytes, "|u1", "False", grey[i], W * H);
        assert_int_equal(decode(&bytes, 1, false, got, NULL), STK_OK);
        for (int p = 0; p < W * H; p++)
            assert_int_equal(got[p], p * 3);
        assert_int_equal(decode(&bytes, 1, true, got, NULL), STK_OK);
        assert_int_equal(got[7], 21);
        assert_int_equal(decode(&bytes, 3, false, got, NULL), STK_OK);
        for (int p = 0; p < W * H * 3; p++)
            assert_int_equal(got[p], p / 3 * 3);
    }
    make(&bytes, "<u1", "False", "4, 5, 3", W * H * 3);
    assert_int_equal(decode(&bytes, 3, false, got, NULL), STK_OK);
    for (int p = 0; p < W * H * 3; p++)
        assert_int_equal(got[p], p * 3);
    assert_int_equal(decode(&bytes, 1, false, got, NULL), STK_OK);
    assert_int_equal(got[1], 11); /* luma of 9, 12, 15: 0.299 * 9 + 0.587 * 12 + 0.114 * 15 = 11.4 */
    stk__buffer_fini(&bytes);
}

/* Ids as NumPy's functions make them: argmax has int64, a comparison bool. */
static void masks_are_integers(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        size_t bytes;
        int64_t most, least; /* of the type, as far as it matters */
    } types[] = {{"<u2", 2, 65535, 0}, {"<u4", 4, 70000, 0},  {"<u8", 8, INT64_MAX, 0}, {"|i1", 1, 127, -1},
                 {"<i2", 2, 256, -1},  {"<i4", 4, 256, -100}, {"<i8", 8, 256, -1},      {"|b1", 1, 1, 0}};
    stk__buffer bytes = {0};
    uint8_t got[W * H];
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        const int64_t odd[] = {types[t].most < 255 ? types[t].most : 255, types[t].most, types[t].least};
        for (int o = 0; o < 3; o++) {
            char text[200], why[100];
            int64_t ids[W * H];
            uint8_t data[W * H * 8];
            stk_error error = {0};
            for (int i = 0; i < W * H; i++)
                ids[i] = i == 13 ? odd[o] : i & 1;
            for (int i = 0; i < W * H; i++)
                memcpy(data + (size_t)i * types[t].bytes, &ids[i], types[t].bytes);
            snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (4, 5%s), }\n",
                     types[t].kind, t & 1 ? ", 1" : "");
            pictures_npy(&bytes, 1, text, data, W * H * types[t].bytes);
            const stk_status status = decode(&bytes, 1, true, got, &error);
            if (odd[o] >= 0 && odd[o] <= 255) {
                assert_int_equal(status, STK_OK);
                for (int i = 0; i < W * H; i++)
                    assert_int_equal(got[i], ids[i]);
            } else {
                assert_int_equal(error.damage, STK_DAMAGE_MASK_IDS);
                snprintf(why, sizeof why, "the mask has class id %lld, %s", (long long)odd[o],
                         odd[o] < 0 ? "less than 0" : "more than 255");
                assert_string_equal(error.message, why);
            }
            assert_int_equal(decode(&bytes, 1, false, got, &error), STK_ERROR_SAMPLE); /* no image */
            assert_int_equal(error.damage, STK_DAMAGE_UNSUPPORTED);
        }
    }
    stk__buffer_fini(&bytes);
}

static void damages_have_their_class(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *order, *shape;
        size_t size;
        bool mask;
        stk_damage damage;
    } cases[] = {
        {"|u1", "False", "4, 5", W * H - 1, false, STK_DAMAGE_TRUNCATED},
        {"|u1", "False", "4, 5", W * H + 1, false, STK_DAMAGE_CORRUPT},
        {"|u1", "True", "4, 5", W * H, false, STK_DAMAGE_UNSUPPORTED},
        {"<u2", "False", "4, 5", W * H * 2, false, STK_DAMAGE_UNSUPPORTED},
        {"|i1", "False", "4, 5", W * H, false, STK_DAMAGE_UNSUPPORTED},
        {"|u1", "False", "20,", W * H, false, STK_DAMAGE_UNSUPPORTED},
        {"|u1", "False", "2, 5, 2", W * H, false, STK_DAMAGE_UNSUPPORTED},
        {"|u1", "False", "1, 4, 5, 1", W * H, false, STK_DAMAGE_UNSUPPORTED},
        {"|u1", "False", "0, 5", 0, false, STK_DAMAGE_ZERO_SIZE},
        {"|u1", "False", "3000000000, 1", 0, false, STK_DAMAGE_BAD_HEADER},
        {"|u1", "False", "2000000000, 1", 0, false, STK_DAMAGE_TOO_MANY_PIXELS},
        {"|u1", "False", "x", 0, false, STK_DAMAGE_BAD_HEADER},
        {"|u1", "False", "4, 5, 3", W * H * 3, true, STK_DAMAGE_MASK_FORMAT},
        {"<f4", "False", "1, 5", W * H, true, STK_DAMAGE_UNSUPPORTED},
        {"<i2", "True", "2, 5", W * H, true, STK_DAMAGE_UNSUPPORTED},
        {"<i2", "False", "1, 5, 3", W * H + 10, true, STK_DAMAGE_UNSUPPORTED},
        {"|b1", "False", "4, 5", W * H - 1, true, STK_DAMAGE_TRUNCATED},
    };
    stk__buffer bytes = {0};
    uint8_t got[W * H * 3];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stk_error error = {0};
        make(&bytes, cases[i].kind, cases[i].order, cases[i].shape, cases[i].size);
        assert_int_equal(decode(&bytes, 1, cases[i].mask, got, &error), STK_ERROR_SAMPLE);
        assert_int_equal(error.damage, cases[i].damage);
    }
    stk__buffer_fini(&bytes);
}

static void time_is_limited(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    uint8_t got[W * H];
    make(&bytes, "|u1", "False", "4, 5", W * H);
    limits.time_s = 0;
    for (int mask = 0; mask < 2; mask++) {
        stk_error error = {0};
        assert_int_equal(decode(&bytes, 1, mask, got, &error), STK_ERROR_SAMPLE);
        assert_int_equal(error.damage, STK_DAMAGE_TOO_SLOW);
    }
    limits = stk__limits_default;
    stk__buffer_fini(&bytes);
}

int main(void)
{
    limits = stk__limits_default;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_images), cmocka_unit_test(masks_are_integers),
        cmocka_unit_test(damages_have_their_class), cmocka_unit_test(time_is_limited)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
