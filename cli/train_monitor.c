/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs beside a run: a thread samples them into a recording and running averages (under a lock), a line
 * per GPU is shown every few epochs, and the verdict goes to run.json. */
#include "train_monitor.h"

#include "monitor/monitor_output.h"

#include "core/clock.h"
#include "core/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE_S    1
#define PATIENCE_NS (STK_SECOND_NS * 5) /* for a driver, at the end */

enum { CELL = 32 };

/* Time-weighted mean of known values. */
typedef struct average {
    double sum, seconds;
} average;

typedef struct gpu_seen {
    stk__gpu_label label;
    char name[64];
    average util, power; /* since the last line */
    stk_gpu_state state; /* and the rest as of now */
    stk_reading power_limit, memory_used, memory_total, temperature, sm_clock;
} gpu_seen;

struct stk__train_monitor {
    stk_monitor *monitor;
    stk__thread *thread;
    int64_t interval; /* epochs */
    uint64_t shown;   /* epochs completed at the last line */

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
    if (!stk__monitor_output_knows(reading)) return;
    mean->sum += reading.value * seconds;
    mean->seconds += seconds;
}

static void take_gpu(gpu_seen *seen, const stk_gpu *gpu, const stk_gpu_frame *frame, double seconds)
{
    const stk_reading *r = frame->readings;
    seen->label = stk__gpu_label_of(gpu);
    memcpy(seen->name, gpu->name, sizeof seen->name);
    add(&seen->util, r[STK_METRIC_UTIL], seconds);
    add(&seen->power, r[STK_METRIC_POWER], seconds);
    seen->state = frame->state;
    seen->power_limit = r[STK_METRIC_POWER_LIMIT];
    seen->memory_used = r[STK_METRIC_MEMORY_USED];
    seen->memory_total = r[STK_METRIC_MEMORY_TOTAL];
    seen->temperature = r[STK_METRIC_TEMPERATURE];
    seen->sm_clock = r[STK_METRIC_SM_CLOCK];
}

static void watch_gpus(void *context)
{
    stk__train_monitor *m = context;
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

/* --- showing ---------------------------------------------------------------------------------------------
 */

static const char *number(char cell[CELL], bool known, double value, const char *unit)
{
    if (known)
        snprintf(cell, CELL, "%.0f%s", value, unit);
    else
        snprintf(cell, CELL, "-%s", unit);
    return cell;
}

static const char *mean_text(char cell[CELL], const average *mean, const char *unit)
{
    return number(cell, mean->seconds > 0, mean->sum / mean->seconds, unit);
}

static const char *now_text(char cell[CELL], stk_reading reading, double scale, const char *unit)
{
    return number(cell, stk__monitor_output_knows(reading), reading.value / scale, unit);
}

static void show_gpu(gpu_seen *seen)
{
    char cells[7][CELL];
    fprintf(stderr, "GPU %s: util %s, %s of %s, memory %s of %s, %s, SM %s", seen->label.text,
            mean_text(cells[0], &seen->util, " %"), mean_text(cells[1], &seen->power, ""),
            now_text(cells[2], seen->power_limit, 1, " W"), now_text(cells[3], seen->memory_used, 1e9, ""),
            now_text(cells[4], seen->memory_total, 1e9, " GB"),
            now_text(cells[5], seen->temperature, 1, " °C"), now_text(cells[6], seen->sm_clock, 1, " MHz"));
    if (seen->state != STK_GPU_GOOD) fprintf(stderr, "; %s", stk_gpu_state_name(seen->state));
    fputc('\n', stderr);
    seen->util = seen->power = (average){0};
}

bool stk__train_monitor_due(const stk__train_monitor *m, uint64_t epochs)
{
    return m && epochs > m->shown && epochs - m->shown >= (uint64_t)m->interval;
}

void stk__train_monitor_show(stk__train_monitor *m, uint64_t epochs)
{
    m->shown = epochs;
    if (stk__cli_quiet) return;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < m->gpu_count; i++)
        show_gpu(&m->gpus[i]);
    pthread_mutex_unlock(&m->lock);
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

static stk_status open_parts(stk__train_monitor *m, stk__config *config, const stk__run_folder *folder,
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

stk_status stk__train_monitor_open(stk__train_monitor **monitor, stk__config *config, int64_t interval,
                                   const stk__run_folder *folder, stk_error *error)
{
    bool there = false;
    *monitor = NULL;
    if (!interval) return STK_OK;
    stk__train_monitor *m = stk__alloc(sizeof *m);
    if (!m) return stk__fail_memory(error, sizeof *m, "the GPU monitor");
    pthread_mutex_init(&m->lock, NULL);
    m->interval = interval;
    const stk_status status = open_parts(m, config, folder, &there, error);
    *monitor = m;
    if (status != STK_OK || !there) stk__train_monitor_close(monitor);
    return status;
}

static json_t *summary_json(const stk_monitor_summary *summary)
{
    char *text = NULL;
    size_t size = 0;
    stk__monitor_output face = {.file = open_memstream(&text, &size)};
    if (!face.file) return NULL;
    stk__monitor_output_json.end(&face, summary);
    stk__buffer_fini(&face.line.text);
    json_t *line = fclose(face.file) == 0 ? json_loadb(text, size, 0, NULL) : NULL;
    json_t *object = json_incref(json_object_get(line, "summary"));
    json_decref(line);
    free(text);
    return object;
}

/* False: it hangs in a driver. */
static bool end_watch(stk__train_monitor *m)
{
    if (!m->thread) return true;
    stk_monitor_interrupt(m->monitor);
    return stk__thread_join(&m->thread, stk__clock_ns() + PATIENCE_NS);
}

json_t *stk__train_monitor_judge(stk__train_monitor *m)
{
    stk_monitor_summary summary;
    if (!m || !m->monitor || !end_watch(m)) return NULL;
    if (m->failed && !stk__cli_quiet)
        fprintf(stderr, "stoker: GPU monitoring stopped early: %s\n", m->error.message);
    stk_monitor_summarize(m->monitor, &summary);
    return summary_json(&summary);
}

int stk__train_monitor_close(stk__train_monitor **monitor)
{
    stk__train_monitor *m = *monitor;
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
