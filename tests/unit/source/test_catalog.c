/* SPDX-License-Identifier: Apache-2.0 */
/* Catalogs of keys: sorting against a plain comparison over hard cases, duplicates; extensions keep
 * their spelling, and those of pictures are known, read or not. */
#include "source/catalog.h"

#include "core/random.h"
#include "decode/format.h"
#include "source/extension.h"
#include "source/kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void add(stk__catalog *catalog, const char *key, uint32_t row)
{
    assert_int_equal(stk__catalog_add(catalog, key, strlen(key), row, NULL), STK_OK);
}

static void check_sorted(const stk__catalog *catalog)
{
    for (uint64_t i = 1; i < stk__catalog_count(catalog); i++) {
        const stk__entry *a = stk__catalog_at(catalog, i - 1), *b = a + 1;
        const int order = stk__catalog_compare(stk__catalog_key(catalog, a), a->length,
                                               stk__catalog_key(catalog, b), b->length);
        assert_true(order < 0 || (order == 0 && a->row <= b->row));
    }
}

/* Keys over few letters and of many lengths: long common beginnings, prefixes of each other, many twins. */
static void sort_is_bytewise_and_by_row(void **state)
{
    (void)state;
    for (uint32_t alphabet = 1; alphabet < 5; alphabet++) {
        stk__catalog catalog = {0};
        uint64_t sum = 0;
        for (uint32_t i = 0; i < 5000; i++) {
            char key[64];
            const stk__random drawn = stk__random_draw((stk__random_at){9, alphabet, i, 0, 0});
            const uint32_t length = drawn.word[0] % 40;
            for (uint32_t at = 0; at < length; at++)
                key[at] = "\xFF"
                          "a/\x01"[(drawn.word[1 + at % 3] >> at % 29) % alphabet];
            key[length] = '\0';
            add(&catalog, key, drawn.word[2] % 1000);
            sum += length + drawn.word[2] % 1000;
        }
        stk__catalog_sort(&catalog);
        check_sorted(&catalog);
        for (uint64_t i = 0; i < 5000; i++)
            sum -= stk__catalog_at(&catalog, i)->length + stk__catalog_at(&catalog, i)->row;
        assert_int_equal(sum, 0); /* nothing was lost */
        stk__catalog_fini(&catalog);
    }
}

static void flat_folder_of_200000(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    stk__catalog catalog = {0};
    char key[64];
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "some/folder/image_%07u", (i * 7919u) % COUNT);
        add(&catalog, key, i);
    }
    stk__catalog_sort(&catalog);
    check_sorted(&catalog);
    assert_int_equal(stk__catalog_duplicate(&catalog, 0), COUNT);
    for (uint32_t i = 0; i < COUNT; i += 997) {
        snprintf(key, sizeof key, "some/folder/image_%07u", i);
        assert_true(stk__catalog_find(&catalog, key, strlen(key)) == stk__catalog_at(&catalog, i));
    }
    assert_null(stk__catalog_find(&catalog, "some", 4));
    assert_null(stk__catalog_find(&catalog, "z", 1));
    stk__catalog_fini(&catalog);
}

static void twins_are_found(void **state)
{
    (void)state;
    stk__catalog catalog = {0};
    stk__catalog_sort(&catalog);
    assert_int_equal(stk__catalog_duplicate(&catalog, 0), 0);
    const char *const keys[] = {"b", "a", "ab", "b", "a"};
    for (uint32_t i = 0; i < 5; i++)
        add(&catalog, keys[i], i);
    stk__catalog_sort(&catalog);
    assert_int_equal(stk__catalog_duplicate(&catalog, 0), 0);
    assert_int_equal(stk__catalog_duplicate(&catalog, 1), 3);
    assert_int_equal(stk__catalog_duplicate(&catalog, 4), 5);
    assert_int_equal(stk__catalog_at(&catalog, 0)->row, 1);
    assert_int_equal(stk__catalog_at(&catalog, 1)->row, 4);
    stk__catalog_fini(&catalog);
}

static void extensions_keep_their_spelling(void **state)
{
    (void)state;
    const char *const known[] = {"jpg", "JPG", "jPeG", "JPEG", "png", "Png", "npy", "nPY"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char text[STK_EXTENSION_BYTES];
        const uint8_t code = stk__extension_code(known[i], strlen(known[i]));
        assert_true(code < STK_EXTENSION_OTHER);
        stk__extension_text(code, text);
        assert_string_equal(text, known[i]);
        assert_int_equal(strcasecmp(stk__extension_name(code), known[i]), 0);
    }
    assert_int_equal(stk__extension_code("jpgx", 4), STK_EXTENSION_NONE);
    assert_int_equal(stk__extension_code("", 0), STK_EXTENSION_NONE);
    const struct {
        const char *name;
        size_t stem;
    } stems[] = {{"a.jpg", 1}, {"a.b.jpg", 3}, {".jpg", 4}, {"a/.jpg", 6}, {"a.d/b", 5}, {"a.", 1}, {"", 0}};
    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++)
        assert_int_equal(stk__extension_stem(stems[i].name, strlen(stems[i].name)), stems[i].stem);
}

static void extensions_of_pictures(void **state)
{
    (void)state;
    const stk__format_ops *const formats[] = {&stk__format_jpeg, &stk__format_png, &stk__format_npy};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        for (const char *const *known = formats[i]->extensions; *known; known++) {
            char name[16];
            snprintf(name, sizeof name, "a.%s", *known);
            assert_true(stk__extension_is_picture(name, strlen(name)));
        }
    for (uint8_t code = 0; code < 4; code++) /* all in small letters */
        assert_non_null(stk__format_by_extension(stk__extension_name(code)));

    static const char *const unread[] = {"avif", "pgm", "heif", "TIFF", "webp", "gif"};
    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++) {
        char name[16];
        snprintf(name, sizeof name, "a.%s", unread[i]);
        assert_true(stk__extension_is_unread(unread[i], strlen(unread[i])));
        assert_true(stk__extension_is_picture(name, strlen(name)));
        assert_string_equal(stk__unsupported_hint(unread[i]), stk__unsupported_hint("webp"));
    }
    assert_false(stk__extension_is_unread("jpg", 3));
    assert_false(stk__extension_is_unread("txt", 3));
    assert_false(stk__extension_is_picture("a.txt", 5));
    assert_false(stk__extension_is_picture("avif", 4));
    assert_null(stk__unsupported_hint("txt"));
    assert_non_null(strstr(stk__unsupported_hint("JFIF"), "rename")); /* nothing to convert */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sort_is_bytewise_and_by_row),
        cmocka_unit_test(flat_folder_of_200000),
        cmocka_unit_test(twins_are_found),
        cmocka_unit_test(extensions_keep_their_spelling),
        cmocka_unit_test(extensions_of_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
