/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the work of loading itself: reading, decoding, transforms, collating, uneven workers. They fire
 * on what remains when there are enough workers. Pure functions. */
#include "doctor/rule_parts.h"

#include <stdio.h>
#include <string.h>

/* State D in so many looks: storage is slow, not the code. */
#define DISK_WAIT 0.2
/* One call so many times as long as the mean, and longer than the scheduler may stop a process. */
#define GIANT_S     0.5
#define GIANT_TIMES 20.0
#define GIANT_SHARE 0.02
enum { GIANT_CALLS = 20, NAMED_WORK = 3 };

#define MEASURED_WORK "time of loading by name (hook)"

/* Share of a step that this part of loading costs, even with enough workers. NAN: not known. */
static double remaining(const stk__doctor_facts *facts, stk__split_part part)
{
    const stk__stall_split *s = &facts->split;
    if (!facts->judged || !facts->loader || facts->loader->num_workers < 0 || isnan(s->work)) return NAN;
    if (facts->loader->num_workers > 0 || isnan(s->least_wait) || !(s->wait > 0)) return s->share[part];
    return s->share[part] * s->least_wait / s->wait;
}

/* "RandomRotation 12.1 ms, ColorJitter 8 ms": the largest ones of a kind. Returns the sum of all of them. */
static stk__work_evidence name_work(const stk__evidence *e, stk__work_kind kind, char *text, size_t size)
{
    bool used[256] = {false};
    stk__work_evidence sum = {.kind = kind};
    size_t length = 0;
    text[0] = 0;
    for (int64_t i = 0; i < e->work_count; i++)
        if (e->work[i].kind == kind) {
            sum.total_s += e->work[i].total_s;
            sum.cpu_s += e->work[i].cpu_s;
        }
    for (int n = 0; n < NAMED_WORK; n++) {
        int64_t best = -1;
        for (int64_t i = 0; i < e->work_count && i < 256; i++)
            if (e->work[i].kind == kind && !used[i] && e->work[i].count &&
                (best < 0 || e->work[i].total_s > e->work[best].total_s))
                best = i;
        if (best < 0 || length >= size) break;
        used[best] = true;
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s %.3g ms", n ? ", " : "", e->work[best].name,
                             1e3 * e->work[best].total_s / (double)e->work[best].count);
    }
    return sum;
}

/* All heavy parts are said alike; false: it is below the bounds. */
static stk__tristate heavy(const stk__doctor_facts *facts, stk__doctor_finding *f, stk__split_part part,
                           stk__work_kind kind, const char *advice)
{
    char names[200];
    const double share = remaining(facts, part);
    if (isnan(share)) return STK_UNSURE;
    const stk__doctor_severity severity = stk__severity_of_share(share);
    if (severity < STK_DOCTOR_WARN) return STK_NO;
    const stk__work_evidence sum = name_work(facts->e, kind, names, sizeof names);
    const double batches = fmax(1, (double)facts->loader->batches), ms = 1e3 * sum.total_s / batches;
    stk__finding_says(
        f, severity,
        "%.1f ms per batch, and %.0f %% of a step waits for it: %s a call (CPU time: %.0f %% of "
        "that)",
        ms, 100 * share, names, 100 * sum.cpu_s / sum.total_s);
    stk__finding_advises(f, advice, ms);
    stk__finding_number(f, "wait_share", share);
    stk__finding_number(f, "ms_per_batch", ms);
    stk__finding_number(f, "cpu_time_share", sum.cpu_s / sum.total_s);
    stk__finding_gain(f, share, "if this work no longer takes time");
    return STK_YES;
}

static stk__tristate transforms_heavy(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    return heavy(
        facts, f, STK_SPLIT_TRANSFORM, STK_WORK_TRANSFORM,
        facts->cuda == STK_YES
            ? "augment whole batches on the GPU (stoker.Augment, torchvision.transforms.v2 or Kornia on "
              "CUDA tensors): the %.1f ms per batch that were measured leave the CPU"
            : "stoker.Augment does the same in one pass of compiled code; or do what is not random "
              "once, ahead of training: %.1f ms per batch, measured");
}

static stk__tristate decode_heavy(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    return heavy(
        facts, f, STK_SPLIT_DECODE, STK_WORK_DECODE,
        "store images at the size that is trained (`stoker pack` with a size), or use stoker.Loader, "
        "which decodes in compiled threads: %.1f ms per batch, measured");
}

static stk__tristate collate_heavy(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    return heavy(
        facts, f, STK_SPLIT_COLLATE, STK_WORK_COLLATE,
        "make collate_fn one torch.stack of tensors that the dataset made; no Python loop over values: "
        "%.1f ms per batch, measured");
}

static stk__tristate dataset_heavy(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    return heavy(
        facts, f, STK_SPLIT_DATASET, STK_WORK_DATASET,
        "move what does not depend on the epoch out of __getitem__ (parse, normalize, slice once), and "
        "use NumPy or tensor operations there: %.1f ms per batch, measured");
}

