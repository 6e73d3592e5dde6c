/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that are measured, and what the driver tells of a GPU's memory, on the fake driver. */
#include "core/clock.h"
#include "device/cuda/cuda_bandwidth.h"
#include "fake_cuda_driver.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { BYTES = 3 << 20, ROUNDS = 3 };

static const fake_driver *fake;

static int begin(void **state)
{
    (void)state;
    fake = fake_driver_open();
    return 0;
}

static stk__device *open_device(void)
{
    stk__device *device;
    stk_error error = {0};
    if (stk__device_open(&device, "cuda:0", &error) != STK_OK) fail_msg("%s", error.message);
    return device;
}

static stk__cuda_copies way(int number)
{
    return (stk__cuda_copies){
        .bytes = BYTES, .rounds = ROUNDS, .pinned = number < 2, .to_host = number % 2 == 1};
}

/* A link of 2 GB/s: no copy is faster, and none is much slower. */
static void copies_have_the_speed_of_the_link(void **state)
{
    (void)state;
    fake_driver_play("late 0\ncopy 2");
    stk__device *device = open_device();
    for (int i = 0; i < 4; i++) {
        const stk__cuda_copies copies = way(i);
        stk_error error = {0};
        double rate;
        if (stk__cuda_copies_measure(device, &copies, &rate, &error) != STK_OK) fail_msg("%s", error.message);
        assert_true(rate > 0.1 && rate < 2.2);
    }
    assert_int_equal(fake->count("copies_in"), 2 * ROUNDS);
    assert_int_equal(fake->count("copies_out"), 2 * ROUNDS);
    assert_int_equal(fake->count("pageable_copies"), 2 * ROUNDS);
    stk__device_close(&device);
    fake_driver_expect_nothing_left("copies");
}

typedef struct trouble {
    const char *script;
    int way;
    const char *word;
    bool lost;
} trouble;

static void whatever_fails_is_told(void **state)
{
    (void)state;
    static const trouble troubles[] = {
        {"gpu 0 memory 1000000", 0, "cuMemAlloc", false},
        {"pinned 1000", 0, "cuMemHostAlloc", false},
        {"fault cuMemcpyHtoDAsync_v2 fail 1", 0, "cuMemcpyHtoDAsync", false},
        {"fault cuMemcpyDtoHAsync_v2 at 1 fail 1", 3, "cuMemcpyDtoHAsync", false},
        {"fault cuEventRecord at 0 fail 1", 2, "cuEventRecord", false},
        {"fault cuEventRecord at 1 fail 1", 2, "cuEventRecord", false},
        {"fault cuEventElapsedTime fail 1", 2, "duration", false},
        {"fault copy_in at 1 lose 700", 2, "cuEvent", true},
        {"fault copy_out lose 719", 1, "cu", true},
        {"fault copy_in hang 30", 2, "did not finish", true},
    };
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        const trouble *t = &troubles[i];
        const stk__cuda_copies copies = way(t->way);
        stk_error error = {0};
        double rate;
        fake_driver_play("late 0\n%s", t->script);
        stk__device *device = open_device();
        device->timeout_ns = STK_SECOND_NS / 5;
        assert_int_not_equal(stk__cuda_copies_measure(device, &copies, &rate, &error), STK_OK);
        if (!strstr(error.message, t->word)) fail_msg("'%s' does not say '%s'", error.message, t->word);
        const bool lost = stk__cuda_copies_measure(device, &copies, &rate, &error) != STK_OK &&
                          strstr(error.message, "is lost");
        assert_int_equal(lost, t->lost);
        fake->release();
        stk__device_close(&device);
        if (!t->lost) fake_driver_expect_nothing_left(t->script);
    }
}

static void expect_speed(const stk__device *device, stk__gpu_speed wanted)
{
    const stk__gpu_speed told = stk__cuda_speed(device);
    const double pairs[3][2] = {{told.units, wanted.units},
                                {told.clock_mhz, wanted.clock_mhz},
                                {told.memory_gb_per_s, wanted.memory_gb_per_s}};
    for (int i = 0; i < 3; i++)
        if (isnan(pairs[i][1]) ? !isnan(pairs[i][0]) : !(fabs(pairs[i][0] - pairs[i][1]) < 0.1))
            fail_msg("number %d is %g instead of %g", i, pairs[i][0], pairs[i][1]);
}

static void speed_is_told_or_unknown(void **state)
{
    (void)state;
    fake_driver_play("gpu 0 clock 1215000\ngpu 0 bus 5120\ngpu 0 units 108\ngpu 0 speed 1410 1555 25");
    stk__device *device = open_device();
    expect_speed(device, (stk__gpu_speed){108, 1410, 1555.2});
    fake_driver_add("fault cuDeviceGetAttribute from 0 fail 1");
    expect_speed(device, (stk__gpu_speed){NAN, NAN, NAN});
    stk__device_close(&device);
    fake_driver_play("late 0"); /* a driver that says 0 */
    device = open_device();
    expect_speed(device, (stk__gpu_speed){108, NAN, NAN});
    stk__device_close(&device);
}

/* The fake's own clock: 3 MiB at 25 GB/s, whatever the host does meanwhile. */
static void a_modelled_gpu_has_its_own_clock(void **state)
{
    (void)state;
    static const double shares[] = {1, 0.5};
    for (int i = 0; i < 2; i++) {
        stk_error error = {0};
        double rate;
        fake_driver_play("gpu 0 speed 1410 1555 25\ngpu 0 copies %g", shares[i]);
        stk__device *device = open_device();
        const stk__cuda_copies copies = way(0);
        assert_int_equal(stk__cuda_copies_measure(device, &copies, &rate, &error), STK_OK);
        assert_true(fabs(rate - 25 * shares[i]) < 0.1);
        stk__device_close(&device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_have_the_speed_of_the_link),
        cmocka_unit_test(whatever_fails_is_told),
        cmocka_unit_test(speed_is_told_or_unknown),
        cmocka_unit_test(a_modelled_gpu_has_its_own_clock),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
