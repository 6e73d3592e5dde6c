/* SPDX-License-Identifier: Apache-2.0 */
/* One engine held against another: every operation of the closed set on a few shapes, forward and backward,
 * in training, in evaluation, frozen and in 16 bits, the same numbers for both. For `stoker devices
 * --selftest`, where the other one is the reference; the tests' own suite (tests/engine) tries hundreds of
 * shapes against an oracle. */
#ifndef STK_ENGINE_CONFORM_H
#define STK_ENGINE_CONFORM_H

#include "engine/engine.h"

typedef enum stk__conform_mode {
    STK_CONFORM_TRAINING,
    STK_CONFORM_EVALUATION, /* forward only: running statistics, no dropout */
    STK_CONFORM_FROZEN,     /* running statistics forward and backward, nothing is learnt: batch norm alone */
    STK_CONFORM_BF16,       /* training, activations of 16 bits; not of losses and metrics */
    STK_CONFORM_F16,
    STK_CONFORM_MODES
} stk__conform_mode;

/* Largest difference of any output, buffer or gradient, measured by the largest value of its tensor (at least
 * 0.05); INFINITY: something is not a number. */
typedef struct stk__conform_result {
    int trials;
    double difference;
} stk__conform_result;

/* All trials of one kind; none where the mode is not of that kind. A failure of either engine ends it: error
 * says why. */
stk_status stk__conform(stk__engine *tested, stk__engine *right, stk__op_kind kind, stk__conform_mode mode,
                        stk__conform_result *result, stk_error *error);

/* What the difference may be on a GPU. f32: products may be computed by algorithms that round more often
 * (Winograd, FFT); the rest differs by the order of sums. 16 bits: 26 units of the last place beside that, as
 * tests/engine/engine_half.c has them (1 of the result, 8 inside, 16 of a rounded y, 1 of dx). */
double stk__conform_bound(stk__op_kind kind, stk__conform_mode mode);

/* --- for conform.c and conform_trials.c
 * -------------------------------------------------------------------- */

/* The number-th shape of a kind; false: there are no more. */
bool stk__conform_spec(stk__op_kind kind, int number, stk__op_spec *spec);

/* What a tensor of a trial begins with. */
typedef enum stk__conform_fill {
    STK_CONFORM_ZERO,   /* as arenas are: nothing is put */
    STK_CONFORM_VALUE,  /* +-1.5 */
    STK_CONFORM_WEIGHT, /* the same, by the root of the fan */
    STK_CONFORM_SPREAD, /* 0.5 to 1.5: also a variance */
    STK_CONFORM_ID      /* 0, 1, … below a bound, in u8 or i64 */
} stk__conform_fill;

/* All elements, each drawn from (number, index). scale: of WEIGHT; bound of ID. */
void stk__conform_put(stk_tensor *view, stk__conform_fill fill, uint32_t number, double scale);
void stk__conform_points(stk_tensor *view, const stk__op_spec *spec); /* [n k 3]: x, y, visible */

#endif
