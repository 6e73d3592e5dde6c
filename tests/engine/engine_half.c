/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed precision: every operation on 16-bit tensors against the f32 operation on the same numbers. */
#include "test_engine.h"

#include "core/half.h"
#include "op_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { TRIALS = 40 };

static op_trial trial, plain;
static op_result got, same, right;

static stk__half_support support_of(stk_dtype dtype)
{
    const stk__engine_info *info = stk__engine_describe(tested);
    return dtype == STK_DTYPE_BF16 ? info->bf16 : info->f16;
}

static double rounded(double value, stk_dtype dtype)
{
    if (dtype == STK_DTYPE_F32) return (float)value;
    return dtype == STK_DTYPE_BF16 ? stk__bfloat_to_float(stk__bfloat_from_float((float)value))
                                   : stk__half_to_float(stk__half_from_float((float)value));
}

/* Its numbers become ones that dtype holds; products round them to `through` as well. */
static void retype(sheet *s, stk_dtype dtype, stk_dtype through)
{
    for (int64_t i = 0; i < s->count; i++)
        s->value[i] = rounded(s->value[i], dtype == STK_DTYPE_F32 ? through : dtype);
    s->dtype = dtype;
}

/* A trial of a kind in 16 bits, some of whose inputs or whose output are f32 as at the ends of a network; and
 * the same as a plain one in f32. */
static void make_trials(stk__op_kind kind, stk_dtype dtype, uint64_t seed)
{
    dice d = {seed};
    op_trial_random(&trial, kind, seed, seed % 4 == 0);
    const stk_dtype through = stk__op_is_product(kind) ? dtype : STK_DTYPE_F32;
    trial.spec.half = dtype;
    trial.spec.f32_inputs =
        dice_chance(&d, 0.2) ? (uint32_t)dice_pick(&d, 1, (1 << trial.spec.inputs) - 1) : 0;
    trial.spec.f32_output = dice_chance(&d, 0.2);
    assert_int_equal(stk__op_describe(&trial.spec, &trial.form, NULL), STK_OK);
    trial.flags.in_place &= trial.form.in_place;
    trial.flags.gradient_in_place &= trial.form.gradient_in_place;
    for (int i = 0; i < trial.spec.inputs; i++)
        retype(&trial.x[i], trial.spec.f32_inputs >> i & 1 ? STK_DTYPE_F32 : dtype, through);
    retype(&trial.y, trial.form.output_dtype, STK_DTYPE_F32);
    retype(&trial.dy, trial.form.output_dtype, STK_DTYPE_F32);
    for (int i = 0; i < trial.form.param_count; i++)
        retype(&trial.param[i], STK_DTYPE_F32, through);
    plain = trial;
    plain.spec.half = STK_DTYPE_NONE;
    plain.spec.f32_inputs = 0;
    plain.spec.f32_output = false;
    assert_int_equal(stk__op_describe(&plain.spec, &plain.form, NULL), STK_OK);
    plain.flags.in_place = plain.flags.gradient_in_place = false;
    for (int i = 0; i < plain.spec.inputs; i++)
        plain.x[i].dtype = STK_DTYPE_F32;
    plain.y.dtype = plain.dy.dtype = STK_DTYPE_F32;
}

static void fail_trial(const char *what, int number, double away, double bound)
{
    char text[512];
    op_trial_print(&trial, text, sizeof text);
    fail_msg("%s %d is %g away (bound %g); %s", what, number, away, bound, text);
}

static void expect_near(const char *what, const sheet *have, const sheet *want, int count, double bound)
{
    for (int i = 0; i < count; i++) {
        if (!have[i].value) continue;
        const double away = sheet_distance(&have[i], &want[i], LEAST_PER_MILLE / 1000.0);
        if (!(away <= bound)) fail_trial(what, i, away, bound);
    }
}

/* The very bits of f32, rounded once. */
static void expect_rounded(const char *what, const sheet *have, const sheet *want, int count)
{
    for (int i = 0; i < count; i++)
        for (int64_t k = 0; have[i].value && k < have[i].count; k++)
            if (have[i].value[k] != rounded(want[i].value[k], have[i].dtype))
                fail_trial(what, i, fabs(have[i].value[k] - want[i].value[k]), 0);
}

/* Against this engine in f32, to the bit, where the front widens; native ones round where they like. Against
 * the reference in f32: one rounding of 8 (or 11) bits, and where the backward pass reads y, which was
 * rounded before, as much as its slope makes of that: of sigmoid and tanh at +-1.5 less than 16 times. */
