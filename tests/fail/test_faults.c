/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation and every thread start that a loader makes fails once, transiently and for good: a clean
 * status, no leak, no hang. And after warm-up there are no allocations at all. */
#include "core/thread.h"
#include "stoker/runtime.h"
#include "support/sample_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 24, NEVER = -1 };

typedef struct fault {
    atomic_long calls, alive;
    long fail_at;  /* call number, or NEVER */
    bool for_good; /* this one and all after it */
} fault;

static fault memory, threads;
static dataset pairs, damaged, mixed, series, parts;

static bool fails(fault *f)
{
    const long call = atomic_fetch_add(&f->calls, 1);
    if (f->fail_at == NEVER || call < f->fail_at) return false;
    return f->for_good || call == f->fail_at;
}

static void *counted_alloc(void *context, size_t size_bytes)
{
    if (fails(context)) return NULL;
    atomic_fetch_add(&((fault *)context)->alive, 1);
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void counted_release(void *context, void *block, size_t size_bytes)
{
    (void)size_bytes;
    atomic_fetch_sub(&((fault *)context)->alive, 1);
    free(block);
}

static void *counted_map(void *context, size_t size_bytes)
{
    if (fails(context)) return NULL;
    void *pages =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(pages != MAP_FAILED);
    atomic_fetch_add(&((fault *)context)->alive, 1);
    return pages;
}

static void counted_unmap(void *context, void *pages, size_t size_bytes)
{
    atomic_fetch_sub(&((fault *)context)->alive, 1);
    munmap(pages, size_bytes);
}

static bool thread_fails(void)
{
    return fails(&threads);
}

static void arm(fault *f, long fail_at, bool for_good)
{
    atomic_store(&f->calls, 0);
    f->fail_at = fail_at;
    f->for_good = for_good;
}

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, 24, 16);
    damaged = dataset_pairs(COUNT, 24, 16);
    mixed = dataset_mixed_sizes(COUNT);
    series = dataset_series(40);
    parts = dataset_part_masks(COUNT, 24, 16);
    char path[512];
    snprintf(path, sizeof path, "%s/masks/0003.png", damaged.root);
    assert_int_equal(truncate(path, 60), 0);
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    dataset_remove(&damaged);
    dataset_remove(&mixed);
    dataset_remove(&series);
    dataset_remove(&parts);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    arm(&memory, NEVER, false);
    arm(&threads, NEVER, false);
    const stk_allocator hook = {.alloc = counted_alloc,
                                .release = counted_release,
                                .map = counted_map,
                                .unmap = counted_unmap,
                                .context = &memory};
    stk_allocator_set(&hook);
    stk__thread_fault_set(thread_fails);
    return 0;
}

static int end(void **state)
{
    (void)state;
    stk__thread_fault_set(NULL);
    stk_allocator_set(NULL);
    return 0;
}

/* One whole life of a loader; STK_OK when it went through. */
static stk_status live(stk_loader_options options, stk_error *error)
{
    stk_loader *loader;
    stk_batch *batch;
    options.epochs = 1;
    stk_status status = stk_loader_open(&loader, &options, error);
    if (status != STK_OK) {
        assert_null(loader);
        return status;
    }
    while ((status = stk_loader_next(loader, &batch, error)) == STK_OK)
        stk_batch_release(batch);
    assert_int_equal(stk_loader_close(&loader), 0);
    return status == STK_END ? STK_OK : status;
}

/* Lets call 0, 1, 2, … of f fail until a life needs no more calls than that. */
static void fail_each(fault *f, stk_loader_options options, bool for_good, stk_status expected)
{
    long failures = 0;
    for (long n = 0;; n++) {
        stk_error error = {0};
        arm(f, n, for_good);
        const stk_status status = live(options, &error);
        const bool reached = atomic_load(&f->calls) > n;
        if (!reached) {
            assert_int_equal(status, STK_OK);
            break;
        }
        failures += status != STK_OK;
        if (status != STK_OK) {
            assert_int_equal(status, expected);
            assert_int_equal(error.code, expected);
            assert_true(error.message[0]);
        }
        assert_int_equal(atomic_load(&memory.alive), 0);
    }
    assert_true(failures >= 3);
}

/* A data set of functions: the other way to memory of a sample. */
static stk_status give_pixels(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                              stk_error *error)
{
    (void)context;
    (void)error;
    const int32_t channels = field == STK_FIELD_MASK ? 1 : 3;
    uint8_t *room = stk_sample_sink_pixels(sink, 16, 24, channels);
    if (room) memset(room, (int)index % 5, (size_t)(16 * 24 * channels));
    return room ? STK_OK : STK_ERROR_IO; /* who has no room knows no reason */
}

static stk_status give_facts(void *context, uint64_t index, stk_sample_facts *facts, stk_error *error)
{
    (void)context;
    (void)error;
    facts->set[index % 4] = 1;
    facts->points[2] = 1;
    return STK_OK;
}

static const char *const side_names[] = {"a", "l_b", "r_b", "c"};
static const stk_dataset functions = {.struct_size = sizeof functions,
                                      .count = COUNT,
                                      .masks = true,
                                      .label = STK_LABEL_SET,
                                      .class_count = 4,
                                      .class_names = side_names,
                                      .point_count = 2,
                                      .read = give_pixels,
                                      .facts = give_facts};

static const int64_t worker_counts[] = {STK_WORKERS_NONE, 1, 2};

