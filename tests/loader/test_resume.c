/* SPDX-License-Identifier: Apache-2.0 */
/* Resuming: a stream cut at random places and continued by another loader equals the uncut one; foreign
 * states are refused; ranks together give the stream of one, and may change. */
#include "core/random.h"
#include "core/thread.h"
#include "loader/digest.h"
#include "support/sample_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 61, EPOCHS = 2, TRIALS = 12 };

static dataset pairs;

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, 24, 16);
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    return 0;
}

static uint32_t draw(uint32_t trial, uint32_t number)
{
    return stk__random_draw((stk__random_at){.seed = 77, .epoch = trial, .sample = number}).word[0];
}

static stk_loader *open_loader(stk_loader_options options)
{
    stk_loader *loader;
    stk_error error = {0};
    options.root = pairs.root;
    options.epochs = EPOCHS;
    assert_int_equal(stk_loader_open(&loader, &options, &error), STK_OK);
    return loader;
}

static stk__digest uninterrupted(stk_loader_options options)
{
    stk_loader *loader = open_loader(options);
    stk__hash *hash;
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    stk__digest digest = {0};
    stk_batch *batch;
    for (int ended = 0; ended < EPOCHS;) {
        if (stk_loader_next(loader, &batch, NULL) == STK_END) {
            ended++;
            continue;
        }
        digest = stk__digest_chain(hash, digest, batch);
        stk_batch_release(batch);
    }
    stk__hash_destroy(&hash);
    stk_loader_close(&loader);
    return digest;
}

static const char *const orders[] = {"full", "sequential", "blocks(5)"};

static stk_loader_options options_of(uint32_t trial)
{
    return (stk_loader_options){.batch_size = 3 + draw(trial, 0) % 5,
                                .seed = trial,
                                .order = orders[trial % 3],
                                .drop_last = trial % 2 ? STK_SWITCH_ON : STK_SWITCH_OFF};
}

/* Cuts the stream at random places, each time closing the loader and going on in another with other workers.
 */
static void cut_stream_is_the_uncut_stream(void **state)
{
    (void)state;
    stk__hash *hash;
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        const stk_loader_options base = options_of(trial);
        const stk__digest expected = uninterrupted(base);
        stk__digest digest = {0};
        stk_loader_state at = {0};
        uint32_t cuts = 0;
        for (bool done = false; !done; cuts++) {
            stk_loader_options options = base;
            options.num_workers = (int64_t)(draw(trial, 2 * cuts + 1) % 5) - 1;
            options.prefetch_factor = 1 + draw(trial, 2 * cuts + 2) % 4;
            stk_loader *loader = open_loader(options);
            if (cuts) assert_int_equal(stk_loader_seek(loader, &at, NULL), STK_OK);
            stk_batch *batch;
            /* at most 4 of at least 7 batches an epoch: three cuts an epoch or more */
            for (uint32_t left = draw(trial, 100 + cuts) % 4; left > 0 && !done;) {
                const stk_status status = stk_loader_next(loader, &batch, NULL);
                stk_loader_tell(loader, &at);
                done = at.epoch == EPOCHS;
                if (status == STK_END) continue;
                assert_int_equal(status, STK_OK);
                digest = stk__digest_chain(hash, digest, batch);
                stk_batch_release(batch);
                left--;
            }
            stk_loader_tell(loader, &at);
            stk_loader_close(&loader);
        }
        assert_true(cuts >= 3 * EPOCHS);
        assert_memory_equal(&digest, &expected, sizeof digest);
    }
    stk__hash_destroy(&hash);
}

