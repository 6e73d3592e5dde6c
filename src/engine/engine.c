/* SPDX-License-Identifier: Apache-2.0 */
/* The front of all engines: checks what they are given, and keeps what they have in common. Which engine is
 * opened: engine_open.c. */
#include "engine/engine.h"

#include "core/align.h"
#include "core/half.h"
#include "core/memory.h"
#include "engine/half_op.h"
#include "engine/loss_inputs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { ALIGN_BYTES = 64 };

void stk__engine_close(stk__engine **engine)
{
    if (*engine) (*engine)->ops->close(*engine);
    *engine = NULL;
}

const stk__engine_info *stk__engine_describe(const stk__engine *engine)
{
    return &engine->info;
}

stk_status stk__engine_sync(stk__engine *engine, stk_error *error)
{
    return engine->ops->sync ? engine->ops->sync(engine, error) : STK_OK;
}

void stk__engine_mark(stk__engine *engine)
{
    if (engine->ops->mark) engine->ops->mark(engine);
}

bool stk__engine_is_busy(const stk__engine *engine)
{
    return engine->ops->is_busy && engine->ops->is_busy(engine);
}

bool stk__engine_stream(const stk__engine *engine, void **stream)
{
    *stream = NULL;
    return engine->ops->stream && engine->ops->stream(engine, stream);
}

stk_status stk__graph_begin(stk__engine *engine, stk_error *error)
{
    assert(engine->info.graphs);
    return engine->ops->graph_begin(engine, error);
}

stk_status stk__graph_end(stk__engine *engine, stk__graph **graph, stk_error *error)
{
    *graph = NULL;
    return engine->ops->graph_end(engine, graph, error);
}

stk_status stk__graph_launch(stk__graph *graph, stk_error *error)
{
    return graph->engine->ops->graph_launch(graph, error);
}

void stk__graph_destroy(stk__graph **graph)
{
    if (*graph) (*graph)->engine->ops->graph_destroy(*graph);
    *graph = NULL;
}

stk__engine_memory stk__engine_measure(stk__engine *engine)
{
    if (!engine->ops->measure) return (stk__engine_memory){-1, -1, -1};
    return engine->ops->measure(engine);
}

static size_t dense_bytes(const stk__tensor_desc *desc)
{
    return (size_t)stk__shape_count(&desc->shape) * (size_t)stk_dtype_bytes(desc->dtype);
}

/* Only convolutions have parameters of four dimensions. */
stk__tensor_desc stk__param_desc(const stk__engine *engine, const stk__op_param *param)
{
    const bool kernel = param->shape.ndim == STK_OP_DIMS;
    return (stk__tensor_desc){
        .shape = param->shape, .dtype = param->dtype, .layout = kernel ? engine->info.kernel_layout : 0};
}

size_t stk__tensor_size(const stk__engine *engine, const stk__tensor_desc *desc)
{
    const size_t bytes =
        engine->ops->tensor_size ? engine->ops->tensor_size(engine, desc) : dense_bytes(desc);
    return stk__align_up(bytes, ALIGN_BYTES);
}

static stk_status make_dry_arena(stk__engine *engine, size_t size_bytes, stk__arena **arena, stk_error *error)
{
    stk__arena *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "an arena");
    *made = (stk__arena){.engine = engine, .size_bytes = size_bytes ? size_bytes : ALIGN_BYTES};
    *arena = made;
    return STK_OK;
}

stk_status stk__arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena, stk_error *error)
{
    *arena = NULL;
    if (engine->info.dry) return make_dry_arena(engine, size_bytes, arena, error);
    return engine->ops->arena_create(engine, size_bytes ? size_bytes : ALIGN_BYTES, arena, error);
}

void stk__arena_destroy(stk__arena **arena)
{
    if (*arena && (*arena)->engine->info.dry)
        stk__free(*arena);
    else if (*arena)
        (*arena)->engine->ops->arena_destroy(*arena);
    *arena = NULL;
}

