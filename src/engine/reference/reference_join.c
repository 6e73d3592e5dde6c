/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of several inputs: add and concat. */
#include "engine/reference/reference.h"

#include <string.h>

static void add_forward(const stk__op *op, const stk__op_io *io)
{
    const float *a = stk__reference_f32(io->x[0]), *b = stk__reference_f32(io->x[1]);
    float *y = stk__reference_f32(io->y);
    for (int64_t i = 0, count = stk__shape_count(&op->form.output); i < count; i++)
        y[i] = op->spec.relu && a[i] + b[i] < 0 ? 0 : a[i] + b[i];
}

static void add_backward(const stk__op *op, const stk__op_io *io)
{
    const float *y = stk__reference_f32(io->y), *dy = stk__reference_f32(io->dy);
    for (int64_t i = 0, count = stk__shape_count(&op->form.output); i < count; i++) {
        const float slope = op->spec.relu && !(y[i] > 0) ? 0 : dy[i]; /* dx[0] may lie there */
        for (int k = 0; k < 2; k++)
            if (stk__reference_dx(io, k)) stk__reference_dx(io, k)[i] = slope;
    }
}

static void concat_forward(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows out = stk__reference_split(&op->form.output);
    float *y = stk__reference_f32(io->y);
    for (int64_t row = 0, start = 0; row < out.rows; row++)
        for (int i = 0; i < op->spec.inputs; i++) {
            const int64_t length = stk__reference_split(&op->spec.input[i]).c;
            memcpy(y + start, stk__reference_f32(io->x[i]) + row * length, (size_t)length * sizeof *y);
            start += length;
        }
}

static void concat_backward(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows out = stk__reference_split(&op->form.output);
    const float *dy = stk__reference_f32(io->dy);
    for (int64_t row = 0, start = 0; row < out.rows; row++)
        for (int i = 0; i < op->spec.inputs; i++) {
            const int64_t length = stk__reference_split(&op->spec.input[i]).c;
            float *dx = stk__reference_dx(io, i);
            if (dx) memcpy(dx + row * length, dy + start, (size_t)length * sizeof *dy);
            start += length;
        }
}

const stk__reference_kernel stk__reference_add = {add_forward, add_backward, NULL};
const stk__reference_kernel stk__reference_concat = {concat_forward, concat_backward, NULL};
