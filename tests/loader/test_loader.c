/* SPDX-License-Identifier: Apache-2.0 */
/* The loader from outside: the stream is the same for every number of workers, epochs, parts and splits,
 * views of mixed sizes, masks, refused options, interrupts, and times that add up. */
#include "core/clock.h"
#include "core/file.h"
#include "support/sample_set.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 53, W = 40, H = 32 };

static dataset pairs, mixed, series;
static dataset grey; /* an empty folder at first */

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, W, H);
    mixed = dataset_mixed_sizes(20);
    series = dataset_series(200);
    grey = dataset_empty();
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    dataset_remove(&mixed);
    dataset_remove(&series);
    dataset_remove(&grey);
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

static void expect_refused(stk_loader_options options, stk_status status, const char *words)
{
    stk_loader *loader;
    stk_error error = {0};
    assert_int_equal(stk_loader_open(&loader, &options, &error), status);
    assert_null(loader);
    if (!strstr(error.message, words)) print_error("unexpected: %s\n", error.message);
    assert_non_null(strstr(error.message, words));
}

static stk__digest digest_with(stk_loader_options options, uint64_t *samples)
{
    stk_loader *loader = open_loader(&options);
    const stk__digest digest = dataset_digest(loader, samples);
    assert_int_equal(stk_loader_close(&loader), 0);
    return digest;
}

static void zero_options_give_batches(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(&(stk_loader_options){.root = pairs.root});
    const stk_loader_info *info = stk_loader_describe(loader);
    assert_int_equal(info->sample_count, COUNT);
    assert_int_equal(info->batches_per_epoch, 2);
    stk_batch *batch;
    stk_error error;
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_OK);
    assert_int_equal(batch->count, 32);
    const int64_t images[] = {32, H, W, 3}, masks[] = {32, H, W};
    assert_memory_equal(batch->images.shape, images, sizeof images);
    assert_memory_equal(batch->masks.shape, masks, sizeof masks);
    assert_int_equal(batch->images.strides[1], W * 3);
    assert_int_equal(batch->labels.dtype, STK_DTYPE_NONE);
    for (int i = 0; i < 32; i++)
        assert_true(((const float *)batch->weights.data)[i] == 1);
    stk_batch_release(batch);
    stk_batch_release(NULL);
    stk_loader_close(&loader);
    assert_null(loader);
    stk_loader_close(&loader);
}

static void stream_is_the_same_for_every_worker_count_and_depth(void **state)
{
    (void)state;
    const int64_t workers[] = {STK_WORKERS_NONE, 1, 2, 3, 7, 8, 16}, depths[] = {1, 2, 5};
    uint64_t samples;
    const stk_loader_options base = {.root = pairs.root, .batch_size = 7, .epochs = 1, .seed = 5};
    const stk__digest expected = digest_with(base, &samples);
    assert_int_equal(samples, COUNT);
    for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++)
        for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
            stk_loader_options options = base;
            options.num_workers = workers[w];
            options.prefetch_factor = depths[d];
            const stk__digest digest = digest_with(options, NULL);
            assert_memory_equal(&digest, &expected, sizeof digest);
        }
    stk_loader_options other = base;
    other.seed = 6;
    const stk__digest digest = digest_with(other, NULL);
    assert_memory_not_equal(&digest, &expected, sizeof digest);
}

static void epochs_end_and_go_on(void **state)
{
    (void)state;
    stk_loader *loader =
        open_loader(&(stk_loader_options){.root = pairs.root, .batch_size = 10, .epochs = 2});
    const stk__digest first = dataset_digest(loader, NULL), second = dataset_digest(loader, NULL);
    assert_memory_not_equal(&first, &second, sizeof first); /* shuffled anew */
    stk_batch *batch;
    assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_END);
    assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_END);
    stk_loader_state at;
    stk_loader_tell(loader, &at);
    assert_int_equal(at.epoch, 2);
    assert_int_equal(at.position, 0);
    stk_loader_close(&loader);
}

static void very_many_epochs_do_not_end_early(void **state)
{
    (void)state;
    stk_loader *loader =
        open_loader(&(stk_loader_options){.root = pairs.root, .batch_size = 64, .epochs = UINT64_MAX / 2});
    for (int epoch = 0; epoch < 3; epoch++) {
        uint64_t samples;
        dataset_digest(loader, &samples);
        assert_int_equal(samples, COUNT);
    }
    stk_loader_close(&loader);
}

