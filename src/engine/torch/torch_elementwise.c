/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of single values and of several inputs: activations, add, concat. */
#include "engine/torch/torch_call.h"

typedef struct activation {
    const char *forward, *backward; /* NULL: relu's, see below */
    bool by_input;                  /* the slope is a function of x, else of y */
    bool approximates;
} activation;

static const activation activations[STK_OP_COUNT] = {
    [STK_OP_SILU] = {.forward = "aten::silu", .backward = "aten::silu_backward", .by_input = true},
    [STK_OP_GELU] = {.forward = "aten::gelu",
                     .backward = "aten::gelu_backward",
                     .by_input = true,
                     .approximates = true},
    [STK_OP_SIGMOID] = {.forward = "aten::sigmoid", .backward = "aten::sigmoid_backward"},
    [STK_OP_TANH] = {.forward = "aten::tanh", .backward = "aten::tanh_backward"},
};

/* y = x or 0; NaN stays. relu.out makes a tensor of its own and copies. Beside a number on the host GPUs load
 * and store several values at once, beside a tensor that is spread they do not; CPUs take any. */
static void cut_off(stk__torch_scope *s, stk__torch_handle x, stk__torch_handle y)
{
    if (stk__torch_device_is_host(&s->engine->device))
        STK_TORCH_RUN(s, "aten::clamp_min", "Tensor_out", STK_TORCH_T(x), STK_TORCH_T(s->engine->zero),
                      STK_TORCH_T(y));
    else
        STK_TORCH_RUN(s, "aten::maximum", "out", STK_TORCH_T(x), STK_TORCH_T(stk__torch_number(s, 0)),
                      STK_TORCH_T(y));
}

static stk_status activate(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const activation *a = &activations[op->spec.kind];
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle x = stk__torch_dense(&s, io->x[0]);
    const stk__torch_handle y = stk__torch_shaped(&s, io->y, &io->x[0]->desc.shape);
    if (a->approximates)
        STK_TORCH_RUN(&s, a->forward, "out", STK_TORCH_T(x), STK_TORCH_WORD("none"), STK_TORCH_T(y));
    else if (!a->forward)
        cut_off(&s, x, y);
    else
        STK_TORCH_RUN(&s, a->forward, "out", STK_TORCH_T(x), STK_TORCH_T(y));
    return stk__torch_end(&s);
}

/* PyTorch's threshold_backward takes a Scalar: dx = (y > 0) x dy in two steps, the first into scratch. Slopes
 * of the gradient's own type: with bools for them `where` and products take ten times as long on CPUs. */
static void relu_slopes(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const stk__shape *shape = &op->form.output;
    const stk__torch_form form = stk__torch_dense_form(s->engine, io->dy->desc.dtype, shape);
    const stk__torch_handle slope = stk__torch_part(s, io->scratch, 0, &form),
                            y = stk__torch_shaped(s, io->y, shape);
    if (stk__torch_device_is_host(&s->engine->device))
        STK_TORCH_RUN(s, "aten::gt", "Tensor_out", STK_TORCH_T(y), STK_TORCH_T(s->engine->zero),
                      STK_TORCH_T(slope));
    else /* y is not negative; of one type, several values at once */
        STK_TORCH_RUN(s, "aten::sign", "out", STK_TORCH_T(y), STK_TORCH_T(slope));
    STK_TORCH_RUN(s, "aten::mul", "out", STK_TORCH_T(slope), STK_TORCH_T(stk__torch_shaped(s, io->dy, shape)),
                  STK_TORCH_T(stk__torch_shaped(s, io->dx[0], shape)));
}

static stk__op_needs activation_needs(const stk__op *op)
{
    const size_t values = op->spec.kind == STK_OP_RELU ? (size_t)stk__shape_count(&op->form.output) : 0;
    return (stk__op_needs){.scratch_bytes = values * sizeof(float)};
}

static stk_status activate_back(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const activation *a = &activations[op->spec.kind];
    const stk__shape *shape = &op->form.output;
    if (!stk__torch_at(io->dx, 0)) return STK_OK;
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle dy = stk__torch_shaped(&s, io->dy, shape),
                            dx = stk__torch_shaped(&s, io->dx[0], shape);
    const stk__torch_handle at = stk__torch_shaped(&s, a->by_input ? io->x[0] : io->y, shape);
    if (!a->backward)
        relu_slopes(&s, op, io);
    else if (a->approximates)
        STK_TORCH_RUN(&s, a->backward, "grad_input", STK_TORCH_T(dy), STK_TORCH_T(at), STK_TORCH_WORD("none"),
                      STK_TORCH_T(dx));
    else
        STK_TORCH_RUN(&s, a->backward, "grad_input", STK_TORCH_T(dy), STK_TORCH_T(at), STK_TORCH_T(dx));
    return stk__torch_end(&s);
}

/* --- several inputs -------------------------------------------------------------------------------------
 */

static stk_status add_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__shape *shape = &op->form.output;
    const stk__torch_handle y = stk__torch_shaped(&s, io->y, shape);
    if (io->y->memory != io->x[0]->memory) stk__torch_copy(&s, y, stk__torch_shaped(&s, io->x[0], shape));
    stk__torch_add(&s, y, stk__torch_shaped(&s, io->x[1], shape), 1);
    return stk__torch_end(&s);
}

static stk_status add_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    for (int i = 0; i < 2; i++) {
        const stk__tensor *dx = stk__torch_at(io->dx, i);
        if (dx && dx->memory != io->dy->memory)
            stk__torch_copy(&s, stk__torch_shaped(&s, dx, &op->form.output),
                            stk__torch_shaped(&s, io->dy, &op->form.output));
    }
    return stk__torch_end(&s);
}

static int64_t last_of(const stk__shape *shape)
{
    return shape->dim[shape->ndim - 1];
}

static stk_status concat_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    stk__torch_handle inputs[STK_OP_INPUTS];
    for (int i = 0; i < op->spec.inputs; i++)
        inputs[i] = stk__torch_rows(&s, io->x[i], last_of(&op->spec.input[i]));
    STK_TORCH_RUN(&s, "aten::cat", "out", STK_TORCH_LIST(inputs, (size_t)op->spec.inputs), STK_TORCH_I(1),
                  STK_TORCH_T(stk__torch_rows(&s, io->y, last_of(&op->form.output))));
    return stk__torch_end(&s);
}

static stk_status concat_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t all = last_of(&op->form.output), rows = stk__shape_count(&op->form.output) / all;
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    stk__torch_form part = {.ndim = 2, .stride = {all, 1}, .dtype = stk__torch_dtype(&s, io->dy->desc.dtype)};
    for (int i = 0; i < op->spec.inputs; i++) {
        const int64_t length = last_of(&op->spec.input[i]);
        part.size[0] = rows;
        part.size[1] = length;
        if (stk__torch_at(io->dx, i))
            stk__torch_copy(&s, stk__torch_rows(&s, io->dx[i], length), stk__torch_view(&s, io->dy, &part));
        part.offset += length;
    }
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_activation = {activate, activate_back, activation_needs};
const stk__torch_op_kind stk__torch_add_op = {add_forward, add_backward, NULL};
const stk__torch_op_kind stk__torch_concat = {concat_forward, concat_backward, NULL};
