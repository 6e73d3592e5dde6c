/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples belong to a part (train, val, all), and how many workers there are by default: the rules of
 * loader/settings_data.c and worker_count.c, by examples. */
#include "core/file.h"
#include "loader/pump.h"
#include "stoker/loader.h"
#include "support/pictures.h"
#include "support/workspace.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char folders[PATH_MAX]; /* a data set with train and val: 3 and 2 samples */

/* root NULL: folders. samples 0: refused with these words. */
static const struct {
    const char *root, *val_root;
    int part;
    double val_split;
    int64_t limit;
    uint64_t samples;
    const char *words;
} examples[] = {
    /* Nothing is held back */
    {"make:gray?count=10", NULL, STK_PART_TRAIN, 0, 0, 10, NULL},
    {"make:gray?count=10", NULL, STK_PART_ALL, 0, 0, 10, NULL},
    {"make:gray?count=10", NULL, STK_PART_VAL, 0, 0, 0, "there is no validation set"},
    /* A share is: rounded to the nearest, one at least */
    {"make:gray?count=10", NULL, STK_PART_TRAIN, 0.3, 0, 7, NULL},
    {"make:gray?count=10", NULL, STK_PART_VAL, 0.3, 0, 3, NULL},
    {"make:gray?count=10", NULL, STK_PART_ALL, 0.3, 0, 10, NULL},
    {"make:gray?count=10", NULL, STK_PART_VAL, 0.25, 0, 3, NULL},
    {"make:gray?count=10", NULL, STK_PART_TRAIN, 0.25, 0, 7, NULL},
    {"make:gray?count=10", NULL, STK_PART_VAL, 0.24, 0, 2, NULL},
    {"make:gray?count=10", NULL, STK_PART_VAL, 0.001, 0, 1, NULL},
    {"make:gray?count=10", NULL, STK_PART_TRAIN, 0.001, 0, 9, NULL},
    {"make:gray?count=2", NULL, STK_PART_VAL, 0.5, 0, 1, NULL},
    {"make:gray?count=1", NULL, STK_PART_TRAIN, 0.5, 0, 0, "too few samples to split: 1"},
    {"make:gray?count=1", NULL, STK_PART_VAL, 0.1, 0, 0, "too few samples to split: 1"},
    {"make:gray?count=1", NULL, STK_PART_ALL, 0.1, 0, 1, NULL},
    /* Validation from elsewhere: all of both */
    {"make:gray?count=10", "make:gray?count=4", STK_PART_TRAIN, 0.3, 0, 10, NULL},
    {"make:gray?count=10", "make:gray?count=4", STK_PART_VAL, 0.3, 0, 4, NULL},
    {"make:gray?count=10", "make:gray?count=4", STK_PART_ALL, 0.3, 0, 10, NULL},
    /* Folders of their own */
    {NULL, NULL, STK_PART_TRAIN, 0.3, 0, 3, NULL},
    {NULL, NULL, STK_PART_VAL, 0, 0, 2, NULL},
    {NULL, NULL, STK_PART_ALL, 0, 0, 0, "has folders train and val"},
    {NULL, "make:gray?count=4", STK_PART_VAL, 0, 0, 4, NULL},
    /* Windows of a series: held back at the end, with a gap of one window */
    {"make:series?count=100", NULL, STK_PART_TRAIN, 0.2, 0, 91 - 18 - 10, NULL},
    {"make:series?count=100", NULL, STK_PART_VAL, 0.2, 0, 18, NULL},
    {"make:series?count=100", NULL, STK_PART_VAL, 0.9, 0, 0,
     "too few for a validation set of 82 and a gap of 10"},
    /* The limit comes last */
    {"make:gray?count=10", NULL, STK_PART_TRAIN, 0.3, 5, 5, NULL},
    {"make:gray?count=10", NULL, STK_PART_VAL, 0.3, 5, 3, NULL},
    {"make:gray?count=10", NULL, STK_PART_ALL, 0, 99, 10, NULL},
};

static void parts_by_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const stk_loader_options options = {.root = examples[i].root ? examples[i].root : folders,
                                            .val_root = examples[i].val_root,
                                            .part = examples[i].part,
                                            .val_split = examples[i].val_split,
                                            .limit = examples[i].limit,
                                            .sequence_length = 10,
                                            .num_workers = STK_WORKERS_NONE,
                                            .batch_size = 1};
        stk_loader *loader = NULL;
        stk_error error = {0};
        const stk_status status = stk_loader_open(&loader, &options, &error);
        const uint64_t samples = status == STK_OK ? stk_loader_describe(loader)->sample_count : 0;
        if (samples != examples[i].samples)
            print_error("example %zu: %llu samples, %s\n", i, (unsigned long long)samples, error.message);
        assert_int_equal(samples, examples[i].samples);
        if (status != STK_OK) assert_non_null(strstr(error.message, examples[i].words));
        stk_loader_close(&loader);
    }
}

static void workers_by_examples(void **state)
{
    (void)state;
    static const struct {
        int cpus, beside, yielding, alone;
    } rows[] = {{1, 1, 1, 1},    {2, 1, 2, 2},    {3, 1, 3, 3},    {8, 4, 8, 8},     {15, 7, 15, 15},
                {16, 8, 16, 16}, {17, 8, 16, 17}, {64, 8, 16, 64}, {256, 8, 16, 256}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *why[4];
        const stk_loader_options beside = {0}, yielding = {.low_priority = true},
                                 alone = {.dedicated_cpus = true},
                                 both = {.dedicated_cpus = true, .low_priority = true};
        assert_int_equal(stk__loader_default_workers(&beside, rows[i].cpus, &why[0]), rows[i].beside);
        assert_int_equal(stk__loader_default_workers(&yielding, rows[i].cpus, &why[1]), rows[i].yielding);
        assert_int_equal(stk__loader_default_workers(&alone, rows[i].cpus, &why[2]), rows[i].alone);
        assert_int_equal(stk__loader_default_workers(&both, rows[i].cpus, &why[3]), rows[i].alone);
        assert_non_null(strstr(why[0], "half the usable CPUs, at most 8"));
        assert_non_null(strstr(why[1], "every usable CPU, at most 16"));
        assert_non_null(strstr(why[2], "every usable CPU, because no training runs"));
        assert_string_equal(why[3], why[2]);
    }
}

static workspace home;

static int make_folders(void **state)
{
    (void)state;
    static const char *const files[] = {"train/a/1.jpg", "train/a/2.jpg", "train/b/3.jpg", "val/a/4.jpg",
                                        "val/b/5.jpg"};
    stk__buffer bytes = {0};
    stk__pixels pixels = pictures_draw(16, 16, 3, 1);
    pictures_jpeg(&bytes, pixels, &(pictures_jpeg_options){0});
    stk__free(pixels.data);
    home = workspace_make();
    snprintf(folders, sizeof folders, "%s", home.path);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[PATH_MAX + 16];
        snprintf(path, sizeof path, "%s/%s", folders, files[i]);
        workspace_put(&home, files[i], ""); /* makes its folder */
        assert_int_equal(stk__file_write(path, bytes, STK_FILE_QUICK, NULL), STK_OK);
    }
    stk__buffer_fini(&bytes);
    return 0;
}

static int remove_folders(void **state)
{
    (void)state;
    workspace_remove(&home);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_by_examples),
        cmocka_unit_test(workers_by_examples),
    };
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
