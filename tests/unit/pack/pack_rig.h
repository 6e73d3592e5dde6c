/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of whole packs: data sets in a folder of the test's own, and packs of them. */
#ifndef TEST_PACK_RIG_H
#define TEST_PACK_RIG_H

#include "core/hash.h"
#include "pack/pack.h"
#include "pack/pack_state.h"
#include "source/shards/shard.h"
#include "support/pictures.h"
#include "../source/source_tree.h"

#include <dirent.h>

static stk_error trouble; /* of the last run */
static stk__pack_report report;

static inline char *path_of(const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s", strncmp(name, "make:", 5) == 0 ? name : tree_path(name));
    return path;
}

static inline stk_status pack(const char *root, const char *folder, const stk__pack_settings *settings)
{
    char from[PATH_MAX], to[PATH_MAX];
    const stk__pack_request request = {
        .root = path_of(root, from), .folder = path_of(folder, to), .settings = *settings};
    trouble = (stk_error){0};
    const stk_status status = stk__pack_run(&request, &report, &trouble);
    assert_int_equal(status, trouble.code);
    return status;
}

static inline void pack_well(const char *root, const char *folder, const stk__pack_settings *settings)
{
    const stk_status status = pack(root, folder, settings);
    if (status != STK_OK) print_error("%s (%s)\n", trouble.message, trouble.place);
    assert_int_equal(status, STK_OK);
}

static inline void refused(stk_status expected, stk_status got, const char *message)
{
    if (got != expected || !strstr(trouble.message, message))
        print_error("unexpected: %s\n", trouble.message);
    assert_int_equal(got, expected);
    assert_non_null(strstr(trouble.message, message));
}

static inline void hash_file(stk__hash *hash, const char *path)
{
    stk__buffer bytes = {0};
    assert_int_equal(stk__file_read(path, 0, &bytes, NULL), STK_OK);
    stk__hash_update(hash, bytes.data, bytes.size_bytes);
    stk__buffer_fini(&bytes);
}

/* Names and bytes of everything but the lock. */
static inline void hash_folder(stk__hash *hash, const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "lock") != 0) {
            assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
            stk__hash_update(hash, name, strlen(name) + 1);
            if (stk__path_is_folder(path))
                hash_folder(hash, path);
            else
                hash_file(hash, path);
        }
        free(entries[i]);
    }
    free(entries);
}

static inline stk__digest digest_of(const char *name)
{
    stk__hash *hash;
    char path[PATH_MAX];
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    hash_folder(hash, path_of(name, path));
    const stk__digest digest = stk__hash_digest(hash);
    stk__hash_destroy(&hash);
    return digest;
}

static inline void check_same(stk__digest a, stk__digest b)
{
    assert_true(a.high == b.high && a.low == b.low);
}

static inline bool is_there(const char *name)
{
    return access(tree_path(name), F_OK) == 0;
}

static inline void drop(const char *name)
{
    char path[PATH_MAX];
    nftw(path_of(name, path), tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void put_jpeg(const char *name, uint32_t seed, const pictures_jpeg_options *options)
{
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(40, 24, 3, seed);
    pictures_jpeg(&bytes, drawn, options);
    tree_bytes(name, bytes.data, bytes.size_bytes);
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
}

static inline void put_mask(const char *name, uint32_t seed)
{
    stk__buffer bytes = {0};
    stk__pixels ids = pictures_draw_mask(40, 24, 5, seed);
    pictures_png_plain(&bytes, ids, 1);
    tree_bytes(name, bytes.data, bytes.size_bytes);
    stk__free(ids.data);
    stk__buffer_fini(&bytes);
}

enum { PAIRS = 20 };

/* Twenty images of all kinds with their masks; *.jpg of the numbers in `bad` (-1 at the end) are cut off. */
static inline void put_pairs(const char *root, const int *bad)
{
    char name[128];
    for (int i = 0; i < PAIRS; i++) {
        snprintf(name, sizeof name, "%s/images/%02d.jpg", root, i);
        put_jpeg(
            name, (uint32_t)i,
            &(pictures_jpeg_options){.progressive = i % 2, .sampling = i % 3 == 0, .orientation = i % 9});
        snprintf(name, sizeof name, "%s/masks/%02d.png", root, i);
        put_mask(name, (uint32_t)i);
    }
    for (; bad && *bad >= 0; bad++) {
        snprintf(name, sizeof name, "%s/images/%02d.jpg", root, *bad);
        tree_file(name, "\xFF\xD8\xFF");
    }
    snprintf(name, sizeof name, "%s/classes.txt", root);
    tree_file(name, "a\nb\nc\nd\ne\n");
}

/* Memory, where there is some for files: these tests wait for the disk very often. */
static inline int make_tree(void **state)
{
    snprintf(tree, sizeof tree, "/dev/shm/stoker-test-XXXXXX");
    return mkdtemp(tree) ? 0 : tree_make(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_tree, tree_remove)

#endif
