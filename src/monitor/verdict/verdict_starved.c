/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict rules for a GPU that waits for work, from the most specific cause to the general one: regular
 * dips, a CPU quota, all CPUs busy, slow storage, one busy CPU, idle CPUs. */
#include "monitor/verdict/verdict_rules.h"

static bool has_dips(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && f->gpu->dip_period_s.known == STK_KNOWN;
}

static void say_dips(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "starved: GPU utilization %.0f %%, with a dip every %.1f s",
                      stk__verdict_facts_util(f), f->gpu->dip_period_s.value);
    if (stk__is_at_least(f->gpu->util_median_percent, STK_GPU_UTIL_LEAST_PERCENT))
        stk__sentence_add(s, " and busy in between; check what runs at that interval: evaluation, epoch end, "
                             "checkpoint, logging");
    else
        stk__sentence_add(
            s, "; check what runs at that interval (evaluation, epoch end), then data loading in between");
}

static bool is_rationed(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && stk__verdict_facts_last(f, f->all->quota_throttled_s, 0.05);
}

static void say_rationed(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "data starved (input bound): GPU utilization %.0f %%, the CPU quota of the container "
                      "throttled the job for %.0f %% of the time; raise the quota, or augment on the GPU",
                      stk__verdict_facts_util(f),
                      100 * stk__verdict_facts_share(f, f->all->quota_throttled_s));
}

static bool is_cpu_full(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && stk__is_at_least(f->all->cpu_mean_percent, 90);
}

static void say_cpu_full(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "data starved (input bound): GPU utilization %.0f %%, CPUs saturated (%.0f %%); move "
                      "augmentation to the GPU, or make decoding cheaper (smaller images, packed data)",
                      stk__verdict_facts_util(f), f->all->cpu_mean_percent.value);
}

static bool is_storage_slow(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && stk__is_at_least(f->all->io_pressure_mean_percent, 20);
}

static void say_storage_slow(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "data starved (input bound): GPU utilization %.0f %%, processes wait for storage (I/O "
                      "pressure %.0f %%); check the disk, use a cache or packed data",
                      stk__verdict_facts_util(f), f->all->io_pressure_mean_percent.value);
}

static bool is_one_cpu_full(const stk__verdict_facts *f)
{
    const stk_reading job = f->all->job_cpu_mean_percent;
    return stk__verdict_facts_starved(f) && stk__is_at_least(job, 85) && stk__is_below(job, 115) &&
           f->all->cpu_count > 1;
}

static void say_one_cpu_full(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "data starved (input bound): GPU utilization %.0f %%, the job uses %.0f %% of one CPU "
                      "out of %d; raise num_workers: data loading seems single-threaded",
                      stk__verdict_facts_util(f), f->all->job_cpu_mean_percent.value, f->all->cpu_count);
}

static bool is_cpu_idle(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && stk__is_below(f->all->cpu_mean_percent, 90);
}

static void say_cpu_idle(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "data starved (input bound): GPU utilization %.0f %%, CPUs not saturated (%.0f %%); "
                      "raise num_workers and prefetch_factor, then check the loop for synchronization "
                      "(.item() every step) and small batches",
                      stk__verdict_facts_util(f), f->all->cpu_mean_percent.value);
}

static void say_starved(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "starved: GPU utilization %.0f %%; cause unknown, CPU utilization is not available here",
        stk__verdict_facts_util(f));
}

const stk__verdict_rule stk__verdict_starved[] = {
    {"starved_dips", has_dips, say_dips},
    {"starved_quota", is_rationed, say_rationed},
    {"starved_cpu", is_cpu_full, say_cpu_full},
    {"starved_storage", is_storage_slow, say_storage_slow},
    {"starved_one_cpu", is_one_cpu_full, say_one_cpu_full},
    {"starved_cpu_idle", is_cpu_idle, say_cpu_idle},
    {"starved", stk__verdict_facts_starved, say_starved},
    {NULL, NULL, NULL},
};
