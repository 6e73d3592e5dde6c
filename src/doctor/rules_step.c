/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about what a step does besides forward and backward: reading values back, evaluation, checkpoints,
 * logging, the optimizer. Pure functions. */
#include "doctor/rule_parts.h"

#include <string.h>

/* In most steps, not only where something is logged. */
#define EVERY_STEP 0.5
/* On a CPU a value is read at once; a loop that reads thousands of them is seen by its time. */
#define ITEM_LOOP_SHARE 0.05
/* Larger than metrics, so these are predictions. */
#define PREDICTION_BYTES 65536.0
/* Evaluations are part of a training: only a large share is too much. */
#define EVALUATION_SHARE 0.2
#define CHECKPOINT_SHARE 0.05
#define LOGGING_SHARE    0.03
/* Steps of an optimizer must be seen, so that its settings mean something. */
enum { LEAST_OPTIMIZER_STEPS = 8 };
/* A host that enqueues for so much longer than the GPU computes is the limit. */
#define LAUNCH_BOUND     0.6
#define ANOMALY_SLOWDOWN "autograd records a traceback per operation; the factor depends on the model"

#define MEASURED_SITES "call sites that wait for the device (hook)"

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0) return true;
    return false;
}

typedef bool (*site_filter)(const stk__site_evidence *site, double steps);

static bool reads_each_step(const stk__site_evidence *s, double steps)
{
    static const char *const calls[] = {"item", "bool", "float", "int", "format", "nonzero", "tolist", NULL};
    return is_one_of(s->call, calls) && s->on_device && (double)s->steps >= EVERY_STEP * steps;
}

static bool copies_predictions(const stk__site_evidence *s, double steps)
{
    static const char *const calls[] = {"cpu", "numpy", "tolist", "to", NULL};
    return is_one_of(s->call, calls) && s->on_device && s->count &&
           (double)s->bytes / (double)s->count >= PREDICTION_BYTES && (double)s->steps >= EVERY_STEP * steps;
}

static bool loops_over_items(const stk__site_evidence *s, double steps)
{
    static const char *const calls[] = {"item", "float", "int", "bool", "format", NULL};
    return is_one_of(s->call, calls) && !s->on_device && (double)s->count >= 10 * steps;
}

static const stk__site_evidence *largest_site(const stk__doctor_facts *facts, site_filter filter, int *count)
{
    const stk__site_evidence *largest = NULL;
    *count = 0;
    for (int64_t i = 0; i < facts->e->site_count; i++) {
        const stk__site_evidence *site = &facts->e->sites[i];
        if (!filter(site, facts->steps)) continue;
        (*count)++;
        if (!largest || site->total_s > largest->total_s) largest = site;
    }
    return largest;
}

static double site_share(const stk__doctor_facts *facts, const stk__site_evidence *site)
{
    return fmin(1, site->total_s / (facts->steps * facts->split.step_s));
}

static stk__tristate sync_every_step(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    int count;
    if (!facts->judged || isnan(facts->steps)) return STK_UNSURE;
    const stk__site_evidence *site = largest_site(facts, reads_each_step, &count);
    if (!site) return STK_NO;
    const double share = site_share(facts, site);
    const stk__doctor_severity severity = stk__severity_of_share(share);
    stk__finding_says(
        f, severity ? severity : STK_DOCTOR_INFO,
        "%s() at %s in %.0f %% of the steps: the host waits there for the GPU, %.1f ms a step%s", site->call,
        site->site, 100 * (double)site->steps / facts->steps, 1e3 * site->total_s / facts->steps,
        count > 1 ? "; other lines do so, too" : "");
    stk__finding_advises(
        f,
        "add up on the GPU (loss.detach()) and read the sum every 50 steps: %llu calls at this "
        "line were counted",
        (unsigned long long)site->count);
    stk__finding_number(f, "calls", (double)site->count);
    stk__finding_number(f, "steps", (double)site->steps);
    stk__finding_number(f, "wait_ms_per_step", 1e3 * site->total_s / facts->steps);
    stk__finding_number(f, "sites", count);
    stk__finding_gain_unknown(f, "the wait contains the GPU's own work; how much of it is idle time was not "
                                 "measured");
    return STK_YES;
}

