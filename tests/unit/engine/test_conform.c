/* SPDX-License-Identifier: Apache-2.0 */
/* Engines held against each other: all operations are tried, a wrong number and a failure are seen. */
#include "engine/conform.h"

#include "support/fail_alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static stk__engine *open_engine(const char *name)
{
    stk_error error = {0};
    stk__engine *engine = NULL;
    const stk__engine_options options = {.name = name};
    if (stk__engine_open(&engine, &options, &error) != STK_OK) printf("%s: %s\n", name, error.message);
    return engine;
}

/* The reference is its own equal, to the last bit. */
static void every_operation_is_tried(void **state)
{
    (void)state;
    stk__engine *tested = open_engine("reference"), *right = open_engine("reference");
    int kinds[STK_CONFORM_MODES] = {0};
    for (int i = 0; i < STK_OP_COUNT * STK_CONFORM_MODES; i++) {
        const stk__op_kind kind = (stk__op_kind)(i / STK_CONFORM_MODES);
        const stk__conform_mode mode = (stk__conform_mode)(i % STK_CONFORM_MODES);
        stk__conform_result result;
        stk_error error = {0};
        if (stk__conform(tested, right, kind, mode, &result, &error) != STK_OK)
            fail_msg("%s: %s", stk__op_word(kind), error.message);
        kinds[mode] += result.trials >= 1;
        assert_true(result.difference == 0);
        assert_true(stk__conform_bound(kind, mode) > 0);
    }
    const int expected[STK_CONFORM_MODES] = {STK_OP_COUNT, STK_OP_COUNT, 1, 18,
                                             18}; /* 9 losses and metrics */
    assert_memory_equal(kinds, expected, sizeof kinds);
    stk__engine_close(&right);
    stk__engine_close(&tested);
}

/* Another engine is near, and hardly ever the same. */
static void another_engine_is_within_the_bounds(void **state)
{
    (void)state;
    stk__engine *tested = open_engine("onednn"), *right = open_engine("reference");
    int unlike = 0;
    if (!tested) {
        stk__engine_close(&right);
        skip();
    }
    for (int i = 0; i < STK_OP_COUNT * (STK_CONFORM_FROZEN + 1); i++) {
        const stk__op_kind kind = (stk__op_kind)(i % STK_OP_COUNT);
        const stk__conform_mode mode = (stk__conform_mode)(i / STK_OP_COUNT);
        stk__conform_result result;
        assert_int_equal(stk__conform(tested, right, kind, mode, &result, NULL), STK_OK);
        if (!(result.difference <= stk__conform_bound(kind, mode)))
            fail_msg("%s is %g away", stk__op_word(kind), result.difference);
        unlike += result.difference > 0;
    }
    assert_true(unlike > 5);
    stk__engine_close(&right);
    stk__engine_close(&tested);
}

/* --- an engine that is wrong -------------------------------------------------------------------------------
 */

static stk__engine_ops spoilt;
static enum { SPOIL_FORWARD, SPOIL_GRADIENT, SPOIL_NAN, FAIL_FORWARD, FAIL_BACKWARD } fault;

static void change(stk__tensor *tensor, float by)
{
    stk_tensor view;
    assert_int_equal(stk__tensor_map(tensor, &view, NULL), STK_OK);
    ((float *)view.data)[1] += by;
    assert_int_equal(stk__tensor_unmap(tensor, &view, true, NULL), STK_OK);
}

static stk_status spoil_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    if (fault == FAIL_FORWARD) return stk__fail(error, STK_ERROR_MEMORY, "no forward");
    const stk_status status = stk__engine_reference.forward(op, io, error);
    if (fault == SPOIL_FORWARD) change(io->y, 0.01F);
    if (fault == SPOIL_NAN) change(io->y, NAN);
    return status;
}

static stk_status spoil_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    if (fault == FAIL_BACKWARD) return stk__fail(error, STK_ERROR_UNSUPPORTED, "no backward");
    const stk_status status = stk__engine_reference.backward(op, io, error);
    if (fault == SPOIL_GRADIENT) change(io->dparam[0], 0.01F);
    return status;
}

