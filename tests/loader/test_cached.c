/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders with a cache: the same bytes as without, whatever else is set; and nothing is read twice. */
#include "core/file.h"
#include "loader/digest.h"
#include "loader/pump.h"
#include "support/sample_set.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 29, EPOCHS = 3, W = 40, H = 32, MIXED = 17, TURNED = 11 };

#define MIXING "preset: strong, mixup_alpha: 0.4, cutmix_alpha: 1"

static dataset pairs, sizes, turned, damaged;

static void put(const dataset *set, const char *name, stk__buffer *bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", set->root, name);
    assert_int_equal(stk__file_write(path, *bytes, STK_FILE_QUICK, NULL), STK_OK);
    stk__buffer_fini(bytes);
}

/* Images that EXIF turns: upright they have other sides. */
static void turn_images(const dataset *set, int count)
{
    for (int i = 0; i < count; i++) {
        char name[32];
        stk__buffer bytes = {0};
        stk__pixels pixels = pictures_draw(36, 20, 3, (uint32_t)i + 1);
        pictures_jpeg(&bytes, pixels, &(pictures_jpeg_options){.orientation = 1 + i % 8});
        snprintf(name, sizeof name, "%02d.jpg", i);
        put(set, name, &bytes);
        stk__free(pixels.data);
    }
}

static void cut(const dataset *set, const char *name, long size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", set->root, name);
    assert_int_equal(truncate(path, size), 0);
}

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, W, H);
    sizes = dataset_mixed_sizes(MIXED);
    turned = dataset_empty();
    turn_images(&turned, TURNED);
    damaged = dataset_pairs(COUNT, W, H);
    cut(&damaged, "images/0004.jpg", 300); /* its header is good */
    cut(&damaged, "images/0011.jpg", 0);
    cut(&damaged, "masks/0019.png", 60); /* its image is good */
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    dataset_remove(&sizes);
    dataset_remove(&turned);
    dataset_remove(&damaged);
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

/* One digest for each epoch, and what the loader says of itself in the end. */
typedef struct outcome {
    stk__digest epochs[EPOCHS];
    stk_loader_stats stats;
} outcome;

static outcome run(stk_loader_options options)
{
    outcome out;
    options.epochs = EPOCHS;
    stk_loader *loader = open_loader(&options);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        out.epochs[epoch] = dataset_digest(loader, NULL);
    stk_loader_get_stats(loader, &out.stats);
    assert_int_equal(stk_loader_close(&loader), 0);
    return out;
}

static const int64_t workers[] = {STK_WORKERS_NONE, 1, 2, 5};
static const char *const caches[] = {"auto", "64M", "30k"};

/* The same stream for every number of workers, with a cache for all samples and for a few. */
static void expect_same_stream(stk_loader_options options)
{
    const outcome expected = run(options);
    assert_int_equal(expected.stats.cache_samples, 0);
    for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++)
        for (size_t c = 0; c < sizeof caches / sizeof caches[0]; c++) {
            options.num_workers = workers[w];
            options.cache = caches[c];
            const outcome out = run(options);
            assert_memory_equal(out.epochs, expected.epochs, sizeof out.epochs);
            assert_true(out.stats.cache_samples > 0 && out.stats.cache_hits > 0);
            assert_int_equal(out.stats.samples, expected.stats.samples);
            assert_true(out.stats.bytes_read < expected.stats.bytes_read);
        }
}

