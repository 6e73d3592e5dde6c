/* A contestant of `stoker bench train`: steps of one lesson (bench_lesson.h), in a process of its own. What
 * it is asked for is in bench/peers/train_turns.py; our own processes (bench_train_turns.c) answer alike. */
#ifndef STK_BENCH_PUPIL_H
#define STK_BENCH_PUPIL_H

#include "measurements.h"
#include "worker_process.h"

/* Which ratios it counts for, and how near its first loss must be to ours. */
typedef enum stk__pupil_kind {
    STK_PUPIL_OURS,
    STK_PUPIL_EAGER,
    STK_PUPIL_BF16,    /* eager too, in fewer bits */
    STK_PUPIL_COMPILED /* needs a minute for its first step, so it is started once */
} stk__pupil_kind;

/* Rows of a contestant in a case, side by side in the table. */
typedef enum stk__pupil_metric {
    STK_PUPIL_STEP,
    STK_PUPIL_CPU,
    STK_PUPIL_MEMORY,
    STK_PUPIL_FIRST,
    STK_PUPIL_METRICS
} stk__pupil_metric;

#define STK_PUPIL_SLEEPS "OMP_WAIT_POLICY=passive"

/* How its processes are started. */
typedef struct stk__pupil_start {
    const char *program; /* ourselves */
    const char *python;
    const char *scripts; /* where they were written */
    const char *lesson;  /* folder */
    const char *how;     /* of train_torch.py */
    const char *engine;  /* of ourselves; NULL: the best there is */
    bool capped;         /* to AVX2 */
    bool bf16;           /* it computes in bf16 */
    bool spins;          /* its threads wait for each other awake, as PyTorch's do if nobody says otherwise;
                            else they sleep, as ours soon do: only so it can compute beside other work */
    int cpus;
} stk__pupil_start;

typedef struct stk__pupil {
    stk__pupil_kind kind;
    stk__pupil_start start;
    stk__peer peer, again; /* again: the process of stk__pupil_begin_again */
    double loss;           /* of the first step; NAN: unknown */
    stk__bench_row *rows;  /* [STK_PUPIL_METRICS] */
} stk__pupil;

void stk__pupil_enter(stk__pupil *pupil, stk__bench *bench, const char *test, const char *setting);

/* Each asks for one thing. A pupil that fails has no numbers, and its rows say why. */
/* Start of the process to the end of its first step. ours: the loss that must come of it; NAN: whatever. */
void stk__pupil_begin(stk__pupil *pupil, double ours);
void stk__pupil_weigh(stk__pupil *pupil); /* memory, during a step */
/* Of ourselves with the engine torch: the share of CPU time outside of its operators; NAN: not told. */
double stk__pupil_share(stk__pupil *pupil);
void stk__pupil_step(stk__pupil *pupil);
void stk__pupil_begin_again(stk__pupil *pupil); /* another process, to its first step, and ends it */
void stk__pupil_dismiss(stk__pupil *pupil, const char *why); /* what it has counts, if it has made steps */

#endif
