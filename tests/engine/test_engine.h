/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite: every test asks the engine under test. */
#ifndef TESTS_ENGINE_TEST_ENGINE_H
#define TESTS_ENGINE_TEST_ENGINE_H

#include "engine/engine.h"

extern stk__engine *tested;    /* the engine under test */
extern stk__engine *reference; /* NULL: it is the one under test */

/* Largest differences (sheet_distance). The reference adds in doubles and rounds once, what it keeps between
 * steps (LSTM) a few times more; engines that add floats in an order of their own lose some bits, most where
 * sums cancel. */
typedef struct engine_bounds {
    double value, gradient;
} engine_bounds;
engine_bounds bounds_of(stk__op_kind kind);

enum { LEAST_PER_MILLE = 50 }; /* differences are measured by values of at least 0.05 */

/* An operation with a relu in it, which the engine does not have. */
static inline bool is_foreign(const stk__op_spec *spec)
{
    return spec->relu && !stk__engine_describe(tested)->fuses;
}

/* State of the tests that are made once for each kind. */
typedef struct engine_kind {
    stk__op_kind kind;
    char name[5][64]; /* of its tests */
} engine_kind;

void values_are_right(void **state);
void gradients_are_right(void **state);
void reference_is_met(void **state);
void bf16_is_rounded_f32(void **state);
void f16_is_rounded_f32(void **state);

/* Tests that are made once. */
#define ENGINE_TESTS(X)                                                                                      \
    X(activations_let_nan_pass)                                                                              \
    X(recurrent_layers_let_nan_pass)                                                                         \
    X(wide_pools_let_nan_pass)                                                                               \
    X(heat_maps_let_nan_pass)                                                                                \
    X(points_on_edges_are_in_their_cell)                                                                     \
    X(narrow_strided_weights_learn)                                                                          \
    X(wide_weights_learn)                                                                                    \
    X(cross_entropy_by_hand)                                                                                 \
    X(samples_of_no_weight_are_left_out)                                                                     \
    X(nothing_to_judge_is_zero)                                                                              \
    X(far_logits_stay_finite)                                                                                \
    X(a_second_run_has_the_same_bits)                                                                        \
    X(gradients_need_not_be_wanted)                                                                          \
    X(tensors_hold_what_they_are_given)                                                                      \
    X(tensors_may_overlap)                                                                                   \
    X(tensors_of_kernels_look_dense)                                                                         \
    X(the_engine_says_what_it_is)                                                                            \
    X(dropout_follows_the_sample)                                                                            \
    X(wrong_targets_are_refused)                                                                             \
    X(adamw_steps)                                                                                           \
    X(sgd_steps)                                                                                             \
    X(a_broken_gradient_shows_in_the_norm)                                                                   \
    X(a_broken_gradient_can_be_skipped)                                                                      \
    X(tensors_of_16_bits_are_added_and_copied)                                                               \
    X(judges_have_no_16_bits)                                                                                \
    X(averages_move)

#define ENGINE_TEST_DECLARE(name) void name(void **state);
ENGINE_TESTS(ENGINE_TEST_DECLARE)
#undef ENGINE_TEST_DECLARE

#endif
