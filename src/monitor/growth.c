#include "monitor/growth.h"

#define WRAP 4294967296.0 /* counters of 32 bits start again here */

/* What was added since the last raw one. */
static double added_since(const stk__growth *growth, double raw)
{
    if (raw >= growth->raw) return raw - growth->raw;
    const bool wrapped = growth->raw < WRAP && growth->raw > 0.75 * WRAP && raw < 0.25 * WRAP;
    return wrapped ? raw + WRAP - growth->raw : raw; /* else it began again at 0 */
}

/* A step back, but no beginning: drivers put counters together from parts that are not of one moment. */
static bool is_jitter(const stk__growth *growth, double raw)
{
    return raw < growth->raw && raw > growth->raw / 2;
}

static void believe(stk__growth *growth, double raw, double added, uint64_t now_ns)
{
    growth->total += added;
    growth->raw = raw;
    growth->when_ns = now_ns;
    growth->begun = true;
    growth->doubted = false;
}

bool stk__growth_add(stk__growth *growth, double raw, double most_per_s, uint64_t now_ns, double *total)
{
    if (!growth->begun) {
        believe(growth, raw, raw, now_ns);
    } else if (!is_jitter(growth, raw)) {
        /* a second more: counters are brought up to date now and then, not all the time */
        const double most = most_per_s * ((double)(now_ns - growth->when_ns) / 1e9 + 1);
        const double added = added_since(growth, raw);
        if (added <= most) {
            believe(growth, raw, added, now_ns);
        } else if (growth->doubted && raw >= growth->doubtful && raw - growth->doubtful <= most) {
            believe(growth, raw, 0, now_ns); /* twice the same story: it counts from there now */
        } else {
            growth->doubted = true;
            growth->doubtful = raw;
            return false;
        }
    }
    *total = growth->total;
    return true;
}
