/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for faults (GPU lost, thermal throttling, power brake) and for nothing to evaluate (too short,
 * unknown, idle). */
#include "monitor/verdict/verdict_rules.h"

static bool is_gone(const stk__verdict_facts *f)
{
    return f->gpu->good_share < 0.98 || f->gpu->last_state != STK_GPU_GOOD;
}

static void say_gone(const stk__verdict_facts *f, stk__sentence *s)
{
    static const char *const advice[] = {
        [STK_GPU_GOOD] = "",
        [STK_GPU_HUNG] = "the driver hangs: check the kernel log (dmesg), and whether nvidia-smi hangs too",
        [STK_GPU_LOST] = "check the kernel log (dmesg, Xid errors), then power supply and PCIe slot",
        [STK_GPU_RESET] = "it needs a reset (nvidia-smi --gpu-reset, or reboot)",
        [STK_GPU_BARRED] = "get permission to read it, or run as its owner",
    };
    const stk_gpu_summary *gpu = f->gpu;
    stk__sentence_add(s, "unreadable for %.0f %% of the time, last state: %s%s%.60s; %s",
                      100 * (1 - gpu->good_share), stk_gpu_state_name(gpu->bad_state),
                      gpu->bad_note[0] ? ", " : "", gpu->bad_note, advice[gpu->bad_state]);
}

static bool is_hot(const stk__verdict_facts *f)
{
    return stk__verdict_facts_last(f, f->gpu->throttled_heat_s, 0.02);
}

static void say_hot(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "thermal throttling for %.0f %% of the time",
                      100 * stk__verdict_facts_share(f, f->gpu->throttled_heat_s));
    if (f->gpu->hottest_c.known == STK_KNOWN) stk__sentence_add(s, " (max %.0f °C)", f->gpu->hottest_c.value);
    stk__sentence_add(s, "; check fans, dust and airflow, or lower the power limit");
}

static bool is_braked(const stk__verdict_facts *f)
{
    return stk__verdict_facts_last(f, f->gpu->throttled_brake_s, 0.02);
}

static void say_braked(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "hardware power brake for %.0f %% of the time; check power supply, power cables and PCIe slot",
        100 * stk__verdict_facts_share(f, f->gpu->throttled_brake_s));
}

static bool is_short(const stk__verdict_facts *f)
{
    return f->seconds < 5;
}

static void say_short(const stk__verdict_facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "monitored for %.1f s: too short to evaluate; use at least 5 s, better a minute",
                      f->seconds);
}

static bool is_untold(const stk__verdict_facts *f)
{
    return f->gpu->util_mean_percent.known != STK_KNOWN;
}

static void say_untold(const stk__verdict_facts *f, stk__sentence *s)
{
    (void)f;
    stk__sentence_add(s, "GPU utilization unknown: the driver does not report it");
}

static bool is_idle(const stk__verdict_facts *f)
{
    return stk__is_below(f->gpu->util_mean_percent, 2);
}

static void say_idle(const stk__verdict_facts *f, stk__sentence *s)
{
    if (stk__is_below(f->gpu->util_mean_percent, 0.5))
        stk__sentence_add(s, "idle: no kernel ran");
    else
        stk__sentence_add(s, "idle: kernels ran only %.1f %% of the time", stk__verdict_facts_util(f));
    if (stk__is_at_least(f->gpu->memory_peak_share, 0.1))
        stk__sentence_add(s, ", but %.0f %% of its memory was in use; check which process holds it",
                          100 * f->gpu->memory_peak_share.value);
}

const stk__verdict_rule stk__verdict_trouble[] = {
    {"gpu_lost", is_gone, say_gone},
    {"hot", is_hot, say_hot},
    {"power_brake", is_braked, say_braked},
    {"too_short", is_short, say_short},
    {"util_unknown", is_untold, say_untold},
    {"idle", is_idle, say_idle},
    {NULL, NULL, NULL},
};
