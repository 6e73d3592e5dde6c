/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program. Nothing is allocated and nothing is formatted here. */
#include "train/pass/pass_internal.h"

#include "core/clock.h"

#include <assert.h>
#include <string.h>

static stk__tensor *tensor_at(const stk__pass *pass, const stk__pass_feed *feed, int value)
{
    return value >= 0 ? pass->tensors[value] : value == STK_VALUE_FEED ? feed->input : NULL;
}

/* The tensors of one run; io points into it. */
typedef struct op_tensors {
    stk__tensor *x[STK_OP_INPUTS], *dx[STK_OP_INPUTS];
    stk__tensor *param[STK_OP_PARAMS], *dparam[STK_OP_PARAMS];
    stk__tensor *buffer[STK_OP_BUFFERS];
    stk__op_io io;
} op_tensors;

static void fill_tensors(op_tensors *t, const stk__pass *pass, const stk__pass_step *step,
                         const stk__pass_feed *feed)
{
    *t = (op_tensors){0};
    for (int i = 0; i < STK_OP_INPUTS; i++) {
        t->x[i] = tensor_at(pass, feed, step->x[i]);
        t->dx[i] = tensor_at(pass, feed, step->dx[i]);
    }
    t->io = (stk__op_io){.x = t->x,
                         .dx = t->dx,
                         .y = tensor_at(pass, feed, step->y),
                         .dy = tensor_at(pass, feed, step->dy),
                         .dy2 = tensor_at(pass, feed, step->dy2),
                         .saved = tensor_at(pass, feed, step->saved),
                         .scratch = tensor_at(pass, feed, step->scratch),
                         .training = pass->training,
                         .again = step->action == STK_STEP_AGAIN,
                         .add_dparam = feed->add_gradients,
                         .grad_scale = feed->grad_scale != 0 ? feed->grad_scale : 1,
                         .seed = feed->seed,
                         .epoch = feed->epoch,
                         .sample_ids = feed->sample_ids};
}

/* Values are looked up with every run: the model may have exchanged them with their averages. */
static void fill_parameters(op_tensors *t, const stk__pass *pass, int layer)
{
    const stk__op_form *form = &pass->forms[layer];
    const stk__model_tensor *tensors = &pass->model->tensors[pass->model->layer_first[layer]];
    for (int i = 0; i < form->param_count; i++) {
        t->param[i] = tensors[i].value;
        t->dparam[i] = tensors[i].grad;
    }
    for (int i = 0; i < form->buffer_count; i++)
        t->buffer[i] = tensors[form->param_count + i].value;
    if (form->param_count) t->io.param = t->param;
    if (form->param_count) t->io.dparam = t->dparam;
    if (form->buffer_count) t->io.buffer = t->buffer;
}

static stk_status run_layer(const stk__pass *pass, const stk__pass_step *step, const stk__pass_feed *feed,
                            stk_error *error)
{
    op_tensors t;
    fill_tensors(&t, pass, step, feed);
    fill_parameters(&t, pass, step->layer);
    stk__op *op = pass->ops[step->layer];
    if (op->spec.kind == STK_OP_BATCH_NORM && pass->graph.nodes[step->layer].frozen) t.io.training = false;
    if (step->action == STK_STEP_BACKWARD) return stk__op_backward(op, &t.io, error);
    t.io.dx = NULL;
    if (step->join != STK_VALUE_NONE) {
        t.io.plus = tensor_at(pass, feed, step->plus);
        t.io.plus_relu = pass->graph.nodes[step->join].relu;
    }
    return stk__op_forward(op, &t.io, error);
}

static stk_status run_judge(const stk__pass *pass, const stk__pass_step *step, const stk__pass_feed *feed,
                            stk_error *error)
{
    const bool loss = step->action == STK_STEP_LOSS;
    op_tensors t;
    fill_tensors(&t, pass, step, feed);
    for (int i = STK_LOSS_TARGET; i < STK_LOSS_INPUTS; i++)
        t.x[i] = feed->target[i];
    t.io.y = loss ? feed->loss_sums : feed->metric_sums;
    if (!t.io.y) return STK_OK;
    if (!t.dx[0]) t.io.dx = NULL;
    return stk__op_forward(loss ? pass->loss : pass->metric, &t.io, error);
}

