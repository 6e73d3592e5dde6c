/* SPDX-License-Identifier: Apache-2.0 */
/* Layers with weights (conv, conv_transpose, linear) by oneDNN. It chooses how weights lie; they are
 * reordered from and to PyTorch's layout in scratch at each run. Passes of 3x3 convolutions that Winograd's
 * algorithm computes faster go there instead. */
#include "core/memory.h"
#include "engine/conv_gather.h"
#include "engine/onednn/onednn_winograd.h"

#include <string.h>

typedef struct weighted {
    stk__dnn_layout plain; /* of the weights: PyTorch's */
    stk__dnn_step forward, data, weights;
    stk__dnn_step forward_in, data_in, weights_out; /* reorders; zeroed: they lie right already */
    stk__dnn_step x_in, dy_in;                      /* reorders for the weights' gradient */
    bool gathers;                                   /* see conv_gather.h */
    size_t inside;                                  /* scratch: weights as oneDNN has them */
    size_t x_inside, dy_inside, dweight, dbias;     /* scratch of the weights' gradient */
    size_t forward_pad, data_pad, weights_pad;      /* scratch: oneDNN's own */
    stk__onednn_winograd winograd; /* passes it computes have no steps above, unless it is open */
} weighted;

static stk__dnn_layout conv_weights(const stk__op *op)
{
    const int64_t *w = op->form.param[0].shape.dim, g = op->spec.groups;
    if (op->spec.kind == STK_OP_LINEAR) return stk__onednn_dense(2, w);
    if (op->spec.kind == STK_OP_CONV_TRANSPOSE) { /* PyTorch: i o h w; oneDNN counts o i h w */
        const int64_t area = w[2] * w[3];
        return (stk__dnn_layout){
            .ndim = 4, .dim = {w[1], w[0], w[2], w[3]}, .stride = {area, w[1] * area, w[3], 1}};
    }
    if (g == 1) return stk__onednn_dense(4, w);
    return stk__onednn_dense(5, (int64_t[]){g, w[0] / g, w[1], w[2], w[3]});
}

/* [.. c] as [rows c] */
static stk__dnn_layout matrix_of(const stk__shape *shape)
{
    const int64_t c = shape->dim[shape->ndim - 1];
    return stk__onednn_dense(2, (int64_t[]){stk__shape_count(shape) / c, c});
}

static stk__dnn_layer describe_layer(const stk__op *op)
{
    const stk__op_spec *spec = &op->spec;
    stk__dnn_layer layer = {.kind = spec->kind == STK_OP_CONV             ? STK_DNN_CONV
                                    : spec->kind == STK_OP_CONV_TRANSPOSE ? STK_DNN_DECONV
                                                                          : STK_DNN_LINEAR,
                            .weights = conv_weights(op)};
    layer.weights.any = true;
    if (op->form.param_count > 1) layer.bias = stk__onednn_dense(1, op->form.param[1].shape.dim);
    const bool linear = spec->kind == STK_OP_LINEAR;
    layer.src = linear ? matrix_of(&spec->input[0]) : stk__onednn_picture(&spec->input[0]);
    layer.dst = linear ? matrix_of(&op->form.output) : stk__onednn_picture(&op->form.output);
    memcpy(layer.stride, spec->stride, sizeof layer.stride);
    memcpy(layer.pad, spec->pad, sizeof layer.pad);
    memcpy(layer.dilation, spec->dilation, sizeof layer.dilation);
    return layer;
}

static bool wants_blocks(const stk__op *op)
{
    const stk__op_spec *spec = &op->spec;
    return spec->kind != STK_OP_LINEAR && spec->groups == 1 && spec->kernel[0] * spec->kernel[1] > 1 &&
           spec->input[0].dim[3] > 2 && !stk__dnn_has_avx512(stk__dnn_of(op));
}

/* The layer whose weights' gradient is computed; not always the one that runs forward. */
static stk__dnn_layer describe_weights(const stk__op *op, const weighted *own, stk__dnn_layer layer)
{
    const stk__shape shape = stk__conv_gathered(op);
    if (own->gathers) {
        layer.src = stk__onednn_picture(&shape);
        for (int a = 0; a < 2; a++)
            layer.stride[a] = 1, layer.pad[a] = 0;
    }
    layer.src.any = layer.dst.any = wants_blocks(op);
    return layer;
}

