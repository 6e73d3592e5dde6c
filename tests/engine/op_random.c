/* SPDX-License-Identifier: Apache-2.0 */
/* Random specs: most are small, some have the channels that fast engines treat apart. */
#include "op_trial.h"

static int64_t pick_channels(dice *d, bool large)
{
    if (large && dice_chance(d, 0.3)) return 8 * dice_pick(d, 1, 4);
    return dice_pick(d, 1, 7);
}

static void pick_picture(stk__op_spec *s, dice *d, bool large)
{
    const int64_t side = large && dice_chance(d, 0.15) ? 24 : 9;
    s->input[0] = (stk__shape){
        4, {dice_pick(d, 1, 3), dice_pick(d, 1, side), dice_pick(d, 1, side), pick_channels(d, large)}};
}

/* Any number of dimensions. */
static void pick_any(stk__op_spec *s, dice *d, bool large)
{
    pick_picture(s, d, large);
    const int ndim = (int)dice_pick(d, 2, 4);
    s->input[0].dim[ndim - 1] = s->input[0].dim[3];
    s->input[0].ndim = ndim;
}

static void pick_window(stk__op_spec *s, dice *d)
{
    for (int a = 0; a < 2; a++) {
        s->kernel[a] = (int32_t)dice_pick(d, 1, 4);
        s->stride[a] = (int32_t)dice_pick(d, 1, 3);
        s->pad[a] = (int32_t)dice_pick(d, 0, s->kernel[a] / 2);
    }
}

static void pick_conv(stk__op_spec *s, dice *d, bool large)
{
    pick_picture(s, d, large);
    pick_window(s, d);
    if (dice_chance(d, 0.5)) /* square, as most are */
        for (int i = 0; i < 2; i++) {
            s->kernel[i] = dice_chance(d, 0.5) ? 3 : 1;
            s->stride[i] = s->stride[0];
            s->pad[i] = s->kernel[i] / 2;
        }
    if (dice_chance(d, 0.3))
        for (int a = 0; a < 2; a++)
            s->dilation[a] = (int32_t)dice_pick(d, 1, 3);
    s->channels = pick_channels(d, large);
    s->no_bias = dice_chance(d, 0.5);
    if (s->kind != STK_OP_CONV || !dice_chance(d, 0.4)) return;
    s->groups = (int32_t)(dice_chance(d, 0.5) ? s->input[0].dim[3] : dice_pick(d, 2, 3));
    s->input[0].dim[3] = s->groups * (s->groups == s->input[0].dim[3] ? 1 : dice_pick(d, 1, 4));
    s->channels = s->groups * dice_pick(d, 1, 3);
}

static void pick_concat(stk__op_spec *s, dice *d, bool large)
{
    pick_any(s, d, large);
    s->inputs = (int)dice_pick(d, 1, STK_OP_INPUTS);
    for (int i = 1; i < s->inputs; i++) {
        s->input[i] = s->input[0];
        s->input[i].dim[s->input[0].ndim - 1] = pick_channels(d, large);
    }
}

static void pick_resize(stk__op_spec *s, dice *d, bool large)
{
    pick_picture(s, d, large);
    s->resize = dice_chance(d, 0.5) ? STK_RESIZE_BILINEAR : STK_RESIZE_NEAREST;
    const bool whole = dice_chance(d, 0.5);
    for (int a = 0; a < 2; a++) {
        if (whole)
            s->scale[a] = (int32_t)dice_pick(d, 1, 4);
        else
            s->size[a] = (int32_t)dice_pick(d, 1, 13);
    }
}

static void pick_lstm(stk__op_spec *s, dice *d, bool large)
{
    s->input[0] = (stk__shape){3, {dice_pick(d, 1, 5), dice_pick(d, 1, 9), dice_pick(d, 1, 6)}};
    s->hidden = large && dice_chance(d, 0.3) ? 16 : dice_pick(d, 1, 9);
    s->layers = (int32_t)dice_pick(d, 1, 3);
    s->last = dice_chance(d, 0.5);
}

static void pick_classes(stk__op_spec *s, dice *d)
{
    pick_any(s, d, false);
    s->input[0].dim[s->input[0].ndim - 1] = dice_pick(d, 2, 21);
    if (s->kind == STK_OP_TOP_K) s->input[0] = (stk__shape){2, {dice_pick(d, 1, 40), dice_pick(d, 2, 21)}};
    if (s->kind != STK_OP_TOP_K && dice_chance(d, 0.5)) {
        s->ignores = true;
        s->ignore_index = dice_chance(d, 0.5) ? 255 : dice_pick(d, 0, 3);
    }
    if (s->kind == STK_OP_CROSS_ENTROPY && dice_chance(d, 0.5)) s->label_smoothing = dice_unit(d) / 2;
}

