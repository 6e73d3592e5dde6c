/* SPDX-License-Identifier: Apache-2.0 */
/* Operations over the area of pictures: pools and resize. */
#include "engine/torch/torch_call.h"

typedef struct window {
    int64_t kernel[2], stride[2], pad[2], dilation[2];
} window;

static window window_of(const stk__op_spec *spec)
{
    window w;
    for (int a = 0; a < 2; a++) {
        w.kernel[a] = spec->kernel[a];
        w.stride[a] = spec->stride[a];
        w.pad[a] = spec->pad[a];
        w.dilation[a] = 1;
    }
    return w;
}

/* saved: where each output value came from, i64. */
static stk__op_needs max_needs(const stk__op *op)
{
    return (stk__op_needs){.saved_bytes = (size_t)stk__shape_count(&op->form.output) * sizeof(int64_t)};
}

static stk__torch_handle places_of(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const int64_t *y = op->form.output.dim;
    const stk__torch_form form = {.ndim = 4,
                                  .size = {y[0], y[3], y[1], y[2]},
                                  .stride = {y[1] * y[2] * y[3], 1, y[2] * y[3], y[3]},
                                  .dtype = s->engine->api->aoti_torch_dtype_int64()};
    return stk__torch_part(s, io->saved, 0, &form);
}

static stk_status max_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const window w = window_of(&op->spec);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    stk__torch_call(&s, STK_TORCH_REQUEST("aten::max_pool2d_with_indices", "out", 2,
                                          STK_TORCH_T(stk__torch_picture(&s, io->x[0], &op->spec.input[0])),
                                          STK_TORCH_INT_LIST(w.kernel, 2), STK_TORCH_INT_LIST(w.stride, 2),
                                          STK_TORCH_INT_LIST(w.pad, 2), STK_TORCH_INT_LIST(w.dilation, 2),
                                          STK_TORCH_I(false),
                                          STK_TORCH_T(stk__torch_picture(&s, io->y, &op->form.output)),
                                          STK_TORCH_T(places_of(&s, op, io))));
    return stk__torch_end(&s);
}

/* The backward pass may not read x, but PyTorch asks for its shape: dx has that, too. */
static stk_status max_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const window w = window_of(&op->spec);
    if (!stk__torch_at(io->dx, 0)) return STK_OK;
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle dx = stk__torch_picture(&s, io->dx[0], &op->spec.input[0]);
    STK_TORCH_RUN(&s, "aten::max_pool2d_with_indices_backward", "grad_input",
                  STK_TORCH_T(stk__torch_picture(&s, io->dy, &op->form.output)), STK_TORCH_T(dx),
                  STK_TORCH_INT_LIST(w.kernel, 2), STK_TORCH_INT_LIST(w.stride, 2),
                  STK_TORCH_INT_LIST(w.pad, 2), STK_TORCH_INT_LIST(w.dilation, 2), STK_TORCH_I(false),
                  STK_TORCH_T(places_of(&s, op, io)), STK_TORCH_T(dx));
    return stk__torch_end(&s);
}

static stk_status avg_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const window w = window_of(&op->spec);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    STK_TORCH_RUN(&s, "aten::avg_pool2d", "out",
                  STK_TORCH_T(stk__torch_picture(&s, io->x[0], &op->spec.input[0])),
                  STK_TORCH_INT_LIST(w.kernel, 2), STK_TORCH_INT_LIST(w.stride, 2),
                  STK_TORCH_INT_LIST(w.pad, 2), STK_TORCH_I(false), STK_TORCH_I(true), STK_TORCH_NOTHING,
                  STK_TORCH_T(stk__torch_picture(&s, io->y, &op->form.output)));
    return stk__torch_end(&s);
}