static stk_status make_tensor(const stk__tensor *form, stk__tensor **tensor, stk_error *error)
{
    *tensor = NULL;
    stk__tensor *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "a tensor's handle");
    *made = *form;
    const stk__engine *engine = made->engine;
    const bool has_own = engine->ops->tensor_create && !engine->info.dry;
    const stk_status status = has_own ? engine->ops->tensor_create(made, error) : STK_OK;
    if (status != STK_OK) {
        stk__free(made);
        return status;
    }
    *tensor = made;
    return STK_OK;
}

stk_status stk__tensor_create(stk__engine *engine, const stk__tensor_desc *desc, stk__arena *arena,
                              size_t offset_bytes, stk__tensor **tensor, stk_error *error)
{
    char *memory = arena->memory ? (char *)arena->memory + offset_bytes : NULL;
    const stk__tensor form = {.engine = engine,
                              .desc = *desc,
                              .size_bytes = stk__tensor_size(engine, desc),
                              .memory = memory,
                              .place = memory};
    assert(offset_bytes % ALIGN_BYTES == 0 && offset_bytes + form.size_bytes <= arena->size_bytes);
    return make_tensor(&form, tensor, error);
}

stk_status stk__tensor_wrap(stk__engine *engine, const stk_tensor *memory, stk__tensor **tensor,
                            stk_error *error)
{
    assert(memory->dtype != STK_DTYPE_NONE && memory->ndim <= STK_OP_DIMS);
    assert(memory->device == STK_DEVICE_CPU || memory->device == engine->info.device);
    stk__tensor form = {.engine = engine,
                        .memory = memory->data,
                        .on_host = memory->device != engine->info.device,
                        .desc = {.dtype = memory->dtype}};
    form.desc.shape.ndim = memory->ndim;
    memcpy(form.desc.shape.dim, memory->shape, (size_t)memory->ndim * sizeof memory->shape[0]);
    form.size_bytes = dense_bytes(&form.desc);
    return make_tensor(&form, tensor, error);
}

void stk__tensor_destroy(stk__tensor **tensor)
{
    if (!*tensor) return;
    if ((*tensor)->engine->ops->tensor_destroy) (*tensor)->engine->ops->tensor_destroy(*tensor);
    stk__free(*tensor);
    *tensor = NULL;
}

void stk__tensor_drop(stk__tensor *tensor)
{
    if (tensor->engine->ops->tensor_drop) tensor->engine->ops->tensor_drop(tensor);
}

const stk__tensor_desc *stk__tensor_describe(const stk__tensor *tensor)
{
    return &tensor->desc;
}

static void dense_view(const stk__tensor *tensor, stk_tensor *view)
{
    const stk__shape *shape = &tensor->desc.shape;
    *view = (stk_tensor){.data = tensor->memory, .dtype = tensor->desc.dtype, .ndim = shape->ndim};
    int64_t stride = 1;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        view->shape[i] = shape->dim[i];
        view->strides[i] = stride;
        stride *= shape->dim[i];
    }
}

stk_status stk__tensor_map(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    dense_view(tensor, view);
    if (tensor->on_host) return STK_OK;
    if (tensor->engine->ops->tensor_map) return tensor->engine->ops->tensor_map(tensor, view, error);
    return stk__engine_sync(tensor->engine, error);
}

stk_status stk__tensor_map_new(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    if (tensor->on_host || !tensor->engine->ops->tensor_map_new) return stk__tensor_map(tensor, view, error);
    dense_view(tensor, view);
    return tensor->engine->ops->tensor_map_new(tensor, view, error);
}

stk_status stk__tensor_unmap(stk__tensor *tensor, const stk_tensor *view, bool changed, stk_error *error)
{
    if (tensor->on_host || !tensor->engine->ops->tensor_unmap) return STK_OK;
    return tensor->engine->ops->tensor_unmap(tensor, view, changed, error);
}

stk_status stk__tensor_write(stk__tensor *tensor, const void *data, size_t size_bytes, stk_error *error)
{
    stk_tensor view;
    assert(size_bytes == dense_bytes(&tensor->desc));
    STK__TRY(stk__tensor_map_new(tensor, &view, error));
    memcpy(view.data, data, size_bytes);
    return stk__tensor_unmap(tensor, &view, true, error);
}

