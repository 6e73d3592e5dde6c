/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time and memory of the job: a process with all its descendants (process_tree.h). */
#include "core/clock.h"
#include "monitor/gpu_reader.h"
#include "monitor/host/host_proc.h"

#include <math.h>
#include <unistd.h>

#define LEAST_GAP_NS (STK_SECOND_NS / 4) /* three files per process: not every interval */

static double read_memory(const stk__host_job *job, int32_t pid, char *text, double *shared)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/statm", job->tree.root, (int)pid);
    const char *at = stk__host_text(&file, text);
    stk__host_file_close(&file);
    uint64_t size, resident, common;
    if (!at || !stk__host_number(&at, &size) || !stk__host_number(&at, &resident) ||
        !stk__host_number(&at, &common) || common > resident)
        return 0;
    const double page = (double)sysconf(_SC_PAGESIZE);
    *shared =
        fmax(*shared, (double)common * page); /* shared pages are nearly the same in all: counted once */
    return (double)(resident - common) * page;
}

/* Adds up all members; false when there are none. */
static bool sum_members(stk__host_job *job, char *text, double *cpu_s, double *memory)
{
    double shared = 0;
    *cpu_s = *memory = 0;
    for (int i = 0; i < job->tree.count; i++) {
        const stk__tree_process *member = &job->tree.members[i];
        *cpu_s += member->stat.cpu_s + member->stat.waited_cpu_s;
        *memory += read_memory(job, member->pid, text, &shared);
    }
    *memory += shared;
    return job->tree.count > 0;
}

static void read_anew(stk__host_job *job, char *text, uint64_t now_ns)
{
    double cpu_s, memory;
    const uint64_t before_ns = job->when_ns;
    stk__process_tree_look(&job->tree, text, now_ns);
    job->cpu_percent = job->memory_bytes = (stk_reading){0};
    job->when_ns = 0;
    if (!sum_members(job, text, &cpu_s, &memory)) return; /* the job has ended: unknown */
    job->when_ns = now_ns;
    job->memory_bytes = stk__reading_known(memory, now_ns);
    if (before_ns && cpu_s >= job->cpu_s) /* less: a process ended, and its time is no longer counted */
        job->cpu_percent =
            stk__reading_known(100e9 * (cpu_s - job->cpu_s) / (double)(now_ns - before_ns), now_ns);
    job->cpu_s = cpu_s;
}

void stk__host_read_job(stk__host_job *job, char *text, uint64_t now_ns, stk_host_frame *frame)
{
    if (!job->tree.pid) return;
    if (!job->when_ns || now_ns >= job->when_ns + LEAST_GAP_NS) read_anew(job, text, now_ns);
    frame->job_cpu_percent = job->cpu_percent;
    frame->job_memory_bytes = job->memory_bytes;
}
