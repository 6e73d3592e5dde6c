/* SPDX-License-Identifier: Apache-2.0 */
/* Operations with weights: conv, conv_transpose and linear. */
#include "engine/conv_gather.h"
#include "engine/torch/torch_call.h"

typedef struct geometry {
    int64_t stride[2], pad[2], dilation[2], none[2], channels;
} geometry;

/* A fault of the oneDNN in PyTorch 2.15 on CPUs with AVX-512: strided convolutions whose output is one column
 * wide take memory that was never written, in bf16 and of one channel in f32. There the stride says nothing:
 * x is padded or cropped to the columns that the kernel sees, and the stride is 1. */
static bool sees_one_window(const stk__op *op)
{
    const stk__op_spec *spec = &op->spec;
    return spec->kind == STK_OP_CONV && spec->stride[1] > 1 && op->form.output.dim[2] == 1;
}

static geometry geometry_of(const stk__op *op)
{
    const stk__op_spec *spec = &op->spec;
    geometry g = {.channels = spec->channels};
    for (int a = 0; a < 2; a++) {
        g.stride[a] = spec->stride[a];
        g.pad[a] = spec->pad[a];
        g.dilation[a] = spec->dilation[a];
    }
    if (sees_one_window(op)) g.stride[1] = 1, g.pad[1] = 0;
    if (spec->kind == STK_OP_CONV_TRANSPOSE && spec->input[0].dim[2] == 1) g.stride[1] = 1; /* the same */
    return g;
}

/* x as the window that the kernel sees; way -1: a gradient of the window as one of x. */
static stk__torch_handle fit_window(stk__torch_scope *s, const stk__op *op, stk__torch_handle picture,
                                    int64_t way)
{
    const stk__op_spec *spec = &op->spec;
    const int64_t extent = spec->dilation[1] * (spec->kernel[1] - 1) + 1, left = spec->pad[1],
                  right = extent - left - spec->input[0].dim[2];
    if (!sees_one_window(op)) return picture;
    return STK_TORCH_RUN(s, "aten::pad", "", STK_TORCH_T(picture),
                         STK_TORCH_INT_LIST(((int64_t[]){way * left, way * right}), 2),
                         STK_TORCH_WORD("constant"), STK_TORCH_NOTHING);
}

static stk__tensor *bias_of(const stk__op *op, const stk__op_io *io)
{
    return op->spec.no_bias ? NULL : io->param[1];
}

/* Of parameter i; NULL: absent. */
static stk__torch_handle weight_of(stk__torch_scope *s, const stk__op *op, const stk__tensor *param)
{
    return stk__torch_factor(s, op, stk__torch_dense(s, param), STK_DTYPE_F32);
}

static stk__torch_handle picture_of(stk__torch_scope *s, const stk__op *op, const stk__tensor *tensor,
                                    const stk__shape *shape)
{
    return stk__torch_factor(s, op, stk__torch_picture(s, tensor, shape), tensor->desc.dtype);
}

/* An output is of the products' own type, or f32 at the end of a network. */
static bool is_own_type(const stk__op *op, const stk__tensor *tensor)
{
    return !op->spec.half || tensor->desc.dtype == op->spec.half;
}

