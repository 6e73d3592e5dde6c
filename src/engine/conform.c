/* SPDX-License-Identifier: Apache-2.0 */
/* Two rigs, one for each engine: the same operation on the same numbers, then every tensor that the engines
 * wrote side by side. One thread, the engines'. */
#include "engine/conform.h"

#include "core/half.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

#define LEAST 0.05 /* differences are measured by values of at least this */

enum { MOST = 2 * STK_OP_INPUTS + 2 * STK_OP_PARAMS + STK_OP_BUFFERS + 8, SEED = 3, EPOCH = 1 };

typedef struct part { /* a tensor of a trial */
    stk__tensor_desc desc;
    stk__tensor **tensor;
    stk__conform_fill fill;
    double scale;
    bool points;   /* filled as such */
    bool compared; /* written by the engine */
} part;

/* One operation of one engine with its tensors. */
typedef struct rig {
    stk__engine *engine;
    stk__conform_mode mode;
    stk__op_spec spec;
    stk__op_form form;
    stk__op *op;
    stk__arena *arena;
    part parts[MOST];
    int count;
    stk__tensor *x[STK_OP_INPUTS], *dx[STK_OP_INPUTS], *param[STK_OP_PARAMS], *dparam[STK_OP_PARAMS];
    stk__tensor *buffer[STK_OP_BUFFERS], *y, *dy, *saved, *scratch, *ids;
} rig;

static part *add(rig *r, stk__tensor **tensor, const stk__shape *shape, stk_dtype dtype)
{
    part *p = &r->parts[r->count++];
    *p = (part){.desc = {.shape = *shape, .dtype = dtype}, .tensor = tensor};
    return p;
}

static void add_bytes(rig *r, stk__tensor **tensor, size_t bytes)
{
    if (bytes) add(r, tensor, &(stk__shape){1, {(int64_t)bytes}}, STK_DTYPE_U8);
}

/* What losses and metrics judge by. */
static void add_target(rig *r)
{
    const stk__op_kind kind = r->spec.kind;
    stk__shape shape = {1, {r->spec.input[0].dim[0]}};
    stk__tensor **target = &r->x[STK_LOSS_TARGET];
    if (kind == STK_OP_POINTS || kind == STK_OP_POINT_ERROR) {
        shape = (stk__shape){3, {shape.dim[0], r->spec.input[0].dim[3] / 3, 3}};
        add(r, target, &shape, STK_DTYPE_F32)->points = true;
    } else if (kind == STK_OP_CROSS_ENTROPY || kind == STK_OP_CONFUSION || kind == STK_OP_TOP_K) {
        shape = r->spec.input[0];
        shape.ndim--;
        part *p = add(r, target, &shape, shape.ndim > 1 ? STK_DTYPE_U8 : STK_DTYPE_I64);
        p->fill = STK_CONFORM_ID;
        p->scale = (double)r->spec.classes;
    } else {
        if (kind == STK_OP_BCE || kind == STK_OP_LABEL_HITS) shape = r->spec.input[0];
        add(r, target, &shape, STK_DTYPE_F32)->fill = STK_CONFORM_VALUE;
    }
}

static void add_inputs(rig *r)
{
    const bool loss = stk__op_is_loss(r->spec.kind), judges = loss || stk__op_is_metric(r->spec.kind);
    const stk_dtype dtype = r->spec.half ? r->spec.half : STK_DTYPE_F32;
    for (int i = 0; i < (judges ? 1 : r->spec.inputs); i++) {
        add(r, &r->x[i], &r->spec.input[i], dtype)->fill = STK_CONFORM_VALUE;
        if (r->form.has_gradient) add(r, &r->dx[i], &r->spec.input[i], dtype)->compared = true;
    }
    if (judges) add_target(r);
    if (!judges) add(r, &r->dy, &r->form.output, dtype)->fill = STK_CONFORM_VALUE;
}

