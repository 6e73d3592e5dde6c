/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of lists: opened with data.columns and a part, and what is left out of them. */
#ifndef TEST_LIST_TREE_H
#define TEST_LIST_TREE_H

#include "source_tree.h"

static inline stk__source *open_with(const char *name, const char *columns, const char *part)
{
    char root[PATH_MAX];
    snprintf(root, sizeof root, "%s%s%s", tree, *name ? "/" : "", name);
    const stk__source_options options = {
        .root = root, .part = part, .columns = columns, .limit_bytes = 1 << 20};
    stk__source *source = NULL;
    failure = (stk_error){0};
    const stk_status status = stk__source_open(&source, &options, &failure);
    assert_int_equal(status, failure.code);
    assert_true((status == STK_OK) == (source != NULL));
    return source;
}

static inline stk__source *open_good(const char *name, const char *columns, const char *part)
{
    stk__source *source = open_with(name, columns, part);
    if (!source) print_error("%s (%s)\n", failure.message, failure.place);
    assert_non_null(source);
    return source;
}

static inline void check_refused(const char *columns, stk_status code, const char *message, const char *hint)
{
    assert_null(open_with("", columns, NULL));
    if (!strstr(failure.message, message) || !strstr(failure.hint, hint))
        print_error("unexpected: %s (hint: %s)\n", failure.message, failure.hint);
    assert_int_equal(failure.code, code);
    assert_non_null(strstr(failure.message, message));
    assert_non_null(strstr(failure.hint, hint));
}

/* The rows of left_out, joined: "a (3); b (1)". */
static inline void check_left_out(const stk__source *source, const char *expected)
{
    char text[1024] = "";
    size_t size = 0;
    for (int32_t i = 0; i < source->info.left_out_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s (%llu)", i ? "; " : "",
                                 source->info.left_out[i].what,
                                 (unsigned long long)source->info.left_out[i].count);
    assert_string_equal(text, expected);
}

#endif
