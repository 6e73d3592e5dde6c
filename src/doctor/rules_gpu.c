/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about GPUs as their drivers report them, and about how a program uses several. Never for a training
 * on a CPU. Pure functions. */
#include "doctor/rule_parts.h"

#include <string.h>

/* Of the time watched. */
#define THROTTLED_HEAT 0.05
#define THROTTLED_POWER                                                                                      \
    0.50 /* a busy GPU is at its power limit now and then: that is what the limit is for */
#define LINK_DEGRADED  0.5
#define UTIL_TARGET    85.0
#define UNEVEN_PERCENT 20.0
#define MEMORY_FULL    0.95
#define MEMORY_UNUSED  0.50

#define MEASURED_GPU "the GPU's driver"

static double share_of(const stk__doctor_facts *facts, stk_reading seconds)
{
    const double watched = facts->e->gpus.seconds;
    return facts->gpu && seconds.known == STK_KNOWN && watched > 0 ? fmin(1, seconds.value / watched) : NAN;
}

static stk__tristate thermal_throttling(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const double share = facts->gpu ? share_of(facts, facts->gpu->throttled_heat_s) : NAN;
    if (isnan(share)) return STK_UNSURE;
    if (share < THROTTLED_HEAT) return STK_NO;
    const double hottest = facts->gpu->hottest_c.known == STK_KNOWN ? facts->gpu->hottest_c.value : NAN;
    stk__finding_says(f, STK_DOCTOR_CRIT, "clocks were held down by heat for %.0f %% of the time",
                      100 * share);
    stk__finding_adds(f, !isnan(hottest), "; hottest %.0f °C", hottest);
    stk__finding_advises(f,
                         "airflow, fans, a lower power limit (nvidia-smi -pl): the driver counted this time");
    stk__finding_number(f, "throttled_heat_share", share);
    stk__finding_number(f, "hottest_c", hottest);
    stk__finding_gain_unknown(f, "how far clocks fell is not known");
    return STK_YES;
}

static stk__tristate power_throttling(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const double share = facts->gpu ? share_of(facts, facts->gpu->throttled_power_s) : NAN;
    if (isnan(share)) return STK_UNSURE;
    if (share < THROTTLED_POWER) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO, "clocks were held down by the power limit for %.0f %% of the time",
                      100 * share);
    stk__finding_advises(
        f,
        "normal for a busy GPU; a limit below the board's default can be raised (nvidia-smi -pl): "
        "%.0f %% was read",
        100 * share);
    stk__finding_number(f, "throttled_power_share", share);
    stk__finding_gain_unknown(f, "how far clocks fell is not known");
    return STK_YES;
}

static stk__tristate link_degraded(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (isnan(facts->e->gpu.link_share)) return STK_UNSURE;
    if (facts->e->gpu.link_share > LINK_DEGRADED) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "the PCIe link runs at %.0f %% of what card and slot can do",
                      100 * facts->e->gpu.link_share);
    stk__finding_advises(
        f, "reseat the card or the riser, check the slot and the BIOS: generation and lanes were read "
           "while the GPU was busy");
    stk__finding_number(f, "link_share", facts->e->gpu.link_share);
    if (facts->judged)
        stk__finding_gain(f, facts->split.share[STK_SPLIT_COPY] * (1 - facts->e->gpu.link_share),
                          "copies at the full rate");
    else
        stk__finding_gain_unknown(f, "copies were not measured");
    return STK_YES;
}

static stk__tristate gpu_shared(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__gpu_evidence *g = &facts->e->gpu;
    if (g->other_processes < 0) return STK_UNSURE;
    if (!g->other_processes) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "%lld other processes use this GPU", (long long)g->other_processes);
    stk__finding_adds(f, g->other_memory_bytes > 0, " and %.1f GB of its memory",
                      1e-9 * g->other_memory_bytes);
    stk__finding_advises(f,
                         "another GPU (CUDA_VISIBLE_DEVICES), or wait until they end: the driver lists them "
                         "(nvidia-smi)");
    stk__finding_number(f, "other_processes", (double)g->other_processes);
    stk__finding_number(f, "other_memory_bytes", g->other_memory_bytes);
    stk__finding_gain_unknown(f, "the driver does not divide its time by process");
    return STK_YES;
}

