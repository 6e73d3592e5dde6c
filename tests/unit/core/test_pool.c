/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: each item once, limits kept, callers at once, nested calls, threads that cannot be started. */
#include "core/pool.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { ITEMS = 500 };

typedef struct counts {
    atomic_int by_item[ITEMS], by_worker[STK_POOL_WORKERS];
    atomic_int at_work[STK_POOL_WORKERS]; /* threads that have this number now */
    atomic_int shared;                    /* two threads had one number */
    unsigned pause_us;
} counts;

static void count_item(void *context, size_t item, int worker)
{
    counts *c = context;
    if (atomic_fetch_add(&c->at_work[worker], 1) != 0) atomic_fetch_add(&c->shared, 1);
    atomic_fetch_add(&c->by_item[item], 1);
    atomic_fetch_add(&c->by_worker[worker], 1);
    if (c->pause_us) usleep(c->pause_us);
    atomic_fetch_sub(&c->at_work[worker], 1);
}

static int workers_seen(counts *c)
{
    int seen = 0;
    for (int w = 0; w < STK_POOL_WORKERS; w++)
        seen += c->by_worker[w] > 0;
    return seen;
}

static void check_once(counts *c, size_t count)
{
    for (size_t i = 0; i < ITEMS; i++)
        assert_int_equal(c->by_item[i], i < count);
    assert_int_equal(c->shared, 0);
}

static void each_item_runs_once_for_every_limit(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 31, ITEMS};
    for (int limit = 0; limit <= 16; limit++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            counts c = {.pause_us = s == 4 ? 50 : 0};
            const int took =
                stk__pool_run(&(stk__pool_job){count_item, &c, .count = sizes[s], .workers = limit});
            check_once(&c, sizes[s]);
            assert_in_range(took, 1, limit > 1 ? limit : limit == 1 ? 1 : stk__pool_default_workers());
            for (int w = took; w < STK_POOL_WORKERS; w++)
                assert_int_equal(c.by_worker[w], 0);
        }
}

enum { TOGETHER = 5 };

typedef struct meeting {
    atomic_int here;
    char names[TOGETHER][16]; /* of the threads, by worker */
} meeting;

/* Nobody leaves before all have come, so each thread gets one item, however slow the machine is. */
static void meet(void *context, size_t item, int worker)
{
    (void)item;
    meeting *m = context;
    const uint64_t deadline = stk__clock_ns() + 60 * STK_SECOND_NS;
    pthread_getname_np(pthread_self(), m->names[worker], sizeof m->names[worker]);
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < TOGETHER && stk__clock_ns() < deadline)
        usleep(100);
}

static void as_many_threads_as_asked_work_at_once_and_have_names(void **state)
{
    (void)state;
    meeting m = {0};
    stk__pool_stop(); /* others may have left more threads */
    const stk__pool_job job = {meet, &m, .count = TOGETHER, .workers = TOGETHER};
    assert_int_equal(stk__pool_run(&job), TOGETHER);
    assert_int_equal(m.here, TOGETHER);
    bool seen[TOGETHER] = {false};
    for (int w = 1; w < TOGETHER; w++) { /* in any order */
        assert_memory_equal(m.names[w], "stk-pool-", 9);
        const int number = m.names[w][9] - '0';
        assert_in_range(number, 1, TOGETHER - 1);
        assert_false(seen[number]);
        seen[number] = true;
    }
}

static void more_than_the_limit_is_cut(void **state)
{
    (void)state;
    counts c = {0};
    const int took = stk__pool_run(&(stk__pool_job){count_item, &c, .count = ITEMS, .workers = 100000});
    assert_int_equal(took, STK_POOL_WORKERS);
    check_once(&c, ITEMS);
}

static void zero_is_the_cpu_budget(void **state)
{
    (void)state;
    counts c = {0};
    assert_true(stk__pool_default_workers() >= 1);
    assert_int_equal(stk__pool_run(&(stk__pool_job){count_item, &c, .count = ITEMS}),
                     stk__pool_default_workers());
}

typedef struct nest {
    counts inner[8];
    atomic_int took_more;
} nest;

static void run_inner(void *context, size_t item, int worker)
{
    (void)worker;
    nest *n = context;
    if (stk__pool_run(&(stk__pool_job){count_item, &n->inner[item], .count = 20, .workers = 4}) != 1)
        atomic_fetch_add(&n->took_more, 1);
}