static stk_status run_step(const stk__pass *pass, const stk__pass_step *step, const stk__pass_feed *feed,
                           stk_error *error)
{
    switch (step->action) {
    case STK_STEP_HOLD:
        return STK_OK;
    case STK_STEP_LOSS:
    case STK_STEP_METRIC:
        return run_judge(pass, step, feed, error);
    case STK_STEP_ADD:
        return stk__tensor_add(pass->tensors[step->y], pass->tensors[step->x[0]], error);
    case STK_STEP_COPY:
        return stk__tensor_copy(pass->tensors[step->y], pass->tensors[step->x[0]], error);
    default:
        return run_layer(pass, step, feed, error);
    }
}

/* All ones are NaN in every floating type. */
static stk_status poison_value(const stk__pass *pass, int value, stk_error *error)
{
    stk_tensor view;
    STK__TRY(stk__tensor_map(pass->tensors[value], &view, error));
    memset(view.data, 0xff, (size_t)stk_tensor_bytes(&view));
    return stk__tensor_unmap(pass->tensors[value], &view, true, error);
}

/* now < 0: everything */
static stk_status poison_dead(const stk__pass *pass, int now, stk_error *error)
{
    for (int i = 0; i < pass->plan.value_count; i++) {
        const stk__pass_value *value = &pass->plan.values[i];
        if (now >= 0 && (value->home != i || value->last != now)) continue;
        STK__TRY(poison_value(pass, i, error));
    }
    return STK_OK;
}

/* Values in the memory of another one are through together. */
static void drop_dead(const stk__pass *pass, int now)
{
    const stk__pass_step *step = &pass->plan.steps[now];
    for (int i = 0; i < step->use_count; i++) {
        const int value = step->use[i].value, home = pass->plan.values[value].home;
        if (pass->plan.values[home].last != now) continue;
        stk__tensor_drop(pass->tensors[value]);
        stk__tensor_drop(pass->tensors[home]);
    }
}

static stk_status run_traced(const stk__pass *pass, const stk__pass_step *step, const stk__pass_feed *feed,
                             stk_error *error)
{
    static const char *const actions[] = {
        [STK_STEP_FORWARD] = "forward",   [STK_STEP_AGAIN] = "again", [STK_STEP_LOSS] = "loss",
        [STK_STEP_METRIC] = "metric",     [STK_STEP_HOLD] = "hold",   [STK_STEP_BACKWARD] = "backward",
        [STK_STEP_ADD] = "add gradients", [STK_STEP_COPY] = "copy"};
    uint64_t (*const now_ns)(void) = pass->trace->clock_ns ? pass->trace->clock_ns : stk__clock_ns;
    const bool judges = step->layer >= pass->network->layer_count;
    stk__trace_span span = {.name = judges ? "prediction" : pass->network->layers[step->layer].name,
                            .action = actions[step->action],
                            .track = STK_TRACE_LAYERS,
                            .from_ns = now_ns()};
    STK__TRY(run_step(pass, step, feed, error));
    STK__TRY(stk__engine_sync(pass->engine, error)); /* or it would be booked on a later one */
    span.to_ns = now_ns();
    stk__trace_add(pass->trace, &span);
    return STK_OK;
}

static stk_status run(const stk__pass *pass, int first, int end, const stk__pass_feed *feed, stk_error *error)
{
    for (int i = first; i < end; i++) {
        const stk__pass_step *step = &pass->plan.steps[i];
        STK__TRY((pass->trace ? run_traced : run_step)(pass, step, feed, error));
        if (feed->fault && !feed->fault->layer) STK__TRY(stk__pass_check(pass, step, feed, error));
        if (i == pass->plan.forward_count - 1) continue; /* the prediction: others may look at it */
        if (pass->poison) STK__TRY(poison_dead(pass, i, error));
        drop_dead(pass, i);
    }
    return STK_OK;
}

void stk__pass_trace(stk__pass *pass, stk__trace *trace)
{
    pass->trace = trace;
}

stk_status stk__pass_forward(stk__pass *pass, const stk__pass_feed *feed, stk_error *error)
{
    assert(pass->tensors && stk__shape_equal(&feed->input->desc.shape, &pass->input));
    if (pass->poison) STK__TRY(poison_dead(pass, -1, error));
    return run(pass, 0, pass->plan.forward_count, feed, error);
}

stk_status stk__pass_backward(stk__pass *pass, const stk__pass_feed *feed, stk_error *error)
{
    assert(pass->tensors && pass->training && pass->loss && feed->loss_sums);
    if (pass->poison) STK__TRY(poison_dead(pass, pass->plan.forward_count - 1, error)); /* the prediction */
    return run(pass, pass->plan.forward_count, pass->plan.step_count, feed, error);
}
