/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from an operation's settings: shapes, parameters, and the sentence when it makes no sense. */
#include "engine/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PICTURE(n, h, w, c)                                                                                  \
    {                                                                                                        \
        {                                                                                                    \
            4,                                                                                               \
            {                                                                                                \
                n, h, w, c                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef struct shaped {
    stk__op_spec spec;
    stk__shape output;
} shaped;

static const shaped shapes[] = {
    {{.kind = STK_OP_CONV, .input = PICTURE(2, 7, 9, 3), .channels = 5}, {4, {2, 7, 9, 5}}},
    {{.kind = STK_OP_CONV, .input = PICTURE(1, 7, 9, 3), .channels = 5, .kernel = {3, 5}}, {4, {1, 5, 5, 5}}},
    {{.kind = STK_OP_CONV,
      .input = PICTURE(1, 224, 223, 3),
      .channels = 64,
      .kernel = {7, 7},
      .stride = {2, 2},
      .pad = {3, 3}},
     {4, {1, 112, 112, 64}}},
    {{.kind = STK_OP_CONV, .input = PICTURE(1, 9, 9, 1), .channels = 1, .kernel = {3, 3}, .dilation = {4, 2}},
     {4, {1, 1, 5, 1}}},
    {{.kind = STK_OP_CONV_TRANSPOSE,
      .input = PICTURE(2, 3, 4, 6),
      .channels = 2,
      .kernel = {2, 2},
      .stride = {2, 2}},
     {4, {2, 6, 8, 2}}},
    {{.kind = STK_OP_CONV_TRANSPOSE,
      .input = PICTURE(1, 3, 4, 6),
      .channels = 2,
      .kernel = {4, 3},
      .stride = {2, 3},
      .pad = {1, 0},
      .dilation = {1, 2}},
     {4, {1, 6, 14, 2}}},
    {{.kind = STK_OP_BATCH_NORM, .input = {{3, {2, 5, 7}}}}, {3, {2, 5, 7}}},
    {{.kind = STK_OP_RELU, .input = {{1, {3}}}}, {1, {3}}},
    {{.kind = STK_OP_MAX_POOL, .input = PICTURE(1, 7, 7, 3), .kernel = {2, 2}}, {4, {1, 3, 3, 3}}},
    {{.kind = STK_OP_MAX_POOL,
      .input = PICTURE(1, 112, 111, 3),
      .kernel = {3, 3},
      .stride = {2, 2},
      .pad = {1, 1}},
     {4, {1, 56, 56, 3}}},
    {{.kind = STK_OP_AVG_POOL, .input = PICTURE(1, 7, 7, 3), .kernel = {7, 2}}, {4, {1, 1, 3, 3}}},
    {{.kind = STK_OP_GLOBAL_POOL, .input = PICTURE(4, 7, 5, 3)}, {2, {4, 3}}},
    {{.kind = STK_OP_LINEAR, .input = {{2, {4, 3}}}, .channels = 7}, {2, {4, 7}}},
    {{.kind = STK_OP_LINEAR, .input = {{3, {4, 9, 3}}}, .channels = 7}, {3, {4, 9, 7}}},
    {{.kind = STK_OP_LINEAR, .input = PICTURE(4, 1, 1, 3), .channels = 7}, {2, {4, 7}}},
    {{.kind = STK_OP_ADD, .inputs = 2, .input = {{2, {4, 3}}, {2, {4, 3}}}}, {2, {4, 3}}},
    {{.kind = STK_OP_CONCAT, .inputs = 3, .input = {{2, {4, 3}}, {2, {4, 1}}, {2, {4, 6}}}}, {2, {4, 10}}},
    {{.kind = STK_OP_RESIZE, .input = PICTURE(1, 4, 5, 3), .scale = {2, 3}}, {4, {1, 8, 15, 3}}},
    {{.kind = STK_OP_RESIZE, .input = PICTURE(1, 4, 5, 3), .size = {9, 2}, .scale = {2, 2}},
     {4, {1, 9, 2, 3}}},
    {{.kind = STK_OP_RESIZE, .input = PICTURE(1, 4, 5, 3)}, {4, {1, 4, 5, 3}}},
    {{.kind = STK_OP_DROPOUT, .input = {{2, {4, 3}}}, .drop = 0.5}, {2, {4, 3}}},
    {{.kind = STK_OP_LSTM, .input = {{3, {4, 9, 3}}}, .hidden = 8}, {3, {4, 9, 8}}},
    {{.kind = STK_OP_LSTM, .input = {{3, {4, 9, 3}}}, .hidden = 8, .last = true}, {2, {4, 8}}},
    {{.kind = STK_OP_AFFINE, .input = {{3, {4, 9, 3}}}}, {3, {4, 9, 3}}},
    {{.kind = STK_OP_CROSS_ENTROPY, .input = PICTURE(1, 4, 5, 19), .inputs = 6}, {1, {2}}},
    {{.kind = STK_OP_L1, .input = {{2, {4, 1}}}}, {1, {2}}},
    {{.kind = STK_OP_MSE, .input = {{1, {4}}}}, {1, {2}}},
    {{.kind = STK_OP_POINTS, .input = PICTURE(1, 4, 5, 6), .image_size = {8, 9}}, {1, {2}}},
    {{.kind = STK_OP_CONFUSION, .input = PICTURE(1, 4, 5, 19)}, {1, {361}}},
    {{.kind = STK_OP_TOP_K, .input = {{2, {4, 10}}}}, {1, {3}}},
    {{.kind = STK_OP_POINT_ERROR, .input = PICTURE(1, 4, 5, 3), .image_size = {8, 9}}, {1, {3}}},
    {{.kind = STK_OP_VALUE_ERROR, .input = {{2, {4, 1}}}}, {1, {5}}},
    {{.kind = STK_OP_BCE, .input = {{2, {4, 7}}}}, {1, {2}}},
    {{.kind = STK_OP_LABEL_HITS, .input = {{2, {4, 1}}}}, {1, {3}}},
};

static void outputs_have_their_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        stk__op_spec spec = shapes[i].spec;
        stk__op_form form;
        stk_error error = {0};
        if (stk__op_describe(&spec, &form, &error) != STK_OK) fail_msg("%zu: %s", i, error.message);
        if (!stk__shape_equal(&form.output, &shapes[i].output)) fail_msg("shape %zu differs", i);
        assert_true(form.has_gradient == !stk__op_is_metric(spec.kind));
        const bool judged = stk__op_is_loss(spec.kind) || stk__op_is_metric(spec.kind);
        assert_true((form.output_dtype == STK_DTYPE_F32) == !judged);
    }
}

typedef struct refused {
    stk__op_spec spec;
    const char *message;
} refused;

static const refused refusals[] = {
    {{.kind = STK_OP_CONCAT, .inputs = 9}, "at most 8 inputs are supported"},
    {{.kind = STK_OP_CONCAT, .inputs = -1}, "at most 8 inputs are supported"},
    {{.kind = STK_OP_RELU, .inputs = 2, .input = {{1, {1}}, {1, {1}}}}, "needs one input"},
    {{.kind = STK_OP_RELU}, "its input is empty"},
    {{.kind = STK_OP_RELU, .input = {{2, {3, 0}}}}, "its input is empty"},
    {{.kind = STK_OP_RELU, .input = {{2, {-3, -1}}}}, "its input is empty"},
    {{.kind = STK_OP_CONCAT, .inputs = 2, .input = {{2, {3, 1}}, {2, {3, 0}}}}, "its input is empty"},
    {{.kind = STK_OP_CONV, .input = {{2, {3, 4}}}}, "needs an image tensor [n h w c], not [3 x 4]"},
    {{.kind = STK_OP_CONV_TRANSPOSE, .input = {{1, {3}}}}, "needs an image tensor [n h w c], not [3]"},
    {{.kind = STK_OP_MAX_POOL, .input = {{1, {3}}}}, "needs an image tensor [n h w c], not [3]"},
    {{.kind = STK_OP_GLOBAL_POOL, .input = {{1, {3}}}}, "needs an image tensor [n h w c], not [3]"},
    {{.kind = STK_OP_RESIZE, .input = {{1, {3}}}}, "needs an image tensor [n h w c], not [3]"},
    {{.kind = STK_OP_POINTS, .input = {{1, {3}}}}, "needs an image tensor [n h w c], not [3]"},
    {{.kind = STK_OP_CONV, .input = PICTURE(1, 4, 4, 2), .channels = 1, .kernel = {-1, 1}},
     "kernel, stride and dilation must be at least 1 and pad at least 0"},
    {{.kind = STK_OP_CONV_TRANSPOSE, .input = PICTURE(1, 4, 4, 2), .channels = 1, .pad = {0, -1}},
     "kernel, stride and dilation must be at least 1 and pad at least 0"},
    {{.kind = STK_OP_AVG_POOL, .input = PICTURE(1, 4, 4, 2), .kernel = {1, 1}, .stride = {-2, 1}},
     "kernel, stride and dilation must be at least 1 and pad at least 0"},
    {{.kind = STK_OP_CONV, .input = PICTURE(1, 4, 4, 2)}, "channels must be at least 1"},
    {{.kind = STK_OP_CONV_TRANSPOSE, .input = PICTURE(1, 4, 4, 2)}, "channels must be at least 1"},
    {{.kind = STK_OP_LINEAR, .input = {{2, {3, 4}}}, .channels = -1}, "channels must be at least 1"},
    {{.kind = STK_OP_CONV, .input = PICTURE(1, 4, 4, 6), .channels = 8, .groups = 3},
     "groups (3) must divide the 6 input and 8 output channels"},
    {{.kind = STK_OP_CONV, .input = PICTURE(1, 4, 4, 8), .channels = 6, .groups = -1},
     "groups (-1) must divide the 8 input and 6 output channels"},
    {{.kind = STK_OP_CONV, .input = PICTURE(1, 4, 2, 6), .channels = 8, .kernel = {3, 3}},
     "the kernel is larger than its input [1 x 4 x 2 x 6]"},
    {{.kind = STK_OP_CONV_TRANSPOSE, .input = PICTURE(1, 4, 4, 6), .channels = 8, .groups = 2},
     "conv_transpose does not support groups"},
    {{.kind = STK_OP_CONV_TRANSPOSE, .input = PICTURE(1, 4, 1, 6), .channels = 8, .pad = {0, 1}},
     "the output for its input [1 x 4 x 1 x 6] is empty"},
    {{.kind = STK_OP_BATCH_NORM, .input = {{1, {3}}}, .eps = -1},
     "eps must be above 0 and momentum between 0 and 1"},
    {{.kind = STK_OP_LINEAR, .input = {{2, {3, 4}}}, .channels = 2, .relu = true},
     "linear does not support fused ReLU"},
    {{.kind = STK_OP_BATCH_NORM, .input = {{1, {3}}}, .momentum = 1.5},
     "eps must be above 0 and momentum between 0 and 1"},
    {{.kind = STK_OP_MAX_POOL, .input = PICTURE(1, 4, 4, 2), .kernel = {2, 0}}, "kernel is missing"},
    {{.kind = STK_OP_MAX_POOL, .input = PICTURE(1, 9, 9, 2), .kernel = {2, 2}, .dilation = {1, 2}},
     "pooling does not support dilation"},
    {{.kind = STK_OP_MAX_POOL, .input = PICTURE(1, 9, 9, 2), .kernel = {3, 3}, .pad = {1, 2}},
     "pad of a pooling layer must be at most half its kernel"},
    {{.kind = STK_OP_AVG_POOL, .input = PICTURE(1, 2, 9, 2), .kernel = {3, 3}},
     "the kernel is larger than its input [1 x 2 x 9 x 2]"},
    {{.kind = STK_OP_LINEAR, .input = PICTURE(1, 2, 1, 5), .channels = 3},
     "needs features [n f] (put global_pool before it), not [1 x 2 x 1 x 5]"},
    {{.kind = STK_OP_ADD, .input = {{1, {3}}}}, "needs two inputs, not 1"},
    {{.kind = STK_OP_ADD, .inputs = 2, .input = {{2, {3, 4}}, {2, {3, 5}}}},
     "shape mismatch: its inputs [3 x 4] and [3 x 5] differ"},
    {{.kind = STK_OP_CONCAT, .inputs = 2, .input = {{2, {3, 4}}, {1, {3}}}},
     "its inputs have different numbers of dimensions: [3]"},
    {{.kind = STK_OP_CONCAT, .inputs = 2, .input = {{2, {3, 4}}, {2, {5, 4}}}},
     "shape mismatch: its inputs [3 x 4] and [5 x 4] differ in more than the last dimension"},
    {{.kind = STK_OP_RESIZE, .input = PICTURE(1, 2, 2, 1), .size = {4, -4}}, "size must be at least 1"},
    {{.kind = STK_OP_RESIZE, .input = PICTURE(1, (1 << 22) + 5, 1, 1), .scale = {1024, 1}},
     "sizes above 1048576 cannot be resized: 4194309 to 4294972416"},
    {{.kind = STK_OP_RESIZE, .input = PICTURE(1, 1, 1025, 1), .scale = {1, 1024}},
     "sizes above 1048576 cannot be resized: 1025 to 1049600"},
    {{.kind = STK_OP_RESIZE, .input = PICTURE(1, (1 << 20) + 1, 1, 1), .size = {8, 8}},
     "sizes above 1048576 cannot be resized: 1048577 to 8"},
    {{.kind = STK_OP_DROPOUT, .input = {{1, {3}}}, .drop = 1}, "drop must be at least 0 and below 1"},
    {{.kind = STK_OP_DROPOUT, .input = {{1, {3}}}, .drop = -0.1}, "drop must be at least 0 and below 1"},
    {{.kind = STK_OP_LSTM, .input = {{2, {3, 4}}}, .hidden = 2}, "needs windows [n t f], not [3 x 4]"},
    {{.kind = STK_OP_LSTM, .input = {{3, {3, 4, 1}}}}, "hidden must be at least 1"},
    {{.kind = STK_OP_LSTM, .input = {{3, {3, 4, 1}}}, .hidden = 2, .layers = 5}, "layers must be 1 to 4"},
    {{.kind = STK_OP_CROSS_ENTROPY, .input = {{1, {3}}}}, "needs one value per class and sample, not [3]"},
    {{.kind = STK_OP_CROSS_ENTROPY, .input = {{2, {3, 1}}}},
     "the prediction has 1 classes; 2 to 256 are supported"},
    {{.kind = STK_OP_TOP_K, .input = {{2, {3, 257}}}},
     "the prediction has 257 classes; 2 to 256 are supported"},
    {{.kind = STK_OP_CROSS_ENTROPY, .input = {{2, {3, 4}}}, .label_smoothing = 1},
     "label_smoothing must be at least 0 and below 1"},
    {{.kind = STK_OP_BCE, .input = {{3, {3, 4, 5}}}},
     "needs one value per class and sample, not [3 x 4 x 5]"},
    {{.kind = STK_OP_BCE, .input = {{2, {3, 257}}}},
     "the prediction has 257 classes; 1 to 256 are supported"},
    {{.kind = STK_OP_SMOOTH_L1, .input = {{2, {3, 2}}}}, "needs one value per sample, not [3 x 2]"},
    {{.kind = STK_OP_POINTS, .input = PICTURE(1, 2, 2, 4), .image_size = {2, 2}},
     "needs heat maps with offsets [n h w 3k], not [1 x 2 x 2 x 4]"},
    {{.kind = STK_OP_POINT_ERROR, .input = PICTURE(1, 2, 2, 3), .image_size = {2, 0}},
     "image_size is missing"},
};

static void nonsense_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        stk__op_spec spec = refusals[i].spec;
        stk__op_form form;
        stk_error error = {0};
        assert_int_equal(stk__op_describe(&spec, &form, &error), STK_ERROR_CONFIG);
        assert_string_equal(error.message, refusals[i].message);
        spec = refusals[i].spec;
        assert_int_equal(stk__op_describe(&spec, &form, NULL), STK_ERROR_CONFIG);
    }
}

