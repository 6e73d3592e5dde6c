/* SPDX-License-Identifier: Apache-2.0 */
/* CPU utilization from the per-CPU ticks of /proc/stat. */
#include "monitor/gpu_reader.h"
#include "monitor/host/host_proc.h"

#include <sched.h>

/* CPUs of our affinity mask; all of them, if it cannot be read. */
static void find_usable(const stk__host_cpus *cpus, cpu_set_t *usable)
{
    if (!cpus->all && sched_getaffinity(0, sizeof *usable, usable) == 0) return;
    CPU_ZERO(usable);
    for (int i = 0; i < STK_HOST_CPUS; i++)
        CPU_SET((size_t)i, usable);
}

/* user nice system idle iowait irq softirq steal; guests are in user already. */
static bool read_ticks(const char *text, uint64_t *busy, uint64_t *total)
{
    uint64_t ticks[8] = {0};
    int count = 0;
    while (count < 8 && stk__host_number(&text, &ticks[count]))
        count++;
    *total = 0;
    for (int i = 0; i < count; i++)
        *total += ticks[i];
    *busy = *total - ticks[3] - ticks[4];
    return count >= 4;
}

typedef struct sums {
    int count;
    double busy, total, most;
} sums;

static void add_cpu(stk__host_cpus *cpus, int cpu, const char *ticks, sums *usable)
{
    uint64_t busy, total;
    if (!read_ticks(ticks, &busy, &total)) return;
    if (usable) usable->count++;
    const uint64_t before = cpus->total[cpu];
    if (before && total > before && busy >= cpus->busy[cpu]) { /* iowait may fall: then it stays unknown */
        const double part = (double)(busy - cpus->busy[cpu]), whole = (double)(total - before);
        const double percent = part > whole ? 100 : 100 * part / whole;
        cpus->percent[cpu] = (float)percent;
        if (usable) {
            usable->busy += part;
            usable->total += whole;
            if (percent > usable->most) usable->most = percent;
        }
    }
    cpus->busy[cpu] = busy;
    cpus->total[cpu] = total;
    if (cpu >= cpus->count) cpus->count = cpu + 1;
}

void stk__host_read_cpus(stk__host_cpus *cpus, char *text, uint64_t now_ns, stk_host_frame *frame)
{
    cpu_set_t usable;
    sums sum = {0};
    const char *at = stk__host_text(&cpus->stat, text);
    find_usable(cpus, &usable);
    for (int i = 0; i < STK_HOST_CPUS; i++)
        cpus->percent[i] = -1;
    while (at && (at = stk__host_line(at, "cpu"))) {
        uint64_t cpu;
        if (*at == ' ' || !stk__host_number(&at, &cpu) || cpu >= STK_HOST_CPUS) continue; /* all together */
        add_cpu(cpus, (int)cpu, at, CPU_ISSET(cpu, &usable) ? &sum : NULL);
    }
    if (sum.total > 0) {
        frame->cpu_percent = stk__reading_known(100 * sum.busy / sum.total, now_ns);
        frame->cpu_max_percent = stk__reading_known(sum.most, now_ns);
    }
    frame->cpu_count = sum.count;
    frame->core_count = cpus->count;
    frame->core_percent = cpus->percent;
}
