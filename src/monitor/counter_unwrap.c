/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a raw driver counter into one that only grows: 32-bit wraps are undone, a reset continues from
 * where it was, small steps back are ignored and implausible jumps wait for confirmation. */
#include "monitor/counter_unwrap.h"

#define WRAP 4294967296.0 /* 32-bit counters wrap here */

/* Increase since the last raw value. */
static double added_since(const stk__counter_unwrap *unwrap, double raw)
{
    if (raw >= unwrap->raw) return raw - unwrap->raw;
    const bool wrapped = unwrap->raw < WRAP && unwrap->raw > 0.75 * WRAP && raw < 0.25 * WRAP;
    return wrapped ? raw + WRAP - unwrap->raw : raw; /* else it began again at 0 */
}

/* A small step back, not a restart: drivers assemble counters from parts read at different times. */
static bool is_jitter(const stk__counter_unwrap *unwrap, double raw)
{
    return raw < unwrap->raw && raw > unwrap->raw / 2;
}

static void believe(stk__counter_unwrap *unwrap, double raw, double added, uint64_t now_ns)
{
    unwrap->total += added;
    unwrap->raw = raw;
    unwrap->when_ns = now_ns;
    unwrap->begun = true;
    unwrap->doubted = false;
}

bool stk__counter_unwrap_add(stk__counter_unwrap *unwrap, double raw, double most_per_s, uint64_t now_ns,
                             double *total)
{
    if (!unwrap->begun) {
        believe(unwrap, raw, raw, now_ns);
    } else if (!is_jitter(unwrap, raw)) {
        /* one extra second: drivers update counters only now and then */
        const double most = most_per_s * ((double)(now_ns - unwrap->when_ns) / 1e9 + 1);
        const double added = added_since(unwrap, raw);
        if (added <= most) {
            believe(unwrap, raw, added, now_ns);
        } else if (unwrap->doubted && raw >= unwrap->doubtful && raw - unwrap->doubtful <= most) {
            believe(unwrap, raw, 0, now_ns); /* consistent with the last rejected one: new base */
        } else {
            unwrap->doubted = true;
            unwrap->doubtful = raw;
            return false;
        }
    }
    *total = unwrap->total;
    return true;
}
