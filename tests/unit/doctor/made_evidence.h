/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence made up for tests: a healthy training on a CPU or a GPU, in memory of the test. */
#ifndef STK_TEST_MADE_EVIDENCE_H
#define STK_TEST_MADE_EVIDENCE_H

#include "doctor/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MADE_STEPS = 100, MADE_ROWS = 8 };
#define MADE_MS UINT64_C(1000000)

/* Steps of 100 ms: 2 wait, 1 copy, 40 forward, 45 backward, 8 optimizer, the rest unexplained. */
typedef struct made_evidence {
    stk__evidence e;
    stk__step_record steps[MADE_STEPS];
    stk__loader_evidence loaders[2];
    stk__work_evidence work[MADE_ROWS];
    stk__site_evidence sites[MADE_ROWS];
    stk__optimizer_evidence optimizers[1];
    stk__process_evidence processes[MADE_ROWS];
    stk_gpu gpu;
    stk_gpu_summary gpus[2];
} made_evidence;

static inline stk_reading made_reading(double value)
{
    return (stk_reading){.value = value, .known = STK_KNOWN};
}

/* Takes the time from forward and backward, so that a step stays as long as it is. */
static inline void made_cause(made_evidence *m, stk__step_cause cause, uint64_t ms)
{
    for (int i = 0; i < MADE_STEPS; i++) {
        uint64_t *ns = m->steps[i].cause_ns;
        const uint64_t both = ns[STK_CAUSE_FORWARD] + ns[STK_CAUSE_BACKWARD] + ns[cause] - ms * MADE_MS;
        ns[cause] = ms * MADE_MS;
        ns[STK_CAUSE_FORWARD] = both / 2;
        ns[STK_CAUSE_BACKWARD] = both - both / 2;
    }
}

static inline void made_work(made_evidence *m, stk__work_kind kind, const char *name, double seconds_per_s)
{
    const double total_s = seconds_per_s * MADE_STEPS * 0.1;
    stk__work_evidence *work = &m->work[m->e.work_count++];
    *work = (stk__work_evidence){.kind = kind,
                                 .count = MADE_STEPS,
                                 .total_s = total_s,
                                 .max_s = total_s / MADE_STEPS,
                                 .cpu_s = total_s};
    snprintf(work->name, sizeof work->name, "%s", name);
}

static inline stk__site_evidence *made_site(made_evidence *m, const char *call, bool on_device)
{
    stk__site_evidence *site = &m->sites[m->e.site_count++];
    *site = (stk__site_evidence){.count = MADE_STEPS, .steps = MADE_STEPS, .total_s = 1};
    site->on_device = on_device ? MADE_STEPS : 0;
    snprintf(site->call, sizeof site->call, "%s", call);
    snprintf(site->site, sizeof site->site, "train.py:30");
    return site;
}

static inline stk__process_evidence *made_process(made_evidence *m, stk__process_kind kind)
{
    stk__process_evidence *p = &m->processes[m->e.process_count++];
    *p = (stk__process_evidence){.pid = 100 + (int32_t)m->e.process_count,
                                 .kind = kind,
                                 .seen_s = 10,
                                 .cpu_share = 3.2,
                                 .run_delay_share = 0.01,
                                 .disk_wait_share = 0,
                                 .main_thread_share = 0.5};
    return p;
}

