/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of rules (rules_*.c) share: writing a finding, bounds that several of them have. */
#ifndef STK_DOCTOR_RULE_PARTS_H
#define STK_DOCTOR_RULE_PARTS_H

#include "core/memory.h"
#include "doctor/doctor_rules.h"

#include <math.h>

/* Each ends with a rule without an id. */
extern const stk__doctor_rule stk__rules_loader[], stk__rules_work[], stk__rules_step[],
    stk__rules_precision[], stk__rules_machine[], stk__rules_gpu[];

/* Shares of a step. A twentieth is what a user can measure again; a tenth is worth an edit; at a third it is
 * the reason why the GPU is idle. */
#define STK_SHARE_INFO 0.05
#define STK_SHARE_WARN 0.10
#define STK_SHARE_CRIT 0.30

/* The severity of a share of the step; OK: below all bounds. */
static inline stk__doctor_severity stk__severity_of_share(double share)
{
    return share >= STK_SHARE_CRIT   ? STK_DOCTOR_CRIT
           : share >= STK_SHARE_WARN ? STK_DOCTOR_WARN
           : share >= STK_SHARE_INFO ? STK_DOCTOR_INFO
                                     : STK_DOCTOR_OK;
}

void stk__finding_says(stk__doctor_finding *f, stk__doctor_severity severity, const char *format, ...)
    STK__PRINTF(3, 4);
/* A part of the evidence that may be unknown: nothing is added then. */
void stk__finding_adds(stk__doctor_finding *f, bool known, const char *format, ...) STK__PRINTF(3, 4);
void stk__finding_advises(stk__doctor_finding *f, const char *format, ...) STK__PRINTF(2, 3);
void stk__finding_number(stk__doctor_finding *f, const char *key, double value);
/* The gain if so much of a step's time goes away, and nothing else is in the way: 1 / (1 - share) - 1. */
void stk__finding_gain(stk__doctor_finding *f, double share, const char *what);
/* The training has to work before anything else counts: ranked first. */
void stk__finding_must(stk__doctor_finding *f);
void stk__finding_gain_unknown(stk__doctor_finding *f, const char *why);

/* The training process was ready to run and had no CPU: the most of several; NAN: unknown. */
static inline double stk__trainer_run_delay(const stk__evidence *e)
{
    double most = NAN;
    for (int64_t i = 0; i < e->process_count; i++)
        if (e->processes[i].kind == STK_PROCESS_TRAINER) most = fmax(most, e->processes[i].run_delay_share);
    return most;
}

/* What takes so long on a free CPU, where the training process has to wait for one. */
static inline double stk__contended_s(const stk__evidence *e, double seconds)
{
    const double delay = stk__trainer_run_delay(e);
    return seconds / (1 - (isnan(delay) ? 0 : fmin(0.98, delay)));
}

/* How much of a step the wait for data could lose with enough workers; NAN: not known. */
static inline double stk__wait_to_save(const stk__doctor_facts *facts)
{
    return facts->split.wait - facts->split.least_wait;
}

#endif
