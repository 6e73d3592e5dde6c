#include "monitor/verdict.h"

#include <math.h>
#include <string.h>

static const double busy_percent = 85; /* at least so much is expected of a GPU that trains */

typedef struct facts {
    const stk_gpu_summary *gpu;
    const stk_monitor_summary *all;
    double seconds; /* judged */
} facts;

/* Unknown is neither below nor at least anything. */
static bool below(stk_reading reading, double bound)
{
    return reading.known == STK_KNOWN && reading.value < bound;
}

static bool at_least(stk_reading reading, double bound)
{
    return reading.known == STK_KNOWN && reading.value >= bound;
}

static bool is_busy(const facts *f)
{
    return at_least(f->gpu->util_mean_percent, busy_percent);
}

static bool is_starved(const facts *f)
{
    return below(f->gpu->util_mean_percent, busy_percent);
}

static double share_of_time(const facts *f, stk_reading seconds)
{
    return f->seconds > 0 ? fmin(seconds.value / f->seconds, 1) : 0;
}

static bool lasts(const facts *f, stk_reading seconds, double share)
{
    return seconds.known == STK_KNOWN && share_of_time(f, seconds) >= share;
}

static bool is_gone(const facts *f)
{
    return f->gpu->good_share < 0.98 || f->gpu->last_state != STK_GPU_GOOD;
}

static bool is_short(const facts *f)
{
    return f->seconds < 5;
}

static bool is_untold(const facts *f)
{
    return f->gpu->util_mean_percent.known != STK_KNOWN;
}

static bool is_idle(const facts *f)
{
    return below(f->gpu->util_mean_percent, 2);
}

static bool is_hot(const facts *f)
{
    return lasts(f, f->gpu->throttled_heat_s, 0.02);
}

static bool is_braked(const facts *f)
{
    return lasts(f, f->gpu->throttled_brake_s, 0.02);
}

static bool is_capped(const facts *f)
{
    return is_busy(f) && lasts(f, f->gpu->throttled_power_s, 0.2);
}

static bool is_hollow(const facts *f)
{
    return is_busy(f) && below(f->gpu->sm_active_mean_percent, 50);
}

static bool is_cool(const facts *f)
{
    return is_busy(f) && f->gpu->sm_active_mean_percent.known != STK_KNOWN && below(f->gpu->power_share, 0.6);
}

static bool has_dips(const facts *f)
{
    return is_starved(f) && f->gpu->dip_period_s.known == STK_KNOWN;
}

static bool is_rationed(const facts *f)
{
    return is_starved(f) && lasts(f, f->all->quota_throttled_s, 0.05);
}

static bool is_cpu_full(const facts *f)
{
    return is_starved(f) && at_least(f->all->cpu_mean_percent, 90);
}

static bool is_storage_slow(const facts *f)
{
    return is_starved(f) && at_least(f->all->io_pressure_mean_percent, 20);
}

static bool is_one_cpu_full(const facts *f)
{
    const stk_reading job = f->all->job_cpu_mean_percent;
    return is_starved(f) && at_least(job, 85) && below(job, 115) && f->all->cpu_count > 1;
}

static bool is_cpu_idle(const facts *f)
{
    return is_starved(f) && below(f->all->cpu_mean_percent, 90);
}

static bool is_uneven(const facts *f)
{
    return is_busy(f) && at_least(f->gpu->util_std_percent, 10);
}

static bool is_warm(const facts *f)
{
    return is_busy(f) && at_least(f->gpu->hottest_c, 85);
}

static bool is_memory_full(const facts *f)
{
    return is_busy(f) && at_least(f->gpu->memory_peak_share, 0.95);
}

static bool has_memory(const facts *f)
{
    return is_busy(f) && below(f->gpu->memory_peak_share, 0.7);
}

/* --- sentences -------------------------------------------------------------------------------------------
 */

static double util_of(const facts *f)
{
    return f->gpu->util_mean_percent.value;
}

static void say_gone(const facts *f, stk__sentence *s)
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

static void say_short(const facts *f, stk__sentence *s)
{
    stk__sentence_add(s,
                      "watched for %.1f s, which is too short to say; 5 s are the least, a minute is better",
                      f->seconds);
}

static void say_untold(const facts *f, stk__sentence *s)
{
    (void)f;
    stk__sentence_add(s, "its driver does not tell its load, so how busy it is remains unknown");
}

static void say_idle(const facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "nothing ran on it");
    if (at_least(f->gpu->memory_peak_share, 0.1))
        stk__sentence_add(s, ", though %.0f %% of its memory was in use; look at what holds it",
                          100 * f->gpu->memory_peak_share.value);
}

static void say_hot(const facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "held down by heat for %.0f %% of the time",
                      100 * share_of_time(f, f->gpu->throttled_heat_s));
    if (f->gpu->hottest_c.known == STK_KNOWN)
        stk__sentence_add(s, " (hottest: %.0f °C)", f->gpu->hottest_c.value);
    stk__sentence_add(s, "; look at fans, dust and air, or lower its power limit");
}

static void say_braked(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "slowed down by its power brake for %.0f %% of the time; look at power supply, cables and slot",
        100 * share_of_time(f, f->gpu->throttled_brake_s));
}

static void say_capped(const facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "busy %.0f %% of the time, and at its power limit for %.0f %%", util_of(f),
                      100 * share_of_time(f, f->gpu->throttled_power_s));
    stk__sentence_add(
        s, "; it gives what the limit allows, a higher one (nvidia-smi -pl) makes it faster if cooling keeps "
           "up");
}

