/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of the summary: grades against the targets, and the verdict of the first rule that holds. */
#ifndef STK_MONITOR_VERDICT_H
#define STK_MONITOR_VERDICT_H

#include "core/error.h"
#include "stoker/monitor.h"

#include <stddef.h>

/* The three read numbers of gpu and of all (its GPUs excepted, but for the last). */
void stk__verdict_grade(stk_gpu_summary *gpu, const stk_monitor_summary *all); /* fills the rows */
void stk__verdict_speak(stk_gpu_summary *gpu, const stk_monitor_summary *all); /* fills finding, verdict */
void stk__verdict_together(stk_monitor_summary *all);                          /* the same, of all */

int stk__verdict_rank(const char *finding); /* position in the order of rules: the first has priority */

/* A text built piece by piece; truncated at room. */
typedef struct stk__sentence {
    char *text; /* end so far */
    size_t room;
} stk__sentence;

void stk__sentence_add(stk__sentence *sentence, const char *format, ...) STK__PRINTF(2, 3);

#endif