static stk__tristate regular_dips(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!facts->gpu || facts->gpu->util_mean_percent.known != STK_KNOWN) return STK_UNSURE;
    const double util = facts->gpu->util_mean_percent.value;
    if (facts->gpu->dip_period_s.known != STK_KNOWN || util >= UTIL_TARGET) return STK_NO;
    const double period = facts->gpu->dip_period_s.value;
    stk__finding_says(f, STK_DOCTOR_WARN, "utilization (mean %.0f %%) dips every %.1f s", util, period);
    if (facts->judged)
        stk__finding_advises(
            f,
            "look for what happens every %.0f steps (%.1f s, measured): evaluation, checkpoint, a "
            "batch of slow samples",
            fmax(1, period / facts->split.step_s), period);
    else
        stk__finding_advises(
            f,
            "look for what happens every %.1f s, measured: evaluation, checkpoint, a batch of "
            "slow samples",
            period);
    stk__finding_number(f, "dip_period_s", period);
    stk__finding_number(f, "util_percent", util);
    stk__finding_gain(f, 1 - fmax(util, 1) / UTIL_TARGET, "at most: utilization of 85 %");
    return STK_YES;
}

static stk__tristate gpu_fault(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!facts->gpu) return STK_UNSURE;
    if (facts->gpu->bad_state == STK_GPU_GOOD) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_CRIT, "the GPU was %s: %s", stk_gpu_state_name(facts->gpu->bad_state),
                      facts->gpu->bad_note);
    stk__finding_advises(
        f, "look at the kernel's log (dmesg, Xid) and the power supply: the state was reported by the "
           "driver");
    stk__finding_number(f, "good_share", facts->gpu->good_share);
    stk__finding_must(f);
    return STK_YES;
}

static stk__tristate gpus_uneven(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    double least = INFINITY, most = -INFINITY;
    const stk_monitor_summary *all = &facts->e->gpus;
    const int64_t ranks = facts->e->torch.world_size;
    const bool parallel = ranks > 1 || strcmp(facts->e->torch.parallel, "DataParallel") == 0;
    if (!facts->e->gpus_known || facts->e->hook_started != STK_YES) return STK_UNSURE;
    if (!parallel || (ranks > 1 && ranks != all->gpu_count)) return STK_NO; /* others may not be its own */
    for (int32_t i = 0; i < all->gpu_count; i++) {
        if (all->gpus[i].util_mean_percent.known != STK_KNOWN) return STK_UNSURE;
        least = fmin(least, all->gpus[i].util_mean_percent.value);
        most = fmax(most, all->gpus[i].util_mean_percent.value);
    }
    if (all->gpu_count < 2 || most - least < UNEVEN_PERCENT) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "GPUs of one job are used %.0f to %.0f %%", least, most);
    stk__finding_advises(
        f, "all ranks wait for the slowest: check batch sizes, samplers (DistributedSampler) and what "
           "rank 0 does alone; utilization was read for each GPU");
    stk__finding_number(f, "util_least_percent", least);
    stk__finding_number(f, "util_most_percent", most);
    stk__finding_gain_unknown(f, "which rank is late is not measured");
    return STK_YES;
}

static stk__tristate data_parallel(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (facts->e->hook_started != STK_YES || facts->steps < 1) return STK_UNSURE;
    if (strcmp(facts->e->torch.parallel, "DataParallel") != 0) return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "nn.DataParallel: one Python process feeds all GPUs and copies the weights to each of them in "
        "every step");
    stk__finding_advises(
        f, "DistributedDataParallel with torchrun --nproc-per-node=N: nn.DataParallel was seen in the "
           "training");
    stk__finding_number(f, "world_size", (double)facts->e->torch.world_size);
    stk__finding_gain_unknown(f, "the copies of weights are not measured apart");
    return STK_YES;
}

static stk__tristate out_of_memory(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (facts->e->hook_started != STK_YES) return STK_UNSURE;
    if (!t->out_of_memory) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_CRIT, "torch.OutOfMemoryError was raised %llu times",
                      (unsigned long long)t->out_of_memory);
    stk__finding_adds(f, t->cuda_peak_bytes < t->cuda_total_bytes, "; peak %.1f of %.1f GB",
                      1e-9 * t->cuda_peak_bytes, 1e-9 * t->cuda_total_bytes);
    stk__finding_advises(
        f, "half the batch with gradient_accumulation_steps=2, autocast, or activation checkpointing: "
           "the peak was read from the allocator");
    stk__finding_number(f, "out_of_memory", (double)t->out_of_memory);
    stk__finding_number(f, "peak_bytes", t->cuda_peak_bytes);
    stk__finding_number(f, "total_bytes", t->cuda_total_bytes);
    stk__finding_must(f);
    return STK_YES;
}

