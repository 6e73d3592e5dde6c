/* SPDX-License-Identifier: Apache-2.0 */
/* Small data sets of 12 good samples in every layout, and putting a damaged sample among them and taking
 * it away again. */
#include "loader/damage_operators.h"

#include "core/file.h"
#include "loader/damage_tar.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { GOOD = DAMAGE_SAMPLES - 1 };

const char *damage_folder(damage_set set)
{
    static const char *const names[] = {"classes", "pairs", "list", "series", "shards"};
    return names[set];
}

/* Keys: a/0 … a/5, b/0 … b/3, b/3x, …; 00 … 07, 07x, …; windows of a series by their first row. */
int64_t damage_sample_id(const damage_operator *one)
{
    static const int64_t usual[] = {10, 8, 8, GOOD, 8};
    return one->id ? one->id : usual[one->set];
}

void damage_write(const char *path, const stk__buffer *bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (bytes->size_bytes)
        assert_int_equal(fwrite(bytes->data, 1, bytes->size_bytes, file), bytes->size_bytes);
    assert_int_equal(fclose(file), 0);
}

static void join(char path[PATH_MAX], const char *root, damage_set set, const char *name)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s/%s", root, damage_folder(set), name);
    assert_true(length > 0 && length < PATH_MAX);
}

static void make_folder(const char *root, damage_set set, const char *name)
{
    char path[PATH_MAX];
    join(path, root, set, name);
    assert_int_equal(stk__folder_make(path, NULL), STK_OK);
}

static void write_text(const char *root, damage_set set, const char *name, const char *text)
{
    char path[PATH_MAX];
    join(path, root, set, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void write_image(const char *root, damage_set set, const char *name, uint32_t seed)
{
    char path[PATH_MAX];
    stk__buffer bytes = {0};
    join(path, root, set, name);
    damage_good_jpeg(&bytes, seed);
    damage_write(path, &bytes);
    stk__buffer_fini(&bytes);
}

static void write_mask(const char *root, const char *name, uint32_t seed)
{
    char path[PATH_MAX];
    stk__buffer bytes = {0};
    join(path, root, DAMAGE_PAIRS, name);
    damage_good_mask(&bytes, seed);
    damage_write(path, &bytes);
    stk__buffer_fini(&bytes);
}

static void build_classes(const char *root)
{
    make_folder(root, DAMAGE_CLASSES, "a");
    make_folder(root, DAMAGE_CLASSES, "b");
    for (int i = 0; i < GOOD; i++) {
        char name[32];
        snprintf(name, sizeof name, "%c/%d.jpg", i < GOOD / 2 ? 'a' : 'b', i % (GOOD / 2));
        write_image(root, DAMAGE_CLASSES, name, (uint32_t)i);
    }
}

static void build_numbered(const char *root, damage_set set)
{
    make_folder(root, set, "images");
    if (set == DAMAGE_PAIRS) make_folder(root, set, "masks");
    if (set == DAMAGE_PAIRS) write_text(root, set, "classes.txt", "sky\nsea\nsand\nship\n");
    for (int i = 0; i < GOOD; i++) {
        char name[32];
        snprintf(name, sizeof name, "images/%02d.jpg", i);
        write_image(root, set, name, (uint32_t)i);
        snprintf(name, sizeof name, "masks/%02d.png", i);
        if (set == DAMAGE_PAIRS) write_mask(root, name, (uint32_t)i);
    }
    if (set == DAMAGE_LIST) write_image(root, set, "images/07x.jpg", GOOD);
}

static void build_shards(const char *root)
{
    char folder[PATH_MAX];
    make_folder(root, DAMAGE_SHARDS, "");
    join(folder, root, DAMAGE_SHARDS, "");
    tar_build(folder);
}

void damage_build(damage_set set, const char *root)
{
    if (set == DAMAGE_SHARDS) {
        build_shards(root);
        return;
    }
    if (set == DAMAGE_CLASSES)
        build_classes(root);
    else if (set == DAMAGE_SERIES)
        make_folder(root, set, "");
    else
        build_numbered(root, set);
}

/* The damaged row is the last: line 14. */
static void write_list(const damage_operator *one, const char *root)
{
    char text[1024] = "file,label\n", row[32];
    for (int i = 0; i < GOOD; i++) {
        snprintf(row, sizeof row, "%02d.jpg,%d\n", i, i % 3);
        strcat(text, row);
    }
    strcat(text, one->text);
    strcat(text, "\n");
    write_text(root, DAMAGE_LIST, one->file, text);
}

/* The damaged row is the last, line 17, so that it is in one window only. */
static void write_series(const damage_operator *one, const char *root)
{
    char text[1024] = "first,second,target\n", row[32];
    for (int i = 0; i < GOOD + DAMAGE_WINDOW_ROWS - 1; i++) {
        snprintf(row, sizeof row, "%d,%d.5,%d\n", i, i * i, 100 - i);
        strcat(text, row);
    }
    strcat(text, one->text);
    strcat(text, "\n");
    write_text(root, DAMAGE_SERIES, one->file, text);
}

static void plant_file(const damage_operator *one, const char *root)
{
    char path[PATH_MAX];
    join(path, root, one->set, one->file);
    if (one->plant) one->plant(path);
    if (!one->make) return;
    stk__buffer bytes = {0};
    one->make(&bytes, one->amount);
    damage_write(path, &bytes);
    stk__buffer_fini(&bytes);
}

void damage_plant(const damage_operator *one, const char *root)
{
    const bool mask = strncmp(one->file, "masks", 5) == 0;
    if (one->set == DAMAGE_PAIRS && mask) write_image(root, DAMAGE_PAIRS, "images/07x.jpg", GOOD);
    if (one->set == DAMAGE_PAIRS && !mask) write_mask(root, "masks/07x.png", GOOD);
    if (one->set == DAMAGE_LIST)
        write_list(one, root);
    else if (one->set == DAMAGE_SERIES)
        write_series(one, root);
    else
        plant_file(one, root);
}

void damage_clear(const damage_operator *one, const char *root)
{
    char path[PATH_MAX];
    join(path, root, one->set, "");
    if (one->set == DAMAGE_SHARDS) tar_clear(path);
    const char *const names[] = {one->file, "images/07x.jpg", "masks/07x.png"};
    const int count = one->set == DAMAGE_PAIRS ? 3 : 1;
    for (int i = 0; i < count; i++) {
        join(path, root, one->set, names[i]);
        remove(path); /* may have vanished */
    }
}