static void what_is_wrong_is_seen(void **state)
{
    (void)state;
    stk__engine *tested = open_engine("reference"), *right = open_engine("reference");
    stk__conform_result result;
    stk_error error = {0};
    spoilt = *tested->ops;
    spoilt.forward = spoil_forward;
    spoilt.backward = spoil_backward;
    const stk__engine_ops *const plain = tested->ops;
    tested->ops = &spoilt;
    for (fault = SPOIL_FORWARD; fault <= SPOIL_GRADIENT; fault++) {
        assert_int_equal(stk__conform(tested, right, STK_OP_LINEAR, STK_CONFORM_TRAINING, &result, &error),
                         STK_OK);
        assert_true(result.difference > 10 * stk__conform_bound(STK_OP_LINEAR, STK_CONFORM_TRAINING) &&
                    result.difference < 1);
    }
    fault = SPOIL_NAN;
    assert_int_equal(stk__conform(tested, right, STK_OP_LINEAR, STK_CONFORM_TRAINING, &result, &error),
                     STK_OK);
    assert_true(isinf(result.difference));
    fault = FAIL_FORWARD;
    assert_int_equal(stk__conform(tested, right, STK_OP_LINEAR, STK_CONFORM_TRAINING, &result, &error),
                     STK_ERROR_MEMORY);
    assert_string_equal(error.message, "no forward");
    fault = FAIL_BACKWARD;
    assert_int_equal(stk__conform(tested, right, STK_OP_RELU, STK_CONFORM_TRAINING, &result, &error),
                     STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "no backward");
    tested->ops = plain;
    stk__engine_close(&right);
    stk__engine_close(&tested);
}

/* A batch norm that takes the batch's statistics where it must not, or the running ones. */
static stk_status confuse_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__op_io other = *io;
    other.training = true;
    return stk__engine_reference.forward(op, &other, error);
}

static stk_status confuse_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__op_io other = *io;
    other.training = true;
    return stk__engine_reference.backward(op, &other, error);
}

static void modes_are_told_apart(void **state)
{
    (void)state;
    stk__engine *tested = open_engine("reference"), *right = open_engine("reference");
    const stk__engine_ops *const plain = tested->ops;
    for (int backward = 0; backward < 2; backward++) {
        spoilt = *plain;
        if (backward)
            spoilt.backward = confuse_backward;
        else
            spoilt.forward = confuse_forward;
        tested->ops = &spoilt;
        for (int mode = 0; mode < STK_CONFORM_BF16; mode++) {
            stk__conform_result result;
            const bool wrong = mode == STK_CONFORM_FROZEN || (mode == STK_CONFORM_EVALUATION && !backward);
            assert_int_equal(
                stk__conform(tested, right, STK_OP_BATCH_NORM, (stk__conform_mode)mode, &result, NULL),
                STK_OK);
            assert_int_equal(
                result.difference > stk__conform_bound(STK_OP_BATCH_NORM, (stk__conform_mode)mode), wrong);
        }
    }
    tested->ops = plain;
    stk__engine_close(&right);
    stk__engine_close(&tested);
}

static stk_status try_lstm(void *context, stk_error *error)
{
    stk__engine *tested = NULL, *right = NULL;
    const stk__engine_options options = {.name = "reference"};
    stk__conform_result result;
    (void)context;
    stk_status status = stk__engine_open(&tested, &options, error);
    if (status == STK_OK) status = stk__engine_open(&right, &options, error);
    if (status == STK_OK)
        status = stk__conform(tested, right, STK_OP_LSTM, STK_CONFORM_TRAINING, &result, error);
    stk__engine_close(&right);
    stk__engine_close(&tested);
    return status;
}

static void without_memory_it_ends_cleanly(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(try_lstm, NULL) > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_tried),
        cmocka_unit_test(another_engine_is_within_the_bounds),
        cmocka_unit_test(what_is_wrong_is_seen),
        cmocka_unit_test(modes_are_told_apart),
        cmocka_unit_test(without_memory_it_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
