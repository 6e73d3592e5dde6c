/* SPDX-License-Identifier: Apache-2.0 */
/* CPU and disks as the monitor reads them (monitor/host), pressure of the command's innermost control group
 * that has it (else of the machine), throttling by the quotas of its groups, memory and swap. One thread. */
#include "doctor/machine_watch.h"

#include "core/cgroup.h"
#include "core/clock.h"
#include "core/cpu.h"
#include "core/memory.h"
#include "core/ram.h"
#include "doctor/counter.h"
#include "monitor/host/host_proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLOW_NS STK_SECOND_NS /* limits and memory are read so often */
enum { PRESSURES = 3 };

static const char *const pressure_names[PRESSURES] = {"cpu", "io", "memory"};

/* Periods of a group's CPU quota, and those in which it was used up. */
typedef struct quota {
    stk__host_file stat;
    stk__counter periods, throttled;
} quota;

struct stk__machine_watch {
    char root[STK_HOST_PATH_BYTES];
    stk__host *host;
    int32_t pid; /* whose groups are open */
    stk__host_file pressure_files[PRESSURES], paging, memory;
    stk__counter pressures[PRESSURES], swap_in, disk;
    quota quotas[STK_HOST_GROUPS];
    int quota_count;
    uint64_t before_ns, slow_ns;
    double cpu_sum_s, cpu_over_s; /* share times time; the time in which it was known */
    stk__cpu_budget budget;       /* cpus 0: not read yet */
    double memory_used_share, swap_used_bytes;
};

stk_status stk__machine_watch_open(stk__machine_watch **watch, const char *root, stk_error *error)
{
    stk__machine_watch *w = *watch = stk__alloc(sizeof *w);
    if (!w) return stk__fail_memory(error, sizeof *w, "the watch of the machine");
    snprintf(w->root, sizeof w->root, "%s", root);
    w->memory_used_share = w->swap_used_bytes = NAN;
    for (int i = 0; i < PRESSURES; i++)
        w->pressure_files[i] = stk__host_file_open("%s/proc/pressure/%s", root, pressure_names[i]);
    w->paging = stk__host_file_open("%s/proc/vmstat", root);
    w->memory = stk__host_file_open("%s/proc/meminfo", root);
    return stk__host_open(&w->host, 0, root, error);
}

static void close_quotas(stk__machine_watch *w)
{
    for (int i = 0; i < w->quota_count; i++)
        stk__host_file_close(&w->quotas[i].stat);
    w->quota_count = 0;
}

void stk__machine_watch_close(stk__machine_watch **watch)
{
    stk__machine_watch *w = *watch;
    if (!w) return;
    close_quotas(w);
    for (int i = 0; i < PRESSURES; i++)
        stk__host_file_close(&w->pressure_files[i]);
    stk__host_file_close(&w->paging);
    stk__host_file_close(&w->memory);
    stk__host_close(&w->host);
    stk__free(w);
    *watch = NULL;
}

typedef struct group_search {
    stk__machine_watch *watch;
    bool pressure_found;
} group_search;

static void open_group(void *context, const char *folder, bool unified)
{
    group_search *search = context;
    stk__machine_watch *w = search->watch;
    const stk__host_file stat = stk__host_file_open("%s/cpu.stat", folder);
    if (stat.file >= 0 && w->quota_count < STK_HOST_GROUPS)
        w->quotas[w->quota_count++] = (quota){.stat = stat};
    else if (stat.file >= 0)
        close(stat.file);
    for (int i = 0; unified && !search->pressure_found && i < PRESSURES; i++) {
        const stk__host_file pressure = stk__host_file_open("%s/%s.pressure", folder, pressure_names[i]);
        if (pressure.file < 0) return;
        stk__host_file_close(&w->pressure_files[i]);
        w->pressure_files[i] = pressure;
        w->pressures[i] = (stk__counter){0};
        if (i == PRESSURES - 1) search->pressure_found = true;
    }
}

static void open_groups(stk__machine_watch *w, int32_t pid)
{
    group_search search = {.watch = w};
    close_quotas(w);
    stk__cgroup_climb(w->root, pid, "cpu", open_group, &search);
    w->pid = pid;
}

/* Puts the number behind `key` into the counter. */
static void count_line(stk__counter *counter, const char *text, const char *key, double unit, uint64_t now_ns)
{
    const char *at = text ? stk__host_line(text, key) : NULL;
    uint64_t number;
    if (at && stk__host_number(&at, &number)) stk__counter_put(counter, (double)number * unit, now_ns);
}

