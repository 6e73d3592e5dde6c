/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the headers allow from any thread, beside a consumer in stk_loader_next: under the thread
 * sanitizer a missing lock is a failure, without it positions that go backwards are. */
#include "stoker/stoker.h"
#include "support/sample_set.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 96, BAD = 9, BATCH = 4, EPOCHS = 4 };

typedef struct scene {
    stk_loader *loader;
    atomic_bool over;
    uint64_t looks, wrong; /* of the onlooker */
} scene;

static dataset pairs;

static int make_set(void **state)
{
    (void)state;
    char path[512];
    pairs = dataset_pairs(COUNT, 24, 16);
    snprintf(path, sizeof path, "%s/images/%04d.jpg", pairs.root, BAD);
    FILE *file = fopen(path, "wb"); /* empty, so that damages are counted meanwhile */
    return file ? fclose(file) : -1;
}

static int remove_set(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    return 0;
}

/* Asks everything that may be asked. */
static void *look_on(void *context)
{
    scene *s = context;
    uint64_t before = 0, batches = 0;
    while (!atomic_load(&s->over)) {
        stk_loader_state place;
        stk_loader_stats stats;
        char key[64];
        int count;
        stk_loader_tell(s->loader, &place);
        stk_loader_get_stats(s->loader, &stats);
        const uint64_t at = place.epoch * COUNT + place.position;
        const bool key_read = stk_loader_sample_key(s->loader, BAD, key, sizeof key, NULL) == STK_OK;
        s->wrong += at < before || place.position % BATCH || place.sample_count != COUNT ||
                    stats.batches < batches || stats.bad_samples != stats.damages[STK_DAMAGE_EMPTY] ||
                    !key_read || !stk_loader_effects(s->loader, &count) ||
                    stk_loader_describe(s->loader)->sample_count != COUNT;
        before = at;
        batches = stats.batches;
        s->looks++;
    }
    return NULL;
}

static void ignore_line(void *context, const stk_ledger_entry *entry)
{
    (void)context;
    (void)entry;
}

static void tell_beside_next(int64_t workers)
{
    scene s = {0};
    stk_batch *batch;
    pthread_t onlooker;
    const stk_loader_options options = {.root = pairs.root,
                                        .batch_size = BATCH,
                                        .num_workers = workers,
                                        .epochs = EPOCHS,
                                        .on_bad_sample = STK_BAD_SKIP};
    assert_int_equal(stk_loader_open(&s.loader, &options, NULL), STK_OK);
    stk_loader_set_ledger(s.loader, ignore_line, NULL);
    assert_int_equal(pthread_create(&onlooker, NULL, look_on, &s), 0);
    uint64_t samples = 0;
    for (int ended = 0; ended < EPOCHS;) {
        const stk_status status = stk_loader_next(s.loader, &batch, NULL);
        if (status == STK_END) ended++;
        if (status == STK_END) continue;
        assert_int_equal(status, STK_OK);
        samples += (uint64_t)batch->count;
        stk_batch_release(batch);
    }
    stk_loader_interrupt(s.loader);
    atomic_store(&s.over, true);
    assert_int_equal(pthread_join(onlooker, NULL), 0);
    assert_int_equal(samples, COUNT * EPOCHS);
    assert_true(s.looks > 0);
    assert_int_equal(s.wrong, 0);
    stk_loader_close(&s.loader);
}

static void with_workers(void **state)
{
    (void)state;
    tell_beside_next(2);
}

static void in_the_callers_thread(void **state)
{
    (void)state;
    tell_beside_next(STK_WORKERS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_workers),
        cmocka_unit_test(in_the_callers_thread),
    };
    return cmocka_run_group_tests(tests, make_set, remove_set);
}
