/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the settings of a DataLoader: workers, prefetching, pinned memory, persistence. Pure functions;
 * thresholds stand on top with their reasons. */
#include "doctor/rule_parts.h"

#include <stdio.h>
#include <string.h>

/* A batch from a worker costs about as much: pickling, shared memory, a wake-up; more where processes wait
 * for a CPU. Shorter waits do not get shorter by workers. */
#define WORKER_COST_S 0.003
/* Processes that share a CPU twice over mostly wait for each other. */
#define WORKERS_PER_CPU 2.0
/* Runnable without a CPU for so much of the time: there are too many processes. */
#define RUN_DELAY 0.10
/* A worker busy for more than this has nothing to prefetch with. */
#define BUSY_WORKER 0.8
/* In shorter epochs the first batches are most of them, and nothing is prefetched for these. */
enum { USUAL_PREFETCH = 2, LONG_EPOCH = 20 };
/* A copy from pinned memory runs about twice as fast, as it needs no copy into a buffer of the driver. */
#define PINNED_SAVES 0.5
/* Share of the step from which a copy is worth an edit. */
#define COPY_SHARE 0.03
/* Each worker was started more than once while it was watched. */
#define STARTS_PER_WORKER 2.0
/* Workers of a dead run that only sleep do not slow anything down. */
#define ORPHAN_CPUS  0.05
#define ORPHAN_BYTES 1e9
/* The main thread has nothing else to do. */
#define FULL_THREAD 0.9
/* It waits for something most of the time. */
#define WAITING_THREAD  0.6
#define GPU_LOW_PERCENT 85.0

#define MEASURED_WAIT "data wait in DataLoader.__next__ (hook)"

static double wait_per_batch_s(const stk__doctor_facts *facts)
{
    double batches = 0;
    for (int64_t i = 0; i < facts->e->step_count; i++)
        batches += facts->e->steps[i].batches;
    const double per_step = batches > 0 ? batches / (double)facts->e->step_count : 1;
    return facts->split.wait * facts->split.step_s / per_step;
}

/* "; most of it: RandomRotation 12.1 ms a call", or nothing. */
static void name_largest(const stk__doctor_facts *facts, char *text, size_t size)
{
    const stk__work_evidence *largest = NULL;
    text[0] = 0;
    for (int64_t i = 0; i < facts->e->work_count; i++)
        if (!largest || facts->e->work[i].total_s > largest->total_s) largest = &facts->e->work[i];
    if (largest && largest->count && largest->total_s > 0)
        snprintf(text, size, "; the largest part of it: %s, %.3g ms a call", largest->name,
                 1e3 * largest->total_s / (double)largest->count);
}

static bool is_knowable(const stk__doctor_facts *facts)
{
    return facts->judged && facts->loader && facts->loader->num_workers >= 0;
}

static stk__tristate workers_zero(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    char largest[160];
    if (!is_knowable(facts)) return STK_UNSURE;
    const double wait = facts->split.wait, saved = stk__wait_to_save(facts);
    const stk__doctor_severity severity = stk__severity_of_share(isnan(saved) ? wait : saved);
    if (facts->loader->num_workers || !severity ||
        wait_per_batch_s(facts) < stk__contended_s(facts->e, WORKER_COST_S))
        return STK_NO;
    name_largest(facts, largest, sizeof largest);
    stk__finding_says(f, severity,
                      "num_workers=0 (%s): the training loop itself loads each batch, %.1f ms, %.0f %% of a "
                      "step%s",
                      facts->loader->site, 1e3 * wait_per_batch_s(facts), 100 * wait, largest);
    if (facts->split.workers > 0)
        stk__finding_advises(
            f,
            "DataLoader(…, num_workers=%lld, persistent_workers=True): measured, loading takes "
            "%.2f s per second of training",
            (long long)facts->split.workers, facts->split.work);
    else
        stk__finding_advises(f,
                             "DataLoader(…, num_workers=N, persistent_workers=True), N = half of the CPUs "
                             "at first: the wait of %.0f %% is what they can take over",
                             100 * wait);
    stk__finding_number(f, "num_workers", 0);
    stk__finding_number(f, "wait_share", wait);
    stk__finding_number(f, "wait_ms_per_batch", 1e3 * wait_per_batch_s(facts));
    stk__finding_number(f, "workers_needed", facts->split.workers > 0 ? (double)facts->split.workers : NAN);
    stk__finding_gain(f, saved, "the wait that the free CPUs can take over");
    return STK_YES;
}

