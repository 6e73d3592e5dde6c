/* A counter of a driver made to one that only grows: wraps of 32 bits are undone, a restart at 0 goes on from
 * where it was, and a jump that nobody can have made is no value. */
#ifndef STK_MONITOR_COUNTER_UNWRAP_H
#define STK_MONITOR_COUNTER_UNWRAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct stk__counter_unwrap {
    bool begun, doubted;
    double raw;      /* last one believed */
    double doubtful; /* last one not believed */
    double total;
    uint64_t when_ns; /* of raw */
} stk__counter_unwrap;

/* most_per_s: how fast it can grow. False: raw is not believed; *total is untouched then. */
bool stk__counter_unwrap_add(stk__counter_unwrap *unwrap, double raw, double most_per_s, uint64_t now_ns,
                             double *total);

#endif