/* Written where it is to lie: PyTorch's own convolution makes a tensor for it. false: cuDNN cannot do it. */
static bool convolve_in_place(stk__torch_scope *s, const stk__op *op, const stk__op_io *io, const geometry *g)
{
    stk__torch *engine = s->engine;
    const stk__engine_info *info = &engine->front.info;
    if (stk__torch_device_is_host(&engine->device) || engine->no_cudnn || op->spec.kind != STK_OP_CONV ||
        op->spec.groups != 1 || sees_one_window(op) || !is_own_type(op, io->y))
        return false;
    if (op->spec.half == STK_DTYPE_BF16 && engine->device.cuda->driver.architecture < 80) return false;
    const stk__torch_handle y = stk__torch_picture(s, io->y, &op->form.output);
    STK_TORCH_RUN(s, "aten::cudnn_convolution", "out",
                  STK_TORCH_T(picture_of(s, op, io->x[0], &op->spec.input[0])),
                  STK_TORCH_T(weight_of(s, op, io->param[0])), STK_TORCH_INT_LIST(g->pad, 2),
                  STK_TORCH_INT_LIST(g->stride, 2), STK_TORCH_INT_LIST(g->dilation, 2), STK_TORCH_I(1),
                  STK_TORCH_I(info->measures), STK_TORCH_I(info->deterministic), STK_TORCH_I(info->tf32),
                  STK_TORCH_T(y));
    if (s->status == STK_ERROR_UNSUPPORTED) {  /* PyTorch may have another way */
        engine->no_cudnn = !engine->has_cudnn; /* the first one: it was not built with it */
        s->status = STK_OK;
        stk__error_clear(s->error);
        return false;
    }
    if (s->status == STK_OK) engine->has_cudnn = true;
    const stk__shape one_each = {4, {1, op->spec.channels, 1, 1}};
    if (bias_of(op, io))
        stk__torch_add(
            s, y, stk__torch_factor(s, op, stk__torch_shaped(s, io->param[1], &one_each), STK_DTYPE_F32), 1);
    return true;
}

static stk_status conv_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const geometry g = geometry_of(op);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    if (convolve_in_place(&s, op, io, &g)) return stk__torch_end(&s);
    stk__torch_expect(io->y);
    const stk__torch_handle y = STK_TORCH_RUN(
        &s, "aten::convolution", "",
        STK_TORCH_T(fit_window(&s, op, picture_of(&s, op, io->x[0], &op->spec.input[0]), 1)),
        STK_TORCH_T(weight_of(&s, op, io->param[0])), STK_TORCH_T_OR_NONE(weight_of(&s, op, bias_of(op, io))),
        STK_TORCH_INT_LIST(g.stride, 2), STK_TORCH_INT_LIST(g.pad, 2), STK_TORCH_INT_LIST(g.dilation, 2),
        STK_TORCH_I(op->spec.kind == STK_OP_CONV_TRANSPOSE), STK_TORCH_INT_LIST(g.none, 2),
        STK_TORCH_I(op->spec.groups));
    stk__torch_take_picture(&s, io->y, &op->form.output, y);
    return stk__torch_end(&s);
}

/* Which gradients are wanted: of x, the weight, the bias. */
static int64_t wanted_of(const stk__op *op, const stk__op_io *io)
{
    int64_t wanted = stk__torch_at(io->dx, 0) ? 1 : 0;
    if (stk__torch_at(io->dparam, 0)) wanted |= 2;
    if (!op->spec.no_bias && stk__torch_at(io->dparam, 1)) wanted |= 4;
    return wanted;
}

enum { WIDE = 32 };

/* Below AVX-512 oneDNN takes up to 2.5 times as long for weights' gradients of wide layers on pictures [n h w
 * c] as on planes [n c h w] (bench/torch_planes.py). So it is given planes; for the rest pictures are better,
 * or as good. */
static bool learns_by_planes(const stk__op *op)
{
    const stk__op_spec *spec = &op->spec;
    return spec->kind == STK_OP_CONV && !spec->half && spec->groups == 1 &&
           spec->kernel[0] * spec->kernel[1] > 1 && spec->channels >= WIDE && spec->input[0].dim[3] >= WIDE &&
           op->engine->level < STK_CPU_AVX512 && !sees_one_window(op) &&
           stk__torch_device_is_host(&stk__torch_of(op->engine)->device);
}

