/* SPDX-License-Identifier: Apache-2.0 */
/* An operation of the engine onednn with all its tensors, for its unit tests. */
#ifndef TESTS_UNIT_ONEDNN_RIG_H
#define TESTS_UNIT_ONEDNN_RIG_H

#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct rig {
    stk__engine *engine;
    stk__op *op;
    stk__arena *arena;
    size_t used_bytes;
    stk__tensor *x[STK_OP_INPUTS], *dx[STK_OP_INPUTS], *param[STK_OP_PARAMS], *dparam[STK_OP_PARAMS];
    stk__tensor *buffer[STK_OP_BUFFERS], *y, *dy, *saved, *scratch, *ids;
    stk__op_io io;
} rig;

static inline stk_status rig_tensor(rig *r, const stk__shape *shape, stk_dtype dtype, stk__tensor **tensor,
                                    stk_error *error)
{
    const stk__tensor_desc desc = {.shape = *shape, .dtype = dtype};
    STK__TRY(stk__tensor_create(r->engine, &desc, r->arena, r->used_bytes, tensor, error));
    r->used_bytes += stk__tensor_size(r->engine, &desc);
    return STK_OK;
}

static inline stk_status rig_bytes(rig *r, size_t size_bytes, stk__tensor **tensor, stk_error *error)
{
    const stk__shape shape = {1, {(int64_t)size_bytes}};
    return size_bytes ? rig_tensor(r, &shape, STK_DTYPE_U8, tensor, error) : STK_OK;
}

static inline stk_status rig_params(rig *r, const stk__op_form *form, stk_error *error)
{
    for (int i = 0; i < form->param_count; i++) {
        STK__TRY(rig_tensor(r, &form->param[i].shape, STK_DTYPE_F32, &r->param[i], error));
        STK__TRY(rig_tensor(r, &form->param[i].shape, STK_DTYPE_F32, &r->dparam[i], error));
    }
    for (int i = 0; i < form->buffer_count; i++)
        STK__TRY(rig_tensor(r, &form->buffer[i].shape, form->buffer[i].dtype, &r->buffer[i], error));
    return STK_OK;
}

/* Losses and metrics get a target of i64 or f32, all zero. */
static inline stk_status rig_tensors(rig *r, stk_error *error)
{
    const stk__op_spec *spec = &r->op->spec;
    const stk__op_form *form = &r->op->form;
    const bool judges = stk__op_is_loss(spec->kind) || stk__op_is_metric(spec->kind);
    for (int i = 0; i < (judges ? 1 : spec->inputs); i++) {
        STK__TRY(rig_tensor(r, &spec->input[i], STK_DTYPE_F32, &r->x[i], error));
        STK__TRY(rig_tensor(r, &spec->input[i], STK_DTYPE_F32, &r->dx[i], error));
    }
    const stk__shape *x = &spec->input[0], ids = {1, {x->dim[0]}};
    const bool labels = spec->kind == STK_OP_BCE || spec->kind == STK_OP_LABEL_HITS;
    const bool classes = spec->classes && !labels;
    const stk__shape target = {1,
                               {labels    ? stk__shape_count(x)
                                : classes ? stk__shape_count(x) / spec->classes
                                          : x->dim[0] * (x->ndim == 4 ? x->dim[3] : 1)}};
    if (judges) STK__TRY(rig_tensor(r, &target, classes ? STK_DTYPE_I64 : STK_DTYPE_F32, &r->x[1], error));
    STK__TRY(rig_tensor(r, &form->output, form->output_dtype, &r->y, error));
    STK__TRY(rig_tensor(r, &form->output, form->output_dtype, &r->dy, error));
    STK__TRY(rig_tensor(r, &ids, STK_DTYPE_I64, &r->ids, error));
    STK__TRY(rig_bytes(r, stk__op_memory(r->op).saved_bytes, &r->saved, error));
    STK__TRY(rig_bytes(r, stk__op_memory(r->op).scratch_bytes, &r->scratch, error));
    return rig_params(r, form, error);
}

