/* NVML beside the self-test: the link, and how busy the GPU is between two moments. */
#include "selftest.h"

#include "core/clock.h"
#include "core/thread.h"
#include "stoker/monitor.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (STK_SECOND_NS * 5) /* for a driver, at the end */

struct stk__selftest_watch {
    stk_monitor *monitor;
    stk__thread *thread;
    int place; /* of the GPU in frames */

    pthread_mutex_t lock; /* guards all below */
    int generation, width;
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

/* A link that has nothing to do sleeps at generation 1: what it could have counts. */
static void take_frame(stk__selftest_watch *w, const stk_gpu_frame *frame)
{
    const stk_reading *r = frame->readings;
    w->generation = larger(whole(r[STK_METRIC_LINK_GENERATION_MAX]), whole(r[STK_METRIC_LINK_GENERATION]));
    w->width = larger(whole(r[STK_METRIC_LINK_WIDTH_MAX]), whole(r[STK_METRIC_LINK_WIDTH]));
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
        take_frame(w, &frame->gpu_frames[w->place]);
        pthread_mutex_unlock(&w->lock);
    }
}

/* By its id: CUDA counts in the order of CUDA_VISIBLE_DEVICES, or the fastest first, NVML in that of the bus.
 */
static int find_id(const stk_monitor_frame *frame, const char *id)
{
    for (int i = 0; i < frame->gpu_count; i++)
        if (strcmp(frame->gpus[i].id, id) == 0) return i;
    return -1;
}

/* Where CUDA tells no id: the N-th of NVIDIA's, if at least the name is the same. */
static int find_number(const stk_monitor_frame *frame, const stk__device_info *info)
{
    int index = 0;
    sscanf(info->name, "cuda:%d", &index);
    for (int i = 0; i < frame->gpu_count; i++)
        if (strcmp(frame->gpus[i].vendor, "nvidia") == 0 && index-- == 0)
            return strcmp(frame->gpus[i].name, info->model) == 0 ? i : -1;
    return -1;
}

static void explain_absence(const stk_monitor *monitor, const stk__device_info *info, char *why)
{
    const char *absent = stk_monitor_absent(monitor);
    if (*absent)
        snprintf(why, 160, "%.*s", (int)strcspn(absent, "\n"), absent);
    else if (info->id[0])
        snprintf(why, 160, "NVML does not list this GPU; CUDA_DEVICE_ORDER=PCI_BUS_ID may help");
    else
        snprintf(why, 160, "NVML has another GPU in its place; CUDA_DEVICE_ORDER=PCI_BUS_ID may help");
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
    take_frame(w, &frame->gpu_frames[w->place]);
    if (stk__thread_start(&w->thread, &thread, &error) == STK_OK) return true;
    snprintf(why, 160, "%.150s", error.message);
    return false;
}

void stk__selftest_watch_open(stk__selftest_watch **made, const stk__device_info *info, bool quick, char *why)
{
    const stk_monitor_options options = {.interval_s = quick ? 0.1 : 0.5, .pid = getpid()};
    stk__selftest_watch *w = *made = stk__alloc(sizeof *w);
    if (!w) {
        snprintf(why, 160, "no memory");
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

void stk__selftest_watch_link(stk__selftest_watch *w, int *generation, int *width)
{
    *generation = *width = 0;
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    *generation = w->generation;
    *width = w->width;
    pthread_mutex_unlock(&w->lock);
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
