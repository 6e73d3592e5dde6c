/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from an operation's settings and the shapes of its inputs: one function a kind, in one table.
 */
#include "engine/op.h"

#include "core/half.h"

#include <stdio.h>
#include <string.h>

typedef stk_status (*describe_function)(stk__op_spec *spec, stk__op_form *form, stk_error *error);

/* format holds one %s for the shape. */
static stk_status refuse(stk_error *error, const char *format, const stk__shape *shape)
{
    char text[96];
    stk__shape_print(shape, text, sizeof text);
    return stk__fail(error, STK_ERROR_CONFIG, format, text);
}

static void add_param(stk__op_form *form, const char *name, stk__shape shape, int64_t fan_in)
{
    stk__op_param *param = &form->param[form->param_count++];
    *param = (stk__op_param){.shape = shape, .dtype = STK_DTYPE_F32, .fan_in = fan_in};
    snprintf(param->name, sizeof param->name, "%s", name);
}

static void add_buffer(stk__op_form *form, const char *name, stk__shape shape, float fill)
{
    stk__op_param *buffer = &form->buffer[form->buffer_count++];
    *buffer = (stk__op_param){.shape = shape, .dtype = STK_DTYPE_F32, .fill = fill};
    snprintf(buffer->name, sizeof buffer->name, "%s", name);
}

static stk__shape vector(int64_t length)
{
    return (stk__shape){1, {length}};
}

static int64_t last_of(const stk__shape *shape)
{
    return shape->dim[shape->ndim - 1];
}

static void default_pair(int32_t pair[2], int32_t h, int32_t w)
{
    if (!pair[0]) pair[0] = h;
    if (!pair[1]) pair[1] = w;
}

static stk_status want_picture(const stk__op_spec *spec, stk_error *error)
{
    if (spec->input[0].ndim == 4) return STK_OK;
    return refuse(error, "needs an image tensor [n h w c], not [%s]", &spec->input[0]);
}

/* Length of the output along one axis; <= 0: the window does not fit. */
static int64_t slide(int64_t length, const stk__op_spec *spec, int axis)
{
    const int64_t window = (int64_t)spec->dilation[axis] * (spec->kernel[axis] - 1) + 1;
    const int64_t room = length + 2 * (int64_t)spec->pad[axis] - window;
    return room < 0 ? 0 : room / spec->stride[axis] + 1;
}

static stk_status check_window(const stk__op_spec *spec, stk_error *error)
{
    for (int a = 0; a < 2; a++)
        if (spec->kernel[a] < 1 || spec->stride[a] < 1 || spec->pad[a] < 0 || spec->dilation[a] < 1)
            return stk__fail(error, STK_ERROR_CONFIG,
                             "kernel, stride and dilation must be at least 1 and pad at least 0");
    return STK_OK;
}

/* Defaults of both convolutions, and what neither can do without. */
static stk_status fill_conv(stk__op_spec *spec, stk_error *error)
{
    STK__TRY(want_picture(spec, error));
    default_pair(spec->kernel, 1, 1);
    default_pair(spec->stride, 1, 1);
    default_pair(spec->dilation, 1, 1);
    if (!spec->groups) spec->groups = 1;
    STK__TRY(check_window(spec, error));
    if (spec->channels < 1) return stk__fail(error, STK_ERROR_CONFIG, "channels must be at least 1");
    return STK_OK;
}

