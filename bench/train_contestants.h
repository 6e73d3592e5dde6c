/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in a train case of `stoker bench train`, and what each is asked for: steps of one network
 * from one batch, ourselves and PyTorch in several ways, each in a worker process. */
#ifndef STK_BENCH_TRAIN_CONTESTANTS_H
#define STK_BENCH_TRAIN_CONTESTANTS_H

#include "benchmark.h"
#include "contestant.h"

/* Which ratios it counts for, and how near its first loss must be to ours. */
typedef enum stk__train_kind {
    STK_TRAIN_OURS,
    STK_TRAIN_EAGER,
    STK_TRAIN_BF16,    /* eager too, in fewer bits */
    STK_TRAIN_COMPILED /* needs a minute for its first step, so it is started once */
} stk__train_kind;

enum { STK_TRAIN_CONTESTANTS = 8 };

/* Threads of another library sleep while they wait for each other, as ours soon do: only so it can compute
 * beside other work. */
#define STK_TRAIN_SLEEPS "OMP_WAIT_POLICY=passive"

/* Contestants of the case that runs; the first is ourselves. */
typedef struct stk__train_race {
    const stk__bench_options *options;
    stk__bench *bench;
    const char *program; /* ourselves */
    const char *scripts; /* folder they were written to */
    int cpus;

    const char *title, *folder; /* of the train case */
    bool windows;               /* it has no pictures, and so no layout */
    bool capped;                /* both sides to AVX2 */
    stk__contestant contestants[STK_TRAIN_CONTESTANTS];
    stk__worker_process processes[STK_TRAIN_CONTESTANTS];
    stk__worker_process again; /* another one of a contestant, for its time to a first step */
    int count;
    double our_loss; /* of our first step; NAN: unknown */
} stk__train_race;

/* Enters everybody; who cannot take part gives up at once. */
void stk__train_contestants_enter(stk__train_race *race);
void stk__train_contestants_stop(stk__train_race *race);
void stk__train_contestants_abandon(const stk__train_race *race); /* for Ctrl-C: ends processes */

/* Each asks for one thing. */
/* Start of the process to the end of its first step, whose loss must be near ours. */
void stk__train_contestant_begin(stk__train_race *race, stk__contestant *c);
void stk__train_contestant_begin_again(stk__train_race *race, stk__contestant *c); /* another process */
void stk__train_contestant_weigh(stk__train_race *race, stk__contestant *c);       /* memory, during a step */
void stk__train_contestant_step(stk__train_race *race, stk__contestant *c);
/* Of ourselves with the engine torch: the share of CPU time outside of its operators; NAN: not told. */
double stk__train_contestant_share(stk__contestant *c);

#endif
