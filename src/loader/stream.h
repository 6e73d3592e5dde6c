/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the stream: which samples stand in which step, for any rank. Pure functions, O(1). */
#ifndef STK_LOADER_STREAM_H
#define STK_LOADER_STREAM_H

#include "core/order.h"

#include <stdbool.h>

typedef struct stk__stream {
    /* The part of the data set that is streamed. */
    uint64_t count;    /* samples of the part */
    uint64_t first_id; /* added to ids (parts of a series) */
    stk__split split;  /* held 0: no split */
    bool take_held;    /* the part is the one held back */
    /* How it is streamed. */
    stk__order_kind order;
    uint64_t block, seed;
    uint64_t batch_size, ranks, rank;
    bool drop_last;
    /* Where it starts. */
    uint64_t start_epoch, start_position;
} stk__stream;

/* One step: what this rank loads, and where the global batch lies. */
typedef struct stk__step {
    uint64_t epoch;
    uint64_t global_position, global_count;
    uint64_t position, count; /* this rank's part */
} stk__step;

uint64_t stk__stream_steps(const stk__stream *stream, uint64_t from_position); /* to the end of an epoch */
stk__step stk__stream_step(const stk__stream *stream, uint64_t number);        /* number 0 is at the start */

stk__order stk__stream_order(const stk__stream *stream, uint64_t epoch);
uint64_t stk__stream_id(const stk__stream *stream, const stk__order *order, uint64_t position);

/* The block of an order that has a position in it, as ids: first … last, with those of other parts between.
 */
typedef struct stk__id_block {
    uint64_t position; /* where the block begins */
    uint64_t first, last;
    uint64_t count; /* ids that are of this part */
} stk__id_block;

stk__id_block stk__stream_block(const stk__stream *stream, const stk__order *order, uint64_t position);

/* Sample that stands in for the bad one at a position: attempt 0, 1, … */
uint64_t stk__stream_substitute(const stk__stream *stream, uint64_t epoch, uint64_t position,
                                uint32_t attempt);

#endif