static stk__tristate item_loop(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    int count;
    if (!facts->judged || isnan(facts->steps)) return STK_UNSURE;
    const stk__site_evidence *site = largest_site(facts, loops_over_items, &count);
    const double share = site ? site_share(facts, site) : 0;
    if (share < ITEM_LOOP_SHARE) return STK_NO;
    stk__finding_says(f, stk__severity_of_share(share),
                      "%s() at %s is called %.0f times a step: %.1f ms, %.0f %% of a step", site->call,
                      site->site, (double)site->count / facts->steps, 1e3 * site->total_s / facts->steps,
                      100 * share);
    stk__finding_advises(
        f,
        "one tensor.tolist(), or tensor operations, instead of a loop over values: %.1f ms a "
        "step were measured",
        1e3 * site->total_s / facts->steps);
    stk__finding_number(f, "calls_per_step", (double)site->count / facts->steps);
    stk__finding_number(f, "share", share);
    stk__finding_gain(f, share, "at least: the loop around the calls is not measured");
    return STK_YES;
}

static stk__tristate predictions_copied(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    int count;
    if (!facts->judged || isnan(facts->steps)) return STK_UNSURE;
    const stk__site_evidence *site = largest_site(facts, copies_predictions, &count);
    if (!site) return STK_NO;
    const double share = site_share(facts, site), bytes = (double)site->bytes / (double)site->count;
    stk__finding_says(f, share >= STK_SHARE_WARN ? STK_DOCTOR_WARN : STK_DOCTOR_INFO,
                      "%s() at %s copies %.0f kB to the host in %.0f %% of the steps: %.1f ms a step",
                      site->call, site->site, bytes / 1e3, 100 * (double)site->steps / facts->steps,
                      1e3 * site->total_s / facts->steps);
    stk__finding_advises(
        f,
        "compute the metric on the GPU, or keep predictions there and copy them once per epoch: "
        "%llu copies were counted",
        (unsigned long long)site->count);
    stk__finding_number(f, "bytes_per_call", bytes);
    stk__finding_number(f, "calls", (double)site->count);
    stk__finding_number(f, "share", share);
    stk__finding_gain(f, share, "at most: the wait contains the GPU's own work");
    return STK_YES;
}

static stk__tristate evaluation_often(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!facts->judged) return STK_UNSURE;
    const double share = facts->split.share[STK_SPLIT_EVALUATION];
    if (share < EVALUATION_SHARE) return STK_NO;
    stk__finding_says(f, share >= STK_SHARE_CRIT ? STK_DOCTOR_CRIT : STK_DOCTOR_WARN,
                      "evaluation takes %.0f %% of the time: %.3g ms for each of %.0f training steps",
                      100 * share, 1e3 * share * facts->split.step_s, facts->steps);
    stk__finding_advises(f, "evaluate a fifth as often, or on fewer samples: %.0f %% of the time is measured",
                         100 * share);
    stk__finding_number(f, "evaluation_share", share);
    stk__finding_number(f, "evaluations", (double)facts->e->torch.evaluations);
    stk__finding_number(f, "steps", facts->steps);
    stk__finding_gain(f, 0.8 * share, "a fifth of the evaluations");
    return STK_YES;
}

static stk__tristate checkpoint_often(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!facts->judged) return STK_UNSURE;
    const double share = facts->split.share[STK_SPLIT_CHECKPOINT];
    if (share < CHECKPOINT_SHARE || !facts->e->torch.saves) return STK_NO;
    stk__finding_says(f, stk__severity_of_share(share),
                      "torch.save takes %.0f %% of the time: %llu calls in %.0f steps", 100 * share,
                      (unsigned long long)facts->e->torch.saves, facts->steps);
    stk__finding_advises(
        f,
        "save a tenth as often (each epoch, or every few minutes), or in a thread: %.0f %% of the "
        "time is measured",
        100 * share);
    stk__finding_number(f, "checkpoint_share", share);
    stk__finding_number(f, "saves", (double)facts->e->torch.saves);
    stk__finding_number(f, "steps", facts->steps);
    stk__finding_gain(f, 0.9 * share, "a tenth of the saves");
    return STK_YES;
}