static void decoded_streams_are_the_same(void **state)
{
    (void)state;
    const stk_loader_options ways[] = {
        {.root = pairs.root, .batch_size = 6},
        {.root = pairs.root, .batch_size = 5, .image_size = {24, 20}, .channels = 1},
        {.root = pairs.root, .batch_size = 6, .mask_map = "0:9,1:8,2:7,3:6,4:5", .val_split = 0.3},
        {.root = pairs.root, .batch_size = 6, .val_split = 0.4, .part = STK_PART_VAL, .limit = 7},
        {.root = pairs.root, .batch_size = 4, .order = "blocks(5)", .drop_last = STK_SWITCH_ON},
        {.root = pairs.root, .batch_size = 4, .ranks = 3, .rank = 1},
        {.root = sizes.root, .batch_size = 6},
        {.root = sizes.root, .batch_size = 6, .image_size = {30, 30}},
        {.root = turned.root, .batch_size = 4},
        {.root = turned.root, .batch_size = 4, .exif = STK_SWITCH_OFF},
        {.root = "make:captcha?count=9", .batch_size = 4, .image_size = {40, 56}},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        expect_same_stream(ways[i]);
}

static void finished_streams_are_the_same(void **state)
{
    (void)state;
    const stk_loader_options ways[] = {
        {.root = pairs.root, .batch_size = 6, .mean = {0.5, 0.5, 0.5}, .axes = STK_AXES_NCHW},
        {.root = pairs.root, .batch_size = 6, .seed = 4, .augment = "strong"},
        {.root = pairs.root, .batch_size = 5, .seed = 4, .augment = MIXING},
        {.root = pairs.root, .batch_size = 3, .ranks = 2, .rank = 1, .augment = MIXING},
        {.root = pairs.root, .batch_size = 6, .image_size = {20, 20}, .augment = "preset: strong, crop: 0.5"},
        {.root = pairs.root, .batch_size = 6, .image_size = {64, 64}, .augment = "standard"},
        {.root = sizes.root, .batch_size = 6, .augment = "standard"},
        {.root = turned.root, .batch_size = 4, .augment = "standard"},
        {.root = "make:captcha?count=9", .batch_size = 4, .image_size = {40, 56}, .augment = "standard"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        expect_same_stream(ways[i]);
}

/* Batches that a device finishes get their pixels from the cache, too. The device is the CPU's, put in the
 * place of one that does nothing: that may be done before the first batch, when the caller's thread loads. */
static void a_device_gets_the_same_pixels(void **state)
{
    (void)state;
    const dataset *const sets[] = {&pairs, &sizes};
    for (int i = 0; i < 2; i++) {
        stk_loader_options options = {.root = sets[i]->root, .batch_size = 5, .augment = MIXING};
        const outcome expected = run(options);
        options.augment = MIXING ", device: \"null\"";
        options.num_workers = STK_WORKERS_NONE;
        options.cache = "auto";
        options.epochs = EPOCHS;
        stk_loader *loader = open_loader(&options);
        stk__device_close(&loader->device);
        assert_int_equal(stk__device_open(&loader->device, "cpu", NULL), STK_OK);
        loader->device->timeout_ns = UINT64_MAX / 2;
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            const stk__digest digest = dataset_digest(loader, NULL);
            assert_memory_equal(&digest, &expected.epochs[epoch], sizeof digest);
        }
        stk_loader_stats stats;
        stk_loader_get_stats(loader, &stats);
        assert_int_equal(stats.cache_samples, i ? MIXED : COUNT);
        stk_loader_close(&loader);
    }
}

static void nothing_is_read_twice(void **state)
{
    (void)state;
    const outcome plain = run((stk_loader_options){.root = pairs.root, .batch_size = 4});
    for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++) {
        stk_loader *loader = open_loader(&(stk_loader_options){.root = pairs.root,
                                                               .batch_size = 4,
                                                               .num_workers = workers[w],
                                                               .epochs = EPOCHS,
                                                               .cache = "auto"});
        stk_loader_stats first, second, third;
        dataset_digest(loader, NULL);
        stk_loader_get_stats(loader, &first);
        dataset_digest(loader, NULL);
        stk_loader_get_stats(loader, &second);
        dataset_digest(loader, NULL);
        stk_loader_get_stats(loader, &third);
        /* Two workers may meet at the turn of an epoch; one cannot. */
        if (workers[w] < 2) assert_int_equal(first.bytes_read, plain.stats.bytes_read / EPOCHS);
        if (workers[w] < 2) assert_int_equal(third.cache_hits, (EPOCHS - 1) * COUNT);
        assert_true(first.bytes_read > 0);
        assert_int_equal(third.bytes_read, second.bytes_read);
        assert_int_equal(third.cache_samples, COUNT);
        assert_true(third.cache_bytes >= COUNT * W * H * 4);
        assert_true(third.stage_ns[STK_STAGE_CACHE] > 0);
        stk_loader_close(&loader);
    }
}

/* --- bad samples -----------------------------------------------------------------------------------------
 */

typedef struct lines {
    stk__hash *hash;
    stk__digest digest; /* of what is told */
    int count, in_epoch[EPOCHS];
} lines;

static void add_line(void *context, const stk_ledger_entry *entry)
{
    lines *all = context;
    char text[2048];
    const int length = snprintf(text, sizeof text, "%llu %llu %lld %d %s %s",
                                (unsigned long long)entry->epoch, (unsigned long long)entry->position,
                                (long long)entry->sample_id, (int)entry->damage, entry->path, entry->action);
    stk__hash_reset(all->hash);
    stk__hash_update(all->hash, &all->digest, sizeof all->digest);
    stk__hash_update(all->hash, text, (size_t)length);
    all->digest = stk__hash_digest(all->hash);
    all->count++;
    all->in_epoch[entry->epoch]++;
}

static outcome run_damaged(stk_loader_options options, lines *told)
{
    outcome out;
    *told = (lines){0};
    assert_int_equal(stk__hash_create(&told->hash, NULL), STK_OK);
    options.epochs = EPOCHS;
    stk_loader *loader = open_loader(&options);
    stk_loader_set_ledger(loader, add_line, told);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        out.epochs[epoch] = dataset_digest(loader, NULL);
    stk_loader_get_stats(loader, &out.stats);
    stk_loader_close(&loader);
    stk__hash_destroy(&told->hash);
    return out;
}

/* Replaced or skipped, named anew in every epoch, and never kept: a good image with a bad mask neither. */
static void bad_samples_stay_bad(void **state)
{
    (void)state;
    const int policies[] = {STK_BAD_REPLACE, STK_BAD_SKIP};
    const char *const chains[] = {NULL, MIXING};
    for (int way = 0; way < 4; way++) {
        stk_loader_options options = {.root = damaged.root,
                                      .batch_size = 5,
                                      .seed = 3,
                                      .on_bad_sample = policies[way % 2],
                                      .augment = chains[way / 2]};
        lines expected, told;
        const outcome plain = run_damaged(options, &expected);
        assert_true(expected.count >= 3 * EPOCHS);
        for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++) {
            options.num_workers = workers[w];
            options.cache = "auto";
            const outcome out = run_damaged(options, &told);
            assert_memory_equal(out.epochs, plain.epochs, sizeof out.epochs);
            assert_int_equal(told.count, expected.count);
            assert_memory_equal(told.in_epoch, expected.in_epoch, sizeof told.in_epoch);
            assert_memory_equal(&told.digest, &expected.digest, sizeof told.digest);
            assert_int_equal(out.stats.cache_samples, COUNT - 3);
            assert_int_equal(out.stats.bad_samples, plain.stats.bad_samples);
        }
    }
}