static void each_allocation_fails(void **state)
{
    (void)state;
    for (size_t w = 0; w < sizeof worker_counts / sizeof worker_counts[0]; w++)
        for (int for_good = 0; for_good < 2; for_good++)
            fail_each(
                &memory,
                (stk_loader_options){.root = pairs.root, .batch_size = 5, .num_workers = worker_counts[w]},
                for_good, STK_ERROR_MEMORY);
}

static void each_allocation_fails_beside_a_bad_sample(void **state)
{
    (void)state;
    const int policies[] = {STK_BAD_REPLACE, STK_BAD_SKIP};
    for (int p = 0; p < 2; p++)
        for (int for_good = 0; for_good < 2; for_good++)
            fail_each(
                &memory,
                (stk_loader_options){
                    .root = damaged.root, .batch_size = 5, .num_workers = 2, .on_bad_sample = policies[p]},
                for_good, STK_ERROR_MEMORY);
}

#define STRONG "preset: strong, mixup_alpha: 0.4, crop: 0.5"

/* What only other data and settings reach: turning and resizing, spare room, windows, the mask map, plans,
 * partners of other batches, batches that a device finishes, caches. */
static void each_allocation_fails_on_other_ways(void **state)
{
    (void)state;
    const stk_loader_options ways[] = {
        {.root = pairs.root, .batch_size = 5, .num_workers = 2, .image_size = {9, 7}, .channels = 1},
        {.root = pairs.root,
         .batch_size = 5,
         .num_workers = 2,
         .val_split = 0.3,
         .mask_map = "0:0,1:1,2:2,3:3,4:4"},
        {.root = mixed.root, .batch_size = 5, .num_workers = 2},
        {.root = mixed.root, .batch_size = 5, .num_workers = 2, .image_size = {64, 64}},
        {.root = series.root, .batch_size = 5, .num_workers = 2, .sequence_length = 8},
        {.root = "make:gray?count=6", .batch_size = 5, .num_workers = 2},
        {.root = parts.root, .batch_size = 5, .num_workers = 2},
        {.root = pairs.root, .batch_size = 5, .num_workers = 2, .augment = STRONG},
        {.root = pairs.root, .batch_size = 5, .num_workers = 2, .augment = STRONG ", device: \"null\""},
        {.root = mixed.root, .batch_size = 5, .num_workers = STK_WORKERS_NONE, .augment = "standard"},
        {.root = pairs.root, .batch_size = 5, .num_workers = 2, .cache = "1M"},
        {.dataset = &functions, .batch_size = 5, .num_workers = 2},
        {.dataset = &functions, .batch_size = 5, .num_workers = 2, .cache = "1M", .augment = STRONG},
        {.root = pairs.root,
         .batch_size = 5,
         .num_workers = 2,
         .cache = "1M",
         .augment = "minimal",
         .flip_pairs = "0:1,2:3"},
        {.root = mixed.root, .batch_size = 5, .num_workers = 2, .cache = "auto", .augment = STRONG},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        for (int for_good = 0; for_good < 2; for_good++)
            fail_each(&memory, ways[i], for_good, STK_ERROR_MEMORY);
}

static void each_thread_start_fails(void **state)
{
    (void)state;
    for (int for_good = 0; for_good < 2; for_good++)
        for (int device = 0; device < 2; device++)
            fail_each(&threads,
                      (stk_loader_options){.root = pairs.root,
                                           .batch_size = 5,
                                           .num_workers = 4,
                                           .augment = device ? "device: \"null\", preset: minimal" : NULL},
                      for_good, STK_ERROR_THREAD);
}

static void expect_no_allocation(const char *root, stk_loader_options options)
{
    stk_loader *loader;
    stk_batch *batch;
    long before = 0;
    options.batch_size = 3;
    options.num_workers = 2;
    options.root = root;
    assert_int_equal(stk_loader_open(&loader, &options, NULL), STK_OK);
    for (int batches = 0; batches < 1300;) {
        const stk_status status = stk_loader_next(loader, &batch, NULL);
        if (status == STK_END) continue;
        assert_int_equal(status, STK_OK);
        stk_batch_release(batch);
        if (++batches == 300) before = atomic_load(&memory.calls);
    }
    assert_true(before > 10);
    assert_int_equal(atomic_load(&memory.calls) - before, 0);
    stk_loader_close(&loader);
    assert_int_equal(atomic_load(&memory.alive), 0);
}

static void nothing_is_allocated_after_warm_up(void **state)
{
    (void)state;
    expect_no_allocation(pairs.root, (stk_loader_options){0});
    expect_no_allocation(pairs.root, (stk_loader_options){.augment = STRONG});
    expect_no_allocation(parts.root, (stk_loader_options){0});
    expect_no_allocation(parts.root, (stk_loader_options){.augment = STRONG, .image_size = {9, 7}});
    expect_no_allocation(pairs.root, (stk_loader_options){.cache = "auto"});
    expect_no_allocation(NULL, (stk_loader_options){.dataset = &functions, .augment = STRONG});
    expect_no_allocation(pairs.root, (stk_loader_options){.cache = "20k", .augment = STRONG});
}

int main(void)
{
    alarm(250); /* a hang is a failure too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_allocation_fails, begin, end),
        cmocka_unit_test_setup_teardown(each_allocation_fails_beside_a_bad_sample, begin, end),
        cmocka_unit_test_setup_teardown(each_allocation_fails_on_other_ways, begin, end),
        cmocka_unit_test_setup_teardown(each_thread_start_fails, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_allocated_after_warm_up, begin, end),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
