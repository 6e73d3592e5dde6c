/* SPDX-License-Identifier: Apache-2.0 */
/* Shards and the folder they were made of: the same stream, whatever the order, the workers and the part. */
#include "core/file.h"
#include "loader/digest.h"
#include "loader/loader_open.h"
#include "support/sample_set.h"
#include "support/tarball.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 61, EPOCHS = 2 };

static dataset pairs, shards;

static void add_file(tarball *ball, const char *folder, const char *file, const char *member)
{
    char path[PATH_MAX];
    stk__buffer bytes = {0};
    snprintf(path, sizeof path, "%s/%s/%s", pairs.root, folder, file);
    assert_int_equal(stk__file_read(path, 0, &bytes, NULL), STK_OK);
    tarball_file(ball, member, bytes.data, bytes.size_bytes);
    stk__buffer_fini(&bytes);
}

/* Samples i, i + 9, …: their order in the shards is not that of their keys. */
static void write_shards(void)
{
    for (int first = 0; first < 9; first++) {
        tarball ball = {0};
        char path[PATH_MAX];
        for (int i = first; i < COUNT; i += 9) {
            char image[32], mask[32], member[32];
            snprintf(image, sizeof image, "%04d.jpg", i);
            snprintf(mask, sizeof mask, "%04d.png", i);
            snprintf(member, sizeof member, "%04d.mask.png", i);
            add_file(&ball, "images", image, image);
            add_file(&ball, "masks", mask, member);
        }
        tarball_end(&ball);
        snprintf(path, sizeof path, "%s/x-%d.tar", shards.root, first);
        tarball_write(&ball, path);
        tarball_clear(&ball);
    }
}

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, 24, 16);
    shards = dataset_empty();
    write_shards();
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    dataset_remove(&shards);
    return 0;
}

static stk_loader *open_loader(stk_loader_options options, const dataset *set)
{
    stk_loader *loader;
    stk_error error = {0};
    options.root = set->root;
    options.epochs = EPOCHS;
    const stk_status status = stk_loader_open(&loader, &options, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    return loader;
}

static stk__digest digest_of(stk_loader_options options, const dataset *set)
{
    stk_loader *loader = open_loader(options, set);
    stk__digest both[EPOCHS];
    for (int i = 0; i < EPOCHS; i++)
        both[i] = dataset_digest(loader, NULL);
    assert_int_equal(stk_loader_close(&loader), 0);
    return stk__digest_of(both, sizeof both);
}

static void folder_and_shards_give_the_same(void **state)
{
    (void)state;
    static const char *const orders[] = {"full", "sequential", "blocks(5)", "blocks(64)", "blocks(1)"};
    static const int64_t workers[] = {STK_WORKERS_NONE, 1, 3};
    static const stk_part parts[] = {STK_PART_ALL, STK_PART_TRAIN, STK_PART_VAL};
    for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++)
        for (int p = 0; p < 3; p++) {
            stk_loader_options options = {.batch_size = 8, .seed = 5, .order = orders[o], .part = parts[p]};
            if (p) options.val_split = 0.3;
            const stk__digest expected = digest_of(options, &pairs);
            for (int w = 0; w < 6; w++) {
                options.num_workers = workers[w % 3];
                options.cache = w < 3 ? NULL : "16M";
                const stk__digest digest = digest_of(options, &shards);
                assert_memory_equal(&digest, &expected, sizeof digest);
            }
        }
}

/* The last batch begins at an odd position, so it has a place for a partner, behind all positions of the
 * epoch: who looks there for a block may never come back, depending on the seed. */
static void the_last_batch_mixes_with_the_one_before(void **state)
{
    (void)state;
    static const char *const orders[] = {"blocks(5)", "blocks(64)"};
    for (uint64_t seed = 1; seed <= 8; seed++)
        for (int i = 0; i < 2; i++) {
            const stk_loader_options options = {.batch_size = 11, /* the last from 55 to 60 */
                                                .seed = seed,
                                                .order = orders[i],
                                                .num_workers = 2,
                                                .timeout_s = 20,
                                                .augment = "mixup_alpha: 0.6, mixup_prob: 1"};
            const stk__digest expected = digest_of(options, &pairs), digest = digest_of(options, &shards);
            assert_memory_equal(&digest, &expected, sizeof digest);
        }
}

/* Some batches of one, the rest of the other. */
static void one_goes_on_in_the_other(void **state)
{
    (void)state;
    const stk_loader_options options = {.batch_size = 8, .seed = 5, .order = "blocks(9)"};
    stk__digest whole = {0}, parted = {0};
    stk__hash *hash;
    stk_batch *batch;
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    stk_loader *folder = open_loader(options, &pairs);
    while (stk_loader_next(folder, &batch, NULL) == STK_OK) {
        whole = stk__digest_chain(hash, whole, batch);
        stk_batch_release(batch);
    }
    stk_loader_close(&folder);
    const dataset *const sets[] = {&pairs, &shards, &pairs, &shards};
    stk_loader_state at = {0};
    for (int i = 0; i < 4; i++) {
        stk_loader *loader = open_loader(options, sets[i]);
        if (i) assert_int_equal(stk_loader_seek(loader, &at, NULL), STK_OK);
        for (int n = 0; n < 2 || i == 3; n++) {
            if (stk_loader_next(loader, &batch, NULL) != STK_OK) break;
            parted = stk__digest_chain(hash, parted, batch);
            stk_batch_release(batch);
        }
        stk_loader_tell(loader, &at);
        stk_loader_close(&loader);
    }
    assert_memory_equal(&parted, &whole, sizeof whole);
    stk__hash_destroy(&hash);
}

