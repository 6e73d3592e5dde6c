/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's operators allocate for themselves on CPUs while they compute one of our operations, at most,
 * so that it can be planned. As the allocator saw it (stk__torch_place_most); whole runs are checked by
 * tests/train/plan_check.py. oneDNN copies weights into an order of its own, forward once, backward twice,
 * and once more before it is known where their gradient comes to lie; losses and metrics keep some numbers
 * for each row. No threads. */
#include "engine/torch/torch_engine.h"

#include "core/align.h"

enum {
    BLOCK = 16,           /* channels of oneDNN's blocks */
    WEIGHT_COPIES = 3,    /* at a time */
    ENTROPY_ROW = 96,     /* bytes of a row: two targets, their classes and what they count */
    CONFUSION_ROW = 64,   /* … prediction, truth, whether it counts */
    LARGEST_ROW = 16,     /* bytes of a value, where rows are sorted */
    SMALL_BYTES = 1 << 16 /* what nobody counts */
};

static size_t bytes_of(const stk__shape *shape)
{
    return (size_t)stk__shape_count(shape) * sizeof(float);
}

/* Weights [o i h w] in oneDNN's blocks. */
static size_t blocked_bytes(const stk__op *op)
{
    const int64_t *dim = op->form.param[0].shape.dim;
    return stk__align_up((size_t)dim[0], BLOCK) * stk__align_up((size_t)dim[1], BLOCK) *
           (size_t)(dim[2] * dim[3]) * sizeof(float);
}

static size_t rows_of(const stk__op *op)
{
    return (size_t)(stk__shape_count(&op->spec.input[0]) / (op->spec.classes ? op->spec.classes : 1));
}

static size_t entropy_bytes(const stk__op *op)
{
    const size_t rows = rows_of(op),
                 weighted = op->spec.label_smoothing > 0 ? bytes_of(&op->spec.input[0]) : 0;
    return rows * ENTROPY_ROW + weighted;
}

static bool convolves(const stk__op *op)
{
    return op->spec.kind == STK_OP_CONV || op->spec.kind == STK_OP_CONV_TRANSPOSE;
}

/* PyTorch's own rule in float32 (at::native::ConvParams::use_mkldnn): small pictures one by one, and 1x1
 * kernels on one thread, are not worth the way to oneDNN. */
static bool is_onednns(const stk__op *op)
{
    enum { SMALL_VALUES = 20480, LARGE_KERNEL = 4, SAMPLES = 16 };
    const stk__op_spec *s = &op->spec;
    const int64_t n = s->input[0].dim[0];
    const bool strided = s->stride[0] > 1 || s->stride[1] > 1 || s->dilation[0] > 1 || s->dilation[1] > 1,
               wide = s->kernel[0] != 1 || s->kernel[1] != 1,
               large = s->kernel[0] >= LARGE_KERNEL && s->kernel[1] >= LARGE_KERNEL;
    if (s->half) return true; /* others are widened (torch.c) */
    return (strided || n >= SAMPLES || wide || op->engine->info.threads > 1) &&
           (s->groups > 1 || large || n > 1 || stk__shape_count(&s->input[0]) > SMALL_VALUES);
}

/* Without oneDNN: the inputs of each output pixel side by side, forward and for a gradient; of 1x1 kernels
 * they are x itself. */
static size_t columns_bytes(const stk__op *op)
{
    const stk__shape *x = &op->spec.input[0], *y = &op->form.output;
    const stk__shape *small = op->spec.kind == STK_OP_CONV ? y : x,
                     *deep = op->spec.kind == STK_OP_CONV ? x : y;
    const int64_t pixels = small->dim[0] * small->dim[1] * small->dim[2],
                  window = deep->dim[3] * op->spec.kernel[0] * op->spec.kernel[1];
    return window == deep->dim[3] ? 0 : (size_t)(2 * pixels * window) * sizeof(float);
}

static size_t inside_bytes(const stk__op *op)
{
    const stk__shape *x = &op->spec.input[0];
    if (convolves(op) && !is_onednns(op)) return columns_bytes(op);
    switch (op->spec.kind) {
    case STK_OP_CONV:
        return WEIGHT_COPIES * blocked_bytes(op);
    case STK_OP_CONV_TRANSPOSE:
        return WEIGHT_COPIES * blocked_bytes(op) + bytes_of(x) / 3;
    case STK_OP_LINEAR:
        return bytes_of(&op->form.param[0].shape);
    case STK_OP_LSTM:
        return (size_t)(8 * x->dim[0] * op->spec.hidden) * sizeof(float);
    case STK_OP_CROSS_ENTROPY:
        return entropy_bytes(op);
    case STK_OP_CONFUSION:
        return bytes_of(x) + rows_of(op) * CONFUSION_ROW;
    case STK_OP_TOP_K:
        return rows_of(op) * CONFUSION_ROW + (size_t)stk__shape_count(x) * LARGEST_ROW;
    case STK_OP_BCE:
    case STK_OP_LABEL_HITS:
        return (size_t)stk__shape_count(x) * LARGEST_ROW * 2;
    case STK_OP_POINTS:
    case STK_OP_POINT_ERROR:
        return bytes_of(x);
    default:
        return 0;
    }
}

/* Gradients that are added to others come to lie beside them first. */
static size_t gradient_bytes(const stk__op *op)
{
    return stk__op_is_product(op->spec.kind) ? bytes_of(&op->form.param[0].shape) : 0;
}

void stk__torch_plan_inside(stk__op *op)
{
    op->needs.inside_bytes = inside_bytes(op) + SMALL_BYTES;
    op->needs.adding_bytes = op->needs.inside_bytes + gradient_bytes(op);
    op->needs.generates = convolves(op) && is_onednns(op);
}
