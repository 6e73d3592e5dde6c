/* How much of the CPU time of steps with the engine torch is our own: everything but PyTorch's operators.
 * Copies count as ours, too: whoever calls the bare operators needs none, their results are where they are.
 */
#ifndef STK_BENCH_TORCH_SHARE_H
#define STK_BENCH_TORCH_SHARE_H

#include "core/error.h"

typedef struct stk__torch_share {
    double thread_s, process_s; /* CPU time at the beginning */
} stk__torch_share;

/* Calls of operators go through a clock from now on. STK_ERROR_UNSUPPORTED: there is no PyTorch. Only one at
 * a time, in the thread that makes the steps. */
stk_status stk__torch_share_begin(stk__torch_share *share, stk_error *error);
/* CPU time of this thread outside of operators / CPU time of all threads, since the beginning. */
double stk__torch_share_end(const stk__torch_share *share);

#endif