static void list_parts(rig *r)
{
    const stk__op_needs needs = stk__op_memory(r->op);
    add_inputs(r);
    add(r, &r->y, &r->form.output, r->form.output_dtype)->compared = true;
    for (int i = 0; i < r->form.param_count; i++) {
        const stk__op_param *param = &r->form.param[i];
        part *p = add(r, &r->param[i], &param->shape, STK_DTYPE_F32);
        p->fill = STK_CONFORM_WEIGHT;
        p->scale = 1 / sqrt(param->fan_in ? (double)param->fan_in : 1);
        add(r, &r->dparam[i], &param->shape, STK_DTYPE_F32)->compared = true;
    }
    for (int i = 0; i < r->form.buffer_count; i++) {
        const stk__op_param *buffer = &r->form.buffer[i];
        part *p = add(r, &r->buffer[i], &buffer->shape, buffer->dtype);
        p->fill = buffer->dtype == STK_DTYPE_F32 ? STK_CONFORM_SPREAD : STK_CONFORM_ZERO;
        p->compared = true;
    }
    part *ids = add(r, &r->ids, &(stk__shape){1, {r->spec.input[0].dim[0]}}, STK_DTYPE_I64);
    ids->fill = STK_CONFORM_ID;
    ids->scale = 1000;
    add_bytes(r, &r->saved,
              needs.saved_bytes); /* last: engines differ in it, and numbers are drawn by place */
    add_bytes(r, &r->scratch, needs.scratch_bytes);
}

static stk_status fill_part(const rig *r, int number, stk_error *error)
{
    const part *p = &r->parts[number];
    stk_tensor view;
    if (p->fill == STK_CONFORM_ZERO && !p->points) return STK_OK; /* arenas are zeroed */
    STK__TRY(stk__tensor_map_new(*p->tensor, &view, error));
    if (p->points)
        stk__conform_points(&view, &r->spec);
    else
        stk__conform_put(&view, p->fill, (uint32_t)number, p->scale);
    return stk__tensor_unmap(*p->tensor, &view, true, error);
}

static stk_status open_rig(rig *r, stk_error *error)
{
    size_t bytes = 0, at = 0;
    STK__TRY(stk__op_describe(&r->spec, &r->form, error));
    STK__TRY(stk__op_create(r->engine, &r->spec, &r->op, error));
    list_parts(r);
    for (int i = 0; i < r->count; i++)
        bytes += stk__tensor_size(r->engine, &r->parts[i].desc);
    STK__TRY(stk__arena_create(r->engine, bytes, &r->arena, error));
    for (int i = 0; i < r->count; i++) {
        const part *p = &r->parts[i];
        STK__TRY(stk__tensor_create(r->engine, &p->desc, r->arena, at, p->tensor, error));
        STK__TRY(fill_part(r, i, error));
        at += stk__tensor_size(r->engine, &p->desc);
    }
    return STK_OK;
}

static void close_rig(rig *r)
{
    for (int i = 0; i < r->count; i++)
        stk__tensor_destroy(r->parts[i].tensor);
    stk__op_destroy(&r->op);
    stk__arena_destroy(&r->arena);
}

static stk_status run_rig(rig *r, stk_error *error)
{
    const bool evaluates = r->mode == STK_CONFORM_EVALUATION, frozen = r->mode == STK_CONFORM_FROZEN;
    STK__TRY(open_rig(r, error));
    const stk__op_io io = {.x = r->x,
                           .y = r->y,
                           .param = r->param,
                           .buffer = r->buffer,
                           .saved = r->saved,
                           .scratch = r->scratch,
                           .dx = r->dx,
                           .dy = r->dy,
                           .dparam = frozen ? NULL : r->dparam,
                           .training = !evaluates && !frozen,
                           .grad_scale = 1,
                           .seed = SEED,
                           .epoch = EPOCH,
                           .sample_ids = r->ids};
    STK__TRY(stk__op_forward(r->op, &io, error));
    if (!r->dy || !r->form.has_gradient || evaluates) return STK_OK;
    return stk__op_backward(r->op, &io, error);
}

