/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at masks that are kept: used again only for the same files and settings, and never from a file that
 * is damaged. */
#include "loader/loader_open.h"
#include "loader/pump.h"
#include "loader/survey_store.h"
#include "support/sample_set.h"
#include "support/pictures.h"
#include "support/workspace.h"

#include "core/file.h"
#include "core/pool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { SAMPLES = 12, HEAD_BYTES = 64, CONTENT_AT = 48 };

static workspace home;
static char cache[512];

/* Files that changed within the last tick of the clock are not relied on. */
static void let_settle(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 60 * 1000 * 1000}, NULL);
}

static stk_loader *open_set(const char *root, bool keep_exif)
{
    const stk_loader_options options = {
        .root = root, .batch_size = 4, .exif = keep_exif ? STK_SWITCH_ON : STK_SWITCH_OFF};
    stk_loader *loader = NULL;
    assert_int_equal(stk__loader_open(&loader, &(stk__loader_setup){.options = &options, .held = true}, NULL),
                     STK_OK);
    return loader;
}

static stk__mask_survey look(const char *root, stk__survey_options options)
{
    static stk__mask_survey survey;
    stk_loader *loader = open_set(root, true);
    options.workers = 1;
    assert_int_equal(stk__mask_survey_run(loader, options, &survey, NULL), STK_OK);
    stk_loader_close(&loader);
    return survey;
}

static void put_mask(const char *root, const char *name, uint8_t value)
{
    uint8_t ids[24 * 16];
    char path[512];
    stk__buffer bytes = {0};
    memset(ids, value, sizeof ids);
    pictures_png_plain(&bytes, stk__pixels_dense(ids, 24, 16, 1), 0);
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(stk__file_write(path, bytes, STK_FILE_QUICK, NULL), STK_OK);
    stk__buffer_fini(&bytes);
}

static void test_kept_until_a_file_changes(void **state)
{
    (void)state;
    dataset set = dataset_pairs(SAMPLES, 24, 16);
    put_mask(set.root, "masks/0003.png", 7);
    let_settle();
    stk__mask_survey first = look(set.root, (stk__survey_options){0}),
                     again = look(set.root, (stk__survey_options){0});
    assert_false(first.kept);
    assert_true(again.kept);
    assert_int_equal(again.ids.pixels[7], 24 * 16);
    again.kept = false;
    again.seconds = first.seconds;
    assert_memory_equal(&first, &again, sizeof first);

    put_mask(set.root, "masks/0003.png", 9);
    let_settle();
    again = look(set.root, (stk__survey_options){0});
    assert_false(again.kept);
    assert_int_equal(again.ids.pixels[7], 0);
    assert_int_equal(again.ids.pixels[9], 24 * 16);
    assert_true(look(set.root, (stk__survey_options){0}).kept);
    dataset_remove(&set);
}

/* The same size, and the time set back to what it was. */
static void test_time_set_back(void **state)
{
    (void)state;
    dataset set = dataset_pairs(SAMPLES, 24, 16);
    char path[512];
    struct stat before, after;
    snprintf(path, sizeof path, "%s/masks/0003.png", set.root);
    put_mask(set.root, "masks/0003.png", 7);
    assert_int_equal(stat(path, &before), 0);
    let_settle();
    assert_false(look(set.root, (stk__survey_options){0}).kept);
    put_mask(set.root, "masks/0003.png", 9);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    const stk__mask_survey again = look(set.root, (stk__survey_options){0});
    assert_false(again.kept);
    assert_int_equal(again.ids.pixels[9], 24 * 16);
    dataset_remove(&set);
}

static void test_other_requests(void **state)
{
    (void)state;
    dataset set = dataset_pairs(SAMPLES, 24, 16);
    static stk__mask_survey survey;
    let_settle();
    assert_false(look(set.root, (stk__survey_options){0}).kept);
    assert_false(look(set.root, (stk__survey_options){.most = 5}).kept);
    assert_false(look(set.root, (stk__survey_options){.frames_only = true}).kept);
    stk_loader *raw = open_set(set.root, false);
    assert_int_equal(stk__mask_survey_run(raw, (stk__survey_options){0}, &survey, NULL), STK_OK);
    assert_false(survey.kept);
    raw->recipe.limits.pixels = 500; /* still large enough */
    assert_int_equal(stk__mask_survey_run(raw, (stk__survey_options){0}, &survey, NULL), STK_OK);
    assert_false(survey.kept);
    assert_int_equal(stk__mask_survey_run(raw, (stk__survey_options){0}, &survey, NULL), STK_OK);
    assert_true(survey.kept);
    stk_loader_close(&raw);
    dataset_remove(&set);
}