/* scratch: pixels that are gathered; or planes of x and, behind them, of dy. */
static stk__op_needs conv_needs(const stk__op *op)
{
    const stk__shape gathered = stk__conv_gathered(op);
    stk__op_needs needs = {0};
    if (stk__conv_must_gather(&op->spec))
        stk__torch_reserve(&needs.scratch_bytes, (size_t)stk__shape_count(&gathered) * sizeof(float));
    if (learns_by_planes(op)) {
        stk__torch_reserve(&needs.scratch_bytes,
                           (size_t)stk__shape_count(&op->spec.input[0]) * sizeof(float));
        stk__torch_reserve(&needs.scratch_bytes, (size_t)stk__shape_count(&op->form.output) * sizeof(float));
    }
    return needs;
}

/* Pictures as planes, in scratch at *offset, which moves on. Matrix by matrix: PyTorch turns those in blocks.
 */
static stk__torch_handle turn_planes(stk__torch_scope *s, const stk__tensor *tensor, const stk__shape *shape,
                                     const stk__tensor *scratch, size_t *offset)
{
    const int64_t n = shape->dim[0], area = shape->dim[1] * shape->dim[2], c = shape->dim[3];
    const int32_t f32 = stk__torch_dtype(s, STK_DTYPE_F32);
    const size_t at = stk__torch_reserve(offset, (size_t)(n * area * c) * sizeof(float));
    const stk__torch_form all = {.ndim = 4,
                                 .size = {n, c, shape->dim[1], shape->dim[2]},
                                 .stride = {c * area, area, shape->dim[2], 1},
                                 .dtype = f32};
    stk__torch_form from = {.ndim = 2, .size = {c, area}, .stride = {1, c}, .dtype = f32};
    stk__torch_form to = {.ndim = 2, .size = {c, area}, .stride = {area, 1}, .dtype = f32};
    for (int64_t i = 0; i < n; i++) {
        const int mark = s->count;
        from.offset = to.offset = i * area * c;
        stk__torch_copy(s, stk__torch_part(s, scratch, at, &to), stk__torch_view(s, tensor, &from));
        stk__torch_release(s, mark);
    }
    return stk__torch_part(s, scratch, at, &all);
}

/* Along one axis: the first output place that does not lie in the padding, and how many there are. */
static int64_t first_inside(const stk__op_spec *spec, int axis)
{
    return (spec->pad[axis] + spec->stride[axis] - 1) / spec->stride[axis];
}

static int64_t count_inside(const stk__op *op, int axis)
{
    const stk__op_spec *spec = &op->spec;
    const int64_t last = (spec->input[0].dim[1 + axis] - 1 + spec->pad[axis]) / spec->stride[axis];
    const int64_t end = last + 1 < op->form.output.dim[1 + axis] ? last + 1 : op->form.output.dim[1 + axis];
    return end > first_inside(spec, axis) ? end - first_inside(spec, axis) : 0;
}

/* Every stride-th pixel of x into scratch, [n h w c]; padding is 0. */
static stk__torch_handle gather_pixels(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const stk__op_spec *spec = &op->spec;
    const int64_t *x = spec->input[0].dim, c = x[3], *y = op->form.output.dim;
    const int64_t h = count_inside(op, 0), w = count_inside(op, 1);
    const int64_t top = first_inside(spec, 0), left = first_inside(spec, 1);
    const int32_t f32 = s->engine->api->aoti_torch_dtype_float32();
    const stk__torch_form from = {
        .ndim = 4,
        .size = {x[0], h, w, c},
        .stride = {x[1] * x[2] * c, spec->stride[0] * x[2] * c, spec->stride[1] * c, 1},
        .offset = ((top * spec->stride[0] - spec->pad[0]) * x[2] + left * spec->stride[1] - spec->pad[1]) * c,
        .dtype = f32};
    const stk__torch_form to = {.ndim = 4,
                                .size = {x[0], h, w, c},
                                .stride = {y[1] * y[2] * c, y[2] * c, c, 1},
                                .offset = (top * y[2] + left) * c,
                                .dtype = f32};
    const stk__torch_form whole = {
        .ndim = 4, .size = {y[0], c, y[1], y[2]}, .stride = {y[1] * y[2] * c, 1, y[2] * c, c}, .dtype = f32};
    const stk__torch_handle pixels = stk__torch_part(s, io->scratch, 0, &whole);
    STK_TORCH_RUN(s, "aten::zero_", "", STK_TORCH_T(pixels));
    if (h && w)
        stk__torch_copy(s, stk__torch_part(s, io->scratch, 0, &to), stk__torch_view(s, io->x[0], &from));
    return pixels;
}