static void a_nested_call_runs_on_its_thread_alone(void **state)
{
    (void)state;
    static nest n;
    stk__pool_run(&(stk__pool_job){run_inner, &n, .count = 8, .workers = 3});
    assert_int_equal(n.took_more, 0);
    for (int i = 0; i < 8; i++) {
        check_once(&n.inner[i], 20);
        assert_int_equal(workers_seen(&n.inner[i]), 1);
    }
}

static void call_often(void *context)
{
    for (int round = 0; round < 50; round++) {
        counts c = {0};
        stk__pool_run(&(stk__pool_job){count_item, &c, .count = 40, .workers = 3});
        for (size_t i = 0; i < 40; i++)
            if (c.by_item[i] != 1 || c.shared) atomic_fetch_add((atomic_int *)context, 1);
    }
}

static void callers_at_once_share_the_pool(void **state)
{
    (void)state;
    atomic_int wrong = 0;
    stk__thread *threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            stk__thread_start(&threads[i],
                              &(stk__thread_options){.name = "caller", .run = call_often, .context = &wrong},
                              NULL),
            STK_OK);
    for (int i = 0; i < 4; i++)
        assert_true(stk__thread_join(&threads[i], stk__clock_ns() + 60 * STK_SECOND_NS));
    assert_int_equal(wrong, 0);
}

static int starts_allowed;

static bool refuse_start(void)
{
    return starts_allowed-- <= 0;
}

static void threads_that_cannot_be_started_are_done_without(void **state)
{
    (void)state;
    stk__pool_stop();
    stk__thread_fault_set(refuse_start);
    for (int allowed = 0; allowed < 3; allowed++) {
        starts_allowed = allowed;
        counts c = {0};
        assert_int_equal(stk__pool_run(&(stk__pool_job){count_item, &c, .count = ITEMS, .workers = 4}),
                         allowed + 1);
        check_once(&c, ITEMS);
        stk__pool_stop();
    }
    stk__thread_fault_set(NULL);
    counts c = {0};
    assert_int_equal(stk__pool_run(&(stk__pool_job){count_item, &c, .count = ITEMS, .workers = 4}), 4);
}

static atomic_int allocations;

static void *count_allocation(void *context, size_t size_bytes)
{
    (void)context;
    atomic_fetch_add(&allocations, 1);
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void release_allocation(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

static void nothing_is_allocated_once_the_threads_are_there(void **state)
{
    (void)state;
    stk__pool_stop();
    stk_allocator_set(&(stk_allocator){.alloc = count_allocation, .release = release_allocation});
    int after_first = 0;
    for (int round = 0; round < 20; round++) {
        counts c = {0};
        stk__pool_run(&(stk__pool_job){count_item, &c, .count = ITEMS, .workers = 4});
        if (round == 0) after_first = atomic_load(&allocations);
    }
    assert_int_equal(after_first, 3); /* a small block for each thread */
    assert_int_equal(allocations, after_first);
    stk__pool_stop();
    stk_allocator_set(NULL);
}

static double cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void wait_at_item(void *context, size_t item, int worker)
{
    (void)context, (void)worker;
    if (item == 1) usleep(200000);
}

/* They look for a next job, and the caller for the end of this one, but not for long. */
static void who_has_nothing_to_do_sleeps(void **state)
{
    (void)state;
    counts c = {0};
    stk__pool_run(&(stk__pool_job){count_item, &c, .count = ITEMS, .workers = 8});
    const double before = cpu_seconds();
    usleep(200000);
    stk__pool_run(&(stk__pool_job){wait_at_item, NULL, .count = 2, .workers = 2});
    assert_true(cpu_seconds() - before < 0.1);
}

static int stop_pool(void **state)
{
    (void)state;
    stk__pool_stop();
    stk__pool_stop(); /* twice does no harm */
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_runs_once_for_every_limit),
        cmocka_unit_test(as_many_threads_as_asked_work_at_once_and_have_names),
        cmocka_unit_test(more_than_the_limit_is_cut),
        cmocka_unit_test(zero_is_the_cpu_budget),
        cmocka_unit_test(a_nested_call_runs_on_its_thread_alone),
        cmocka_unit_test(callers_at_once_share_the_pool),
        cmocka_unit_test(threads_that_cannot_be_started_are_done_without),
        cmocka_unit_test(who_has_nothing_to_do_sleeps),
        cmocka_unit_test(nothing_is_allocated_once_the_threads_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, stop_pool);
}