static void a_bad_sample_still_stops_the_load(void **state)
{
    (void)state;
    stk_error errors[2] = {{0}};
    for (int cached = 0; cached < 2; cached++) {
        stk_loader *loader = open_loader(&(stk_loader_options){.root = damaged.root,
                                                               .batch_size = 5,
                                                               .num_workers = 2,
                                                               .shuffle = STK_SWITCH_OFF,
                                                               .cache = cached ? "auto" : "none"});
        stk_batch *batch;
        assert_int_equal(stk_loader_next(loader, &batch, &errors[cached]), STK_ERROR_SAMPLE);
        stk_loader_close(&loader);
    }
    assert_string_equal(errors[0].message, errors[1].message);
    assert_string_equal(errors[0].place, errors[1].place);
    assert_non_null(strstr(errors[1].place, "0004.jpg"));
}

/* --- going on --------------------------------------------------------------------------------------------
 */

enum { BATCH = 4, PER_EPOCH = (COUNT + BATCH - 1) / BATCH, STOP = PER_EPOCH + 3 };

static stk_loader *open_mixing(bool cached)
{
    return open_loader(&(stk_loader_options){.root = pairs.root,
                                             .batch_size = BATCH,
                                             .epochs = 2,
                                             .augment = MIXING,
                                             .cache = cached ? "auto" : "none"});
}