stk_status stk__tensor_read(stk__tensor *tensor, void *data, size_t size_bytes, stk_error *error)
{
    stk_tensor view;
    assert(size_bytes == dense_bytes(&tensor->desc));
    STK__TRY(stk__tensor_map(tensor, &view, error));
    memcpy(data, view.data, size_bytes);
    return stk__tensor_unmap(tensor, &view, false, error);
}

stk_status stk__fetch_begin(stk__fetch *fetch, stk__tensor *tensor, void *data, size_t size_bytes,
                            stk_error *error)
{
    assert(!fetch->tensor && !tensor->on_host && !tensor->desc.layout);
    assert(size_bytes == dense_bytes(&tensor->desc));
    if (tensor->engine->info.device == STK_DEVICE_CPU)
        return stk__tensor_read(tensor, data, size_bytes, error);
    *fetch = (stk__fetch){.data = data, .size_bytes = size_bytes};
    dense_view(tensor, &fetch->view);
    STK__TRY(tensor->engine->ops->fetch_begin(tensor, &fetch->view, error));
    fetch->tensor = tensor;
    return STK_OK;
}

stk_status stk__fetch_ask(const stk__fetch *fetch, bool *there, stk_error *error)
{
    *there = !fetch->tensor;
    return *there ? STK_OK : fetch->tensor->engine->ops->fetch_ask(fetch->tensor, &fetch->view, there, error);
}

stk_status stk__fetch_finish(stk__fetch *fetch, stk_error *error)
{
    stk__tensor *tensor = fetch->tensor;
    if (!tensor) return STK_OK;
    fetch->tensor = NULL;
    const stk_status status = tensor->engine->ops->fetch_wait(tensor, &fetch->view, error);
    if (status == STK_OK) memcpy(fetch->data, fetch->view.data, fetch->size_bytes);
    const stk_status released = stk__tensor_unmap(tensor, &fetch->view, false, error);
    return status == STK_OK ? released : status;
}

stk_status stk__tensor_zero(stk__tensor *tensor, stk_error *error)
{
    return tensor->engine->ops->tensor_zero(tensor, error);
}

/* How the engine stands to a type; f32 is everybody's own. */
static stk__half_support support_of(const stk__engine *engine, stk_dtype dtype)
{
    if (!stk__dtype_is_half(dtype)) return STK_HALF_NATIVE;
    return dtype == STK_DTYPE_BF16 ? engine->info.bf16 : engine->info.f16;
}

static bool needs_widening(const stk__tensor *target, const stk__tensor *source)
{
    return support_of(target->engine, target->desc.dtype) == STK_HALF_WIDENED ||
           support_of(target->engine, source->desc.dtype) == STK_HALF_WIDENED;
}

static bool is_float(const stk__tensor *tensor)
{
    return tensor->desc.dtype == STK_DTYPE_F32 || stk__dtype_is_half(tensor->desc.dtype);
}

stk_status stk__tensor_add(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    assert(stk__shape_equal(&target->desc.shape, &source->desc.shape) && is_float(target) &&
           is_float(source));
    if (!needs_widening(target, source)) return target->engine->ops->tensor_add(target, source, error);
    stk__half_add(target, source);
    return STK_OK;
}

/* What lies in host memory is of the same type. */
stk_status stk__tensor_copy(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    const bool same = target->desc.dtype == source->desc.dtype;
    assert(stk__shape_equal(&target->desc.shape, &source->desc.shape));
    assert(same || (is_float(target) && is_float(source)));
    if (same && target->memory == source->memory) return STK_OK;
    if (source->on_host) return stk__tensor_write(target, source->memory, dense_bytes(&source->desc), error);
    if (target->on_host)
        return stk__tensor_read((stk__tensor *)source, target->memory, dense_bytes(&target->desc), error);
    if (same || !needs_widening(target, source))
        return target->engine->ops->tensor_copy(target, source, error);
    stk__half_copy(target, source);
    return STK_OK;
}

static stk_status refuse_half(const stk__op *op, stk_error *error)
{
    const stk__engine_info *info = &op->engine->info;
    stk__fail(error, STK_ERROR_UNSUPPORTED, "engine %s does not support %s tensors", info->name,
              op->spec.half == STK_DTYPE_BF16 ? "bf16" : "fp16");
    stk__error_hint(error, "use another run.engine, or float32 (train.amp=false)");
    return STK_ERROR_UNSUPPORTED;
}