/* What a backward pass is computed from. */
typedef struct factors {
    stk__torch_handle dy, x, weight;
    bool planes; /* the weight's gradient will lie densely, not as the weight does */
} factors;

/* Bits of wanted: x, weight, bias. */
static void back_through(stk__torch_scope *s, const stk__op *op, const stk__op_io *io, const factors *f,
                         const geometry *g, int64_t wanted)
{
    stk__torch_request *request = STK_TORCH_REQUEST(
        "aten::convolution_backward", "", 3, STK_TORCH_T(f->dy), STK_TORCH_T(f->x), STK_TORCH_T(f->weight),
        STK_TORCH_SOME_INT_LIST(&g->channels, 1), STK_TORCH_INT_LIST(g->stride, 2),
        STK_TORCH_INT_LIST(g->pad, 2), STK_TORCH_INT_LIST(g->dilation, 2),
        STK_TORCH_I(op->spec.kind == STK_OP_CONV_TRANSPOSE), STK_TORCH_INT_LIST(g->none, 2),
        STK_TORCH_I(op->spec.groups), STK_TORCH_BITS(wanted, 3));
    if (wanted & 1) stk__torch_expect(io->dx[0]);
    if (!f->planes) stk__torch_expect_learned(io, wanted);
    stk__torch_call(s, request);
    if (wanted & 1)
        stk__torch_take_picture(s, io->dx[0], &op->spec.input[0], fit_window(s, op, request->result[0], -1));
    if (wanted & 2) stk__torch_learn_own(s, io, 0, request->result[1]);
    if (wanted & 4) stk__torch_learn_own(s, io, 1, request->result[2]);
}

/* Gradients of weight and bias alone. Of the weight only the shape counts: it is shown as if it lay densely,
 * or PyTorch would go back to pictures. */
static void learn_by_planes(stk__torch_scope *s, const stk__op *op, const stk__op_io *io, const geometry *g,
                            int64_t wanted)
{
    size_t offset = 0;
    const factors planes = {.x = turn_planes(s, io->x[0], &op->spec.input[0], io->scratch, &offset),
                            .dy = turn_planes(s, io->dy, &op->form.output, io->scratch, &offset),
                            .weight = stk__torch_shaped(s, io->param[0], &io->param[0]->desc.shape),
                            .planes = true};
    back_through(s, op, io, &planes, g, wanted);
}

static void learn_gathered(stk__torch_scope *s, const stk__op *op, const stk__op_io *io, int64_t wanted)
{
    const geometry plain = {.stride = {1, 1}, .dilation = {1, 1}, .channels = op->spec.channels};
    const factors gathered = {.x = gather_pixels(s, op, io),
                              .dy = picture_of(s, op, io->dy, &op->form.output),
                              .weight = weight_of(s, op, io->param[0])};
    back_through(s, op, io, &gathered, &plain, wanted);
}

static stk_status conv_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const geometry g = geometry_of(op);
    int64_t wanted = wanted_of(op, io);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    if (wanted & 2 && stk__conv_must_gather(&op->spec)) {
        learn_gathered(&s, op, io, wanted & 6);
        wanted &= 1;
    } else if (wanted & 2 && learns_by_planes(op)) {
        learn_by_planes(&s, op, io, &g, wanted & 6);
        wanted &= 1;
    }
    if (!wanted) return stk__torch_end(&s);
    /* For dx alone x may not be read, but PyTorch asks for its shape: dx has that, too. */
    const stk__torch_handle x = picture_of(&s, op, wanted & 6 ? io->x[0] : io->dx[0], &op->spec.input[0]);
    const factors pictures = {.x = fit_window(&s, op, x, 1),
                              .dy = picture_of(&s, op, io->dy, &op->form.output),
                              .weight = weight_of(&s, op, io->param[0])};
    back_through(&s, op, io, &pictures, &g, wanted);
    return stk__torch_end(&s);
}

