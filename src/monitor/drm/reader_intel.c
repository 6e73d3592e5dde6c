/* SPDX-License-Identifier: Apache-2.0 */
/* Intel GPUs, from the sysfs files of the kernel drivers i915 and xe. They have no file with GPU utilization:
 * it is summed over the engine times of all processes, which only root can see. */
#include "monitor/drm/drm_process.h"
#include "monitor/counter_unwrap.h"
#include "monitor/load_feed.h"

#include <stdio.h>
#include <unistd.h>

#define MOST_WATTS 2e4

typedef struct intel {
    stk__gpu_reader reader;
    int count;
    stk__drm_card cards[STK_GPUS];
} intel;

typedef struct intel_state {
    bool begun;
    stk__load_feed feed;
    stk__counter_unwrap energy; /* uJ */
    double joules;              /* at the last read, */
    uint64_t joules_ns;         /* and when that was; 0: never */
    stk__drm_processes processes;
} intel_state;

static const stk__drm_source sources[] = {
    {STK_METRIC_MEMORY_TOTAL, false, "lmem_total_bytes", 1, 1, 1e15},
    {STK_METRIC_SM_CLOCK, false, "gt/gt0/rps_act_freq_mhz", 1, 0, 2e4},
    {STK_METRIC_SM_CLOCK, false, "gt_act_freq_mhz", 1, 0, 2e4},
    {STK_METRIC_SM_CLOCK, false, "device/tile0/gt0/freq0/act_freq", 1, 0, 2e4},
    {STK_METRIC_SM_CLOCK_MAX, false, "gt/gt0/rps_RP0_freq_mhz", 1, 1, 2e4},
    {STK_METRIC_SM_CLOCK_MAX, false, "gt_RP0_freq_mhz", 1, 1, 2e4},
    {STK_METRIC_SM_CLOCK_MAX, false, "device/tile0/gt0/freq0/rp0_freq", 1, 1, 2e4},
    {STK_METRIC_POWER_LIMIT, true, "power1_max", 1e-6, 1, MOST_WATTS},
    {STK_METRIC_POWER_LIMIT, true, "power1_cap", 1e-6, 1, MOST_WATTS},
};

static stk_status open_intel(stk__gpu_reader **reader, stk_error *error)
{
    static const char *const drivers[] = {"i915", "xe", NULL};
    *reader = NULL;
    intel *i = stk__alloc(sizeof *i);
    if (!i) return stk__fail_memory(error, sizeof *i, "Intel's GPUs");
    i->reader.ops = &stk__reader_intel;
    i->count = stk__drm_find("intel", drivers, i->cards, STK_GPUS);
    if (i->count) {
        *reader = &i->reader;
        return STK_OK;
    }
    stk__free(i);
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "no Intel GPU: no card uses the driver 'i915' or 'xe'");
}

static int count_intel(const stk__gpu_reader *reader)
{
    return ((const intel *)reader)->count;
}

static void describe_intel(const stk__gpu_reader *reader, int number, stk_gpu *gpu)
{
    *gpu = ((const intel *)reader)->cards[number].facts;
}

/* Power is the rate of the energy counter. */
static void read_energy(intel_state *s, const stk__drm_card *card, stk_gpu_frame *frame)
{
    double raw, micro;
    const uint64_t now_ns = stk__clock_ns();
    if (!card->hwmon[0] || stk__drm_number(&raw, "%s/energy1_input", card->hwmon) != STK_KNOWN ||
        !stk__counter_unwrap_add(&s->energy, raw, MOST_WATTS * 1e6, now_ns, &micro))
        return;
    const double joules = micro * 1e-6;
    frame->readings[STK_METRIC_ENERGY] = stk__reading_known(joules, now_ns);
    frame->readings[STK_METRIC_POWER].when_ns = 1; /* only unknown as yet (stk__drm_finish) */
    if (s->joules_ns)
        frame->readings[STK_METRIC_POWER] =
            stk__reading_known((joules - s->joules) / ((double)(now_ns - s->joules_ns) / 1e9), now_ns);
    s->joules = joules;
    s->joules_ns = now_ns;
}

/* xe labels its sensors (pkg, vram); i915 has one. */
static void read_heat(const stk__drm_card *card, stk_gpu_frame *frame)
{
    for (int i = 1; i <= 3 && card->hwmon[0]; i++) {
        char label[16] = "";
        double millis;
        stk__drm_text(label, sizeof label, "%s/temp%d_label", card->hwmon, i);
        if (stk__drm_number(&millis, "%s/temp%d_input", card->hwmon, i) != STK_KNOWN || millis < 0 ||
            millis > 200000)
            continue;
        frame->readings[strcmp(label, "vram") == 0 ? STK_METRIC_MEMORY_TEMPERATURE : STK_METRIC_TEMPERATURE] =
            stk__reading_known(millis * 1e-3, stk__clock_ns());
    }
}