static stk_status describe_conv(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    STK__TRY(fill_conv(spec, error));
    const stk__shape *x = &spec->input[0];
    const int64_t c = x->dim[3], o = spec->channels, g = spec->groups;
    if (g < 1 || c % g || o % g)
        return stk__fail(error, STK_ERROR_CONFIG,
                         "groups (%lld) must divide the %lld input and %lld output channels", (long long)g,
                         (long long)c, (long long)o);
    const int64_t h = slide(x->dim[1], spec, 0), w = slide(x->dim[2], spec, 1);
    if (h < 1 || w < 1) return refuse(error, "the kernel is larger than its input [%s]", x);
    const int64_t kh = spec->kernel[0], kw = spec->kernel[1], fan = c / g * kh * kw;
    form->output = (stk__shape){4, {x->dim[0], h, w, o}};
    add_param(form, "weight", (stk__shape){4, {o, c / g, kh, kw}}, fan);
    if (!spec->no_bias) add_param(form, "bias", vector(o), fan);
    form->flops = 2.0 * (double)stk__shape_count(&form->output) * (double)fan;
    form->needs_x = true;
    return STK_OK;
}

static stk_status describe_conv_transpose(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    STK__TRY(fill_conv(spec, error));
    const stk__shape *x = &spec->input[0];
    const int64_t c = x->dim[3], o = spec->channels, g = spec->groups;
    if (g != 1) return stk__fail(error, STK_ERROR_CONFIG, "conv_transpose does not support groups");
    int64_t size[2];
    for (int a = 0; a < 2; a++)
        size[a] = (x->dim[1 + a] - 1) * spec->stride[a] - 2 * (int64_t)spec->pad[a] +
                  (int64_t)spec->dilation[a] * (spec->kernel[a] - 1) + 1;
    if (size[0] < 1 || size[1] < 1) return refuse(error, "the output for its input [%s] is empty", x);
    const int64_t kh = spec->kernel[0], kw = spec->kernel[1], fan = o * kh * kw; /* as PyTorch counts it */
    form->output = (stk__shape){4, {x->dim[0], size[0], size[1], o}};
    add_param(form, "weight", (stk__shape){4, {c, o, kh, kw}}, fan);
    if (!spec->no_bias) add_param(form, "bias", vector(o), fan);
    form->flops = 2.0 * (double)stk__shape_count(x) * (double)fan;
    form->needs_x = true;
    return STK_OK;
}

static stk_status describe_batch_norm(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    if (spec->eps == 0) spec->eps = 1e-5;
    if (spec->momentum == 0) spec->momentum = 0.1;
    if (!(spec->eps > 0 && spec->momentum > 0 && spec->momentum <= 1))
        return stk__fail(error, STK_ERROR_CONFIG, "eps must be above 0 and momentum between 0 and 1");
    const int64_t c = last_of(&spec->input[0]);
    add_param(form, "weight", vector(c), 0);
    form->param[0].fill = 1;
    add_param(form, "bias", vector(c), 0);
    add_buffer(form, "running_mean", vector(c), 0);
    add_buffer(form, "running_var", vector(c), 1);
    add_buffer(form, "num_batches_tracked", (stk__shape){0}, 0);
    form->buffer[2].dtype = STK_DTYPE_I64;
    form->output = spec->input[0];
    form->flops = 8.0 * (double)stk__shape_count(&form->output);
    form->needs_x = form->gradient_in_place = true;
    return STK_OK;
}

/* relu, sigmoid, tanh: the gradient follows from y. */
static stk_status describe_by_output(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    (void)error;
    form->output = spec->input[0];
    form->flops = (double)stk__shape_count(&form->output) * (spec->kind == STK_OP_RELU ? 1 : 8);
    form->needs_y = form->in_place = form->gradient_in_place = true;
    return STK_OK;
}

/* silu, gelu: the gradient follows from x. */
static stk_status describe_by_input(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    (void)error;
    form->output = spec->input[0];
    form->flops = 8.0 * (double)stk__shape_count(&form->output);
    form->needs_x = form->gradient_in_place = true;
    return STK_OK;
}

