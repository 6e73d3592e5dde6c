/* Goals of `stoker bench train --engine torch`: our path through PyTorch beside eager PyTorch in Python. */
#ifndef STK_BENCH_TRAIN_TORCH_H
#define STK_BENCH_TRAIN_TORCH_H

#include "measurements.h"
#include "train_case.h"

/* Of a lesson; NAN: not measured. */
typedef struct stk__lesson_result {
    double speed;         /* times as fast as the fastest peer */
    double first, memory; /* ours by theirs */
    double own_share;     /* with the engine torch: CPU time outside of PyTorch's operators */
} stk__lesson_result;

/* large: of the full batches; small: of batches of 1 to 4, and a short one of windows. */
void stk__train_torch_judge(stk__bench *bench, const stk__lesson_result large[STK_LESSONS],
                            const stk__lesson_result small[STK_LESSONS]);

#endif
