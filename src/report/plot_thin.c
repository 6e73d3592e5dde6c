/* Fewer points for a long line: the values are cut into bunches, and of each the lowest, the highest and a
 * gap are kept, so that spikes and holes stay visible at any length. */
#include "report/plot.h"

#include <math.h>

enum { PER_BUNCH = 5 };

bool stk__plot_can(double value)
{
    return isfinite(value) && fabs(value) < 1e300; /* so that differences are numbers too */
}

typedef struct bunch {
    size_t low, high, gap; /* indices; count: none */
} bunch;

static bunch look_at(const double *y, size_t from, size_t to)
{
    bunch b = {to, to, to};
    for (size_t i = from; i < to; i++) {
        if (!stk__plot_can(y[i]))
            b.gap = i;
        else {
            if (b.low == to || y[i] < y[b.low]) b.low = i;
            if (b.high == to || y[i] > y[b.high]) b.high = i;
        }
    }
    return b;
}

size_t stk__plot_thin(const double *y, size_t count, uint32_t kept[STK_PLOT_KEPT])
{
    const size_t bunches = STK_PLOT_KEPT / PER_BUNCH, size = (count + bunches - 1) / bunches;
    size_t n = 0;
    if (count <= STK_PLOT_KEPT) {
        for (; n < count; n++)
            kept[n] = (uint32_t)n;
        return n;
    }
    for (size_t from = 0; from < count; from += size) {
        const size_t to = from + size < count ? from + size : count;
        const bunch b = look_at(y, from, to);
        for (size_t i = from; i < to; i++)
            if (i == from || i == to - 1 || i == b.low || i == b.high || i == b.gap) kept[n++] = (uint32_t)i;
    }
    return n;
}
