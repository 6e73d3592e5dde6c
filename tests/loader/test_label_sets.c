/* SPDX-License-Identifier: Apache-2.0 */
/* Several labels per image in batches: one row of classes a sample; mirrored sides, mixed shares, skipped
 * rows. */
#include "support/sample_set.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 12, CLASSES = 3 };

static dataset pairs;
static char list_path[400];

typedef struct epoch {
    int64_t ids[COUNT];
    float sets[COUNT][CLASSES], lambda[COUNT], weights[COUNT];
} epoch;

/* Sample i has class c if bit c of i is set; the class order is that of the columns' names. */
static int make_set(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, 20, 16);
    snprintf(list_path, sizeof list_path, "%s/sets.csv", pairs.root);
    FILE *file = fopen(list_path, "w");
    assert_non_null(file);
    fputs("file,arm_left,arm_right,face\n", file);
    for (int i = 0; i < COUNT; i++)
        fprintf(file, "%04d.jpg,%d,%d,%d\n", i, i & 1, i >> 1 & 1, i >> 2 & 1);
    fclose(file);
    return 0;
}

static int remove_set(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    return 0;
}

static stk_loader *open_loader(const char *augment)
{
    const stk_loader_options options = {.root = list_path,
                                        .batch_size = 5,
                                        .epochs = 1,
                                        .seed = 3,
                                        .on_bad_sample = STK_BAD_SKIP,
                                        .augment = augment};
    stk_loader *loader;
    stk_error error = {0};
    if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return loader;
}

static void read_epoch(const char *augment, epoch *out)
{
    stk_loader *loader = open_loader(augment);
    const stk_loader_info *info = stk_loader_describe(loader);
    assert_true(info->label_sets && !info->classes && !info->values);
    assert_int_equal(info->class_count, CLASSES);
    assert_string_equal(info->class_names[1], "arm_right");
    stk_batch *batch;
    while (stk_loader_next(loader, &batch, NULL) == STK_OK) {
        assert_int_equal(batch->labels.dtype, STK_DTYPE_F32);
        assert_int_equal(batch->labels.ndim, 2);
        assert_true(batch->labels.shape[0] == batch->count && batch->labels.shape[1] == CLASSES);
        assert_int_equal(batch->labels2.dtype, STK_DTYPE_NONE);
        const size_t at = (size_t)batch->position, count = (size_t)batch->count;
        memcpy(out->sets[at], batch->labels.data, count * sizeof out->sets[0]);
        memcpy(&out->ids[at], batch->sample_ids.data, count * sizeof out->ids[0]);
        memcpy(&out->weights[at], batch->weights.data, count * sizeof out->weights[0]);
        if (batch->lambda.data) memcpy(&out->lambda[at], batch->lambda.data, count * sizeof(float));
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
}

static void sets_are_rows_of_classes(void **state)
{
    (void)state;
    epoch e;
    read_epoch(NULL, &e);
    for (int p = 0; p < COUNT; p++)
        for (int c = 0; c < CLASSES; c++)
            assert_true(e.sets[p][c] == (float)(e.ids[p] >> c & 1));
}

/* arm_left and arm_right are a pair by their names. */
static void sides_change_when_mirrored(void **state)
{
    (void)state;
    epoch e;
    read_epoch("horizontal_flip_prob: 1", &e);
    for (int p = 0; p < COUNT; p++) {
        assert_true(e.sets[p][0] == (float)(e.ids[p] >> 1 & 1));
        assert_true(e.sets[p][1] == (float)(e.ids[p] & 1));
        assert_true(e.sets[p][2] == (float)(e.ids[p] >> 2 & 1));
    }
}

static void shares_are_mixed(void **state)
{
    (void)state;
    epoch plain, mixed;
    int between = 0;
    read_epoch("brightness: 0.1", &plain);
    read_epoch("brightness: 0.1, mixup_alpha: 1, mixup_prob: 0.6, cutmix_alpha: 1, cutmix_prob: 0.3", &mixed);
    for (int p = 0; p < COUNT; p++)
        for (int c = 0; c < CLASSES; c++) {
            const double lambda = (double)mixed.lambda[p],
                         expected =
                             (double)plain.sets[p][c] * lambda + (double)plain.sets[p ^ 1][c] * (1 - lambda);
            assert_true(fabs((double)mixed.sets[p][c] - expected) < 1e-6);
            between += mixed.sets[p][c] > 0 && mixed.sets[p][c] < 1;
        }
    assert_true(between > 3);
}

/* Last: it damages the list. */
static void skipped_samples_have_no_class(void **state)
{
    (void)state;
    epoch e;
    FILE *file = fopen(list_path, "w");
    assert_non_null(file);
    fputs("file,arm_left,arm_right,face\n", file);
    for (int i = 0; i < COUNT; i++)
        fprintf(file, i == 7 ? "%04d.jpg,1,,1\n" : "%04d.jpg,1,1,0\n", i);
    fclose(file);
    read_epoch(NULL, &e);
    for (int p = 0; p < COUNT; p++)
        for (int c = 0; c < CLASSES; c++) {
            assert_true(e.weights[p] == (float)(e.ids[p] != 7));
            assert_true(e.sets[p][c] == (float)(e.ids[p] != 7 && c < 2));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_rows_of_classes),
        cmocka_unit_test(sides_change_when_mirrored),
        cmocka_unit_test(shares_are_mixed),
        cmocka_unit_test(skipped_samples_have_no_class),
    };
    return cmocka_run_group_tests(tests, make_set, remove_set);
}
