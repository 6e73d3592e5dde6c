/* SPDX-License-Identifier: Apache-2.0 */
/* What is suspicious about a data set: rules over its statistics, one table. A clean set has no findings. */
#ifndef STK_SESSION_DATA_FINDINGS_H
#define STK_SESSION_DATA_FINDINGS_H

#include "session/stats/data_stats.h"

typedef enum stk__severity { STK_SEVERITY_NOTE, STK_SEVERITY_WARNING, STK_SEVERITY_ERROR } stk__severity;

const char *stk__severity_name(stk__severity severity); /* "note", "warning", "error" */

enum { STK_FINDING_TEXT_BYTES = 320, STK_FINDING_MOST = 32 };

typedef struct stk__finding {
    const char *id; /* of the rule: "duplicates" */
    stk__severity severity;
    char text[STK_FINDING_TEXT_BYTES]; /* what was found, with its numbers */
    char hint[STK_FINDING_TEXT_BYTES]; /* what to do, with the setting */
    uint64_t count, total;             /* so many of so many; total 0: there is no whole */
    int64_t sample_ids[2];             /* to look at; -1: none */
    const char *paths[2];              /* where they are; NULL: none. They belong to the statistics */
} stk__finding;

/* The rules that apply, in the order of the table: errors first. Returns how many. */
int stk__data_findings(const stk__data_stats *stats, stk__finding list[STK_FINDING_MOST]);

/* One rule by its number, 0 to stk__data_rule_count() - 1; false: it does not apply. */
int stk__data_rule_count(void);
bool stk__data_rule(int rule, const stk__data_stats *stats, stk__finding *finding);

#endif
