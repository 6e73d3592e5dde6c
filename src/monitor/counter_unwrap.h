/* SPDX-License-Identifier: Apache-2.0 */
/* Unwraps a driver's counter into a monotonic one: 32-bit wraparound is undone, a restart at 0 continues from
 * the last total, and an implausible jump is rejected. */
#ifndef STK_MONITOR_COUNTER_UNWRAP_H
#define STK_MONITOR_COUNTER_UNWRAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct stk__counter_unwrap {
    bool begun, doubted;
    double raw;      /* last valid one */
    double doubtful; /* last rejected one */
    double total;
    uint64_t when_ns; /* of raw */
} stk__counter_unwrap;

/* most_per_s: maximum rate. False: raw is rejected; *total is unchanged. */
bool stk__counter_unwrap_add(stk__counter_unwrap *unwrap, double raw, double most_per_s, uint64_t now_ns,
                             double *total);

#endif
