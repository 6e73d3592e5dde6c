/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers a loader has: as set, or by the usable CPUs and what else computes on them; and how many
 * places of a batch one of them claims at a time. One thread, while a loader opens. */
#include "loader/pump.h"

#include "core/cpu.h"

#include <limits.h>
#include <stdio.h>

/* By what else computes on these CPUs: how many CPUs a worker takes, how many workers there are at most. */
typedef struct workers_rule {
    int cpus_each, most;
    const char *why;
} workers_rule;

static const workers_rule
    nothing_beside = {1, INT_MAX, "auto: every usable CPU, because no training runs"},
    engine_first = {1, 16, "auto: every usable CPU, at most 16; the engine's threads have priority"},
    engine_beside = {2, 8, "auto: half the usable CPUs, at most 8"};

/* With 1, 12 and 64 usable CPUs: 1, 12, 64 workers by the first rule, 1, 12, 16 and 1, 6, 8 by the others. */
int stk__loader_default_workers(const stk_loader_options *o, int cpus, const char **why)
{
    const workers_rule *rule = o->dedicated_cpus ? &nothing_beside
                               : o->low_priority ? &engine_first
                                                 : &engine_beside;
    const int count = cpus / rule->cpus_each;
    *why = rule->why;
    return count < 1 ? 1 : count < rule->most ? count : rule->most;
}

void stk__loader_choose_workers(stk_loader *loader, const stk_loader_options *o)
{
    const stk__cpu_budget budget = stk__cpu_budget_read(NULL);
    const char *rule;
    char why[160];
    loader->low_priority = o->low_priority;
    loader->thread_count = o->num_workers == STK_WORKERS_NONE ? 0 : (int)o->num_workers;
    if (o->num_workers == 0) {
        loader->thread_count = stk__loader_default_workers(o, budget.cpus, &rule);
        snprintf(why, sizeof why, "%s (%s)", rule, budget.why);
        stk__loader_note_number(loader, "data.num_workers", (uint64_t)loader->thread_count, why);
    } else if (loader->thread_count > budget.cpus) {
        snprintf(why, sizeof why, "they share %d usable CPUs; more workers than that only cost memory",
                 budget.cpus);
        stk__loader_note_number(loader, "data.num_workers", (uint64_t)loader->thread_count, why);
    }
    const uint64_t shares = 4 * (uint64_t)(loader->thread_count ? loader->thread_count : 1);
    const uint64_t chunk = (uint64_t)o->batch_size / shares;
    loader->chunk = chunk < 1 ? 1 : chunk < 8 ? chunk : 8;
}
