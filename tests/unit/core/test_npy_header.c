/* SPDX-License-Identifier: Apache-2.0 */
/* npy headers of all versions, malformed ones, every cut, and sizes that must fit exactly. Memory has
 * exactly the header's size, so that a sanitizer sees a read too far. */
#include "core/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A header in memory of exactly its size, so that a sanitizer sees every step beyond its end. */
static uint8_t *make_header(int version, const char *text, size_t *size)
{
    const size_t length = strlen(text), prefix = version == 1 ? 10 : 12;
    uint8_t *bytes = malloc(prefix + length);
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    bytes[7] = 0;
    for (size_t i = 8; i < prefix; i++)
        bytes[i] = (uint8_t)(length >> (8 * (i - 8)));
    memcpy(bytes + prefix, text, length);
    *size = prefix + length;
    return bytes;
}

static stk_damage parse_text(int version, const char *text, stk__npy *npy)
{
    size_t size;
    uint8_t *bytes = make_header(version, text, &size);
    stk_error error = {0};
    const stk_status status = stk__npy_parse(npy, bytes, size, &error);
    free(bytes);
    assert_int_equal(status, error.damage == STK_DAMAGE_NONE ? STK_OK : STK_ERROR_SAMPLE);
    return error.damage;
}

static void headers_of_all_versions(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++) {
        stk__npy npy;
        const char *text = "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 5), }   \n";
        assert_int_equal(parse_text(version, text, &npy), STK_DAMAGE_NONE);
        assert_int_equal(npy.kind, 'f');
        assert_int_equal(npy.item_bytes, 4);
        assert_false(npy.fortran);
        assert_int_equal(npy.ndim, 2);
        assert_int_equal(npy.shape[0], 7);
        assert_int_equal(npy.shape[1], 5);
        assert_int_equal(npy.data_bytes, 140);
        assert_int_equal(npy.offset_bytes, (version == 1 ? 10 : 12) + strlen(text));
    }
}

static void dimensions_and_kinds(void **state)
{
    (void)state;
    stk__npy npy;
    assert_int_equal(parse_text(1, "{'shape':(3,),\"descr\":'|u1','fortran_order':True}", &npy), 0);
    assert_int_equal(npy.kind, 'u');
    assert_true(npy.fortran);
    assert_int_equal(npy.ndim, 1);
    assert_int_equal(parse_text(1, "{'descr': '<i8', 'fortran_order': False, 'shape': ()}", &npy), 0);
    assert_int_equal(npy.ndim, 0);
    assert_int_equal(npy.data_bytes, 8);
    assert_int_equal(parse_text(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 0, 3, 4)}", &npy),
                     0);
    assert_int_equal(npy.ndim, 4);
    assert_int_equal(npy.data_bytes, 0);
}

static void malformed_headers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        stk_damage damage;
    } cases[] = {
        {"", STK_DAMAGE_BAD_HEADER},
        {"{", STK_DAMAGE_BAD_HEADER},
        {"{}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 1}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_BAD_HEADER},
        {"{'descr: 1, 'fortran_order: False", STK_DAMAGE_BAD_HEADER},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_UNSUPPORTED},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_UNSUPPORTED},
        {"{'descr': '<f1', 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_UNSUPPORTED},
        {"{'descr': '<b2', 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_UNSUPPORTED},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_UNSUPPORTED},
        {"{'descr': '|S10', 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_UNSUPPORTED},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", STK_DAMAGE_UNSUPPORTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1)}", STK_DAMAGE_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stk__npy npy;
        assert_int_equal(parse_text(1, cases[i].text, &npy), cases[i].damage);
    }
    stk__npy npy;
    assert_int_equal(parse_text(9, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", &npy),
                     STK_DAMAGE_UNSUPPORTED);
}

static void every_cut_is_truncated(void **state)
{
    (void)state;
    for (int version = 1; version <= 2; version++) {
        size_t size;
        uint8_t *whole =
            make_header(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n", &size);
        for (size_t cut = 0; cut < size; cut++) {
            uint8_t *bytes = malloc(cut + 1);
            assert_non_null(bytes);
            memcpy(bytes, whole, cut);
            stk__npy npy;
            stk_error error = {0};
            assert_int_equal(stk__npy_parse(&npy, bytes, cut, &error), STK_ERROR_SAMPLE);
            assert_int_equal(error.damage, STK_DAMAGE_TRUNCATED);
            free(bytes);
        }
        free(whole);
    }
}

static void size_must_fit_exactly(void **state)
{
    (void)state;
    const stk__npy npy = {.offset_bytes = 80, .data_bytes = 40};
    stk_error error = {0};
    assert_int_equal(stk__npy_check_size(&npy, 120, &error), STK_OK);
    assert_int_equal(stk__npy_check_size(&npy, 119, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_TRUNCATED);
    assert_int_equal(stk__npy_check_size(&npy, 121, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_CORRUPT);
}

static void magic_is_recognised(void **state)
{
    (void)state;
    stk__npy npy;
    stk_error error = {0};
    assert_true(stk__npy_match((const uint8_t *)"\x93NUMPY", 6));
    assert_false(stk__npy_match((const uint8_t *)"\x93NUMP", 5));
    assert_int_equal(stk__npy_parse(&npy, (const uint8_t *)"PK\x03\x04", 4, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_NOT_AN_IMAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_all_versions), cmocka_unit_test(dimensions_and_kinds),
        cmocka_unit_test(malformed_headers),       cmocka_unit_test(every_cut_is_truncated),
        cmocka_unit_test(size_must_fit_exactly),   cmocka_unit_test(magic_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
