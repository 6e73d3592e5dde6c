/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the wall time of the steps by cause. The hook measures nine causes, what they leave is unexplained.
 * The data wait is divided further by what the workers did:
 *
 *   w = seconds of loading per second of the steps, C = 1 - wait: the rest of a step, u = share of all CPUs
 *   that the command uses. With m workers a step cannot be shorter than max(C, u, w / m) of what it is now
 * (C: the rest has to be done, u: so have all CPU seconds). What more workers would save is "too few
 * workers", what is left is the work itself: read, decode, transforms, collate, dataset code.
 *
 * Pure functions. */
#include "doctor/stall_split.h"

#include <math.h>

/* The first step has warm-up in it (allocators, cuDNN, compilation), but of a few steps none can be spared.
 */
enum { SPARE_STEPS = 5 };
/* Workers that are idle for more than this do not hold the step back by their own work. */
#define WORKERS_IDLE 0.5
/* Work that is less CPU time than this waits for storage or the network: more workers than CPUs help. */
#define CPU_WORK        0.5
#define WORKERS_PER_CPU 1.0
#define WAITERS_PER_CPU 4.0
/* Less busy than this the slowest worker does not hold the step back either. */
#define BUSY_WORKER 0.8
/* Noise: no two workers are busy for exactly as long. */
#define LEAST_IMBALANCE 1.2

static const struct {
    const char *key, *name;
} parts[STK_SPLIT_PARTS] = {
#define STK_SPLIT_ROW(id, key, name) [STK_SPLIT_##id] = {key, name},
    STK_SPLIT_PART_LIST(STK_SPLIT_ROW)
#undef STK_SPLIT_ROW
};

const char *stk__split_part_key(stk__split_part part)
{
    return parts[part].key;
}

const char *stk__split_part_name(stk__split_part part)
{
    return parts[part].name;
}

const stk__loader_evidence *stk__training_loader(const stk__evidence *evidence)
{
    const stk__loader_evidence *best = NULL;
    for (int64_t i = 0; i < evidence->loader_count; i++) {
        const stk__loader_evidence *loader = &evidence->loaders[i];
        if (loader->training == STK_YES && (!best || loader->batches > best->batches)) best = loader;
    }
    return best;
}

/* --- what the workers did --------------------------------------------------------------------------------
 */

/* Seconds of work of each kind per second of the steps; all loaders and all steps, also those not kept. */
typedef struct work_rate {
    double kind[STK_WORK_DATASET + 1], all, cpu_share; /* cpu_share: CPU time / time; NAN: no work known */
} work_rate;

static work_rate measure_work(const stk__evidence *e, const stk__stall_split *split)
{
    work_rate rate = {.cpu_share = NAN};
    const double steps = e->steps_total > split->steps ? (double)e->steps_total : (double)split->steps,
                 wall_s = steps * split->step_s;
    double cpu_s = 0;
    for (int64_t i = 0; i < e->work_count; i++) {
        const stk__work_evidence *work = &e->work[i];
        if (!(work->total_s > 0)) continue;
        rate.kind[work->kind] += work->total_s / wall_s;
        rate.all += work->total_s / wall_s;
        cpu_s += work->cpu_s / wall_s;
    }
    if (rate.all > 0) rate.cpu_share = cpu_s / rate.all;
    return rate;
}

/* Of all usable CPUs; others' processes may come and go. NAN: unknown. */
static double command_cpu(const stk__evidence *e)
{
    double cpu = NAN;
    for (int64_t i = 0; i < e->process_count; i++) {
        const stk__process_evidence *p = &e->processes[i];
        const double alive = p->seen_s >= 0 && e->watched_s > 0 ? fmin(1, p->seen_s / e->watched_s) : 1;
        if (p->kind == STK_PROCESS_ORPHAN || isnan(p->cpu_share)) continue;
        cpu = (isnan(cpu) ? 0 : cpu) + p->cpu_share * alive / e->machine.cpus;
    }
    return isnan(cpu) ? cpu : fmin(1, cpu); /* fmin would drop what is unknown */
}

/* least_wait and workers, where the number of CPUs and their load are known. */
static void measure_more_workers(const stk__evidence *e, const work_rate *rate, stk__stall_split *split)
{
    const stk__machine_evidence *m = &e->machine;
    const double per_cpu = rate->cpu_share < CPU_WORK ? WAITERS_PER_CPU : WORKERS_PER_CPU;
    if (!(rate->all > 0) || !(m->cpus > 0) || isnan(split->command_cpu)) return;
    const double rest = 1 - split->wait, most = fmax(1, floor(per_cpu * m->cpus)),
                 least = fmin(1, fmax(fmax(rest, split->command_cpu), rate->all / most));
    split->least_wait = least - rest;
    split->workers = (int64_t)fmin(most, ceil(rate->all / least));
}

/* --- dividing --------------------------------------------------------------------------------------------
 */

/* As much of the undivided wait as there is. */
static void take(stk__stall_split *split, stk__split_part part, double share)
{
    double *left = &split->share[STK_SPLIT_WAIT];
    const double taken = fmin(*left, fmax(0, share));
    split->share[part] += taken;
    *left -= taken;
}