static stk_status describe_pool(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    STK__TRY(want_picture(spec, error));
    if (!spec->kernel[0] || !spec->kernel[1]) return stk__fail(error, STK_ERROR_CONFIG, "kernel is missing");
    default_pair(spec->stride, spec->kernel[0], spec->kernel[1]);
    default_pair(spec->dilation, 1, 1);
    STK__TRY(check_window(spec, error));
    if (spec->dilation[0] != 1 || spec->dilation[1] != 1)
        return stk__fail(error, STK_ERROR_CONFIG, "pooling does not support dilation");
    if (2 * spec->pad[0] > spec->kernel[0] || 2 * spec->pad[1] > spec->kernel[1])
        return stk__fail(error, STK_ERROR_CONFIG, "pad of a pooling layer must be at most half its kernel");
    const stk__shape *x = &spec->input[0];
    const int64_t h = slide(x->dim[1], spec, 0), w = slide(x->dim[2], spec, 1);
    if (h < 1 || w < 1) return refuse(error, "the kernel is larger than its input [%s]", x);
    form->output = (stk__shape){4, {x->dim[0], h, w, x->dim[3]}};
    form->flops = (double)stk__shape_count(&form->output) * spec->kernel[0] * spec->kernel[1];
    return STK_OK;
}

static stk_status describe_global_pool(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    STK__TRY(want_picture(spec, error));
    const stk__shape *x = &spec->input[0];
    form->output = (stk__shape){2, {x->dim[0], x->dim[3]}};
    form->flops = (double)stk__shape_count(x);
    return STK_OK;
}

static stk_status describe_linear(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    const stk__shape *x = &spec->input[0];
    if (x->ndim == 4 && (x->dim[1] != 1 || x->dim[2] != 1))
        return refuse(error, "needs features [n f] (put global_pool before it), not [%s]", x);
    if (spec->channels < 1) return stk__fail(error, STK_ERROR_CONFIG, "channels must be at least 1");
    const int64_t in = last_of(x);
    form->output = *x;
    if (x->ndim == 4) form->output = (stk__shape){2, {x->dim[0], 0}};
    form->output.dim[form->output.ndim - 1] = spec->channels;
    add_param(form, "weight", (stk__shape){2, {spec->channels, in}}, in);
    if (!spec->no_bias) add_param(form, "bias", vector(spec->channels), in);
    form->flops = 2.0 * (double)stk__shape_count(&form->output) * (double)in;
    form->needs_x = true;
    return STK_OK;
}

static stk_status describe_add(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    if (spec->inputs != 2)
        return stk__fail(error, STK_ERROR_CONFIG, "needs two inputs, not %d", spec->inputs);
    if (!stk__shape_equal(&spec->input[0], &spec->input[1])) {
        char a[96], b[96];
        stk__shape_print(&spec->input[0], a, sizeof a);
        stk__shape_print(&spec->input[1], b, sizeof b);
        return stk__fail(error, STK_ERROR_CONFIG, "shape mismatch: its inputs [%s] and [%s] differ", a, b);
    }
    form->output = spec->input[0];
    form->flops = (double)stk__shape_count(&form->output);
    form->in_place = form->gradient_in_place = true;
    return STK_OK;
}

static stk_status describe_concat(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    form->output = spec->input[0];
    const int last = form->output.ndim - 1;
    for (int i = 1; i < spec->inputs; i++) {
        stk__shape other = spec->input[i];
        if (other.ndim != last + 1)
            return refuse(error, "its inputs have different numbers of dimensions: [%s]", &other);
        form->output.dim[last] += other.dim[last];
        other.dim[last] = spec->input[0].dim[last];
        if (stk__shape_equal(&other, &spec->input[0])) continue;
        char a[96], b[96];
        stk__shape_print(&spec->input[0], a, sizeof a);
        stk__shape_print(&spec->input[i], b, sizeof b);
        return stk__fail(error, STK_ERROR_CONFIG,
                         "shape mismatch: its inputs [%s] and [%s] differ in more than the last dimension", a,
                         b);
    }
    return STK_OK;
}

enum { RESIZE_MOST = 1 << 20 }; /* of a side: as `size` in networks */