static stk__tristate logging_each_step(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!facts->judged || isnan(facts->steps)) return STK_UNSURE;
    const double share = facts->split.share[STK_SPLIT_LOGGING];
    if (share < LOGGING_SHARE || (double)facts->e->torch.prints < EVERY_STEP * facts->steps) return STK_NO;
    stk__finding_says(f, share >= STK_SHARE_WARN ? STK_DOCTOR_WARN : STK_DOCTOR_INFO,
                      "%.1f prints a step take %.0f %% of the time",
                      (double)facts->e->torch.prints / facts->steps, 100 * share);
    stk__finding_advises(f, "log every 50 steps: %.0f %% of the time is measured", 100 * share);
    stk__finding_number(f, "logging_share", share);
    stk__finding_number(f, "prints", (double)facts->e->torch.prints);
    stk__finding_gain(f, 0.98 * share, "a line every 50 steps");
    return STK_YES;
}

/* The one that stepped most; NULL: none that did enough. */
static const stk__optimizer_evidence *main_optimizer(const stk__evidence *e)
{
    const stk__optimizer_evidence *best = NULL;
    for (int64_t i = 0; i < e->optimizer_count; i++)
        if (e->optimizers[i].steps >= LEAST_OPTIMIZER_STEPS &&
            (!best || e->optimizers[i].steps > best->steps))
            best = &e->optimizers[i];
    return best;
}

static stk__tristate optimizer_not_fused(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__optimizer_evidence *o = main_optimizer(facts->e);
    if (!facts->judged || !o || o->fused == STK_UNSURE) return STK_UNSURE;
    const double share = facts->split.share[STK_SPLIT_OPTIMIZER];
    if (o->fused == STK_YES || share < STK_SHARE_INFO) return STK_NO;
    stk__finding_says(f, o->foreach == STK_NO ? STK_DOCTOR_WARN : STK_DOCTOR_INFO,
                      "%s (%s) updates %lld tensors %s: %.1f ms, %.0f %% of a step", o->name, o->site,
                      (long long)o->parameters,
                      o->foreach == STK_NO ? "one by one (foreach=False)" : "without fused=True",
                      1e3 * share * facts->split.step_s, 100 * share);
    stk__finding_advises(
        f,
        "%s(…, fused=True): the %.1f ms of the host that were measured become one kernel launch "
        "for many tensors",
        o->name, 1e3 * share * facts->split.step_s);
    stk__finding_number(f, "optimizer_share", share);
    stk__finding_number(f, "tensors", (double)o->parameters);
    stk__finding_gain(f, share / 2, "half of the optimizer's time");
    return STK_YES;
}

static stk__tristate zero_grad_kept(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__optimizer_evidence *o = main_optimizer(facts->e);
    if (!o) return STK_UNSURE;
    if (!o->zero_grads_kept) return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_INFO,
        "%llu of %llu zero_grad calls have set_to_none=False (%s): gradients are filled with zeros, "
        "then added to",
        (unsigned long long)o->zero_grads_kept, (unsigned long long)o->zero_grads, o->site);
    stk__finding_advises(f,
                         "optimizer.zero_grad(), whose default drops the gradients: the %llu calls that were "
                         "counted write all of them twice",
                         (unsigned long long)o->zero_grads_kept);
    stk__finding_number(f, "zero_grads", (double)o->zero_grads);
    stk__finding_number(f, "zero_grads_kept", (double)o->zero_grads_kept);
    stk__finding_gain_unknown(f, "the time of filling with zeros is not measured apart");
    return STK_YES;
}