static void divide_by_work(stk__stall_split *split, const work_rate *rate, double scale)
{
    static const stk__split_part places[] = {[STK_WORK_READ] = STK_SPLIT_READ,
                                             [STK_WORK_DECODE] = STK_SPLIT_DECODE,
                                             [STK_WORK_TRANSFORM] = STK_SPLIT_TRANSFORM,
                                             [STK_WORK_COLLATE] = STK_SPLIT_COLLATE,
                                             [STK_WORK_DATASET] = STK_SPLIT_DATASET};
    for (int kind = 0; kind <= STK_WORK_DATASET; kind++)
        take(split, places[kind], rate->kind[kind] * scale);
}

static void divide_among_workers(stk__stall_split *split, const stk__loader_evidence *loader,
                                 const work_rate *rate)
{
    double *left = &split->share[STK_SPLIT_WAIT];
    split->worker_busy = rate->all > 0 ? fmin(1, rate->all / (double)loader->num_workers) : NAN;
    if (loader->worker_max_share >= LEAST_IMBALANCE &&
        split->worker_busy * loader->worker_max_share >= BUSY_WORKER)
        take(split, STK_SPLIT_IMBALANCE, 1 - 1 / loader->worker_max_share);
    if (!isnan(split->least_wait) && split->workers > loader->num_workers)
        take(split, STK_SPLIT_FEW_WORKERS, split->wait - split->least_wait);
    if (split->worker_busy >= WORKERS_IDLE)
        divide_by_work(split, rate, *left / rate->all);
    else if (!isnan(split->worker_busy) && loader->pin_memory == STK_YES)
        take(split, STK_SPLIT_PINNING, *left);
}

static void divide_wait(const stk__evidence *e, stk__stall_split *split)
{
    const stk__loader_evidence *loader = stk__training_loader(e);
    const work_rate rate = measure_work(e, split);
    if (rate.all > 0) split->work = rate.all;
    measure_more_workers(e, &rate, split);
    if (!loader || loader->num_workers < 0) return;
    if (loader->num_workers > 0) {
        /* The first epoch starts workers in any case, in a step that is left out. */
        if (loader->epochs > 1)
            take(split, STK_SPLIT_WORKER_START,
                 loader->first_wait_s * (1 - 1 / (double)loader->epochs) / split->wall_s);
        divide_among_workers(split, loader, &rate);
    } else if (rate.all > 0) {
        divide_by_work(split, &rate, fmin(1, split->wait / rate.all)); /* it happened inside of the wait */
    }
}

void stk__stall_split_of(const stk__evidence *evidence, stk__stall_split *split)
{
    static const stk__split_part places[STK_STEP_CAUSES] = {[STK_CAUSE_WAIT] = STK_SPLIT_WAIT,
                                                            [STK_CAUSE_COPY] = STK_SPLIT_COPY,
                                                            [STK_CAUSE_SYNC] = STK_SPLIT_SYNC,
                                                            [STK_CAUSE_FORWARD] = STK_SPLIT_FORWARD,
                                                            [STK_CAUSE_BACKWARD] = STK_SPLIT_BACKWARD,
                                                            [STK_CAUSE_OPTIMIZER] = STK_SPLIT_OPTIMIZER,
                                                            [STK_CAUSE_EVALUATION] = STK_SPLIT_EVALUATION,
                                                            [STK_CAUSE_CHECKPOINT] = STK_SPLIT_CHECKPOINT,
                                                            [STK_CAUSE_LOGGING] = STK_SPLIT_LOGGING,
                                                            [STK_CAUSE_OTHER] = STK_SPLIT_OTHER};
    double wall_ns = 0, known_ns = 0, cause_ns[STK_SPLIT_PARTS] = {0};
    *split = (stk__stall_split){
        .command_cpu = NAN, .work = NAN, .worker_busy = NAN, .least_wait = NAN, .workers = -1};
    for (int64_t i = evidence->step_count > SPARE_STEPS; i < evidence->step_count; i++) {
        const stk__step_record *step = &evidence->steps[i];
        if (step->end_ns <= step->begin_ns) continue;
        wall_ns += (double)(step->end_ns - step->begin_ns);
        for (int cause = 0; cause < STK_CAUSE_OTHER; cause++) {
            cause_ns[places[cause]] += (double)step->cause_ns[cause];
            known_ns += (double)step->cause_ns[cause];
        }
        split->steps++;
    }
    if (!split->steps) return;
    cause_ns[STK_SPLIT_OTHER] = fmax(0, wall_ns - known_ns);
    const double whole_ns = fmax(wall_ns, known_ns); /* causes that overlap are scaled down */
    for (int part = 0; part < STK_SPLIT_PARTS; part++)
        split->share[part] = cause_ns[part] / whole_ns;
    split->wall_s = wall_ns * 1e-9;
    split->step_s = split->wall_s / (double)split->steps;
    split->wait = split->share[STK_SPLIT_WAIT];
    split->command_cpu = command_cpu(evidence);
    divide_wait(evidence, split);
}
