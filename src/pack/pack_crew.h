/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that pack samples in any order, and one consumer that takes them in the order of ids. A ring of
 * places lies between them, so only a few samples are in memory at any time:
 *
 *   free -> filling (one worker) -> ready -> taken (the consumer) -> free */
#ifndef STK_PACK_PACK_CREW_H
#define STK_PACK_PACK_CREW_H

#include "pack/packer.h"

#include <stdatomic.h>

enum { STK_PACK_WORKERS_MOST = 256 };

typedef struct stk__pack_crew stk__pack_crew;

typedef struct stk__pack_crew_options {
    const stk__source *source; /* must outlive the crew, and threads that were given up */
    stk__limits limits;
    const struct stk__mask_colors *colors; /* as packer->colors; outlives it like the source */
    uint64_t first, end;                   /* ids */
    int workers;                           /* 0: the consumer packs by itself */
    double timeout_s;                      /* for one sample */
    const atomic_bool *stop;               /* true: take ends with STK_ERROR_INTERRUPTED; may be NULL */
    /* Called while take waits, a few times a second; may be NULL. */
    void (*idle)(void *context);
    void *context;
} stk__pack_crew_options;

stk_status stk__pack_crew_start(stk__pack_crew **crew, const stk__pack_crew_options *options,
                                stk_error *error);

/* The outcome of the next sample: status is STK_OK, or why it could not be packed, in error. Belongs to the
 * crew; valid until the next take. */
typedef struct stk__pack_outcome {
    uint64_t id;
    stk_status status;
    stk__packed packed;
    stk_error error;
} stk__pack_outcome;

/* STK_END behind the last one. STK_ERROR_TIMEOUT names the sample that hangs. */
stk_status stk__pack_crew_take(stk__pack_crew *crew, const stk__pack_outcome **outcome, stk_error *error);

/* Ends the threads. Those that hang for half a second are given up with their memory; returns how many. */
int stk__pack_crew_stop(stk__pack_crew **crew);

#endif
