/* SPDX-License-Identifier: Apache-2.0 */
/* Last part of the self-test: training that keeps the GPU as busy as possible; checks data wait and GPU
 * utilization. */
#include "selftest_session.h"

#include "core/clock.h"
#include "monitor/verdict/gpu_targets.h"

#include <math.h>

#define LOAD_S    60.0
#define QUICK_S   1.0
#define WAIT_MOST 5.0 /* percent of the time */

static const char section[] = "training under load";

typedef struct load {
    int64_t steps;
    double seconds, wait_percent, util_percent;
    int64_t peak_bytes, planned_bytes; /* -1: unknown */
} load;

static stk_status step_until(stk__selftest *t, double until_s, uint64_t start_ns, int64_t most,
                             int64_t *steps, stk_error *error)
{
    const double whole_s = t->quick ? QUICK_S : LOAD_S;
    while (*steps < most && (!*steps || stk__selftest_seconds_since(start_ns) < until_s)) { /* one at least */
        if (stk__selftest_stopped()) return STK_OK;
        STK__TRY(stk__selftest_session_step(error));
        ++*steps;
        stk__progress_show(&t->progress, "training under load",
                           (uint64_t)(stk__selftest_seconds_since(start_ns) * 10), (uint64_t)(whole_s * 10));
    }
    return STK_OK;
}

/* The first epoch (images are generated and cached) is warm-up, but at most a third of the time.
 */
static stk_status measure_load(stk__selftest *t, load *l, stk_error *error)
{
    const double whole_s = t->quick ? QUICK_S : LOAD_S;
    stk__trainer_log log;
    int64_t warm = 0;
    const uint64_t start_ns = stk__clock_ns();
    stk__progress_start(&t->progress);
    STK__TRY(step_until(t, whole_s / 3, start_ns,
                        stk__trainer_describe(stk__selftest_session.trainer)->steps_per_epoch, &warm, error));
    STK__TRY(stk__trainer_read(stk__selftest_session.trainer, &log, error)); /* waits for what is queued */
    stk__stall *stall = stk__trainer_stall(stk__selftest_session.trainer);
    stk__stall_start(stall);
    stk__selftest_watch_start(t->watch);
    const uint64_t begun_ns = stk__clock_ns();
    STK__TRY(step_until(t, whole_s, start_ns, INT64_MAX, &l->steps, error));
    STK__TRY(stk__trainer_read(stk__selftest_session.trainer, &log, error));
    l->seconds = stk__selftest_seconds_since(begun_ns);
    l->util_percent = stk__selftest_watch_stop(t->watch);
    l->wait_percent = 100 * stk__stall_wait_ns(stall) * 1e-9 / l->seconds;
    l->peak_bytes = stk__trainer_memory(stk__selftest_session.trainer).peak_bytes;
    l->planned_bytes = (int64_t)stk__selftest_session.plan.device_bytes;
    return l->steps ? STK_OK : stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
}

static void put_utilisation(stk__selftest *t, const load *l)
{
    static const char name[] = "GPU utilization (NVML)";
    const stk__selftest_row row = {.section = section,
                                   .name = "GPU utilization (NVML)",
                                   .value = l->util_percent,
                                   .unit = "%",
                                   .kind = STK_LIMIT_LEAST,
                                   .limit = STK_GPU_UTIL_LEAST_PERCENT,
                                   .speed = true};
    if (!t->watch)
        stk__selftest_unknown(t->gpu, section, name, t->no_watch);
    else if (isnan(l->util_percent))
        stk__selftest_unknown(t->gpu, section, name, "no utilization samples from the driver");
    else
        stk__selftest_put(t->gpu, &row, t->quick);
}

static void put_load(stk__selftest *t, const load *l)
{
    stk__selftest_row row = {
        .section = section, .name = "step time", .value = l->seconds * 1e3 / (double)l->steps, .unit = "ms"};
    snprintf(row.basis, sizeof row.basis, "mean of %lld steps; no expectation yet", (long long)l->steps);
    stk__selftest_put(t->gpu, &row, t->quick);
    row = (stk__selftest_row){.section = section,
                              .name = "data wait",
                              .value = l->wait_percent,
                              .unit = "%",
                              .kind = STK_LIMIT_MOST,
                              .limit = WAIT_MOST,
                              .speed = true};
    stk__selftest_put(t->gpu, &row, t->quick);
    put_utilisation(t, l);
    if (l->peak_bytes < 0) return;
    row = (stk__selftest_row){
        .section = section, .name = "peak memory", .value = (double)l->peak_bytes * 1e-9, .unit = "GB"};
    snprintf(row.basis, sizeof row.basis, "planned: %.4g GB with the CUDA context, without other processes",
             (double)l->planned_bytes * 1e-9);
    stk__selftest_put(t->gpu, &row, t->quick);
}

void stk__selftest_load(stk__selftest *t)
{
    stk_error error = {0};
    load l = {0};
    const stk__selftest_setting full[] = {{"data.root", "make:faces?count=256"},
                                          {"data.image_size", "256"},
                                          {"data.batch_size", "16"},
                                          {NULL, NULL}},
                                quick[] = {{"data.root", "make:faces?count=16"},
                                           {"data.image_size", "32"},
                                           {"data.batch_size", "8"},
                                           {"model.width", "4"},
                                           {NULL, NULL}},
                                own[] = {{"data.cache", "auto"},
                                         {"augment.preset", "strong"},
                                         {"model.name", "unet"},
                                         {"train.epochs", "1000000"},
                                         {"run.engine", "torch"},
                                         {"run.device", t->gpu->info.name},
                                         {NULL, NULL}};
    stk_status status = stk__selftest_session_open(t->quick ? quick : full, own, &error);
    if (status == STK_OK) status = measure_load(t, &l, &error);
    stk__progress_end(&t->progress);
    stk__selftest_session_close(t);
    if (status != STK_OK)
        stk__selftest_fail(t->gpu, section, t->gpu->info.name, &error);
    else
        put_load(t, &l);
}
