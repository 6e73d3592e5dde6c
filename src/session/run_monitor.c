/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs during a run: a thread samples them into a recording and into running averages (under a lock); the
 * run's own thread reads the averages every few epochs, and the summary at the end. */
#include "session/run_monitor.h"

#include "core/clock.h"
#include "core/json_text.h"
#include "core/thread.h"
#include "monitor/record/frame_json.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE_S    1
#define PATIENCE_NS (STK_SECOND_NS * 5) /* for a driver, at the end */

/* Time-weighted mean of known values. */
typedef struct average {
    double sum, seconds;
} average;

typedef struct gpu_seen {
    stk__run_gpu now;    /* but for the means */
    average util, power; /* since the last reading */
} gpu_seen;

struct stk__run_monitor {
    stk_monitor *monitor;
    stk__thread *thread;
    int64_t interval; /* epochs */
    uint64_t read;    /* epochs completed at the last reading */

    pthread_mutex_t lock; /* guards all below */
    int gpu_count;
    gpu_seen gpus[STK_GPUS];
    stk_error error; /* message: monitoring ended before the run */
    bool failed;
};

/* --- the thread that samples -----------------------------------------------------------------------------
 */

static void add(average *mean, stk_reading reading, double seconds)
{
    if (reading.known != STK_KNOWN) return;
    mean->sum += reading.value * seconds;
    mean->seconds += seconds;
}

static void take_gpu(gpu_seen *seen, const stk_gpu *gpu, const stk_gpu_frame *frame, double seconds)
{
    const stk_reading *r = frame->readings;
    add(&seen->util, r[STK_METRIC_UTIL], seconds);
    add(&seen->power, r[STK_METRIC_POWER], seconds);
    seen->now = (stk__run_gpu){.label = stk__gpu_label_of(gpu),
                               .state = frame->state,
                               .power_limit_w = r[STK_METRIC_POWER_LIMIT],
                               .memory_used_bytes = r[STK_METRIC_MEMORY_USED],
                               .memory_total_bytes = r[STK_METRIC_MEMORY_TOTAL],
                               .temperature_c = r[STK_METRIC_TEMPERATURE],
                               .sm_clock_mhz = r[STK_METRIC_SM_CLOCK]};
}

static void watch_gpus(void *context)
{
    stk__run_monitor *m = context;
    stk_monitor_frame *frame;
    stk_error error;
    stk_status status;
    while ((status = stk_monitor_next(m->monitor, &frame, &error)) == STK_OK) {
        const double seconds = (double)(frame->to_ns - frame->from_ns) * 1e-9;
        pthread_mutex_lock(&m->lock);
        m->gpu_count = frame->gpu_count;
        for (int i = 0; i < frame->gpu_count; i++)
            take_gpu(&m->gpus[i], &frame->gpus[i], &frame->gpu_frames[i], seconds);
        pthread_mutex_unlock(&m->lock);
    }
    pthread_mutex_lock(&m->lock);
    m->failed = status != STK_END;
    if (m->failed) m->error = error;
    pthread_mutex_unlock(&m->lock);
}

/* --- reading -----------------------------------------------------------------------------------------------
 */

static stk_reading mean_of(const average *mean)
{
    const bool known = mean->seconds > 0;
    return (stk_reading){.known = known ? STK_KNOWN : STK_UNKNOWN,
                         .value = known ? mean->sum / mean->seconds : 0};
}

bool stk__run_monitor_due(const stk__run_monitor *m, uint64_t epochs)
{
    return m && epochs > m->read && epochs - m->read >= (uint64_t)m->interval;
}

int stk__run_monitor_read(stk__run_monitor *m, uint64_t epochs, stk__run_gpu gpus[STK_GPUS])
{
    m->read = epochs;
    pthread_mutex_lock(&m->lock);
    const int count = m->gpu_count;
    for (int i = 0; i < count; i++) {
        gpu_seen *seen = &m->gpus[i];
        gpus[i] = seen->now;
        gpus[i].util_percent = mean_of(&seen->util);
        gpus[i].power_w = mean_of(&seen->power);
        seen->util = seen->power = (average){0};
    }
    pthread_mutex_unlock(&m->lock);
    return count;
}