static stk_status describe_resize(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    STK__TRY(want_picture(spec, error));
    const stk__shape *x = &spec->input[0];
    for (int a = 0; a < 2; a++) {
        const int64_t from = x->dim[1 + a], scaled = from * (spec->scale[a] ? spec->scale[a] : 1);
        const int64_t to = spec->size[a] ? spec->size[a] : scaled;
        if (to < 1) return stk__fail(error, STK_ERROR_CONFIG, "size must be at least 1");
        if (to > RESIZE_MOST || from > RESIZE_MOST)
            return stk__fail(error, STK_ERROR_CONFIG, "sizes above %d cannot be resized: %lld to %lld",
                             RESIZE_MOST, (long long)from, (long long)to);
        spec->size[a] = (int32_t)to;
    }
    form->output = (stk__shape){4, {x->dim[0], spec->size[0], spec->size[1], x->dim[3]}};
    form->flops = (double)stk__shape_count(&form->output) * (spec->resize == STK_RESIZE_BILINEAR ? 7 : 0);
    return STK_OK;
}

static stk_status describe_dropout(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    if (!(spec->drop >= 0 && spec->drop < 1))
        return stk__fail(error, STK_ERROR_CONFIG, "drop must be at least 0 and below 1");
    form->output = spec->input[0];
    form->in_place = form->gradient_in_place = true; /* what was dropped is drawn again */
    return STK_OK;
}

static stk_status describe_lstm(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    static const char *const names[] = {"weight_ih_l%d", "weight_hh_l%d", "bias_ih_l%d", "bias_hh_l%d"};
    const stk__shape *x = &spec->input[0];
    const int64_t hidden = spec->hidden;
    if (!spec->layers) spec->layers = 1;
    if (x->ndim != 3) return refuse(error, "needs windows [n t f], not [%s]", x);
    if (hidden < 1) return stk__fail(error, STK_ERROR_CONFIG, "hidden must be at least 1");
    if (spec->layers < 1 || spec->layers > STK_OP_PARAMS / 4)
        return stk__fail(error, STK_ERROR_CONFIG, "layers must be 1 to %d", STK_OP_PARAMS / 4);
    double weights = 0;
    for (int l = 0; l < spec->layers; l++) {
        const int64_t in = l ? hidden : x->dim[2];
        const stk__shape shapes[] = {
            {2, {4 * hidden, in}}, {2, {4 * hidden, hidden}}, vector(4 * hidden), vector(4 * hidden)};
        for (int i = 0; i < 4; i++) {
            char name[24];
            snprintf(name, sizeof name, names[i], l);
            add_param(form, name, shapes[i], hidden);
        }
        weights += (double)(4 * hidden * (in + hidden));
    }
    form->output = (stk__shape){3, {x->dim[0], x->dim[1], hidden}};
    if (spec->last) form->output = (stk__shape){2, {x->dim[0], hidden}};
    form->flops = 2.0 * weights * (double)(x->dim[0] * x->dim[1]);
    form->needs_x = form->needs_y = true;
    return STK_OK;
}

static stk_status describe_affine(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    (void)error;
    const int64_t c = last_of(&spec->input[0]);
    add_buffer(form, "scale", vector(c), 1);
    add_buffer(form, "shift", vector(c), 0);
    form->output = spec->input[0];
    form->flops = 2.0 * (double)stk__shape_count(&form->output);
    form->gradient_in_place = true;
    return STK_OK;
}

static void sums(stk__op_form *form, stk_dtype dtype, int64_t length)
{
    form->output = vector(length);
    form->output_dtype = dtype;
}

