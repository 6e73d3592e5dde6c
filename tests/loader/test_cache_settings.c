/* SPDX-License-Identifier: Apache-2.0 */
/* data.cache: what is asked for, what is in effect, and what is said about it. */
#include "core/ram.h"
#include "loader/cache.h"
#include "stoker/runtime.h"
#include "support/sample_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { COUNT = 20, W = 40, H = 32, SAMPLE_BYTES = 64 + W * H * 4 };

static dataset pairs, series;

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, W, H);
    series = dataset_series(100);
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    dataset_remove(&series);
    return 0;
}

static stk_loader *open_cached(const char *cache, int64_t ranks)
{
    stk_loader *loader;
    stk_error error = {0};
    const stk_loader_options options = {.root = pairs.root, .batch_size = 4, .cache = cache, .ranks = ranks};
    if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return loader;
}

static const stk_loader_effect *find_row(const stk_loader *loader)
{
    int count;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(effects[i].name, "data.cache") == 0) return &effects[i];
    return NULL;
}

/* The row of a loader with this setting; in_effect NULL: there is none. */
static void expect_row(const char *cache, const char *in_effect, const char *words)
{
    stk_loader *loader = open_cached(cache, 0);
    const stk_loader_effect *row = find_row(loader);
    assert_int_equal(row != NULL, in_effect != NULL);
    if (row) assert_string_equal(row->in_effect, in_effect);
    if (row && !strstr(row->why, words)) fail_msg("'%s' is not in '%s'", words, row->why);
    assert_int_equal(stk_loader_describe(loader)->cache_bytes > 0, row && strcmp(in_effect, "none") != 0);
    stk_loader_close(&loader);
}

static void words_and_sizes_are_understood(void **state)
{
    (void)state;
    static const char *const none[] = {NULL, "none", "None", "false", "off", "no", "0"},
                             *const automatic[] = {"auto", "AUTO", "true", "on", "yes"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        expect_row(none[i], NULL, "");
    for (size_t i = 0; i < sizeof automatic / sizeof automatic[0]; i++)
        expect_row(automatic[i], "1M", "auto: room for all 20 samples of 40x32; at most half of the ");
    expect_row("2M", "2M", "room for all 20 samples of 40x32");
    expect_row("0.5 MiB", "0.5 MiB", "room for all 20 samples");
}

static void how_many_will_fit_is_told(void **state)
{
    (void)state;
    char size[32];
    snprintf(size, sizeof size, "%d", COUNT * SAMPLE_BYTES);
    expect_row(size, size, "room for all 20 samples");
    snprintf(size, sizeof size, "%d", COUNT * SAMPLE_BYTES - 1);
    expect_row(size, size, "room for 19 of 20 samples of 40x32");
    expect_row("100", "100", "room for 0 of 20 samples");
}

static void as_many_fit_as_was_told(void **state)
{
    (void)state;
    char size[32];
    snprintf(size, sizeof size, "%d", 7 * SAMPLE_BYTES + 50);
    stk_loader *loader = open_cached(size, 0);
    assert_non_null(strstr(find_row(loader)->why, "room for 7 of 20"));
    stk_loader_stats stats;
    for (int epoch = 0; epoch < 2; epoch++)
        dataset_digest(loader, NULL);
    stk_loader_get_stats(loader, &stats);
    assert_int_equal(stats.cache_samples, 7);
    assert_int_equal(stats.cache_bytes, 7 * SAMPLE_BYTES);
    assert_int_equal(stk_loader_describe(loader)->cache_bytes, 7 * SAMPLE_BYTES + 50);
    stk_loader_close(&loader);
}

static void more_than_there_is_is_told(void **state)
{
    (void)state;
    char size[32];
    snprintf(size, sizeof size, "%llu",
             (unsigned long long)stk__ram_read(NULL).available_bytes + (UINT64_C(8) << 30));
    expect_row(size, size, "room for all 20 samples of 40x32; more than the ");
}

static void one_epoch_gains_nothing(void **state)
{
    (void)state;
    stk_loader *loader;
    const stk_loader_options options = {.root = pairs.root, .cache = "auto", .epochs = 1};
    assert_int_equal(stk_loader_open(&loader, &options, NULL), STK_OK);
    assert_non_null(strstr(find_row(loader)->why, "of use from the second epoch on"));
    stk_loader_close(&loader);
}

/* Pages that are promised look free: the second loader must not count on them. */
static void caches_do_not_promise_the_same_memory(void **state)
{
    (void)state;
    const stk__ram ram = stk__ram_read(NULL);
    stk__cache *other;
    const stk__cache_options all = {
        .sample_count = 1, .budget_bytes = ram.available_bytes + (UINT64_C(4) << 30), .channels = 1};
    assert_int_equal(stk__cache_create(&other, &all, NULL), STK_OK);
    expect_row("auto", "none", "has only 0 GB left after the batches");
    stk__cache_destroy(&other);
    expect_row("auto", "1M", "room for all");
}

static void ranks_share_the_machine(void **state)
{
    (void)state;
    stk_loader *loader = open_cached("auto", 4);
    assert_non_null(strstr(find_row(loader)->why, ", for 4 ranks"));
    stk_loader_close(&loader);
}

static void a_series_has_nothing_to_keep(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        stk_loader *loader;
        const stk_loader_options options = {
            .root = series.root, .sequence_length = 10, .cache = i ? "auto" : "8G"};
        assert_int_equal(stk_loader_open(&loader, &options, NULL), STK_OK);
        assert_string_equal(find_row(loader)->in_effect, "");
        assert_non_null(strstr(find_row(loader)->why, "there are no images"));
        assert_int_equal(stk_loader_describe(loader)->cache_bytes, 0);
        stk_loader_close(&loader);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"ram", "8X", "-1", "", "1.5", "8 G G", "1e16"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk_loader *loader;
        stk_error error = {0};
        const stk_loader_options options = {.root = pairs.root, .cache = texts[i]};
        assert_int_equal(stk_loader_open(&loader, &options, &error), STK_ERROR_CONFIG);
        assert_null(loader);
        assert_non_null(strstr(error.message, "is neither none, auto nor a size"));
        assert_non_null(strstr(error.hint, "data.cache=8G"));
    }
}

