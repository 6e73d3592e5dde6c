/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader says of itself: names of samples by id, and settings with request, effect and reason. */
#include "stoker/stoker.h"
#include "support/sample_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 12, BAD = 7 };

static dataset pairs;

static int make_set(void **state)
{
    (void)state;
    char path[512];
    pairs = dataset_pairs(COUNT, 24, 16);
    snprintf(path, sizeof path, "%s/images/%04d.jpg", pairs.root, BAD);
    FILE *file = fopen(path, "wb"); /* empty: one bad sample */
    return file ? fclose(file) : -1;
}

static int remove_set(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    return 0;
}

typedef struct line {
    int64_t id;
    char path[512];
    int count;
} line;

static void keep_line(void *context, const stk_ledger_entry *entry)
{
    line *kept = context;
    kept->id = entry->sample_id;
    snprintf(kept->path, sizeof kept->path, "%s", entry->path);
    kept->count++;
}

static stk_loader *open_set(stk_loader_options options)
{
    stk_loader *loader;
    stk_error error = {0};
    options.root = pairs.root;
    options.batch_size = 4;
    options.epochs = 1;
    options.on_bad_sample = STK_BAD_SKIP;
    if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return loader;
}

static void names_are_those_of_the_files_and_the_ledger(void **state)
{
    (void)state;
    stk_loader *loader = open_set((stk_loader_options){.num_workers = 1});
    line kept = {.id = -1};
    stk_batch *batch;
    char text[512], expected[600];
    stk_loader_set_ledger(loader, keep_line, &kept);
    while (stk_loader_next(loader, &batch, NULL) == STK_OK)
        stk_batch_release(batch);
    assert_int_equal(kept.count, 1);
    assert_int_equal(kept.id, BAD);
    assert_int_equal(stk_loader_sample_path(loader, kept.id, text, sizeof text, NULL), STK_OK);
    assert_string_equal(text, kept.path);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(stk_loader_sample_key(loader, i, text, sizeof text, NULL), STK_OK);
        snprintf(expected, sizeof expected, "%04d", i);
        assert_string_equal(text, expected);
        assert_int_equal(stk_loader_sample_path(loader, i, text, sizeof text, NULL), STK_OK);
        snprintf(expected, sizeof expected, "%s/images/%04d.jpg", pairs.root, i);
        assert_string_equal(text, expected);
    }
    stk_loader_close(&loader);
}

static void wrong_ids_and_small_memory_are_refused(void **state)
{
    (void)state;
    stk_loader *loader = open_set((stk_loader_options){.num_workers = 1});
    static const int64_t ids[] = {-1, COUNT, INT64_MAX, INT64_MIN};
    char text[8];
    stk_error error = {0};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        text[0] = 'x';
        assert_int_equal(stk_loader_sample_key(loader, ids[i], text, sizeof text, &error),
                         STK_ERROR_ARGUMENT);
        assert_string_equal(text, "");
        assert_non_null(strstr(error.message, "ids are 0 to 11"));
        assert_int_equal(stk_loader_sample_path(loader, ids[i], text, sizeof text, NULL), STK_ERROR_ARGUMENT);
    }
    assert_int_equal(stk_loader_sample_key(loader, 3, text, 5, NULL), STK_OK);
    assert_string_equal(text, "0003");
    assert_int_equal(stk_loader_sample_key(loader, 3, text, 4, &error), STK_ERROR_ARGUMENT);
    assert_string_equal(text, "");
    assert_non_null(strstr(error.message, "takes 5 bytes, not 4"));
    assert_int_equal(stk_loader_sample_path(loader, 3, text, sizeof text, NULL), STK_ERROR_ARGUMENT);
    stk_loader_close(&loader);
}

static const stk_loader_effect *find(const stk_loader *loader, const char *name)
{
    int count;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(effects[i].name, name) == 0) return &effects[i];
    fail_msg("no effect is called %s", name);
    return NULL;
}

static void effects_say_what_was_requested(void **state)
{
    (void)state;
    stk_loader *loader = open_set((stk_loader_options){.shuffle = STK_SWITCH_ON,
                                                       .order = "sequential",
                                                       .persistent_workers = STK_SWITCH_OFF,
                                                       .limit = 100,
                                                       .cache = "auto",
                                                       .augment = "preset: minimal, device: cpu"});
    static const struct {
        const char *name, *requested, *in_effect;
    } rows[] = {
        {"data.shuffle", "true", "false"}, {"data.persistent_workers", "false", "true"},
        {"data.limit", "100", "12"},       {"data.cache", "auto", NULL},
        {"data.num_workers", "", NULL}, /* left to the loader */
        {"data.dtype", "", "f32"},         {"augment.device", "cpu", "cpu"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const stk_loader_effect *effect = find(loader, rows[i].name);
        assert_string_equal(effect->requested, rows[i].requested);
        if (rows[i].in_effect) assert_string_equal(effect->in_effect, rows[i].in_effect);
        assert_true(effect->why[0]);
    }
    stk_loader_close(&loader);
    loader = open_set((stk_loader_options){.part = STK_PART_ALL, .augment = "strong"});
    assert_string_equal(find(loader, "augment.preset")->requested, "strong");
    assert_string_equal(find(loader, "augment.preset")->in_effect, "none");
    stk_loader_close(&loader);
}

/* What `stoker load --hash` prints, and any other program gets. */
static void digests_are_those_of_the_program(void **state)
{
    (void)state;
    stk_loader *loader = open_set((stk_loader_options){.num_workers = 1});
    const stk__digest expected = dataset_digest(loader, NULL);
    stk_loader_close(&loader);
    loader = open_set((stk_loader_options){.num_workers = 2});
    stk_digest digest = {0};
    stk_batch *batch;
    char text[STK_DIGEST_TEXT_BYTES], wanted[STK_DIGEST_TEXT_BYTES];
    while (stk_loader_next(loader, &batch, NULL) == STK_OK) {
        assert_int_equal(stk_digest_add(&digest, batch, NULL), STK_OK);
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    assert_int_equal(stk_digest_print(&digest, text, sizeof text, NULL), STK_OK);
    stk__digest_print(expected, wanted);
    assert_string_equal(text, wanted);
    stk_error error = {0};
    digest = (stk_digest){.high = 1, .low = 0xabc};
    assert_int_equal(stk_digest_print(&digest, text, sizeof text, NULL), STK_OK);
    assert_string_equal(text, "00000000000000010000000000000abc");
    assert_int_equal(stk_digest_print(&digest, text, sizeof text - 1, &error), STK_ERROR_ARGUMENT);
    assert_string_equal(text, "");
    assert_non_null(strstr(error.message, "takes 33 bytes, not 32"));
}

static void batches_of_a_gpu_have_no_digest(void **state)
{
    (void)state;
    const stk_batch resident = {.weights = {.dtype = STK_DTYPE_F32, .device = STK_DEVICE_CUDA, .ndim = 1}};
    stk_digest digest = {.low = 5};
    stk_error error = {0};
    assert_int_equal(stk_digest_add(&digest, &resident, &error), STK_ERROR_UNSUPPORTED);
    assert_true(digest.high == 0 && digest.low == 5);
    assert_non_null(strstr(error.hint, "device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_files_and_the_ledger),
        cmocka_unit_test(wrong_ids_and_small_memory_are_refused),
        cmocka_unit_test(effects_say_what_was_requested),
        cmocka_unit_test(digests_are_those_of_the_program),
        cmocka_unit_test(batches_of_a_gpu_have_no_digest),
    };
    return cmocka_run_group_tests(tests, make_set, remove_set);
}