static stk_status describe_classes(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    const bool labels = spec->kind == STK_OP_BCE || spec->kind == STK_OP_LABEL_HITS;
    const int least = labels ? 1 : 2;
    if (spec->input[0].ndim < 2 || (labels && spec->input[0].ndim > 2))
        return refuse(error, "needs one value per class and sample, not [%s]", &spec->input[0]);
    spec->classes = last_of(&spec->input[0]);
    if (spec->classes < least || spec->classes > STK_OP_CLASSES)
        return stk__fail(error, STK_ERROR_CONFIG, "the prediction has %lld classes; %d to %d are supported",
                         (long long)spec->classes, least, STK_OP_CLASSES);
    if (!(spec->label_smoothing >= 0 && spec->label_smoothing < 1))
        return stk__fail(error, STK_ERROR_CONFIG, "label_smoothing must be at least 0 and below 1");
    if (stk__op_is_loss(spec->kind)) sums(form, STK_DTYPE_F64, STK_LOSS_SUMS);
    if (spec->kind == STK_OP_LABEL_HITS) sums(form, STK_DTYPE_I64, STK_METRIC_LABEL_SUMS);
    if (spec->kind == STK_OP_CONFUSION) sums(form, STK_DTYPE_I64, spec->classes * spec->classes);
    if (spec->kind == STK_OP_TOP_K) sums(form, STK_DTYPE_I64, STK_METRIC_TOP_K_SUMS);
    return STK_OK;
}

static stk_status describe_values(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    const stk__shape *x = &spec->input[0];
    if (stk__shape_count(x) != x->dim[0]) return refuse(error, "needs one value per sample, not [%s]", x);
    const bool metric = spec->kind == STK_OP_VALUE_ERROR;
    sums(form, STK_DTYPE_F64, metric ? STK_METRIC_VALUE_SUMS : STK_LOSS_SUMS);
    return STK_OK;
}

static stk_status describe_points(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    STK__TRY(want_picture(spec, error));
    if (spec->input[0].dim[3] % 3)
        return refuse(error, "needs heat maps with offsets [n h w 3k], not [%s]", &spec->input[0]);
    if (spec->image_size[0] < 1 || spec->image_size[1] < 1)
        return stk__fail(error, STK_ERROR_CONFIG, "image_size is missing");
    sums(form, STK_DTYPE_F64, spec->kind == STK_OP_POINTS ? STK_LOSS_SUMS : STK_METRIC_POINT_SUMS);
    return STK_OK;
}

static const describe_function describers[STK_OP_COUNT] = {
    [STK_OP_CONV] = describe_conv,
    [STK_OP_CONV_TRANSPOSE] = describe_conv_transpose,
    [STK_OP_BATCH_NORM] = describe_batch_norm,
    [STK_OP_RELU] = describe_by_output,
    [STK_OP_SILU] = describe_by_input,
    [STK_OP_GELU] = describe_by_input,
    [STK_OP_SIGMOID] = describe_by_output,
    [STK_OP_TANH] = describe_by_output,
    [STK_OP_MAX_POOL] = describe_pool,
    [STK_OP_AVG_POOL] = describe_pool,
    [STK_OP_GLOBAL_POOL] = describe_global_pool,
    [STK_OP_LINEAR] = describe_linear,
    [STK_OP_ADD] = describe_add,
    [STK_OP_CONCAT] = describe_concat,
    [STK_OP_RESIZE] = describe_resize,
    [STK_OP_DROPOUT] = describe_dropout,
    [STK_OP_LSTM] = describe_lstm,
    [STK_OP_AFFINE] = describe_affine,
    [STK_OP_CROSS_ENTROPY] = describe_classes,
    [STK_OP_L1] = describe_values,
    [STK_OP_MSE] = describe_values,
    [STK_OP_SMOOTH_L1] = describe_values,
    [STK_OP_POINTS] = describe_points,
    [STK_OP_CONFUSION] = describe_classes,
    [STK_OP_TOP_K] = describe_classes,
    [STK_OP_POINT_ERROR] = describe_points,
    [STK_OP_VALUE_ERROR] = describe_values,
    [STK_OP_BCE] = describe_classes,
    [STK_OP_LABEL_HITS] = describe_classes,
};

/* Batch norm makes its output again from x, which it needs anyway, to see where the relu let pass. */
static stk_status describe_relu(const stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    if (!stk__op_takes_relu(spec->kind))
        return stk__fail(error, STK_ERROR_CONFIG, "%s does not support fused ReLU", stk__op_word(spec->kind));
    form->flops += (double)stk__shape_count(&form->output);
    form->needs_y |= spec->kind == STK_OP_ADD;
    return STK_OK;
}

