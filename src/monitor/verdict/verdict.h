/* What the numbers mean: grades against the targets, and one sentence by the first rule that holds. */
#ifndef STK_MONITOR_VERDICT_H
#define STK_MONITOR_VERDICT_H

#include "core/error.h"
#include "stoker/monitor.h"

#include <stddef.h>

/* The three read numbers of gpu and of all (its GPUs excepted, but for the last). */
void stk__verdict_grade(stk_gpu_summary *gpu, const stk_monitor_summary *all); /* fills the rows */
void stk__verdict_speak(stk_gpu_summary *gpu, const stk_monitor_summary *all); /* fills finding, verdict */
void stk__verdict_together(stk_monitor_summary *all);                          /* the same, of all */

int stk__verdict_rank(const char *finding); /* place in the order of rules: the first weighs most */

/* A text that is put together; what does not fit is left out. */
typedef struct stk__sentence {
    char *text; /* where it goes on */
    size_t room;
} stk__sentence;

void stk__sentence_add(stk__sentence *sentence, const char *format, ...) STK__PRINTF(2, 3);

#endif