static stk__tristate workers_few(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!is_knowable(facts) || isnan(facts->split.least_wait)) return STK_UNSURE;
    const double share = facts->split.share[STK_SPLIT_FEW_WORKERS];
    const stk__doctor_severity severity = stk__severity_of_share(share);
    if (facts->loader->num_workers == 0 || !severity) return STK_NO;
    stk__finding_says(f, severity,
                      "%lld worker%s (%s), busy %.0f %% of the time; the step waits %.0f %% of its time "
                      "for them; the command uses %.0f %% of the CPUs",
                      (long long)facts->loader->num_workers,
                      stk__plural((unsigned long long)facts->loader->num_workers), facts->loader->site,
                      100 * facts->split.worker_busy, 100 * facts->split.wait,
                      100 * facts->split.command_cpu);
    stk__finding_advises(f, "num_workers=%lld: measured, loading takes %.2f s per second of training",
                         (long long)facts->split.workers, facts->split.work);
    stk__finding_number(f, "num_workers", (double)facts->loader->num_workers);
    stk__finding_number(f, "workers_needed", (double)facts->split.workers);
    stk__finding_number(f, "wait_share", facts->split.wait);
    stk__finding_number(f, "worker_busy_share", facts->split.worker_busy);
    stk__finding_number(f, "command_cpu_share", facts->split.command_cpu);
    stk__finding_gain(f, share, "the wait that more workers can take over");
    return STK_YES;
}

/* Mean of the workers that were seen; NAN: none. */
static double worker_run_delay(const stk__evidence *e)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < e->process_count; i++) {
        const stk__process_evidence *p = &e->processes[i];
        if (p->kind != STK_PROCESS_WORKER || isnan(p->run_delay_share)) continue;
        sum += p->run_delay_share;
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static stk__tristate workers_many(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const double cpus = facts->e->machine.cpus, delay = worker_run_delay(facts->e);
    const int64_t workers = facts->loader && facts->loader->num_workers >= 0
                                ? facts->loader->num_workers
                                : facts->e->machine.workers_at_once;
    if (workers < 0 || !(cpus > 0)) return STK_UNSURE;
    const bool delayed = delay >= RUN_DELAY;
    if ((double)workers <= cpus || !(delayed || (double)workers > WORKERS_PER_CPU * cpus)) return STK_NO;
    stk__finding_says(f, delayed ? STK_DOCTOR_WARN : STK_DOCTOR_INFO, "%lld workers on %.3g usable CPUs",
                      (long long)workers, cpus);
    stk__finding_adds(f, !isnan(delay), "; each waits for a CPU %.0f %% of its time", 100 * delay);
    stk__finding_advises(f,
                         "num_workers=%.0f: the %.3g CPUs (affinity and quota, measured) cannot run more at "
                         "once",
                         fmax(1, floor(cpus)), cpus);
    stk__finding_number(f, "num_workers", (double)workers);
    stk__finding_number(f, "cpus", cpus);
    stk__finding_number(f, "run_delay_share", delay);
    stk__finding_gain_unknown(f, "what workers lose by competing shows only in a run with fewer of them");
    return STK_YES;
}

static stk__tristate prefetch_low(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!is_knowable(facts) || isnan(facts->split.worker_busy)) return STK_UNSURE;
    const stk__loader_evidence *l = facts->loader;
    const double start = facts->split.share[STK_SPLIT_WORKER_START], burst = facts->split.wait - start;
    if (l->num_workers == 0 || l->prefetch_factor > USUAL_PREFETCH || l->prefetch_factor < 0 ||
        l->batches < LONG_EPOCH * l->epochs || burst < STK_SHARE_INFO ||
        facts->split.worker_busy > BUSY_WORKER)
        return STK_NO;
    stk__finding_says(
        f, stk__severity_of_share(burst),
        "prefetch_factor=%lld (%s): workers are idle %.0f %% of the time, yet the step waits %.0f "
        "%% of its time (longest wait %.0f ms): batches that take longer are not covered",
        (long long)l->prefetch_factor, l->site, 100 * (1 - facts->split.worker_busy), 100 * burst,
        1e3 * l->wait_max_s);
    stk__finding_advises(f, "prefetch_factor=4: measured, workers have time to work ahead");
    stk__finding_number(f, "prefetch_factor", (double)l->prefetch_factor);
    stk__finding_number(f, "wait_share", burst);
    stk__finding_number(f, "worker_busy_share", facts->split.worker_busy);
    stk__finding_number(f, "wait_max_ms", 1e3 * l->wait_max_s);
    stk__finding_gain(f, burst, "at most: if all waits are covered");
    return STK_YES;
}