static void drop_last_leaves_out_the_short_batch(void **state)
{
    (void)state;
    uint64_t samples;
    digest_with(
        (stk_loader_options){.root = pairs.root, .batch_size = 10, .epochs = 1, .drop_last = STK_SWITCH_ON},
        &samples);
    assert_int_equal(samples, 50);
    expect_refused((stk_loader_options){.root = pairs.root, .batch_size = 64, .drop_last = STK_SWITCH_ON},
                   STK_ERROR_DATA, "too few samples for one batch of");
}

/* Marks every id of a part; returns how many samples came. */
static uint64_t mark_ids(stk_loader_options options, int *seen, int by)
{
    stk_loader *loader = open_loader(&options);
    stk_batch *batch;
    uint64_t samples = 0;
    while (stk_loader_next(loader, &batch, NULL) == STK_OK) {
        const int64_t *ids = batch->sample_ids.data;
        for (int64_t i = 0; i < batch->count; i++, samples++)
            seen[ids[i]] += by;
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    return samples;
}

static void parts_are_disjoint_and_complete(void **state)
{
    (void)state;
    int seen[COUNT] = {0};
    stk_loader_options options = {
        .root = pairs.root, .batch_size = 8, .epochs = 1, .val_split = 0.2, .split_seed = 9};
    assert_int_equal(mark_ids(options, seen, 1), COUNT - 11);
    options.part = STK_PART_VAL;
    assert_int_equal(mark_ids(options, seen, 100), 11);
    for (int i = 0; i < COUNT; i++)
        assert_true(seen[i] == 1 || seen[i] == 100);
    options.val_split = 0;
    expect_refused(options, STK_ERROR_CONFIG, "no validation set");
}

static void series_parts_share_no_row(void **state)
{
    (void)state;
    int train[200] = {0}, val[200] = {0};
    stk_loader_options options = {
        .root = series.root, .batch_size = 8, .epochs = 1, .val_split = 0.25, .sequence_length = 10};
    const uint64_t windows = 200 - 10 + 1, held = 48;
    assert_int_equal(mark_ids(options, train, 1), windows - held - 10);
    options.part = STK_PART_VAL;
    assert_int_equal(mark_ids(options, val, 1), held);
    int last_train = 0, first_val = 0;
    for (int i = 0; i < 200; i++)
        if (train[i]) last_train = i;
    while (!val[first_val])
        first_val++;
    assert_true(last_train + 10 - 1 < first_val);
}

static void windows_hold_the_rows(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(
        &(stk_loader_options){.root = series.root, .batch_size = 4, .epochs = 1, .sequence_length = 10});
    stk_batch *batch;
    assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
    const int64_t shape[] = {4, 10, 3};
    assert_memory_equal(batch->windows.shape, shape, sizeof shape);
    for (int64_t i = 0; i < 4; i++) {
        const int64_t id = ((const int64_t *)batch->sample_ids.data)[i];
        const float *window = (const float *)batch->windows.data + i * 30;
        for (int64_t row = 0; row < 10; row++)
            assert_true(window[row * 3] == (float)(id + row));
        assert_true(((const float *)batch->labels.data)[i] == (float)(10 * (id + 9)));
    }
    stk_batch_release(batch);
    stk_loader_close(&loader);
}

static void mixed_sizes_come_as_views(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(&(stk_loader_options){
        .root = mixed.root, .batch_size = 20, .epochs = 1, .shuffle = STK_SWITCH_OFF, .num_workers = 3});
    stk_batch *batch;
    assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
    assert_int_equal(batch->images.dtype, STK_DTYPE_NONE);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(batch->image_views[i].w, i % 3 == 2 ? 50 : 24);
        assert_int_equal(batch->image_views[i].h, i % 3 == 2 ? 31 : 20);
    }
    stk_batch_release(batch);
    stk_loader_close(&loader);
    const stk_loader_options base = {.root = mixed.root, .batch_size = 6, .epochs = 1};
    const stk__digest expected = digest_with(base, NULL);
    for (int workers = 1; workers < 6; workers++) {
        stk_loader_options options = base;
        options.num_workers = workers;
        const stk__digest digest = digest_with(options, NULL);
        assert_memory_equal(&digest, &expected, sizeof digest);
    }
}

