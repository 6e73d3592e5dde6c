/* SPDX-License-Identifier: Apache-2.0 */
/* The job: a process with all its descendants. Known members are read each time; children of their main
 * threads are found at once, others by scanning all processes now and then, which is expensive. */
#include "core/clock.h"
#include "monitor/gpu_reader.h"
#include "monitor/host/host_proc.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WALK_NS      (10 * STK_SECOND_NS)
#define LEAST_GAP_NS (STK_SECOND_NS / 4) /* three files per process: not every interval */

/* Values of /proc/PID/stat. */
typedef struct facts {
    int32_t parent;
    double cpu_s; /* with that of children that were waited for */
} facts;

static const char *read_text(const stk__host_job *job, int32_t pid, const char *name, char *text)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/%s", job->root, (int)pid, name);
    const char *got = stk__host_text(&file, text);
    stk__host_file_close(&file);
    return got;
}

/* The name stands in brackets and may hold anything: fields are counted from the last bracket on. */
static bool read_facts(const stk__host_job *job, int32_t pid, char *text, facts *f)
{
    const char *stat = read_text(job, pid, "stat", text);
    const char *at = stat ? strrchr(stat, ')') : NULL;
    if (!at || strlen(at) < 4) return false;
    uint64_t number, ticks = 0;
    at += 3; /* ") S" */
    if (!stk__host_number(&at, &number)) return false;
    f->parent = (int32_t)number;
    for (int field = 5; field <= 17; field++) { /* 14 to 17: user and system time, own and children's */
        at += strspn(at, " ");
        const bool minus = *at == '-';
        at += minus;
        if (!stk__host_number(&at, &number)) return false;
        if (field >= 14 && !minus) ticks += number;
    }
    f->cpu_s = (double)ticks / (double)sysconf(_SC_CLK_TCK);
    return true;
}

static bool is_member(const stk__host_job *job, int32_t pid)
{
    for (int i = 0; i < job->count; i++)
        if (job->members[i].pid == pid) return true;
    return false;
}

static bool add_member(stk__host_job *job, int32_t pid)
{
    if (pid <= 0 || job->count == STK_HOST_MEMBERS || is_member(job, pid)) return false;
    job->members[job->count++] = (stk__host_member){.pid = pid};
    return true;
}

static void add_children(stk__host_job *job, int32_t pid, char *text)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/task/%d/children", job->root, (int)pid, (int)pid);
    const char *at = stk__host_text(&file, text);
    stk__host_file_close(&file);
    uint64_t child;
    while (at && stk__host_number(&at, &child))
        add_member(job, (int32_t)child);
}

/* Until no process is found whose parent is a member. A child has a higher number than its parent, nearly
 * always: so mostly once. */
static void walk_all(stk__host_job *job, char *text)
{
    char path[STK_HOST_PATH_BYTES + 16];
    bool found = true;
    snprintf(path, sizeof path, "%s/proc", job->root);
    for (int turn = 0; found && turn < 4; turn++) {
        DIR *folder = opendir(path);
        if (!folder) return;
        found = false;
        for (const struct dirent *entry; (entry = readdir(folder));) {
            const int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
            facts f;
            if (pid > 0 && !is_member(job, pid) && read_facts(job, pid, text, &f) && is_member(job, f.parent))
                found = add_member(job, pid) || found;
        }
        closedir(folder);
    }
}

static double read_memory(const stk__host_job *job, int32_t pid, char *text, double *shared)
{
    const char *at = read_text(job, pid, "statm", text);
    uint64_t size, resident, common;
    if (!at || !stk__host_number(&at, &size) || !stk__host_number(&at, &resident) ||
        !stk__host_number(&at, &common) || common > resident)
        return 0;
    const double page = (double)sysconf(_SC_PAGESIZE);
    *shared =
        fmax(*shared, (double)common * page); /* shared pages are nearly the same in all: counted once */
    return (double)(resident - common) * page;
}

static void drop_dead(stk__host_job *job)
{
    int kept = 0;
    for (int i = 0; i < job->count; i++)
        if (job->members[i].alive) job->members[kept++] = job->members[i];
    job->count = kept;
}

/* Adds up all members; false when there are none. */
static bool sum_members(stk__host_job *job, char *text, double *cpu_s, double *memory)
{
    double shared = 0;
    *cpu_s = *memory = 0;
    for (int i = 0; i < job->count; i++) { /* grows during the loop */
        stk__host_member *member = &job->members[i];
        facts f;
        member->alive = read_facts(job, member->pid, text, &f);
        if (!member->alive) continue;
        *cpu_s += f.cpu_s;
        *memory += read_memory(job, member->pid, text, &shared);
        add_children(job, member->pid, text);
    }
    *memory += shared;
    drop_dead(job);
    return job->count > 0;
}

static void read_anew(stk__host_job *job, char *text, uint64_t now_ns)
{
    double cpu_s, memory;
    const uint64_t before_ns = job->when_ns;
    add_member(job, job->pid);
    if (!job->walked_ns || now_ns > job->walked_ns + WALK_NS) {
        walk_all(job, text);
        job->walked_ns = now_ns;
    }
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
    if (!job->pid) return;
    if (!job->when_ns || now_ns >= job->when_ns + LEAST_GAP_NS) read_anew(job, text, now_ns);
    frame->job_cpu_percent = job->cpu_percent;
    frame->job_memory_bytes = job->memory_bytes;
}
