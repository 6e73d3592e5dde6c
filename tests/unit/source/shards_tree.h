/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of data sets in shards: shards in the folder of the running test. */
#ifndef TEST_SHARDS_TREE_H
#define TEST_SHARDS_TREE_H

#include "source_tree.h"

#include "support/tarball.h"

static char logged[8192];

static inline void keep_log(void *context, stk_log_level level, const char *line)
{
    (void)context;
    if (level < STK_LOG_INFO) snprintf(logged, sizeof logged, "%s", line);
}

static inline int begin(void **state)
{
    logged[0] = '\0';
    stk_log_set(keep_log, NULL, STK_LOG_INFO);
    return tree_make(state);
}

static inline int finish(void **state)
{
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    return tree_remove(state);
}

static tarball ball;

/* Writes what is in the ball as a shard of the tree, with its index gone. */
static inline void put(const char *name)
{
    char path[PATH_MAX];
    tree_file(name, "");
    snprintf(path, sizeof path, "%s", tree_path(name));
    tarball_end(&ball);
    tarball_write(&ball, path);
    tarball_clear(&ball);
    strcat(path, ".index");
    remove(path);
}

static inline void put_one(const char *shard, const char *member, const char *text)
{
    tarball_text(&ball, member, text);
    put(shard);
}

static inline stk__source *open_as(const char *name)
{
    stk__source *source = tree_open_as(name, NULL, 0);
    if (!source) print_error("%s (%s)\n", failure.message, failure.place);
    assert_non_null(source);
    return source;
}

static inline void check_where(const stk__source *source, uint64_t id, stk__field field, const char *expected)
{
    char text[PATH_MAX];
    source->ops->where(source, id, field, text, sizeof text);
    assert_string_equal(text, tree_path(expected));
}

#endif
