/* SPDX-License-Identifier: Apache-2.0 */
/* AMD GPUs, from the sysfs files of the kernel driver amdgpu. */
#include "core/number.h"
#include "monitor/drm/drm_process.h"
#include "monitor/load_feed.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct amd {
    stk__gpu_reader reader;
    int count;
    stk__drm_card cards[STK_GPUS];
} amd;

typedef struct amd_state {
    bool begun;
    stk__load_feed feed;
    stk__drm_processes processes;
} amd_state;

static const stk__drm_source sources[] = {
    {STK_METRIC_UTIL, false, "device/gpu_busy_percent", 1, 0, 100},
    {STK_METRIC_MEMORY_BUSY, false, "device/mem_busy_percent", 1, 0, 100},
    {STK_METRIC_MEMORY_TOTAL, false, "device/mem_info_vram_total", 1, 1, 1e15},
    {STK_METRIC_MEMORY_USED, false, "device/mem_info_vram_used", 1, 0, 1e15},
    {STK_METRIC_POWER, true, "power1_average", 1e-6, 0, 2e4},
    {STK_METRIC_POWER, true, "power1_input", 1e-6, 0, 2e4},
    {STK_METRIC_POWER_LIMIT, true, "power1_cap", 1e-6, 1, 2e4},
    {STK_METRIC_ENERGY, true, "energy1_input", 1e-6, 0, 1e15},
    {STK_METRIC_SM_CLOCK, true, "freq1_input", 1e-6, 0, 2e4},
    {STK_METRIC_MEMORY_CLOCK, true, "freq2_input", 1e-6, 0, 1e5},
    {STK_METRIC_FAN, true, "pwm1", 100 / 255., 0, 100},
};

static stk_status open_amd(stk__gpu_reader **reader, stk_error *error)
{
    static const char *const drivers[] = {"amdgpu", NULL};
    *reader = NULL;
    amd *a = stk__alloc(sizeof *a);
    if (!a) return stk__fail_memory(error, sizeof *a, "AMD's GPUs");
    a->reader.ops = &stk__reader_amd;
    a->count = stk__drm_find("amd", drivers, a->cards, STK_GPUS);
    if (a->count) {
        *reader = &a->reader;
        return STK_OK;
    }
    stk__free(a);
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "no AMD GPU: no card uses the driver 'amdgpu'");
}

static int count_amd(const stk__gpu_reader *reader)
{
    return ((const amd *)reader)->count;
}

static void describe_amd(const stk__gpu_reader *reader, int number, stk_gpu *gpu)
{
    *gpu = ((const amd *)reader)->cards[number].facts;
}

/* Sensors are identified by labels: edge (die), junction (hot spot), mem. */
static void read_heat(const stk__drm_card *card, stk_gpu_frame *frame)
{
    stk_reading *readings = frame->readings;
    for (int i = 1; i <= 3 && card->hwmon[0]; i++) {
        char label[16];
        double millis;
        if (!stk__drm_text(label, sizeof label, "%s/temp%d_label", card->hwmon, i)) continue;
        const bool memory = strcmp(label, "mem") == 0;
        const stk_metric metric = memory ? STK_METRIC_MEMORY_TEMPERATURE : STK_METRIC_TEMPERATURE;
        if (readings[metric].known == STK_KNOWN) continue; /* edge before junction */
        if (stk__drm_number(&millis, "%s/temp%d_input", card->hwmon, i) != STK_KNOWN || millis < 0 ||
            millis > 200000)
            continue;
        readings[metric] = stk__reading_known(millis * 1e-3, stk__clock_ns());
        if (!memory && stk__drm_number(&millis, "%s/temp%d_crit", card->hwmon, i) == STK_KNOWN &&
            millis > 0 && millis <= 200000)
            readings[STK_METRIC_TEMPERATURE_LIMIT] = stk__reading_known(millis * 1e-3, stk__clock_ns());
    }
}

/* "1: 1800Mhz *": the clock levels; the star marks the current one. */
static void read_steps(const stk__drm_card *card, const char *name, stk_reading *now, stk_reading *most)
{
    char text[2048];
    double highest = 0;
    if (!stk__drm_text(text, sizeof text, "%s/device/%s", card->folder, name)) return;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *colon = strchr(line, ':');
        double megahertz;
        if (!colon) break;
        colon += 1 + strspn(colon + 1, " ");
        if (!stk__number_real(colon, strspn(colon, "0123456789"), &megahertz) || megahertz > 1e5) continue;
        if (megahertz > highest) highest = megahertz;
        const char *star = strpbrk(colon, "*\n");
        if (star && *star == '*' && now->known != STK_KNOWN)
            *now = stk__reading_known(megahertz, stk__clock_ns());
    }
    if (highest > 0) *most = stk__reading_known(highest, stk__clock_ns());
}

static void tell_load(amd_state *s, stk_gpu_frame *frame)
{
    const uint64_t now_ns = stk__clock_ns();
    const stk_reading *util = &frame->readings[STK_METRIC_UTIL];
    if (!s->begun) stk__load_feed_begin(&s->feed, now_ns);
    s->begun = true;
    if (util->known == STK_KNOWN) stk__load_feed_poll(&s->feed, util->value, now_ns, frame);
}

static void read_awake(stk__poller_context *context, const stk__drm_card *card, stk_gpu_frame *frame)
{
    stk_reading *readings = frame->readings;
    stk__drm_read_sources(context, card, sources, sizeof sources / sizeof sources[0], frame);
    read_heat(card, frame);
    read_steps(card, "pp_dpm_sclk", &readings[STK_METRIC_SM_CLOCK], &readings[STK_METRIC_SM_CLOCK_MAX]);
    read_steps(card, "pp_dpm_mclk", &readings[STK_METRIC_MEMORY_CLOCK],
               &readings[STK_METRIC_MEMORY_CLOCK_MAX]);
    stk__drm_read_link(card, stk__clock_ns(), frame);
    stk__drm_finish(frame);
    snprintf(frame->note, sizeof frame->note, "utilization is polled, not sampled");
}

static void read_amd(stk__poller_context *context, stk_gpu_frame *frame)
{
    const stk__drm_card *card = &((const amd *)context->reader)->cards[context->number];
    amd_state *s = context->state;
    if (!stk__drm_is_there(card)) {
        frame->state = STK_GPU_LOST;
        snprintf(frame->note, sizeof frame->note, "device lost: its sysfs files are missing");
        return;
    }
    if (stk__drm_sleeps(card)) {
        frame->readings[STK_METRIC_UTIL] = stk__reading_known(0, stk__clock_ns());
        snprintf(frame->note, sizeof frame->note, "runtime suspended; reading more would wake it");
    } else {
        read_awake(context, card, frame);
    }
    tell_load(s, frame);
    stk__drm_processes_read(&s->processes, context, card, frame);
}

static bool revive_amd(stk__poller_context *context)
{
    return stk__drm_is_there(&((const amd *)context->reader)->cards[context->number]);
}

static void close_amd(stk__gpu_reader **reader)
{
    stk__free(*reader);
    *reader = NULL;
}

const stk__reader_ops stk__reader_amd = {.vendor = "amd",
                                         .state_bytes = sizeof(amd_state),
                                         .open = open_amd,
                                         .count = count_amd,
                                         .describe = describe_amd,
                                         .read = read_amd,
                                         .revive = revive_amd,
                                         .close = close_amd};