static stk__tristate workers_not_persistent(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__loader_evidence *l = facts->loader;
    if (!is_knowable(facts) || l->persistent_workers == STK_UNSURE) return STK_UNSURE;
    const double share = facts->split.share[STK_SPLIT_WORKER_START];
    const stk__doctor_severity severity = stk__severity_of_share(share);
    if (!severity || l->persistent_workers == STK_YES) return STK_NO;
    stk__finding_says(f, severity,
                      "persistent_workers=False (%s): %lld epochs started %lld worker%s each (%s); the first "
                      "batch of an epoch takes %.2f s, %.0f %% of the time",
                      l->site, (long long)l->epochs, (long long)l->num_workers,
                      stk__plural((unsigned long long)l->num_workers),
                      l->start_method[0] ? l->start_method : "start method unknown",
                      l->first_wait_s / (double)l->epochs, 100 * share);
    stk__finding_advises(f, "persistent_workers=True: %.2f s per epoch, measured, go away",
                         l->first_wait_s / (double)l->epochs);
    stk__finding_number(f, "epochs", (double)l->epochs);
    stk__finding_number(f, "first_wait_s_per_epoch", l->first_wait_s / (double)l->epochs);
    stk__finding_number(f, "worker_start_share", share);
    stk__finding_gain(f, share, "the first waits of all epochs but one");
    return STK_YES;
}

/* For a process without the hook. */
static stk__tristate workers_restarted(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const int64_t started = facts->e->machine.workers_started, alive = facts->e->machine.workers_at_once;
    if (facts->loader) return STK_NO; /* that is workers_not_persistent */
    if (started < 0 || alive < 0) return STK_UNSURE;
    if (!alive || (double)started < STARTS_PER_WORKER * (double)alive) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "%lld worker processes were started in %.0f s; %lld run at once",
                      (long long)started, facts->e->watched_s, (long long)alive);
    stk__finding_advises(f, "persistent_workers=True: the %lld starts that were seen are one per worker then",
                         (long long)started);
    stk__finding_number(f, "workers_started", (double)started);
    stk__finding_number(f, "workers", (double)alive);
    stk__finding_gain_unknown(f, "the time of a start is not visible from outside");
    return STK_YES;
}

static stk__tristate pin_memory_off(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!is_knowable(facts) || facts->loader->pin_memory == STK_UNSURE) return STK_UNSURE;
    const double copy = facts->split.share[STK_SPLIT_COPY];
    if (facts->loader->pin_memory == STK_YES || copy < COPY_SHARE) return STK_NO;
    stk__finding_says(f, copy >= STK_SHARE_WARN ? STK_DOCTOR_WARN : STK_DOCTOR_INFO,
                      "pin_memory=False (%s): copies to the GPU take %.1f ms, %.0f %% of a step",
                      facts->loader->site, 1e3 * copy * facts->split.step_s, 100 * copy);
    stk__finding_advises(f,
                         "pin_memory=True and batch.to(device, non_blocking=True): the copies of %.1f ms "
                         "overlap with the GPU's work",
                         1e3 * copy * facts->split.step_s);
    stk__finding_number(f, "copy_share", copy);
    stk__finding_gain(f, PINNED_SAVES * copy, "half of the copies");
    return STK_YES;
}