static void say_hollow(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "busy but not working: some kernel ran %.0f %% of the time, but only %.0f %% of its multiprocessors "
        "had "
        "work; look at batch size, mixed precision and compile, not at the data",
        util_of(f), f->gpu->sm_active_mean_percent.value);
}

static void say_cool(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "busy but not working: some kernel ran %.0f %% of the time, but it drew only %.0f %% of the power it "
        "may; kernels are small or wait: look at batch size, mixed precision and compile",
        util_of(f), 100 * f->gpu->power_share.value);
}

static void say_dips(const facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "starved: busy %.0f %% of the time, with a dip every %.1f s", util_of(f),
                      f->gpu->dip_period_s.value);
    if (at_least(f->gpu->util_median_percent, busy_percent))
        stk__sentence_add(
            s,
            " and busy in between; look at what comes so often: evaluation, epoch ends, checkpoints, logs");
    else
        stk__sentence_add(
            s, "; look at what comes so often (evaluation, epoch ends), then at data loading in between");
}

static void say_rationed(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, while the CPU limit of the container held the job back for %.0f "
        "%% "
        "of it; raise the limit, or augment on the GPU",
        util_of(f), 100 * share_of_time(f, f->all->quota_throttled_s));
}

static void say_cpu_full(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, while the CPUs are at their limit (%.0f %%); move augmentation "
        "to "
        "the GPU, or make decoding cheaper (smaller images, packed data)",
        util_of(f), f->all->cpu_mean_percent.value);
}

static void say_storage_slow(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, while processes waited for storage (I/O pressure %.0f %%); look "
        "at "
        "the disk, a cache, or packed data",
        util_of(f), f->all->io_pressure_mean_percent.value);
}

static void say_one_cpu_full(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, while the job used %.0f %% of one CPU of %d; look at "
        "num_workers: "
        "one thread seems to do everything",
        util_of(f), f->all->job_cpu_mean_percent.value, f->all->cpu_count);
}

static void say_cpu_idle(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "starved: busy %.0f %% of the time, though the CPUs have room (%.0f %%); look at num_workers and "
        "prefetch, "
        "then at waits in the loop (.item() every step, small batches)",
        util_of(f), f->all->cpu_mean_percent.value);
}

static void say_starved(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "starved: busy %.0f %% of the time; what it waited for was not measured: CPU load is unknown here",
        util_of(f));
}

static void say_uneven(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s,
        "busy %.0f %% of the time, but unevenly (± %.0f); look at prefetch, and at what comes now and then",
        util_of(f), f->gpu->util_std_percent.value);
}

static void say_warm(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "busy %.0f %% of the time, but %.0f °C hot; look at fans, dust and air before it slows down",
        util_of(f), f->gpu->hottest_c.value);
}

static void say_memory_full(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "busy %.0f %% of the time; memory was %.0f %% full: a little more, and it is out of memory",
        util_of(f), 100 * f->gpu->memory_peak_share.value);
}

static void say_memory(const facts *f, stk__sentence *s)
{
    stk__sentence_add(
        s, "busy %.0f %% of the time; %.0f %% of its memory stayed free: a larger batch may be faster still",
        util_of(f), 100 * (1 - f->gpu->memory_peak_share.value));
}

static void say_good(const facts *f, stk__sentence *s)
{
    stk__sentence_add(s, "good: busy %.0f %% of the time", util_of(f));
    if (f->gpu->util_std_percent.known == STK_KNOWN)
        stk__sentence_add(s, " (± %.1f)", f->gpu->util_std_percent.value);
    stk__sentence_add(s, ", and nothing that was measured stands out");
}

static bool always(const facts *f)
{
    (void)f;
    return true;
}

typedef struct rule {
    const char *finding;
    bool (*holds)(const facts *f);
    void (*say)(const facts *f, stk__sentence *s);
} rule;

/* In this order: the first that holds speaks, and among several GPUs the one that comes first here. */
static const rule rules[] = {
    {"gone", is_gone, say_gone},
    {"hot", is_hot, say_hot},
    {"braked", is_braked, say_braked},
    {"too_short", is_short, say_short},
    {"untold", is_untold, say_untold},
    {"idle", is_idle, say_idle},
    {"starved_dips", has_dips, say_dips},
    {"starved_quota", is_rationed, say_rationed},
    {"starved_cpu", is_cpu_full, say_cpu_full},
    {"starved_storage", is_storage_slow, say_storage_slow},
    {"starved_one_cpu", is_one_cpu_full, say_one_cpu_full},
    {"starved_cpu_idle", is_cpu_idle, say_cpu_idle},
    {"starved", is_starved, say_starved},
    {"busy_not_working", is_hollow, say_hollow},
    {"busy_low_power", is_cool, say_cool},
    {"power_limit", is_capped, say_capped},
    {"uneven", is_uneven, say_uneven},
    {"warm", is_warm, say_warm},
    {"memory_full", is_memory_full, say_memory_full},
    {"memory_room", has_memory, say_memory},
    {"good", always, say_good},
};

enum { RULES = sizeof rules / sizeof rules[0] };

int stk__verdict_rank(const char *finding)
{
    int rank = 0;
    while (rank < RULES && strcmp(rules[rank].finding, finding) != 0)
        rank++;
    return rank;
}

void stk__verdict_speak(stk_gpu_summary *gpu, const stk_monitor_summary *all)
{
    const facts f = {.gpu = gpu, .all = all, .seconds = all->steady_to_s - all->steady_from_s};
    const rule *spoken = rules;
    while (!spoken->holds(&f))
        spoken++;
    gpu->finding = spoken->finding;
    spoken->say(&f, &(stk__sentence){.text = gpu->verdict, .room = sizeof gpu->verdict});
}
