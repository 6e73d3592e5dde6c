/* SPDX-License-Identifier: Apache-2.0 */
/* The gate for large images: as many at once as the bound allows, one always, and everybody gets through. */
#include "decode/inflate_gate.h"

#include "core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

enum { THREADS = 8, ROUNDS = 50 };

typedef struct crowd {
    stk__inflate_gate gate;
    uint64_t size_bytes;
    atomic_int inside, most, through;
} crowd;

static void *go_through(void *context)
{
    crowd *c = context;
    for (int i = 0; i < ROUNDS; i++) {
        stk__inflate_gate_enter(&c->gate, c->size_bytes);
        const int inside = atomic_fetch_add(&c->inside, 1) + 1;
        for (int most = atomic_load(&c->most); inside > most;)
            if (atomic_compare_exchange_weak(&c->most, &most, inside)) break;
        usleep(100);
        atomic_fetch_sub(&c->inside, 1);
        stk__inflate_gate_leave(&c->gate, c->size_bytes);
        atomic_fetch_add(&c->through, 1);
    }
    return NULL;
}

/* How many of the size were inside at once. */
static int run_crowd(uint64_t limit_bytes, uint64_t size_bytes)
{
    crowd c = {.size_bytes = size_bytes};
    pthread_t threads[THREADS];
    assert_int_equal(stk__inflate_gate_init(&c.gate, NULL), STK_OK);
    c.gate.limit_bytes = limit_bytes;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, go_through, &c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&c.through), THREADS * ROUNDS);
    assert_int_equal(c.gate.used_bytes, 0);
    stk__inflate_gate_fini(&c.gate);
    return atomic_load(&c.most);
}

static void as_many_as_the_bound_allows(void **state)
{
    (void)state;
    assert_in_range(run_crowd(350, 100), 1, 3);
    assert_in_range(run_crowd(200, 100), 1, 2);
    assert_int_equal(run_crowd(199, 100), 1);
    assert_int_equal(run_crowd(0, 100), 1); /* one always */
    assert_int_equal(run_crowd(10, 100), 1);
}

static void without_a_gate_nothing_waits(void **state)
{
    (void)state;
    stk__inflate_gate_enter(NULL, UINT64_MAX);
    stk__inflate_gate_leave(NULL, UINT64_MAX);
    stk__inflate_gate never = {0};
    stk__inflate_gate_fini(&never);
}

static void it_tells_whether_it_moves(void **state)
{
    (void)state;
    stk__inflate_gate gate = {0};
    assert_int_equal(stk__inflate_gate_init(&gate, NULL), STK_OK);
    assert_false(stk__inflate_gate_moves(&gate, 3600 * STK_SECOND_NS));
    stk__inflate_gate_enter(&gate, 1);
    assert_false(stk__inflate_gate_moves(&gate, 3600 * STK_SECOND_NS));
    stk__inflate_gate_leave(&gate, 1);
    assert_true(stk__inflate_gate_moves(&gate, 3600 * STK_SECOND_NS));
    usleep(2000);
    assert_false(stk__inflate_gate_moves(&gate, 1000000));
    stk__inflate_gate_fini(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_the_bound_allows),
        cmocka_unit_test(without_a_gate_nothing_waits),
        cmocka_unit_test(it_tells_whether_it_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