static stk__tristate copy_blocking(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!is_knowable(facts) || facts->loader->pin_memory == STK_UNSURE) return STK_UNSURE;
    const double copy = facts->split.share[STK_SPLIT_COPY];
    if (facts->loader->pin_memory != STK_YES || copy < STK_SHARE_INFO) return STK_NO;
    stk__finding_says(
        f, stk__severity_of_share(copy),
        "memory is pinned, yet the host waits %.1f ms, %.0f %% of a step, for copies to the GPU",
        1e3 * copy * facts->split.step_s, 100 * copy);
    stk__finding_advises(f,
                         "batch.to(device, non_blocking=True): the %.1f ms that were measured are spent "
                         "waiting",
                         1e3 * copy * facts->split.step_s);
    stk__finding_number(f, "copy_share", copy);
    stk__finding_gain(f, copy, "if copies overlap with the GPU's work");
    return STK_YES;
}

static stk__tristate evaluation_loader(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__loader_evidence *slow = NULL;
    if (!facts->judged) return STK_UNSURE;
    for (int64_t i = 0; i < facts->e->loader_count; i++) {
        const stk__loader_evidence *l = &facts->e->loaders[i];
        if (l->training == STK_NO && l->num_workers == 0 && (!slow || l->wait_s > slow->wait_s)) slow = l;
    }
    const double evaluation = facts->split.share[STK_SPLIT_EVALUATION],
                 share = slow ? fmin(evaluation, slow->wait_s / (facts->steps * facts->split.step_s)) : 0;
    if (isnan(share)) return STK_UNSURE;
    if (share < STK_SHARE_WARN) return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "the evaluation's loader (%s) has num_workers=0: evaluations wait %.2f s for data, %.0f "
        "%% of all time",
        slow->site, slow->wait_s, 100 * share);
    stk__finding_advises(f,
                         "num_workers=2, persistent_workers=True for this loader, too: the waits of %.2f s "
                         "are measured",
                         slow->wait_s);
    stk__finding_number(f, "evaluation_share", evaluation);
    stk__finding_number(f, "evaluation_wait_s", slow->wait_s);
    stk__finding_gain(f, share, "at most: if all these waits go away");
    return STK_YES;
}

static stk__tristate orphan_workers(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    int64_t orphans = 0, first = -1;
    double cpu = 0, bytes = 0;
    if (!facts->e->process_count) return STK_UNSURE;
    for (int64_t i = 0; i < facts->e->process_count; i++) {
        const stk__process_evidence *p = &facts->e->processes[i];
        if (p->kind != STK_PROCESS_ORPHAN) continue;
        if (!orphans++) first = p->pid;
        cpu += isnan(p->cpu_share) ? 0 : p->cpu_share;
        bytes += isnan(p->rss_bytes) ? 0 : p->rss_bytes;
    }
    if (cpu < ORPHAN_CPUS && bytes < ORPHAN_BYTES) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN,
                      "%lld loader workers have lost their training process (first: pid %lld); they use %.1f "
                      "CPUs and %.1f GB",
                      (long long)orphans, (long long)first, cpu, 1e-9 * bytes);
    stk__finding_advises(f, "end them (kill %lld …): processes of an earlier run, seen in /proc",
                         (long long)first);
    stk__finding_number(f, "orphans", (double)orphans);
    stk__finding_number(f, "orphan_cpus", cpu);
    stk__finding_number(f, "orphan_bytes", bytes);
    stk__finding_gain_unknown(f, "depends on what else the CPUs have to do");
    return STK_YES;
}

/* Without the hook: the shape of num_workers=0 or of a loop that is bound by Python. */
static stk__tristate one_cpu_bound(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__process_evidence *trainer = NULL;
    if (facts->e->hook_started == STK_YES) return STK_NO; /* it knows better */
    for (int64_t i = 0; i < facts->e->process_count; i++)
        if (facts->e->processes[i].kind == STK_PROCESS_TRAINER && !trainer) trainer = &facts->e->processes[i];
    if (!trainer || isnan(trainer->main_thread_share) || !facts->gpu ||
        facts->gpu->util_mean_percent.known != STK_KNOWN)
        return STK_UNSURE;
    const double util = facts->gpu->util_mean_percent.value;
    if (trainer->main_thread_share < FULL_THREAD || util >= GPU_LOW_PERCENT ||
        facts->e->machine.workers_at_once > 0)
        return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "the main thread of pid %d fills one CPU (%.0f %%), there are no loader workers, and the "
        "GPU is used %.0f %%",
        trainer->pid, 100 * trainer->main_thread_share, util);
    stk__finding_advises(f,
                         "likely num_workers=0: start it as `stoker doctor -- CMD` to see what this thread "
                         "does; from outside only its CPU time is measured");
    stk__finding_number(f, "main_thread_share", trainer->main_thread_share);
    stk__finding_number(f, "util_percent", util);
    stk__finding_gain_unknown(f, "from outside the cause within the thread is not visible");
    return STK_YES;
}