static stk__op_form describe(stk__op_spec *spec)
{
    stk__op_form form;
    assert_int_equal(stk__op_describe(spec, &form, NULL), STK_OK);
    return form;
}

static void expect_param(const stk__op_param *param, const char *name, stk__shape shape, int64_t fan_in)
{
    assert_string_equal(param->name, name);
    assert_true(stk__shape_equal(&param->shape, &shape));
    assert_int_equal(param->fan_in, fan_in);
    assert_int_equal(param->dtype, STK_DTYPE_F32);
}

/* As torch.nn counts, names and fans them. */
static void parameters_are_pytorchs(void **state)
{
    (void)state;
    stk__op_spec conv = {
        .kind = STK_OP_CONV, .input = PICTURE(1, 9, 9, 6), .channels = 4, .kernel = {3, 5}, .groups = 2};
    stk__op_form form = describe(&conv);
    assert_int_equal(form.param_count, 2);
    expect_param(&form.param[0], "weight", (stk__shape){4, {4, 3, 3, 5}}, 45);
    expect_param(&form.param[1], "bias", (stk__shape){1, {4}}, 45);
    conv.no_bias = true;
    assert_int_equal(describe(&conv).param_count, 1);
    stk__op_spec up = {.kind = STK_OP_CONV_TRANSPOSE,
                       .input = PICTURE(1, 9, 9, 6),
                       .channels = 4,
                       .kernel = {2, 2},
                       .stride = {2, 2}};
    form = describe(&up);
    expect_param(&form.param[0], "weight", (stk__shape){4, {6, 4, 2, 2}}, 16);
    expect_param(&form.param[1], "bias", (stk__shape){1, {4}}, 16);
    stk__op_spec linear = {.kind = STK_OP_LINEAR, .input = {{2, {3, 10}}}, .channels = 4};
    form = describe(&linear);
    expect_param(&form.param[0], "weight", (stk__shape){2, {4, 10}}, 10);
    expect_param(&form.param[1], "bias", (stk__shape){1, {4}}, 10);
    stk__op_spec lstm = {.kind = STK_OP_LSTM, .input = {{3, {3, 10, 5}}}, .hidden = 7, .layers = 2};
    form = describe(&lstm);
    assert_int_equal(form.param_count, 8);
    expect_param(&form.param[0], "weight_ih_l0", (stk__shape){2, {28, 5}}, 7);
    expect_param(&form.param[1], "weight_hh_l0", (stk__shape){2, {28, 7}}, 7);
    expect_param(&form.param[2], "bias_ih_l0", (stk__shape){1, {28}}, 7);
    expect_param(&form.param[4], "weight_ih_l1", (stk__shape){2, {28, 7}}, 7);
    expect_param(&form.param[7], "bias_hh_l1", (stk__shape){1, {28}}, 7);
}

