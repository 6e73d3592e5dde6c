/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a data set's functions: many threads at once, which may look at the loader; functions that do not
 * return are named; close is called once, when nobody needs the context any more. */
#include "stoker/stoker.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 16, SIDE = 8, BAD = 5 };

typedef struct own {
    _Atomic(stk_loader *) ask; /* called back from read; NULL: no */
    atomic_int inside, most_inside, closed;
    atomic_bool hangs_in_read, hangs_in_facts; /* for sample BAD, while they are set */
} own;

static void enter(own *o)
{
    const int now = atomic_fetch_add(&o->inside, 1) + 1;
    int most = atomic_load(&o->most_inside);
    while (now > most && !atomic_compare_exchange_weak(&o->most_inside, &most, now))
        continue;
}

static stk_status read_sample(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                              stk_error *error)
{
    own *o = context;
    (void)error;
    enter(o);
    stk_loader *loader = atomic_load(&o->ask);
    if (loader) {
        stk_loader_state place;
        stk_loader_stats stats;
        stk_loader_tell(loader, &place);
        stk_loader_get_stats(loader, &stats);
        usleep(1000); /* so that others come in, too */
    }
    while (index == BAD && atomic_load(&o->hangs_in_read))
        usleep(1000);
    const int32_t channels = field == STK_FIELD_MASK ? 1 : 3;
    void *room = stk_sample_sink_pixels(sink, SIDE, SIDE, channels);
    if (room) memset(room, (int)index, (size_t)(SIDE * SIDE * channels));
    atomic_fetch_sub(&o->inside, 1);
    return STK_OK;
}

static stk_status tell_facts(void *context, uint64_t index, stk_sample_facts *facts, stk_error *error)
{
    own *o = context;
    (void)error;
    while (index == BAD && atomic_load(&o->hangs_in_facts))
        usleep(1000);
    facts->label = 1;
    return STK_OK;
}

static void count_close(void *context)
{
    atomic_fetch_add(&((own *)context)->closed, 1);
}

static stk_dataset set_of(own *o, bool masks)
{
    stk_dataset set = STK_DATASET_INIT;
    set.context = o;
    set.count = COUNT;
    set.masks = masks;
    set.read = read_sample;
    set.close = count_close;
    return set;
}

static stk_status open_set(stk_loader **loader, const stk_dataset *set, stk_loader_options options,
                           stk_error *error)
{
    options.struct_size = sizeof options;
    options.dataset = set;
    options.batch_size = 4;
    options.epochs = 1;
    options.shuffle = STK_SWITCH_OFF;
    if (!options.num_workers) options.num_workers = 2;
    return stk_loader_open(loader, &options, error);
}

static void wait_until_nobody_is_inside(own *o)
{
    atomic_store(&o->hangs_in_read, false);
    while (atomic_load(&o->inside))
        usleep(1000);
}

static void check_hang(own *o, bool facts)
{
    stk_loader *loader;
    stk_batch *batch;
    stk_error error = {0};
    stk_dataset set = set_of(o, false);
    set.count = 4 * COUNT; /* the look at open does not meet sample 5 */
    if (facts) set.label = STK_LABEL_VALUE;
    set.facts = tell_facts;
    assert_int_equal(open_set(&loader, &set, (stk_loader_options){.num_workers = 1, .timeout_s = 1}, &error),
                     STK_OK);
    stk_status status;
    while ((status = stk_loader_next(loader, &batch, &error)) == STK_OK)
        stk_batch_release(batch);
    assert_int_equal(status, STK_ERROR_TIMEOUT);
    assert_non_null(strstr(error.message, "hangs in stage 'read' of sample 5"));
    assert_string_equal(error.place, "dataset!05");
    assert_non_null(strstr(error.hint, "stk_dataset"));
    assert_int_equal(stk_loader_close(&loader), 1);
    assert_int_equal(o->closed, 0); /* who hangs may still use it */
}

static void a_function_that_hangs_is_named(void **state)
{
    (void)state;
    static own reading = {.hangs_in_read = true}, telling = {.hangs_in_facts = true};
    check_hang(&reading, false);
    wait_until_nobody_is_inside(&reading);
    check_hang(&telling, true);
    atomic_store(&telling.hangs_in_facts, false);
}

static void hanging_while_opening_is_named(void **state)
{
    (void)state;
    static own o = {.hangs_in_read = true};
    stk_loader *loader;
    stk_error error = {0};
    const stk_dataset set = set_of(&o, false);
    assert_int_equal(open_set(&loader, &set, (stk_loader_options){.timeout_s = 1}, &error),
                     STK_ERROR_TIMEOUT);
    assert_null(loader);
    assert_string_equal(error.place, "dataset!05");
    assert_non_null(strstr(error.hint, "stk_dataset"));
    assert_int_equal(o.closed, 0);
    wait_until_nobody_is_inside(&o);
}

