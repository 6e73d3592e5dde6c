#include "bench_process.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*visit_process)(const char *pid, double cpu_s, void *context);

/* The line of /proc/PID/stat: the name in brackets may hold anything, so what counts begins behind the last
 * one. */
static void visit_member(const char *pid, pid_t group, visit_process visit, void *context)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return; /* it has just ended */
    const size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    const char *rest = strrchr(line, ')');
    int its_group = 0;
    unsigned long long user, system;
    long long children_user, children_system;
    if (!rest || sscanf(rest, ") %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld", &its_group,
                        &user, &system, &children_user, &children_system) != 5)
        return;
    if (its_group != group) return;
    const double ticks = (double)user + (double)system + (double)children_user + (double)children_system;
    visit(pid, ticks / (double)sysconf(_SC_CLK_TCK), context);
}

static void visit_group(pid_t group, visit_process visit, void *context)
{
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (isdigit((unsigned char)entry->d_name[0])) visit_member(entry->d_name, group, visit, context);
    if (folder) closedir(folder);
}

static void add_cpu(const char *pid, double cpu_s, void *context)
{
    (void)pid;
    *(double *)context += cpu_s;
}

double stk__group_cpu_seconds(pid_t group)
{
    double sum = 0;
    visit_group(group, add_cpu, &sum);
    return sum;
}

static void add_memory(const char *pid, double cpu_s, void *context)
{
    (void)cpu_s;
    char path[64], line[128];
    unsigned long long kib;
    snprintf(path, sizeof path, "/proc/%.20s/smaps_rollup", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Pss_Anon: %llu", &kib) == 1 || sscanf(line, "Pss_Shmem: %llu", &kib) == 1)
            *(uint64_t *)context += kib * 1024;
    if (file) fclose(file);
}

uint64_t stk__group_memory_bytes(pid_t group)
{
    uint64_t sum = 0;
    visit_group(group, add_memory, &sum);
    return sum;
}
