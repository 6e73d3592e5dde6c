/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about a run of `stoker train`, over its run.json: the stall table, settings that are not in effect,
 * the verdict of the monitor, and the advice that the run itself gave. No threads. */
#include "doctor/rule_parts.h"
#include "doctor/run_rules.h"

#include <stdio.h>
#include <string.h>

/* A run as short as this is mostly warm-up. */
#define LEAST_S 2.0
enum { LEAST_STEPS = 8, NAMED_SETTINGS = 3 };
#define EVALUATION_SHARE 0.2
#define CHECKPOINT_SHARE 0.05

#define STALL_OF_RUN "the run's stall table"

static const json_t *run_of(const stk__doctor_facts *facts)
{
    return ((const stk__run_facts *)facts->other)->run;
}

/* --- facts -----------------------------------------------------------------------------------------------
 */

static void read_stall(const json_t *run, stk__stall_split *split)
{
    static const struct {
        const char *name;
        stk__split_part part;
    } rows[] = {{"read", STK_SPLIT_READ},
                {"decode", STK_SPLIT_DECODE},
                {"augment", STK_SPLIT_TRANSFORM},
                {"device_augment", STK_SPLIT_TRANSFORM},
                {"copy", STK_SPLIT_COPY},
                {"forward", STK_SPLIT_FORWARD},
                {"backward", STK_SPLIT_BACKWARD},
                {"optimiser", STK_SPLIT_OPTIMIZER},
                {"sync", STK_SPLIT_SYNC},
                {"eval", STK_SPLIT_EVALUATION},
                {"checkpoint", STK_SPLIT_CHECKPOINT}};
    const json_t *list = json_object_get(run, STK_RUN_KEY_STALL);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const char *name = stk__run_facts_text(row, STK_RUN_KEY_NAME_OF_STALL);
        stk__split_part part = STK_SPLIT_OTHER;
        for (size_t k = 0; name && k < sizeof rows / sizeof rows[0]; k++)
            if (strcmp(rows[k].name, name) == 0) part = rows[k].part;
        split->share[part] += json_number_value(json_object_get(row, STK_RUN_KEY_SHARE_OF_STALL));
    }
    for (int part = 0; part < STK_SPLIT_WAIT_PARTS; part++)
        split->wait += split->share[part];
}

void stk__run_doctor_facts(const stk__run_facts *run, stk__evidence *evidence, stk__doctor_facts *facts)
{
    const double steps = stk__run_facts_number(run, STK_RUN_KEY_STEPS_RUN);
    stk__stall_split split = {
        .command_cpu = NAN, .work = NAN, .worker_busy = NAN, .least_wait = NAN, .workers = -1};
    snprintf(evidence->command, sizeof evidence->command, "%.200s", run->folder);
    evidence->watched_s = stk__run_facts_number(run, STK_RUN_KEY_WALL_S);
    *facts = (stk__doctor_facts){.e = evidence, .cuda = STK_UNSURE, .steps = steps, .other = run};
    if (!(steps > 0) || !(evidence->watched_s > 0)) return;
    read_stall(run->run, &split);
    split.steps = (uint64_t)steps;
    split.wall_s = evidence->watched_s;
    split.step_s = split.wall_s / steps;
    facts->split = split;
    facts->judged = split.wall_s >= LEAST_S && split.steps >= LEAST_STEPS;
}

/* --- rules -----------------------------------------------------------------------------------------------
 */

static stk__tristate run_failed(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const json_t *run = run_of(facts), *error = json_object_get(run, STK_RUN_KEY_ERROR);
    const char *message = stk__run_facts_text(error, STK_RUN_KEY_MESSAGE_OF_ERROR),
               *hint = stk__run_facts_text(error, STK_RUN_KEY_HINT_OF_ERROR);
    if (!run) return STK_UNSURE;
    if (!json_is_true(json_object_get(run, STK_RUN_KEY_FAILED))) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_CRIT, "the run failed: %.300s",
                      message ? message : "for an unknown reason");
    stk__finding_advises(f, "%.300s", hint && *hint ? hint : "see the message; run.json has its place");
    stk__finding_number(f, "steps", facts->steps);
    stk__finding_must(f);
    return STK_YES;
}