static stk_status create_weights_step(const stk__op *op, weighted *own, const stk__dnn_layer *layer,
                                      stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    const stk__dnn_layer own_layer = describe_weights(op, own, *layer);
    stk__dnn_step forward;
    STK__TRY(stk__dnn_step_create(dnn, &own_layer, STK_DNN_FORWARD, NULL, &forward, error));
    const stk_status status =
        stk__dnn_step_create(dnn, &own_layer, STK_DNN_BACKWARD_WEIGHTS, &forward, &own->weights, error);
    stk__dnn_step_fini(dnn, &forward);
    return status;
}

/* Those of the passes that are direct. */
static stk_status create_passes(const stk__op *op, weighted *own, const stk__dnn_layer *layer,
                                stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    const bool *other = own->winograd.uses;
    if (!other[STK_WINOGRAD_FORWARD] || !other[STK_WINOGRAD_DATA])
        STK__TRY(stk__dnn_step_create(dnn, layer, STK_DNN_FORWARD, NULL, &own->forward, error));
    if (!other[STK_WINOGRAD_DATA])
        STK__TRY(stk__dnn_step_create(dnn, layer, STK_DNN_BACKWARD, &own->forward, &own->data, error));
    return other[STK_WINOGRAD_WEIGHTS] ? STK_OK : create_weights_step(op, own, layer, error);
}

