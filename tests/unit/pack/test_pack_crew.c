/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, one consumer: samples come in order whatever happens. */
#include "core/clock.h"
#include "core/thread.h"
#include "pack/pack_crew.h"
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 120, NEVER = COUNT };

/* A source of small arrays; reading takes now short, now long. */
static struct {
    uint64_t hang_at, bad_at; /* NEVER: none */
    atomic_bool released;     /* lets the sample that hangs go on */
    atomic_uint_fast64_t highest;
    atomic_int reading;
    bool slow;
} world;

static stk_status give_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                             stk_error *error)
{
    (void)source;
    if (id == world.bad_at) {
        stk__damaged(error, STK_DAMAGE_BAD_ROW, "row %llu", (unsigned long long)id);
        return STK_ERROR_SAMPLE;
    }
    *facts = (stk__sample_facts){.label = (double)id};
    return STK_OK;
}

static void note_highest(uint64_t id)
{
    uint_fast64_t before = atomic_load(&world.highest);
    while (before < id && !atomic_compare_exchange_weak(&world.highest, &before, id))
        continue;
}

static stk_status give_bytes(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                             const char **extension, stk_error *error)
{
    (void)source;
    (void)field;
    static const char head[] =
        "\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (8, 8), }";
    atomic_fetch_add(&world.reading, 1);
    note_highest(id);
    while (id == world.hang_at && !atomic_load(&world.released))
        usleep(1000);
    if (world.slow) usleep((useconds_t)(id * 7919 % 13 * 200));
    buffer->size_bytes = 0;
    const stk_status status = stk__buffer_reserve(buffer, 128 + 64 + 64, error);
    if (status == STK_OK) {
        memset(buffer->data, ' ', 128);
        memcpy(buffer->data, head, sizeof head - 1);
        buffer->data[127] = '\n';
        memset(buffer->data + 128, (int)(id & 255), 64);
        memset(buffer->data + 192, 0, 64);
        buffer->size_bytes = 192;
        *extension = "npy";
    }
    atomic_fetch_sub(&world.reading, 1);
    return status;
}

static void give_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "%06llu", (unsigned long long)id);
}

static void give_place(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    (void)field;
    give_key(source, id, text, size);
}

static const stk__source_ops ops = {
    .name = "array", .facts = give_facts, .read = give_bytes, .key = give_key, .where = give_place};
static const stk__source source = {.ops = &ops,
                                   .info = {.count = COUNT, .images = true, .label = STK_LABEL_CLASS}};

static stk__pack_crew_options options_of(int workers)
{
    return (stk__pack_crew_options){.source = &source,
                                    .limits = stk__limits_default,
                                    .first = 0,
                                    .end = COUNT,
                                    .workers = workers,
                                    .timeout_s = 30};
}

static int reset(void **state)
{
    (void)state;
    world.hang_at = world.bad_at = NEVER;
    world.slow = false;
    atomic_store(&world.released, false);
    atomic_store(&world.highest, 0);
    return 0;
}

static void check_outcome(const stk__pack_outcome *outcome, uint64_t id)
{
    assert_int_equal(outcome->id, id);
    assert_int_equal(outcome->status, id == world.bad_at ? STK_ERROR_SAMPLE : STK_OK);
    if (outcome->status != STK_OK) return;
    char name[16];
    snprintf(name, sizeof name, "%06llu.npy", (unsigned long long)id);
    assert_int_equal(outcome->packed.tar.size_bytes, 512 + 512 + 512 + 512);
    assert_string_equal((const char *)outcome->packed.tar.data, name);
    assert_int_equal(outcome->packed.tar.data[512 + 128], id & 255);
}

static void samples_come_in_order(void **state)
{
    (void)state;
    world.slow = true;
    world.bad_at = 50;
    for (int workers = 0; workers <= 8; workers = workers ? workers * 2 : 1) {
        stk__pack_crew *crew;
        const stk__pack_outcome *outcome;
        stk__pack_crew_options options = options_of(workers);
        options.first = 7;
        atomic_store(&world.highest, 0);
        assert_int_equal(stk__pack_crew_start(&crew, &options, NULL), STK_OK);
        for (uint64_t id = 7; id < COUNT; id++) {
            assert_int_equal(stk__pack_crew_take(crew, &outcome, NULL), STK_OK);
            check_outcome(outcome, id);
            if (id == 60) usleep(20000); /* the workers run into the end of the ring */
            assert_true(atomic_load(&world.highest) <= id + (uint64_t)workers * 2 + 2);
        }
        assert_int_equal(stk__pack_crew_take(crew, &outcome, NULL), STK_END);
        assert_int_equal(stk__pack_crew_take(crew, &outcome, NULL), STK_END);
        assert_int_equal(stk__pack_crew_stop(&crew), 0);
        assert_null(crew);
    }
}

