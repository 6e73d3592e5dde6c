/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time, and a stopwatch that divides a thread's life into named stages. */
#ifndef STK_CORE_CLOCK_H
#define STK_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define STK_SECOND_NS UINT64_C(1000000000)

static inline uint64_t stk__clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * STK_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* CPU time of the calling thread: stands still while the thread, the process or the machine does. */
static inline uint64_t stk__clock_thread_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * STK_SECOND_NS + (uint64_t)used.tv_nsec;
}

static inline uint64_t stk__seconds_ns(double seconds)
{
    return seconds <= 0 ? 0 : (uint64_t)(seconds * 1e9);
}

#endif