static double gpu_memory_share(const stk__doctor_facts *facts)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (t->cuda_total_bytes > 0 && !isnan(t->cuda_peak_bytes))
        return t->cuda_peak_bytes / t->cuda_total_bytes;
    return facts->gpu && facts->gpu->memory_peak_share.known == STK_KNOWN
               ? facts->gpu->memory_peak_share.value
               : NAN;
}

static stk__tristate gpu_memory_full(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const double share = gpu_memory_share(facts);
    if (isnan(share)) return STK_UNSURE;
    if (share < MEMORY_FULL) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "peak memory is %.0f %% of the GPU's", 100 * share);
    stk__finding_advises(
        f,
        "a slightly smaller batch: near the limit the allocator frees and asks the driver again, "
        "which waits for the GPU; %.0f %% was the peak",
        100 * share);
    stk__finding_number(f, "memory_peak_share", share);
    stk__finding_gain_unknown(f, "retries of the allocator are not measured");
    return STK_YES;
}

static stk__tristate batch_small(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const double memory = gpu_memory_share(facts);
    if (isnan(memory) || !facts->judged || !facts->gpu || facts->gpu->util_mean_percent.known != STK_KNOWN)
        return STK_UNSURE;
    const double util = facts->gpu->util_mean_percent.value;
    /* A GPU that waits for data does not need larger batches. */
    if (util >= UTIL_TARGET || memory >= MEMORY_UNUSED || facts->split.wait >= STK_SHARE_WARN) return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "batch %lld: the GPU is used %.0f %%, its memory %.0f %%, and data is not what it waits for "
        "(%.0f %%)",
        facts->loader ? (long long)facts->loader->batch_size : -1LL, util, 100 * memory,
        100 * facts->split.wait);
    stk__finding_advises(
        f,
        "double the batch until memory is 80 %% full, and scale the learning rate with it; memory "
        "peak %.0f %% was read",
        100 * memory);
    stk__finding_number(f, "util_percent", util);
    stk__finding_number(f, "memory_peak_share", memory);
    stk__finding_number(f, "batch_size", facts->loader ? (double)facts->loader->batch_size : NAN);
    stk__finding_gain(f, 1 - fmax(util, 1) / UTIL_TARGET, "at most: utilization of 85 %");
    return STK_YES;
}

const stk__doctor_rule stk__rules_gpu[] = {
    {"out_of_memory", "the GPU ran out of memory", true, STK_SYMPTOM_MEMORY, "torch.OutOfMemoryError (hook)",
     out_of_memory},
    {"gpu_fault", "the GPU failed", true, STK_SYMPTOM_LOW_UTIL, MEASURED_GPU, gpu_fault},
    {"thermal_throttling", "the GPU is too hot", true, STK_SYMPTOM_NO_SPEEDUP, MEASURED_GPU,
     thermal_throttling},
    {"power_throttling", "the GPU is at its power limit", true, STK_SYMPTOM_NO_SPEEDUP, MEASURED_GPU,
     power_throttling},
    {"link_degraded", "the PCIe link is slow", true, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_NO_SPEEDUP,
     MEASURED_GPU, link_degraded},
    {"gpu_shared", "other processes use the GPU", true,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_MEMORY | STK_SYMPTOM_NO_SPEEDUP, MEASURED_GPU, gpu_shared},
    {"regular_dips", "utilization dips at regular times", true, STK_SYMPTOM_LOW_UTIL, MEASURED_GPU,
     regular_dips},
    {"gpus_uneven", "GPUs are used unevenly", true, STK_SYMPTOM_LOW_UTIL, MEASURED_GPU, gpus_uneven},
    {"data_parallel", "nn.DataParallel", true, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_NO_SPEEDUP,
     "wrapper of the model (hook)", data_parallel},
    {"gpu_memory_full", "the GPU's memory is nearly full", true, STK_SYMPTOM_MEMORY,
     "peak of the allocator (hook) or driver", gpu_memory_full},
    {"batch_small", "the batch is too small for the GPU", true, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_NO_SPEEDUP,
     "the GPU's driver, steps (hook)", batch_small},
    {0}};
