/* SPDX-License-Identifier: Apache-2.0 */
/* The room for what PyTorch's operators allocate: first gaps, growth, its end. */
#include "engine/torch/torch_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

enum { SIZE = 1024, LINE = 64 };

static int set_up(void **state)
{
    (void)state;
    stk__torch_room_open();
    return stk__torch_room_grow(SIZE, NULL) == STK_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    stk__torch_room_close();
    return stk__torch_room_take(1) ? 1 : 0; /* without users there is none */
}

static void the_first_gap_is_taken(void **state)
{
    (void)state;
    char *const a = stk__torch_room_take(LINE), *const b = stk__torch_room_take(2 * LINE - 1),
                *const c = stk__torch_room_take(LINE);
    assert_non_null(a);
    assert_ptr_equal(b, a + LINE);
    assert_ptr_equal(c, a + 3 * LINE);
    assert_int_equal(stk__torch_room_give(b), 2 * LINE);
    assert_ptr_equal(stk__torch_room_take(3 * LINE), c + LINE); /* too large for the gap */
    assert_ptr_equal(stk__torch_room_take(LINE), b);
    assert_ptr_equal(stk__torch_room_take(LINE), b + LINE);
    assert_null(stk__torch_room_take(SIZE));
    assert_true(stk__torch_room_has(c) && !stk__torch_room_has(&state));
    assert_int_equal(stk__torch_room_give(b + 1), 0); /* no piece begins there */
    char *const all[] = {a, b, b + LINE, c, c + LINE};
    for (int i = 0; i < 5; i++)
        assert_true(stk__torch_room_give(all[i]) > 0);
    assert_ptr_equal(stk__torch_room_take(SIZE), a); /* all is free again */
    assert_int_equal(stk__torch_room_give(a), SIZE);
}

static void it_grows_when_it_is_empty(void **state)
{
    (void)state;
    void *const piece = stk__torch_room_take(LINE);
    assert_int_equal(stk__torch_room_grow(4 * SIZE, NULL), STK_OK);
    assert_null(stk__torch_room_take(2 * SIZE)); /* not under a piece's feet */
    assert_true(stk__torch_room_give(piece) > 0);
    assert_int_equal(stk__torch_room_grow(4 * SIZE, NULL), STK_OK);
    void *const large = stk__torch_room_take(4 * SIZE);
    assert_non_null(large);
    assert_true(stk__torch_room_give(large) > 0);
    assert_int_equal(stk__torch_room_grow(SIZE, NULL), STK_OK); /* it does not shrink */
    void *const again = stk__torch_room_take(4 * SIZE);
    assert_non_null(again);
    assert_true(stk__torch_room_give(again) > 0);
}

static void no_memory_is_told(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__torch_room_grow(SIZE_MAX / 2, &error), STK_ERROR_MEMORY);
    assert_null(stk__torch_room_take(LINE));
    assert_int_equal(stk__torch_room_grow(SIZE, NULL), STK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_gap_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_grows_when_it_is_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory_is_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