static void seek_inside_one_loader(void **state)
{
    (void)state;
    stk_loader *loader = open_loader((stk_loader_options){.batch_size = 4, .num_workers = 3});
    stk_batch *batch;
    stk_loader_state start, middle;
    stk_loader_tell(loader, &start);
    int64_t ids[4][4];
    for (int i = 0; i < 4; i++) {
        if (i == 2) stk_loader_tell(loader, &middle);
        assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
        memcpy(ids[i], batch->sample_ids.data, sizeof ids[i]);
        stk_batch_release(batch);
    }
    for (int jump = 0; jump < 20; jump++) {
        assert_int_equal(stk_loader_seek(loader, jump % 2 ? &start : &middle, NULL), STK_OK);
        assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
        assert_memory_equal(batch->sample_ids.data, ids[jump % 2 ? 0 : 2], sizeof ids[0]);
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
}

/* Batches that the consumer keeps stay as they are, whatever is loaded after a jump. */
static void lent_batches_stay_when_seeking(void **state)
{
    (void)state;
    stk_loader *loader =
        open_loader((stk_loader_options){.batch_size = 4, .num_workers = 3, .prefetch_factor = 1});
    const int kept_count = (int)stk_loader_describe(loader)->slot_count - 1;
    stk_batch *kept[8], *batch;
    int64_t ids[8][4];
    uint8_t pixel[8];
    stk_loader_state start;
    assert_in_range(kept_count, 2, 8);
    stk_loader_tell(loader, &start);
    for (int i = 0; i < kept_count; i++) {
        assert_int_equal(stk_loader_next(loader, &kept[i], NULL), STK_OK);
        memcpy(ids[i], kept[i]->sample_ids.data, sizeof ids[i]);
        pixel[i] = kept[i]->arena[0];
    }
    for (int jump = 0; jump < 20; jump++) {
        assert_int_equal(stk_loader_seek(loader, &start, NULL), STK_OK);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
            if (i < kept_count) assert_memory_equal(batch->sample_ids.data, ids[i], sizeof ids[i]);
            for (int k = 0; k < kept_count; k++)
                assert_ptr_not_equal(batch, kept[k]);
            stk_batch_release(batch);
        }
    }
    for (int i = 0; i < kept_count; i++) {
        assert_memory_equal(kept[i]->sample_ids.data, ids[i], sizeof ids[i]);
        assert_int_equal(kept[i]->arena[0], pixel[i]);
        stk_batch_release(kept[i]);
    }
    stk_loader_close(&loader);
}

static void foreign_states_are_refused(void **state)
{
    (void)state;
    stk_loader *loader = open_loader((stk_loader_options){.batch_size = 4});
    stk_loader_state good, bad;
    stk_error error;
    stk_loader_tell(loader, &good);
    bad = good, bad.fingerprint[0] ^= 1;
    assert_int_equal(stk_loader_seek(loader, &bad, &error), STK_ERROR_STATE);
    bad = good, bad.sample_count++;
    assert_int_equal(stk_loader_seek(loader, &bad, &error), STK_ERROR_STATE);
    bad = good, bad.seed++;
    assert_int_equal(stk_loader_seek(loader, &bad, &error), STK_ERROR_STATE);
    bad = good, strcpy(bad.order, "sequential");
    assert_int_equal(stk_loader_seek(loader, &bad, &error), STK_ERROR_STATE);
    bad = good, strcpy(bad.part, "val");
    assert_int_equal(stk_loader_seek(loader, &bad, &error), STK_ERROR_STATE);
    bad = good, bad.position = COUNT + 1;
    assert_int_equal(stk_loader_seek(loader, &bad, &error), STK_ERROR_STATE);
    assert_int_equal(stk_loader_seek(loader, &good, &error), STK_OK);
    stk_loader_close(&loader);
}

static stk_loader_state state_of(stk_loader_options options)
{
    stk_loader_state at;
    stk_loader *loader = open_loader(options);
    stk_loader_tell(loader, &at);
    stk_loader_close(&loader);
    return at;
}

/* As many samples of the same data set, but others. */
static void states_of_other_parts_are_refused(void **state)
{
    (void)state;
    const stk_loader_options own = {.val_split = 0.5, .shuffle = STK_SWITCH_ON, .limit = 20};
    stk_loader_options other_part = own, other_seed = own, other_split = own, whole = own;
    other_part.part = STK_PART_VAL;
    other_seed.split_seed = 1;
    other_split.val_split = 0.4;
    whole.val_split = 0;
    const stk_loader_state good = state_of(own), foreign[] = {state_of(other_part), state_of(other_seed),
                                                              state_of(other_split), state_of(whole)};
    stk_loader *loader = open_loader(own);
    stk_error error;
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        assert_int_equal(foreign[i].sample_count, good.sample_count);
        assert_int_equal(stk_loader_seek(loader, &foreign[i], &error), STK_ERROR_STATE);
        assert_non_null(strstr(error.message, "part"));
    }
    assert_int_equal(stk_loader_seek(loader, &good, &error), STK_OK);
    stk_loader_close(&loader);
}

