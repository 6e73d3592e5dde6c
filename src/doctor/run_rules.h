/* SPDX-License-Identifier: Apache-2.0 */
/* A run of `stoker train`, diagnosed from its folder alone. */
#ifndef STK_DOCTOR_RUN_RULES_H
#define STK_DOCTOR_RUN_RULES_H

#include "doctor/doctor_rules.h"
#include "report/run_facts.h"

/* Evidence with the head of the run (texts, seconds), and facts with its stall table; facts.other is `run`.
 * All live as long as run and evidence. */
void stk__run_doctor_facts(const stk__run_facts *run, stk__evidence *evidence, stk__doctor_facts *facts);

extern const stk__doctor_rule stk__rules_run[]; /* ends with one without an id */

#endif
