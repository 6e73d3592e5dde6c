/* SPDX-License-Identifier: Apache-2.0 */
/* Networks made by hand, and everything that is needed to run one on the reference engine. */
#ifndef PASS_HELPERS_H
#define PASS_HELPERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "train/pass/pass.h"

enum { NET_LAYERS = 64, NET_CLASSES = 3, RIG_SAMPLES = 2 };

typedef struct net {
    stk__network network;
    stk__layer layers[NET_LAYERS];
} net;

/* Adds a layer with up to two inputs; returns its number, which is the output's so far. */
static inline int net_add(net *n, const char *name, stk__op_spec spec, int a, int b)
{
    const int index = n->network.layer_count++;
    assert_true(index < NET_LAYERS);
    spec.inputs = spec.kind == STK_OP_ADD || spec.kind == STK_OP_CONCAT ? 2 : 1;
    spec.random_layer = (uint32_t)index;
    n->layers[index] = (stk__layer){.name = name, .line = index + 1, .spec = spec, .input = {a, b}};
    n->network.layers = n->layers;
    n->network.place = "hand.yaml";
    n->network.multiple = 1;
    n->network.name = "hand";
    n->network.output = index;
    return index;
}

static inline int net_conv(net *n, const char *name, int from, int64_t channels, int32_t kernel)
{
    return net_add(n, name,
                   (stk__op_spec){.kind = STK_OP_CONV,
                                  .channels = channels,
                                  .kernel = {kernel, kernel},
                                  .pad = {kernel / 2, kernel / 2}},
                   from, 0);
}

static inline int net_op(net *n, const char *name, stk__op_kind kind, int from)
{
    return net_add(n, name, (stk__op_spec){.kind = kind, .drop = 0.25, .kernel = {2, 2}, .scale = {2, 2}},
                   from, 0);
}

/* Pictures to classes of pixels, with everything that branches: a skip over a pool, a sum, a concatenation.
 */
static inline void net_branches(net *n)
{
    *n = (net){.network = {.task = STK_TASK_SEGMENTATION}};
    int at = net_conv(n, "stem.conv", STK_LAYER_INPUT, 4, 3);
    at = net_op(n, "stem.bn", STK_OP_BATCH_NORM, at);
    const int top = net_op(n, "stem.tanh", STK_OP_TANH, at);
    at = net_op(n, "down.pool", STK_OP_AVG_POOL, top);
    at = net_conv(n, "down.conv", at, 4, 3);
    const int low = net_op(n, "down.silu", STK_OP_SILU, at);
    at = net_conv(n, "down.conv2", low, 4, 1);
    at = net_op(n, "down.bn2", STK_OP_BATCH_NORM, at);
    at = net_add(n, "down.sum", (stk__op_spec){.kind = STK_OP_ADD}, low, at);
    at = net_op(n, "down.tanh2", STK_OP_SIGMOID, at);
    at = net_op(n, "up.resize", STK_OP_RESIZE, at);
    at = net_add(n, "up.join", (stk__op_spec){.kind = STK_OP_CONCAT}, top, at);
    at = net_op(n, "up.drop", STK_OP_DROPOUT, at);
    at = net_conv(n, "up.conv", at, 4, 3);
    at = net_op(n, "up.gelu", STK_OP_GELU, at);
    at = net_add(n, "up.sum", (stk__op_spec){.kind = STK_OP_ADD}, at, top);
    net_conv(n, "head", at, NET_CLASSES, 1);
}

/* Pictures to classes by blocks of the usual kind, conv bn relu, with sums around them. */
static inline void net_blocks(net *n)
{
    static const char *const names[3][6] = {
        {"b0.conv1", "b0.bn1", "b0.relu1", "b0.conv2", "b0.bn2", "b0.sum"},
        {"b1.conv1", "b1.bn1", "b1.relu1", "b1.conv2", "b1.bn2", "b1.sum"},
        {"b2.conv1", "b2.bn1", "b2.relu1", "b2.conv2", "b2.bn2", "b2.sum"}};
    static const char *const ends[3] = {"b0.relu2", "b1.relu2", "b2.relu2"};
    *n = (net){.network = {.task = STK_TASK_CLASSIFICATION}};
    int at = net_conv(n, "stem", STK_LAYER_INPUT, 4, 3);
    at = net_op(n, "pool", STK_OP_MAX_POOL, at);
    for (int b = 0; b < 3; b++) {
        const int skip = at;
        at = net_conv(n, names[b][0], at, 4, 3);
        at = net_op(n, names[b][1], STK_OP_BATCH_NORM, at);
        at = net_op(n, names[b][2], STK_OP_RELU, at);
        at = net_conv(n, names[b][3], at, 4, 3);
        at = net_op(n, names[b][4], STK_OP_BATCH_NORM, at);
        at = net_add(n, names[b][5], (stk__op_spec){.kind = STK_OP_ADD}, b == 1 ? skip : at,
                     b == 1 ? at : skip);
        at = net_op(n, ends[b], STK_OP_RELU, at);
    }
    at = net_op(n, "mean", STK_OP_GLOBAL_POOL, at);
    at = net_op(n, "drop", STK_OP_DROPOUT, at);
    net_add(n, "head", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = NET_CLASSES}, at, 0);
}

