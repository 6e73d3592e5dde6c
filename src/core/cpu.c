/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU budget of a process: min(affinity mask, cgroup CPU quota), at least 1, with the reason in
 * words. Everything that chooses a number of threads asks here instead of counting the machine's CPUs. */
#include "core/cpu.h"

#include "core/cgroup.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static double read_quota_v2(const char *folder)
{
    char path[PATH_BYTES + 16], quota[32];
    double period = 0, value = INFINITY, granted = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = fopen(path, "re");
    if (!file) return INFINITY;
    if (fscanf(file, "%31s %lf", quota, &period) == 2 && strcmp(quota, "max") != 0 && period > 0 &&
        sscanf(quota, "%lf", &granted) == 1)
        value = granted / period;
    fclose(file);
    return value;
}

static double read_quota_v1(const char *folder)
{
    const double quota = stk__cgroup_number(folder, "cpu.cfs_quota_us"),
                 period = stk__cgroup_number(folder, "cpu.cfs_period_us");
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

static const stk__cgroup_limit quotas = {"cpu", read_quota_v2, read_quota_v1};

static int count_affinity(int32_t pid, int online)
{
    cpu_set_t set;
    if (sched_getaffinity(pid, sizeof set, &set) != 0)
        return online; /* more than 1024 CPUs, or no such process: take all */
    return CPU_COUNT(&set);
}

stk__cpu_budget stk__cpu_budget_read(const char *root)
{
    return stk__cpu_budget_of(root, 0);
}

stk__cpu_budget stk__cpu_budget_of(const char *root, int32_t pid)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    stk__cpu_budget budget = {.online = online > 0 ? (int)online : 1};
    budget.affinity = count_affinity(pid, budget.online);
    const double quota = stk__cgroup_tightest(root ? root : "", pid, &quotas);
    budget.quota = isfinite(quota) ? quota : 0;
    budget.cpus = budget.affinity;
    snprintf(budget.why, sizeof budget.why, "%d CPU%s", budget.cpus, budget.cpus == 1 ? "" : "s");
    if (budget.affinity < budget.online)
        snprintf(budget.why, sizeof budget.why, "affinity to %d of %d CPUs", budget.affinity, budget.online);
    if (budget.quota > 0 && budget.quota < budget.cpus) {
        budget.cpus = budget.quota < 1 ? 1 : (int)budget.quota;
        snprintf(budget.why, sizeof budget.why, "cgroup quota of %.3g CPUs", budget.quota);
    }
    return budget;
}