/* What the loader asks for, and when. */
static struct {
    const stk__source_ops *real;
    bool asked[COUNT];
    int runs, singles, unasked;
    uint64_t widest;
} spy;

static void spy_run(const stk__source *source, uint64_t first, uint64_t count)
{
    spy.runs++;
    if (count > spy.widest) spy.widest = count;
    for (uint64_t id = first; id < first + count; id++)
        spy.asked[id] = true;
    spy.real->hint_run(source, first, count);
}

static void spy_hint(const stk__source *source, uint64_t id)
{
    spy.singles++;
    spy.asked[id] = true;
    spy.real->hint(source, id);
}

static stk_status spy_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                           const char **extension, stk_error *error)
{
    spy.unasked += !spy.asked[id];
    return spy.real->read(source, id, field, buffer, extension, error);
}

/* Reads all epochs in the caller's thread, so that what comes first is sure. Every epoch must be asked for
 * anew. */
static void read_spied(stk_loader_options options)
{
    stk__source *source;
    const stk__source_options where = {.root = shards.root};
    assert_int_equal(stk__source_open(&source, &where, NULL), STK_OK);
    memset(&spy, 0, sizeof spy);
    spy.real = source->ops;
    stk__source_ops ops = *source->ops;
    ops.hint = spy_hint;
    ops.hint_run = spy_run;
    options.root = shards.root;
    options.epochs = EPOCHS;
    options.num_workers = STK_WORKERS_NONE;
    stk_loader *loader;
    stk_error error = {0};
    assert_int_equal(
        stk__loader_open(&loader, &(stk__loader_setup){.options = &options, .source = source}, &error),
        STK_OK);
    ops.read = spy_read; /* behind the look at a few samples */
    source->ops = &ops;
    stk_batch *batch;
    for (int epoch = 0; epoch < EPOCHS;) {
        const stk_status status = stk_loader_next(loader, &batch, NULL);
        if (status == STK_END) epoch++;
        if (status == STK_OK) stk_batch_release(batch);
        assert_true(status == STK_OK || status == STK_END);
    }
    stk_loader_close(&loader);
    source->ops = spy.real;
    stk__source_close(&source);
}

static void blocks_are_asked_for_before_they_are_read(void **state)
{
    (void)state;
    static const char *const orders[] = {"blocks(5)", "blocks(20)", "blocks(64)", "blocks(1)"};
    static const int blocks[] = {13, 4, 1, 61};
    for (int i = 0; i < 4; i++) {
        read_spied((stk_loader_options){.batch_size = 8, .seed = 3, .order = orders[i]});
        assert_int_equal(spy.unasked, 0);
        assert_int_equal(spy.singles, 0);
        assert_in_range(spy.runs, EPOCHS * blocks[i] - 1, EPOCHS * blocks[i] + 4);
    }
    read_spied((stk_loader_options){
        .batch_size = 8, .order = "blocks(10)", .val_split = 0.2, .part = STK_PART_TRAIN});
    assert_int_equal(spy.unasked, 0);
    assert_in_range(spy.widest, 10, 20);
    read_spied(
        (stk_loader_options){.batch_size = 8, .order = "blocks(5)", .val_split = 0.2, .part = STK_PART_VAL});
    assert_int_equal(spy.unasked, 0);
    assert_int_equal(spy.runs, 0); /* most between them belongs to the other part */
    assert_in_range(spy.singles, 2 * 12, 2 * 12 + 5);
}

static void cached_blocks_are_not_asked_for_again(void **state)
{
    (void)state;
    read_spied((stk_loader_options){.batch_size = 8, .order = "blocks(5)", .cache = "16M"});
    assert_int_equal(spy.unasked, 0);
    assert_in_range(spy.runs, 13,
                    13 + 2); /* those of the first epoch; its last blocks see some of the second */
}

static void others_are_not_asked_for_in_runs(void **state)
{
    (void)state;
    read_spied((stk_loader_options){.batch_size = 8, .order = "full"});
    assert_int_equal(spy.runs, 0);
    read_spied((stk_loader_options){.batch_size = 8, .order = "blocks(5)", .ranks = 2});
    assert_int_equal(spy.runs, 0); /* each rank needs only a part of a block */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_and_shards_give_the_same),
        cmocka_unit_test(the_last_batch_mixes_with_the_one_before),
        cmocka_unit_test(one_goes_on_in_the_other),
        cmocka_unit_test(blocks_are_asked_for_before_they_are_read),
        cmocka_unit_test(cached_blocks_are_not_asked_for_again),
        cmocka_unit_test(others_are_not_asked_for_in_runs),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