static void read_host(stk__machine_watch *w, uint64_t now_ns)
{
    stk_host_frame frame;
    stk__host_read(w->host, &frame);
    if (frame.cpu_percent.known == STK_KNOWN && w->before_ns) {
        const double passed_s = (double)(now_ns - w->before_ns) * 1e-9;
        w->cpu_sum_s += frame.cpu_percent.value / 100 * passed_s;
        w->cpu_over_s += passed_s;
    }
    if (frame.disk_read_bytes_total.known == STK_KNOWN)
        stk__counter_put(&w->disk, frame.disk_read_bytes_total.value, now_ns);
    w->before_ns = now_ns;
}

static void read_limits(stk__machine_watch *w, int32_t pid, char *text)
{
    w->budget = stk__cpu_budget_of(w->root, pid);
    w->memory_used_share = fmax(w->memory_used_share, stk__ram_used_share(w->root, pid));
    const char *memory = stk__host_text(&w->memory, text);
    const char *total = memory ? stk__host_line(memory, "SwapTotal:") : NULL,
               *left = memory ? stk__host_line(memory, "SwapFree:") : NULL;
    uint64_t total_kib, left_kib;
    if (total && left && stk__host_number(&total, &total_kib) && stk__host_number(&left, &left_kib) &&
        left_kib <= total_kib)
        w->swap_used_bytes = (double)(total_kib - left_kib) * 1024;
}

void stk__machine_watch_look(stk__machine_watch *w, int32_t pid, char *text, uint64_t now_ns)
{
    read_host(w, now_ns);
    if (pid && pid != w->pid) open_groups(w, pid);
    for (int i = 0; i < PRESSURES; i++) {
        const char *pressure = stk__host_text(&w->pressure_files[i], text);
        uint64_t waited_us;
        if (pressure && stk__host_pressure_us(pressure, &waited_us))
            stk__counter_put(&w->pressures[i], (double)waited_us * 1e-6, now_ns);
    }
    for (int i = 0; i < w->quota_count; i++) {
        const char *stat = stk__host_text(&w->quotas[i].stat, text);
        count_line(&w->quotas[i].periods, stat, "nr_periods ", 1, now_ns);
        count_line(&w->quotas[i].throttled, stat, "nr_throttled ", 1, now_ns);
    }
    count_line(&w->swap_in, stk__host_text(&w->paging, text), "pswpin ", (double)sysconf(_SC_PAGESIZE),
               now_ns);
    if (!pid || (w->slow_ns && now_ns < w->slow_ns + SLOW_NS)) return;
    w->slow_ns = now_ns;
    read_limits(w, pid, text);
}

/* Of the group that was stopped most. */
static double throttled_share(const stk__machine_watch *w)
{
    double share = NAN;
    for (int i = 0; i < w->quota_count; i++) {
        const stk__counter *periods = &w->quotas[i].periods, *throttled = &w->quotas[i].throttled;
        if (periods->last_ns <= periods->first_ns || throttled->last_ns <= throttled->first_ns) continue;
        const double passed = periods->last - periods->first, stopped = throttled->last - throttled->first;
        share = fmax(share, passed > 0 ? fmin(stopped / passed, 1) : 0);
    }
    return share;
}

void stk__machine_watch_report(const stk__machine_watch *w, stk__machine_evidence *machine)
{
    double *const pressures[PRESSURES] = {&machine->cpu_pressure, &machine->io_pressure,
                                          &machine->memory_pressure};
    for (int i = 0; i < PRESSURES; i++) {
        const double share = stk__counter_per_s(&w->pressures[i]);
        *pressures[i] = share > 1 ? 1 : share; /* NAN stays */
    }
    if (w->budget.cpus) {
        const bool limited = w->budget.quota > 0;
        machine->quota_cpus = limited ? w->budget.quota : NAN;
        machine->cpus = limited ? fmin(w->budget.quota, w->budget.affinity) : w->budget.affinity;
    }
    machine->throttled_share = throttled_share(w);
    machine->cpu_share = w->cpu_over_s > 0 ? w->cpu_sum_s / w->cpu_over_s : NAN;
    machine->memory_used_share = w->memory_used_share;
    machine->swap_used_bytes = w->swap_used_bytes;
    machine->swap_in_bytes_per_s = stk__counter_per_s(&w->swap_in);
    machine->disk_read_bytes_per_s = stk__counter_per_s(&w->disk);
}
