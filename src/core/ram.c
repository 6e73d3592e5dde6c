/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a process may still use: MemAvailable of the machine, and for each control group its
 * limit minus what it uses, where reclaimable page cache does not count as used; the least of them. */
#include "core/ram.h"

#include "core/cgroup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

/* The numbers of a file of "name number" lines whose names are asked for, added up; -1 when none is there. */
static double sum_lines(const char *path, const char *const names[2])
{
    char line[256], name[64];
    double sum = -1, value;
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    while (fgets(line, sizeof line, file))
        for (int i = 0; i < 2 && names[i]; i++)
            if (sscanf(line, "%63s %lf", name, &value) == 2 && strcmp(name, names[i]) == 0)
                sum = fmax(sum, 0) + value;
    fclose(file);
    return sum;
}

typedef struct group_memory {
    double limit, used; /* limit INFINITY: none */
} group_memory;

/* Files in the page cache count as used, but are given back when memory is wanted. */
static group_memory memory_of(const char *group, double limit, double used, const char *const cached[2])
{
    char path[PATH_BYTES + 64];
    if (limit < 0 || limit >= 0x1p60 || used < 0)
        return (group_memory){INFINITY, 0}; /* version 1 writes a huge number for none */
    snprintf(path, sizeof path, "%s/memory.stat", group);
    return (group_memory){limit, fmax(used - fmax(sum_lines(path, cached), 0), 0)};
}

static group_memory read_unified(const char *group)
{
    static const char *const cached[2] = {"inactive_file", "active_file"};
    const double most = stk__cgroup_number(group, "memory.max"),
                 high = stk__cgroup_number(group, "memory.high"); /* above it the kernel slows everything */
    const double limit = most < 0 || (high >= 0 && high < most) ? high : most;
    return memory_of(group, limit, stk__cgroup_number(group, "memory.current"), cached);
}

static group_memory read_legacy(const char *group)
{
    static const char *const cached[2] = {"total_inactive_file", "total_active_file"};
    return memory_of(group, stk__cgroup_number(group, "memory.limit_in_bytes"),
                     stk__cgroup_number(group, "memory.usage_in_bytes"), cached);
}

static double left_of(group_memory m)
{
    return fmax(m.limit - m.used, 0);
}

static double left_unified(const char *group)
{
    return left_of(read_unified(group));
}

static double left_legacy(const char *group)
{
    return left_of(read_legacy(group));
}

static double left_share(group_memory m)
{
    return m.limit > 0 && isfinite(m.limit) ? left_of(m) / m.limit : INFINITY;
}

static double left_share_unified(const char *group)
{
    return left_share(read_unified(group));
}

static double left_share_legacy(const char *group)
{
    return left_share(read_legacy(group));
}

/* "MemTotal:" or "MemAvailable:" in bytes; negative: unknown. */
static double read_machine(const char *root, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    return 1024 * sum_lines(path, (const char *const[2]){name});
}

stk__ram stk__ram_read(const char *root)
{
    static const stk__cgroup_limit memory = {"memory", left_unified, left_legacy};
    if (!root) root = "";
    const double machine = read_machine(root, "MemAvailable:");
    const double groups = stk__cgroup_tightest(root, 0, &memory);
    const bool grouped = isfinite(groups) && (machine < 0 || groups < machine);
    const double available = grouped ? groups : machine;
    if (available < 0) return (stk__ram){.whose = "the machine"};
    return (stk__ram){true, (uint64_t)available, grouped ? "the cgroup" : "the machine"};
}

double stk__ram_used_share(const char *root, int32_t pid)
{
    static const stk__cgroup_limit memory = {"memory", left_share_unified, left_share_legacy};
    if (!root) root = "";
    const double total = read_machine(root, "MemTotal:"), available = read_machine(root, "MemAvailable:");
    double left = stk__cgroup_tightest(root, pid, &memory);
    if (total > 0 && available >= 0) left = fmin(left, available / total);
    return isfinite(left) ? fmax(1 - left, 0) : NAN;
}