static stk__tristate launch_bound(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    double gpu_ns = 0, wall_ns = 0;
    const stk__stall_split *s = &facts->split;
    for (int64_t i = 0; i < facts->e->step_count; i++) {
        const stk__step_record *step = &facts->e->steps[i];
        if (!step->gpu_ns) continue;
        gpu_ns += (double)step->gpu_ns;
        wall_ns += (double)(step->end_ns - step->begin_ns);
    }
    if (!facts->judged || !(wall_ns > 0)) return STK_UNSURE;
    const double busy = gpu_ns / wall_ns, host = s->share[STK_SPLIT_FORWARD] + s->share[STK_SPLIT_BACKWARD] +
                                                 s->share[STK_SPLIT_OPTIMIZER];
    if (busy >= LAUNCH_BOUND || host < LAUNCH_BOUND) return STK_NO;
    stk__finding_says(
        f, busy < LAUNCH_BOUND / 2 ? STK_DOCTOR_CRIT : STK_DOCTOR_WARN,
        "the GPU works %.0f %% of a step, while the host spends %.0f %% of it in forward, backward "
        "and optimizer: kernels are too small (batch %lld)",
        100 * busy, 100 * host, facts->loader ? (long long)facts->loader->batch_size : -1LL);
    stk__finding_advises(f, "double the batch (and tune the learning rate), or torch.compile(model, "
                            "mode=\"reduce-overhead\"): the GPU's time was measured by events");
    stk__finding_number(f, "gpu_share", busy);
    stk__finding_number(f, "host_share", host);
    stk__finding_number(f, "batch_size", facts->loader ? (double)facts->loader->batch_size : NAN);
    stk__finding_gain(f, 1 - fmax(busy, 1 - host), "if the host is no longer in the way");
    return STK_YES;
}

static stk__tristate anomaly_detection(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (facts->e->torch.anomaly_detection == STK_UNSURE) return STK_UNSURE;
    if (facts->e->torch.anomaly_detection == STK_NO) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "torch.autograd anomaly detection is on during training");
    stk__finding_advises(
        f, "torch.autograd.set_detect_anomaly(False) outside of debugging: the switch was read at "
           "run time");
    stk__finding_number(f, "anomaly_detection", 1);
    stk__finding_gain_unknown(f, ANOMALY_SLOWDOWN);
    return STK_YES;
}

const stk__doctor_rule stk__rules_step[] = {
    {"sync_every_step", "a value is read from the GPU in every step", true,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_NO_SPEEDUP, MEASURED_SITES, sync_every_step},
    {"item_loop", "a Python loop reads single values", false, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_CPU_FULL,
     MEASURED_SITES, item_loop},
    {"predictions_copied", "predictions are copied to the host in every step", true, STK_SYMPTOM_LOW_UTIL,
     MEASURED_SITES, predictions_copied},
    {"evaluation_often", "evaluation takes a large share of the time", false, STK_SYMPTOM_LOW_UTIL,
     "time between training steps in loaders without gradients (hook)", evaluation_often},
    {"checkpoint_often", "checkpoints take a large share of the time", false, STK_SYMPTOM_LOW_UTIL,
     "time in torch.save (hook)", checkpoint_often},
    {"logging_each_step", "logging takes a large share of the time", false, STK_SYMPTOM_LOW_UTIL,
     "time in print (hook)", logging_each_step},
    {"optimizer_not_fused", "the optimizer is not fused", true, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_NO_SPEEDUP,
     "time in optimizer.step (hook)", optimizer_not_fused},
    {"zero_grad_kept", "gradients are zeroed instead of dropped", false, STK_SYMPTOM_NO_SPEEDUP,
     "calls of zero_grad (hook)", zero_grad_kept},
    {"launch_bound", "kernels are too small for the GPU", true, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_NO_SPEEDUP,
     "device time by events (hook)", launch_bound},
    {"anomaly_detection", "anomaly detection is on", false, STK_SYMPTOM_CPU_FULL | STK_SYMPTOM_NO_SPEEDUP,
     "torch.is_anomaly_enabled (hook)", anomaly_detection},
    {0}};
