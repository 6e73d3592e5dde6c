/* SPDX-License-Identifier: Apache-2.0 */
/* One trial of an operation: what it is asked to be and the data it works on, all as plain arrays of doubles
 * (holding values that the tensors' types can hold). Engines and the oracle start from the same trial. */
#ifndef TESTS_ENGINE_OP_TRIAL_H
#define TESTS_ENGINE_OP_TRIAL_H

#include "engine/op.h"

/* --- random numbers of the tests ---------------------------------------------------------------------- */

typedef struct dice {
    uint64_t state;
} dice;

double dice_unit(dice *d); /* [0, 1) */
int64_t dice_pick(dice *d, int64_t least, int64_t most);
double dice_value(dice *d); /* in +-1.5, a float */
bool dice_chance(dice *d, double share);

/* --- a tensor's content --------------------------------------------------------------------------------- */

typedef struct sheet {
    stk__shape shape;
    stk_dtype dtype;
    int64_t count;
    double *value; /* NULL: there is no such tensor */
} sheet;

/* From one pool that begins anew with each trial; zeroed. */
sheet sheet_make(const stk__shape *shape, stk_dtype dtype);
void sheet_pool_reset(void);

/* Largest difference, measured by the largest value of `right` (at least `least`). */
double sheet_distance(const sheet *got, const sheet *right, double least);

/* --- a trial
 * ------------------------------------------------------------------------------------------------ */

typedef struct op_flags {
    bool training, again, add_dparam, in_place, gradient_in_place;
    unsigned frozen;                           /* bit i: param i has no gradient */
    unsigned unwanted;                         /* bit i: input i has no gradient */
    bool second, weights, class_weights, wide; /* losses and metrics; wide: masks are i64 */
} op_flags;

typedef struct op_trial {
    stk__op_spec spec;
    stk__op_form form;
    op_flags flags;
    uint64_t seed;
    uint32_t epoch;
    double grad_scale;
    sheet x[STK_OP_INPUTS], param[STK_OP_PARAMS], buffer[STK_OP_BUFFERS];
    sheet y;                     /* what it holds before: sums that are added to */
    sheet dy;                    /* losses and metrics: absent */
    sheet dparam[STK_OP_PARAMS]; /* before: what is added to */
    sheet sample_ids;
} op_trial;

/* What comes out. Absent: not wanted. */
typedef struct op_result {
    sheet y, dx[STK_OP_INPUTS], dparam[STK_OP_PARAMS], buffer[STK_OP_BUFFERS];
} op_result;

/* The data of a spec that makes sense (asserted); seed decides it. Resets the pool. */
void op_trial_fill(op_trial *trial, const stk__op_spec *spec, const op_flags *flags, uint64_t seed);
void op_result_make(op_result *result, const op_trial *trial);

/* A random spec of this kind with random flags; `large` allows channels that fast engines treat apart. */
void op_trial_random(op_trial *trial, stk__op_kind kind, uint64_t seed, bool large);

/* Odd shapes that must work, one after the other: false behind the last of this kind. */
bool op_trial_odd(op_trial *trial, stk__op_kind kind, int number);

/* One line for messages. */
void op_trial_print(const op_trial *trial, char *text, size_t size);

int op_trial_inputs(const op_trial *trial); /* places of x: STK_LOSS_INPUTS for losses and metrics */

#endif
