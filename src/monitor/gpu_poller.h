/* One GPU's watch: a thread that asks the driver, replaced when a call does not come back.
 *
 * The thread polls on its own, on the grid start_ns + n gap_ns, so that the driver's buffers never overflow
 * however late their owner comes. What it was told is merged until it is taken. The lock is never held during
 * a call of the driver. A thread that hangs is left with its context; a successor tries to revive the GPU,
 * later and later, and at once when the lost one comes back. */
#ifndef STK_MONITOR_GPU_POLLER_H
#define STK_MONITOR_GPU_POLLER_H

#include "monitor/gpu_reader.h"

typedef struct stk__gpu_poller stk__gpu_poller;

typedef struct stk__gpu_poller_options {
    stk__gpu_reader *reader; /* must outlive the poller, and for ever those that left threads behind */
    int number;              /* of the GPU in reader */
    uint64_t start_ns, gap_ns;
    uint64_t deadline_ns; /* for one call of the driver */
} stk__gpu_poller_options;

stk_status stk__gpu_poller_open(stk__gpu_poller **poller, const stk__gpu_poller_options *options,
                                stk_error *error);

/* All but open and close: from one thread, the owner's. None of them waits for the driver except wait. */
void stk__gpu_poller_ask(stk__gpu_poller *poller); /* for a poll out of turn */
/* Until a poll that began at since_ns or later is there, or until_ns, or there is nothing to wait for. */
void stk__gpu_poller_wait(stk__gpu_poller *poller, uint64_t since_ns, uint64_t until_ns);
/* Leaves a thread that hangs and starts its successor. Often enough: twice per deadline. */
void stk__gpu_poller_check(stk__gpu_poller *poller);
/* What was told since the last take. */
void stk__gpu_poller_take(stk__gpu_poller *poller, stk_gpu_frame *frame);

void stk__gpu_poller_stop(stk__gpu_poller *poller); /* asks the thread to end; close waits for it */
/* Number of threads that still hang at until_ns and were left behind for good, with the memory they use. */
int stk__gpu_poller_close(stk__gpu_poller **poller, uint64_t until_ns);

#endif
