/* SPDX-License-Identifier: Apache-2.0 */
/* Names of tar members taken apart: key, field and fault, for plain and escaped names. */
#include "source/shards/shard_name.h"

#include "source/extension.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const char *name, *key; /* key NULL: passed over */
    stk__shard_field field;
    const char *fault; /* what its words contain; NULL: none */
    bool escaped;
} examples[] = {
    {"1.jpg", "1", STK_SHARD_PLAIN, NULL, false},
    {"a/b/1.JPG", "a/b/1", STK_SHARD_PLAIN, NULL, false},
    {"./a//1.png", "a/1", STK_SHARD_PLAIN, NULL, false},
    {"1.seg.png", "1", STK_SHARD_MASK, NULL, false},
    {"1.Mask.png", "1", STK_SHARD_MASK, NULL, false},
    {"1.mask.txt", "1", STK_SHARD_OTHER, NULL, false},
    {"1.cls", "1", STK_SHARD_CLASS, NULL, false},
    {"1.value", "1", STK_SHARD_VALUE, NULL, false},
    {"1.points.json", "1", STK_SHARD_POINTS, NULL, false},
    {"1.json", "1", STK_SHARD_OTHER, NULL, false},
    {"a.b/c.jpg", "a.b/c", STK_SHARD_PLAIN, NULL, false}, /* dots of folders are part of the key */
    {"/a/1.jpg", "a/1", STK_SHARD_PLAIN, NULL, false},    /* tar's own way with absolute names */
    {"1.jpg/", "1", STK_SHARD_PLAIN, NULL, false},
    {"a/1.jpg/.", "a/1", STK_SHARD_PLAIN, NULL, false},
    {"", NULL, STK_SHARD_OTHER, NULL, false},
    {".", NULL, STK_SHARD_OTHER, NULL, false},
    {"a/b", NULL, STK_SHARD_OTHER, NULL, false},
    {".jpg", NULL, STK_SHARD_OTHER, NULL, false},
    {"a/.hidden.jpg", NULL, STK_SHARD_OTHER, NULL, false},
    {".git/1.jpg", NULL, STK_SHARD_OTHER, NULL, false},
    {".../1.jpg", NULL, STK_SHARD_OTHER, NULL, false},
    {"../.git/1.jpg", NULL, STK_SHARD_OTHER, NULL, false},
    {"..", NULL, STK_SHARD_OTHER, NULL, false},
    {"../1.jpg", "../1", STK_SHARD_PLAIN, "through '..'", false},
    {"a/../../1.jpg", "a/../../1", STK_SHARD_PLAIN, "through '..'", false},
    {"/../1.cls", "../1", STK_SHARD_CLASS, "through '..'", false},
    {"a%2Eb.jpg", "a%2Eb", STK_SHARD_PLAIN, NULL, false},
    {"a%2Eb%25.jpg", "a.b%", STK_SHARD_PLAIN, NULL, true},
    {"%2E%2E/1.jpg", "../1", STK_SHARD_PLAIN, NULL, true}, /* a key of bytes: nothing is opened by it */
    {"50%.jpg", "50%", STK_SHARD_PLAIN, "neither %2E nor %25", true},
    {"a%2e.jpg", "a%2e", STK_SHARD_PLAIN, "neither %2E nor %25", true},
};

static void names_are_taken_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        static stk__shard_name split;
        memset(&split, 0xA5, sizeof split);
        const bool used = stk__shard_name_split(examples[i].name, examples[i].escaped, &split);
        if (used != (examples[i].key != NULL)) print_error("'%s'\n", examples[i].name);
        assert_int_equal(used, examples[i].key != NULL);
        if (!used) continue;
        assert_string_equal(split.key, examples[i].key);
        assert_int_equal(split.key_length, strlen(examples[i].key));
        assert_int_equal(split.field, examples[i].field);
        assert_int_equal(split.fault != NULL, examples[i].fault != NULL);
        if (split.fault) assert_non_null(strstr(split.fault, examples[i].fault));
    }
}

/* The longest name that a tar can have fits. */
static void the_longest_name(void **state)
{
    (void)state;
    static char name[STK_SHARD_KEY_BYTES + 1];
    static stk__shard_name split;
    memset(name, 'x', sizeof name - 1);
    memcpy(name + sizeof name - 5, ".jpg", 4);
    assert_true(stk__shard_name_split(name, false, &split));
    assert_int_equal(split.key_length, sizeof name - 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_taken_apart),
        cmocka_unit_test(the_longest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