static void test_corrupt_samples(void **state)
{
    (void)state;
    dataset set = dataset_pairs(SAMPLES, 24, 16);
    char path[512];
    snprintf(path, sizeof path, "%s/masks/0002.png", set.root);
    assert_int_equal(truncate(path, 30), 0);
    let_settle();
    for (int i = 0; i < 2; i++) {
        const stk__mask_survey survey = look(set.root, (stk__survey_options){0});
        assert_int_equal(survey.unusable.count, 1);
        assert_false(survey.kept);
    }
    dataset_remove(&set);
}

static void test_part_masks(void **state)
{
    (void)state;
    static const char names[] = "background\nhair\nskin\nnose\neye_g\nl_eye\nr_eye\nl_brow\nr_brow\nl_ear\n"
                                "r_ear\nmouth\nu_lip\nl_lip\nhat\near_r\nneck_l\nneck\ncloth\n";
    dataset set = dataset_part_masks(4, 24, 16);
    char path[512];
    let_settle();
    const stk__mask_survey first = look(set.root, (stk__survey_options){0});
    assert_true(look(set.root, (stk__survey_options){0}).kept);
    snprintf(path, sizeof path, "%s/classes.txt", set.root);
    FILE *file = fopen(path, "w"); /* other numbers for the same files */
    assert_non_null(file);
    assert_true(fputs(names, file) >= 0 && fclose(file) == 0);
    const stk__mask_survey renumbered = look(set.root, (stk__survey_options){0});
    assert_false(renumbered.kept);
    assert_memory_not_equal(&first.ids, &renumbered.ids, sizeof first.ids);
    assert_int_equal(remove(path), 0);
    const stk__mask_survey again = look(set.root, (stk__survey_options){0});
    assert_memory_equal(&first.ids, &again.ids, sizeof first.ids);
    assert_true(look(set.root, (stk__survey_options){0}).kept);
    put_mask(set.root, "CelebAMask-HQ-mask-anno/0/00000_skin.png", 255);
    assert_false(look(set.root, (stk__survey_options){0}).kept);
    dataset_remove(&set);
}

static void test_no_place(void **state)
{
    (void)state;
    dataset set = dataset_pairs(SAMPLES, 24, 16);
    setenv("STOKER_CACHE_DIR", "/dev/null/nowhere", 1);
    let_settle();
    for (int i = 0; i < 2; i++) {
        const stk__mask_survey survey = look(set.root, (stk__survey_options){0});
        assert_int_equal(survey.looked, SAMPLES);
        assert_false(survey.kept);
    }
    setenv("STOKER_CACHE_DIR", cache, 1);
    dataset_remove(&set);
}

/* --- the file ---------------------------------------------------------------------------------------------
 */

/* A place, its file, and a request that fits. */
typedef struct kept_look {
    stk_loader *loader;
    uint64_t ids[SAMPLES];
    stk__survey_request request;
    stk__survey_place place;
    char path[800];
    stk__mask_survey survey;
} kept_look;

static void keep_one(kept_look *k, const dataset *set)
{
    k->loader = open_set(set->root, true);
    for (uint64_t i = 0; i < SAMPLES; i++)
        k->ids[i] = i;
    k->request = (stk__survey_request){.source = k->loader->source,
                                       .ids = k->ids,
                                       .count = SAMPLES,
                                       .limits = &k->loader->recipe.limits,
                                       .exif = true};
    assert_int_equal(stk__mask_survey_run(k->loader, (stk__survey_options){.workers = 1}, &k->survey, NULL),
                     STK_OK);
    k->place = stk__survey_find(&k->request);
    k->place.settled = true;
    stk__survey_save(&k->place, &k->survey);
    snprintf(k->path, sizeof k->path, "%s/masks/%02x.look", cache, (unsigned)(k->place.key.high >> 56));
    assert_int_equal(access(k->path, R_OK), 0);
}

static bool load(const kept_look *k)
{
    static stk__mask_survey survey;
    return stk__survey_load(&k->place, &k->request, &survey);
}

