/* Rules: it is busy; is it well used? */
#include "monitor/verdict/verdict_rules.h"

static bool is_hollow(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_below(f->gpu->sm_active_mean_percent, 50);
}

static void say_hollow(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "busy but not working: some kernel ran %.0f %% of the time, but only %.0f %% of its multiprocessors "
        "had "
        "work; look at batch size, mixed precision and compile, not at the data",
        stk__verdict_facts_util(f), f->gpu->sm_active_mean_percent.value);
}

static bool is_cool(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && f->gpu->sm_active_mean_percent.known != STK_KNOWN &&
           stk__is_below(f->gpu->power_share, 0.6);
}

static void say_cool(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "busy but not working: some kernel ran %.0f %% of the time, but it drew only %.0f %% of the power it "
        "may; kernels are small or wait: look at batch size, mixed precision and compile",
        stk__verdict_facts_util(f), 100 * f->gpu->power_share.value);
}

static bool is_capped(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__verdict_facts_last(f, f->gpu->throttled_power_s, 0.2);
}

static void say_capped(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "busy %.0f %% of the time, and at its power limit for %.0f %%",
                      stk__verdict_facts_util(f),
                      100 * stk__verdict_facts_share(f, f->gpu->throttled_power_s));
    stk__sentence_add(
        s, "; it gives what the limit allows, a higher one (nvidia-smi -pl) makes it faster if cooling keeps "
           "up");
}

static bool is_uneven(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_at_least(f->gpu->util_std_percent, 10);
}

static void say_uneven(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "busy %.0f %% of the time, but unevenly (± %.0f); look at prefetch, and at what comes now and then",
        stk__verdict_facts_util(f), f->gpu->util_std_percent.value);
}

static bool is_warm(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_at_least(f->gpu->hottest_c, 85);
}

static void say_warm(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "busy %.0f %% of the time, but %.0f °C hot; look at fans, dust and air before it slows down",
        stk__verdict_facts_util(f), f->gpu->hottest_c.value);
}

static bool is_memory_full(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_at_least(f->gpu->memory_peak_share, 0.95);
}

static void say_memory_full(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "busy %.0f %% of the time; memory was %.0f %% full: a little more, and it is out of memory",
        stk__verdict_facts_util(f), 100 * f->gpu->memory_peak_share.value);
}

static bool has_memory(const stk__verdict_facts *f)
{
    return stk__verdict_facts_busy(f) && stk__is_below(f->gpu->memory_peak_share, 0.7);
}

static void say_memory(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "busy %.0f %% of the time; %.0f %% of its memory stayed free: a larger batch may be faster still",
        stk__verdict_facts_util(f), 100 * (1 - f->gpu->memory_peak_share.value));
}

static bool always(const stk__verdict_facts *f)
{
    (void)f;
    return true;
}

static void say_good(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "good: busy %.0f %% of the time", stk__verdict_facts_util(f));
    if (f->gpu->util_std_percent.known == STK_KNOWN)
        stk__sentence_add(s, " (± %.1f)", f->gpu->util_std_percent.value);
    stk__sentence_add(s, ", and nothing that was measured stands out");
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
