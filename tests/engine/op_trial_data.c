/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers a trial works on. They keep away from kinks (a relu's 0, equal values of a pool), so that
 * finite differences with steps up to 2^-10 see one side only. */
#include "op_trial.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

static void fill_values(sheet *s, dice *d)
{
    for (int64_t i = 0; i < s->count; i++)
        s->value[i] = dice_value(d);
}

static void fill_away_from_zero(sheet *s, dice *d)
{
    for (int64_t i = 0; i < s->count; i++) {
        const double value = dice_value(d);
        s->value[i] = (float)(value + (value < 0 ? -0.02 : 0.02));
    }
}

/* All different, in random order, evenly over +-2. */
static void fill_different(sheet *s, dice *d)
{
    for (int64_t i = 0; i < s->count; i++)
        s->value[i] = (float)(((double)i + 0.5) / (double)s->count * 4 - 2);
    for (int64_t i = s->count - 1; i > 0; i--) {
        const int64_t j = dice_pick(d, 0, i);
        const double value = s->value[i];
        s->value[i] = s->value[j];
        s->value[j] = value;
    }
}

/* Steps of a half: many are equal, so that the rule for equals counts. */
static void fill_coarse(sheet *s, dice *d)
{
    for (int64_t i = 0; i < s->count; i++)
        s->value[i] = (double)dice_pick(d, -3, 3) / 2;
}

static void fill_input(op_trial *t, int i, dice *d)
{
    t->x[i] = sheet_make(&t->spec.input[i], STK_DTYPE_F32);
    if (t->spec.kind == STK_OP_RELU)
        fill_away_from_zero(&t->x[i], d);
    else if (t->spec.kind == STK_OP_MAX_POOL)
        fill_different(&t->x[i], d);
    else if (stk__op_is_metric(t->spec.kind) && t->spec.kind != STK_OP_VALUE_ERROR)
        fill_coarse(&t->x[i], d);
    else
        fill_values(&t->x[i], d);
}

/* Now and then an id that is no class, and the ignored one. */
static sheet fill_ids(const op_trial *t, dice *d)
{
    const stk__op_spec *s = &t->spec;
    stk__shape shape = s->input[0];
    shape.ndim--;
    const bool mask = shape.ndim > 1 && !t->flags.wide;
    sheet ids = sheet_make(&shape, mask ? STK_DTYPE_U8 : STK_DTYPE_I64);
    for (int64_t i = 0; i < ids.count; i++) {
        ids.value[i] = (double)dice_pick(d, 0, s->classes - 1);
        if (dice_chance(d, 0.1)) ids.value[i] = mask ? (s->classes < 256 ? 255 : 0) : -1;
        if (dice_chance(d, 0.05) && !mask) ids.value[i] = (double)s->classes;
        if (s->ignores && dice_chance(d, 0.1)) ids.value[i] = (double)s->ignore_index;
    }
    return ids;
}

static void fill_class_targets(op_trial *t, dice *d)
{
    const stk__shape n = {1, {t->spec.input[0].dim[0]}};
    t->x[STK_LOSS_TARGET] = fill_ids(t, d);
    if (t->flags.second) {
        t->x[STK_LOSS_TARGET2] = fill_ids(t, d);
        t->x[STK_LOSS_LAMBDA] = sheet_make(&n, STK_DTYPE_F32);
        for (int64_t i = 0; i < n.dim[0]; i++)
            t->x[STK_LOSS_LAMBDA].value[i] = (float)(i % 3 == 2 ? 1 : dice_unit(d));
    }
    if (t->flags.class_weights) {
        t->x[STK_LOSS_CLASS_WEIGHTS] = sheet_make(&(stk__shape){1, {t->spec.classes}}, STK_DTYPE_F32);
        for (int64_t i = 0; i < t->spec.classes; i++)
            t->x[STK_LOSS_CLASS_WEIGHTS].value[i] = (float)(0.25 + dice_unit(d));
    }
}

/* Errors keep away from 0, where an absolute value has its kink. */
static void fill_value_targets(op_trial *t, dice *d)
{
    const stk__shape n = {1, {t->spec.input[0].dim[0]}};
    t->x[STK_LOSS_TARGET] = sheet_make(&n, STK_DTYPE_F32);
    for (int64_t i = 0; i < n.dim[0]; i++) {
        const double away = dice_value(d);
        t->x[STK_LOSS_TARGET].value[i] = (float)(t->x[0].value[i] + away + (away < 0 ? -0.1 : 0.1));
    }
}

/* Some not visible, some outside; the rest well inside their cells. */
static void fill_points(op_trial *t, dice *d)
{
    const int64_t *dim = t->spec.input[0].dim;
    t->x[STK_LOSS_TARGET] = sheet_make(&(stk__shape){3, {dim[0], dim[3] / 3, 3}}, STK_DTYPE_F32);
    for (int64_t i = 0; i < t->x[STK_LOSS_TARGET].count; i += 3) {
        double *point = t->x[STK_LOSS_TARGET].value + i;
        for (int a = 0; a < 2; a++) { /* x first */
            const int64_t cells = dim[2 - a];
            const double cell = (double)dice_pick(d, 0, cells - 1) + 0.05 + 0.9 * dice_unit(d);
            point[a] = (float)(cell * t->spec.image_size[1 - a] / (double)cells);
        }
        point[2] = dice_chance(d, 0.85);
        if (dice_chance(d, 0.1)) point[0] = -point[0] - 1;
        if (dice_chance(d, 0.1)) point[1] += t->spec.image_size[0];
    }
}

/* 0 and 1, and shares of mixed samples. */
static void fill_labels(op_trial *t, dice *d)
{
    t->x[STK_LOSS_TARGET] = sheet_make(&t->spec.input[0], STK_DTYPE_F32);
    for (int64_t i = 0; i < t->x[0].count; i++)
        t->x[STK_LOSS_TARGET].value[i] = (float)(dice_chance(d, 0.3) ? dice_unit(d) : dice_chance(d, 0.4));
}

static void fill_targets(op_trial *t, dice *d)
{
    const stk__op_kind kind = t->spec.kind;
    const stk__shape n = {1, {t->spec.input[0].dim[0]}};
    if (kind == STK_OP_CROSS_ENTROPY || kind == STK_OP_CONFUSION || kind == STK_OP_TOP_K)
        fill_class_targets(t, d);
    else if (kind == STK_OP_POINTS || kind == STK_OP_POINT_ERROR)
        fill_points(t, d);
    else if (kind == STK_OP_BCE || kind == STK_OP_LABEL_HITS)
        fill_labels(t, d);
    else
        fill_value_targets(t, d);
    if (t->flags.weights) {
        t->x[STK_LOSS_WEIGHTS] = sheet_make(&n, STK_DTYPE_F32);
        for (int64_t i = 0; i < n.dim[0]; i++)
            t->x[STK_LOSS_WEIGHTS].value[i] = dice_chance(d, 0.25) ? 0 : (float)(0.5 + dice_unit(d));
    }
    for (int64_t i = 0; i < t->y.count; i++)
        t->y.value[i] = (double)(3 + i);
}

static void fill_params(op_trial *t, dice *d)
{
    for (int i = 0; i < t->form.param_count; i++) {
        const int64_t fan = t->form.param[i].fan_in;
        t->param[i] = sheet_make(&t->form.param[i].shape, STK_DTYPE_F32);
        t->dparam[i] = sheet_make(&t->form.param[i].shape, STK_DTYPE_F32);
        for (int64_t k = 0; k < t->param[i].count; k++)
            t->param[i].value[k] = (float)(dice_value(d) / sqrt(fan ? (double)fan : 1));
        if (t->flags.add_dparam) fill_values(&t->dparam[i], d);
    }
    for (int i = 0; i < t->form.buffer_count; i++) {
        t->buffer[i] = sheet_make(&t->form.buffer[i].shape, t->form.buffer[i].dtype);
        for (int64_t k = 0; k < t->buffer[i].count; k++)
            t->buffer[i].value[k] =
                t->buffer[i].dtype == STK_DTYPE_I64 ? 7 : (float)(0.5 + dice_unit(d)); /* a variance too */
    }
}

void op_trial_fill(op_trial *t, const stk__op_spec *spec, const op_flags *flags, uint64_t seed)
{
    dice d = {seed * 1000003 + (uint64_t)spec->kind};
    *t = (op_trial){
        .spec = *spec, .flags = *flags, .seed = seed, .epoch = (uint32_t)(seed % 5), .grad_scale = 0.75};
    sheet_pool_reset();
    const stk_status status = stk__op_describe(&t->spec, &t->form, NULL);
    assert(status == STK_OK);
    (void)status;
    const bool judged = stk__op_is_loss(spec->kind) || stk__op_is_metric(spec->kind);
    t->flags.in_place &= t->form.in_place;
    t->flags.gradient_in_place &= t->form.gradient_in_place && !(t->flags.unwanted & 1);
    t->y = sheet_make(&t->form.output, t->form.output_dtype);
    for (int i = 0; i < (judged ? 1 : t->spec.inputs); i++)
        fill_input(t, i, &d);
    if (judged) fill_targets(t, &d);
    if (!judged) {
        t->dy = sheet_make(&t->form.output, STK_DTYPE_F32);
        fill_values(&t->dy, &d);
    }
    fill_params(t, &d);
    t->sample_ids = sheet_make(&(stk__shape){1, {t->spec.input[0].dim[0]}}, STK_DTYPE_I64);
    for (int64_t i = 0; i < t->sample_ids.count; i++)
        t->sample_ids.value[i] = (double)dice_pick(&d, 0, 100000);
}
