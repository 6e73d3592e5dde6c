/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of Linux control groups, version 1 and 2. /proc/self/cgroup names the process's own group; from
 * there every ancestor up to the mount point is read, because each of them may be the tightest. Missing
 * files mean no limit. No state: any thread. */
#include "core/cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

double stk__cgroup_number(const char *group, const char *name)
{
    char path[PATH_BYTES + 64];
    double value = -1;
    snprintf(path, sizeof path, "%s/%s", group, name);
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    if (fscanf(file, "%lf", &value) != 1) value = -1;
    fclose(file);
    return value;
}

/* From the process's own group up to the mount point. */
static double climb(const char *mount, const char *group, double (*read_limit)(const char *))
{
    char folder[PATH_BYTES];
    const size_t least = strlen(mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder) return INFINITY;
    double limit = INFINITY;
    for (;;) {
        limit = fmin(limit, read_limit(folder));
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < least) return limit;
        *slash = '\0';
    }
}

/* "cpu" is in "cpu,cpuacct", but not in "cpuset". */
static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
        if (strcspn(list, ",") == length && strncmp(list, name, length) == 0) return true;
    return false;
}

/* One line of /proc/self/cgroup: "number:controllers:group", without controllers in version 2. */
static double read_line(const char *root, char *line, const stk__cgroup_limit *limit)
{
    char mount[PATH_BYTES];
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return INFINITY;
    *group++ = '\0';
    controllers++;
    if (strcmp(group, "/") == 0) group = "";
    if (*controllers && !is_listed(controllers, limit->controller)) return INFINITY;
    const bool unified = !*controllers;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, unified ? "" : "/",
             unified ? "" : limit->controller);
    return climb(mount, group, unified ? limit->read_unified : limit->read_legacy);
}

double stk__cgroup_tightest(const char *root, const stk__cgroup_limit *limit)
{
    char path[PATH_BYTES], line[PATH_BYTES];
    double least = INFINITY;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file) return INFINITY;
    while (fgets(line, sizeof line, file))
        least = fmin(least, read_line(root, line, limit));
    fclose(file);
    return least;
}
