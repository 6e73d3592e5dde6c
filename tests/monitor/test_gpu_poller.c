/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU's watch: threads that hang are left and replaced, lost GPUs revived later and later. The reader
 * here does what the test tells it. */
#include "monitor/gpu_poller.h"

#include "core/thread.h"
#include "left_behind.h"
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define DEADLINE_NS (120 * 1000000ull) /* a busy machine may stop a thread for some of it */

typedef enum mood { WELL, HANGS, LOST, SLOW } mood;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    mood read, revive; /* lock */
    int reads, revives, hanging, states;
    double counter;
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

typedef struct state {
    bool used;
} state;

static void set(mood read, mood revive)
{
    pthread_mutex_lock(&gpu.lock);
    gpu.read = read;
    gpu.revive = revive;
    pthread_cond_broadcast(&gpu.changed);
    pthread_mutex_unlock(&gpu.lock);
}

static int get(const int *number)
{
    pthread_mutex_lock(&gpu.lock);
    const int value = *number;
    pthread_mutex_unlock(&gpu.lock);
    return value;
}

/* With the lock: returns when the mood is another one. */
static void hang_while(const mood *which)
{
    gpu.hanging++;
    while (*which == HANGS)
        pthread_cond_wait(&gpu.changed, &gpu.lock);
    gpu.hanging--;
}

static void read_gpu(stk__poller_context *context, stk_gpu_frame *frame)
{
    state *s = context->state;
    pthread_mutex_lock(&gpu.lock);
    gpu.reads++;
    if (!s->used) gpu.states++;
    s->used = true;
    if (gpu.read == HANGS) hang_while(&gpu.read);
    if (gpu.read == SLOW) {
        pthread_mutex_unlock(&gpu.lock);
        for (int i = 0; i < 12; i++) { /* long in all, but no single call is */
            nanosleep(&(struct timespec){.tv_nsec = (long)DEADLINE_NS / 8}, NULL);
            stk__poller_context_beat(context);
        }
        pthread_mutex_lock(&gpu.lock);
    }
    if (gpu.read == LOST) {
        frame->state = STK_GPU_LOST;
        snprintf(frame->note, sizeof frame->note, "gone");
    } else {
        const uint64_t now_ns = stk__clock_ns();
        frame->readings[STK_METRIC_POWER] = stk__reading_known(100, now_ns);
        frame->readings[STK_METRIC_UTIL] = stk__reading_known(50, now_ns);
        frame->readings[STK_METRIC_ENERGY] = stk__reading_known(gpu.counter, now_ns);
    }
    pthread_mutex_unlock(&gpu.lock);
}

static bool revive_gpu(stk__poller_context *context)
{
    (void)context;
    pthread_mutex_lock(&gpu.lock);
    gpu.revives++;
    if (gpu.revive == HANGS) hang_while(&gpu.revive);
    const bool there = gpu.revive == WELL;
    pthread_mutex_unlock(&gpu.lock);
    return there;
}

static const stk__reader_ops ops = {
    .vendor = "test", .state_bytes = sizeof(state), .read = read_gpu, .revive = revive_gpu};
static stk__gpu_reader reader = {&ops};
static stk_gpu_frame frame;

static stk__gpu_poller *start(void)
{
    stk__gpu_poller *poller;
    set(WELL, WELL);
    gpu.reads = gpu.revives = gpu.states = 0;
    gpu.counter = 10;
    const stk__gpu_poller_options options = {.reader = &reader,
                                             .start_ns = stk__clock_ns(),
                                             .gap_ns = DEADLINE_NS / 4,
                                             .deadline_ns = DEADLINE_NS};
    assert_int_equal(stk__gpu_poller_open(&poller, &options, NULL), STK_OK);
    return poller;
}

static int finish(stk__gpu_poller *poller)
{
    return stk__gpu_poller_close(&poller, stk__clock_ns() + 5 * STK_SECOND_NS);
}

static stk_gpu_state look(stk__gpu_poller *poller)
{
    stk__gpu_poller_check(poller);
    stk__gpu_poller_take(poller, &frame);
    return frame.state;
}

