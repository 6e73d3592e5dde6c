/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix in the stream, against mixing by hand what comes without them. */
#include "augment/plan.h"
#include "device/device.h"
#include "support/sample_set.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 23, W = 20, H = 16, VALUES = W * H * 3, SEED = 4 };

#define BEFORE "horizontal_flip_prob: 0.5"
#define MIXING "mixup_alpha: 0.6, mixup_prob: 0.4, cutmix_alpha: 1, cutmix_prob: 0.4"

/* An epoch by position. */
typedef struct epoch {
    int64_t ids[COUNT], labels[COUNT], labels2[COUNT];
    float images[COUNT][VALUES], lambda[COUNT], weights[COUNT];
    uint8_t masks[COUNT][W * H], masks2[COUNT][W * H];
    int came;
} epoch;

static dataset pairs;

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, W, H);
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    return 0;
}

static stk_loader *open_loader(const stk_loader_options *options)
{
    stk_loader *loader;
    stk_error error = {0};
    const stk_status status = stk_loader_open(&loader, options, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    return loader;
}

static void copy_place(void *out, const stk_tensor *tensor, int64_t i, size_t bytes)
{
    if (tensor->dtype == STK_DTYPE_NONE) return;
    const int64_t place_bytes = tensor->strides[0] * stk_dtype_bytes(tensor->dtype);
    assert_true((int64_t)bytes >= place_bytes);
    memcpy(out, (const uint8_t *)tensor->data + i * place_bytes, (size_t)place_bytes);
}

static void keep_batch(const stk_batch *batch, epoch *out)
{
    for (int64_t i = 0; i < batch->count; i++) {
        const uint64_t p = batch->position + (uint64_t)i;
        if (p >= COUNT) continue;
        out->came++;
        copy_place(&out->ids[p], &batch->sample_ids, i, 8);
        copy_place(&out->labels[p], &batch->labels, i, 8);
        copy_place(&out->labels2[p], &batch->labels2, i, 8);
        copy_place(out->images[p], &batch->images, i, sizeof out->images[p]);
        copy_place(out->masks[p], &batch->masks, i, sizeof out->masks[p]);
        copy_place(out->masks2[p], &batch->masks2, i, sizeof out->masks2[p]);
        copy_place(&out->lambda[p], &batch->lambda, i, 4);
        copy_place(&out->weights[p], &batch->weights, i, 4);
    }
}

/* All ranks, one epoch. */
static void read_epoch(stk_loader_options options, epoch *out)
{
    memset(out, 0, sizeof *out);
    options.seed = SEED;
    options.epochs = 1;
    const int64_t ranks = options.ranks ? options.ranks : 1;
    for (options.rank = 0; options.rank < ranks; options.rank++) {
        stk_loader *loader = open_loader(&options);
        stk_batch *batch;
        stk_status status;
        while (out->came < COUNT && (status = stk_loader_next(loader, &batch, NULL)) != STK_END) {
            assert_int_equal(status, STK_OK);
            keep_batch(batch, out);
            stk_batch_release(batch);
        }
        stk_loader_close(&loader);
    }
}

static stk__plan *make_plan(void)
{
    stk__augment_settings settings = {0};
    static const char *const rows[][2] = {{"horizontal_flip_prob", "0.5"},
                                          {"mixup_alpha", "0.6"},
                                          {"mixup_prob", "0.4"},
                                          {"cutmix_alpha", "1"},
                                          {"cutmix_prob", "0.4"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(stk__augment_set(&settings, rows[i][0], rows[i][1], NULL), STK_OK);
    stk__plan *plan;
    assert_int_equal(stk__plan_create(&plan, &settings, SEED, NULL), STK_OK);
    assert_true(stk__plan_mixes(plan));
    return plan;
}

static bool in_box(const stk__mix *mix, int i)
{
    const int x = i % W, y = i / W;
    return x >= mix->x && x < mix->x + mix->w && y >= mix->y && y < mix->y + mix->h;
}

static void check_pixels(const epoch *plain, const epoch *mixed, const stk__mix *mix, int a, int b)
{
    const double lambda = (double)mix->lambda;
    for (int i = 0; i < W * H; i++) {
        const bool other = mix->kind == STK_MIX_CUTMIX && in_box(mix, i);
        const bool blended = mix->kind == STK_MIX_MIXUP;
        const int mask = plain->masks[other ? b : a][i];
        assert_int_equal(mixed->masks[a][i], mask);
        assert_int_equal(mixed->masks2[a][i], blended ? plain->masks[b][i] : mask);
        for (int v = 3 * i; v < 3 * i + 3; v++) {
            const double own = (double)plain->images[a][v], others = (double)plain->images[b][v];
            const double expected = blended ? own * lambda + others * (1 - lambda) : other ? others : own;
            assert_true(fabs((double)mixed->images[a][v] - expected) < (blended ? 1e-6 : 1e-30));
        }
    }
}

static void pairs_are_mixed_as_the_plan_says(void **state)
{
    (void)state;
    static epoch plain, mixed;
    stk_loader_options options = {.root = pairs.root, .batch_size = COUNT, .augment = BEFORE};
    read_epoch(options, &plain);
    options.augment = BEFORE ", " MIXING;
    read_epoch(options, &mixed);
    assert_memory_equal(plain.ids, mixed.ids, sizeof plain.ids);
    stk__plan *plan = make_plan();
    int kinds[3] = {0};
    for (int a = 0; a < COUNT; a++) {
        const int b = a ^ 1;
        stk__mix mix = {.lambda = 1};
        if (b < COUNT) mix = stk__plan_mix(plan, 0, (uint32_t)plain.ids[a & ~1], W, H);
        if (mix.kind == STK_MIX_CUTMIX)
            assert_true(fabs((double)mix.lambda - (1 - (double)(mix.w * mix.h) / (W * H))) < 1e-6);
        assert_true(mixed.lambda[a] == mix.lambda);
        check_pixels(&plain, &mixed, &mix, a, b < COUNT ? b : a);
        kinds[mix.kind]++;
    }
    assert_true(kinds[STK_MIX_NONE] >= 1 && kinds[STK_MIX_MIXUP] >= 4 && kinds[STK_MIX_CUTMIX] >= 4);
    stk__plan_destroy(&plan);
}

/* Wherever a batch or a rank's part ends, partners find each other. */
static void batch_size_workers_and_ranks_change_nothing(void **state)
{
    (void)state;
    static epoch expected, other;
    stk_loader_options options = {.root = pairs.root, .batch_size = COUNT, .augment = BEFORE ", " MIXING};
    read_epoch(options, &expected);
    static const struct {
        int64_t batch_size, ranks, workers;
    } ways[] = {{1, 1, 2}, {2, 1, STK_WORKERS_NONE}, {3, 1, 2}, {5, 1, 3}, {8, 1, 1},
                {1, 3, 2}, {3, 2, STK_WORKERS_NONE}, {5, 3, 2}, {7, 4, 1}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        options.batch_size = ways[i].batch_size;
        options.ranks = ways[i].ranks;
        options.num_workers = ways[i].workers;
        read_epoch(options, &other);
        assert_int_equal(other.came, COUNT);
        assert_memory_equal(&other, &expected, sizeof other);
    }
    stk__device *device; /* that finishes batches with partners of others */
    stk_error error;
    if (stk__device_open(&device, "opencl:0", &error) != STK_OK) {
        print_message("without opencl:0: %s\n", error.message);
        return;
    }
    stk__device_close(&device);
    options.augment = BEFORE ", " MIXING ", device: opencl:0";
    read_epoch(options, &other);
    assert_memory_equal(&other, &expected, sizeof other);
}

static void a_dropped_last_batch_still_lends_its_partner(void **state)
{
    (void)state;
    static epoch expected, other;
    stk_loader_options options = {.root = pairs.root, .batch_size = COUNT, .augment = BEFORE ", " MIXING};
    read_epoch(options, &expected);
    options.batch_size = 7; /* 0 … 20 come, 20 is the partner of 21 */
    options.drop_last = STK_SWITCH_ON;
    read_epoch(options, &other);
    assert_int_equal(other.came, 21);
    assert_memory_equal(other.images, expected.images, 21 * sizeof other.images[0]);
    assert_memory_equal(other.masks2, expected.masks2, 21 * sizeof other.masks2[0]);
    assert_memory_equal(other.lambda, expected.lambda, 21 * sizeof other.lambda[0]);
}

/* From any position, also an odd one. */
static void resume_finds_the_partner_again(void **state)
{
    (void)state;
    static epoch expected, other;
    stk_loader_options options = {.root = pairs.root, .batch_size = 3, .augment = BEFORE ", " MIXING};
    read_epoch(options, &expected);
    options.seed = SEED;
    options.epochs = 1;
    memset(&other, 0, sizeof other);
    stk_loader_state at = {0};
    for (int part = 0; part < 3; part++) {
        stk_loader *loader = open_loader(&options);
        if (part) assert_int_equal(stk_loader_seek(loader, &at, NULL), STK_OK);
        stk_batch *batch;
        for (int n = 0; (part == 2 || n < 2) && stk_loader_next(loader, &batch, NULL) == STK_OK; n++) {
            keep_batch(batch, &other);
            stk_batch_release(batch);
            stk_loader_tell(loader, &at);
        }
        stk_loader_close(&loader);
        options.batch_size += 2;
    }
    assert_memory_equal(&other, &expected, sizeof other);
}

static void classes_keep_both_labels(void **state)
{
    (void)state;
    static epoch plain, mixed;
    stk_loader_options options = {
        .root = "make:gray", .channels = 3, .image_size = {H, W}, .batch_size = 5, .augment = BEFORE};
    read_epoch(options, &plain);
    options.augment = BEFORE ", " MIXING;
    read_epoch(options, &mixed);
    assert_memory_equal(plain.labels, mixed.labels, sizeof plain.labels);
    int different = 0;
    for (int a = 0; a < COUNT - 1; a++) { /* the partner of the last one was not kept */
        const bool is_mixed = mixed.lambda[a] != 1;
        assert_int_equal(mixed.labels2[a], plain.labels[is_mixed ? a ^ 1 : a]);
        different += mixed.labels2[a] != mixed.labels[a];
    }
    assert_true(different >= 4);
}

static float value_of(const epoch *e, int position)
{
    float value; /* the first four bytes of a place for labels */
    memcpy(&value, &e->labels[position], sizeof value);
    return value;
}

/* There is no second target: value a x lambda + value b x (1 - lambda). A mirrored image keeps its value. */
static void values_are_mixed_themselves(void **state)
{
    (void)state;
    static epoch plain, mixed;
    char path[400];
    snprintf(path, sizeof path, "%s/values.csv", pairs.root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("file,value\n", file);
    for (int i = 0; i < COUNT; i++)
        fprintf(file, "%04d.jpg,%d.5\n", i, 10 * i);
    fclose(file);
    stk_loader_options options = {.root = path, .batch_size = 5, .augment = BEFORE};
    read_epoch(options, &plain);
    options.augment = BEFORE ", " MIXING;
    read_epoch(options, &mixed);
    remove(path);
    int different = 0;
    for (int a = 0; a < COUNT; a++) {
        const double lambda = (double)mixed.lambda[a], own = 10 * (double)plain.ids[a] + 0.5;
        const double others = a + 1 < COUNT || a % 2 ? 10 * (double)plain.ids[a ^ 1] + 0.5 : own;
        assert_true((double)value_of(&plain, a) == own);
        assert_true(fabs((double)value_of(&mixed, a) - (own * lambda + others * (1 - lambda))) < 1e-4);
        different += value_of(&mixed, a) != value_of(&plain, a);
    }
    assert_true(different >= 8);
}

static void damage_file(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/images/%s", pairs.root, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("no picture", file);
    fclose(file);
}

/* What was left out has weight 0 and is not mixed, nor is its partner. Last: it damages the data set. */
static void partners_of_skipped_samples_stay_alone(void **state)
{
    (void)state;
    static epoch plain, mixed;
    damage_file("0007.jpg");
    stk_loader_options options = {
        .root = pairs.root, .batch_size = 1, .on_bad_sample = STK_BAD_SKIP, .augment = BEFORE};
    read_epoch(options, &plain);
    options.augment = BEFORE ", " MIXING;
    read_epoch(options, &mixed);
    options.augment = BEFORE ", " MIXING ", device: \"null\"";
    static epoch untouched; /* a device that writes nothing leaves skipped places empty all the same */
    read_epoch(options, &untouched);
    int skipped = 0;
    for (int p = 0; p < COUNT; p++) {
        if (mixed.weights[p] != 0) continue;
        const int b = p ^ 1;
        assert_int_equal(mixed.ids[p], 7);
        assert_memory_equal(mixed.masks[p], untouched.masks[p], sizeof mixed.masks[p]);
        assert_true(mixed.lambda[p] == 1 && mixed.lambda[b] == 1);
        assert_memory_equal(mixed.images[b], plain.images[b], sizeof plain.images[b]);
        for (int i = 0; i < W * H; i++)
            assert_int_equal(mixed.masks[p][i] & mixed.masks2[p][i], 255);
        skipped++;
    }
    assert_int_equal(skipped, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_mixed_as_the_plan_says),
        cmocka_unit_test(batch_size_workers_and_ranks_change_nothing),
        cmocka_unit_test(a_dropped_last_batch_still_lends_its_partner),
        cmocka_unit_test(resume_finds_the_partner_again),
        cmocka_unit_test(classes_keep_both_labels),
        cmocka_unit_test(values_are_mixed_themselves),
        cmocka_unit_test(partners_of_skipped_samples_stay_alone),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
