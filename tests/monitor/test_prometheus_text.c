/* SPDX-License-Identifier: Apache-2.0 */
/* A frame as text for Prometheus. */
#include "monitor/record/prometheus_text.h"

#include "frame_maker.h"
#include "support/fail_alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char labels[] = "{gpu=\"0\",uuid=\"GPU-0\",name=\"Made up 0\",vendor=\"made\"}";

static const char *write_text(stk__buffer *text, const frame_maker *maker, bool dcgm)
{
    stk_error error;
    assert_int_equal(stk__prometheus_text_write(text, &maker->frame, dcgm, &error), STK_OK);
    assert_int_equal(stk__buffer_append(text, "", 1, &error), STK_OK);
    return (const char *)text->data;
}

static void assert_series(const char *text, const char *name, const char *value)
{
    char line[256];
    snprintf(line, sizeof line, "\n%s%s %s\n", name, labels, value);
    if (!strstr(text, line)) fail_msg("no '%s' in\n%s", line + 1, text);
}

static void values_have_base_units(void **state)
{
    (void)state;
    frame_maker maker;
    stk__buffer buffer = {0};
    maker_start(&maker, 1);
    maker_next(&maker, 1);
    maker_set(&maker, 0, STK_METRIC_UTIL, 93);
    maker_set(&maker, 0, STK_METRIC_SM_CLOCK, 2325.5);
    maker_set(&maker, 0, STK_METRIC_MEMORY_USED, 68400123456);
    maker_set(&maker, 0, STK_METRIC_ENERGY, 1234.5);
    maker_set(&maker, 0, STK_METRIC_POWER, 0);
    maker_set(&maker, 0, STK_METRIC_PCIE_SENT, 9007199254740991);
    const char *text = write_text(&buffer, &maker, false);
    assert_series(text, "stoker_gpu_utilization_ratio", "0.93");
    assert_series(text, "stoker_gpu_sm_clock_hertz", "2325500000");
    assert_series(text, "stoker_gpu_memory_used_bytes", "68400123456");
    assert_series(text, "stoker_gpu_energy_joules_total", "1234.5");
    assert_series(text, "stoker_gpu_power_watts", "0"); /* told to be 0 */
    assert_series(text, "stoker_gpu_pcie_sent_bytes_total", "9007199254740991");
    assert_non_null(strstr(text, "# TYPE stoker_gpu_energy_joules_total counter\n"));
    assert_null(strstr(text, "DCGM_"));
    assert_non_null(strstr(write_text(&buffer, &maker, true),
                           "\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-0\","
                           "modelName=\"Made up 0\"} 93\n"));
    stk__buffer_fini(&buffer);
}

static void unknown_values_are_left_out(void **state)
{
    (void)state;
    frame_maker maker;
    stk__buffer buffer = {0};
    maker_start(&maker, 2);
    maker_next(&maker, 1);
    maker_set(&maker, 0, STK_METRIC_FAN, 50);
    maker.seen[1].readings[STK_METRIC_FAN] = (stk_reading){.value = 7, .known = STK_UNSUPPORTED};
    maker_set(&maker, 1, STK_METRIC_POWER, NAN);
    maker.seen[1].state = STK_GPU_LOST;
    const char *text = write_text(&buffer, &maker, true);
    assert_series(text, "stoker_gpu_fan_ratio", "0.5");
    assert_null(strstr(text, "stoker_gpu_fan_ratio{gpu=\"1\""));
    assert_null(strstr(text, "power_watts")); /* no heading either */
    assert_null(strstr(text, "stoker_gpu_throttled"));
    assert_null(strstr(text, "stoker_host_"));
    assert_non_null(
        strstr(text, "{gpu=\"1\",uuid=\"GPU-1\",name=\"Made up 1\",vendor=\"made\",state=\"lost\"} 1\n"));
    assert_non_null(
        strstr(text, "{gpu=\"1\",uuid=\"GPU-1\",name=\"Made up 1\",vendor=\"made\",state=\"good\"} 0\n"));
    stk__buffer_fini(&buffer);
}

static void labels_are_escaped(void **state)
{
    (void)state;
    frame_maker maker;
    stk__buffer buffer = {0};
    maker_start(&maker, 1);
    snprintf(maker.gpus[0].name, sizeof maker.gpus[0].name, "a\"b\\c\nd\xff ü");
    snprintf(maker.gpus[0].part, sizeof maker.gpus[0].part, "MIG 1g");
    maker_set(&maker, 0, STK_METRIC_THROTTLE, STK_THROTTLE_HEAT | STK_THROTTLE_USER);
    const char *text = write_text(&buffer, &maker, false);
    assert_non_null(
        strstr(text, "name=\"a\\\"b\\\\c\\nd? ü\",vendor=\"made\",part=\"MIG 1g\",reason=\"heat\"} 1\n"));
    assert_non_null(strstr(text, "reason=\"power\"} 0\n"));
    stk__buffer_fini(&buffer);
}

static void host_alone(void **state)
{
    (void)state;
    frame_maker maker;
    stk__buffer buffer = {0};
    maker_start(&maker, 0);
    maker_next(&maker, 1);
    maker.frame.host.job_cpu_percent = maker_known(&maker, 250);
    const char *text = write_text(&buffer, &maker, true);
    assert_null(strstr(text, "stoker_gpu"));
    assert_non_null(strstr(text, "\nstoker_job_cpus 2.5\n"));
    stk__buffer_fini(&buffer);
}

static stk_status write_once(void *context, stk_error *error)
{
    stk__buffer buffer = {0};
    const frame_maker *maker = context;
    const stk_status status = stk__prometheus_text_write(&buffer, &maker->frame, true, error);
    stk__buffer_fini(&buffer);
    return status;
}

static void without_memory(void **state)
{
    (void)state;
    frame_maker maker;
    maker_start(&maker, 4);
    assert_true(fail_alloc_each(write_once, &maker) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_base_units), cmocka_unit_test(unknown_values_are_left_out),
        cmocka_unit_test(labels_are_escaped),     cmocka_unit_test(host_alone),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
