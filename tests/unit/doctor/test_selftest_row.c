/* SPDX-License-Identifier: Apache-2.0 */
/* How rows of `stoker devices --selftest` are judged and counted, and what never gets into them. */
#include "doctor/selftest_facts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static stk__selftest_row row_of(stk__limit kind, double value, double limit, bool speed)
{
    return (stk__selftest_row){
        .section = "section", .name = "name", .value = value, .kind = kind, .limit = limit, .speed = speed};
}

static void expect(stk__selftest_row row, stk__verdict full, stk__verdict quick)
{
    assert_int_equal(stk__selftest_judge(&row, false), full);
    assert_int_equal(stk__selftest_judge(&row, true), quick);
}

static void rows_are_judged(void **state)
{
    (void)state;
    const stk__verdict none = STK_VERDICT_NONE, ok = STK_VERDICT_OK, low = STK_VERDICT_LOW,
                       failed = STK_VERDICT_FAILED, unknown = STK_VERDICT_UNKNOWN;
    expect(row_of(STK_LIMIT_NONE, 5, 0, false), none, none);
    expect(row_of(STK_LIMIT_MOST, 0, 0, false), ok, ok);
    expect(row_of(STK_LIMIT_MOST, 1, 0, false), failed, failed);
    expect(row_of(STK_LIMIT_MOST, 1e-4, 1e-4, false), ok, ok);
    expect(row_of(STK_LIMIT_MOST, INFINITY, 1e-4, false), failed, failed);
    expect(row_of(STK_LIMIT_MOST, NAN, 1e-4, false), failed, failed);
    expect(row_of(STK_LIMIT_MOST, 1, NAN, false), unknown, unknown);
    expect(row_of(STK_LIMIT_LEAST, 22, 21, true), ok, none);
    expect(row_of(STK_LIMIT_LEAST, 21, 21, true), ok, none);
    expect(row_of(STK_LIMIT_LEAST, 3, 21, true), low, none);
    expect(row_of(STK_LIMIT_LEAST, 3, NAN, true), unknown, none);
    expect(row_of(STK_LIMIT_MOST, 6, 5, true), low, none);
    assert_string_equal(stk__verdict_word(STK_VERDICT_LOW), "LOW");
    assert_string_equal(stk__verdict_word(STK_VERDICT_NONE), "");
}

static stk__selftest_gpu gpu;

static void rows_are_counted(void **state)
{
    (void)state;
    stk__selftest_tally tally = {0};
    stk_error error = {0};
    const stk__selftest_row good = row_of(STK_LIMIT_MOST, 1, 2, false),
                            low = row_of(STK_LIMIT_MOST, 3, 2, true),
                            bad = row_of(STK_LIMIT_MOST, 3, 2, false),
                            fact = row_of(STK_LIMIT_NONE, 3, 2, false);
    const stk__selftest_row *const rows[] = {&good, &good, &low, &bad, &fact};
    memset(&gpu, 0, sizeof gpu);
    for (int i = 0; i < 5; i++)
        stk__selftest_put(&gpu, rows[i], false);
    stk__fail(&error, STK_ERROR_MEMORY, "cannot open '/home/someone/lib/libx.so': no memory");
    stk__selftest_fail(&gpu, "section", "part", &error);
    stk__fail(&error, STK_ERROR_INTERRUPTED, "whatever");
    stk__selftest_fail(&gpu, "section", "part", &error);
    stk__selftest_unknown(&gpu, "section", "part", "nobody knows");
    assert_string_equal(gpu.rows[5].why, "cannot open 'libx.so': no memory");
    assert_string_equal(gpu.rows[6].why, "interrupted");
    assert_string_equal(gpu.rows[7].why, "nobody knows");
    assert_true(isnan(gpu.rows[5].value));
    stk__selftest_count(&gpu, &tally);
    stk__selftest_count(&gpu, &tally);
    assert_int_equal(tally.ok, 4);
    assert_int_equal(tally.failed, 6);
    assert_int_equal(tally.unknown, 4);
    for (int i = 0; i < 2 * STK_SELFTEST_ROWS; i++)
        stk__selftest_put(&gpu, &good, true);
    assert_int_equal(gpu.row_count, STK_SELFTEST_ROWS);
}

static void expect_scrubbed(const char *text, const char *left)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", text);
    stk__selftest_scrub(copy);
    assert_string_equal(copy, left);
}

static void nothing_of_the_machine_is_told(void **state)
{
    (void)state;
    expect_scrubbed("STOKER_CUDA_LIBRARY=/root/a b/libcuda.so.1 is not there",
                    "STOKER_CUDA_LIBRARY=a b/libcuda.so.1 is not there");
    expect_scrubbed("/a/b/c.so: undefined symbol", "c.so: undefined symbol");
    expect_scrubbed("'/x/y/': none", "'': none");
    expect_scrubbed("13.5 GB/s, 1 / 2, and/or (/proc/self/maps)", "13.5 GB/s, 1 / 2, and/or (maps)");
    expect_scrubbed("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 fell off", "a GPU fell off");
    expect_scrubbed("CUDA_VISIBLE_DEVICES='MIG-0123abcd'", "CUDA_VISIBLE_DEVICES='a GPU'");
    expect_scrubbed("GPU-0 and GPU-less", "GPU-0 and GPU-less");
    expect_scrubbed("", "");
    expect_scrubbed("/tmp/", "");
}

static void versions_are_read(void **state)
{
    (void)state;
    char version[32];
    assert_true(stk__selftest_driver_version(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 04:24:42 UTC 2025", version,
        sizeof version));
    assert_string_equal(version, "570.86.15");
    assert_true(stk__selftest_driver_version(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder)\n",
        version, sizeof version));
    assert_string_equal(version, "580.65.06");
    assert_false(stk__selftest_driver_version("nothing of the kind 7 x.y", version, sizeof version));
    assert_false(stk__selftest_driver_version("", version, sizeof version));
    assert_true(
        stk__selftest_torch_cuda("__version__ = '2.15.0+cu128'\ndebug = False\ncuda: Optional[str] = '12.8'\n"
                                 "git_version = 'abc'\n",
                                 version, sizeof version));
    assert_string_equal(version, "12.8");
    assert_true(stk__selftest_torch_cuda("cuda_rt = '1'\ncuda = \"13.0\"", version, sizeof version));
    assert_string_equal(version, "13.0");
    assert_true(stk__selftest_torch_cuda("cuda: Optional[str] = None\n", version, sizeof version));
    assert_string_equal(version, "");
    assert_false(stk__selftest_torch_cuda("cuda = 12\n", version, sizeof version));
    assert_false(stk__selftest_torch_cuda("hip = None\n", version, sizeof version));
    assert_false(stk__selftest_torch_cuda("", version, sizeof version));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_judged),
        cmocka_unit_test(rows_are_counted),
        cmocka_unit_test(nothing_of_the_machine_is_told),
        cmocka_unit_test(versions_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
