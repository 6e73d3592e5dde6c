/* Rules: there is something wrong with the GPU, or nothing to judge. */
#include "monitor/verdict/verdict_rules.h"

static bool is_gone(const stk__verdict_facts *f)
{
    return f->gpu->good_share < 0.98 || f->gpu->last_state != STK_GPU_GOOD;
}

static void say_gone(const stk__verdict_facts *f, stk__sentence *s)
{
    static const char *const advice[] = {
        [STK_GPU_GOOD] = "",
        [STK_GPU_HUNG] =
            "its driver hangs: look at the kernel's log (dmesg), and whether nvidia-smi hangs too",
        [STK_GPU_LOST] = "look at the kernel's log (dmesg, Xid), then at its power and its slot",
        [STK_GPU_RESET] = "it works again only after a reset (nvidia-smi --gpu-reset, or restart)",
        [STK_GPU_BARRED] = "ask for the right to read it, or run as its owner",
    };
    const stk_gpu_summary *gpu = f->gpu;
    stk__sentence_add(s, "could not be read for %.0f %% of the time, last: %s%s%.60s; %s",
                      100 * (1 - gpu->good_share), stk_gpu_state_name(gpu->bad_state),
                      gpu->bad_note[0] ? ", " : "", gpu->bad_note, advice[gpu->bad_state]);
}

static bool is_hot(const stk__verdict_facts *f)
{
    return stk__verdict_facts_last(f, f->gpu->throttled_heat_s, 0.02);
}

static void say_hot(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "held down by heat for %.0f %% of the time",
                      100 * stk__verdict_facts_share(f, f->gpu->throttled_heat_s));
    if (f->gpu->hottest_c.known == STK_KNOWN)
        stk__sentence_add(s, " (hottest: %.0f °C)", f->gpu->hottest_c.value);
    stk__sentence_add(s, "; look at fans, dust and air, or lower its power limit");
}

static bool is_braked(const stk__verdict_facts *f)
{
    return stk__verdict_facts_last(f, f->gpu->throttled_brake_s, 0.02);
}

static void say_braked(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "slowed down by its power brake for %.0f %% of the time; look at power supply, cables and slot",
        100 * stk__verdict_facts_share(f, f->gpu->throttled_brake_s));
}

static bool is_short(const stk__verdict_facts *f)
{
    return f->seconds < 5;
}

static void say_short(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "watched for %.1f s, which is too short to say; 5 s are the least, a minute is better",
                      f->seconds);
}

static bool is_untold(const stk__verdict_facts *f)
{
    return f->gpu->util_mean_percent.known != STK_KNOWN;
}

static void say_untold(const stk__verdict_facts *f, stk__sentence *s)
{
    (void)f;
    stk__sentence_add(s, "its driver does not tell its load, so how busy it is remains unknown");
}

static bool is_idle(const stk__verdict_facts *f)
{
    return stk__is_below(f->gpu->util_mean_percent, 2);
}

static void say_idle(const stk__verdict_facts *f, stk__sentence *s)
{
    if (stk__is_below(f->gpu->util_mean_percent, 0.5))
        stk__sentence_add(s, "nothing ran on it");
    else
        stk__sentence_add(s, "hardly anything ran on it (%.1f %% of the time)", stk__verdict_facts_util(f));
    if (stk__is_at_least(f->gpu->memory_peak_share, 0.1))
        stk__sentence_add(s, ", though %.0f %% of its memory was in use; look at what holds it",
                          100 * f->gpu->memory_peak_share.value);
}

const stk__verdict_rule stk__verdict_trouble[] = {
    {"gone", is_gone, say_gone},
    {"hot", is_hot, say_hot},
    {"braked", is_braked, say_braked},
    {"too_short", is_short, say_short},
    {"untold", is_untold, say_untold},
    {"idle", is_idle, say_idle},
    {NULL, NULL, NULL},
};