static inline void rig_close(rig *r)
{
    for (int i = 0; i < STK_OP_INPUTS; i++)
        stk__tensor_destroy(&r->x[i]), stk__tensor_destroy(&r->dx[i]);
    for (int i = 0; i < STK_OP_PARAMS; i++)
        stk__tensor_destroy(&r->param[i]), stk__tensor_destroy(&r->dparam[i]);
    for (int i = 0; i < STK_OP_BUFFERS; i++)
        stk__tensor_destroy(&r->buffer[i]);
    stk__tensor **const rest[] = {&r->y, &r->dy, &r->saved, &r->scratch, &r->ids};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        stk__tensor_destroy(rest[i]);
    stk__op_destroy(&r->op);
    stk__arena_destroy(&r->arena);
}

/* All in one arena of 1 MiB, zeroed. On failure nothing is left. */
static inline stk_status rig_open(rig *r, stk__engine *engine, const stk__op_spec *spec, stk_error *error)
{
    *r = (rig){.engine = engine};
    stk_status status = stk__op_create(engine, spec, &r->op, error);
    if (status == STK_OK) status = stk__arena_create(engine, 1 << 20, &r->arena, error);
    if (status == STK_OK) status = rig_tensors(r, error);
    if (status != STK_OK) {
        rig_close(r);
        return status;
    }
    r->io = (stk__op_io){.x = r->x,
                         .y = r->y,
                         .param = r->param,
                         .buffer = r->buffer,
                         .saved = r->saved,
                         .scratch = r->scratch,
                         .dx = r->dx,
                         .dy = r->dy,
                         .dparam = r->dparam,
                         .training = true,
                         .grad_scale = 1,
                         .sample_ids = r->ids};
    return STK_OK;
}

static inline stk_status rig_run(rig *r, stk_error *error)
{
    STK__TRY(stk__op_forward(r->op, &r->io, error));
    if (!r->op->form.has_gradient || stk__op_is_loss(r->op->spec.kind)) return STK_OK;
    return stk__op_backward(r->op, &r->io, error);
}

/* Numbers in +-1 that look random and are the same everywhere. */
static inline void rig_fill(stk__tensor *tensor, uint32_t seed)
{
    float *values = tensor->memory;
    for (int64_t i = 0; i < stk__shape_count(&tensor->desc.shape); i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

static inline void rig_fill_all(rig *r)
{
    for (int i = 0; i < STK_OP_INPUTS; i++)
        if (r->x[i] && r->x[i]->desc.dtype == STK_DTYPE_F32) rig_fill(r->x[i], 1 + (uint32_t)i);
    for (int i = 0; i < STK_OP_PARAMS; i++)
        if (r->param[i]) rig_fill(r->param[i], 20 + (uint32_t)i);
    if (r->dy->desc.dtype == STK_DTYPE_F32) rig_fill(r->dy, 50);
}

/* One of each kind, as large as the arena allows two threads to share it. */
static inline stk__op_spec rig_spec(stk__op_kind kind)
{
    stk__op_spec spec = {.kind = kind,
                         .inputs = kind == STK_OP_ADD || kind == STK_OP_CONCAT ? 2 : 1,
                         .input = {{4, {2, 12, 10, 6}}, {4, {2, 12, 10, 6}}},
                         .kernel = {3, 3},
                         .pad = {1, 1},
                         .stride = {2, 2},
                         .channels = 9,
                         .scale = {2, 2},
                         .drop = 0.25,
                         .hidden = 7,
                         .layers = 2,
                         .image_size = {48, 40}};
    const bool values = (kind >= STK_OP_L1 && kind <= STK_OP_SMOOTH_L1) || kind == STK_OP_VALUE_ERROR;
    if (kind == STK_OP_LINEAR) spec.input[0] = (stk__shape){2, {12, 10}};
    if (kind == STK_OP_LSTM) spec.input[0] = (stk__shape){3, {5, 6, 4}};
    if (kind == STK_OP_BCE || kind == STK_OP_LABEL_HITS) spec.input[0] = (stk__shape){2, {12, 5}};
    if (values) spec.input[0] = (stk__shape){2, {12, 1}};
    return spec;
}

#endif