static void image_size_makes_batches_uniform(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(
        &(stk_loader_options){.root = mixed.root, .batch_size = 20, .image_size = {16, 12}, .channels = 1});
    stk_batch *batch;
    assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
    const int64_t shape[] = {20, 16, 12, 1};
    assert_memory_equal(batch->images.shape, shape, sizeof shape);
    stk_batch_release(batch);
    stk_loader_close(&loader);
}

static void too_little_memory_for_other_sizes_is_an_error(void **state)
{
    (void)state;
    stk_loader *loader =
        open_loader(&(stk_loader_options){.root = mixed.root, .batch_size = 20, .limit_memory_bytes = 20000});
    stk_batch *batch;
    stk_error error;
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_ERROR_MEMORY);
    assert_non_null(strstr(error.hint, "image_size"));
    stk_loader_close(&loader);
}

static void put_png(const char *name, int32_t channels)
{
    char path[512];
    stk__buffer bytes = {0};
    stk__pixels pixels = pictures_draw(16, 16, channels, 3);
    pictures_png_plain(&bytes, pixels, 0);
    snprintf(path, sizeof path, "%s/%s", grey.root, name);
    assert_int_equal(stk__file_write(path, bytes, STK_FILE_QUICK, NULL), STK_OK);
    stk__buffer_fini(&bytes);
    stk__free(pixels.data);
}

/* The look at a few samples finds only grey ones; the colours of another must not vanish silently. */
static void a_colour_image_among_grey_ones_is_named(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "%02d.png", i);
        put_png(name, i == 37 ? 3 : 1);
    }
    stk_loader *loader = open_loader(&(stk_loader_options){.root = grey.root, .epochs = 1});
    stk_batch *batch;
    stk_error error = {0};
    stk_status status;
    assert_int_equal(stk_loader_describe(loader)->channels, 1);
    while ((status = stk_loader_next(loader, &batch, &error)) == STK_OK)
        stk_batch_release(batch);
    assert_int_equal(status, STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_UNSUPPORTED);
    assert_non_null(strstr(error.place, "37.png"));
    assert_non_null(strstr(error.hint, "data.channels"));
    stk_loader_close(&loader);
    uint64_t samples;
    digest_with((stk_loader_options){.root = grey.root, .epochs = 1, .channels = 1}, &samples);
    assert_int_equal(samples, 40);
}

static void masks_can_be_mapped(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(
        &(stk_loader_options){.root = pairs.root, .mask_map = "0:10,1:11,2:12,3:13,4:14", .epochs = 1});
    stk_batch *batch;
    assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
    const uint8_t *ids = batch->masks.data;
    for (int i = 0; i < 32 * W * H; i++)
        assert_in_range(ids[i], 10, 14);
    stk_batch_release(batch);
    stk_loader_close(&loader);
    expect_refused((stk_loader_options){.root = pairs.root, .mask_map = "0-1"}, STK_ERROR_CONFIG, "mask_map");
    expect_refused((stk_loader_options){.root = pairs.root, .mask_map = "0:300"}, STK_ERROR_CONFIG,
                   "mask_map");
}

static void lent_batches_stay_and_all_lent_is_an_error(void **state)
{
    (void)state;
    const int64_t workers[] = {STK_WORKERS_NONE, 2};
    for (int w = 0; w < 2; w++) {
        stk_loader *loader = open_loader(&(stk_loader_options){
            .root = pairs.root, .batch_size = 4, .prefetch_factor = 1, .num_workers = workers[w]});
        stk_batch *lent[8] = {0};
        stk_error error;
        const int slots = (int)stk_loader_describe(loader)->slot_count;
        uint8_t copies[8][16];
        for (int i = 0; i < slots; i++) {
            assert_int_equal(stk_loader_next(loader, &lent[i], &error), STK_OK);
            memcpy(copies[i], lent[i]->images.data, sizeof copies[i]);
        }
        stk_batch *more;
        assert_int_equal(stk_loader_next(loader, &more, &error), STK_ERROR_ARGUMENT);
        assert_null(more);
        for (int i = 0; i < slots; i++)
            assert_memory_equal(copies[i], lent[i]->images.data, sizeof copies[i]);
        stk_batch_release(lent[1]); /* not the oldest */
        assert_int_equal(stk_loader_next(loader, &more, &error), STK_OK);
        stk_batch_release(more);
        stk_loader_close(&loader);
    }
}