/* --- opening, closing ------------------------------------------------------------------------------------
 */

/* A resumed run has recordings already. */
static void name_recording(const stk__run_folder *folder, char *path, size_t size)
{
    char name[32] = "monitor.jsonl";
    for (int part = 2;; part++) {
        stk__run_folder_file(folder, name, path, size);
        if (access(path, F_OK) != 0) return;
        snprintf(name, sizeof name, "monitor-%d.jsonl", part);
    }
}

static stk_status tell_absent(stk__config *config, const stk_monitor *monitor, stk_error *error)
{
    char why[256];
    const char *absent = stk_monitor_missing_reason(monitor);
    snprintf(why, sizeof why, "no GPU to monitor: %.*s", (int)strcspn(absent, "\n"), absent);
    return stk__config_effect(config, "run.monitor_interval", "", why, error);
}

static stk_status open_parts(stk__run_monitor *m, stk__config *config, const stk__run_folder *folder,
                             bool *there, stk_error *error)
{
    char path[1024];
    stk_monitor_summary nothing_yet;
    stk_monitor_options options = {.interval_s = SAMPLE_S, .pid = getpid()};
    const stk__thread_options thread = {.name = "stk-monitor", .run = watch_gpus, .context = m};
    if (folder) {
        name_recording(folder, path, sizeof path);
        options.record = path;
    }
    STK__TRY(stk_monitor_open(&m->monitor, &options, error));
    stk_monitor_summarize(m->monitor, &nothing_yet);
    *there = nothing_yet.gpu_count;
    if (*there) return stk__thread_start(&m->thread, &thread, error);
    if (folder) unlink(path);
    return tell_absent(config, m->monitor, error);
}

stk_status stk__run_monitor_open(stk__run_monitor **monitor, stk__config *config, int64_t interval,
                                 const stk__run_folder *folder, stk_error *error)
{
    bool there = false;
    *monitor = NULL;
    if (!interval) return STK_OK;
    stk__run_monitor *m = stk__alloc(sizeof *m);
    if (!m) return stk__fail_memory(error, sizeof *m, "the GPU monitor");
    pthread_mutex_init(&m->lock, NULL);
    m->interval = interval;
    const stk_status status = open_parts(m, config, folder, &there, error);
    *monitor = m;
    if (status != STK_OK || !there) stk__run_monitor_close(monitor);
    return status;
}

static json_t *summary_json(const stk_monitor_summary *summary)
{
    stk__json_line line = {0};
    stk__line_start(&line);
    stk__json_summary(&line, summary);
    stk__line_close(&line, '}');
    json_t *object = line.failed ? NULL : json_loadb((char *)line.text.data, line.text.size_bytes, 0, NULL);
    json_t *inner = json_incref(json_object_get(object, "summary"));
    json_decref(object);
    stk__buffer_fini(&line.text);
    return inner;
}

/* False: it hangs in a driver. */
static bool end_watch(stk__run_monitor *m)
{
    if (!m->thread) return true;
    stk_monitor_interrupt(m->monitor);
    return stk__thread_join(&m->thread, stk__clock_ns() + PATIENCE_NS);
}

json_t *stk__run_monitor_summary(stk__run_monitor *m, char *stopped_early, size_t size)
{
    stk_monitor_summary summary;
    stopped_early[0] = '\0';
    if (!m || !m->monitor || !end_watch(m)) return NULL;
    if (m->failed) snprintf(stopped_early, size, "%s", m->error.message);
    stk_monitor_summarize(m->monitor, &summary);
    return summary_json(&summary);
}

int stk__run_monitor_close(stk__run_monitor **monitor)
{
    stk__run_monitor *m = *monitor;
    int left = 0;
    if (!m) return 0;
    *monitor = NULL;
    if (!end_watch(m)) {
        stk__thread_abandon(&m->thread); /* with everything it may still use */
        return 1;
    }
    left = stk_monitor_close(&m->monitor);
    pthread_mutex_destroy(&m->lock);
    stk__free(m);
    return left;
}
