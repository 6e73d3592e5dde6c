/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm and affine, both over the last dimension. */
#include "engine/torch/torch_call.h"

static int64_t channels_of(const stk__op *op)
{
    return op->spec.input[0].dim[op->spec.input[0].ndim - 1];
}

static int64_t rows_of(const stk__op *op)
{
    return stk__shape_count(&op->spec.input[0]) / channels_of(op);
}

/* saved: mean and inverse standard deviation, f32 [c] each. */
static stk__op_needs norm_needs(const stk__op *op)
{
    stk__op_needs needs = {0};
    stk__torch_reserve(&needs.saved_bytes, (size_t)channels_of(op) * sizeof(float));
    stk__torch_reserve(&needs.saved_bytes, (size_t)channels_of(op) * sizeof(float));
    return needs;
}

/* PyTorch saves them in evaluation, too, on CUDA alone: on CPUs it wants tensors of no values then. Either
 * may not resize memory of ours. */
static stk__torch_handle saved_part(stk__torch_scope *s, const stk__op *op, const stk__op_io *io, int i)
{
    const bool saves = io->training || !stk__torch_device_is_host(&s->engine->device);
    const stk__shape shape = {1, {saves ? channels_of(op) : 0}};
    const stk__torch_form form = stk__torch_dense_form(s->engine, STK_DTYPE_F32, &shape);
    return stk__torch_part(s, io->saved, (size_t)i * (norm_needs(op).saved_bytes / 2), &form);
}

static void move_towards(stk__torch_scope *s, stk__torch_handle target, stk__torch_handle value, double share)
{
    STK_TORCH_RUN(s, "aten::lerp", "Tensor_out", STK_TORCH_T(target), STK_TORCH_T(value),
                  STK_TORCH_T(stk__torch_number(s, share)), STK_TORCH_T(target));
}

/* PyTorch divides by rows - 1: a single value a channel has variance 0 here, as in the other engines. */
static void track_single(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const stk__shape row = {1, {channels_of(op)}};
    const stk__torch_handle x = stk__torch_shaped(s, io->x[0], &row);
    const int32_t f32 = stk__torch_dtype(s, STK_DTYPE_F32);
    move_towards(s, stk__torch_dense(s, io->buffer[0]), op->spec.half ? stk__torch_convert(s, x, f32) : x,
                 op->spec.momentum);
    move_towards(s, stk__torch_dense(s, io->buffer[1]), s->engine->zero, op->spec.momentum);
}

static stk_status norm_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const bool tracks = io->training && !io->again, single = rows_of(op) == 1;
    const bool given = !io->training || (tracks && !single); /* the running statistics are read or written */
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    stk__torch_call(&s,
                    STK_TORCH_REQUEST(
                        "aten::native_batch_norm", "out", 3,
                        STK_TORCH_T(stk__torch_picture(&s, io->x[0], &op->spec.input[0])),
                        STK_TORCH_T_OR_NONE(stk__torch_dense(&s, io->param[0])),
                        STK_TORCH_T_OR_NONE(stk__torch_dense(&s, io->param[1])),
                        STK_TORCH_T_OR_NONE(stk__torch_dense(&s, given ? io->buffer[0] : NULL)),
                        STK_TORCH_T_OR_NONE(stk__torch_dense(&s, given ? io->buffer[1] : NULL)),
                        STK_TORCH_I(io->training), STK_TORCH_F(op->spec.momentum), STK_TORCH_F(op->spec.eps),
                        STK_TORCH_T(stk__torch_picture(&s, io->y, &op->form.output)),
                        STK_TORCH_T(saved_part(&s, op, io, 0)), STK_TORCH_T(saved_part(&s, op, io, 1))));
    if (tracks && single) track_single(&s, op, io);
    if (tracks) stk__torch_count_up(&s, io->buffer[2]);
    return stk__torch_end(&s);
}

static stk_status norm_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t wanted = (stk__torch_at(io->dx, 0) ? 1 : 0) | (stk__torch_at(io->dparam, 0) ? 2 : 0) |
                           (stk__torch_at(io->dparam, 1) ? 4 : 0);
    if (!wanted) return STK_OK;
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    stk__torch_request *request = STK_TORCH_REQUEST(
        "aten::native_batch_norm_backward", "", 3,
        STK_TORCH_T(stk__torch_picture(&s, io->dy, &op->form.output)),
        STK_TORCH_T(stk__torch_picture(&s, io->x[0], &op->spec.input[0])),
        STK_TORCH_T_OR_NONE(stk__torch_dense(&s, io->param[0])),
        STK_TORCH_T_OR_NONE(stk__torch_dense(&s, io->buffer[0])),
        STK_TORCH_T_OR_NONE(stk__torch_dense(&s, io->buffer[1])),
        STK_TORCH_T_OR_NONE(saved_part(&s, op, io, 0)), STK_TORCH_T_OR_NONE(saved_part(&s, op, io, 1)),
        STK_TORCH_I(io->training), STK_TORCH_F(op->spec.eps), STK_TORCH_BITS(wanted, 3));
    if (wanted & 1 && io->dx[0]->place != io->dy->memory) stk__torch_expect(io->dx[0]);
    stk__torch_expect_learned(io, wanted);
    stk__torch_call(&s, request);
    if (wanted & 1) stk__torch_take_picture(&s, io->dx[0], &op->spec.input[0], request->result[0]);
    if (wanted & 2) stk__torch_learn_own(&s, io, 0, request->result[1]);
    if (wanted & 4) stk__torch_learn_own(&s, io, 1, request->result[2]);
    return stk__torch_end(&s);
}

/* to = from x scale */
static stk__torch_handle scale_rows(stk__torch_scope *s, const stk__op *op, const stk__op_io *io,
                                    const stk__tensor *from, const stk__tensor *to)
{
    const stk__torch_handle target = stk__torch_rows(s, to, channels_of(op));
    STK_TORCH_RUN(s, "aten::mul", "out", STK_TORCH_T(stk__torch_rows(s, from, channels_of(op))),
                  STK_TORCH_T(stk__torch_dense(s, io->buffer[0])), STK_TORCH_T(target));
    return target;
}

static stk_status affine_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle y = scale_rows(&s, op, io, io->x[0], io->y);
    stk__torch_add(&s, y, stk__torch_dense(&s, io->buffer[1]), 1);
    return stk__torch_end(&s);
}

static stk_status affine_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    if (!stk__torch_at(io->dx, 0)) return STK_OK;
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    scale_rows(&s, op, io, io->dy, io->dx[0]);
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_norm = {norm_forward, norm_backward, norm_needs};
const stk__torch_op_kind stk__torch_affine = {affine_forward, affine_backward, NULL};