/* Without the hook: workers that compute all the time, and a training process that mostly waits. */
static stk__tristate workers_busy(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__process_evidence *trainer = NULL;
    double cpu = 0, workers = 0;
    if (facts->e->hook_started == STK_YES) return STK_NO; /* it knows better */
    for (int64_t i = 0; i < facts->e->process_count; i++) {
        const stk__process_evidence *p = &facts->e->processes[i];
        if (p->kind == STK_PROCESS_TRAINER && !trainer) trainer = p;
        if (p->kind != STK_PROCESS_WORKER || p->ended || isnan(p->cpu_share)) continue;
        cpu += p->cpu_share;
        workers++;
    }
    if (!trainer || isnan(trainer->main_thread_share)) return STK_UNSURE;
    if (workers < 1 || cpu / workers < FULL_THREAD || trainer->main_thread_share > WAITING_THREAD)
        return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "%.0f workers compute %.0f %% of the time, the main thread of their trainer (pid %d) only %.0f "
        "%%: it waits for them, or for a GPU",
        workers, 100 * cpu / workers, trainer->pid, 100 * trainer->main_thread_share);
    stk__finding_adds(f, !isnan(facts->e->machine.cpu_share), "; %.0f %% of all CPUs are in use",
                      100 * facts->e->machine.cpu_share);
    stk__finding_advises(
        f, "more workers if CPUs are idle, else less work per sample; `stoker doctor -- CMD` names "
           "this work: from outside only CPU time is measured");
    stk__finding_number(f, "workers", workers);
    stk__finding_number(f, "worker_cpu_share", cpu / workers);
    stk__finding_number(f, "main_thread_share", trainer->main_thread_share);
    stk__finding_gain_unknown(f, "steps are not visible from outside");
    return STK_YES;
}

const stk__doctor_rule stk__rules_loader[] = {
    {"workers_zero", "loading in the training process", false, STK_SYMPTOM_LOW_UTIL, MEASURED_WAIT,
     workers_zero},
    {"workers_few", "too few loader workers", false, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_NO_SPEEDUP,
     "time of the workers by the hook, CPU load from outside", workers_few},
    {"workers_many", "more loader workers than CPUs", false, STK_SYMPTOM_MORE_WORKERS | STK_SYMPTOM_CPU_FULL,
     "usable CPUs and run delay of workers (outside)", workers_many},
    {"prefetch_low", "batches are not prefetched far enough", false, STK_SYMPTOM_LOW_UTIL,
     "waits and time of the workers (hook)", prefetch_low},
    {"workers_not_persistent", "workers are started again each epoch", false,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_MORE_WORKERS, "wait for the first batch of each epoch (hook)",
     workers_not_persistent},
    {"workers_restarted", "workers are started again and again", false,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_MORE_WORKERS, "worker processes that began (outside)",
     workers_restarted},
    {"pin_memory_off", "batches are not in pinned memory", true, STK_SYMPTOM_LOW_UTIL,
     "copies to the GPU (hook)", pin_memory_off},
    {"copy_blocking", "the host waits for copies to the GPU", true, STK_SYMPTOM_LOW_UTIL,
     "copies to the GPU (hook)", copy_blocking},
    {"evaluation_loader", "the evaluation waits for data", false, STK_SYMPTOM_LOW_UTIL,
     "waits of the evaluation's loader (hook)", evaluation_loader},
    {"orphan_workers", "workers of a run that has ended", false,
     STK_SYMPTOM_CPU_FULL | STK_SYMPTOM_MEMORY | STK_SYMPTOM_NO_SPEEDUP, "processes (outside)",
     orphan_workers},
    {"one_cpu_bound", "one thread limits the GPU", true, STK_SYMPTOM_LOW_UTIL,
     "CPU time of the main thread (outside), GPU utilization", one_cpu_bound},
    {"workers_busy", "loader workers limit the training", false, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_CPU_FULL,
     "CPU time of workers and main thread (outside)", workers_busy},
    {0}};