static int64_t features_of(const stk__op *op)
{
    return op->spec.input[0].dim[op->spec.input[0].ndim - 1];
}

static stk__torch_handle rows_of(stk__torch_scope *s, const stk__op *op, const stk__tensor *tensor, int64_t c)
{
    return stk__torch_factor(s, op, stk__torch_rows(s, tensor, c), tensor->desc.dtype);
}

static stk_status linear_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle x = rows_of(&s, op, io->x[0], features_of(op)),
                            weight = weight_of(&s, op, io->param[0]),
                            bias = weight_of(&s, op, bias_of(op, io)),
                            y = stk__torch_rows(&s, io->y, op->spec.channels);
    if (is_own_type(op, io->y))
        STK_TORCH_RUN(&s, "aten::linear", "out", STK_TORCH_T(x), STK_TORCH_T(weight),
                      STK_TORCH_T_OR_NONE(bias), STK_TORCH_T(y));
    else
        stk__torch_copy(&s, y,
                        STK_TORCH_RUN(&s, "aten::linear", "", STK_TORCH_T(x), STK_TORCH_T(weight),
                                      STK_TORCH_T_OR_NONE(bias)));
    return stk__torch_end(&s);
}

/* dweight [channels, in] = dy' x */
static void learn_linear(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const int64_t channels = op->spec.channels;
    const int64_t rows = stk__shape_count(&op->form.output) / channels;
    stk__torch_form turned = {.ndim = 2,
                              .size = {channels, rows},
                              .stride = {1, channels},
                              .dtype = stk__torch_dtype(s, io->dy->desc.dtype)};
    const stk__torch_handle dy =
        stk__torch_factor(s, op, stk__torch_view(s, io->dy, &turned), io->dy->desc.dtype);
    const stk__torch_handle x = rows_of(s, op, io->x[0], features_of(op));
    stk__torch_expect_learned(io, 2);
    const stk__torch_handle gradient = STK_TORCH_RUN(s, "aten::mm", "", STK_TORCH_T(dy), STK_TORCH_T(x));
    stk__torch_learn_own(s, io, 0, gradient);
}

/* dx [rows in] = dy weight */
static void send_back(stk__torch_scope *s, const stk__op *op, const stk__op_io *io, stk__torch_handle dy)
{
    const stk__torch_handle dx = stk__torch_rows(s, io->dx[0], features_of(op)),
                            weight = weight_of(s, op, io->param[0]);
    if (is_own_type(op, io->dx[0]))
        STK_TORCH_RUN(s, "aten::mm", "out", STK_TORCH_T(dy), STK_TORCH_T(weight), STK_TORCH_T(dx));
    else
        stk__torch_copy(s, dx, STK_TORCH_RUN(s, "aten::mm", "", STK_TORCH_T(dy), STK_TORCH_T(weight)));
}

static stk_status linear_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t wanted = wanted_of(op, io);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle dy = rows_of(&s, op, io->dy, op->spec.channels);
    if (wanted & 1) send_back(&s, op, io, dy);
    if (wanted & 2) learn_linear(&s, op, io);
    if (wanted & 4) stk__torch_expect_learned(io, 4);
    if (wanted & 4)
        stk__torch_learn_own(&s, io, 1,
                             STK_TORCH_RUN(&s, "aten::sum", "dim_IntList", STK_TORCH_T(dy),
                                           STK_TORCH_SOME_INT_LIST(&(int64_t){0}, 1), STK_TORCH_I(false),
                                           STK_TORCH_SOME_I(stk__torch_dtype(&s, STK_DTYPE_F32))));
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_conv = {conv_forward, conv_backward, conv_needs};
const stk__torch_op_kind stk__torch_linear = {linear_forward, linear_backward, NULL};
