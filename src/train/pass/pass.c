/* SPDX-License-Identifier: Apache-2.0 */
/* A network at one batch size as a program: operations with shapes and types, loss and metric, the steps
 * that fuse, share and pack (pass_*.c), and tensors as offsets into one arena by their lifetimes. Built
 * once, bound to a model, then run every step by pass_run.c. One thread. */
#include "train/pass/pass_internal.h"

#include "train/freeze.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* An operation's failure gets the name of what it is for, and where that stands. */
static stk_status blame(stk_error *error, stk_status status, const char *what, const stk__network *network,
                        const stk__layer *layer)
{
    if (!error || status == STK_ERROR_MEMORY) return status;
    const stk_error was = *error;
    stk__fail(error, status, "%s '%s': %s", what, layer->name, was.message);
    stk__error_place(error, "%s:%d", network->place, layer->line);
    if (was.hint[0]) stk__error_hint(error, "%s", was.hint);
    return status;
}

static size_t round_bytes(const stk__engine *engine, size_t bytes)
{
    const stk__tensor_desc desc = {.dtype = STK_DTYPE_U8, .shape = {1, {(int64_t)bytes}}};
    return bytes ? stk__tensor_size(engine, &desc) : 0;
}

static stk__op_needs needs_of(const stk__pass *pass, const stk__op *op)
{
    stk__op_needs needs = stk__op_memory(op);
    needs.saved_bytes = round_bytes(pass->engine, needs.saved_bytes);
    needs.scratch_bytes = round_bytes(pass->engine, needs.scratch_bytes);
    return needs;
}

/* Mixed precision: what comes into the network and what goes to the loss is f32. */
static void set_types(const stk__pass *pass, int index, stk__op_spec *spec)
{
    if (!pass->half) return;
    spec->half = pass->half;
    spec->f32_output = index == pass->graph.output;
    for (int i = 0; i < spec->inputs; i++)
        if (pass->graph.nodes[index].input[i] == STK_LAYER_INPUT) spec->f32_inputs |= 1u << i;
}

static stk_status make_operation(stk__pass *pass, int index, stk_error *error)
{
    stk__pass_node *node = &pass->graph.nodes[index];
    if (!node->used) return STK_OK;
    stk__op_spec spec = node->layer->spec;
    spec.relu = node->relu;
    set_types(pass, index, &spec);
    const stk_status status = stk__op_create(pass->engine, &spec, &pass->ops[index], error);
    if (status != STK_OK) return blame(error, status, "layer", pass->network, node->layer);
    node->joins = pass->ops[index]->joins;
    pass->forms[index] = pass->ops[index]->form; /* a relu in it changes what it needs */
    node->needs = needs_of(pass, pass->ops[index]);
    const stk__tensor_desc desc = {.shape = node->form->output, .dtype = node->form->output_dtype};
    node->output_bytes = stk__tensor_size(pass->engine, &desc);
    return STK_OK;
}

static stk_status make_judge(stk__pass *pass, stk__op_spec spec, const stk__pass_request *request,
                             stk__op **op, stk_error *error)
{
    spec.inputs = STK_LOSS_INPUTS;
    spec.input[0] = pass->forms[pass->network->output].output;
    for (int a = 0; a < 2; a++)
        if (!spec.image_size[a] && request->input.ndim == STK_OP_DIMS)
            spec.image_size[a] = (int32_t)request->input.dim[1 + a];
    const stk_status status = stk__op_create(pass->engine, &spec, op, error);
    if (status == STK_OK) return STK_OK;
    char what[64];
    snprintf(what, sizeof what, "%s of the prediction", stk__op_word(spec.kind));
    return blame(error, status, what, pass->network, &pass->network->layers[pass->network->output]);
}

static stk_status check_prediction(const stk__pass_request *request, const stk__shape *prediction,
                                   stk_error *error)
{
    const stk__network *network = request->network;
    if (network->task != STK_TASK_SEGMENTATION || prediction->ndim != STK_OP_DIMS) return STK_OK;
    const int64_t *want = request->input.dim, *have = prediction->dim;
    if (want[1] == have[1] && want[2] == have[2]) return STK_OK;
    const stk__layer *layer = &network->layers[network->output];
    stk__fail(error, STK_ERROR_CONFIG, "layer '%s' predicts %lld x %lld pixels, but masks have %lld x %lld",
              layer->name, (long long)have[1], (long long)have[2], (long long)want[1], (long long)want[2]);
    stk__error_place(error, "%s:%d", network->place, layer->line);
    stk__error_hint(error, "end with a resize: {op: resize, size: [%lld, %lld]}", (long long)want[1],
                    (long long)want[2]);
    return STK_ERROR_CONFIG;
}

static stk_status make_judges(stk__pass *pass, const stk__pass_request *request, stk_error *error)
{
    stk__pass_graph *graph = &pass->graph;
    if (graph->loss) {
        STK__TRY(make_judge(pass, request->loss, request, &pass->loss, error));
        graph->loss_needs = needs_of(pass, pass->loss);
    }
    if (graph->metric) {
        STK__TRY(make_judge(pass, request->metric, request, &pass->metric, error));
        graph->metric_needs = needs_of(pass, pass->metric);
    }
    return STK_OK;
}

static stk_status reserve(stk__pass *pass, stk_error *error)
{
    const size_t count = (size_t)pass->network->layer_count;
    pass->forms = stk__alloc(count * sizeof *pass->forms);
    pass->ops = stk__alloc(count * sizeof(stk__op *));
    pass->rows = stk__alloc(count * sizeof *pass->rows);
    pass->graph.nodes = stk__alloc(count * sizeof *pass->graph.nodes);
    if (pass->forms && pass->ops && pass->rows && pass->graph.nodes) return STK_OK;
    return stk__fail_memory(error, count * sizeof *pass->forms, "the layers of a pass");
}