/* An input that an operation could overwrite, a layer read twice by one operation, and one that nobody reads.
 */
static inline void net_odd(net *n)
{
    *n = (net){.network = {.task = STK_TASK_CLASSIFICATION}};
    const int a = net_op(n, "first", STK_OP_RELU, STK_LAYER_INPUT);
    const int b = net_add(n, "raw", (stk__op_spec){.kind = STK_OP_ADD}, a, STK_LAYER_INPUT);
    int at = net_conv(n, "conv", b, 4, 1);
    at = net_add(n, "twice", (stk__op_spec){.kind = STK_OP_ADD}, at, at);
    at = net_add(n, "double", (stk__op_spec){.kind = STK_OP_CONCAT}, at, at);
    at = net_op(n, "tanh", STK_OP_TANH, at);
    at = net_add(n, "again", (stk__op_spec){.kind = STK_OP_ADD}, at, at);
    at = net_op(n, "mean", STK_OP_GLOBAL_POOL, at);
    at = net_add(n, "head", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = NET_CLASSES}, at, 0);
    net_op(n, "unused", STK_OP_TANH, at);
    n->network.output = at;
}

/* Windows to values. */
static inline void net_windows(net *n)
{
    *n = (net){.network = {.task = STK_TASK_REGRESSION}};
    int at = net_add(n, "input", (stk__op_spec){.kind = STK_OP_AFFINE}, STK_LAYER_INPUT, 0);
    at = net_add(n, "lstm", (stk__op_spec){.kind = STK_OP_LSTM, .hidden = 5, .layers = 2, .last = true}, at,
                 0);
    at = net_op(n, "drop", STK_OP_DROPOUT, at);
    net_add(n, "head", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = 1}, at, 0);
}

static const char *rig_engine = "reference"; /* the next rig's */

typedef struct rig {
    stk__engine *engine;
    stk__arena *feed_arena, *arena;
    stk__pass *pass;
    stk__model *model;
    stk__pass_feed feed;
} rig;

static inline stk__tensor *rig_tensor(rig *r, stk_dtype dtype, stk__shape shape, size_t *offset)
{
    const stk__tensor_desc desc = {.shape = shape, .dtype = dtype};
    stk__tensor *tensor;
    assert_int_equal(stk__tensor_create(r->engine, &desc, r->feed_arena, *offset, &tensor, NULL), STK_OK);
    *offset += stk__tensor_size(r->engine, &desc);
    return tensor;
}

static inline void rig_fill(stk__tensor *tensor)
{
    stk_tensor view;
    assert_int_equal(stk__tensor_map(tensor, &view, NULL), STK_OK);
    for (int64_t i = 0; i < stk__shape_count(&tensor->desc.shape); i++) {
        const uint32_t word = stk__random_draw((stk__random_at){.seed = 77, .draw = (uint32_t)i}).word[0];
        if (view.dtype == STK_DTYPE_F32) ((float *)view.data)[i] = 2 * stk__random_unit(word) - 1;
        if (view.dtype == STK_DTYPE_U8) ((uint8_t *)view.data)[i] = (uint8_t)(word % NET_CLASSES);
        if (view.dtype == STK_DTYPE_I64) ((int64_t *)view.data)[i] = (int64_t)(word % NET_CLASSES);
    }
    assert_int_equal(stk__tensor_unmap(tensor, &view, true, NULL), STK_OK);
}

/* What a task is judged by in these tests. */
typedef struct rig_task {
    stk__shape input, target;
    stk_dtype target_dtype, metric_dtype;
    stk__op_kind loss, metric;
    int64_t metric_sums;
} rig_task;