static void settings_that_differ_are_told(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(&(stk_loader_options){.root = pairs.root,
                                                           .pin_memory = STK_SWITCH_ON,
                                                           .persistent_workers = STK_SWITCH_OFF,
                                                           .limit_memory_bytes = 200000,
                                                           .prefetch_factor = 8});
    int count, found = 0;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    const char *const names[] = {"data.pin_memory",      "data.persistent_workers", "data.num_workers",
                                 "data.prefetch_factor", "data.image_size",         "data.channels"};
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            found += strcmp(effects[i].name, names[k]) == 0;
    assert_int_equal(found, 6);
    stk_loader_close(&loader);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    expect_refused((stk_loader_options){0}, STK_ERROR_CONFIG, "root");
    expect_refused((stk_loader_options){.root = pairs.root, .batch_size = -1}, STK_ERROR_CONFIG,
                   "batch_size");
    expect_refused((stk_loader_options){.root = pairs.root, .order = "random"}, STK_ERROR_CONFIG, "order");
    expect_refused((stk_loader_options){.root = pairs.root, .order = "blocks(x)"}, STK_ERROR_CONFIG, "order");
    expect_refused((stk_loader_options){.root = pairs.root, .rank = 2, .ranks = 2}, STK_ERROR_CONFIG, "rank");
    expect_refused((stk_loader_options){.root = pairs.root, .channels = 2}, STK_ERROR_CONFIG, "channels");
    expect_refused((stk_loader_options){.root = pairs.root, .image_size = {65535, 65535}}, STK_ERROR_CONFIG,
                   "limits.pixels");
    stk_error error;
    assert_int_equal(stk_loader_open(NULL, NULL, &error), STK_ERROR_ARGUMENT);
}

static void interrupt_ends_a_wait(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(&(stk_loader_options){.root = pairs.root});
    stk_loader_interrupt(loader);
    stk_batch *batch;
    stk_error error;
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_ERROR_INTERRUPTED);
    const uint64_t start = stk__clock_ns();
    assert_int_equal(stk_loader_close(&loader), 0);
    assert_true(stk__clock_ns() - start < STK_SECOND_NS);
}

static void stages_make_up_all_time(void **state)
{
    (void)state;
    const uint64_t start = stk__clock_ns();
    stk_loader *loader = open_loader(
        &(stk_loader_options){.root = pairs.root, .batch_size = 4, .num_workers = 2, .epochs = 20});
    uint64_t samples, all = 0;
    for (int epoch = 0; epoch < 20; epoch++)
        dataset_digest(loader, &samples);
    stk_loader_stats stats;
    stk_loader_get_stats(loader, &stats);
    const double wall = (double)(stk__clock_ns() - start);
    for (int i = 0; i < STK_STAGE_COUNT; i++)
        all += stats.stage_ns[i];
    assert_true((double)all <= 2.02 * wall &&
                (double)all >= 1.5 * wall); /* opening comes before the workers */
    assert_int_equal(stats.samples, 20 * COUNT);
    assert_int_equal(stats.batches, 20 * 14);
    assert_int_equal(stats.bad_samples, 0);
    assert_true(stats.bytes_read > 20 * COUNT * 100);
    stk_loader_close(&loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_options_give_batches),
        cmocka_unit_test(stream_is_the_same_for_every_worker_count_and_depth),
        cmocka_unit_test(epochs_end_and_go_on),
        cmocka_unit_test(very_many_epochs_do_not_end_early),
        cmocka_unit_test(drop_last_leaves_out_the_short_batch),
        cmocka_unit_test(parts_are_disjoint_and_complete),
        cmocka_unit_test(series_parts_share_no_row),
        cmocka_unit_test(windows_hold_the_rows),
        cmocka_unit_test(mixed_sizes_come_as_views),
        cmocka_unit_test(image_size_makes_batches_uniform),
        cmocka_unit_test(too_little_memory_for_other_sizes_is_an_error),
        cmocka_unit_test(a_colour_image_among_grey_ones_is_named),
        cmocka_unit_test(masks_can_be_mapped),
        cmocka_unit_test(lent_batches_stay_and_all_lent_is_an_error),
        cmocka_unit_test(settings_that_differ_are_told),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(interrupt_ends_a_wait),
        cmocka_unit_test(stages_make_up_all_time),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