static void rewrite(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_damaged_file(void **state)
{
    (void)state;
    static kept_look k;
    dataset set = dataset_pairs(SAMPLES, 24, 16);
    stk__buffer file = {0};
    keep_one(&k, &set);
    assert_true(load(&k));
    assert_int_equal(stk__file_read(k.path, 0, &file, NULL), STK_OK);
    assert_int_equal(file.size_bytes, HEAD_BYTES + sizeof k.survey);
    for (size_t at = 0; at < file.size_bytes; at += at < HEAD_BYTES ? 1 : 97) {
        file.data[at] ^= 0x10;
        rewrite(k.path, file.data, file.size_bytes);
        assert_false(load(&k));
        file.data[at] ^= 0x10;
    }
    for (size_t size = 0; size < file.size_bytes; size += 1 + size) {
        rewrite(k.path, file.data, size);
        assert_false(load(&k));
    }
    rewrite(k.path, file.data, file.size_bytes);
    assert_true(load(&k));
    assert_int_equal(remove(k.path), 0);
    assert_int_equal(mkdir(k.path, 0700), 0);
    assert_false(load(&k));
    assert_int_equal(rmdir(k.path), 0);
    stk__buffer_fini(&file);
    stk_loader_close(&k.loader);
    dataset_remove(&set);
}

/* Digests that fit around numbers that must not be used. */
static void save_forged(const kept_look *k, const stk__mask_survey *survey)
{
    uint8_t bytes[HEAD_BYTES + sizeof *survey] = "stoker look";
    const stk__digest content = stk__digest_of(survey, sizeof *survey);
    memcpy(bytes + 16, &k->place.key, sizeof content);
    memcpy(bytes + 32, &k->place.state, sizeof content);
    memcpy(bytes + CONTENT_AT, &content, sizeof content);
    memcpy(bytes + HEAD_BYTES, survey, sizeof *survey);
    rewrite(k->path, bytes, sizeof bytes);
}

static void test_unsound_numbers(void **state)
{
    (void)state;
    static kept_look k;
    static stk__mask_survey forged;
    dataset set = dataset_pairs(SAMPLES, 24, 16);
    keep_one(&k, &set);
    save_forged(&k, &k.survey);
    assert_true(load(&k));
    for (int which = 0; which < 6; which++) {
        const unsigned char two = 2;
        forged = k.survey;
        if (which == 0) forged.color_count = STK_SURVEY_COLORS + 1;
        if (which == 1) forged.color_count = -1;
        if (which == 2) memcpy(&forged.more_colors, &two, 1);
        if (which == 3) forged.ids.masks[200] = 1, forged.ids.first[200] = SAMPLES;
        if (which == 4) forged.upright = (stk__survey_example){.count = 1, .id = SAMPLES};
        if (which == 5) forged.unusable.count = 1;
        save_forged(&k, &forged);
        assert_false(load(&k));
    }
    stk_loader_close(&k.loader);
    dataset_remove(&set);
}

/* The cache does not grow: what has the same first byte takes the place. */
static void test_replaced(void **state)
{
    (void)state;
    static kept_look k;
    dataset set = dataset_pairs(SAMPLES, 24, 16);
    keep_one(&k, &set);
    kept_look other = k;
    other.place.key.low++;
    assert_false(load(&other));
    stk__survey_save(&other.place, &k.survey);
    assert_true(load(&other));
    assert_false(load(&k));
    stk__survey_save(&(stk__survey_place){.known = true, .key = k.place.key}, &k.survey); /* not settled */
    assert_false(load(&k));
    stk_loader_close(&k.loader);
    dataset_remove(&set);
}

static int begin(void **state)
{
    (void)state;
    home = workspace_make();
    snprintf(cache, sizeof cache, "%s/cache", home.path);
    setenv("STOKER_CACHE_DIR", cache, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unsetenv("STOKER_CACHE_DIR");
    workspace_remove(&home);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept_until_a_file_changes),
                                       cmocka_unit_test(test_time_set_back),
                                       cmocka_unit_test(test_other_requests),
                                       cmocka_unit_test(test_corrupt_samples),
                                       cmocka_unit_test(test_part_masks),
                                       cmocka_unit_test(test_no_place),
                                       cmocka_unit_test(test_damaged_file),
                                       cmocka_unit_test(test_unsound_numbers),
                                       cmocka_unit_test(test_replaced)};
    const int failed = cmocka_run_group_tests(tests, begin, end);
    stk__pool_stop();
    return failed;
}