/* --- memory that is refused ------------------------------------------------------------------------------
 */

static size_t refused_bytes;

static void *give(void *context, size_t size_bytes)
{
    (void)context;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void take_back(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

/* Refuses only the arena of the cache, which is known by its size. */
static void *map(void *context, size_t size_bytes)
{
    (void)context;
    if (size_bytes == refused_bytes) return NULL;
    void *pages =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static int begin_refusing(void **state)
{
    (void)state;
    stk_allocator_set(&(stk_allocator){.alloc = give, .release = take_back, .map = map});
    return 0;
}

static int end_refusing(void **state)
{
    (void)state;
    stk_allocator_set(NULL);
    return 0;
}

/* auto does without, and says so; a size that was asked for cannot be had. */
static void memory_that_cannot_be_reserved(void **state)
{
    (void)state;
    refused_bytes = 1 << 20;
    expect_row("auto", "none", "auto: 1048576 bytes could not be reserved");
    refused_bytes = 3 << 20;
    stk_loader *loader;
    stk_error error = {0};
    const stk_loader_options options = {.root = pairs.root, .cache = "3M"};
    assert_int_equal(stk_loader_open(&loader, &options, &error), STK_ERROR_MEMORY);
    assert_null(loader);
    assert_non_null(strstr(error.message, "the cache"));
    assert_non_null(strstr(error.hint, "data.cache"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_sizes_are_understood),
        cmocka_unit_test(how_many_will_fit_is_told),
        cmocka_unit_test(as_many_fit_as_was_told),
        cmocka_unit_test(more_than_there_is_is_told),
        cmocka_unit_test(one_epoch_gains_nothing),
        cmocka_unit_test(caches_do_not_promise_the_same_memory),
        cmocka_unit_test(ranks_share_the_machine),
        cmocka_unit_test(a_series_has_nothing_to_keep),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test_setup_teardown(memory_that_cannot_be_reserved, begin_refusing, end_refusing),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
