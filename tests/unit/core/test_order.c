/* SPDX-License-Identifier: Apache-2.0 */
/* The shuffled order: a bijection for every size, its inverse, blocks, uniformity (chi-squared), and
 * splits that are disjoint and complete. */
#include "core/memory.h"
#include "core/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void check_bijection(const stk__order *order)
{
    uint8_t *seen = stk__alloc(order->count);
    assert_non_null(seen);
    for (uint64_t p = 0; p < order->count; p++) {
        const uint64_t id = stk__order_at(order, p);
        assert_true(id < order->count);
        assert_int_equal(seen[id]++, 0);
    }
    stk__free(seen);
}

static void order_is_a_bijection_for_every_size(void **state)
{
    (void)state;
    for (uint64_t count = 1; count < 300; count++)
        for (uint32_t epoch = 0; epoch < 3; epoch++)
            for (uint64_t block = 1; block < 40; block += 7) {
                const stk__order blocks = stk__order_make(STK_ORDER_BLOCKS, count, block, 7, epoch);
                const stk__order full = stk__order_make(STK_ORDER_FULL, count, 0, 7, epoch);
                check_bijection(&blocks);
                check_bijection(&full);
            }
}

static void permutation_find_is_the_inverse(void **state)
{
    (void)state;
    const uint64_t counts[] = {1, 2, 3, 64, 65, 1000, 10000019};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const stk__permutation p = stk__permutation_make(counts[i], 99);
        for (uint64_t k = 0; k < counts[i]; k += 1 + counts[i] / 1000)
            assert_true(stk__permutation_find(&p, stk__permutation_at(&p, k)) == k);
    }
}

static void blocks_keep_neighbours_together(void **state)
{
    (void)state;
    const stk__order order = stk__order_make(STK_ORDER_BLOCKS, 1003, 10, 5, 2);
    int changes = 0;
    for (uint64_t p = 1; p < order.count; p++)
        changes += stk__order_at(&order, p) / 10 != stk__order_at(&order, p - 1) / 10;
    assert_int_equal(changes, 100); /* 101 blocks */
}

static void epochs_and_seeds_differ(void **state)
{
    (void)state;
    const stk__order a = stk__order_make(STK_ORDER_FULL, 1000, 0, 1, 0),
                     b = stk__order_make(STK_ORDER_FULL, 1000, 0, 1, 1),
                     c = stk__order_make(STK_ORDER_FULL, 1000, 0, 2, 0);
    int same_epoch = 0, same_seed = 0, fixed = 0;
    for (uint64_t p = 0; p < 1000; p++) {
        same_epoch += stk__order_at(&a, p) == stk__order_at(&b, p);
        same_seed += stk__order_at(&a, p) == stk__order_at(&c, p);
        fixed += stk__order_at(&a, p) == p;
    }
    /* A random permutation has one such place on average; 12 or more happen once in 10^9. */
    assert_true(same_epoch < 12 && same_seed < 12 && fixed < 12);
}

static void full_order_is_uniform(void **state)
{
    (void)state;
    enum { N = 8, EPOCHS = 20000 };
    int counts[N][N] = {{0}};
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        const stk__order order = stk__order_make(STK_ORDER_FULL, N, 0, 42, epoch);
        for (uint64_t p = 0; p < N; p++)
            counts[p][stk__order_at(&order, p)]++;
    }
    double chi = 0;
    for (int p = 0; p < N; p++)
        for (int id = 0; id < N; id++) {
            const double expected = (double)EPOCHS / N, off = counts[p][id] - expected;
            chi += off * off / expected;
        }
    assert_true(chi < 110); /* 49 degrees of freedom: p > 1e-6 */
}

static void split_parts_are_disjoint_complete_and_ordered(void **state)
{
    (void)state;
    for (uint64_t count = 1; count < 200; count++)
        for (uint64_t held = 0; held <= count; held++) {
            const stk__split split = {count, held, 3};
            uint8_t seen[200] = {0};
            uint64_t last = 0;
            for (uint64_t i = 0; i < held; i++) {
                const uint64_t id = stk__split_held_at(&split, i);
                assert_true(id < count && (i == 0 || id > last));
                seen[last = id]++;
            }
            for (uint64_t i = 0; i < count - held; i++) {
                const uint64_t id = stk__split_rest_at(&split, i);
                assert_true(id < count && (i == 0 || id > last));
                seen[last = id]++;
            }
            for (uint64_t i = 0; i < count; i++)
                assert_int_equal(seen[i], 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_a_bijection_for_every_size),
        cmocka_unit_test(permutation_find_is_the_inverse),
        cmocka_unit_test(blocks_keep_neighbours_together),
        cmocka_unit_test(epochs_and_seeds_differ),
        cmocka_unit_test(full_order_is_uniform),
        cmocka_unit_test(split_parts_are_disjoint_complete_and_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
