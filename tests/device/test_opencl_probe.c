/* SPDX-License-Identifier: Apache-2.0 */
/* The probe that a program gives the library: asked once, before OpenCL is loaded, whoever comes first. */
#include "core/clock.h"
#include "core/thread.h"
#include "device/device.h"
#include "device/opencl/opencl_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { THREADS = 8 };

static atomic_int asked, refused;

static stk_status refuse(stk_error *error)
{
    atomic_fetch_add(&asked, 1);
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "the probe says no");
}

static void open_one(void *context)
{
    (void)context;
    stk_error error = {0};
    stk__device *device;
    const bool there = stk__device_open(&device, "opencl:0", &error) == STK_OK;
    if (!there && strcmp(error.message, "the probe says no") == 0) atomic_fetch_add(&refused, 1);
    stk__device_close(&device);
}

static void it_is_asked_once_by_all_threads(void **state)
{
    (void)state;
    stk__thread *threads[THREADS];
    const stk__thread_options options = {.name = "opener", .run = open_one};
    stk__opencl_probe_set(refuse);
    setenv("STOKER_OPENCL_LIBRARY", "/none.so", 1); /* another reason, if it were opened in spite of that */
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(stk__thread_start(&threads[i], &options, NULL), STK_OK);
    for (int i = 0; i < THREADS; i++)
        assert_true(stk__thread_join(&threads[i], stk__clock_ns() + 60 * STK_SECOND_NS));
    assert_int_equal(asked, 1);
    assert_int_equal(refused, THREADS);
}

static void the_list_says_why(void **state)
{
    (void)state;
    stk__device_info infos[STK_DEVICE_MOST];
    const int count = stk__device_list(infos, STK_DEVICE_MOST);
    assert_true(count >= 4);
    assert_string_equal(infos[1].name, "opencl");
    assert_false(infos[1].available);
    assert_string_equal(infos[1].why, "the probe says no");
    assert_int_equal(asked, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_asked_once_by_all_threads),
        cmocka_unit_test(the_list_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