static stk_status avg_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const window w = window_of(&op->spec);
    if (!stk__torch_at(io->dx, 0)) return STK_OK;
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle dx = stk__torch_picture(&s, io->dx[0], &op->spec.input[0]);
    STK_TORCH_RUN(&s, "aten::avg_pool2d_backward", "grad_input",
                  STK_TORCH_T(stk__torch_picture(&s, io->dy, &op->form.output)), STK_TORCH_T(dx),
                  STK_TORCH_INT_LIST(w.kernel, 2), STK_TORCH_INT_LIST(w.stride, 2),
                  STK_TORCH_INT_LIST(w.pad, 2), STK_TORCH_I(false), STK_TORCH_I(true), STK_TORCH_NOTHING,
                  STK_TORCH_T(dx));
    return stk__torch_end(&s);
}

static stk_status global_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    static const int64_t area[] = {2, 3};
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    STK_TORCH_RUN(&s, "aten::mean", "out", STK_TORCH_T(stk__torch_picture(&s, io->x[0], &op->spec.input[0])),
                  STK_TORCH_SOME_INT_LIST(area, 2), STK_TORCH_I(false), STK_TORCH_NOTHING,
                  STK_TORCH_T(stk__torch_shaped(&s, io->y, &op->form.output)));
    return stk__torch_end(&s);
}

static stk_status global_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t *x = op->spec.input[0].dim;
    if (!stk__torch_at(io->dx, 0)) return STK_OK;
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_form spread = {.ndim = 4,
                                    .size = {x[0], x[1], x[2], x[3]},
                                    .stride = {x[3], 0, 0, 1},
                                    .dtype = stk__torch_dtype(&s, io->dy->desc.dtype)};
    STK_TORCH_RUN(&s, "aten::mul", "out", STK_TORCH_T(stk__torch_view(&s, io->dy, &spread)),
                  STK_TORCH_T(stk__torch_number(&s, 1.0 / (double)(x[1] * x[2]))),
                  STK_TORCH_T(stk__torch_shaped(&s, io->dx[0], &op->spec.input[0])));
    return stk__torch_end(&s);
}

static stk_status resize_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t size[] = {op->spec.size[0], op->spec.size[1]};
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle x = stk__torch_picture(&s, io->x[0], &op->spec.input[0]);
    const stk__torch_handle y = stk__torch_picture(&s, io->y, &op->form.output);
    if (op->spec.resize == STK_RESIZE_NEAREST)
        STK_TORCH_RUN(&s, "aten::_upsample_nearest_exact2d", "out", STK_TORCH_T(x),
                      STK_TORCH_INT_LIST(size, 2), STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_T(y));
    else
        STK_TORCH_RUN(&s, "aten::upsample_bilinear2d", "out", STK_TORCH_T(x), STK_TORCH_INT_LIST(size, 2),
                      STK_TORCH_I(false), STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_T(y));
    return stk__torch_end(&s);
}

static stk_status resize_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t size[] = {op->spec.size[0], op->spec.size[1]}, *x = op->spec.input[0].dim;
    const int64_t before[] = {x[0], x[3], x[1], x[2]};
    if (!stk__torch_at(io->dx, 0)) return STK_OK;
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle dy = stk__torch_picture(&s, io->dy, &op->form.output);
    const stk__torch_handle dx = stk__torch_picture(&s, io->dx[0], &op->spec.input[0]);
    if (op->spec.resize == STK_RESIZE_NEAREST)
        STK_TORCH_RUN(&s, "aten::_upsample_nearest_exact2d_backward", "grad_input", STK_TORCH_T(dy),
                      STK_TORCH_INT_LIST(size, 2), STK_TORCH_INT_LIST(before, 4), STK_TORCH_NOTHING,
                      STK_TORCH_NOTHING, STK_TORCH_T(dx));
    else
        STK_TORCH_RUN(&s, "aten::upsample_bilinear2d_backward", "grad_input", STK_TORCH_T(dy),
                      STK_TORCH_INT_LIST(size, 2), STK_TORCH_INT_LIST(before, 4), STK_TORCH_I(false),
                      STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_T(dx));
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_max_pool = {max_forward, max_backward, max_needs};
const stk__torch_op_kind stk__torch_avg_pool = {avg_forward, avg_backward, NULL};
const stk__torch_op_kind stk__torch_global_pool = {global_forward, global_backward, NULL};
const stk__torch_op_kind stk__torch_resize = {resize_forward, resize_backward, NULL};