static void take(stk_loader *loader, int batches, stk__hash *hash, stk__digest *digest)
{
    while (batches) {
        stk_batch *batch;
        const stk_status status = stk_loader_next(loader, &batch, NULL);
        if (status == STK_END) continue;
        assert_int_equal(status, STK_OK);
        *digest = stk__digest_chain(hash, *digest, batch);
        stk_batch_release(batch);
        batches--;
    }
}

/* To the middle of the second epoch in one loader, from there on in another: each with a cache or without. */
static void a_stream_goes_on_with_and_without(void **state)
{
    (void)state;
    stk__digest digests[4] = {{0}};
    stk__hash *hash;
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    for (int trial = 0; trial < 4; trial++) {
        stk_loader_state at;
        stk_loader *loader = open_mixing(trial & 1);
        take(loader, STOP, hash, &digests[trial]);
        stk_loader_tell(loader, &at);
        stk_loader_close(&loader);
        loader = open_mixing(trial & 2);
        assert_int_equal(stk_loader_seek(loader, &at, NULL), STK_OK);
        take(loader, 2 * PER_EPOCH - STOP, hash, &digests[trial]);
        stk_loader_close(&loader);
        assert_memory_equal(&digests[trial], &digests[0], sizeof digests[0]);
    }
    stk__hash_destroy(&hash);
}

/* What came from files in the first epoch comes from the cache when the loader is sent back to it. */
static void a_warm_cache_stays_when_seeking(void **state)
{
    (void)state;
    stk__digest cold = {0}, warm = {0};
    stk_loader_state start;
    stk_loader_stats before, after;
    stk__hash *hash;
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    stk_loader *loader = open_mixing(true);
    stk_loader_tell(loader, &start);
    take(loader, 2 * PER_EPOCH, hash, &cold);
    stk_loader_get_stats(loader, &before);
    assert_int_equal(stk_loader_seek(loader, &start, NULL), STK_OK);
    take(loader, 2 * PER_EPOCH, hash, &warm);
    stk_loader_get_stats(loader, &after);
    assert_memory_equal(&warm, &cold, sizeof warm);
    assert_int_equal(after.bytes_read, before.bytes_read);
    stk_loader_close(&loader);
    stk__hash_destroy(&hash);
}

static void an_interrupt_comes_through(void **state)
{
    (void)state;
    stk_loader *loader =
        open_loader(&(stk_loader_options){.root = pairs.root, .batch_size = 4, .cache = "auto"});
    stk_batch *batch;
    stk_error error;
    for (int epoch = 0; epoch < 2; epoch++)
        dataset_digest(loader, NULL);
    stk_loader_interrupt(loader);
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_ERROR_INTERRUPTED);
    assert_int_equal(stk_loader_close(&loader), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoded_streams_are_the_same),
        cmocka_unit_test(finished_streams_are_the_same),
        cmocka_unit_test(a_device_gets_the_same_pixels),
        cmocka_unit_test(nothing_is_read_twice),
        cmocka_unit_test(bad_samples_stay_bad),
        cmocka_unit_test(a_bad_sample_still_stops_the_load),
        cmocka_unit_test(a_stream_goes_on_with_and_without),
        cmocka_unit_test(a_warm_cache_stays_when_seeking),
        cmocka_unit_test(an_interrupt_comes_through),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