static void more_steps_than_can_be_counted_do_not_end(void **state)
{
    (void)state;
    const stk_loader_options options = {
        .root = pairs.root, .limit = 16, .batch_size = 1, .epochs = UINT64_C(1) << 60}; /* 2^64 steps */
    stk_loader *loader;
    assert_int_equal(stk_loader_open(&loader, &options, NULL), STK_OK);
    stk_batch *batch;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
}

/* A sample as it came: its id and the bytes of its image and mask. */
typedef struct came {
    int64_t id;
    stk__digest image, mask;
} came;

/* Takes the next step of a rank and appends what came; true at the end of everything. */
static bool take_step(stk_loader *loader, came *all, int *count)
{
    stk_batch *batch;
    const stk_status status = stk_loader_next(loader, &batch, NULL);
    if (status == STK_END) {
        stk_loader_state at;
        stk_loader_tell(loader, &at);
        return at.epoch == EPOCHS;
    }
    assert_int_equal(status, STK_OK);
    const int64_t *ids = batch->sample_ids.data;
    for (int64_t i = 0; i < batch->count; i++) {
        const uint8_t *image = (const uint8_t *)batch->images.data + i * batch->images.strides[0];
        const uint8_t *mask = (const uint8_t *)batch->masks.data + i * batch->masks.strides[0];
        all[(*count)++] = (came){ids[i], stk__digest_of(image, (size_t)batch->images.strides[0]),
                                 stk__digest_of(mask, (size_t)batch->masks.strides[0])};
    }
    stk_batch_release(batch);
    return false;
}

/* What came to all ranks, step by step, rank by rank. */
static int take_ranks(int64_t ranks, int64_t batch_size, came *all)
{
    stk_loader *loaders[4];
    for (int64_t r = 0; r < ranks; r++)
        loaders[r] = open_loader(
            (stk_loader_options){.batch_size = batch_size, .rank = r, .ranks = ranks, .num_workers = 1 + r});
    int count = 0;
    for (bool done = false; !done;)
        for (int64_t r = 0; r < ranks; r++)
            done = take_step(loaders[r], all, &count);
    for (int64_t r = 0; r < ranks; r++)
        stk_loader_close(&loaders[r]);
    return count;
}

static void union_of_ranks_is_the_stream_of_one(void **state)
{
    (void)state;
    static came one[EPOCHS * COUNT], many[EPOCHS * COUNT];
    assert_int_equal(take_ranks(1, 8, one), EPOCHS * COUNT);
    for (int64_t ranks = 2; ranks <= 4; ranks += 2) {
        assert_int_equal(take_ranks(ranks, 8 / ranks, many), EPOCHS * COUNT);
        assert_memory_equal(one, many, sizeof one);
    }
}

/* A state of one rank count opens with another: positions are global. */
static void ranks_can_change_at_a_resume(void **state)
{
    (void)state;
    static came one[EPOCHS * COUNT];
    assert_int_equal(take_ranks(1, 8, one), EPOCHS * COUNT);
    stk_loader *first = open_loader((stk_loader_options){.batch_size = 6});
    stk_batch *batch;
    stk_loader_state at;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stk_loader_next(first, &batch, NULL), STK_OK);
        stk_batch_release(batch);
    }
    stk_loader_tell(first, &at);
    stk_loader_close(&first);
    assert_int_equal(at.position, 18);
    for (int64_t rank = 0; rank < 2; rank++) {
        stk_loader *loader = open_loader((stk_loader_options){.batch_size = 5, .rank = rank, .ranks = 2});
        assert_int_equal(stk_loader_seek(loader, &at, NULL), STK_OK);
        assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
        for (int i = 0; i < 5; i++)
            assert_int_equal(((const int64_t *)batch->sample_ids.data)[i], one[18 + 5 * rank + i].id);
        stk_batch_release(batch);
        stk_loader_close(&loader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_stream_is_the_uncut_stream),
        cmocka_unit_test(seek_inside_one_loader),
        cmocka_unit_test(lent_batches_stay_when_seeking),
        cmocka_unit_test(foreign_states_are_refused),
        cmocka_unit_test(states_of_other_parts_are_refused),
        cmocka_unit_test(more_steps_than_can_be_counted_do_not_end),
        cmocka_unit_test(union_of_ranks_is_the_stream_of_one),
        cmocka_unit_test(ranks_can_change_at_a_resume),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
