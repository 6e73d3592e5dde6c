#include "core/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static double read_quota_v2(const char *folder)
{
    char path[PATH_BYTES + 16], quota[32];
    double period = 0, value = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    if (fscanf(file, "%31s %lf", quota, &period) == 2 && strcmp(quota, "max") != 0 && period > 0 &&
        sscanf(quota, "%lf", &value) == 1)
        value /= period;
    fclose(file);
    return value;
}

static double read_number(const char *folder, const char *name)
{
    char path[PATH_BYTES + 32];
    double value = -1;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    if (fscanf(file, "%lf", &value) != 1) value = -1;
    fclose(file);
    return value;
}

static double read_quota_v1(const char *folder)
{
    const double quota = read_number(folder, "cpu.cfs_quota_us"),
                 period = read_number(folder, "cpu.cfs_period_us");
    return quota > 0 && period > 0 ? quota / period : 0;
}

static double lesser(double a, double b)
{
    if (a <= 0) return b;
    return b > 0 && b < a ? b : a;
}

/* The tightest quota from the process's own group up to the mount point. */
static double tightest_quota(const char *mount, const char *group, double (*read_quota)(const char *))
{
    char folder[PATH_BYTES];
    const size_t least = strlen(mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder) return 0;
    double quota = 0;
    for (;;) {
        quota = lesser(quota, read_quota(folder));
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < least) return quota;
        *slash = '\0';
    }
}

static double cgroup_quota(const char *root)
{
    char path[PATH_BYTES], line[PATH_BYTES], mount[PATH_BYTES];
    double quota = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        controllers++;
        if (strcmp(group, "/") == 0) group = "";
        if (!*controllers) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
            quota = lesser(quota, tightest_quota(mount, group, read_quota_v2));
        } else if (strstr(controllers, "cpu") && !strstr(controllers, "cpuset")) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
            quota = lesser(quota, tightest_quota(mount, group, read_quota_v1));
        }
    }
    fclose(file);
    return quota;
}

static int count_affinity(int online)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return online; /* more than 1024 CPUs: take all */
    return CPU_COUNT(&set);
}

stk__cpu_budget stk__cpu_budget_read(const char *root)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    stk__cpu_budget budget = {.online = online > 0 ? (int)online : 1};
    budget.affinity = count_affinity(budget.online);
    budget.quota = cgroup_quota(root ? root : "");
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
