/* SPDX-License-Identifier: Apache-2.0 */
/* The demonstration: several GPUs with plausible numbers, loads that tile time, one that comes and goes. */
#include "monitor/gpu_reader.h"
#include "monitor/metric.h"
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <cmocka.h>

static void pause_ms(int ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

static stk_gpu_frame frame;

static void *state_of(void)
{
    void *state = stk__alloc(stk__reader_demo.state_bytes);
    assert_non_null(state);
    return state;
}

static void gpus_are_described(void **state)
{
    (void)state;
    stk__gpu_reader *reader;
    stk_gpu gpu;
    assert_int_equal(stk__reader_demo.open(&reader, NULL), STK_OK);
    assert_int_equal(stk__reader_demo.count(reader), 4);
    stk__reader_demo.describe(reader, 2, &gpu);
    assert_int_equal(gpu.index, 2);
    assert_string_equal(gpu.vendor, "demo");
    assert_string_equal(gpu.name, "Demo 80GB, hot");
    assert_string_equal(gpu.id, "GPU-demo-2");
    assert_string_equal(gpu.part, "");
    stk__reader_demo.close(&reader);
    assert_null(reader);
    stk__reader_demo.close(&reader);
}

static void values_are_plausible(void **state)
{
    (void)state;
    stk__gpu_reader *reader;
    assert_int_equal(stk__reader_demo.open(&reader, NULL), STK_OK);
    for (int i = 0; i < 4; i++) {
        stk__poller_context context = {.reader = reader, .number = i, .state = state_of()};
        stk__gpu_frame_clear(&frame);
        stk__reader_demo.read(&context, &frame);
        assert_int_equal(frame.state, STK_GPU_GOOD);
        assert_int_equal(frame.load_count, 0);
        const stk_reading *r = frame.readings;
        for (int m = 0; m < STK_METRIC_COUNT; m++) {
            assert_int_not_equal(r[m].known, STK_UNKNOWN);
            if (r[m].known != STK_KNOWN) continue;
            assert_true(r[m].value >= 0 && r[m].when_ns > 0);
            if (stk__metric_is_percent((stk_metric)m)) assert_true(r[m].value <= 100);
        }
        assert_true(r[STK_METRIC_POWER].value > 100 &&
                    r[STK_METRIC_POWER].value < r[STK_METRIC_POWER_LIMIT].value);
        assert_true(r[STK_METRIC_MEMORY_USED].value < r[STK_METRIC_MEMORY_TOTAL].value);
        assert_int_equal(r[STK_METRIC_SM_ACTIVE].known, i == 3 ? STK_UNSUPPORTED : STK_KNOWN);
        assert_true(frame.processes_known && frame.process_count == 1);
        assert_true(frame.processes[0].memory_bytes.value < r[STK_METRIC_MEMORY_USED].value);
        stk__free(context.state);
    }
    stk__reader_demo.close(&reader);
}

static void loads_tile_time(void **state)
{
    (void)state;
    stk__gpu_reader *reader;
    assert_int_equal(stk__reader_demo.open(&reader, NULL), STK_OK);
    stk__poller_context context = {.reader = reader, .number = 1, .state = state_of()};
    uint64_t end_ns = 0;
    int count = 0;
    const uint64_t start_ns = stk__clock_ns();
    while (count < 5 && stk__clock_ns() < start_ns + 20 * STK_SECOND_NS) {
        stk__gpu_frame_clear(&frame);
        stk__reader_demo.read(&context, &frame);
        for (int i = 0; i < frame.load_count; i++, count++) {
            const stk_load_sample *load = &frame.loads[i];
            assert_true(load->to_ns > load->from_ns && load->to_ns <= stk__clock_ns());
            if (end_ns) assert_true(load->from_ns >= end_ns - 2 && load->from_ns <= end_ns + 2);
            assert_true(load->percent >= 3 && load->percent <= 100);
            end_ns = load->to_ns;
        }
        pause_ms(70);
    }
    /* About six a second; a busy machine may come late to all of them. */
    assert_in_range(count, 5, 7);
    assert_true(stk__clock_ns() - start_ns > STK_SECOND_NS / 2);
    stk__free(context.state);
    stk__reader_demo.close(&reader);
}

static stk_status open_once(void *context, stk_error *error)
{
    (void)context;
    stk__gpu_reader *reader;
    const stk_status status = stk__reader_demo.open(&reader, error);
    stk__reader_demo.close(&reader);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(open_once, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_described),
        cmocka_unit_test(values_are_plausible),
        cmocka_unit_test(loads_tile_time),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("reader_demo", tests, NULL, NULL);
}
