/* SPDX-License-Identifier: Apache-2.0 */
/* Throttle reasons of a reading. */
#ifndef STK_MONITOR_THROTTLE_H
#define STK_MONITOR_THROTTLE_H

#include "stoker/monitor.h"

enum { STK_THROTTLES = 6 }; /* bits of stk_throttle */

/* For scripts; for people the program has words of its own. */
static inline const char *stk__throttle_id(int bit)
{
    static const char *const ids[STK_THROTTLES] = {"power", "heat", "brake", "sync", "user", "other"};
    return ids[bit];
}

/* Bits of stk_throttle; none when it is unknown or invalid. */
static inline unsigned stk__throttle_bits(stk_reading throttle)
{
    const bool known = throttle.known == STK_KNOWN && throttle.value >= 0 && throttle.value < 64;
    return known ? (unsigned)throttle.value : 0;
}

#endif