/* What lies in another's memory must be of its type. */
static stk_status describe_half(const stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    if (!stk__dtype_is_half(spec->half) || stk__op_is_loss(spec->kind) || stk__op_is_metric(spec->kind))
        return stk__fail(error, STK_ERROR_CONFIG, "%s does not support that dtype", stk__op_word(spec->kind));
    if (!spec->f32_output) form->output_dtype = spec->half;
    if (spec->f32_inputs || spec->f32_output) form->in_place = form->gradient_in_place = false;
    return STK_OK;
}

static bool is_empty(const stk__shape *shape)
{
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dim[i] < 1) return true;
    return shape->ndim < 1;
}

stk_status stk__op_describe(stk__op_spec *spec, stk__op_form *form, stk_error *error)
{
    *form = (stk__op_form){.output_dtype = STK_DTYPE_F32, .has_gradient = !stk__op_is_metric(spec->kind)};
    if (!spec->inputs) spec->inputs = 1;
    if (spec->inputs < 0 || spec->inputs > STK_OP_INPUTS)
        return stk__fail(error, STK_ERROR_CONFIG, "at most %d inputs are supported", STK_OP_INPUTS);
    const bool joins = spec->kind == STK_OP_ADD || spec->kind == STK_OP_CONCAT;
    const bool judges = stk__op_is_loss(spec->kind) || stk__op_is_metric(spec->kind);
    if (spec->inputs > 1 && !joins && !judges) return stk__fail(error, STK_ERROR_CONFIG, "needs one input");
    for (int i = 0; i < (joins ? spec->inputs : 1); i++)
        if (is_empty(&spec->input[i])) return stk__fail(error, STK_ERROR_CONFIG, "its input is empty");
    STK__TRY(describers[spec->kind](spec, form, error));
    if (spec->relu) STK__TRY(describe_relu(spec, form, error));
    return spec->half ? describe_half(spec, form, error) : STK_OK;
}

const char *stk__op_word(stk__op_kind kind)
{
    static const char *const words[STK_OP_COUNT] = {
#define STK_OP_WORD(id, word) word,
        STK_OP_LIST(STK_OP_WORD)
#undef STK_OP_WORD
    };
    return words[kind];
}

stk__op_kind stk__op_find(const char *word)
{
    int kind = 0;
    while (kind < STK_OP_COUNT && strcmp(word, stk__op_word((stk__op_kind)kind)) != 0)
        kind++;
    return (stk__op_kind)kind;
}

bool stk__op_takes_relu(stk__op_kind kind)
{
    return kind == STK_OP_BATCH_NORM || kind == STK_OP_ADD;
}

bool stk__op_is_loss(stk__op_kind kind)
{
    return kind >= STK_OP_CROSS_ENTROPY && kind <= STK_OP_BCE;
}

bool stk__op_is_metric(stk__op_kind kind)
{
    return kind >= STK_OP_CONFUSION && kind < STK_OP_COUNT;
}

bool stk__op_is_product(stk__op_kind kind)
{
    return kind == STK_OP_CONV || kind == STK_OP_CONV_TRANSPOSE || kind == STK_OP_LINEAR ||
           kind == STK_OP_LSTM;
}

int64_t stk__shape_count(const stk__shape *shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape->ndim; i++)
        if (__builtin_mul_overflow(count, shape->dim[i], &count)) return INT64_MAX;
    return count;
}

bool stk__shape_equal(const stk__shape *a, const stk__shape *b)
{
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

void stk__shape_print(const stk__shape *shape, char *text, size_t size)
{
    size_t at = 0;
    if (size) *text = '\0';
    for (int i = 0; i < shape->ndim && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, i ? " x %lld" : "%lld", (long long)shape->dim[i]);
}
