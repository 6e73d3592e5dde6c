/* SPDX-License-Identifier: Apache-2.0 */
/* The engine onednn: opening, tensors, and which file computes which operation. */
#include "core/memory.h"
#include "core/pool.h"
#include "engine/host_arena.h"
#include "engine/onednn/onednn_api.h"
#include "engine/onednn/onednn_engine.h"

#include <stdio.h>
#include <string.h>

enum { COPY_BYTES = 1 << 18 }; /* of one item of a copy */

static const stk__onednn_kind *const kinds[STK_OP_COUNT] = {
    [STK_OP_CONV] = &stk__onednn_conv_linear,
    [STK_OP_CONV_TRANSPOSE] = &stk__onednn_conv_transpose,
    [STK_OP_BATCH_NORM] = &stk__onednn_norm,
    [STK_OP_RELU] = &stk__onednn_relu,
    [STK_OP_SILU] = &stk__onednn_eltwise,
    [STK_OP_GELU] = &stk__onednn_eltwise,
    [STK_OP_SIGMOID] = &stk__onednn_eltwise,
    [STK_OP_TANH] = &stk__onednn_eltwise,
    [STK_OP_MAX_POOL] = &stk__onednn_max_pool,
    [STK_OP_AVG_POOL] = &stk__onednn_pool,
    [STK_OP_GLOBAL_POOL] = &stk__onednn_pool,
    [STK_OP_LINEAR] = &stk__onednn_conv_linear,
    [STK_OP_ADD] = &stk__onednn_add,
    [STK_OP_CONCAT] = &stk__onednn_concat,
    [STK_OP_RESIZE] = &stk__onednn_resize,
    [STK_OP_DROPOUT] = &stk__onednn_dropout,
    [STK_OP_LSTM] = &stk__onednn_lstm,
    [STK_OP_AFFINE] = &stk__onednn_affine,
    [STK_OP_CROSS_ENTROPY] = &stk__onednn_cross_entropy,
    [STK_OP_L1] = &stk__onednn_values,
    [STK_OP_MSE] = &stk__onednn_values,
    [STK_OP_SMOOTH_L1] = &stk__onednn_values,
    [STK_OP_POINTS] = &stk__onednn_points,
    [STK_OP_CONFUSION] = &stk__onednn_confusion,
    [STK_OP_TOP_K] = &stk__onednn_top_k,
    [STK_OP_POINT_ERROR] = &stk__onednn_point_error,
    [STK_OP_VALUE_ERROR] = &stk__onednn_values,
    [STK_OP_BCE] = &stk__onednn_labels,
    [STK_OP_LABEL_HITS] = &stk__onednn_labels,
};

static void close_engine(stk__engine *engine)
{
    stk__onednn *made = (stk__onednn *)engine;
    stk__dnn_fini(&made->dnn);
    stk__free(made->memos);
    stk__free(made);
}

static void do_nothing(void *context, size_t item, int worker)
{
    (void)context, (void)item, (void)worker;
}

/* The pool's threads start now, so that no run allocates. */
static void wake_pool(int threads)
{
    stk__pool_run(&(stk__pool_job){.run = do_nothing, .count = (size_t)threads, .workers = threads});
}

static stk_status open_engine(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    const stk__onednn_api *api;
    STK__TRY(stk__onednn_api_open(&api, error));
    stk__onednn *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "an engine");
    stk__engine_info *info = &made->front.info;
    made->front.ops = &stk__engine_onednn;
    made->loops = stk__onednn_loops_at(stk__cpu_level_allowed());
    made->conv = options->conv;
    made->tune = options->tune;
    made->dnn.dry = info->dry = options->dry;
    made->dnn.cost = &made->cost;
    if (options->dry) made->memos = stk__alloc(STK_ONEDNN_MEMOS * sizeof *made->memos);
    const stk_status status = stk__dnn_init(&made->dnn, api, options->threads, error);
    if (status != STK_OK) {
        close_engine(&made->front);
        return status;
    }
    if (!options->dry) wake_pool(options->threads);
    info->name = stk__engine_onednn.name;
    info->threads = options->threads;
    info->fuses = true;
    info->bf16 = info->f16 = STK_HALF_WIDENED;
    info->half_why = stk__dnn_has_bf16(&made->dnn)
                         ? "this engine computes in float32 only"
                         : "this CPU lacks bf16, and this engine computes in float32 only";
    stk__dnn_describe(&made->dnn, info->version, sizeof info->version);
    snprintf(info->note, sizeof info->note, "%s", api->note);
    *engine = &made->front;
    return STK_OK;
}

/* Wrapped tensors end with their last value, others are rounded up. */
static size_t bytes_of(const stk__tensor *tensor)
{
    return (size_t)stk__shape_count(&tensor->desc.shape) * (size_t)stk_dtype_bytes(tensor->desc.dtype);
}

static stk_status zero_tensor(stk__tensor *tensor, stk_error *error)
{
    (void)error;
    stk__onednn_zero(tensor->engine, tensor->memory, bytes_of(tensor));
    return STK_OK;
}

static stk_status add_tensor(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    (void)error;
    stk__onednn_add_to(target->engine, target->memory, source->memory, stk__shape_count(&target->desc.shape));
    return STK_OK;
}

static stk_status copy_tensor(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    (void)error;
    stk__onednn_copy(target->engine, target->memory, source->memory, bytes_of(target));
    return STK_OK;
}

static void destroy_op(stk__op *op)
{
    if (op->own && kinds[op->spec.kind]->destroy) kinds[op->spec.kind]->destroy(op);
    stk__free(op->own);
    op->own = NULL;
}