static void stopping_early(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 3; workers++) {
        stk__pack_crew *crew;
        const stk__pack_outcome *outcome;
        stk_error error = {0};
        atomic_bool stop = false;
        stk__pack_crew_options options = options_of(workers);
        options.stop = &stop;
        assert_int_equal(stk__pack_crew_start(&crew, &options, NULL), STK_OK);
        for (uint64_t id = 0; id < 5; id++)
            assert_int_equal(stk__pack_crew_take(crew, &outcome, NULL), STK_OK);
        atomic_store(&stop, true);
        assert_int_equal(stk__pack_crew_take(crew, &outcome, &error), STK_ERROR_INTERRUPTED);
        assert_int_equal(stk__pack_crew_stop(&crew), 0);
    }
    stk__pack_crew *none = NULL;
    assert_int_equal(stk__pack_crew_stop(&none), 0);
}

typedef struct waiting {
    atomic_bool stop;
    int ticks, stop_after;
} waiting;

static void tick(void *context)
{
    waiting *self = context;
    if (++self->ticks == self->stop_after) atomic_store(&self->stop, true);
}

/* Somebody waits for a sample that does not come, and says so: stopped, or out of time. */
static void samples_that_hang(void **state)
{
    (void)state;
    for (int out_of_time = 0; out_of_time < 2; out_of_time++) {
        stk__pack_crew *crew;
        const stk__pack_outcome *outcome;
        stk_error error = {0};
        waiting self = {.stop_after = out_of_time ? 0 : 2};
        stk__pack_crew_options options = options_of(2);
        options.stop = &self.stop;
        options.idle = tick;
        options.context = &self;
        options.timeout_s = out_of_time ? 2 : 30; /* the first three must come on a busy machine */
        world.hang_at = 3;
        atomic_store(&world.released, false);
        assert_int_equal(stk__pack_crew_start(&crew, &options, NULL), STK_OK);
        for (uint64_t id = 0; id < 3; id++)
            assert_int_equal(stk__pack_crew_take(crew, &outcome, NULL), STK_OK);
        const stk_status status = stk__pack_crew_take(crew, &outcome, &error);
        assert_int_equal(status, out_of_time ? STK_ERROR_TIMEOUT : STK_ERROR_INTERRUPTED);
        if (out_of_time) assert_string_equal(error.place, "000003");
        assert_true(self.ticks >= 2);
        atomic_store(&world.released, true); /* so that nothing is left behind */
        assert_int_equal(stk__pack_crew_stop(&crew), 0);
    }
}

/* What is left behind on purpose is no leak. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable()
#define __lsan_enable()
#endif

/* A thread that does not come back is given up within a second. */
static void threads_that_hang(void **state)
{
    (void)state;
    const stk__pack_outcome *outcome;
    stk__pack_crew_options options = options_of(2);
    options.timeout_s = 0.1;
    world.hang_at = 0;
    stk__pack_crew *crew;
    __lsan_disable();
    assert_int_equal(stk__pack_crew_start(&crew, &options, NULL), STK_OK);
    __lsan_enable();
    assert_int_equal(stk__pack_crew_take(crew, &outcome, NULL), STK_ERROR_TIMEOUT);
    const uint64_t start_ns = stk__clock_ns();
    assert_int_equal(stk__pack_crew_stop(&crew), 1);
    assert_true(stk__clock_ns() - start_ns < STK_SECOND_NS);
    atomic_store(&world.released, true);
    while (atomic_load(&world.reading))
        usleep(1000);
    usleep(50000); /* it still has to leave its function */
}

static int starts_left;

static bool refuse_start(void)
{
    return starts_left-- == 0;
}

static void threads_that_do_not_start(void **state)
{
    (void)state;
    stk__thread_fault_set(refuse_start);
    for (int good = 0; good < 4; good++) {
        stk__pack_crew *crew;
        stk_error error = {0};
        const stk__pack_crew_options options = options_of(4);
        starts_left = good;
        assert_int_equal(stk__pack_crew_start(&crew, &options, &error), STK_ERROR_THREAD);
        assert_non_null(strstr(error.hint, "pack.num_workers"));
        assert_null(crew);
    }
    stk__thread_fault_set(NULL);
}

static stk_status run_once(void *context, stk_error *error)
{
    (void)context;
    stk__pack_crew *crew;
    const stk__pack_outcome *outcome;
    const stk__pack_crew_options options = options_of(0);
    STK__TRY(stk__pack_crew_start(&crew, &options, error));
    stk_status status = stk__pack_crew_take(crew, &outcome, error);
    if (status == STK_OK) {
        status = outcome->status; /* a failure inside a sample is that sample's */
        if (error) *error = outcome->error;
    }
    stk__pack_crew_stop(&crew);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(run_once, NULL) > 6);
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(samples_come_in_order), TEST(stopping_early),
        TEST(samples_that_hang),     TEST(threads_that_do_not_start),
        TEST(memory_runs_out),       TEST(threads_that_hang), /* the last: it leaves a thread behind */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
