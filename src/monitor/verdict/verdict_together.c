/* SPDX-License-Identifier: Apache-2.0 */
/* One verdict for several GPUs: the most serious finding among those in use speaks, and the others are
 * counted behind it. */
#include "monitor/gpu_label.h"
#include "monitor/verdict/verdict.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void stk__sentence_add(stk__sentence *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(s->text, s->room, format, arguments);
    va_end(arguments);
    const size_t used = length < 0 ? 0 : (size_t)length < s->room ? (size_t)length : s->room - 1;
    s->text += used;
    s->room -= used;
}

/* Idle GPUs count only if no GPU is in use. */
static int weight_of(const stk_gpu_summary *gpu)
{
    return strcmp(gpu->finding, "idle") == 0 ? INT_MAX : stk__verdict_rank(gpu->finding);
}

static const stk_gpu_summary *find_weightiest(const stk_monitor_summary *all)
{
    const stk_gpu_summary *found = &all->gpus[0];
    for (int i = 1; i < all->gpu_count; i++)
        if (weight_of(&all->gpus[i]) < weight_of(found)) found = &all->gpus[i];
    return found;
}

static void say_host(const stk_monitor_summary *all, stk__sentence *s)
{
    stk__sentence_add(s, "no GPU was monitored");
    if (all->job_cpu_mean_percent.known == STK_KNOWN)
        stk__sentence_add(s, "; the job used %.1f of %d CPUs", all->job_cpu_mean_percent.value / 100,
                          all->cpu_count);
    else if (all->cpu_mean_percent.known == STK_KNOWN)
        stk__sentence_add(s, "; CPU utilization %.0f %%", all->cpu_mean_percent.value);
}

/* The other GPUs: " [other GPUs: 2 the same, 1 good, 1 idle]". */
static void say_others(const stk_monitor_summary *all, const stk_gpu_summary *worst, stk__sentence *s)
{
    int alike = 0, good = 0, idle = 0;
    for (int i = 0; i < all->gpu_count; i++) {
        const char *finding = all->gpus[i].finding;
        if (&all->gpus[i] == worst) continue;
        if (strcmp(finding, worst->finding) == 0)
            alike++;
        else if (strcmp(finding, "good") == 0)
            good++;
        else if (strcmp(finding, "idle") == 0)
            idle++;
    }
    const int other = all->gpu_count - 1 - alike - good - idle;
    const int counts[] = {alike, other, good, idle};
    static const char *const words[] = {"the same", "with other findings", "good", "idle"};
    const char *before = " [other GPUs: ";
    for (int i = 0; i < 4; i++) {
        if (!counts[i]) continue;
        stk__sentence_add(s, "%s%d %s", before, counts[i], words[i]);
        before = ", ";
    }
    stk__sentence_add(s, "]");
}

void stk__verdict_together(stk_monitor_summary *all)
{
    stk__sentence s = {.text = all->verdict, .room = sizeof all->verdict};
    if (!all->gpu_count) {
        all->finding = "no_gpu";
        say_host(all, &s);
        return;
    }
    const stk_gpu_summary *worst = find_weightiest(all);
    all->finding = worst->finding;
    if (all->gpu_count > 1) stk__sentence_add(&s, "GPU %s: ", stk__gpu_label_of(worst->gpu).text);
    stk__sentence_add(&s, "%s", worst->verdict);
    if (all->gpu_count > 1) say_others(all, worst, &s);
}
