/* SPDX-License-Identifier: Apache-2.0 */
/* Random trials of operations: shapes, settings and data drawn from a seed as plain arrays of doubles from
 * one static pool, and the distance of two results. */
#include "op_trial.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POOL_VALUES = 1 << 22 };

static double pool[POOL_VALUES];
static int64_t pool_used;

double dice_unit(dice *d)
{
    uint64_t word = d->state += 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 31) * 0xd6e8feb86659fd93u;
    word = (word ^ word >> 29) * 0xa3b195354a39b70du;
    return (double)((word ^ word >> 32) >> 11) * 0x1p-53;
}

int64_t dice_pick(dice *d, int64_t least, int64_t most)
{
    return least + (int64_t)(dice_unit(d) * (double)(most - least + 1));
}

double dice_value(dice *d)
{
    return (float)(dice_unit(d) * 3 - 1.5);
}

bool dice_chance(dice *d, double share)
{
    return dice_unit(d) < share;
}

sheet sheet_make(const stk__shape *shape, stk_dtype dtype)
{
    sheet made = {*shape, dtype, stk__shape_count(shape), pool + pool_used};
    assert(pool_used + made.count <= POOL_VALUES);
    memset(made.value, 0, (size_t)made.count * sizeof *made.value);
    pool_used += made.count;
    return made;
}

void sheet_pool_reset(void)
{
    pool_used = 0;
}

double sheet_distance(const sheet *got, const sheet *right, double least)
{
    double far = 0, most = least;
    for (int64_t i = 0; i < right->count; i++) {
        const double away = fabs(got->value[i] - right->value[i]);
        most = fmax(most, fabs(right->value[i]));
        if (!(away <= far)) far = isnan(away) ? INFINITY : away;
    }
    return far / most;
}

int op_trial_inputs(const op_trial *trial)
{
    const bool judged = stk__op_is_loss(trial->spec.kind) || stk__op_is_metric(trial->spec.kind);
    return judged ? STK_LOSS_INPUTS : trial->spec.inputs;
}

void op_result_make(op_result *result, const op_trial *trial)
{
    const bool loss = stk__op_is_loss(trial->spec.kind);
    *result = (op_result){.y = sheet_make(&trial->form.output, trial->form.output_dtype)};
    for (int i = 0; i < trial->form.buffer_count; i++)
        result->buffer[i] = sheet_make(&trial->buffer[i].shape, trial->buffer[i].dtype);
    if (!trial->form.has_gradient) return;
    for (int i = 0; i < (loss ? 1 : trial->spec.inputs); i++)
        if (!(trial->flags.unwanted >> i & 1))
            result->dx[i] = sheet_make(&trial->spec.input[i], trial->x[i].dtype);
    for (int i = 0; i < trial->form.param_count; i++)
        if (!(trial->flags.frozen >> i & 1))
            result->dparam[i] = sheet_make(&trial->form.param[i].shape, STK_DTYPE_F32);
}

void op_trial_print(const op_trial *trial, char *text, size_t size)
{
    const stk__op_spec *s = &trial->spec;
    const op_flags *f = &trial->flags;
    char shape[96];
    stk__shape_print(&s->input[0], shape, sizeof shape);
    snprintf(text, size,
             "%s seed %llu of [%s] x%d: channels %lld kernel %dx%d stride %dx%d pad %dx%d dilation %dx%d "
             "groups %d%s size %dx%d mode %d hidden %lld layers %d%s drop %g; %s%s%s%s%sfrozen %x unwanted "
             "%x%s%s%s smoothing %g ignore %lld",
             stk__op_word(s->kind), (unsigned long long)trial->seed, shape, s->inputs, (long long)s->channels,
             s->kernel[0], s->kernel[1], s->stride[0], s->stride[1], s->pad[0], s->pad[1], s->dilation[0],
             s->dilation[1], s->groups,
             s->no_bias ? " no_bias"
             : s->relu  ? " relu"
                        : "",
             s->size[0], s->size[1], (int)s->resize, (long long)s->hidden, s->layers, s->last ? " last" : "",
             s->drop, f->training ? "training " : "", f->again ? "again " : "", f->add_dparam ? "add " : "",
             f->in_place ? "in_place " : "", f->gradient_in_place ? "gradient_in_place " : "", f->frozen,
             f->unwanted, f->second ? " second" : "", f->weights ? " weights" : "",
             f->class_weights ? " class_weights" : "", s->label_smoothing,
             s->ignores ? (long long)s->ignore_index : -1LL);
}
