/* SPDX-License-Identifier: Apache-2.0 */
/* The stall table: every moment of a run is booked to exactly one row, by marks between which time passes;
 * the time that a step waited for data is divided by what the loader's workers did meanwhile. One thread.
 * */
#include "train/stall.h"

#include "core/clock.h"

void stk__stall_start(stk__stall *stall)
{
    *stall = (stk__stall){.start_ns = stk__clock_ns(), .trace = stall->trace};
    stall->mark_ns = stall->start_ns;
}

static uint64_t advance(stk__stall *stall, const char *name)
{
    const uint64_t now = stk__clock_ns(), passed = now - stall->mark_ns;
    stk__trace_add(stall->trace, &(stk__trace_span){.name = name, .from_ns = stall->mark_ns, .to_ns = now});
    stall->mark_ns = now;
    return passed;
}

uint64_t stk__stall_mark(stk__stall *stall, stk__stall_row row)
{
    const uint64_t passed = advance(stall, stk__stall_name(row));
    stall->row_ns[row] += (double)passed;
    return passed;
}

/* Clocks are read without a lock. */
static double spent_ns(uint64_t before, uint64_t after)
{
    return after > before ? (double)(after - before) : 0;
}

uint64_t stk__stall_mark_wait(stk__stall *stall, const stk_loader_stats *before,
                              const stk_loader_stats *after)
{
    static const stk__stall_row rows[STK_STAGE_COUNT] = {
        [STK_STAGE_READ] = STK_STALL_READ,   [STK_STAGE_DECODE] = STK_STALL_DECODE,
        [STK_STAGE_MASK] = STK_STALL_DECODE, [STK_STAGE_AUGMENT] = STK_STALL_AUGMENT,
        [STK_STAGE_CACHE] = STK_STALL_READ,  [STK_STAGE_OTHER] = STK_STALL_READ,
    };
    const double passed = (double)advance(stall, "wait for data");
    double spent[STK_STALL_ROWS] = {0}, busy = 0;
    for (int s = 0; s < STK_STAGE_IDLE; s++)
        spent[rows[s]] += spent_ns(before->stage_ns[s], after->stage_ns[s]);
    spent[STK_STALL_COPY] = spent_ns(before->device_copy_ns, after->device_copy_ns);
    spent[STK_STALL_DEVICE_AUGMENT] = spent_ns(before->device_kernel_ns, after->device_kernel_ns);
    for (int row = 0; row < STK_STALL_ROWS; row++)
        busy += spent[row];
    if (busy <= 0)
        stall->row_ns[STK_STALL_READ] += passed; /* a batch that was ready, or a stage that has not ended */
    for (int row = 0; row < STK_STALL_ROWS && busy > 0; row++)
        stall->row_ns[row] += passed * spent[row] / busy;
    return (uint64_t)passed;
}

double stk__stall_share(const stk__stall *stall, stk__stall_row row, double wall_s)
{
    double measured = 0;
    if (!(wall_s > 0)) return 0;
    if (row != STK_STALL_OTHER) return stall->row_ns[row] * 1e-9 / wall_s;
    for (int r = 0; r < STK_STALL_OTHER; r++)
        measured += stall->row_ns[r];
    return 1 - measured * 1e-9 / wall_s;
}

double stk__stall_total_ns(const stk__stall *stall)
{
    return (double)(stall->mark_ns - stall->start_ns);
}

double stk__stall_wait_ns(const stk__stall *stall)
{
    return stall->row_ns[STK_STALL_READ] + stall->row_ns[STK_STALL_DECODE] + stall->row_ns[STK_STALL_AUGMENT];
}

const char *stk__stall_name(stk__stall_row row)
{
    static const char *const names[STK_STALL_ROWS] = {"read",           "decode",  "augment",    "copy",
                                                      "device_augment", "forward", "backward",   "optimiser",
                                                      "sync",           "eval",    "checkpoint", "other"};
    return names[row];
}
