/* SPDX-License-Identifier: Apache-2.0 */
/* All rules as one table (the parts of it by subject: rules_*.c), asked one after the other; what they find
 * is ranked by the gain that it promises. Pure functions. */
#include "doctor/doctor_rules.h"

#include "doctor/rule_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* With fewer steps, or less time, shares of it say nothing about the rest of a training. */
enum { LEAST_STEPS = 8 };
#define LEAST_S 0.3

/* Where a gain is unknown a finding is ranked as if it were this: something broken (out of memory) before
 * small savings of time, a setting that is not in effect before what is barely worth an edit. */
static const double assumed_gain[] = {
    [STK_DOCTOR_OK] = 0, [STK_DOCTOR_INFO] = 0, [STK_DOCTOR_WARN] = 0.12, [STK_DOCTOR_CRIT] = 0.6};

const char *stk__doctor_severity_name(stk__doctor_severity severity)
{
    static const char *const names[] = {"ok", "info", "warn", "crit"};
    return names[severity];
}

const stk__symptom stk__symptoms[] = {
#define STK_SYMPTOM_ROW(id, bit, word, next) {bit, word, next},
    STK_SYMPTOM_LIST(STK_SYMPTOM_ROW)
#undef STK_SYMPTOM_ROW
        {0}};

/* --- for the rules ---------------------------------------------------------------------------------------
 */

void stk__finding_says(stk__doctor_finding *f, stk__doctor_severity severity, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    f->severity = severity;
    vsnprintf(f->evidence, sizeof f->evidence, format, arguments);
    va_end(arguments);
}

void stk__finding_adds(stk__doctor_finding *f, bool known, const char *format, ...)
{
    const size_t length = strlen(f->evidence);
    va_list arguments;
    va_start(arguments, format);
    if (known) vsnprintf(f->evidence + length, sizeof f->evidence - length, format, arguments);
    va_end(arguments);
}

void stk__finding_advises(stk__doctor_finding *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->advice, sizeof f->advice, format, arguments);
    va_end(arguments);
}

void stk__finding_number(stk__doctor_finding *f, const char *key, double value)
{
    for (int i = 0; i < STK_DOCTOR_NUMBERS; i++)
        if (!f->numbers[i].key) {
            f->numbers[i] = (stk__doctor_number){key, value};
            return;
        }
}

void stk__finding_gain(stk__doctor_finding *f, double share, const char *what)
{
    if (isnan(share)) {
        stk__finding_gain_unknown(f, "CPU load was not measured");
        return;
    }
    share = fmin(0.99, fmax(0, share));
    f->gain = 1 / (1 - share) - 1;
    snprintf(f->formula, sizeof f->formula, "1 / (1 - %.2f) - 1, %s", share, what);
}

void stk__finding_must(stk__doctor_finding *f)
{
    f->gain = INFINITY;
    snprintf(f->formula, sizeof f->formula, "it has to run first");
}

void stk__finding_gain_unknown(stk__doctor_finding *f, const char *why)
{
    f->gain = NAN;
    snprintf(f->formula, sizeof f->formula, "%s", why);
}

/* --- facts -----------------------------------------------------------------------------------------------
 */

/* The one of a machine with one, else the one that the driver says the command is on. */
static const stk_gpu_summary *gpu_of(const stk__evidence *e)
{
    if (!e->gpus_known || !e->gpus.gpu_count) return NULL;
    if (e->gpu.index >= 0 && e->gpu.index < e->gpus.gpu_count) return &e->gpus.gpus[e->gpu.index];
    return e->gpus.gpu_count == 1 ? e->gpus.gpus : NULL;
}

static stk__tristate trains_on_cuda(const stk__evidence *e)
{
    if (e->torch.device[0]) return strncmp(e->torch.device, "cuda", 4) == 0 ? STK_YES : STK_NO;
    return e->gpu.used;
}

void stk__doctor_facts_of(const stk__evidence *evidence, stk__doctor_facts *facts)
{
    *facts = (stk__doctor_facts){.e = evidence,
                                 .loader = stk__training_loader(evidence),
                                 .gpu = gpu_of(evidence),
                                 .cuda = trains_on_cuda(evidence)};
    stk__stall_split_of(evidence, &facts->split);
    facts->judged = facts->split.steps >= LEAST_STEPS && facts->split.wall_s >= LEAST_S;
    facts->steps = evidence->hook_started != STK_YES ? NAN
                   : evidence->steps_total           ? (double)evidence->steps_total
                                                     : (double)evidence->step_count;
}

/* --- the table -------------------------------------------------------------------------------------------
 */

static const stk__doctor_rule *const subjects[] = {stk__rules_loader,    stk__rules_work,    stk__rules_step,
                                                   stk__rules_precision, stk__rules_machine, stk__rules_gpu};

const stk__doctor_rule *stk__doctor_rule_at(int number)
{
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++)
        for (const stk__doctor_rule *rule = subjects[s]; rule->id; rule++)
            if (number-- == 0) return rule;
    return NULL;
}

int stk__doctor_rule_count(void)
{
    int count = 0;
    while (stk__doctor_rule_at(count))
        count++;
    return count;
}

stk__tristate stk__doctor_ask(const stk__doctor_rule *rule, const stk__doctor_facts *facts,
                              stk__doctor_finding *finding)
{
    *finding = (stk__doctor_finding){.rule = rule, .gain = NAN};
    if (rule->cuda && facts->cuda != STK_YES) return facts->cuda;
    return rule->check(facts, finding);
}

static double rank_of(const stk__doctor_finding *finding)
{
    return isnan(finding->gain) ? assumed_gain[finding->severity] : finding->gain;
}

static bool is_before(const stk__doctor_finding *a, const stk__doctor_finding *b)
{
    const double gain_a = rank_of(a), gain_b = rank_of(b);
    return gain_a != gain_b ? gain_a > gain_b : a->severity > b->severity;
}

/* Equal ones stay in the order of the table. */
static void insert(stk__diagnosis *d, const stk__doctor_finding *finding)
{
    int place = d->count++;
    for (; place > 0 && is_before(finding, &d->findings[place - 1]); place--)
        d->findings[place] = d->findings[place - 1];
    d->findings[place] = *finding;
    if (finding->severity > d->worst) d->worst = finding->severity;
}

static void ask_all(const stk__doctor_rule *rules, stk__diagnosis *d)
{
    stk__doctor_finding finding;
    for (const stk__doctor_rule *rule = rules; rule->id; rule++) {
        const stk__tristate answer = stk__doctor_ask(rule, &d->facts, &finding);
        if (answer == STK_YES) insert(d, &finding);
        if (answer == STK_UNSURE) d->unmeasured[d->unmeasured_count++] = rule;
    }
}

void stk__diagnose(const stk__evidence *evidence, stk__diagnosis *diagnosis)
{
    *diagnosis = (stk__diagnosis){.worst = STK_DOCTOR_OK};
    stk__doctor_facts_of(evidence, &diagnosis->facts);
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++)
        ask_all(subjects[s], diagnosis);
}

void stk__diagnose_facts(const stk__doctor_facts *facts, const stk__doctor_rule *rules,
                         stk__diagnosis *diagnosis)
{
    *diagnosis = (stk__diagnosis){.worst = STK_DOCTOR_OK, .facts = *facts};
    ask_all(rules, diagnosis);
}