static stk_status create_steps(const stk__op *op, weighted *own, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    const stk__dnn_layer layer = describe_layer(op);
    own->plain = conv_weights(op);
    own->gathers = stk__conv_must_gather(&op->spec);
    STK__TRY(create_passes(op, own, &layer, error));
    const stk__shape gathered = stk__conv_gathered(op);
    const stk__dnn_layout src = own->gathers ? stk__onednn_picture(&gathered) : layer.src;
    const stk__dnn_reorder reorders[] = {
        {&own->plain, &own->forward, STK_DNN_WEIGHTS, STK_DNN_INTO},
        {&own->plain, &own->data, STK_DNN_WEIGHTS, STK_DNN_INTO},
        {&own->plain, &own->weights, STK_DNN_DIFF_WEIGHTS, STK_DNN_OUT_OF},
        {&src, &own->weights, STK_DNN_SRC, STK_DNN_INTO},
        {&layer.dst, &own->weights, STK_DNN_DIFF_DST, STK_DNN_INTO},
    };
    stk__dnn_step *const steps[] = {&own->forward_in, &own->data_in, &own->weights_out, &own->x_in,
                                    &own->dy_in};
    for (int i = 0; i < 5; i++)
        if (reorders[i].user->desc) STK__TRY(stk__dnn_reorder_create(dnn, &reorders[i], steps[i], error));
    return STK_OK;
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t pad_of(const stk__dnn_step *step, const stk__dnn_step *reorder)
{
    return largest(step->size_bytes[STK_DNN_SCRATCHPAD], reorder->size_bytes[STK_DNN_SCRATCHPAD]);
}

static void plan_weights(const stk__op *op, weighted *own, size_t *total)
{
    const size_t weights = (size_t)stk__shape_count(&op->form.param[0].shape);
    const size_t bias = (size_t)op->form.output.dim[op->form.output.ndim - 1];
    const stk__dnn_step *step = &own->weights;
    stk__onednn_reserve(total, step->size_bytes[STK_DNN_DIFF_WEIGHTS]);
    own->dweight = stk__onednn_reserve(total, weights * sizeof(float));
    own->dbias = stk__onednn_reserve(total, bias * sizeof(float));
    const size_t pad = largest(pad_of(step, &own->weights_out), pad_of(&own->x_in, &own->dy_in));
    own->weights_pad = stk__onednn_reserve(total, pad);
    const bool moves = own->gathers || own->x_in.desc;
    own->x_inside = stk__onednn_reserve(total, moves ? step->size_bytes[STK_DNN_SRC] : 0);
    own->dy_inside = stk__onednn_reserve(total, own->dy_in.desc ? step->size_bytes[STK_DNN_DIFF_DST] : 0);
}

static void plan_scratch(stk__op *op, weighted *own)
{
    size_t total[3] = {0};
    stk__onednn_reserve(&total[0], own->forward.size_bytes[STK_DNN_WEIGHTS]); /* all: inside is at 0 */
    own->forward_pad = stk__onednn_reserve(&total[0], pad_of(&own->forward, &own->forward_in));
    stk__onednn_reserve(&total[1], own->data.size_bytes[STK_DNN_WEIGHTS]);
    own->data_pad = stk__onednn_reserve(&total[1], pad_of(&own->data, &own->data_in));
    plan_weights(op, own, &total[2]);
    op->needs.scratch_bytes =
        largest(largest(total[0], stk__onednn_winograd_bytes(&own->winograd)), largest(total[1], total[2]));
}

static void destroy(stk__op *op)
{
    weighted *own = op->own;
    stk__dnn_step *const steps[] = {&own->forward, &own->data,        &own->weights, &own->forward_in,
                                    &own->data_in, &own->weights_out, &own->x_in,    &own->dy_in};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        stk__dnn_step_fini(stk__dnn_of(op), steps[i]);
}

/* Ready for both algorithms in each pass: they are measured, and a resumed run may have other results. */
static stk_status create_both(stk__op *op, weighted *own, stk_error *error)
{
    const stk__onednn_winograd rule = own->winograd;
    memset(own->winograd.uses, 0, sizeof own->winograd.uses);
    STK__TRY(create_steps(op, own, error));
    memset(own->winograd.uses, 1, sizeof own->winograd.uses);
    plan_scratch(op, own);
    own->winograd = rule;
    if (stk__dnn_of(op)->dry) return STK_OK;
    if (!stk__onednn_tune_recall(op, &own->winograd)) stk__onednn_tune(op, &own->winograd);
    return STK_OK;
}

static stk_status create_one(stk__op *op, weighted *own, stk_error *error)
{
    STK__TRY(create_steps(op, own, error));
    plan_scratch(op, own);
    return STK_OK;
}

static stk_status create(stk__op *op, stk_error *error)
{
    weighted *own = op->own = stk__alloc(sizeof *own);
    if (!own) return stk__fail_memory(error, sizeof *own, "a layer");
    stk__onednn_winograd_choose(op, &own->winograd);
    STK__TRY(own->winograd.open ? create_both(op, own, error) : create_one(op, own, error));
    if (stk__dnn_of(op)->dry) destroy(op); /* descriptions of thousands of layers take memory, too */
    op->method = stk__onednn_winograd_word(&own->winograd);
    return STK_OK;
}

bool stk__onednn_choose(stk__op *op, const char *method)
{
    if (op->spec.kind != STK_OP_CONV) return false;
    weighted *own = op->own;
    if (!own->winograd.open || !stk__onednn_winograd_read(&own->winograd, method)) return false;
    op->method = stk__onednn_winograd_word(&own->winograd);
    return true;
}

/* A tensor on its way into a step. */
typedef struct arrival {
    stk__dnn_step *step, *reorder;
    stk__dnn_place place;
    const float *source;
    size_t inside, pad; /* scratch: where it goes if reorder has work, and oneDNN's own */
} arrival;

static stk_status bring(const stk__op *op, const stk__op_io *io, const arrival *a, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    void *inside = stk__onednn_at(io->scratch, a->inside), *pad = stk__onednn_at(io->scratch, a->pad);
    stk__dnn_step_set(dnn, a->reorder, STK_DNN_SRC, a->source);
    stk__dnn_step_set(dnn, a->reorder, STK_DNN_DST, inside);
    stk__dnn_step_set(dnn, a->reorder, STK_DNN_SCRATCHPAD, pad);
    STK__TRY(stk__dnn_step_run(dnn, a->reorder, error));
    stk__dnn_step_set(dnn, a->step, a->place, a->reorder->primitive ? inside : a->source);
    stk__dnn_step_set(dnn, a->step, STK_DNN_SCRATCHPAD, pad);
    return STK_OK;
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    weighted *own = op->own;
    if (own->winograd.uses[STK_WINOGRAD_FORWARD]) {
        stk__onednn_winograd_forward(op, &own->winograd, io);
        return STK_OK;
    }
    const arrival weights = {&own->forward, &own->forward_in, STK_DNN_WEIGHTS, stk__floats(io->param[0]),
                             own->inside,   own->forward_pad};
    STK__TRY(bring(op, io, &weights, error));
    stk__dnn_step_set(dnn, &own->forward, STK_DNN_SRC, stk__floats(io->x[0]));
    stk__dnn_step_set(dnn, &own->forward, STK_DNN_DST, stk__floats(io->y));
    if (op->form.param_count > 1)
        stk__dnn_step_set(dnn, &own->forward, STK_DNN_BIAS, stk__floats(io->param[1]));
    return stk__dnn_step_run(dnn, &own->forward, error);
}

typedef struct gather_run {
    const stk__op *op;
    const float *x;
    float *target; /* [n h' w' c] */
} gather_run;

/* first … last: rows of the output, over all samples */
static void gather_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const gather_run *run = context;
    const stk__op_spec *spec = &run->op->spec;
    const int64_t *in = spec->input[0].dim, *out = run->op->form.output.dim, c = in[3];
    for (int64_t row = first; row < last; row++) {
        const int64_t n = row / out[1], y = row % out[1] * spec->stride[0] - spec->pad[0];
        float *target = run->target + row * out[2] * c;
        for (int64_t i = 0; i < out[2]; i++, target += c) {
            const int64_t x = i * spec->stride[1] - spec->pad[1];
            const size_t size_bytes = (size_t)c * sizeof *target;
            if (y < 0 || y >= in[1] || x < 0 || x >= in[2])
                memset(target, 0, size_bytes);
            else
                memcpy(target, run->x + ((n * in[1] + y) * in[2] + x) * c, size_bytes);
        }
    }
}

