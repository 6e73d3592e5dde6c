/* SPDX-License-Identifier: Apache-2.0 */
/* A counter that only grows, read now and then: its mean rate between the first and the last reading. */
#ifndef STK_DOCTOR_COUNTER_H
#define STK_DOCTOR_COUNTER_H

#include <math.h>
#include <stdint.h>

typedef struct stk__counter {
    double first, last;
    uint64_t first_ns, last_ns; /* last_ns 0: never read */
} stk__counter;

/* It was 0 then: what began while it was watched. */
static inline stk__counter stk__counter_from(uint64_t begin_ns)
{
    return (stk__counter){.first_ns = begin_ns, .last_ns = begin_ns};
}

static inline void stk__counter_put(stk__counter *counter, double value, uint64_t now_ns)
{
    if (!counter->last_ns || value < counter->first) *counter = (stk__counter){value, value, now_ns, now_ns};
    counter->last = value;
    counter->last_ns = now_ns;
}

/* NAN: not read twice. */
static inline double stk__counter_per_s(const stk__counter *counter)
{
    if (counter->last_ns <= counter->first_ns) return NAN;
    return (counter->last - counter->first) / ((double)(counter->last_ns - counter->first_ns) * 1e-9);
}

#endif
