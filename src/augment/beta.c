/* SPDX-License-Identifier: Apache-2.0 */
/* Beta(alpha, alpha) exactly: two gamma variables by Marsaglia and Tsang (2000), in logarithms, because for
 * small alpha the variables themselves underflow. */
#include "augment/operation.h"

#include <math.h>

enum { TRIES = 64 }; /* each fails with less than 1 in 20: all of them never */

/* (0, 1) */
static double inside(uint32_t word)
{
    return (word + 0.5) * 0x1p-32;
}

/* Logarithm of a gamma variable. Draws at.draw, at.draw + 2, … are its own. For alpha below 1 that of
 * alpha + 1 is taken and multiplied by u ^ (1 / alpha). */
static double draw_log_gamma(stk__random_at at, double alpha)
{
    const double shape = alpha < 1 ? alpha + 1 : alpha;
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    double v = 1, boost = 0;
    for (int i = 0; i < TRIES; i++, at.draw += 2) {
        const stk__random r = stk__random_draw(at);
        const double normal = sqrt(-2 * log(inside(r.word[0]))) * cos(6.283185307179586 * inside(r.word[1]));
        const double root = 1 + c * normal;
        if (root <= 0) continue;
        v = root * root * root;
        boost = alpha < 1 ? log(inside(r.word[3])) / alpha : 0;
        if (log(inside(r.word[2])) < 0.5 * normal * normal + d - d * v + d * log(v)) break;
    }
    return log(d * v) + boost;
}

double stk__draw_beta(stk__random_at at, double alpha)
{
    const double x = draw_log_gamma(at, alpha);
    at.draw++;
    const double y = draw_log_gamma(at, alpha);
    return 1 / (1 + exp(y - x));
}