static const float *source_of_weights(stk__op *op, const stk__op_io *io)
{
    const weighted *own = op->own;
    if (!own->gathers) return stk__floats(io->x[0]);
    gather_run run = {op, stk__floats(io->x[0]), stk__onednn_at(io->scratch, own->x_inside)};
    stk__onednn_loop(op->engine, op->form.output.dim[0] * op->form.output.dim[1], 64, gather_rows, &run);
    return run.target;
}

/* Gradients go to their tensors, or to scratch when they are to be added or are not wanted. */
static float *target_of(const stk__op_io *io, int i, size_t scratch)
{
    float *wanted = stk__floats_at(io->dparam, i);
    return wanted && !io->add_dparam ? wanted : stk__onednn_at(io->scratch, scratch);
}

static stk_status run_weights(stk__op *op, const stk__op_io *io, float *target, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    weighted *own = op->own;
    stk__dnn_step *step = &own->weights, *out = &own->weights_out;
    void *pad = stk__onednn_at(io->scratch, own->weights_pad);
    void *inside = out->primitive ? stk__onednn_at(io->scratch, own->inside) : target;
    const arrival arrivals[] = {
        {step, &own->x_in, STK_DNN_SRC, source_of_weights(op, io), own->x_inside, own->weights_pad},
        {step, &own->dy_in, STK_DNN_DIFF_DST, stk__floats(io->dy), own->dy_inside, own->weights_pad},
    };
    for (int i = 0; i < 2; i++)
        STK__TRY(bring(op, io, &arrivals[i], error));
    stk__dnn_step_set(dnn, step, STK_DNN_DIFF_WEIGHTS, inside);
    STK__TRY(stk__dnn_step_run(dnn, step, error));
    stk__dnn_step_set(dnn, out, STK_DNN_SRC, inside);
    stk__dnn_step_set(dnn, out, STK_DNN_DST, target);
    stk__dnn_step_set(dnn, out, STK_DNN_SCRATCHPAD, pad);
    return stk__dnn_step_run(dnn, out, error);
}

static stk_status backward_weights(stk__op *op, const stk__op_io *io, stk_error *error)
{
    weighted *own = op->own;
    if (own->winograd.uses[STK_WINOGRAD_WEIGHTS]) {
        stk__onednn_winograd_weights(op, &own->winograd, io);
        return STK_OK;
    }
    const bool biased = op->form.param_count > 1;
    float *const wanted[] = {stk__floats_at(io->dparam, 0), biased ? stk__floats_at(io->dparam, 1) : NULL};
    if (!wanted[0] && !wanted[1]) return STK_OK;
    float *const made[] = {target_of(io, 0, own->dweight), biased ? target_of(io, 1, own->dbias) : NULL};
    stk__dnn_step_set(stk__dnn_of(op), &own->weights, STK_DNN_DIFF_BIAS, made[1]);
    STK__TRY(run_weights(op, io, made[0], error));
    for (int i = 0; i < 2; i++)
        if (wanted[i] && wanted[i] != made[i])
            stk__onednn_add_to(op->engine, wanted[i], made[i], stk__shape_count(&op->form.param[i].shape));
    return STK_OK;
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    weighted *own = op->own;
    STK__TRY(backward_weights(op, io, error));
    if (!stk__floats_at(io->dx, 0)) return STK_OK;
    if (own->winograd.uses[STK_WINOGRAD_DATA]) {
        stk__onednn_winograd_data(op, &own->winograd, io);
        return STK_OK;
    }
    const arrival weights = {&own->data,  &own->data_in, STK_DNN_WEIGHTS, stk__floats(io->param[0]),
                             own->inside, own->data_pad};
    STK__TRY(bring(op, io, &weights, error));
    stk__dnn_step_set(dnn, &own->data, STK_DNN_DIFF_DST, stk__floats(io->dy));
    stk__dnn_step_set(dnn, &own->data, STK_DNN_DIFF_SRC, stk__floats(io->dx[0]));
    return stk__dnn_step_run(dnn, &own->data, error);
}

const stk__onednn_kind stk__onednn_conv_linear = {create, destroy, forward, backward};