/* Until the GPU is in this state, 5 s at most. */
static void await(stk__gpu_poller *poller, stk_gpu_state wanted)
{
    const uint64_t until_ns = stk__clock_ns() + 5 * STK_SECOND_NS;
    while (look(poller) != wanted || (wanted == STK_GPU_GOOD && !frame.readings[STK_METRIC_POWER].known)) {
        if (stk__clock_ns() > until_ns)
            fail_msg("%s, not %s", stk_gpu_state_name(frame.state), stk_gpu_state_name(wanted));
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static void before_the_first_answer_nothing_is_known(void **state_)
{
    (void)state_;
    set(HANGS, WELL);
    stk__gpu_poller *poller;
    const stk__gpu_poller_options options = {
        .reader = &reader, .start_ns = stk__clock_ns(), .gap_ns = DEADLINE_NS, .deadline_ns = DEADLINE_NS};
    assert_int_equal(stk__gpu_poller_open(&poller, &options, NULL), STK_OK);
    stk__gpu_poller_take(poller, &frame);
    assert_int_equal(frame.state, STK_GPU_GOOD);
    assert_string_equal(frame.note, "no response yet");
    assert_int_equal(frame.readings[STK_METRIC_POWER].known, STK_UNKNOWN);
    set(WELL, WELL);
    await(poller, STK_GPU_GOOD);
    assert_int_equal(finish(poller), 0);
}

/* Before it counts as hung: the last interval is not known, and its note says why. */
static void silence_is_told(void **state_)
{
    (void)state_;
    stk__gpu_poller *poller = start();
    await(poller, STK_GPU_GOOD);
    assert_int_equal(frame.readings[STK_METRIC_UTIL].known, STK_KNOWN);
    set(HANGS, WELL);
    while (look(poller) == STK_GPU_GOOD && !frame.note[0])
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (frame.state == STK_GPU_GOOD) { /* not where the machine was too busy to look in time */
        assert_non_null(strstr(frame.note, "no response for 0."));
        assert_int_equal(frame.readings[STK_METRIC_UTIL].known, STK_UNKNOWN);
        assert_int_equal(frame.readings[STK_METRIC_POWER].known, STK_KNOWN); /* of an older moment */
    }
    set(WELL, WELL);
    await(poller, STK_GPU_GOOD);
    assert_int_equal(finish(poller), 0);
}

static void a_thread_that_hangs_is_replaced(void **state_)
{
    (void)state_;
    stk__gpu_poller *poller = start();
    await(poller, STK_GPU_GOOD);
    set(HANGS, LOST);
    const uint64_t hung_ns = stk__clock_ns();
    await(poller, STK_GPU_HUNG);
    assert_true(stk__clock_ns() - hung_ns >= DEADLINE_NS);
    assert_string_equal(frame.note, "driver call timed out after 0.12 s");
    assert_int_equal(frame.readings[STK_METRIC_POWER].known, STK_UNKNOWN);
    while (get(&gpu.revives) < 2)
        assert_int_equal(look(poller), STK_GPU_HUNG);
    assert_int_equal(get(&gpu.hanging), 1);
    set(HANGS, WELL); /* found again, and hangs again */
    while (get(&gpu.hanging) < 2)
        look(poller);
    set(WELL, WELL); /* all come back: what the late ones bring is not wanted */
    await(poller, STK_GPU_GOOD);
    assert_true(get(&gpu.states) >= 2); /* every thread its own */
    assert_int_equal(finish(poller), 0);
}

/* The one that comes back wakes its successor, however late that would have tried. */
static void a_late_answer_revives_at_once(void **state_)
{
    (void)state_;
    stk__gpu_poller *poller = start();
    await(poller, STK_GPU_GOOD);
    set(HANGS, LOST);
    await(poller, STK_GPU_HUNG);
    while (get(&gpu.revives) < 3) /* half a deadline, one, two, four … apart by now */
        look(poller);
    set(WELL, WELL);
    const uint64_t back_ns = stk__clock_ns();
    await(poller, STK_GPU_GOOD);
    assert_true(stk__clock_ns() - back_ns < STK_SECOND_NS);
    assert_int_equal(finish(poller), 0);
}

static void not_more_than_three_hang(void **state_)
{
    (void)state_;
    stk__gpu_poller *poller = start();
    await(poller, STK_GPU_GOOD);
    set(HANGS, HANGS);
    while (get(&gpu.hanging) < 3)
        look(poller);
    const uint64_t until_ns = stk__clock_ns() + 8 * DEADLINE_NS;
    while (stk__clock_ns() < until_ns)
        assert_int_equal(look(poller), STK_GPU_HUNG);
    assert_int_equal(get(&gpu.hanging), 3);
    set(WELL, WELL);
    await(poller, STK_GPU_GOOD);
    assert_int_equal(finish(poller), 0);
    assert_int_equal(get(&gpu.hanging), 0);
}

static void leave_one(void)
{
    stk__gpu_poller *poller = start();
    await(poller, STK_GPU_GOOD);
    set(HANGS, LOST);
    await(poller, STK_GPU_HUNG);
    const uint64_t now_ns = stk__clock_ns();
    assert_int_equal(stk__gpu_poller_close(&poller, now_ns + DEADLINE_NS), 1);
    assert_null(poller);
    assert_true(stk__clock_ns() - now_ns < 5 * STK_SECOND_NS);
    set(WELL, WELL); /* and it still finds all it needs */
    while (get(&gpu.hanging))
        continue;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void those_that_never_come_back_are_left(void **state_)
{
    (void)state_;
    run_in_child(leave_one);
}

static void a_slow_gpu_does_not_hang(void **state_)
{
    (void)state_;
    stk__gpu_poller *poller = start();
    await(poller, STK_GPU_GOOD);
    set(SLOW, WELL);
    const uint64_t until_ns = stk__clock_ns() + 8 * DEADLINE_NS;
    while (stk__clock_ns() < until_ns) {
        assert_int_equal(look(poller), STK_GPU_GOOD);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(get(&gpu.revives), 0);
    assert_int_equal(finish(poller), 0);
}

static void a_lost_gpu_is_asked_less_and_less(void **state_)
{
    (void)state_;
    stk__gpu_poller *poller = start();
    await(poller, STK_GPU_GOOD);
    set(LOST, LOST);
    await(poller, STK_GPU_LOST);
    assert_string_equal(frame.note, "gone");
    const int reads = get(&gpu.reads);
    const uint64_t until_ns = stk__clock_ns() + 10 * DEADLINE_NS;
    while (stk__clock_ns() < until_ns)
        assert_int_equal(look(poller), STK_GPU_LOST);
    assert_in_range(get(&gpu.revives), 1, 5); /* at half a deadline, one and a half, three and a half, … */
    assert_int_equal(get(&gpu.reads), reads); /* not read while it is lost */
    set(WELL, WELL);
    await(poller, STK_GPU_GOOD);
    assert_int_equal(finish(poller), 0);
}

static void counters_never_fall(void **state_)
{
    (void)state_;
    stk__gpu_poller *poller = start();
    const double raw[] = {10, 25, 3, 8}, expected[] = {10, 25, 28, 33}; /* a driver that was loaded anew */
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&gpu.lock);
        gpu.counter = raw[i];
        pthread_mutex_unlock(&gpu.lock);
        stk__gpu_poller_ask(poller);
        stk__gpu_poller_wait(poller, stk__clock_ns(), stk__clock_ns() + STK_SECOND_NS);
        look(poller);
        assert_true(frame.readings[STK_METRIC_ENERGY].value == expected[i]);
    }
    assert_int_equal(finish(poller), 0);
}

static stk_status open_once(void *context, stk_error *error)
{
    (void)context;
    stk__gpu_poller *poller;
    const stk__gpu_poller_options options = {
        .reader = &reader, .start_ns = stk__clock_ns(), .gap_ns = DEADLINE_NS, .deadline_ns = DEADLINE_NS};
    const stk_status status = stk__gpu_poller_open(&poller, &options, error);
    if (status == STK_OK) assert_int_equal(finish(poller), 0);
    return status;
}

static bool fault_start(void)
{
    return true;
}

static void without_memory_or_threads_it_tries_again(void **state_)
{
    (void)state_;
    set(WELL, WELL);
    assert_int_equal(fail_alloc_each(open_once, NULL), 5);
    stk__gpu_poller *poller = start();
    await(poller, STK_GPU_GOOD);
    stk__thread_fault_set(fault_start);
    set(HANGS, WELL);
    await(poller, STK_GPU_HUNG);
    assert_int_equal(look(poller), STK_GPU_HUNG); /* nobody there to wait for */
    stk__gpu_poller_wait(poller, stk__clock_ns(), stk__clock_ns() + 100 * STK_SECOND_NS);
    stk__thread_fault_set(NULL);
    set(WELL, WELL);
    await(poller, STK_GPU_GOOD);
    assert_int_equal(finish(poller), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_answer_nothing_is_known),
        cmocka_unit_test(silence_is_told),
        cmocka_unit_test(a_thread_that_hangs_is_replaced),
        cmocka_unit_test(a_late_answer_revives_at_once),
        cmocka_unit_test(not_more_than_three_hang),
        cmocka_unit_test(those_that_never_come_back_are_left),
        cmocka_unit_test(a_slow_gpu_does_not_hang),
        cmocka_unit_test(a_lost_gpu_is_asked_less_and_less),
        cmocka_unit_test(counters_never_fall),
        cmocka_unit_test(without_memory_or_threads_it_tries_again),
    };
    return cmocka_run_group_tests_name("poller", tests, NULL, NULL);
}
