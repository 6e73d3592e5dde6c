/* SPDX-License-Identifier: Apache-2.0 */
/* The stall table: wall time of the steps divided by cause; the parts add up to all of it. */
#ifndef STK_DOCTOR_STALL_SPLIT_H
#define STK_DOCTOR_STALL_SPLIT_H

#include "doctor/evidence.h"

/* `identifier, key in JSON, name for people`. The first STK_SPLIT_WAIT_PARTS are parts of the data wait. */
#define STK_SPLIT_PART_LIST(X)                                                                               \
    X(READ, "read", "data wait: read files")                                                                 \
    X(DECODE, "decode", "data wait: decode")                                                                 \
    X(TRANSFORM, "transform", "data wait: transforms")                                                       \
    X(COLLATE, "collate", "data wait: collate")                                                              \
    X(DATASET, "dataset_code", "data wait: dataset code")                                                    \
    X(FEW_WORKERS, "too_few_workers", "data wait: too few workers")                                          \
    X(IMBALANCE, "imbalance", "data wait: one slow worker")                                                  \
    X(WORKER_START, "worker_start", "data wait: workers start")                                              \
    X(PINNING, "pinning", "data wait: pinning")                                                              \
    X(WAIT, "data_wait", "data wait: cause not measured")                                                    \
    X(COPY, "copy", "copy to the device")                                                                    \
    X(SYNC, "sync", "synchronization")                                                                       \
    X(FORWARD, "forward", "forward")                                                                         \
    X(BACKWARD, "backward", "backward")                                                                      \
    X(OPTIMIZER, "optimizer", "optimizer")                                                                   \
    X(EVALUATION, "evaluation", "evaluation")                                                                \
    X(CHECKPOINT, "checkpoint", "checkpoint")                                                                \
    X(LOGGING, "logging", "logging")                                                                         \
    X(OTHER, "unexplained", "unexplained")
typedef enum stk__split_part {
#define STK_SPLIT_ENUM(id, key, name) STK_SPLIT_##id,
    STK_SPLIT_PART_LIST(STK_SPLIT_ENUM)
#undef STK_SPLIT_ENUM
        STK_SPLIT_PARTS,
    STK_SPLIT_WAIT_PARTS = STK_SPLIT_WAIT + 1
} stk__split_part;

typedef struct stk__stall_split {
    uint64_t steps;                /* that were divided; 0: no step is known, all else is 0 */
    double wall_s, step_s;         /* of these steps; of one */
    double share[STK_SPLIT_PARTS]; /* sum 1 */
    double wait;                   /* share of all parts of the data wait */

    /* What the division of the data wait rests on; NAN: unknown. */
    double command_cpu; /* share of all usable CPUs that the command uses */
    double work;        /* seconds of loading per second of the steps, over all workers */
    double worker_busy; /* share of its time that a worker works, as far as measured */
    double least_wait;  /* what is left of `wait` with as many workers as the CPUs can feed */
    int64_t workers;    /* that would be needed for that; -1: unknown */
} stk__stall_split;

const char *stk__split_part_key(stk__split_part part);  /* "read" */
const char *stk__split_part_name(stk__split_part part); /* "data wait: read files" */

/* The loader that feeds the optimizer: the one most batches came from; NULL: none was seen. */
const stk__loader_evidence *stk__training_loader(const stk__evidence *evidence);

void stk__stall_split_of(const stk__evidence *evidence, stk__stall_split *split);

#endif
