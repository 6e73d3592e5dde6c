/* SPDX-License-Identifier: Apache-2.0 */
/* Polls one GPU in a thread of its own, which is replaced when a driver call hangs.
 *
 * The thread polls on its own, on the grid start_ns + n gap_ns, so that the driver's buffers never overflow
 * however late their owner comes. Polls are merged until they are taken. The lock is never held during a
 * driver call. A thread that hangs is abandoned with its context; a successor tries to reach the GPU again,
 * with exponential backoff, and at once when the hung call returns. */
#ifndef STK_MONITOR_GPU_POLLER_H
#define STK_MONITOR_GPU_POLLER_H

#include "monitor/gpu_reader.h"

typedef struct stk__gpu_poller stk__gpu_poller;

typedef struct stk__gpu_poller_options {
    stk__gpu_reader *reader; /* must outlive the poller; if threads were abandoned: the process */
    int number;              /* of the GPU in reader */
    uint64_t start_ns, gap_ns;
    uint64_t deadline_ns; /* for one call of the driver */
} stk__gpu_poller_options;

stk_status stk__gpu_poller_open(stk__gpu_poller **poller, const stk__gpu_poller_options *options,
                                stk_error *error);

/* All but open and close: from the owner's thread. None of them waits for the driver except wait. */
void stk__gpu_poller_ask(stk__gpu_poller *poller); /* requests an extra poll */
/* Until a poll that began at since_ns or later is there, or until_ns, or there is nothing to wait for. */
void stk__gpu_poller_wait(stk__gpu_poller *poller, uint64_t since_ns, uint64_t until_ns);
/* Abandons a thread that hangs and starts its successor. Call it at least twice per deadline. */
void stk__gpu_poller_check(stk__gpu_poller *poller);
/* All polls since the last take, as one frame. */
void stk__gpu_poller_take(stk__gpu_poller *poller, stk_gpu_frame *frame);

void stk__gpu_poller_stop(stk__gpu_poller *poller); /* requests the thread's end; close waits for it */
/* Number of threads that still hang at until_ns and were abandoned, with the memory they use. */
int stk__gpu_poller_close(stk__gpu_poller **poller, uint64_t until_ns);

#endif