static void pick_points(stk__op_spec *s, dice *d)
{
    pick_picture(s, d, false);
    s->input[0].dim[3] = 3 * dice_pick(d, 1, 4);
    for (int a = 0; a < 2; a++)
        s->image_size[a] = (int32_t)dice_pick(d, 1, 80);
}

static void pick_spec(stk__op_spec *s, dice *d, bool large)
{
    switch (s->kind) {
    case STK_OP_CONV:
    case STK_OP_CONV_TRANSPOSE:
        pick_conv(s, d, large);
        break;
    case STK_OP_MAX_POOL:
    case STK_OP_AVG_POOL:
        pick_picture(s, d, large), pick_window(s, d);
        break;
    case STK_OP_GLOBAL_POOL:
        pick_picture(s, d, large);
        break;
    case STK_OP_LINEAR:
        pick_any(s, d, large);
        if (s->input[0].ndim == 4) s->input[0].dim[1] = s->input[0].dim[2] = 1;
        s->channels = pick_channels(d, large);
        s->no_bias = dice_chance(d, 0.3);
        break;
    case STK_OP_ADD:
        pick_any(s, d, large);
        s->inputs = 2;
        s->input[1] = s->input[0];
        break;
    case STK_OP_CONCAT:
        pick_concat(s, d, large);
        break;
    case STK_OP_RESIZE:
        pick_resize(s, d, large);
        break;
    case STK_OP_LSTM:
        pick_lstm(s, d, large);
        break;
    case STK_OP_CROSS_ENTROPY:
    case STK_OP_CONFUSION:
    case STK_OP_TOP_K:
        pick_classes(s, d);
        break;
    case STK_OP_L1:
    case STK_OP_MSE:
    case STK_OP_SMOOTH_L1:
    case STK_OP_VALUE_ERROR:
        s->input[0] = (stk__shape){(int)dice_pick(d, 1, 2), {dice_pick(d, 1, 40), 1}};
        break;
    case STK_OP_BCE:
    case STK_OP_LABEL_HITS:
        s->input[0] = (stk__shape){2, {dice_pick(d, 1, 40), dice_pick(d, 1, 21)}};
        break;
    case STK_OP_POINTS:
    case STK_OP_POINT_ERROR:
        pick_points(s, d);
        break;
    default:
        pick_any(s, d, large);
    }
    s->drop = s->kind == STK_OP_DROPOUT ? dice_unit(d) : 0;
    s->random_layer = (uint32_t)dice_pick(d, 0, 9);
    s->relu = stk__op_takes_relu(s->kind) && dice_chance(d, 0.5);
}

static op_flags pick_flags(dice *d)
{
    op_flags f = {.training = dice_chance(d, 0.7),
                  .again = dice_chance(d, 0.2),
                  .add_dparam = dice_chance(d, 0.4),
                  .in_place = dice_chance(d, 0.4),
                  .gradient_in_place = dice_chance(d, 0.4),
                  .second = dice_chance(d, 0.5),
                  .weights = dice_chance(d, 0.5),
                  .class_weights = dice_chance(d, 0.5),
                  .wide = dice_chance(d, 0.5)};
    for (int i = 0; i < STK_OP_PARAMS; i++)
        f.frozen |= (unsigned)dice_chance(d, 0.15) << i;
    for (int i = 0; i < STK_OP_INPUTS; i++)
        f.unwanted |= (unsigned)dice_chance(d, 0.15) << i;
    return f;
}

/* Two values a channel are normalised to +-1 whatever they are: their gradient is rounding only. */
static bool is_degenerate(const stk__op_spec *s)
{
    const int64_t c = s->input[0].dim[s->input[0].ndim - 1];
    return s->kind == STK_OP_BATCH_NORM && stk__shape_count(&s->input[0]) / c < 4;
}

void op_trial_random(op_trial *trial, stk__op_kind kind, uint64_t seed, bool large)
{
    dice d = {seed * 7919 + (uint64_t)kind * 104729 + 1};
    stk__op_spec spec, filled;
    stk__op_form form;
    do {
        spec = (stk__op_spec){.kind = kind};
        pick_spec(&spec, &d, large);
        filled = spec;
    } while (stk__op_describe(&filled, &form, NULL) != STK_OK || is_degenerate(&spec));
    const op_flags flags = pick_flags(&d);
    op_trial_fill(trial, &spec, &flags, seed);
}
