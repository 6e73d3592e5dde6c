/* SPDX-License-Identifier: Apache-2.0 */
/* SM, tensor and DRAM activity from hardware counters (GPM, Hopper and newer): the difference of two samples.
 */
#include "monitor/nvidia/nvidia_state.h"

#define LEAST_GAP_NS (STK_SECOND_NS * 9 / 100) /* GPM needs 100 ms between samples; polls jitter a little */

static const struct {
    unsigned id;
    stk_metric metric;
} wanted[] = {{STK_NVML_GPM_SM, STK_METRIC_SM_ACTIVE},
              {STK_NVML_GPM_TENSOR, STK_METRIC_TENSOR_ACTIVE},
              {STK_NVML_GPM_DRAM, STK_METRIC_DRAM_ACTIVE}};
enum { WANTED = sizeof wanted / sizeof wanted[0] };

static bool is_there(const stk__nvidia_state *s)
{
    const stk__nvml *nvml = s->nvml;
    return nvml->gpm_alloc && nvml->gpm_free && nvml->gpm_metrics &&
           (s->gpu->parent ? nvml->gpm_get_mig != NULL : nvml->gpm_get && nvml->gpm_support);
}

/* Allocated by the driver, once. */
static bool prepare(stk__nvidia_state *s)
{
    stk__nvml_gpm_support support = {.version = 1};
    if (s->gpm_samples[1]) return true;
    if (!s->gpu->parent) {
        if (!stk__nvidia_may(s, STK_ASK_GPM_SUPPORT, true)) return false;
        int result = s->nvml->gpm_support(s->device, &support);
        if (result == STK_NVML_SUCCESS && !support.supported) result = STK_NVML_NOT_SUPPORTED;
        if (!stk__nvidia_heard(s, STK_ASK_GPM_SUPPORT, result, "SM activity (GPM)")) return false;
    }
    for (int i = 0; i < 2; i++)
        if (!s->gpm_samples[i]) {
            if (!stk__nvidia_may(s, STK_ASK_GPM, true) ||
                !stk__nvidia_heard(s, STK_ASK_GPM, s->nvml->gpm_alloc(&s->gpm_samples[i]),
                                   "SM activity (GPM)"))
                return false;
        }
    return s->gpm_samples[0] && s->gpm_samples[1];
}

/* The older sample is overwritten; false: it is invalid then. */
static bool take_sample(stk__nvidia_state *s)
{
    void *sample = s->gpm_samples[0];
    if (!stk__nvidia_may(s, STK_ASK_GPM, true)) return false;
    const int result = s->gpu->parent ? s->nvml->gpm_get_mig(s->gpu->parent, s->gpu->instance, sample)
                                      : s->nvml->gpm_get(s->device, sample);
    if (!stk__nvidia_heard(s, STK_ASK_GPM, result, "SM activity (GPM)")) return false;
    s->gpm_samples[0] = s->gpm_samples[1];
    s->gpm_samples[1] = sample;
    return true;
}

static void compare_samples(stk__nvidia_state *s)
{
    stk__nvml_gpm_list *list = &s->desk->gpm;
    list->version = 1;
    list->count = WANTED;
    list->sample1 = s->gpm_samples[0];
    list->sample2 = s->gpm_samples[1];
    for (int i = 0; i < WANTED; i++)
        list->metrics[i] =
            (stk__nvml_gpm_metric){.id = wanted[i].id, .result = STK_NVML_UNKNOWN, .value = -1};
    if (!stk__nvidia_may(s, STK_ASK_GPM, true) ||
        !stk__nvidia_heard(s, STK_ASK_GPM, s->nvml->gpm_metrics(list), "SM activity (GPM)"))
        return;
    for (int i = 0; i < WANTED; i++) {
        const stk__nvml_gpm_metric *metric = &list->metrics[i];
        const bool good = metric->result == STK_NVML_SUCCESS && metric->value >= 0 && metric->value <= 100.5;
        s->gpm[i] = (stk_reading){.known = metric->result == STK_NVML_NOT_SUPPORTED ? STK_UNSUPPORTED
                                           : good                                   ? STK_KNOWN
                                                                                    : STK_UNKNOWN,
                                  .value = good && metric->value < 100 ? metric->value : 100,
                                  .when_ns = s->now_ns};
    }
}

void stk__nvidia_read_gpm(stk__nvidia_state *s)
{
    const bool there = is_there(s);
    if (there && prepare(s) && s->now_ns >= s->gpm_ns + LEAST_GAP_NS) {
        const bool first = s->gpm_ns == 0;
        memset(s->gpm, 0, sizeof s->gpm);
        s->gpm_ns = 0; /* unless both are samples */
        if (take_sample(s)) {
            s->gpm_ns = s->now_ns;
            if (!first) compare_samples(s);
        }
    }
    const bool never = s->again_ns[STK_ASK_GPM_SUPPORT] || s->again_ns[STK_ASK_GPM];
    for (int i = 0; i < WANTED && s->frame->state == STK_GPU_GOOD; i++) {
        s->frame->readings[wanted[i].metric] = s->gpm[i];
        if (never || !there) s->frame->readings[wanted[i].metric] = (stk_reading){.known = STK_UNSUPPORTED};
    }
}

void stk__nvidia_leave_gpm(stk__nvidia_state *s)
{
    for (int i = 0; i < 2; i++)
        if (s->gpm_samples[i]) s->nvml->gpm_free(s->gpm_samples[i]);
}
