/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process can still take: what the machine has to spare, within its cgroups' limits. */
#ifndef STK_CORE_RAM_H
#define STK_CORE_RAM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct stk__ram {
    bool known;
    uint64_t available_bytes; /* without pushing anything out but files that can be read again */
    const char *whose;        /* "the machine", "the cgroup": who sets that limit */
} stk__ram;

/* root: where the cgroup file system and /proc are looked for; NULL or "" for the real ones (tests set it).
 */
stk__ram stk__ram_read(const char *root);

/* Memory in use of what a process may use, 0 to 1, by the machine or the cgroup that has the least left of
 * its own; page cache does not count. pid 0: this process. NAN: unknown. */
double stk__ram_used_share(const char *root, int32_t pid);

#endif