/* Advice by the largest part of the data wait. */
static stk__tristate run_data_wait(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    static const struct {
        stk__split_part part;
        const char *what, *advice;
    } parts[] = {
        {STK_SPLIT_READ, "reading", "data.cache=auto, or `stoker pack` for many small files"},
        {STK_SPLIT_DECODE, "decoding", "data.cache=auto, or `stoker pack`, above all for progressive JPEGs"},
        {STK_SPLIT_TRANSFORM, "augmentation", "augment.device=auto on a GPU, or more data.num_workers"}};
    const stk__stall_split *split = &facts->split;
    int largest = 0;
    if (!facts->judged) return STK_UNSURE;
    const stk__doctor_severity severity = stk__severity_of_share(split->wait);
    if (!severity) return STK_NO;
    for (int i = 1; i < (int)(sizeof parts / sizeof parts[0]); i++)
        if (split->share[parts[i].part] > split->share[parts[largest].part]) largest = i;
    const double share = split->share[parts[largest].part];
    stk__finding_says(f, severity, "steps wait %.0f %% of the time for data, most of it (%.0f %%) for %s",
                      100 * split->wait, 100 * share, parts[largest].what);
    stk__finding_advises(f, "%s: %.0f %% of the run were measured", parts[largest].advice, 100 * share);
    stk__finding_number(f, "wait_share", split->wait);
    stk__finding_number(f, "largest_share", share);
    stk__finding_gain(f, split->wait, "at most: if no step waits");
    return STK_YES;
}

/* A share of the run against its bound, with what to do about it. */
static stk__tristate share_rule(const stk__doctor_facts *facts, stk__doctor_finding *f, stk__split_part part,
                                double bound, double saved, const char *setting)
{
    if (!facts->judged) return STK_UNSURE;
    const double share = facts->split.share[part];
    if (share < bound) return STK_NO;
    stk__finding_says(f, share >= STK_SHARE_CRIT ? STK_DOCTOR_CRIT : STK_DOCTOR_WARN, "%s: %.0f %% of %.1f s",
                      stk__split_part_name(part), 100 * share, facts->split.wall_s);
    stk__finding_advises(f, "%s: %.0f %% of the run were measured", setting, 100 * share);
    stk__finding_number(f, "share", share);
    stk__finding_gain(f, saved * share, "if it happens less often");
    return STK_YES;
}

static stk__tristate run_evaluation(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    return share_rule(facts, f, STK_SPLIT_EVALUATION, EVALUATION_SHARE, 0.8, "train.eval_interval=5");
}

static stk__tristate run_checkpoint(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    return share_rule(facts, f, STK_SPLIT_CHECKPOINT, CHECKPOINT_SHARE, 0.8, "train.checkpoint_interval=5");
}

static stk__tristate run_sync(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    return share_rule(facts, f, STK_SPLIT_SYNC, STK_SHARE_WARN, 0.9, "train.log_interval=100");
}

