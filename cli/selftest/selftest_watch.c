/* SPDX-License-Identifier: Apache-2.0 */
/* NVML during the self-test: PCIe link and mean GPU utilization over a period. A thread reads the monitor's
 * frames. */
#include "selftest.h"

#include "core/clock.h"
#include "core/thread.h"
#include "stoker/monitor.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (STK_SECOND_NS * 5) /* for a driver, at the end */
#define INTERVAL_S  0.1                 /* copies that are measured take less than a second */

struct stk__selftest_watch {
    stk_monitor *monitor;
    stk__thread *thread;
    int place; /* of the GPU or MIG instance in frames */
    int board; /* of the GPU that has the link: the same, or the parent of a MIG instance */

    pthread_mutex_t lock; /* guards all below */
    stk__selftest_link link;
    uint64_t from_ns; /* what ends before it does not count; UINT64_MAX: nothing does */
    double sum, seconds;
};

static int whole(stk_reading reading)
{
    return reading.known == STK_KNOWN ? (int)reading.value : 0;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void take_link(stk__selftest_link *link, const stk_reading *r)
{
    const int generation = whole(r[STK_METRIC_LINK_GENERATION]), width = whole(r[STK_METRIC_LINK_WIDTH]);
    link->generation = larger(whole(r[STK_METRIC_LINK_GENERATION_MAX]), generation);
    link->width = larger(whole(r[STK_METRIC_LINK_WIDTH_MAX]), width);
    link->seen_generation = larger(link->seen_generation, generation);
    link->seen_width = larger(link->seen_width, width);
    link->frames++;
}

static void take_frame(stk__selftest_watch *w, const stk_monitor_frame *frames)
{
    const stk_gpu_frame *frame = &frames->gpu_frames[w->place];
    take_link(&w->link, frames->gpu_frames[w->board].readings);
    for (int i = 0; i < frame->load_count; i++) {
        const stk_load_sample *load = &frame->loads[i];
        if (load->from_ns < w->from_ns || load->to_ns <= load->from_ns) continue;
        const double seconds = (double)(load->to_ns - load->from_ns) * 1e-9;
        w->sum += load->percent * seconds;
        w->seconds += seconds;
    }
}

static void watch(void *context)
{
    stk__selftest_watch *w = context;
    stk_monitor_frame *frame;
    while (stk_monitor_next(w->monitor, &frame, NULL) == STK_OK) {
        pthread_mutex_lock(&w->lock);
        take_frame(w, frame);
        pthread_mutex_unlock(&w->lock);
    }
}

/* By UUID: CUDA orders by CUDA_VISIBLE_DEVICES, or the fastest first, NVML by PCI bus id.
 */
static int find_id(const stk_monitor_frame *frame, const char *id)
{
    for (int i = 0; i < frame->gpu_count; i++)
        if (strcmp(frame->gpus[i].id, id) == 0) return i;
    return -1;
}

/* Without a UUID from CUDA: the N-th NVIDIA GPU, if at least the name is the same. */
static int find_number(const stk_monitor_frame *frame, const stk__device_info *info)
{
    int index = 0;
    sscanf(info->name, "cuda:%d", &index);
    for (int i = 0; i < frame->gpu_count; i++)
        if (strcmp(frame->gpus[i].vendor, "nvidia") == 0 && index-- == 0)
            return strcmp(frame->gpus[i].name, info->model) == 0 ? i : -1;
    return -1;
}

/* NVML reports the PCIe link of whole GPUs only. */
static int find_board(const stk_monitor_frame *frame, int place)
{
    for (int i = 0; i < frame->gpu_count; i++)
        if (frame->gpus[i].index == frame->gpus[place].index && !frame->gpus[i].part[0] &&
            strcmp(frame->gpus[i].vendor, frame->gpus[place].vendor) == 0)
            return i;
    return place;
}

static void explain_absence(const stk_monitor *monitor, const stk__device_info *info, char *why)
{
    const char *absent = stk_monitor_missing_reason(monitor);
    if (*absent)
        snprintf(why, 160, "%.*s", (int)strcspn(absent, "\n"), absent);
    else if (info->id[0])
        snprintf(why, 160, "NVML does not list this GPU; CUDA_DEVICE_ORDER=PCI_BUS_ID may help");
    else
        snprintf(why, 160, "NVML lists a different GPU at this index; CUDA_DEVICE_ORDER=PCI_BUS_ID may help");
}

static bool open_parts(stk__selftest_watch *w, const stk__device_info *info, const stk_monitor_options *o,
                       char *why)
{
    stk_error error = {0};
    stk_monitor_frame *frame;
    const stk__thread_options thread = {.name = "stk-watch", .run = watch, .context = w};
    if (stk_monitor_open(&w->monitor, o, &error) != STK_OK ||
        stk_monitor_next(w->monitor, &frame, &error) != STK_OK) {
        snprintf(why, 160, "%.150s", error.message);
        return false;
    }
    w->place = info->id[0] ? find_id(frame, info->id) : find_number(frame, info);
    if (w->place < 0) explain_absence(w->monitor, info, why);
    if (w->place < 0) return false;
    w->board = find_board(frame, w->place);
    take_frame(w, frame);
    if (stk__thread_start(&w->thread, &thread, &error) == STK_OK) return true;
    snprintf(why, 160, "%.150s", error.message);
    return false;
}

void stk__selftest_watch_open(stk__selftest_watch **made, const stk__device_info *info, char *why)
{
    const stk_monitor_options options = {.interval_s = INTERVAL_S, .pid = getpid()};
    stk__selftest_watch *w = *made = stk__alloc(sizeof *w);
    if (!w) {
        snprintf(why, 160, "out of memory");
        return;
    }
    pthread_mutex_init(&w->lock, NULL);
    w->from_ns = UINT64_MAX;
    if (!open_parts(w, info, &options, why)) stk__selftest_watch_close(made);
}

int stk__selftest_watch_close(stk__selftest_watch **made)
{
    stk__selftest_watch *w = *made;
    *made = NULL;
    if (!w) return 0;
    if (w->thread) stk_monitor_interrupt(w->monitor);
    if (w->thread && !stk__thread_join(&w->thread, stk__clock_ns() + PATIENCE_NS)) {
        stk__thread_abandon(&w->thread); /* with everything it may still use */
        return 1;
    }
    const int left = w->monitor ? stk_monitor_close(&w->monitor) : 0;
    pthread_mutex_destroy(&w->lock);
    stk__free(w);
    return left;
}

void stk__selftest_watch_link_start(stk__selftest_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->link.seen_generation = w->link.seen_width = w->link.frames = 0;
    pthread_mutex_unlock(&w->lock);
}

stk__selftest_link stk__selftest_watch_link(stk__selftest_watch *w)
{
    stk__selftest_link link = {0};
    if (!w) return link;
    pthread_mutex_lock(&w->lock);
    link = w->link;
    pthread_mutex_unlock(&w->lock);
    return link;
}

void stk__selftest_watch_start(stk__selftest_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->from_ns = stk__clock_ns();
    w->sum = w->seconds = 0;
    pthread_mutex_unlock(&w->lock);
}

double stk__selftest_watch_stop(stk__selftest_watch *w)
{
    if (!w) return NAN;
    pthread_mutex_lock(&w->lock);
    const double mean = w->seconds > 0 ? w->sum / w->seconds : NAN;
    w->from_ns = UINT64_MAX;
    pthread_mutex_unlock(&w->lock);
    return mean;
}
