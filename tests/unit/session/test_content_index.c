/* SPDX-License-Identifier: Apache-2.0 */
/* Equal contents are found in any order and number, inside one index and between two, with the lowest ids as
 * example; an index that is full leaves out, one of nothing finds nothing. */
#include "session/stats/content_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void open_index(stk__content_index *index, uint64_t capacity)
{
    stk_error error;
    assert_int_equal(stk__content_index_open(index, capacity, &error), STK_OK);
}

/* The digest that a file with this number would have. */
static stk__digest content(uint64_t number)
{
    return stk__digest_of(&number, sizeof number);
}

static bool is_sorted(const stk__content_index *index)
{
    for (uint64_t i = 1; i < index->count; i++) {
        const stk__content_entry *a = &index->entries[i - 1], *b = &index->entries[i];
        if (a->high > b->high || (a->high == b->high && a->low > b->low)) return false;
        if (a->high == b->high && a->low == b->low && a->id >= b->id) return false;
    }
    return true;
}

static void duplicates(void **state)
{
    (void)state;
    enum { COUNT = 20000, COPIES = 77 };
    stk__content_index index;
    open_index(&index, COUNT);
    for (uint64_t i = 0; i < COUNT;
         i++) { /* ids backwards; every 77th id has the content of the one before */
        const uint64_t id = COUNT - 1 - i;
        stk__content_index_add(&index, id, content(id % COPIES == 76 ? id - 1 : id));
    }
    stk__content_index_sort(&index);
    assert_true(is_sorted(&index));
    const stk__content_matches found = stk__content_index_duplicates(&index);
    assert_int_equal(found.groups, COUNT / COPIES);
    assert_int_equal(found.samples, COUNT / COPIES);
    assert_int_equal(found.example[0], 75);
    assert_int_equal(found.example[1], 76);
    stk__content_index_close(&index);
}

static void all_equal(void **state)
{
    (void)state;
    stk__content_index index;
    open_index(&index, 300);
    for (uint64_t i = 0; i < 300; i++)
        stk__content_index_add(&index, 299 - i, content(5));
    stk__content_index_sort(&index);
    assert_true(is_sorted(&index));
    const stk__content_matches found = stk__content_index_duplicates(&index);
    assert_int_equal(found.groups, 1);
    assert_int_equal(found.samples, 299);
    assert_int_equal(found.example[0], 0);
    assert_int_equal(found.example[1], 1);
    stk__content_index_close(&index);
}

static void overlap(void **state)
{
    (void)state;
    stk__content_index train, val;
    open_index(&train, 100);
    open_index(&val, 50);
    for (uint64_t i = 0; i < 100; i++)
        stk__content_index_add(&train, i, content(i < 2 ? 40 : i)); /* 0, 1 and 40 are the same */
    for (uint64_t i = 0; i < 50; i++)
        stk__content_index_add(&val, i, content(i == 9 ? 40 : i == 3 ? 70 : 1000 + i));
    stk__content_index_sort(&train);
    stk__content_index_sort(&val);
    const stk__content_matches found = stk__content_index_overlap(&train, &val);
    assert_int_equal(found.groups, 2);
    assert_int_equal(found.samples, 4);
    assert_int_equal(found.example[0], 0);
    assert_int_equal(found.example[1], 9);
    assert_int_equal(stk__content_index_overlap(&val, &train).samples, 2);
    assert_int_equal(stk__content_index_duplicates(&val).samples, 0);
    stk__content_index_close(&train);
    stk__content_index_close(&val);
}

static void nothing_and_too_much(void **state)
{
    (void)state;
    stk__content_index none, one;
    open_index(&none, 0);
    open_index(&one, 1);
    stk__content_index_add(&none, 0, content(1));
    stk__content_index_sort(&none);
    assert_int_equal(none.count, 0);
    assert_int_equal(stk__content_index_duplicates(&none).example[0], -1);
    stk__content_index_add(&one, 0, content(1));
    stk__content_index_add(&one, 1, content(1));
    stk__content_index_sort(&one);
    assert_int_equal(one.count, 1);
    assert_int_equal(stk__content_index_duplicates(&one).samples, 0);
    assert_int_equal(stk__content_index_overlap(&one, &none).samples, 0);
    stk__content_index_close(&none);
    stk__content_index_close(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(duplicates), cmocka_unit_test(all_equal),
                                       cmocka_unit_test(overlap), cmocka_unit_test(nothing_and_too_much)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
