/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of stk__plan; shared by plan.c and resolve.c only. */
#ifndef STK_AUGMENT_PLAN_PHASES_H
#define STK_AUGMENT_PLAN_PHASES_H

#include "augment/operation.h"

enum { STK_PLAN_OPERATIONS = 64 }; /* room for them in a phase */

/* One operation that is on. */
typedef struct stk__plan_turn {
    const stk__augment_operation *operation;
    const void *settings; /* prepared, in the same phase */
    uint32_t number;      /* of its draws */
} stk__plan_turn;

/* The epochs from first_epoch to the next phase. */
typedef struct stk__plan_phase {
    uint32_t first_epoch;
    stk__augment_settings settings; /* with preset and fallbacks, as people write them */
    stk__augment_settings prepared; /* as the operations read them */
    stk__plan_turn turns[STK_PLAN_OPERATIONS];
    int turn_count;
    stk__plan_turn mixes[STK_PLAN_OPERATIONS];
    double mix_below[STK_PLAN_OPERATIONS]; /* a draw below it, and not below the one before, takes this mix */
    int mix_count;
    int32_t fill[3], mask_fill; /* as the block has them */
} stk__plan_phase;

struct stk__plan {
    uint64_t seed;
    int phase_count;
    stk__plan_phase phases[]; /* first_epoch rises, from 0 on */
};

#endif