static void make_graph(stk__pass *pass, const stk__pass_request *request)
{
    stk__pass_graph *graph = &pass->graph;
    graph->count = pass->network->layer_count;
    graph->output = pass->network->output;
    graph->training = request->training;
    graph->rough = request->rough;
    for (int i = 0; i < graph->count; i++) {
        stk__pass_node *node = &graph->nodes[i];
        node->layer = &pass->network->layers[i];
        node->form = &pass->forms[i];
        node->frozen = stk__freeze_matches(request->freeze, node->layer->name);
        node->learns = node->form->param_count > 0 && !node->frozen;
    }
    graph->loss = stk__op_is_loss(request->loss.kind);
    graph->metric = stk__op_is_metric(request->metric.kind);
    stk__pass_fuse(graph, request->fuse && stk__engine_describe(request->engine)->fuses);
    stk__pass_mark(graph);
}

static stk_status check_graph(const stk__pass_graph *graph, const stk__pass_request *request,
                              stk_error *error)
{
    const stk__pass_node *output = &graph->nodes[graph->output];
    if (graph->loss || graph->metric) STK__TRY(check_prediction(request, &output->form->output, error));
    if (!graph->training || output->gradient) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG, "nothing is left to train: every layer with parameters is frozen");
    stk__error_hint(error, "freeze fewer layers");
    return STK_ERROR_CONFIG;
}

static stk_status build(stk__pass *pass, const stk__pass_request *request, stk_error *error)
{
    STK__TRY(reserve(pass, error));
    STK__TRY(stk__network_shape(request->network, &request->input, pass->forms, error));
    STK__TRY(stk__freeze_check(request->freeze, pass->network, pass->forms, error));
    make_graph(pass, request);
    STK__TRY(check_graph(&pass->graph, request, error));
    for (int i = 0; i < pass->graph.count; i++)
        STK__TRY(make_operation(pass, i, error));
    STK__TRY(make_judges(pass, request, error));
    pass->recompute = request->training && request->recompute;
    STK__TRY(stk__pass_choose(&pass->plan, &pass->graph, pass->recompute, request->unshared, error));
    stk__pass_fill_report(pass);
    return STK_OK;
}

stk_status stk__pass_create(stk__pass **pass, const stk__pass_request *request, stk_error *error)
{
    *pass = NULL;
    stk__pass *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "a pass");
    made->engine = request->engine;
    made->network = request->network;
    made->training = request->training;
    made->poison = request->poison;
    made->half = request->half;
    made->input = request->input;
    const stk_status status = build(made, request, error);
    *pass = made;
    if (status != STK_OK) stk__pass_destroy(pass);
    return status;
}

static void release_tensors(stk__pass *pass)
{
    for (int i = 0; pass->tensors && i < pass->plan.value_count; i++)
        stk__tensor_destroy(&pass->tensors[i]);
    stk__free(pass->tensors);
    pass->tensors = NULL;
    pass->model = NULL;
}

void stk__pass_destroy(stk__pass **pass)
{
    stk__pass *old = *pass;
    *pass = NULL;
    if (!old) return;
    release_tensors(old);
    for (int i = 0; old->ops && i < old->network->layer_count; i++)
        stk__op_destroy(&old->ops[i]);
    stk__op_destroy(&old->loss);
    stk__op_destroy(&old->metric);
    stk__pass_plan_fini(&old->plan);
    stk__free(old->graph.nodes);
    stk__free(old->rows);
    stk__free(old->ops);
    stk__free(old->forms);
    stk__free(old);
}

static stk_status make_tensors(stk__pass *pass, stk__arena *arena, stk_error *error)
{
    const size_t size = (size_t)pass->plan.value_count * sizeof(stk__tensor *);
    pass->tensors = stk__alloc(size);
    if (!pass->tensors) return stk__fail_memory(error, size, "the tensors of a pass");
    for (int i = 0; i < pass->plan.value_count; i++) {
        const stk__pass_value *value = &pass->plan.values[i];
        stk__tensor_desc desc = {.dtype = STK_DTYPE_U8, .shape = {1, {(int64_t)value->size_bytes}}};
        if (value->kind != STK_VALUE_SAVED && value->kind != STK_VALUE_SCRATCH) {
            desc.dtype = pass->forms[value->layer].output_dtype;
            desc.shape = pass->forms[value->layer].output;
        }
        STK__TRY(
            stk__tensor_create(pass->engine, &desc, arena, value->offset_bytes, &pass->tensors[i], error));
    }
    return STK_OK;
}

stk_status stk__pass_bind(stk__pass *pass, stk__model *model, stk__arena *arena, stk_error *error)
{
    assert(arena->size_bytes >= pass->plan.size_bytes);
    release_tensors(pass);
    const stk_status status = make_tensors(pass, arena, error);
    if (status != STK_OK)
        release_tensors(pass);
    else
        pass->model = model;
    return status;
}

size_t stk__pass_size(const stk__pass *pass)
{
    return pass->plan.size_bytes;
}

const stk__pass_report *stk__pass_describe(const stk__pass *pass)
{
    return &pass->report;
}

bool stk__pass_choose_method(stk__pass *pass, int row, const char *method)
{
    stk__op *op = pass->ops[row];
    if (!op || !stk__op_choose(op, method)) return false;
    pass->rows[row].method = stk__op_method(op);
    return true;
}

const stk__op_form *stk__pass_forms(const stk__pass *pass)
{
    return pass->forms;
}

stk__tensor *stk__pass_output(const stk__pass *pass)
{
    return pass->tensors[pass->plan.steps[pass->plan.forward_count - 1].x[0]]; /* of STK_STEP_HOLD */
}