static void norms_begin_as_identities(void **state)
{
    (void)state;
    stk__op_spec norm = {.kind = STK_OP_BATCH_NORM, .input = PICTURE(1, 9, 9, 6)};
    stk__op_form form = describe(&norm);
    assert_true(norm.eps == 1e-5 && norm.momentum == 0.1);
    expect_param(&form.param[0], "weight", (stk__shape){1, {6}}, 0);
    expect_param(&form.param[1], "bias", (stk__shape){1, {6}}, 0);
    assert_true(form.param[0].fill == 1 && form.param[1].fill == 0);
    assert_int_equal(form.buffer_count, 3);
    expect_param(&form.buffer[0], "running_mean", (stk__shape){1, {6}}, 0);
    expect_param(&form.buffer[1], "running_var", (stk__shape){1, {6}}, 0);
    assert_string_equal(form.buffer[2].name, "num_batches_tracked");
    assert_true(form.buffer[0].fill == 0 && form.buffer[1].fill == 1);
    assert_true(form.buffer[2].dtype == STK_DTYPE_I64 && form.buffer[2].shape.ndim == 0);
    assert_int_equal(stk__shape_count(&form.buffer[2].shape), 1);
    stk__op_spec affine = {.kind = STK_OP_AFFINE, .input = {{3, {2, 5, 4}}}};
    form = describe(&affine);
    assert_int_equal(form.param_count, 0);
    expect_param(&form.buffer[0], "scale", (stk__shape){1, {4}}, 0);
    expect_param(&form.buffer[1], "shift", (stk__shape){1, {4}}, 0);
    assert_true(form.buffer[0].fill == 1 && form.buffer[1].fill == 0);
}