static double worker_disk_wait(const stk__evidence *e)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < e->process_count; i++) {
        const stk__process_evidence *p = &e->processes[i];
        if ((p->kind != STK_PROCESS_WORKER && p->kind != STK_PROCESS_TRAINER) || isnan(p->disk_wait_share))
            continue;
        if (p->kind == STK_PROCESS_TRAINER && e->process_count > 1) continue;
        sum += p->disk_wait_share;
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static stk__tristate storage_slow(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const double read = remaining(facts, STK_SPLIT_READ), wait = worker_disk_wait(facts->e);
    const stk__machine_evidence *m = &facts->e->machine;
    if (isnan(read) && isnan(wait)) return STK_UNSURE;
    const bool slow = wait >= DISK_WAIT && (!facts->judged || facts->split.wait >= STK_SHARE_WARN);
    if (!(read >= STK_SHARE_WARN) && !slow) return STK_NO;
    stk__finding_says(f, read >= STK_SHARE_CRIT ? STK_DOCTOR_CRIT : STK_DOCTOR_WARN,
                      "the training waits for storage");
    stk__finding_adds(f, m->storage[0], " (%s)", m->storage);
    stk__finding_adds(f, !isnan(read), ": %.0f %% of a step waits for file reads", 100 * read);
    stk__finding_adds(f, !isnan(wait), "; its processes wait for a disk or server %.0f %% of their time",
                      100 * wait);
    stk__finding_adds(f, !isnan(m->disk_read_bytes_per_s), "; %.0f MB/s are read",
                      1e-6 * m->disk_read_bytes_per_s);
    stk__finding_advises(
        f, "copy the data to a local SSD, or pack small files into few large ones (`stoker pack`, "
           "WebDataset): reads are what was waited for");
    stk__finding_number(f, "read_share", read);
    stk__finding_number(f, "disk_wait_share", wait);
    stk__finding_number(f, "read_bytes_per_s", m->disk_read_bytes_per_s);
    if (isnan(read))
        stk__finding_gain_unknown(f, "the share of reads in a step is not visible from outside");
    else
        stk__finding_gain(f, read, "if reads come from memory or a fast disk");
    return STK_YES;
}

static stk__tristate worker_imbalance(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!facts->judged || !facts->loader || isnan(facts->loader->worker_max_share)) return STK_UNSURE;
    const double share = facts->split.share[STK_SPLIT_IMBALANCE];
    const stk__doctor_severity severity = stk__severity_of_share(share);
    if (!severity) return STK_NO;
    stk__finding_says(f, severity,
                      "one worker is busy %.1f times as long as the mean; batches come in order, so all wait "
                      "for it: %.0f %% of a step",
                      facts->loader->worker_max_share, 100 * share);
    stk__finding_advises(f,
                         "spread expensive samples (shuffle, a sampler by size), or in_order=False "
                         "(PyTorch 2.6): the imbalance of %.1f is measured",
                         facts->loader->worker_max_share);
    stk__finding_number(f, "worker_max_share", facts->loader->worker_max_share);
    stk__finding_number(f, "wait_share", share);
    stk__finding_gain(f, share, "if all workers have the same work");
    return STK_YES;
}

static stk__tristate giant_sample(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__work_evidence *giant = NULL;
    if (!facts->judged || !facts->loader || isnan(facts->split.work) || isnan(facts->loader->wait_max_s))
        return STK_UNSURE;
    for (int64_t i = 0; i < facts->e->work_count; i++) {
        const stk__work_evidence *w = &facts->e->work[i];
        const double mean_s = w->count >= GIANT_CALLS ? w->total_s / (double)w->count : INFINITY;
        if (w->max_s >= stk__contended_s(facts->e, GIANT_S) && w->max_s >= GIANT_TIMES * mean_s &&
            (!giant || w->max_s > giant->max_s))
            giant = w;
    }
    const double share = facts->loader->wait_max_s / (facts->split.wall_s);
    if (!giant || share < GIANT_SHARE || facts->loader->wait_max_s < giant->max_s / 2) return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "one call of %s took %.0f ms, %.0f times the mean; the step waited %.0f ms for it, %.0f %% "
        "of the time watched",
        giant->name, 1e3 * giant->max_s, giant->max_s * (double)giant->count / giant->total_s,
        1e3 * facts->loader->wait_max_s, 100 * share);
    stk__finding_advises(f, "find the sample (log paths whose %s takes over %.0f ms) and shrink or remove it",
                         giant->name, 1e3 * giant->max_s / 2);
    stk__finding_number(f, "max_ms", 1e3 * giant->max_s);
    stk__finding_number(f, "mean_ms", 1e3 * giant->total_s / (double)giant->count);
    stk__finding_number(f, "wait_max_ms", 1e3 * facts->loader->wait_max_s);
    stk__finding_gain(f, share, "this one wait");
    return STK_YES;
}

const stk__doctor_rule stk__rules_work[] = {
    {"transforms_heavy", "transforms on the CPU limit the training", false,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_CPU_FULL | STK_SYMPTOM_NO_SPEEDUP, MEASURED_WORK, transforms_heavy},
    {"decode_heavy", "decoding limits the training", false,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_CPU_FULL | STK_SYMPTOM_NO_SPEEDUP, MEASURED_WORK, decode_heavy},
    {"collate_heavy", "collating limits the training", false, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_CPU_FULL,
     MEASURED_WORK, collate_heavy},
    {"dataset_heavy", "Python code of the dataset limits the training", false,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_CPU_FULL | STK_SYMPTOM_NO_SPEEDUP, MEASURED_WORK, dataset_heavy},
    {"storage_slow", "storage limits the training", false, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_MORE_WORKERS,
     "time of reads (hook), state of processes (outside)", storage_slow},
    {"worker_imbalance", "one worker is slower than the others", false, STK_SYMPTOM_LOW_UTIL,
     "busy time of each worker (hook)", worker_imbalance},
    {"giant_sample", "one sample takes very long", false, STK_SYMPTOM_LOW_UTIL,
     "longest call by name and longest wait (hook)", giant_sample},
    {0}};