static void closed_once_and_only_when_opened(void **state)
{
    (void)state;
    own o = {.closed = 0};
    stk_loader *loader;
    const stk_dataset set = set_of(&o, false);
    assert_int_equal(open_set(&loader, &set, (stk_loader_options){0}, NULL), STK_OK);
    assert_int_equal(o.closed, 0);
    assert_int_equal(stk_loader_close(&loader), 0);
    assert_int_equal(o.closed, 1);
    static const struct {
        stk_loader_options options;
        stk_status status;
        const char *message, *hint;
    } bad[] = {
        {{.root = "faces"}, STK_ERROR_ARGUMENT, "data.root = 'faces' is set beside", "leave it out"},
        {{.val_root = "faces"}, STK_ERROR_ARGUMENT, "data.val_root = 'faces'", "leave it out"},
        {{.val_list = "val.txt"}, STK_ERROR_ARGUMENT, "data.val_list = 'val.txt'", "data.val_split"},
        {{.part = STK_PART_VAL}, STK_ERROR_CONFIG, "no validation set", "stk_dataset"},
        {{.part = STK_PART_TEST}, STK_ERROR_CONFIG, "no test set", "stk_dataset"},
        {{.channels = 2}, STK_ERROR_CONFIG, "data.channels", ""}, /* later, with the source open */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        stk_error error = {0};
        assert_int_equal(open_set(&loader, &set, bad[i].options, &error), bad[i].status);
        assert_null(loader);
        assert_non_null(strstr(error.message, bad[i].message));
        assert_non_null(strstr(error.hint, bad[i].hint));
    }
    assert_int_equal(o.closed, 1);
}

/* No lock is held: a function may look at the loader, and others come in meanwhile. */
static void functions_run_beside_each_other(void **state)
{
    (void)state;
    own o = {.closed = 0};
    stk_loader *loader;
    stk_batch *batch;
    stk_status status;
    const stk_dataset set = set_of(&o, true);
    assert_int_equal(open_set(&loader, &set, (stk_loader_options){.num_workers = 4}, NULL), STK_OK);
    atomic_store(&o.ask, loader);
    do { /* until it was seen: workers may have loaded much before */
        stk_loader_state place;
        stk_loader_tell(loader, &place);
        while ((status = stk_loader_next(loader, &batch, NULL)) == STK_OK)
            stk_batch_release(batch);
        assert_int_equal(status, STK_END);
        place.epoch = place.position = 0;
        assert_int_equal(stk_loader_seek(loader, &place, NULL), STK_OK);
    } while (atomic_load(&o.most_inside) < 2);
    stk_loader_close(&loader);
    assert_int_equal(o.closed, 1);
}

/* A program that looks at something else meanwhile: nothing is lost by that. */
static void next_within_gives_up_waiting_and_nothing_else(void **state)
{
    (void)state;
    own o = {.hangs_in_read = true};
    stk_loader *loader;
    stk_batch *batch;
    stk_status status;
    stk_digest digest = {0}, expected = {0};
    stk_dataset set = set_of(&o, false);
    set.count = 4 * COUNT;
    assert_int_equal(open_set(&loader, &set, (stk_loader_options){0}, NULL), STK_OK);
    assert_int_equal(stk_loader_next_within(loader, &batch, 1e30, NULL), STK_OK);
    assert_int_equal(stk_digest_add(&digest, batch, NULL), STK_OK);
    stk_batch_release(batch);
    for (int i = 0; i < 3; i++) {
        batch = (stk_batch *)&o;
        assert_int_equal(stk_loader_next_within(loader, &batch, i * 0.01, NULL), STK_AGAIN);
        assert_null(batch);
    }
    atomic_store(&o.hangs_in_read, false);
    while ((status = stk_loader_next_within(loader, &batch, 0, NULL)) != STK_END) {
        if (status == STK_AGAIN) continue;
        assert_int_equal(status, STK_OK);
        assert_int_equal(stk_digest_add(&digest, batch, NULL), STK_OK);
        stk_batch_release(batch);
    }
    assert_int_equal(stk_loader_close(&loader), 0);
    assert_int_equal(open_set(&loader, &set, (stk_loader_options){.num_workers = STK_WORKERS_NONE}, NULL),
                     STK_OK);
    int looks = 0;
    while ((status = stk_loader_next_within(loader, &batch, 0, NULL)) != STK_END) {
        looks += status == STK_AGAIN; /* something is loaded in each */
        if (status == STK_AGAIN) continue;
        assert_int_equal(stk_digest_add(&expected, batch, NULL), STK_OK);
        stk_batch_release(batch);
    }
    assert_true(looks <= 4 * COUNT);
    assert_int_equal(stk_loader_close(&loader), 0);
    assert_true(digest.high == expected.high && digest.low == expected.low && digest.high);
}

static void a_timeout_is_a_number_of_seconds(void **state)
{
    (void)state;
    own o = {.closed = 0};
    stk_loader *loader;
    stk_error error;
    const stk_dataset set = set_of(&o, false);
    assert_int_equal(open_set(&loader, &set, (stk_loader_options){0}, NULL), STK_OK);
    const double bad[] = {-1, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        stk_batch *batch = (stk_batch *)&o;
        assert_int_equal(stk_loader_next_within(loader, &batch, bad[i], &error), STK_ERROR_ARGUMENT);
        assert_null(batch);
        assert_non_null(strstr(error.message, "at least 0 s"));
    }
    stk_loader_interrupt(loader);
    stk_batch *batch;
    assert_int_equal(stk_loader_next_within(loader, &batch, 0, NULL), STK_ERROR_INTERRUPTED);
    stk_loader_close(&loader);
}

int main(void)
{
    alarm(120); /* a hang is a failure, too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_that_hangs_is_named),
        cmocka_unit_test(hanging_while_opening_is_named),
        cmocka_unit_test(closed_once_and_only_when_opened),
        cmocka_unit_test(functions_run_beside_each_other),
        cmocka_unit_test(next_within_gives_up_waiting_and_nothing_else),
        cmocka_unit_test(a_timeout_is_a_number_of_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
