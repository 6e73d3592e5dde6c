/* SPDX-License-Identifier: Apache-2.0 */
/* Initial weights: uniform in +-1/sqrt(fan_in) or a constant, as the operation's parameter says; drawn by
 * Philox from (seed, tensor, index), in pieces on all threads of the pool, with the same values for any
 * number of threads. */
#include "train/model_start.h"

#include "core/pool.h"
#include "core/random.h"

#include <math.h>

/* A tensor is drawn in pieces by all threads, as starting takes no longer than it must. */
enum { PIECE = 1 << 16 };

typedef struct drawing {
    float *data;
    int64_t count;
    double bound;
    stk__random_at at;
} drawing;

static void draw_piece(void *context, size_t item, int worker)
{
    (void)worker;
    const drawing *d = context;
    stk__random_at at = d->at;
    const int64_t first = (int64_t)item * PIECE;
    const int64_t end = first + PIECE < d->count ? first + PIECE : d->count;
    for (int64_t i = first; i < end; i += 4) {
        at.draw = (uint32_t)(i / 4);
        const stk__random random = stk__random_draw(at);
        for (int64_t k = i; k < end && k < i + 4; k++)
            d->data[k] = (float)((2.0 * stk__random_unit(random.word[k - i]) - 1.0) * d->bound);
    }
}

static void draw_uniform(const stk__op_param *origin, float *data, stk__random_at at)
{
    const int64_t count = stk__shape_count(&origin->shape);
    drawing d = {data, count, 1.0 / sqrt((double)origin->fan_in), at};
    const size_t pieces = (size_t)((count + PIECE - 1) / PIECE);
    if (pieces == 1)
        draw_piece(&d, 0, 0);
    else
        stk__pool_run(&(stk__pool_job){.run = draw_piece, .context = &d, .count = pieces});
}

static void fill(const stk__op_param *origin, const stk_tensor *view)
{
    const int64_t count = stk__shape_count(&origin->shape);
    for (int64_t i = 0; i < count; i++)
        if (origin->dtype == STK_DTYPE_I64)
            ((int64_t *)view->data)[i] = (int64_t)origin->fill;
        else
            ((float *)view->data)[i] = origin->fill;
}

static stk_status start_tensor(stk__model_tensor *tensor, stk__random_at at, stk_error *error)
{
    const stk__op_param *origin = &tensor->origin;
    stk_tensor view;
    STK__TRY(stk__tensor_map(tensor->value, &view, error));
    if (origin->fan_in)
        draw_uniform(origin, view.data, at);
    else
        fill(origin, &view);
    STK__TRY(stk__tensor_unmap(tensor->value, &view, true, error));
    return tensor->average ? stk__tensor_copy(tensor->average, tensor->value, error) : STK_OK;
}

stk_status stk__model_start(stk__model *model, uint64_t seed, stk_error *error)
{
    for (int i = 0; i < model->count; i++) {
        const stk__random_at at = {.seed = seed, .sample = (uint32_t)i, .operation = STK_OPERATION_WEIGHTS};
        STK__TRY(start_tensor(&model->tensors[i], at, error));
    }
    return STK_OK;
}
