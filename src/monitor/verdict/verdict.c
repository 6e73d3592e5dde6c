/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a GPU: families of rules in a fixed order, and the first rule that holds gives the
 * finding and its sentence. Pure functions of the summary. */
#include "monitor/verdict/verdict_rules.h"

#include <string.h>

/* The first rule that holds gives the verdict; among several GPUs, the GPU whose rule comes first. The last
 * rule always holds. */
static const stk__verdict_rule *const families[] = {stk__verdict_trouble, stk__verdict_starved,
                                                    stk__verdict_busy};

enum { FAMILIES = sizeof families / sizeof families[0] };

int stk__verdict_rank(const char *finding)
{
    int rank = 0;
    for (int i = 0; i < FAMILIES; i++)
        for (const stk__verdict_rule *rule = families[i]; rule->finding; rule++, rank++)
            if (strcmp(rule->finding, finding) == 0) return rank;
    return rank;
}

static const stk__verdict_rule *find_rule(const stk__verdict_facts *f)
{
    for (int i = 0; i < FAMILIES; i++)
        for (const stk__verdict_rule *rule = families[i]; rule->finding; rule++)
            if (rule->holds(f)) return rule;
    return NULL;
}

void stk__verdict_speak(stk_gpu_summary *gpu, const stk_monitor_summary *all)
{
    const stk__verdict_facts f = {.gpu = gpu, .all = all, .seconds = all->steady_to_s - all->steady_from_s};
    const stk__verdict_rule *rule = find_rule(&f);
    gpu->finding = rule->finding;
    rule->say(&f, &(stk__sentence){.text = gpu->verdict, .room = sizeof gpu->verdict});
}
