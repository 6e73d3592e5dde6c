/* One GPU's watch: a thread that asks the driver, replaced when a call does not come back.
 *
 * The thread polls on its own, on the grid start_ns + n gap_ns, so that the driver's buffers never overflow
 * however late their owner comes. What it was told is merged until it is taken. The lock is never held during
 * a call of the driver. A thread that hangs is left with its seat; a successor tries to revive the GPU, later
 * and later, and at once when the lost one comes back. */
#ifndef STK_MONITOR_LOOKOUT_H
#define STK_MONITOR_LOOKOUT_H

#include "monitor/gpu_reader.h"

typedef struct stk__lookout stk__lookout;

typedef struct stk__lookout_options {
    stk__reader *reader; /* must outlive the lookout, and for ever those that left threads behind */
    int number;          /* of the GPU in reader */
    uint64_t start_ns, gap_ns;
    uint64_t deadline_ns; /* for one call of the driver */
} stk__lookout_options;

stk_status stk__lookout_open(stk__lookout **lookout, const stk__lookout_options *options, stk_error *error);

/* All but open and close: from one thread, the owner's. None of them waits for the driver except wait. */
void stk__lookout_ask(stk__lookout *lookout); /* for a poll out of turn */
/* Until a poll that began at since_ns or later is there, or until_ns, or there is nothing to wait for. */
void stk__lookout_wait(stk__lookout *lookout, uint64_t since_ns, uint64_t until_ns);
/* Leaves a thread that hangs and starts its successor. Often enough: twice per deadline. */
void stk__lookout_check(stk__lookout *lookout);
/* What was told since the last take. */
void stk__lookout_take(stk__lookout *lookout, stk_gpu_frame *frame);

void stk__lookout_stop(stk__lookout *lookout); /* asks the thread to end; close waits for it */
/* Number of threads that still hang at until_ns and were left behind for good, with the memory they use. */
int stk__lookout_close(stk__lookout **lookout, uint64_t until_ns);

#endif
