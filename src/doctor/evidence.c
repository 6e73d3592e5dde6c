/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence begins as all unknown, so that what no source has filled is never taken for 0. No threads of its
 * own: one thread fills it, then others may read. */
#include "doctor/evidence.h"

#include "core/memory.h"

#include <math.h>

static const struct {
    const char *key, *name;
} causes[STK_STEP_CAUSES] = {
#define STK_CAUSE_ROW(id, key, name) [STK_CAUSE_##id] = {key, name},
    STK_STEP_CAUSE_LIST(STK_CAUSE_ROW)
#undef STK_CAUSE_ROW
};

const char *stk__step_cause_key(stk__step_cause cause)
{
    return causes[cause].key;
}

const char *stk__step_cause_name(stk__step_cause cause)
{
    return causes[cause].name;
}

static const stk__torch_evidence unknown_torch = {
    .compute_capability = NAN,
    .tf32_matmul = STK_UNSURE,
    .tf32_cudnn = STK_UNSURE,
    .cudnn_benchmark = STK_UNSURE,
    .deterministic = STK_UNSURE,
    .anomaly_detection = STK_UNSURE,
    .autocast_share = NAN,
    .scale_first = NAN,
    .scale_last = NAN,
    .channels_last_model = STK_UNSURE,
    .channels_last_input = STK_UNSURE,
    .convolutions = STK_UNSURE,
    .fixed_shapes = STK_UNSURE,
    .world_size = -1,
    .rank = -1,
    .local_rank = -1,
    .threads = -1,
    .interop_threads = -1,
    .cuda_peak_bytes = NAN,
    .cuda_total_bytes = NAN,
};

static const stk__machine_evidence unknown_machine = {
    .cpus = NAN,
    .quota_cpus = NAN,
    .throttled_share = NAN,
    .cpu_pressure = NAN,
    .io_pressure = NAN,
    .memory_pressure = NAN,
    .cpu_share = NAN,
    .memory_used_share = NAN,
    .swap_in_bytes_per_s = NAN,
    .swap_used_bytes = NAN,
    .disk_read_bytes_per_s = NAN,
    .workers_started = -1,
    .workers_at_once = -1,
    .page_cache_share = NAN,
};

void stk__evidence_init(stk__evidence *evidence)
{
    *evidence = (stk__evidence){
        .watched_s = NAN,
        .hook_started = STK_UNSURE,
        .exit_status = -1,
        .trainers = -1,
        .torch = unknown_torch,
        .machine = unknown_machine,

        .gpu = {.index = -1,
                .used = STK_UNSURE,
                .other_processes = -1,
                .other_memory_bytes = NAN,
                .link_share = NAN},
    };
}

void stk__evidence_fini(stk__evidence *evidence)
{
    stk__free(evidence->steps);
    stk__free(evidence->loaders);
    stk__free(evidence->work);
    stk__free(evidence->sites);
    stk__free(evidence->optimizers);
    stk__free(evidence->processes);
    stk__evidence_init(evidence);
}