static void multiplications_are_counted(void **state)
{
    (void)state;
    stk__op_spec conv = {
        .kind = STK_OP_CONV, .input = PICTURE(2, 8, 8, 4), .channels = 6, .kernel = {3, 3}, .groups = 2};
    assert_true(describe(&conv).flops == 2.0 * 2 * 6 * 6 * 6 * (2 * 9));
    stk__op_spec up = {
        .kind = STK_OP_CONV_TRANSPOSE, .input = PICTURE(2, 8, 8, 4), .channels = 6, .kernel = {2, 2}};
    assert_true(describe(&up).flops == 2.0 * 2 * 8 * 8 * 4 * 6 * 4);
    stk__op_spec linear = {.kind = STK_OP_LINEAR, .input = {{2, {3, 10}}}, .channels = 4};
    assert_true(describe(&linear).flops == 2.0 * 3 * 10 * 4);
    stk__op_spec lstm = {.kind = STK_OP_LSTM, .input = {{3, {3, 10, 5}}}, .hidden = 7, .layers = 2};
    assert_true(describe(&lstm).flops == 2.0 * 30 * 28 * (12 + 14));
}

static void defaults_are_filled_in(void **state)
{
    (void)state;
    stk__op_spec conv = {.kind = STK_OP_CONV, .input = PICTURE(2, 8, 8, 4), .channels = 6};
    describe(&conv);
    assert_true(conv.inputs == 1 && conv.groups == 1 && conv.kernel[0] == 1 && conv.kernel[1] == 1);
    assert_true(conv.stride[0] == 1 && conv.stride[1] == 1 && conv.dilation[0] == 1 && conv.dilation[1] == 1);
    stk__op_spec pool = {.kind = STK_OP_MAX_POOL, .input = PICTURE(2, 8, 8, 4), .kernel = {2, 3}};
    describe(&pool);
    assert_true(pool.stride[0] == 2 && pool.stride[1] == 3);
    stk__op_spec resize = {.kind = STK_OP_RESIZE, .input = PICTURE(2, 8, 8, 4), .scale = {2, 3}};
    describe(&resize);
    assert_true(resize.size[0] == 16 && resize.size[1] == 24);
    stk__op_spec loss = {.kind = STK_OP_CROSS_ENTROPY, .input = PICTURE(2, 8, 8, 4)};
    describe(&loss);
    assert_int_equal(loss.classes, 4);
}

