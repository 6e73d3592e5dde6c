/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups that a process is in, and what the tightest of them grants. */
#ifndef STK_CORE_CGROUP_H
#define STK_CORE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* How a limit is read from the folder of a group; INFINITY when that group has none. */
typedef struct stk__cgroup_limit {
    const char *controller;                    /* as version 1 names it: "cpu" */
    double (*read_unified)(const char *group); /* version 2 */
    double (*read_legacy)(const char *group);  /* version 1 */
} stk__cgroup_limit;

/* The least of the limits from the process's own group up to the mount point; INFINITY without any. root:
 * where /proc and /sys are looked for, "" for the real ones; pid 0: this process. */
double stk__cgroup_tightest(const char *root, int32_t pid, const stk__cgroup_limit *limit);

/* Calls `see` with the folder of each group that `controller` has for the process, the innermost first.
 * unified: of version 2. */
typedef void stk__cgroup_see(void *context, const char *folder, bool unified);
void stk__cgroup_climb(const char *root, int32_t pid, const char *controller, stk__cgroup_see *see,
                       void *context);

/* The first number in a file of a group; -1 when there is none ("max", or no such file). */
double stk__cgroup_number(const char *group, const char *file);

#endif
