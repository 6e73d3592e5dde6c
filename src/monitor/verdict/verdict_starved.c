/* Verdict rules for a GPU that waits for work, from the most specific cause to the general one: regular
 * dips, a CPU quota, all CPUs busy, slow storage, one busy CPU, idle CPUs. */
#include "monitor/verdict/verdict_rules.h"

static bool has_dips(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && f->gpu->dip_period_s.known == STK_KNOWN;
}

static void say_dips(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "starved: busy %.0f %% of the time, with a dip every %.1f s",
                      stk__verdict_facts_util(f), f->gpu->dip_period_s.value);
    if (stk__is_at_least(f->gpu->util_median_percent, STK_BUSY_PERCENT))
        stk__sentence_add(
            s,
            " and busy in between; look at what comes so often: evaluation, epoch ends, checkpoints, logs");
    else
        stk__sentence_add(
            s, "; look at what comes so often (evaluation, epoch ends), then at data loading in between");
}

static bool is_rationed(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && stk__verdict_facts_last(f, f->all->quota_throttled_s, 0.05);
}

static void say_rationed(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, while the CPU limit of the container held the job back for %.0f "
        "%% "
        "of it; raise the limit, or augment on the GPU",
        stk__verdict_facts_util(f), 100 * stk__verdict_facts_share(f, f->all->quota_throttled_s));
}

static bool is_cpu_full(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && stk__is_at_least(f->all->cpu_mean_percent, 90);
}

static void say_cpu_full(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, while the CPUs are at their limit (%.0f %%); move augmentation "
        "to "
        "the GPU, or make decoding cheaper (smaller images, packed data)",
        stk__verdict_facts_util(f), f->all->cpu_mean_percent.value);
}

static bool is_storage_slow(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && stk__is_at_least(f->all->io_pressure_mean_percent, 20);
}

static void say_storage_slow(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, while processes waited for storage (I/O pressure %.0f %%); look "
        "at "
        "the disk, a cache, or packed data",
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
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, while the job used %.0f %% of one CPU of %d; look at "
        "num_workers: "
        "one thread seems to do everything",
        stk__verdict_facts_util(f), f->all->job_cpu_mean_percent.value, f->all->cpu_count);
}

static bool is_cpu_idle(const stk__verdict_facts *f)
{
    return stk__verdict_facts_starved(f) && stk__is_below(f->all->cpu_mean_percent, 90);
}

static void say_cpu_idle(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, though the CPUs have room (%.0f %%); look at num_workers and "
        "prefetch, "
        "then at waits in the loop (.item() every step, small batches)",
        stk__verdict_facts_util(f), f->all->cpu_mean_percent.value);
}

static void say_starved(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "starved: busy %.0f %% of the time; what it waited for was not measured: CPU load is unknown here",
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
