/* SPDX-License-Identifier: Apache-2.0 */
/* The length of (x, y). */
#ifndef STK_CORE_DISTANCE_H
#define STK_CORE_DISTANCE_H

#include <math.h>

/* Not hypot, whose care for squares beyond a double no pixel needs: the one of today's glibc is of version
 * 2.35, and alone would keep what we build from systems before that. */
static inline double stk__distance(double x, double y)
{
    return isinf(x) || isinf(y) ? (double)INFINITY : sqrt(x * x + y * y);
}

#endif
