/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that somebody else wrote: what is left of them, and what is wrong with them. */
#include "core/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Letters: absolute, upwards, hidden, names_folder. */
static const struct {
    const char *name, *clean, *facts;
} examples[] = {
    {"a.jpg", "a.jpg", ""},
    {"a/b/c.jpg", "a/b/c.jpg", ""},
    {"./a//b.jpg", "a/b.jpg", ""},
    {"a/./b/././c", "a/b/c", ""},
    {"a/b/.", "a/b", ""},
    {"", "", "f"},
    {".", "", "f"},
    {"./", "", "f"},
    {"././.", "", "f"},
    {"/", "", "af"},
    {"///", "", "af"},
    {"a/", "a", "f"},
    {"a/b//", "a/b", "f"},
    {"/etc/passwd", "etc/passwd", "a"},
    {"//etc", "etc", "a"},
    {"/./etc", "etc", "a"},
    {"..", "..", "u"},
    {"../", "..", "uf"},
    {"../a", "../a", "u"},
    {"a/..", "a/..", "u"},
    {"a/../../b", "a/../../b", "u"},
    {"/../a", "../a", "au"},
    {"./../a", "../a", "u"},
    {".git/a", ".git/a", "h"},
    {"a/.hidden", "a/.hidden", "h"},
    {"...", "...", "h"},
    {".../..", ".../..", "uh"},
    {"..a/b", "..a/b", "h"},
    {"a../b.", "a../b.", ""},
    {"a..b", "a..b", ""},
    {" ", " ", ""},
    {" ../a", " ../a", ""}, /* a folder whose name is a blank and two dots */
    {"a\\..\\b", "a\\..\\b", ""},
    {"\xff/\x80", "\xff/\x80", ""},
};

static void print_facts(stk__path_facts facts, char text[8])
{
    snprintf(text, 8, "%s%s%s%s", facts.absolute ? "a" : "", facts.upwards ? "u" : "",
             facts.hidden ? "h" : "", facts.names_folder ? "f" : "");
}

static void examples_are_cleaned_and_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const size_t length = strlen(examples[i].name);
        char *name = malloc(length + 1), *clean = malloc(length + 1),
             text[8]; /* a sanitizer sees their ends */
        assert_true(name && clean);
        memcpy(name, examples[i].name, length);
        const stk__path_facts facts = stk__path_clean(name, length, clean);
        print_facts(facts, text);
        if (strcmp(text, examples[i].facts) != 0 || strcmp(clean, examples[i].clean) != 0)
            print_error("'%s': '%s' %s\n", examples[i].name, clean, text);
        assert_string_equal(clean, examples[i].clean);
        assert_int_equal(facts.length, strlen(examples[i].clean));
        assert_string_equal(text, examples[i].facts);
        assert_int_equal(stk__path_clean(name, length, name).length, facts.length); /* in place */
        assert_memory_equal(name, clean, facts.length + 1);
        free(clean);
        free(name);
    }
}

/* Every text of up to seven letters '/', '.' and 'a': cleaning twice changes nothing, and what is told can be
 * seen in the result. */
static void all_short_paths(void **state)
{
    (void)state;
    static const char letters[] = "/.a";
    for (int length = 0, count = 1; length <= 7; length++, count *= 3)
        for (int number = 0; number < count; number++) {
            char name[8] = "", clean[8], again[8];
            for (int i = 0, rest = number; i < length; i++, rest /= 3)
                name[i] = letters[rest % 3];
            const stk__path_facts facts = stk__path_clean(name, (size_t)length, clean);
            const stk__path_facts second = stk__path_clean(clean, facts.length, again);
            char padded[16];
            snprintf(padded, sizeof padded, "/%s/", clean);
            assert_string_equal(clean, again);
            assert_false(second.absolute);
            assert_int_equal(second.upwards, facts.upwards);
            assert_int_equal(second.hidden, facts.hidden);
            assert_int_equal(facts.upwards, strstr(padded, "/../") != NULL);
            assert_int_equal(facts.absolute, name[0] == '/');
            assert_null(strstr(padded, "/./"));
            if (facts.length) assert_null(strstr(padded, "//"));
            if (!facts.names_folder) assert_int_not_equal(name[length - 1], '/');
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_cleaned_and_judged),
        cmocka_unit_test(all_short_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