static const struct {
    const char *reason;
    int bit;
} reasons[] = {
    {"pl1", STK_THROTTLE_POWER},    {"pl2", STK_THROTTLE_POWER},    {"pl4", STK_THROTTLE_POWER},
    {"thermal", STK_THROTTLE_HEAT}, {"prochot", STK_THROTTLE_HEAT}, {"vr_thermalert", STK_THROTTLE_HEAT},
    {"vr_tdc", STK_THROTTLE_BRAKE}, {"ratl", STK_THROTTLE_OTHER},
};

/* gt0/throttle_reason_pl1 with i915, freq0/throttle/reason_pl1 with xe: 0 or 1. */
static void read_throttle(const stk__drm_card *card, stk_gpu_frame *frame)
{
    static const char *const starts[] = {"gt/gt0/throttle_reason_",
                                         "device/tile0/gt0/freq0/throttle/reason_"};
    int bits = 0, told = 0;
    for (size_t s = 0; s < 2 && !told; s++)
        for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
            double on;
            if (stk__drm_number(&on, "%s/%s%s", card->folder, starts[s], reasons[i].reason) != STK_KNOWN)
                continue;
            told++;
            if (on == 1) bits |= reasons[i].bit;
        }
    if (told) frame->readings[STK_METRIC_THROTTLE] = stk__reading_known(bits, stk__clock_ns());
}

static void read_memory(const stk__drm_card *card, stk_gpu_frame *frame)
{
    double free_bytes;
    const stk_reading *total = &frame->readings[STK_METRIC_MEMORY_TOTAL];
    if (total->known == STK_KNOWN &&
        stk__drm_number(&free_bytes, "%s/lmem_avail_bytes", card->folder) == STK_KNOWN && free_bytes >= 0 &&
        free_bytes <= total->value)
        frame->readings[STK_METRIC_MEMORY_USED] =
            stk__reading_known(total->value - free_bytes, stk__clock_ns());
}

static void read_load(intel_state *s, stk__poller_context *context, const stk__drm_card *card,
                      stk_gpu_frame *frame)
{
    stk__drm_processes_read(&s->processes, context, card, frame);
    const stk_reading load = s->processes.load;
    if (!s->begun) stk__load_feed_begin(&s->feed, stk__clock_ns());
    s->begun = true;
    frame->readings[STK_METRIC_UTIL].when_ns = 1; /* unknown at first, and for all but root */
    if (!stk__drm_processes_complete()) {
        snprintf(frame->note, sizeof frame->note,
                 "GPU utilization needs root: it is summed over all processes");
    } else if (load.known == STK_KNOWN) {
        frame->readings[STK_METRIC_UTIL] = load;
        stk__load_feed_poll(&s->feed, load.value, load.when_ns, frame);
    }
}

static void read_intel(stk__poller_context *context, stk_gpu_frame *frame)
{
    const stk__drm_card *card = &((const intel *)context->reader)->cards[context->number];
    intel_state *s = context->state;
    if (!stk__drm_is_there(card)) {
        frame->state = STK_GPU_LOST;
        snprintf(frame->note, sizeof frame->note, "device lost: its sysfs files are missing");
        return;
    }
    read_load(s, context, card, frame);
    if (stk__drm_sleeps(card)) {
        snprintf(frame->note, sizeof frame->note, "runtime suspended; reading more would wake it");
        return;
    }
    stk__drm_read_sources(context, card, sources, sizeof sources / sizeof sources[0], frame);
    read_energy(s, card, frame);
    read_heat(card, frame);
    read_throttle(card, frame);
    read_memory(card, frame);
    stk__drm_read_link(card, stk__clock_ns(), frame);
    stk__drm_finish(frame);
}

static bool revive_intel(stk__poller_context *context)
{
    return stk__drm_is_there(&((const intel *)context->reader)->cards[context->number]);
}

static void close_intel(stk__gpu_reader **reader)
{
    stk__free(*reader);
    *reader = NULL;
}

const stk__reader_ops stk__reader_intel = {.vendor = "intel",
                                           .state_bytes = sizeof(intel_state),
                                           .open = open_intel,
                                           .count = count_intel,
                                           .describe = describe_intel,
                                           .read = read_intel,
                                           .revive = revive_intel,
                                           .close = close_intel};
