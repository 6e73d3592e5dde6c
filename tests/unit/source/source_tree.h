/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of sources: a folder of their own, and memory that runs out. */
#ifndef TEST_SOURCE_TREE_H
#define TEST_SOURCE_TREE_H

#include "core/file.h"
#include "source/kinds.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char tree[64]; /* the folder of the running test */

static int tree_make(void **state)
{
    (void)state;
    snprintf(tree, sizeof tree, "/tmp/stoker-test-XXXXXX");
    return mkdtemp(tree) ? 0 : -1;
}

static int tree_remove_one(const char *path, const struct stat *facts, int kind, struct FTW *depth)
{
    (void)facts;
    (void)kind;
    (void)depth;
    return remove(path);
}

static int tree_remove(void **state)
{
    (void)state;
    return nftw(tree, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *tree_path(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", tree, name);
    return path;
}

static inline void tree_folder(const char *name)
{
    assert_int_equal(stk__folder_make(tree_path(name), NULL), STK_OK);
}

/* Writes a file and the folders above it. */
static inline void tree_bytes(const char *name, const void *data, size_t size_bytes)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", tree_path(name));
    *strrchr(folder, '/') = '\0';
    assert_int_equal(stk__folder_make(folder, NULL), STK_OK);
    FILE *file = fopen(tree_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size_bytes, file), size_bytes);
    assert_int_equal(fclose(file), 0);
}

static inline void tree_file(const char *name, const char *text)
{
    tree_bytes(name, text, strlen(text));
}

static inline void tree_link(const char *target, const char *name)
{
    assert_int_equal(symlink(target, tree_path(name)), 0);
}

static stk_error failure; /* of the last tree_open */

static inline stk__source *tree_open_as(const char *name, const char *part, int64_t window_rows)
{
    char root[PATH_MAX];
    snprintf(root, sizeof root, "%s%s%s", tree, *name ? "/" : "", name);
    const stk__source_options options = {
        .root = root, .part = part, .window_rows = window_rows, .limit_bytes = 1 << 20};
    stk__source *source = NULL;
    failure = (stk_error){0};
    const stk_status status = stk__source_open(&source, &options, &failure);
    assert_int_equal(status, failure.code);
    assert_true((status == STK_OK) == (source != NULL));
    return source;
}

static inline stk__source *tree_open(void)
{
    stk__source *source = tree_open_as("", NULL, 0);
    if (!source) print_error("%s (%s)\n", failure.message, failure.place);
    assert_non_null(source);
    return source;
}

/* Opens what cannot be opened; message and place of the error must contain these texts. */
static inline void tree_refused(const char *name, stk_status code, const char *message, const char *place)
{
    stk__source *source = tree_open_as(name, NULL, 0);
    assert_null(source);
    if (!strstr(failure.message, message) || !strstr(failure.place, place))
        print_error("unexpected: %s (%s)\n", failure.message, failure.place);
    assert_int_equal(failure.code, code);
    assert_non_null(strstr(failure.message, message));
    assert_non_null(strstr(failure.place, place));
    assert_true(failure.hint[0] != '\0');
}

static inline void check_key(const stk__source *source, uint64_t id, const char *expected)
{
    char key[PATH_MAX];
    source->ops->key(source, id, key, sizeof key);
    assert_string_equal(key, expected);
}

/* Reads a field and compares it with a text. */
static inline void check_read(const stk__source *source, uint64_t id, stk__field field, const char *text,
                              const char *extension)
{
    stk__buffer buffer = {0};
    const char *promised = NULL;
    stk_error error = {0};
    if (source->ops->hint) source->ops->hint(source, id);
    const stk_status status = source->ops->read(source, id, field, &buffer, &promised, &error);
    if (status != STK_OK) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(status, STK_OK);
    assert_int_equal(buffer.size_bytes, strlen(text));
    assert_memory_equal(buffer.data, text, buffer.size_bytes);
    if (extension)
        assert_string_equal(promised, extension);
    else
        assert_null(promised);
    stk__buffer_fini(&buffer);
}

static inline void check_read_damage(const stk__source *source, uint64_t id, stk__field field,
                                     stk_damage damage, const char *place)
{
    stk__buffer buffer = {0};
    const char *promised = NULL;
    stk_error error = {0};
    assert_int_equal(source->ops->read(source, id, field, &buffer, &promised, &error), STK_ERROR_SAMPLE);
    assert_string_equal(stk_damage_name(error.damage), stk_damage_name(damage));
    assert_non_null(strstr(error.place, place));
    stk__buffer_fini(&buffer);
}

static inline double label_of(const stk__source *source, uint64_t id)
{
    stk__sample_facts facts = {.label = -99};
    assert_int_equal(source->ops->facts(source, id, &facts, NULL), STK_OK);
    return facts.label;
}

static inline void check_facts_damage(const stk__source *source, uint64_t id, stk_damage damage,
                                      const char *message, const char *place)
{
    stk_error error = {0};
    stk__sample_facts facts;
    assert_int_equal(source->ops->facts(source, id, &facts, &error), STK_ERROR_SAMPLE);
    if (!strstr(error.message, message)) print_error("unexpected: %s\n", error.message);
    assert_string_equal(stk_damage_name(error.damage), stk_damage_name(damage));
    assert_non_null(strstr(error.message, message));
    assert_non_null(strstr(error.place, place));
}

typedef struct poor_memory {
    long calls, fail_at, alive;
} poor_memory;

static inline void *poor_alloc(void *context, size_t size_bytes)
{
    poor_memory *poor = context;
    if (poor->calls++ == poor->fail_at) return NULL;
    poor->alive++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static inline void poor_release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((poor_memory *)context)->alive--;
    free(memory);
}

/* Opens with the first, second, … allocation failing until it succeeds: clean status, nothing left behind. */
static inline void check_poor_memory(const char *name, const char *part)
{
    long failures = 0;
    for (bool opened = false; !opened; failures++) {
        poor_memory context = {.fail_at = failures};
        const stk_allocator allocator = {.alloc = poor_alloc, .release = poor_release, .context = &context};
        stk_allocator_set(&allocator);
        stk__source *source = tree_open_as(name, part, 0);
        opened = source != NULL;
        stk__source_close(&source);
        stk_allocator_set(NULL);
        assert_int_equal(context.alive, 0);
        if (!opened) assert_int_equal(failure.code, STK_ERROR_MEMORY);
        assert_true(failures < 10000);
    }
    assert_true(failures > 3);
}

#endif
