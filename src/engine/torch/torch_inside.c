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

static size_t inside_bytes(const stk__op *op)
{
    const stk__shape *x = &op->spec.input[0];
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

size_t stk__torch_inside_bytes(const stk__op *op)
{
    return inside_bytes(op) + SMALL_BYTES;
}
