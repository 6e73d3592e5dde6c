/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the host's readings, the same in every output. */
#ifndef STK_MONITOR_HOST_KEY_H
#define STK_MONITOR_HOST_KEY_H

#include "stoker/monitor.h"

#include <stddef.h>

#define STK_HOST_LIST(X)                                                                                     \
    X(cpu_percent)                                                                                           \
    X(cpu_max_percent)                                                                                       \
    X(job_cpu_percent)                                                                                       \
    X(job_memory_bytes)                                                                                      \
    X(memory_used_bytes)                                                                                     \
    X(memory_total_bytes)                                                                                    \
    X(disk_read_bytes_total)                                                                                 \
    X(disk_written_bytes_total)                                                                              \
    X(cpu_pressure_percent)                                                                                  \
    X(io_pressure_percent)                                                                                   \
    X(memory_pressure_percent)                                                                               \
    X(quota_throttled_s)

enum {
#define STK_HOST_COUNT(name) STK_HOST_KEY_##name,
    STK_HOST_LIST(STK_HOST_COUNT)
#undef STK_HOST_COUNT
        STK_HOST_KEYS
};

static inline const char *stk__host_key(int number)
{
    static const char *const keys[STK_HOST_KEYS] = {
#define STK_HOST_TEXT(name) #name,
        STK_HOST_LIST(STK_HOST_TEXT)
#undef STK_HOST_TEXT
    };
    return keys[number];
}

/* Where it stands in stk_host_frame. */
static inline size_t stk__host_offset(int number)
{
    static const size_t offsets[STK_HOST_KEYS] = {
#define STK_HOST_FIELD(name) offsetof(stk_host_frame, name),
        STK_HOST_LIST(STK_HOST_FIELD)
#undef STK_HOST_FIELD
    };
    return offsets[number];
}

#endif