static stk__tristate run_settings(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const json_t *effects = json_object_get(run_of(facts), STK_RUN_KEY_EFFECTS);
    char names[STK_DOCTOR_SAY / 2] = "";
    int count = 0;
    if (!effects) return STK_UNSURE;
    for (size_t i = 0; i < json_array_size(effects); i++) {
        const json_t *row = json_array_get(effects, i),
                     *asked = json_object_get(row, STK_RUN_KEY_REQUESTED_OF_EFFECT);
        const char *name = stk__run_facts_text(row, STK_RUN_KEY_NAME_OF_EFFECT),
                   *why = stk__run_facts_text(row, STK_RUN_KEY_WHY_OF_EFFECT);
        if (!name || !why || !asked || json_is_null(asked) ||
            json_equal(asked, json_object_get(row, STK_RUN_KEY_IN_EFFECT_OF_EFFECT)))
            continue;
        const size_t length = strlen(names);
        if (count++ < NAMED_SETTINGS)
            snprintf(names + length, sizeof names - length, "%s%s (%.80s)", length ? "; " : "", name, why);
    }
    if (!count) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO, "%d setting%s not in effect as requested: %s%s", count,
                      count == 1 ? " is" : "s are", names, count > NAMED_SETTINGS ? "; …" : "");
    stk__finding_advises(f, "compare `requested` and `in effect` in report.html: the run recorded both");
    stk__finding_number(f, "settings", count);
    stk__finding_gain_unknown(f, "depends on the setting");
    return STK_YES;
}

static stk__tristate run_gpu(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const json_t *monitor = json_object_get(run_of(facts), STK_RUN_KEY_MONITOR),
                 *mean = json_object_get(monitor, "util_mean_percent");
    const char *verdict = stk__run_facts_text(monitor, "verdict");
    if (!json_is_number(mean) || !verdict) return STK_UNSURE;
    const double util = json_number_value(mean);
    if (util >= 85) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "GPU utilization %.0f %%: %.300s", util, verdict);
    stk__finding_advises(f,
                         "see the largest rows of the stall table; utilization was recorded during the run");
    stk__finding_number(f, "util_percent", util);
    stk__finding_gain(f, 1 - fmax(util, 1) / 85, "at most: utilization of 85 %");
    return STK_YES;
}

/* What the run itself found, but for what the rules above say with numbers of their own. */
static stk__tristate run_advice(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const json_t *rules = json_object_get(run_of(facts), STK_RUN_KEY_ADVICE_RULES);
    if (!rules) return STK_UNSURE;
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *row = json_array_get(rules, i);
        const char *id = stk__run_facts_text(row, STK_RUN_KEY_ID_OF_ADVICE),
                   *text = stk__run_facts_text(row, STK_RUN_KEY_TEXT_OF_ADVICE);
        if (!id || !text || strcmp(id, "data_wait") == 0 || strcmp(id, "evaluation_time") == 0 ||
            strcmp(id, "checkpoint_time") == 0)
            continue;
        stk__finding_says(f, STK_DOCTOR_INFO, "%s", text);
        stk__finding_advises(f, "as the run says (%s); report.html has all of its advice", id);
        stk__finding_number(f, "rules", (double)json_array_size(rules));
        stk__finding_gain_unknown(f, "it is about learning rather than speed");
        return STK_YES;
    }
    return STK_NO;
}

const stk__doctor_rule stk__rules_run[] = {
    {"run_failed", "the run failed", false, STK_SYMPTOM_MEMORY, "run.json", run_failed},
    {"run_data_wait", "steps wait for data", false, STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_CPU_FULL, STALL_OF_RUN,
     run_data_wait},
    {"run_evaluation", "evaluation takes a large share of the time", false, STK_SYMPTOM_LOW_UTIL,
     STALL_OF_RUN, run_evaluation},
    {"run_checkpoint", "checkpoints take a large share of the time", false, STK_SYMPTOM_LOW_UTIL,
     STALL_OF_RUN, run_checkpoint},
    {"run_sync", "values are read back often", false, STK_SYMPTOM_LOW_UTIL, STALL_OF_RUN, run_sync},
    {"run_settings", "settings are not in effect", false, STK_SYMPTOM_NO_SPEEDUP, "the run's effects",
     run_settings},
    {"run_gpu", "the GPU was idle", false, STK_SYMPTOM_LOW_UTIL, "the run's monitor", run_gpu},
    {"run_advice", "advice of the run", false, 0, "the run's advice", run_advice},
    {0}};