static const rig_task rig_tasks[] = {
    [STK_TASK_SEGMENTATION] = {{4, {RIG_SAMPLES, 8, 8, 3}},
                               {3, {RIG_SAMPLES, 8, 8}},
                               STK_DTYPE_U8,
                               STK_DTYPE_I64,
                               STK_OP_CROSS_ENTROPY,
                               STK_OP_CONFUSION,
                               NET_CLASSES *NET_CLASSES},
    [STK_TASK_POINTS] = {{4, {RIG_SAMPLES, 32, 64, 3}},
                         {3, {RIG_SAMPLES, 2, 3}},
                         STK_DTYPE_F32,
                         STK_DTYPE_F64,
                         STK_OP_POINTS,
                         STK_OP_POINT_ERROR,
                         STK_METRIC_POINT_SUMS},
    [STK_TASK_CLASSIFICATION] = {{4, {RIG_SAMPLES, 8, 8, 3}},
                                 {1, {RIG_SAMPLES}},
                                 STK_DTYPE_I64,
                                 STK_DTYPE_I64,
                                 STK_OP_CROSS_ENTROPY,
                                 STK_OP_TOP_K,
                                 STK_METRIC_TOP_K_SUMS},
    [STK_TASK_REGRESSION] = {{3, {RIG_SAMPLES, 6, 3}},
                             {1, {RIG_SAMPLES}},
                             STK_DTYPE_F32,
                             STK_DTYPE_F64,
                             STK_OP_MSE,
                             STK_OP_VALUE_ERROR,
                             STK_METRIC_VALUE_SUMS},
};

/* Engine, data and sums for a network; fills request's engine, network, input, loss and metric. */
static inline void rig_open(rig *r, stk__network *network, stk__pass_request *request)
{
    const rig_task *task = &rig_tasks[network->task];
    size_t offset = 0;
    *r = (rig){.feed = {.seed = 5, .epoch = 3}};
    assert_int_equal(stk__engine_open(&r->engine, &(stk__engine_options){.name = rig_engine}, NULL), STK_OK);
    assert_int_equal(stk__arena_create(r->engine, 1 << 17, &r->feed_arena, NULL), STK_OK);
    request->engine = r->engine;
    request->network = network;
    request->input = task->input;
    request->loss.kind = task->loss;
    request->metric.kind = task->metric;
    stk__tensor *ids = rig_tensor(r, STK_DTYPE_I64, (stk__shape){1, {RIG_SAMPLES}}, &offset);
    r->feed.sample_ids = ids;
    r->feed.input = rig_tensor(r, STK_DTYPE_F32, task->input, &offset);
    stk__tensor *target = rig_tensor(r, task->target_dtype, task->target, &offset);
    r->feed.target[STK_LOSS_TARGET] = target;
    r->feed.loss_sums = rig_tensor(r, STK_DTYPE_F64, (stk__shape){1, {STK_LOSS_SUMS}}, &offset);
    r->feed.metric_sums = rig_tensor(r, task->metric_dtype, (stk__shape){1, {task->metric_sums}}, &offset);
    rig_fill(ids);
    rig_fill(r->feed.input);
    rig_fill(target);
    for (int i = 0; network->task == STK_TASK_POINTS && i < RIG_SAMPLES * 2; i++)
        memcpy((float *)target->memory + 3 * (size_t)i, (float[]){20.5F + 9 * (float)i, 13, 1},
               3 * sizeof(float));
}

/* Pass, model and memory; pass and model may fail to be made. */
static inline stk_status rig_make(rig *r, const stk__pass_request *request, bool average, stk_error *error)
{
    const stk__model_options options = {.training = request->training,
                                        .first = true,
                                        .average = average,
                                        .freeze = request->freeze,
                                        .seed = 11};
    STK__TRY(stk__pass_create(&r->pass, request, error));
    STK__TRY(
        stk__model_create(&r->model, r->engine, request->network, stk__pass_forms(r->pass), &options, error));
    STK__TRY(stk__arena_create(r->engine, stk__pass_size(r->pass), &r->arena, error));
    return stk__pass_bind(r->pass, r->model, r->arena, error);
}

static inline void rig_unmake(rig *r)
{
    stk__pass_destroy(&r->pass);
    stk__model_destroy(&r->model);
    stk__arena_destroy(&r->arena);
}

static inline void rig_close(rig *r)
{
    rig_unmake(r);
    stk__tensor *ids = (stk__tensor *)(uintptr_t)r->feed.sample_ids;
    stk__tensor_destroy(&r->feed.input);
    stk__tensor_destroy(&ids);
    stk__tensor_destroy(&r->feed.target[STK_LOSS_TARGET]);
    stk__tensor_destroy(&r->feed.loss_sums);
    stk__tensor_destroy(&r->feed.metric_sums);
    stk__arena_destroy(&r->feed_arena);
    stk__engine_close(&r->engine);
}

