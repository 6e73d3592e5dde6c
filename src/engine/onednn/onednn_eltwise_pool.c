/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of one step each way: activations and pools by oneDNN. */
#include "core/memory.h"
#include "engine/onednn/onednn_engine.h"

#include <string.h>

typedef struct plain {
    stk__dnn_step forward, backward;
} plain;

static stk_status create_steps(stk__op *op, const stk__dnn_layer *layer, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    plain *own = op->own = stk__alloc(sizeof *own);
    if (!own) return stk__fail_memory(error, sizeof *own, "a layer");
    STK__TRY(stk__dnn_step_create(dnn, layer, STK_DNN_FORWARD, NULL, &own->forward, error));
    STK__TRY(stk__dnn_step_create(dnn, layer, STK_DNN_BACKWARD, &own->forward, &own->backward, error));
    const size_t forward = own->forward.size_bytes[STK_DNN_SCRATCHPAD];
    const size_t backward = own->backward.size_bytes[STK_DNN_SCRATCHPAD];
    op->needs.scratch_bytes = forward > backward ? forward : backward;
    op->needs.saved_bytes = own->forward.size_bytes[STK_DNN_WORKSPACE];
    return STK_OK;
}

static stk_status create_eltwise(stk__op *op, stk_error *error)
{
    static const stk__dnn_kind kinds[STK_OP_COUNT] = {[STK_OP_SILU] = STK_DNN_SILU,
                                                      [STK_OP_GELU] = STK_DNN_GELU,
                                                      [STK_OP_SIGMOID] = STK_DNN_SIGMOID,
                                                      [STK_OP_TANH] = STK_DNN_TANH};
    const int64_t count = stk__shape_count(&op->form.output);
    const stk__dnn_layer layer = {.kind = kinds[op->spec.kind], .src = stk__onednn_dense(1, &count)};
    return create_steps(op, &layer, error);
}

static stk_status create_pool(stk__op *op, stk_error *error)
{
    const stk__op_spec *spec = &op->spec;
    stk__dnn_layer layer = {.kind = spec->kind == STK_OP_MAX_POOL ? STK_DNN_MAX_POOL : STK_DNN_AVG_POOL,
                            .src = stk__onednn_picture(&spec->input[0]),
                            .dst = stk__onednn_picture(&op->form.output)};
    memcpy(layer.kernel, spec->kernel, sizeof layer.kernel);
    memcpy(layer.stride, spec->stride, sizeof layer.stride);
    memcpy(layer.pad, spec->pad, sizeof layer.pad);
    for (int a = 0; a < 2 && spec->kind == STK_OP_GLOBAL_POOL; a++) {
        layer.kernel[a] = (int32_t)spec->input[0].dim[1 + a];
        layer.stride[a] = 1;
        layer.pad[a] = 0;
    }
    return create_steps(op, &layer, error);
}

static void destroy(stk__op *op)
{
    plain *own = op->own;
    stk__dnn_step_fini(stk__dnn_of(op), &own->forward);
    stk__dnn_step_fini(stk__dnn_of(op), &own->backward);
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    stk__dnn_step *step = &((plain *)op->own)->forward;
    stk__dnn_step_set(dnn, step, STK_DNN_SRC, stk__floats(io->x[0]));
    stk__dnn_step_set(dnn, step, STK_DNN_DST, stk__floats(io->y));
    stk__dnn_step_set(dnn, step, STK_DNN_WORKSPACE, stk__onednn_at(io->saved, 0));
    stk__dnn_step_set(dnn, step, STK_DNN_SCRATCHPAD, stk__onednn_at(io->scratch, 0));
    return stk__dnn_step_run(dnn, step, error);
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    stk__dnn_step *step = &((plain *)op->own)->backward;
    if (!stk__floats_at(io->dx, 0)) return STK_OK;
    if (op->form.needs_x) stk__dnn_step_set(dnn, step, STK_DNN_SRC, stk__floats(io->x[0]));
    if (op->form.needs_y) stk__dnn_step_set(dnn, step, STK_DNN_DST, stk__floats(io->y));
    stk__dnn_step_set(dnn, step, STK_DNN_DIFF_DST, stk__floats(io->dy));
    stk__dnn_step_set(dnn, step, STK_DNN_DIFF_SRC, stk__floats(io->dx[0]));
    stk__dnn_step_set(dnn, step, STK_DNN_WORKSPACE, stk__onednn_at(io->saved, 0));
    stk__dnn_step_set(dnn, step, STK_DNN_SCRATCHPAD, stk__onednn_at(io->scratch, 0));
    return stk__dnn_step_run(dnn, step, error);
}

const stk__onednn_kind stk__onednn_eltwise = {create_eltwise, destroy, forward, backward};
const stk__onednn_kind stk__onednn_pool = {create_pool, destroy, forward, backward};
