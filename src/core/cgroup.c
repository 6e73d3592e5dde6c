/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of Linux control groups, version 1 and 2. /proc/PID/cgroup names the process's own group; from
 * there every ancestor up to the mount point is read, because each of them may be the tightest. Missing
 * files mean no limit. No state: any thread. */
#include "core/cgroup.h"

#include <math.h>
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
static void climb(const char *mount, const char *group, bool unified, stk__cgroup_see *see, void *context)
{
    char folder[PATH_BYTES];
    const size_t least = strlen(mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder) return;
    for (;;) {
        see(context, folder, unified);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < least) return;
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

/* One line of /proc/PID/cgroup: "number:controllers:group", without controllers in version 2. */
static void climb_line(const char *root, char *line, const char *controller, stk__cgroup_see *see,
                       void *context)
{
    char mount[PATH_BYTES];
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return;
    *group++ = '\0';
    controllers++;
    if (strcmp(group, "/") == 0) group = "";
    if (*controllers && !is_listed(controllers, controller)) return;
    const bool unified = !*controllers;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, unified ? "" : "/",
             unified ? "" : controller);
    climb(mount, group, unified, see, context);
}

void stk__cgroup_climb(const char *root, int32_t pid, const char *controller, stk__cgroup_see *see,
                       void *context)
{
    char path[PATH_BYTES], line[PATH_BYTES], process[16] = "self";
    if (pid) snprintf(process, sizeof process, "%d", (int)pid);
    snprintf(path, sizeof path, "%s/proc/%s/cgroup", root, process);
    FILE *file = fopen(path, "re");
    if (!file) return;
    while (fgets(line, sizeof line, file))
        climb_line(root, line, controller, see, context);
    fclose(file);
}

typedef struct least_limit {
    const stk__cgroup_limit *limit;
    double least;
} least_limit;

static void see_limit(void *context, const char *folder, bool unified)
{
    least_limit *l = context;
    l->least = fmin(l->least, (unified ? l->limit->read_unified : l->limit->read_legacy)(folder));
}

double stk__cgroup_tightest(const char *root, int32_t pid, const stk__cgroup_limit *limit)
{
    least_limit l = {limit, INFINITY};
    stk__cgroup_climb(root, pid, limit->controller, see_limit, &l);
    return l.least;
}
