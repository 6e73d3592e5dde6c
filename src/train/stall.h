/* SPDX-License-Identifier: Apache-2.0 */
/* The stall table: wall time of a run divided by cause. Every moment between two marks goes to one row, so
 * the rows make up the whole. */
#ifndef STK_TRAIN_STALL_H
#define STK_TRAIN_STALL_H

#include "stoker/loader.h"
#include "train/trace.h"

typedef enum stk__stall_row {
    STK_STALL_READ, /* these three: waiting for data, divided by what the workers did meanwhile */
    STK_STALL_DECODE,
    STK_STALL_AUGMENT,
    STK_STALL_COPY, /* batch to the engine's memory; or waiting for data, while a device copied … */
    STK_STALL_DEVICE_AUGMENT, /* … or its kernels ran */
    STK_STALL_FORWARD,
    STK_STALL_BACKWARD,
    STK_STALL_OPTIMISER,
    STK_STALL_SYNC, /* reading loss and metric back, waiting for a GPU that still computes */
    STK_STALL_EVAL,
    STK_STALL_CHECKPOINT,
    STK_STALL_OTHER,
    STK_STALL_ROWS
} stk__stall_row;

typedef struct stk__stall {
    double row_ns[STK_STALL_ROWS];
    uint64_t start_ns, mark_ns;
    stk__trace *trace; /* gets every row; NULL: none */
} stk__stall;

void stk__stall_start(stk__stall *stall); /* of a zeroed one, or from the beginning again */

/* The time since the last mark belongs to row. Returns it. */
uint64_t stk__stall_mark(stk__stall *stall, stk__stall_row row);

/* The same for a wait for data, by what was done meanwhile; before and after: what the clocks of workers and
 * device said then. */
uint64_t stk__stall_mark_wait(stk__stall *stall, const stk_loader_stats *before,
                              const stk_loader_stats *after);

/* The share of a row in wall_s seconds of another clock; that of `other` is what the measured rows leave. */
double stk__stall_share(const stk__stall *stall, stk__stall_row row, double wall_s);
double stk__stall_total_ns(const stk__stall *stall); /* start to last mark */
double stk__stall_wait_ns(const stk__stall *stall);  /* read, decode and augment together */
const char *stk__stall_name(stk__stall_row row);

#endif
