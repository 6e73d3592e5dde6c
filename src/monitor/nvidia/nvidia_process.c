/* SPDX-License-Identifier: Apache-2.0 */
/* Processes on the GPU: memory, and utilization where the driver reports it. */
#include "monitor/nvidia/nvidia_state.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_PID = 1 << 22 }; /* maximum pid of Linux: a higher one is invalid */

static void read_name(unsigned pid, char *name, size_t size)
{
    char path[64];
    name[0] = '\0';
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return; /* of another name space */
    const ssize_t got = read(file, name, size - 1);
    close(file);
    name[got > 0 ? got : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

/* Cached facts of pid; a new entry replaces one of an ended process. NULL: too many. */
static stk__nvidia_known *remember(stk__nvidia_state *s, unsigned pid)
{
    stk__nvidia_known *free_place = NULL;
    for (int i = 0; i < STK_GPU_PROCESSES; i++) {
        stk__nvidia_known *known = &s->known[i];
        if (known->pid == pid) return known;
        if (!known->pid && !free_place) free_place = known;
    }
    if (!free_place) return NULL;
    *free_place = (stk__nvidia_known){.pid = pid};
    read_name(pid, free_place->name, sizeof free_place->name);
    return free_place;
}

/* A process can be in both lists: its memory is the same then. */
static void tell_process(stk__nvidia_state *s, unsigned pid, unsigned long long used)
{
    const stk_reading *total = &s->frame->readings[STK_METRIC_MEMORY_TOTAL];
    stk_gpu_frame *frame = s->frame;
    if (pid == 0 || pid > MOST_PID) return;
    for (int i = 0; i < frame->process_count; i++)
        if (frame->processes[i].pid == (int32_t)pid) return;
    stk__nvidia_known *known = remember(s, pid);
    if (!known || frame->process_count == STK_GPU_PROCESSES) return;
    known->seen = true;
    stk_gpu_process *process = &frame->processes[frame->process_count++];
    *process = (stk_gpu_process){.pid = (int32_t)pid};
    memcpy(process->name, known->name, sizeof process->name);
    if (used == ULLONG_MAX)
        process->memory_bytes.known = STK_UNSUPPORTED; /* as under MIG */
    else if (total->known == STK_KNOWN && (double)used <= total->value)
        process->memory_bytes = stk__reading_known((double)used, s->now_ns);
}

typedef struct list_ask {
    int newer, older; /* asks */
    int (*call2)(void *, unsigned *, stk__nvml_process *);
    int (*call1)(void *, unsigned *, stk__nvml_process1 *);
} list_ask;

/* False: not reported. */
static bool read_list(stk__nvidia_state *s, const list_ask *list)
{
    unsigned count = STK_NVIDIA_PROCESSES;
    if (stk__nvidia_may(s, list->newer, list->call2)) {
        const int result = list->call2(s->device, &count, s->desk->processes);
        if (!stk__nvidia_heard(s, list->newer, result, "processes")) return result == STK_NVML_NOT_FOUND;
        for (unsigned i = 0; i < count && i < STK_NVIDIA_PROCESSES; i++)
            tell_process(s, s->desk->processes[i].pid, s->desk->processes[i].used);
        return true;
    }
    if (!stk__nvidia_may(s, list->older, list->call1)) return false;
    const int result = list->call1(s->device, &count, s->desk->processes1);
    if (!stk__nvidia_heard(s, list->older, result, "processes")) return result == STK_NVML_NOT_FOUND;
    for (unsigned i = 0; i < count && i < STK_NVIDIA_PROCESSES; i++)
        tell_process(s, s->desk->processes1[i].pid, s->desk->processes1[i].used);
    return true;
}

/* Some drivers return stale entries: percentages in the billions, processes that do not exist. Only plausible
 * entries of a process on this GPU count, and only their time stamps are kept. */
static void take_load(stk__nvidia_state *s, const stk__nvml_process_load *load, uint64_t *newest_us)
{
    if (load->sm > 100 || load->pid == 0 || load->stamp_us <= s->process_stamp_us) return;
    for (int i = 0; i < STK_GPU_PROCESSES; i++) {
        if (s->known[i].pid != load->pid) continue;
        s->known[i].util = stk__reading_known(load->sm, s->now_ns);
        if (load->stamp_us > *newest_us && load->stamp_us < 1ull << 53) *newest_us = load->stamp_us;
    }
}

static void read_loads(stk__nvidia_state *s)
{
    unsigned count = STK_NVIDIA_PROCESS_LOADS;
    uint64_t newest_us = s->process_stamp_us;
    if (!stk__nvidia_may(s, STK_ASK_PROCESS_LOADS, s->nvml->process_loads)) return;
    const int result = s->nvml->process_loads(s->device, s->desk->loads, &count, s->process_stamp_us);
    if (!stk__nvidia_heard(s, STK_ASK_PROCESS_LOADS, result, "utilization per process")) return;
    for (unsigned i = 0; i < count && i < STK_NVIDIA_PROCESS_LOADS; i++)
        take_load(s, &s->desk->loads[i], &newest_us);
    s->process_stamp_us = newest_us;
}

static void tell_loads(stk__nvidia_state *s)
{
    const bool never = !s->nvml->process_loads || s->again_ns[STK_ASK_PROCESS_LOADS];
    for (int i = 0; i < s->frame->process_count; i++) {
        stk_gpu_process *process = &s->frame->processes[i];
        for (int k = 0; k < STK_GPU_PROCESSES; k++)
            if (s->known[k].pid == (unsigned)process->pid) process->util_percent = s->known[k].util;
        if (never) process->util_percent = (stk_reading){.known = STK_UNSUPPORTED};
    }
}

void stk__nvidia_read_processes(stk__nvidia_state *s)
{
    const list_ask compute = {STK_ASK_COMPUTE2, STK_ASK_COMPUTE1, s->nvml->compute2, s->nvml->compute1};
    const list_ask graphics = {STK_ASK_GRAPHICS2, STK_ASK_GRAPHICS1, s->nvml->graphics2, s->nvml->graphics1};
    for (int i = 0; i < STK_GPU_PROCESSES; i++)
        s->known[i].seen = false;
    const bool told = read_list(s, &compute);
    read_list(s, &graphics);
    if (s->frame->state != STK_GPU_GOOD) return;
    s->frame->processes_known = told;
    for (int i = 0; told && i < STK_GPU_PROCESSES; i++)
        if (!s->known[i].seen) s->known[i].pid = 0;
    if (s->frame->process_count) read_loads(s);
    if (s->frame->state == STK_GPU_GOOD) tell_loads(s);
}
