/* SPDX-License-Identifier: Apache-2.0 */
/* Which shapes are tried, on which numbers, and how far results may lie apart. */
#include "core/half.h"
#include "core/random.h"
#include "engine/conform.h"

#include <math.h>

#define PICTURE(...) .input = {{4, {__VA_ARGS__}}}

/* Channels that fast code treats apart, and some that it does not; a stride, a group, a hole. */
static const stk__op_spec specs[] = {
    {.kind = STK_OP_CONV, PICTURE(2, 9, 11, 16), .channels = 24, .kernel = {3, 3}, .pad = {1, 1}},
    {.kind = STK_OP_CONV, PICTURE(2, 8, 8, 3), .channels = 8, .kernel = {1, 1}, .stride = {2, 2}},
    {.kind = STK_OP_CONV,
     PICTURE(1, 10, 7, 6),
     .channels = 9,
     .kernel = {3, 2},
     .pad = {2, 1},
     .dilation = {2, 1},
     .groups = 3,
     .no_bias = true},
    {.kind = STK_OP_CONV_TRANSPOSE, PICTURE(2, 5, 6, 8), .channels = 4, .kernel = {2, 2}, .stride = {2, 2}},
    {.kind = STK_OP_BATCH_NORM, PICTURE(3, 5, 7, 8)},
    {.kind = STK_OP_BATCH_NORM, .input = {{2, {12, 5}}}},
    {.kind = STK_OP_RELU, PICTURE(2, 5, 7, 4)},
    {.kind = STK_OP_SILU, PICTURE(2, 5, 7, 4)},
    {.kind = STK_OP_GELU, PICTURE(2, 5, 7, 4)},
    {.kind = STK_OP_SIGMOID, PICTURE(2, 5, 7, 4)},
    {.kind = STK_OP_TANH, PICTURE(2, 5, 7, 4)},
    {.kind = STK_OP_MAX_POOL, PICTURE(2, 8, 9, 5), .kernel = {2, 2}},
    {.kind = STK_OP_MAX_POOL, PICTURE(2, 8, 9, 5), .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}},
    {.kind = STK_OP_AVG_POOL, PICTURE(2, 8, 9, 5), .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}},
    {.kind = STK_OP_GLOBAL_POOL, PICTURE(2, 6, 5, 9)},
    {.kind = STK_OP_LINEAR, .input = {{2, {7, 33}}}, .channels = 10},
    {.kind = STK_OP_LINEAR, .input = {{3, {2, 5, 8}}}, .channels = 6, .no_bias = true},
    {.kind = STK_OP_ADD, .inputs = 2, .input = {{4, {2, 5, 7, 4}}, {4, {2, 5, 7, 4}}}},
    {.kind = STK_OP_CONCAT, .inputs = 2, .input = {{4, {2, 5, 7, 4}}, {4, {2, 5, 7, 3}}}},
    {.kind = STK_OP_RESIZE, PICTURE(2, 5, 4, 6), .scale = {2, 2}},
    {.kind = STK_OP_RESIZE, PICTURE(2, 5, 4, 6), .resize = STK_RESIZE_NEAREST, .size = {7, 9}},
    {.kind = STK_OP_DROPOUT, PICTURE(2, 5, 7, 4), .drop = 0.3},
    {.kind = STK_OP_LSTM, .input = {{3, {3, 7, 5}}}, .hidden = 8, .layers = 2},
    {.kind = STK_OP_LSTM, .input = {{3, {3, 7, 5}}}, .hidden = 6, .last = true},
    {.kind = STK_OP_AFFINE, .input = {{3, {3, 7, 5}}}},
    {.kind = STK_OP_CROSS_ENTROPY, PICTURE(2, 6, 5, 7), .label_smoothing = 0.1},
    {.kind = STK_OP_CROSS_ENTROPY, .input = {{2, {9, 5}}}, .ignores = true, .ignore_index = 2},
    {.kind = STK_OP_L1, .input = {{2, {9, 1}}}},
    {.kind = STK_OP_MSE, .input = {{2, {9, 1}}}},
    {.kind = STK_OP_SMOOTH_L1, .input = {{2, {9, 1}}}},
    {.kind = STK_OP_POINTS, PICTURE(2, 6, 8, 6), .image_size = {48, 64}},
    {.kind = STK_OP_CONFUSION, PICTURE(2, 6, 5, 7)},
    {.kind = STK_OP_TOP_K, .input = {{2, {19, 8}}}},
    {.kind = STK_OP_POINT_ERROR, PICTURE(2, 6, 8, 6), .image_size = {48, 64}},
    {.kind = STK_OP_VALUE_ERROR, .input = {{2, {9, 1}}}},
    {.kind = STK_OP_BCE, .input = {{2, {9, 5}}}},
    {.kind = STK_OP_LABEL_HITS, .input = {{2, {9, 5}}}},
};

bool stk__conform_spec(stk__op_kind kind, int number, stk__op_spec *spec)
{
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        if (specs[i].kind != kind || number-- > 0) continue;
        *spec = specs[i];
        return true;
    }
    return false;
}

double stk__conform_bound(stk__op_kind kind, stk__conform_mode mode)
{
    const double units = mode == STK_CONFORM_BF16 ? 26 * 0x1p-8 : mode == STK_CONFORM_F16 ? 26 * 0x1p-11 : 0;
    return units + (stk__op_is_product(kind) ? 1e-4 : 5e-5);
}

/* [0, 1) */
static double draw(uint32_t number, int64_t index)
{
    const stk__random r = stk__random_draw((stk__random_at){
        .sample = number, .operation = STK_OPERATION_MAKE_NOISE, .draw = (uint32_t)(index / 4)});
    return stk__random_unit(r.word[index % 4]);
}

static int64_t count_of(const stk_tensor *view)
{
    int64_t count = 1;
    for (int i = 0; i < view->ndim; i++)
        count *= view->shape[i];
    return count;
}

void stk__conform_put(stk_tensor *view, stk__conform_fill fill, uint32_t number, double scale)
{
    const int64_t count = count_of(view);
    for (int64_t i = 0; i < count; i++) {
        const double unit = draw(number, i);
        const double value = fill == STK_CONFORM_SPREAD   ? 0.5 + unit
                             : fill == STK_CONFORM_ID     ? floor(unit * scale)
                             : fill == STK_CONFORM_WEIGHT ? (unit * 3 - 1.5) * scale
                                                          : unit * 3 - 1.5;
        if (view->dtype == STK_DTYPE_F32) ((float *)view->data)[i] = (float)value;
        if (view->dtype == STK_DTYPE_BF16) ((uint16_t *)view->data)[i] = stk__bfloat_from_float((float)value);
        if (view->dtype == STK_DTYPE_F16) ((uint16_t *)view->data)[i] = stk__half_from_float((float)value);
        if (view->dtype == STK_DTYPE_I64) ((int64_t *)view->data)[i] = (int64_t)value;
        if (view->dtype == STK_DTYPE_U8) ((uint8_t *)view->data)[i] = (uint8_t)value;
    }
}

void stk__conform_points(stk_tensor *view, const stk__op_spec *spec)
{
    float *values = view->data;
    for (int64_t i = 0; i < view->shape[0] * view->shape[1]; i++) {
        values[3 * i] = (float)(draw(77, 2 * i) * spec->image_size[1]);
        values[3 * i + 1] = (float)(draw(77, 2 * i + 1) * spec->image_size[0]);
        values[3 * i + 2] = i % 4 != 3; /* some are not visible */
    }
}