static inline void rig_start(rig *r, stk__network *network, stk__pass_request *request)
{
    stk_error error = {0};
    rig_open(r, network, request);
    if (rig_make(r, request, false, &error) != STK_OK) fail_msg("%s (%s)", error.message, error.place);
}

static inline double rig_loss(rig *r)
{
    double sums[STK_LOSS_SUMS];
    assert_int_equal(stk__tensor_zero(r->feed.loss_sums, NULL), STK_OK);
    assert_int_equal(stk__pass_forward(r->pass, &r->feed, NULL), STK_OK);
    assert_int_equal(stk__tensor_read(r->feed.loss_sums, sums, sizeof sums, NULL), STK_OK);
    return sums[STK_LOSS_NUMERATOR] / sums[STK_LOSS_DENOMINATOR];
}

static inline void rig_step(rig *r)
{
    rig_loss(r);
    assert_int_equal(stk__pass_backward(r->pass, &r->feed, NULL), STK_OK);
}

/* Bit for bit; tensors of the reference engine lie in host memory. */
static inline bool same_bits(const stk__tensor *a, const stk__tensor *b)
{
    const size_t size = (size_t)(stk__shape_count(&a->desc.shape) * stk_dtype_bytes(a->desc.dtype));
    return stk__shape_equal(&a->desc.shape, &b->desc.shape) && memcmp(a->memory, b->memory, size) == 0;
}

/* The slope of the loss along a random direction of one tensor, from both sides. */
static inline double measure_slope(rig *r, stk__tensor *tensor, const float *direction, float step)
{
    const int64_t count = stk__shape_count(&tensor->desc.shape);
    float *value = tensor->memory, *keep = malloc((size_t)count * sizeof *keep);
    memcpy(keep, value, (size_t)count * sizeof *keep);
    double loss[2];
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < count; i++)
            value[i] = keep[i] + (side ? step : -step) * direction[i];
        loss[side] = rig_loss(r);
    }
    memcpy(value, keep, (size_t)count * sizeof *keep);
    free(keep);
    return (loss[1] - loss[0]) / (2.0 * step);
}

static inline void check_gradient(rig *r, const stk__model_tensor *tensor)
{
    const int64_t count = stk__shape_count(&tensor->desc.shape);
    const float *gradient = tensor->grad->memory;
    float *direction = malloc((size_t)count * sizeof *direction);
    double want = 0, length = 0;
    for (int64_t i = 0; i < count; i++) {
        direction[i] = gradient[i] + 1e-3F * (float)(i % 7); /* mostly uphill, so that slopes are not small */
        length += (double)direction[i] * direction[i];
    }
    for (int64_t i = 0; i < count; i++) {
        direction[i] = (float)(direction[i] / sqrt(length));
        want += (double)direction[i] * gradient[i];
    }
    const double have = measure_slope(r, tensor->value, direction, 2e-3F);
    if (fabs(have - want) > 2e-3 * fabs(want) + 1e-5)
        fail_msg("%s: slope %.9g, gradient %.9g", tensor->name, have, want);
    free(direction);
}

/* Two steps each; predictions, sums, gradients and buffers of both must be the same. */
static inline void rig_compare(rig r[2], bool training)
{
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 2; i++)
            rig_loss(&r[i]);
        assert_true(same_bits(stk__pass_output(r[0].pass), stk__pass_output(r[1].pass)));
        for (int i = 0; training && i < 2; i++) {
            assert_int_equal(stk__pass_backward(r[i].pass, &r[i].feed, NULL), STK_OK);
            r[i].feed.add_gradients = true;
        }
        assert_true(same_bits(r[0].feed.loss_sums, r[1].feed.loss_sums));
        assert_true(same_bits(r[0].feed.metric_sums, r[1].feed.metric_sums));
        assert_true(same_bits(r[0].feed.input, r[1].feed.input));
    }
    assert_int_equal(r[0].model->count, r[1].model->count);
    for (int i = 0; i < r[0].model->count; i++) {
        const stk__model_tensor *x = &r[0].model->tensors[i], *y = &r[1].model->tensors[i];
        if (!same_bits(x->value, y->value)) fail_msg("%s differs", x->name);
        if (x->grad && !same_bits(x->grad, y->grad)) fail_msg("gradient of %s differs", x->name);
    }
}

#endif