static void compare_with_f32(stk__op_kind kind, stk_dtype dtype)
{
    const engine_bounds bounds = bounds_of(kind);
    const double unit = dtype == STK_DTYPE_BF16 ? 0x1p-8 : 0x1p-11;
    const bool widened = support_of(dtype) == STK_HALF_WIDENED, exact = !trial.form.needs_y;
    const double of_y = exact ? 0 : 16 * unit;
    op_result_make(&got, &trial);
    op_result_make(&same, &plain);
    op_result_make(&right, &plain);
    op_rig_run(tested, &trial, &got);
    op_rig_run(tested, &plain, &same);
    op_rig_run(reference ? reference : tested, &plain, &right);
    if (widened) expect_rounded("y of f32", &got.y, &same.y, 1);
    if (widened) expect_rounded("buffer of f32", got.buffer, same.buffer, STK_OP_BUFFERS);
    if (widened && exact) expect_rounded("dx of f32", got.dx, same.dx, STK_OP_INPUTS);
    if (widened && exact) expect_rounded("dparam of f32", got.dparam, same.dparam, STK_OP_PARAMS);
    const double inside = widened ? 0 : 8 * unit; /* what native ones may round on the way */
    expect_near("y", &got.y, &right.y, 1, unit + bounds.value + inside);
    expect_near("dx", got.dx, right.dx, STK_OP_INPUTS, unit + bounds.gradient + of_y + inside);
    expect_near("dparam", got.dparam, right.dparam, STK_OP_PARAMS, bounds.gradient + of_y + inside);
    expect_near("buffer", got.buffer, right.buffer, STK_OP_BUFFERS, bounds.value + inside);
}

static void expect_half(void **state, stk_dtype dtype)
{
    const stk__op_kind kind = ((const engine_kind *)*state)->kind;
    if (support_of(dtype) == STK_HALF_NONE) skip();
    for (uint64_t seed = 3000; seed < 3000 + TRIALS; seed++) {
        make_trials(kind, dtype, seed);
        if (!is_foreign(&trial.spec)) compare_with_f32(kind, dtype);
    }
}

void bf16_is_rounded_f32(void **state)
{
    expect_half(state, STK_DTYPE_BF16);
}

void f16_is_rounded_f32(void **state)
{
    expect_half(state, STK_DTYPE_F16);
}

/* --- single tensors ----------------------------------------------------------------------------------- */

enum { COUNT = 40000 }; /* more than one thread's share */
static double from_values[COUNT], to_values[COUNT], read_values[COUNT];

static void expect_pair(stk__arena *arena, stk_dtype from_dtype, stk_dtype to_dtype)
{
    const stk__shape shape = {1, {COUNT}};
    const stk__tensor_desc from_desc = {.shape = shape, .dtype = from_dtype},
                           to_desc = {.shape = shape, .dtype = to_dtype};
    stk__tensor *from, *to;
    dice d = {from_dtype * 10 + to_dtype};
    assert_int_equal(stk__tensor_create(tested, &from_desc, arena, 0, &from, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(tested, &to_desc, arena, 4 * COUNT, &to, NULL), STK_OK);
    for (int i = 0; i < COUNT; i++) {
        from_values[i] = rounded(dice_value(&d), from_dtype);
        to_values[i] = rounded(dice_value(&d), to_dtype);
    }
    rig_write(from, &(sheet){shape, from_dtype, COUNT, from_values});
    rig_write(to, &(sheet){shape, to_dtype, COUNT, to_values});
    assert_int_equal(stk__tensor_add(to, from, NULL), STK_OK);
    rig_read(to, &(sheet){shape, to_dtype, COUNT, read_values});
    for (int i = 0; i < COUNT; i++)
        assert_true(read_values[i] == rounded((float)(to_values[i] + from_values[i]), to_dtype));
    assert_int_equal(stk__tensor_copy(to, from, NULL), STK_OK);
    rig_read(to, &(sheet){shape, to_dtype, COUNT, read_values});
    for (int i = 0; i < COUNT; i++)
        assert_true(read_values[i] == rounded(from_values[i], to_dtype));
    stk__tensor_destroy(&from);
    stk__tensor_destroy(&to);
}

void tensors_of_16_bits_are_added_and_copied(void **state)
{
    (void)state;
    static const stk_dtype types[] = {STK_DTYPE_F32, STK_DTYPE_BF16, STK_DTYPE_F16};
    stk__arena *arena;
    assert_int_equal(stk__arena_create(tested, 8 * COUNT, &arena, NULL), STK_OK);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            const bool there = (a == 0 || support_of(types[a])) && (b == 0 || support_of(types[b]));
            if (there && (a == 0 || b == 0 || a == b)) expect_pair(arena, types[a], types[b]);
        }
    stk__arena_destroy(&arena);
}

void judges_have_no_16_bits(void **state)
{
    (void)state;
    for (int kind = 0; kind < STK_OP_COUNT; kind++) {
        if (!stk__op_is_loss((stk__op_kind)kind) && !stk__op_is_metric((stk__op_kind)kind)) continue;
        stk_error error = {0};
        stk__op *op;
        op_trial_random(&trial, (stk__op_kind)kind, 1, false);
        trial.spec.half = STK_DTYPE_BF16;
        assert_int_equal(stk__op_create(tested, &trial.spec, &op, &error), STK_ERROR_CONFIG);
        assert_null(op);
        assert_non_null(strstr(error.message, "does not support that dtype"));
    }
}
