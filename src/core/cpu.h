/* SPDX-License-Identifier: Apache-2.0 */
/* How many CPUs a process may really use: min(affinity, cgroup quota, cpuset). */
#ifndef STK_CORE_CPU_H
#define STK_CORE_CPU_H

#include <stdint.h>

typedef struct stk__cpu_budget {
    int cpus;     /* what to plan with, >= 1 */
    int online;   /* CPUs of the machine */
    int affinity; /* CPUs the process may run on (cpusets included) */
    double quota; /* CPUs' worth of time the cgroup grants; 0: unlimited */
    char why[64]; /* "2 CPUs", "quota of 1.5 CPUs", "affinity to 2 of 16 CPUs" */
} stk__cpu_budget;

/* root: where the cgroup file system and /proc are looked for; NULL or "" for the real ones (tests set it).
 */
stk__cpu_budget stk__cpu_budget_read(const char *root);
stk__cpu_budget stk__cpu_budget_of(const char *root, int32_t pid); /* of another process; 0: this one */

#endif
