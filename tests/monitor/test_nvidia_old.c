/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of years ago, whose library lacks all that came later: what it has is told, the rest is not
 * supported.
 */
#include "fake_driver.h"

#include <math.h>
#include <time.h>

static void what_it_has_is_told(void **state)
{
    (void)state;
    static stk_gpu_frame frame;
    stk__gpu_reader *reader;
    stk_error error = {0};
    driver_play(DRIVER_GPU "process 0 1 3e9 50\nmig 0 2 1g.10gb\n");
    if (stk__reader_nvidia.open(&reader, &error) != STK_OK) fail_msg("%s", error.message);
    const stk__nvml *nvml = &((const stk__nvidia *)reader)->nvml;
    assert_true(!nvml->fields && !nvml->memory2 && !nvml->compute2 && !nvml->gpm_get && !nvml->mig_mode);
    assert_int_equal(stk__reader_nvidia.count(reader), 1); /* it knows nothing of parts */
    stk__poller_context context = {.reader = reader, .state = stk__alloc(stk__reader_nvidia.state_bytes)};
    for (int i = 0; i < 2; i++) {
        stk__gpu_frame_clear(&frame);
        stk__reader_nvidia.read(&context, &frame);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    assert_int_equal(frame.state, STK_GPU_GOOD);
    for (int m = 0; m < STK_METRIC_COUNT; m++) {
        const stk_reading *reading = &frame.readings[m];
        const bool none =
            m == STK_METRIC_MEMORY_TEMPERATURE || (m >= STK_METRIC_SM_ACTIVE && m <= STK_METRIC_DRAM_ACTIVE);
        if (reading->known != (none ? STK_UNSUPPORTED : STK_KNOWN) ||
            (!none && driver_values[m] >= 0 && fabs(reading->value - driver_values[m]) > 1e-6))
            fail_msg("%s: %g (%d)", stk_metric_key((stk_metric)m), reading->value, (int)reading->known);
    }
    assert_true(frame.load_count >= 1 && frame.process_count == 1);
    assert_true(frame.processes[0].memory_bytes.value == 3e9 && frame.processes[0].util_percent.value == 50);
    stk__reader_nvidia.leave(&context);
    stk__free(context.state);
    stk__reader_nvidia.close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_it_has_is_told)};
    return cmocka_run_group_tests_name("nvidia_old", tests, NULL, NULL);
}