/* What a planner may do with memory. A wrong `true` spoils gradients; engines are tried against it too. */
static void memory_may_be_shared(void **state)
{
    (void)state;
    static const struct {
        stk__op_kind kind;
        bool needs_x, needs_y, in_place, gradient_in_place;
    } rows[] = {{STK_OP_RELU, false, true, true, true},    {STK_OP_SIGMOID, false, true, true, true},
                {STK_OP_TANH, false, true, true, true},    {STK_OP_SILU, true, false, false, true},
                {STK_OP_GELU, true, false, false, true},   {STK_OP_BATCH_NORM, true, false, false, true},
                {STK_OP_AFFINE, false, false, false, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        stk__op_spec spec = {.kind = rows[i].kind, .input = {{2, {3, 4}}}};
        const stk__op_form form = describe(&spec);
        assert_true(form.needs_x == rows[i].needs_x && form.needs_y == rows[i].needs_y);
        assert_true(form.in_place == rows[i].in_place);
        assert_true(form.gradient_in_place == rows[i].gradient_in_place);
    }
    stk__op_spec sum = {.kind = STK_OP_ADD, .inputs = 2, .input = {{2, {3, 4}}, {2, {3, 4}}}, .relu = true};
    stk__op_form form = describe(&sum);
    assert_true(form.needs_y && !form.needs_x && form.in_place && form.gradient_in_place);
    sum.relu = false;
    form = describe(&sum);
    assert_true(!form.needs_y && !form.needs_x && form.in_place && form.gradient_in_place);
}

static void words_find_their_kinds(void **state)
{
    (void)state;
    for (int kind = 0; kind < STK_OP_COUNT; kind++)
        assert_int_equal(stk__op_find(stk__op_word((stk__op_kind)kind)), kind);
    assert_int_equal(stk__op_find("conv3d"), STK_OP_COUNT);
    assert_true(stk__op_is_loss(STK_OP_POINTS) && !stk__op_is_loss(STK_OP_CONFUSION) &&
                !stk__op_is_loss(STK_OP_AFFINE));
    assert_true(stk__op_is_metric(STK_OP_VALUE_ERROR) && !stk__op_is_metric(STK_OP_POINTS));
}

static void shapes_are_printed(void **state)
{
    (void)state;
    const stk__shape shape = {4, {4, 128, 128, 32}};
    char text[32], little[8];
    stk__shape_print(&shape, text, sizeof text);
    assert_string_equal(text, "4 x 128 x 128 x 32");
    stk__shape_print(&shape, little, sizeof little);
    assert_string_equal(little, "4 x 128");
    stk__shape_print(&(stk__shape){0}, text, sizeof text);
    assert_string_equal(text, "");
    stk__shape_print(&shape, NULL, 0);
    assert_false(stk__shape_equal(&shape, &(stk__shape){3, {4, 128, 128}}));
    assert_false(stk__shape_equal(&shape, &(stk__shape){4, {4, 128, 128, 31}}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_have_their_shapes),   cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(parameters_are_pytorchs),     cmocka_unit_test(norms_begin_as_identities),
        cmocka_unit_test(multiplications_are_counted), cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(memory_may_be_shared),        cmocka_unit_test(words_find_their_kinds),
        cmocka_unit_test(shapes_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
