/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for high GPU utilization: small kernels, power limit, memory, temperature. */
#include "monitor/verdict/verdict_rules.h"

static bool is_hollow(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_below(f->gpu->sm_active_mean_percent, 50);
}

static void say_hollow(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "GPU utilization %.0f %%, but SM activity only %.0f %%: kernels are too small to fill the GPU; try a "
        "larger batch, mixed precision (AMP) or torch.compile; data loading is not the bottleneck",
        stk__verdict_facts_util(f), f->gpu->sm_active_mean_percent.value);
}

static bool is_cool(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && f->gpu->sm_active_mean_percent.known != STK_KNOWN &&
           stk__is_below(f->gpu->power_share, 0.6);
}

static void say_cool(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "GPU utilization %.0f %%, but power only %.0f %% of the limit: kernels are small or "
                      "wait; try a larger batch, mixed precision (AMP) or torch.compile",
                      stk__verdict_facts_util(f), 100 * f->gpu->power_share.value);
}

static bool is_capped(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__verdict_facts_last(f, f->gpu->throttled_power_s, 0.2);
}

static void say_capped(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "compute bound: GPU utilization %.0f %%, at its power limit for %.0f %% of the time",
                      stk__verdict_facts_util(f),
                      100 * stk__verdict_facts_share(f, f->gpu->throttled_power_s));
    stk__sentence_add(s, "; a higher power limit (nvidia-smi -pl) is faster if cooling keeps up");
}

static bool is_uneven(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_at_least(f->gpu->util_std_percent, 10);
}

static void say_uneven(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "GPU utilization %.0f %%, but uneven (std %.0f %%); check prefetching and occasional "
                      "work (evaluation, checkpoints, logging)",
                      stk__verdict_facts_util(f), f->gpu->util_std_percent.value);
}

static bool is_warm(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_at_least(f->gpu->hottest_c, STK_GPU_HOT_C);
}

static void say_warm(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "GPU utilization %.0f %%, but %.0f °C: close to thermal throttling; check fans, dust and airflow",
        stk__verdict_facts_util(f), f->gpu->hottest_c.value);
}

static bool is_memory_full(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_at_least(f->gpu->memory_peak_share, 0.95);
}

static void say_memory_full(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "GPU utilization %.0f %%; memory %.0f %% full: close to out of memory (OOM)",
                      stk__verdict_facts_util(f), 100 * f->gpu->memory_peak_share.value);
}

static bool has_memory(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_below(f->gpu->memory_peak_share, 0.7);
}

static void say_memory(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "GPU utilization %.0f %%; %.0f %% of its memory unused: a larger batch may be faster",
                      stk__verdict_facts_util(f), 100 * (1 - f->gpu->memory_peak_share.value));
}

static bool always(const stk__verdict_facts *f)
{
    (void)f;
    return true;
}

static void say_good(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "good: GPU utilization %.0f %%", stk__verdict_facts_util(f));
    if (f->gpu->util_std_percent.known == STK_KNOWN)
        stk__sentence_add(s, " (std %.1f %%)", f->gpu->util_std_percent.value);
    stk__sentence_add(s, ", no bottleneck found");
}

const stk__verdict_rule stk__verdict_busy[] = {
    {"busy_not_working", is_hollow, say_hollow},
    {"busy_low_power", is_cool, say_cool},
    {"power_limit", is_capped, say_capped},
    {"uneven", is_uneven, say_uneven},
    {"warm", is_warm, say_warm},
    {"memory_full", is_memory_full, say_memory_full},
    {"memory_room", has_memory, say_memory},
    {"good", always, say_good},
    {NULL, NULL, NULL},
};
