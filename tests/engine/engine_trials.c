/* SPDX-License-Identifier: Apache-2.0 */
/* Trials of one kind of operation: against the oracle, its finite differences, and the reference engine. */
#include "test_engine.h"

#include "op_oracle.h"
#include "op_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
    RANDOM_TRIALS = 40,
    REFERENCE_TRIALS = 120,
    ORACLE_PROBES = 24, /* values of each tensor whose gradient is checked */
    ENGINE_PROBES = 6
};

static op_trial trial;
static op_result got, right;

static stk__op_kind kind_of(void **state)
{
    return ((const engine_kind *)*state)->kind;
}

/* The number-th trial of a kind: all odd ones, then random ones; false: that was all. */
static bool next_trial(stk__op_kind kind, int number)
{
    int odd_count = 0;
    if (op_trial_odd(&trial, kind, number)) return true;
    while (op_trial_odd(&trial, kind, odd_count))
        odd_count++;
    if (number >= odd_count + RANDOM_TRIALS) return false;
    op_trial_random(&trial, kind, (uint64_t)(number - odd_count), false);
    return true;
}

static void expect_near(const char *what, int number, double distance, double bound)
{
    char text[512];
    if (distance <= bound) return;
    op_trial_print(&trial, text, sizeof text);
    fail_msg("%s %d is %g away (bound %g); %s", what, number, distance, bound, text);
}

static void expect_sheets(const char *what, const sheet *have, const sheet *want, int count, double bound)
{
    for (int i = 0; i < count; i++)
        if (have[i].value)
            expect_near(what, i, sheet_distance(&have[i], &want[i], LEAST_PER_MILLE / 1000.0), bound);
}

void values_are_right(void **state)
{
    const engine_bounds bounds = bounds_of(kind_of(state));
    for (int number = 0; next_trial(kind_of(state), number); number++) {
        if (is_foreign(&trial.spec)) continue;
        op_result_make(&got, &trial);
        op_result_make(&right, &trial);
        op_rig_run(tested, &trial, &got);
        op_oracle_forward(&trial, &right);
        expect_sheets("y", &got.y, &right.y, 1, bounds.value);
        expect_sheets("buffer", got.buffer, right.buffer, trial.form.buffer_count, bounds.value);
    }
}

/* What the gradient is the gradient of: y against random numbers, or the loss itself. */
static double project(const sheet *y)
{
    double sum = 0;
    if (stk__op_is_loss(trial.spec.kind)) {
        const double below = y->value[1] - trial.y.value[1];
        return below > 0 ? trial.grad_scale * (y->value[0] - trial.y.value[0]) / below : 0;
    }
    for (int64_t i = 0; i < y->count; i++)
        sum += y->value[i] * trial.dy.value[i];
    return sum;
}

static double project_oracle(op_rig *rig)
{
    (void)rig;
    op_oracle_forward(&trial, &right);
    return project(&right.y);
}

static double project_engine(op_rig *rig)
{
    op_rig_load(rig);
    op_rig_forward(rig);
    rig_read(rig->y, &right.y);
    return project(&right.y);
}

typedef struct probe {
    const char *what;
    double (*project)(op_rig *rig);
    op_rig *rig;
    int count;
    double step, bound;
} probe;

/* Central difference of value k of a sheet of the trial; what a float cannot hold of the step is no step. */
static double difference(const probe *p, sheet *at, int64_t k)
{
    const double value = at->value[k];
    at->value[k] = (float)(value + p->step);
    const double high = at->value[k], above = p->project(p->rig);
    at->value[k] = (float)(value - p->step);
    const double low = at->value[k], below = p->project(p->rig);
    at->value[k] = value;
    return (above - below) / (high - low);
}

static void probe_sheet(const probe *p, sheet *at, const sheet *gradient, const sheet *before)
{
    dice d = {trial.seed};
    double most = LEAST_PER_MILLE / 1000.0;
    for (int64_t i = 0; i < gradient->count; i++)
        most = fmax(most, fabs(gradient->value[i]));
    for (int i = 0; gradient->value && i < p->count && i < gradient->count; i++) {
        const int64_t k = gradient->count <= p->count ? i : dice_pick(&d, 0, gradient->count - 1);
        const double added = before && trial.flags.add_dparam ? before->value[k] : 0;
        const double away = fabs(gradient->value[k] - (difference(p, at, k) + added)) / most;
        expect_near(p->what, i, isnan(away) ? INFINITY : away, p->bound);
    }
}

static void probe_all(const probe *p)
{
    for (int i = 0; i < (stk__op_is_loss(trial.spec.kind) ? 1 : trial.spec.inputs); i++)
        probe_sheet(p, &trial.x[i], &got.dx[i], NULL);
    for (int i = 0; i < trial.form.param_count; i++)
        probe_sheet(p, &trial.param[i], &got.dparam[i], &trial.dparam[i]);
}

/* A step of an engine's floats: as wide as the curve allows, since their rounding is divided by it. */
static double step_of(stk__op_kind kind)
{
    switch (kind) {
    case STK_OP_MAX_POOL:
        return fmin(0x1p-10, 1.0 / (double)trial.x[0].count); /* a quarter of their distance */
    case STK_OP_RELU:
        return 0x1p-10;
    case STK_OP_BATCH_NORM:
    case STK_OP_SILU:
    case STK_OP_GELU:
    case STK_OP_SIGMOID:
    case STK_OP_TANH:
    case STK_OP_LSTM:
        return 0x1p-6;
    default:
        return stk__op_is_loss(kind) ? 0x1p-6 : 0.25;
    }
}

/* The oracle's differences are good to eight digits and judge how exact the gradients are; the engine's own
 * say that its two passes belong together: 2 % for the curvature over a step and for rounding over a step. */
void gradients_are_right(void **state)
{
    const stk__op_kind kind = kind_of(state);
    op_rig rig;
    for (int number = 0; next_trial(kind, number); number++) {
        if (is_foreign(&trial.spec)) continue;
        op_result_make(&got, &trial);
        op_result_make(&right, &trial);
        op_rig_run(tested, &trial, &got);
        op_rig_open(&rig, tested, &trial);
        const probe by_oracle = {
            "gradient by the oracle at probe", project_oracle, NULL, ORACLE_PROBES, 0x1p-16,
            bounds_of(kind).gradient};
        const probe by_engine = {
            "gradient by the engine at probe", project_engine, &rig, ENGINE_PROBES, step_of(kind), 0.02};
        probe_all(&by_oracle);
        if (!trial.spec.relu) probe_all(&by_engine); /* wide steps go over its edge */
        op_rig_close(&rig);
    }
}

void reference_is_met(void **state)
{
    const stk__op_kind kind = kind_of(state);
    const engine_bounds bounds = bounds_of(kind);
    if (!reference) skip();
    for (uint64_t seed = 1000; seed < 1000 + REFERENCE_TRIALS; seed++) {
        op_trial_random(&trial, kind, seed, true);
        if (is_foreign(&trial.spec)) continue;
        op_result_make(&got, &trial);
        op_result_make(&right, &trial);
        op_rig_run(tested, &trial, &got);
        op_rig_run(reference, &trial, &right);
        expect_sheets("y", &got.y, &right.y, 1, bounds.value);
        expect_sheets("dx", got.dx, right.dx, STK_OP_INPUTS, bounds.gradient);
        expect_sheets("dparam", got.dparam, right.dparam, STK_OP_PARAMS, bounds.gradient);
        expect_sheets("buffer", got.buffer, right.buffer, STK_OP_BUFFERS, bounds.value);
    }
}