static stk_status make_op(stk__op *op, stk_error *error)
{
    STK__TRY(stk__op_describe(&op->spec, &op->form, error));
    if (op->spec.relu && !op->engine->info.fuses)
        return stk__fail(error, STK_ERROR_UNSUPPORTED, "engine %s does not support fused ReLU",
                         op->engine->info.name);
    const stk__half_support support = support_of(op->engine, op->spec.half);
    if (support == STK_HALF_NONE) return refuse_half(op, error);
    if (support == STK_HALF_WIDENED) return stk__half_op_create(op, error);
    return op->engine->ops->op_create(op, error);
}

stk_status stk__op_create(stk__engine *engine, const stk__op_spec *spec, stk__op **op, stk_error *error)
{
    *op = NULL;
    stk__op *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "an operation");
    made->engine = engine;
    made->spec = *spec;
    const stk_status status = make_op(made, error);
    if (status != STK_OK) {
        stk__free(made);
        return status;
    }
    *op = made;
    return STK_OK;
}

void stk__op_destroy(stk__op **op)
{
    if (!*op) return;
    if ((*op)->half)
        stk__half_op_destroy(*op);
    else if ((*op)->engine->ops->op_destroy)
        (*op)->engine->ops->op_destroy(*op);
    stk__free(*op);
    *op = NULL;
}

stk__op_needs stk__op_memory(const stk__op *op)
{
    return op->needs;
}

const char *stk__op_method(const stk__op *op)
{
    return op->method ? op->method : "";
}

bool stk__op_choose(stk__op *op, const char *method)
{
    if (op->half) return stk__half_op_choose(op, method);
    return op->engine->ops->op_choose && op->engine->ops->op_choose(op, method);
}

static bool holds(const stk__tensor *tensor, size_t size_bytes)
{
    return !size_bytes || (tensor && tensor->size_bytes >= size_bytes);
}

static bool fits(const stk__tensor *tensor, const stk__shape *shape)
{
    return tensor && stk__shape_count(&tensor->desc.shape) == stk__shape_count(shape);
}

stk_status stk__op_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    assert(io->x && fits(io->x[0], &op->spec.input[0]) && fits(io->y, &op->form.output));
    assert(io->y->desc.dtype == op->form.output_dtype);
    assert(holds(io->saved, op->needs.saved_bytes) && holds(io->scratch, op->needs.scratch_bytes));
    if (stk__op_is_loss(op->spec.kind) || stk__op_is_metric(op->spec.kind))
        STK__TRY(stk__loss_check(&op->spec, io->x, error));
    return op->half ? stk__half_op_forward(op, io, error) : op->engine->ops->forward(op, io, error);
}

stk_status stk__op_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    assert(op->form.has_gradient && !stk__op_is_loss(op->spec.kind) && fits(io->dy, &op->form.output));
    assert(holds(io->saved, op->needs.saved_bytes) && holds(io->scratch, op->needs.scratch_bytes));
    if (io->dy2 && !op->adds) STK__TRY(stk__tensor_add(io->dy, io->dy2, error));
    return op->half ? stk__half_op_backward(op, io, error) : op->engine->ops->backward(op, io, error);
}

static bool all_floats(const stk__tensor_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->tensor[i]->desc.dtype != STK_DTYPE_F32) return false;
    return true;
}

stk_status stk__engine_update(stk__engine *engine, const stk__update *update, stk_error *error)
{
    assert(update->param.count == update->grad.count && update->step >= 1 && all_floats(&update->param));
    assert(!update->skipped || engine->info.f16 != STK_HALF_NONE);
    return engine->ops->update(engine, update, error);
}

stk_status stk__engine_average(stk__engine *engine, const stk__tensor_list *average,
                               const stk__tensor_list *value, double decay, stk_error *error)
{
    assert(average->count == value->count && all_floats(average) && all_floats(value));
    return engine->ops->average(engine, average, value, decay, error);
}