static double value_at(const stk_tensor *view, int64_t i)
{
    if (view->dtype == STK_DTYPE_F64) return ((const double *)view->data)[i];
    if (view->dtype == STK_DTYPE_I64) return (double)((const int64_t *)view->data)[i];
    if (view->dtype == STK_DTYPE_BF16) return stk__bfloat_to_float(((const uint16_t *)view->data)[i]);
    if (view->dtype == STK_DTYPE_F16) return stk__half_to_float(((const uint16_t *)view->data)[i]);
    return ((const float *)view->data)[i];
}

static double distance(const stk_tensor *got, const stk_tensor *right, int64_t count)
{
    double far = 0, most = LEAST;
    for (int64_t i = 0; i < count; i++) {
        const double away = fabs(value_at(got, i) - value_at(right, i));
        most = fmax(most, fabs(value_at(right, i)));
        if (!(away <= far)) far = isnan(away) ? INFINITY : away;
    }
    return far / most;
}

static stk_status compare_part(const part *got, const part *right, double *difference, stk_error *error)
{
    stk_tensor views[2];
    STK__TRY(stk__tensor_map(*got->tensor, &views[0], error));
    STK__TRY(stk__tensor_map(*right->tensor, &views[1], error));
    *difference = fmax(*difference, distance(&views[0], &views[1], stk__shape_count(&got->desc.shape)));
    STK__TRY(stk__tensor_unmap(*right->tensor, &views[1], false, error));
    return stk__tensor_unmap(*got->tensor, &views[0], false, error);
}

/* What an engine keeps for itself (saved, scratch) may differ in size; what is compared does not. */
static stk_status compare_rigs(const rig *got, const rig *right, double *difference, stk_error *error)
{
    int k = 0;
    for (int i = 0; i < got->count; i++) {
        if (!got->parts[i].compared) continue;
        while (!right->parts[k].compared)
            k++;
        STK__TRY(compare_part(&got->parts[i], &right->parts[k++], difference, error));
    }
    return STK_OK;
}

static stk_status try_spec(rig rigs[2], double *difference, stk_error *error)
{
    stk_status status = run_rig(&rigs[0], error);
    if (status == STK_OK) status = run_rig(&rigs[1], error);
    if (status == STK_OK) status = compare_rigs(&rigs[0], &rigs[1], difference, error);
    close_rig(&rigs[1]);
    close_rig(&rigs[0]);
    return status;
}

static bool takes_part(stk__op_kind kind, stk__conform_mode mode)
{
    if (mode == STK_CONFORM_FROZEN) return kind == STK_OP_BATCH_NORM;
    return mode < STK_CONFORM_BF16 || !(stk__op_is_loss(kind) || stk__op_is_metric(kind));
}

static const stk_dtype halves[STK_CONFORM_MODES] = {
    [STK_CONFORM_BF16] = STK_DTYPE_BF16, [STK_CONFORM_F16] = STK_DTYPE_F16};

stk_status stk__conform(stk__engine *tested, stk__engine *right, stk__op_kind kind, stk__conform_mode mode,
                        stk__conform_result *result, stk_error *error)
{
    *result = (stk__conform_result){0};
    stk__op_spec spec;
    if (!takes_part(kind, mode)) return STK_OK;
    rig *rigs = stk__alloc(2 * sizeof *rigs);
    if (!rigs) return stk__fail_memory(error, 2 * sizeof *rigs, "trying an operation");
    stk_status status = STK_OK;
    while (status == STK_OK && stk__conform_spec(kind, result->trials, &spec)) {
        memset(rigs, 0, 2 * sizeof *rigs);
        spec.half = halves[mode];
        rigs[0].engine = tested;
        rigs[1].engine = right;
        rigs[0].mode = rigs[1].mode = mode;
        rigs[0].spec = rigs[1].spec = spec;
        status = try_spec(rigs, &result->difference, error);
        result->trials++;
    }
    stk__free(rigs);
    return status;
}
