/* SPDX-License-Identifier: Apache-2.0 */
/* The stall table: every moment goes to one row. */
#include "train/stall.h"

#include "core/clock.h"
#include "report/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static void pause_ms(int ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

static double sum(const stk__stall *stall)
{
    double total = 0;
    for (int i = 0; i < STK_STALL_ROWS; i++)
        total += stall->row_ns[i];
    return total;
}

static void rows_make_up_the_whole(void **state)
{
    (void)state;
    stk__stall stall = {0};
    stk__stall_start(&stall);
    pause_ms(3);
    assert_true(stk__stall_mark(&stall, STK_STALL_FORWARD) >= 3000000);
    pause_ms(1);
    stk__stall_mark(&stall, STK_STALL_OTHER);
    assert_true(fabs(sum(&stall) - stk__stall_total_ns(&stall)) < 1);
    assert_true(stall.row_ns[STK_STALL_FORWARD] >= 3e6 && stall.row_ns[STK_STALL_OTHER] >= 1e6);
    assert_true(stk__stall_wait_ns(&stall) == 0);
}

static void waits_are_divided_by_what_the_workers_did(void **state)
{
    (void)state;
    const stk_loader_stats before = {
        .stage_ns = {100, 100, 100, 100, 100, 100, 100}, .device_copy_ns = 7, .device_kernel_ns = 7};
    stk_loader_stats after = {
        .stage_ns = {100, 100, 100, 100, 100, 100, 900}, .device_copy_ns = 57, .device_kernel_ns = 57};
    after.stage_ns[STK_STAGE_READ] += 4;
    after.stage_ns[STK_STAGE_CACHE] += 6; /* read from memory */
    after.stage_ns[STK_STAGE_DECODE] += 40;
    after.stage_ns[STK_STAGE_MASK] += 20;
    after.stage_ns[STK_STAGE_AUGMENT] += 30;
    stk__stall stall = {0};
    stk__stall_start(&stall);
    pause_ms(2);
    const double passed = (double)stk__stall_mark_wait(&stall, &before, &after);
    assert_true(passed >= 2e6);
    assert_true(fabs(stall.row_ns[STK_STALL_READ] - 0.05 * passed) < 1);
    assert_true(fabs(stall.row_ns[STK_STALL_DECODE] - 0.3 * passed) < 1);
    assert_true(fabs(stall.row_ns[STK_STALL_AUGMENT] - 0.15 * passed) < 1);
    assert_true(fabs(stall.row_ns[STK_STALL_COPY] - 0.25 * passed) < 1);
    assert_true(fabs(stall.row_ns[STK_STALL_DEVICE_AUGMENT] - 0.25 * passed) < 1);
    assert_true(fabs(stk__stall_wait_ns(&stall) - 0.5 * passed) < 1);
}

/* Nobody was busy, or clocks that were read in a bad moment seem to run back. */
static void a_wait_without_work_is_still_a_wait(void **state)
{
    (void)state;
    const stk_loader_stats before = {.stage_ns = {50, 50, 50, 50, 50, 50, 50}},
                           after = {.stage_ns = {50, 49, 50, 50, 50, 50, 99}};
    stk__stall stall = {0};
    stk__stall_start(&stall);
    pause_ms(1);
    const double passed = (double)stk__stall_mark_wait(&stall, &before, &after);
    assert_true(fabs(stall.row_ns[STK_STALL_READ] - passed) < 1);
    assert_true(fabs(sum(&stall) - passed) < 1);
}

static void rows_have_the_names_of_the_design(void **state)
{
    (void)state;
    const char *const names[] = {"read",     "decode",    "augment", "copy", "device_augment", "forward",
                                 "backward", "optimiser", "sync",    "eval", "checkpoint",     "other"};
    for (int i = 0; i < STK_STALL_ROWS; i++)
        assert_string_equal(stk__stall_name((stk__stall_row)i), names[i]);
}

/* The program and the page look a row up by its name: a row without words would be "other". */
static void rows_have_words(void **state)
{
    (void)state;
    assert_string_equal(stk__report_stall_words("read"), "data wait: read");
    assert_string_equal(stk__report_stall_words("unheard of"), "other");
    assert_string_equal(stk__report_stall_words(NULL), "other");
    for (int i = 0; i < STK_STALL_ROWS; i++) {
        const char *words = stk__report_stall_words(stk__stall_name((stk__stall_row)i));
        assert_int_equal(strcmp(words, "other") == 0, i == STK_STALL_OTHER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_make_up_the_whole),
        cmocka_unit_test(waits_are_divided_by_what_the_workers_did),
        cmocka_unit_test(a_wait_without_work_is_still_a_wait),
        cmocka_unit_test(rows_have_the_names_of_the_design),
        cmocka_unit_test(rows_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
