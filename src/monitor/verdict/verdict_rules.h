/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of the verdict, each with its condition and its text, in the order in which they are tried:
 * verdict_trouble.c, verdict_starved.c, verdict_busy.c. */
#ifndef STK_MONITOR_VERDICT_RULES_H
#define STK_MONITOR_VERDICT_RULES_H

#include "monitor/verdict/gpu_targets.h"
#include "monitor/verdict/verdict.h"

/* Input of the rules. */
typedef struct stk__verdict_facts {
    const stk_gpu_summary *gpu;
    const stk_monitor_summary *all;
    double seconds; /* judged */
} stk__verdict_facts;

typedef struct stk__verdict_rule {
    const char *finding;
    bool (*holds)(const stk__verdict_facts *f);
    void (*say)(const stk__verdict_facts *f, stk__sentence *s);
} stk__verdict_rule;

/* Each ends with a rule without a name. */
extern const stk__verdict_rule stk__verdict_trouble[], stk__verdict_starved[], stk__verdict_busy[];

/* Unknown is neither below nor at least any bound. */
static inline bool stk__is_below(stk_reading reading, double bound)
{
    return reading.known == STK_KNOWN && reading.value < bound;
}

static inline bool stk__is_at_least(stk_reading reading, double bound)
{
    return reading.known == STK_KNOWN && reading.value >= bound;
}

static inline double stk__verdict_facts_util(const stk__verdict_facts *f)
{
    return f->gpu->util_mean_percent.value;
}

static inline bool stk__verdict_facts_busy(const stk__verdict_facts *f)
{
    return stk__is_at_least(f->gpu->util_mean_percent, STK_GPU_UTIL_LEAST_PERCENT);
}

static inline bool stk__verdict_facts_starved(const stk__verdict_facts *f)
{
    return stk__is_below(f->gpu->util_mean_percent, STK_GPU_UTIL_LEAST_PERCENT);
}

/* Of the time that is judged. */
static inline double stk__verdict_facts_share(const stk__verdict_facts *f, stk_reading seconds)
{
    const double share = f->seconds > 0 ? seconds.value / f->seconds : 0;
    return share < 1 ? share : 1;
}

static inline bool stk__verdict_facts_last(const stk__verdict_facts *f, stk_reading seconds, double share)
{
    return seconds.known == STK_KNOWN && stk__verdict_facts_share(f, seconds) >= share;
}

#endif