static stk_status make_op(stk__op *op, stk_error *error)
{
    const stk__dnn_cost *cost = &stk__onednn_of(op)->cost;
    const size_t kept_bytes = cost->kept_bytes, code_bytes = cost->code_bytes;
    stk__dnn_threads(stk__dnn_of(op), op->engine->info.threads);
    const stk_status status = kinds[op->spec.kind]->create(op, error);
    op->needs.library_bytes = cost->kept_bytes - kept_bytes + cost->code_bytes - code_bytes;
    if (status != STK_OK) destroy_op(op);
    return status;
}

/* As another one of the same specification, whose code it would share. */
static stk_status make_dry_op(stk__op *op, stk_error *error)
{
    stk__onednn *engine = stk__onednn_of(op);
    stk__onednn_memo *memo = stk__onednn_memo_find(engine->memos, op);
    if (memo && memo->known) {
        op->needs = memo->needs;
        op->method = memo->method;
        op->joins = memo->joins;
        op->adds = memo->adds;
        return STK_OK;
    }
    const size_t code_bytes = engine->cost.code_bytes;
    STK__TRY(make_op(op, error));
    if (!memo) return STK_OK;
    memo->known = true;
    memo->needs = op->needs;
    memo->needs.library_bytes -= engine->cost.code_bytes - code_bytes;
    memo->method = op->method;
    memo->joins = op->joins;
    memo->adds = op->adds;
    return STK_OK;
}

static stk_status create_op(stk__op *op, stk_error *error)
{
    if (!kinds[op->spec.kind]->create) return STK_OK;
    return stk__onednn_of(op)->memos ? make_dry_op(op, error) : make_op(op, error);
}

static stk_status run_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__dnn_threads(stk__dnn_of(op), op->engine->info.threads);
    return kinds[op->spec.kind]->forward(op, io, error);
}

static stk_status run_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__dnn_threads(stk__dnn_of(op), op->engine->info.threads);
    return kinds[op->spec.kind]->backward(op, io, error);
}

const stk__engine_ops stk__engine_onednn = {
    .name = "onednn",
    .open = open_engine,
    .close = close_engine,
    .arena_create = stk__host_arena_create_backed,
    .arena_destroy = stk__host_arena_destroy,
    .tensor_zero = zero_tensor,
    .tensor_add = add_tensor,
    .tensor_copy = copy_tensor,
    .op_create = create_op,
    .op_destroy = destroy_op,
    .op_choose = stk__onednn_choose,
    .forward = run_forward,
    .backward = run_backward,
    .update = stk__onednn_update,
    .average = stk__onednn_average,
};

stk__dnn_layout stk__onednn_dense(int ndim, const int64_t *dim)
{
    stk__dnn_layout layout = {.ndim = ndim};
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        layout.dim[i] = dim[i];
        layout.stride[i] = stride;
        stride *= dim[i];
    }
    return layout;
}

stk__dnn_layout stk__onednn_picture(const stk__shape *shape)
{
    const bool picture = shape->ndim == 4;
    const int64_t c = shape->dim[shape->ndim - 1];
    const int64_t h = picture ? shape->dim[1] : 1, w = picture ? shape->dim[2] : 1;
    const int64_t n = stk__shape_count(shape) / (h * w * c);
    return (stk__dnn_layout){.ndim = 4, .dim = {n, c, h, w}, .stride = {h * w * c, 1, w * c, c}};
}

typedef struct loop {
    stk__onednn_rows run;
    void *context;
    int64_t count, grain;
} loop;

static void run_chunk(void *context, size_t item, int worker)
{
    const loop *l = context;
    const int64_t first = (int64_t)item * l->grain;
    l->run(l->context, first, first + l->grain < l->count ? first + l->grain : l->count, worker);
}

void stk__onednn_loop(const stk__engine *engine, int64_t count, int64_t grain, stk__onednn_rows run,
                      void *context)
{
    loop l = {.run = run, .context = context, .count = count, .grain = grain};
    stk__pool_run(&(stk__pool_job){.run = run_chunk,
                                   .context = &l,
                                   .count = (size_t)((count + grain - 1) / grain),
                                   .workers = engine->info.threads});
}

typedef struct bytes_run {
    char *target;
    const char *source;
} bytes_run;

static void zero_bytes(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    memset((char *)context + first, 0, (size_t)(last - first));
}

void stk__onednn_zero(const stk__engine *engine, void *target, size_t size_bytes)
{
    stk__onednn_loop(engine, (int64_t)size_bytes, COPY_BYTES, zero_bytes, target);
}

static void copy_bytes(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const bytes_run *run = context;
    memcpy(run->target + first, run->source + first, (size_t)(last - first));
}

void stk__onednn_copy(const stk__engine *engine, void *target, const void *source, size_t size_bytes)
{
    bytes_run run = {target, source};
    if (target != source) stk__onednn_loop(engine, (int64_t)size_bytes, COPY_BYTES, copy_bytes, &run);
}

typedef struct add_run {
    const stk__onednn_loops *loops;
    float *target;
    const float *source;
} add_run;

static void add_floats(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const add_run *run = context;
    float *target = run->target;
    const float *source = run->source;
    run->loops->add(target + first, source + first, target + first, last - first, false);
}

void stk__onednn_add_to(const stk__engine *engine, float *target, const float *source, int64_t count)
{
    add_run run = {((const stk__onednn *)engine)->loops, target, source};
    stk__onednn_loop(engine, count, COPY_BYTES / (int64_t)sizeof(float), add_floats, &run);
}
