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

/* State of the tests that are made once for each kind. */
typedef struct engine_kind {
    stk__op_kind kind;
    char name[3][64]; /* of its tests */
} engine_kind;

void values_are_right(void **state);
void gradients_are_right(void **state);
void reference_is_met(void **state);

#endif