static inline void made_training(made_evidence *m)
{
    for (uint64_t i = 0; i < MADE_STEPS; i++)
        m->steps[i] = (stk__step_record){.begin_ns = 100 * MADE_MS * i,
                                         .end_ns = 100 * MADE_MS * (i + 1),
                                         .cause_ns = {[STK_CAUSE_WAIT] = 2 * MADE_MS,
                                                      [STK_CAUSE_COPY] = 1 * MADE_MS,
                                                      [STK_CAUSE_FORWARD] = 40 * MADE_MS,
                                                      [STK_CAUSE_BACKWARD] = 45 * MADE_MS,
                                                      [STK_CAUSE_OPTIMIZER] = 4 * MADE_MS},
                                         .batches = 1,
                                         .samples = 32};
    m->loaders[0] = (stk__loader_evidence){.site = "train.py:10",
                                           .training = STK_YES,
                                           .num_workers = 4,
                                           .batch_size = 32,
                                           .prefetch_factor = 2,
                                           .epochs = 2,
                                           .batches = MADE_STEPS,
                                           .persistent_workers = STK_YES,
                                           .pin_memory = STK_YES,
                                           .worker_max_share = 1};
    m->optimizers[0] = (stk__optimizer_evidence){.name = "AdamW",
                                                 .site = "train.py:20",
                                                 .steps = MADE_STEPS,
                                                 .zero_grads = MADE_STEPS,
                                                 .fused = STK_YES,
                                                 .foreach = STK_YES,
                                                 .parameters = 50};
    m->e.steps = m->steps;
    m->e.loaders = m->loaders;
    m->e.work = m->work;
    m->e.sites = m->sites;
    m->e.optimizers = m->optimizers;
    m->e.processes = m->processes;
    m->e.steps_total = m->e.step_count = MADE_STEPS;
    m->e.loader_count = m->e.optimizer_count = 1;
}

static inline void made_settings(made_evidence *m)
{
    stk__torch_evidence *t = &m->e.torch;
    t->tf32_matmul = t->tf32_cudnn = t->cudnn_benchmark = STK_YES;
    t->deterministic = t->anomaly_detection = STK_NO;
    t->channels_last_model = t->channels_last_input = t->convolutions = t->fixed_shapes = STK_YES;
    t->world_size = 1;
    t->threads = 8;
    m->e.machine = (stk__machine_evidence){.cpus = 8,
                                           .quota_cpus = NAN,
                                           .throttled_share = 0,
                                           .cpu_share = 0.4,
                                           .memory_used_share = 0.5,
                                           .swap_used_bytes = 0};
}

static inline void made_healthy_cpu(made_evidence *m)
{
    *m = (made_evidence){0};
    stk__evidence_init(&m->e);
    m->e.hook_started = STK_YES;
    m->e.watched_s = 10;
    made_training(m);
    made_settings(m);
    made_process(m, STK_PROCESS_TRAINER);
    made_work(m, STK_WORK_DECODE, "PIL.Image.load", 1.5);
    snprintf(m->e.torch.device, sizeof m->e.torch.device, "cpu");
}

static inline void made_healthy_gpu(made_evidence *m)
{
    stk__torch_evidence *t = &m->e.torch;
    made_healthy_cpu(m);
    snprintf(t->device, sizeof t->device, "cuda");
    snprintf(t->gpu_name, sizeof t->gpu_name, "NVIDIA RTX 3090");
    snprintf(t->autocast_dtype, sizeof t->autocast_dtype, "torch.bfloat16");
    t->compute_capability = 8.6;
    t->autocasts = MADE_STEPS;
    t->autocast_share = 1;
    t->cuda_peak_bytes = 20e9;
    t->cuda_total_bytes = 24e9;
    for (int i = 0; i < MADE_STEPS; i++)
        m->steps[i].gpu_ns = 90 * MADE_MS;
    m->gpus[0] = m->gpus[1] = (stk_gpu_summary){.gpu = &m->gpu,
                                                .util_mean_percent = made_reading(92),
                                                .throttled_heat_s = made_reading(0),
                                                .throttled_power_s = made_reading(1),
                                                .hottest_c = made_reading(70),
                                                .memory_peak_share = made_reading(0.85),
                                                .good_share = 1,
                                                .finding = "",
                                                .last_state = STK_GPU_GOOD};
    m->e.gpus_known = true;
    m->e.gpus = (stk_monitor_summary){.seconds = 10, .gpu_count = 1, .gpus = m->gpus, .finding = ""};
    m->e.gpu = (stk__gpu_evidence){.index = 0, .used = STK_YES, .link_share = 1};
}

#endif
