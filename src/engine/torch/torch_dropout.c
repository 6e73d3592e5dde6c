/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout: a product with factors, 0 or scale, which are drawn by the formula of all engines. On a GPU the
 * kernel stk_dropout draws them, from sample ids, seed and epoch in its memory, so that a CUDA graph draws
 * again at each launch; else the host does, and they are copied. */
#include "core/logger.h"
#include "engine/dropout.h"
#include "engine/torch/torch_call.h"

/* scratch: what each value is multiplied by, f32. */
static stk__op_needs dropout_needs(const stk__op *op)
{
    return (stk__op_needs){.scratch_bytes = (size_t)stk__shape_count(&op->form.output) * sizeof(float)};
}

/* --- on the host -----------------------------------------------------------------------------------------
 */

static void draw_factors(const stk__op *op, const stk__op_io *io, const int64_t *ids, float *factors)
{
    const int64_t n = op->spec.input[0].dim[0], length = stk__shape_count(&op->spec.input[0]) / n;
    const stk__dropout dropout = stk__dropout_make(op->spec.drop, io->seed, io->epoch, op->spec.random_layer);
    stk__random draw = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int64_t element = 0; element < length; element++) {
            if (element % 4 == 0) draw = stk__dropout_draw(&dropout, ids[i], (uint32_t)(element / 4));
            *factors++ = stk__dropout_factor(&dropout, draw.word[element % 4]);
        }
}

static stk_status put_factors(const stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk_tensor ids, factors;
    stk__tensor *source = (stk__tensor *)io->sample_ids;
    STK__TRY(stk__tensor_map(source, &ids, error));
    stk_status status = stk__tensor_map_new(io->scratch, &factors, error);
    if (status == STK_OK) {
        draw_factors(op, io, ids.data, factors.data);
        status = stk__tensor_unmap(io->scratch, &factors, true, error);
    }
    const stk_status put_back = stk__tensor_unmap(source, &ids, false, error);
    return status == STK_OK ? put_back : status;
}

/* --- on the GPU ------------------------------------------------------------------------------------------
 */

static stk_status make_numbers(stk__torch *engine, stk_error *error)
{
    const stk__tensor_desc desc = {.shape = {1, {2}}, .dtype = STK_DTYPE_I64};
    stk__torch_draws *draws = &engine->draws;
    STK__TRY(
        stk__arena_create(&engine->front, stk__tensor_size(&engine->front, &desc), &draws->arena, error));
    return stk__tensor_create(&engine->front, &desc, draws->arena, 0, &draws->numbers, error);
}

void stk__torch_draws_open(stk__engine *front)
{
    stk__torch *engine = stk__torch_of(front);
    stk_error error = {0};
    if (stk__torch_device_is_host(&engine->device) || engine->draws.tried) return;
    engine->draws.tried = true;
    front->info.draws = stk__torch_cuda_build(engine->device.cuda, &error) == STK_OK &&
                        make_numbers(engine, &error) == STK_OK;
    if (!front->info.draws)
        stk__log(STK_LOG_WARNING, "dropout masks are generated on the host, which is slower: %s",
                 error.message);
}

void stk__torch_draws_close(stk__torch_draws *draws)
{
    stk__tensor_destroy(&draws->numbers);
    stk__arena_destroy(&draws->arena);
}

/* Seed and epoch, if they are not there already: not while a graph is captured. */
static stk_status put_numbers(stk__torch_draws *draws, const stk__op_io *io, stk_error *error)
{
    stk_tensor view;
    if (draws->known && draws->seed == io->seed && draws->epoch == io->epoch) return STK_OK;
    STK__TRY(stk__tensor_map_new(draws->numbers, &view, error));
    draws->known = false;
    ((int64_t *)view.data)[0] = (int64_t)io->seed;
    ((int64_t *)view.data)[1] = io->epoch;
    STK__TRY(stk__tensor_unmap(draws->numbers, &view, true, error));
    draws->seed = io->seed;
    draws->epoch = io->epoch;
    draws->known = true;
    return STK_OK;
}

static stk_status launch(const stk__op *op, const stk__op_io *io, stk_error *error)
{
    enum { MOST_ROWS = 65535 }; /* of a launch */
    stk__torch *engine = stk__torch_of(op->engine);
    const int64_t n = op->spec.input[0].dim[0], length = stk__shape_count(&op->spec.input[0]) / n;
    const stk__dropout dropout = stk__dropout_make(op->spec.drop, io->seed, io->epoch, op->spec.random_layer);
    STK__TRY(put_numbers(&engine->draws, io, error));
    const stk__kernel_dropout_work work = {.samples = (uint32_t)n,
                                           .rows = n < MOST_ROWS ? (uint32_t)n : MOST_ROWS,
                                           .length = (uint32_t)length,
                                           .operation = (uint32_t)STK_OPERATION_DROPOUT + dropout.layer,
                                           .threshold = dropout.threshold,
                                           .scale = dropout.scale,
                                           .ids = io->sample_ids->memory,
                                           .numbers = engine->draws.numbers->memory,
                                           .factors = io->scratch->memory};
    const uint32_t columns = (uint32_t)((length + STK_KERNEL_DROPOUT_VALUES - 1) / STK_KERNEL_DROPOUT_VALUES);
    stk__cuda *driver = &engine->device.cuda->driver;
    STK__TRY(stk__cuda_enter(driver, error));
    const stk_status status =
        stk__cuda_launch(driver, driver->dropout, (const uint32_t[]){columns, work.rows, 1}, &work, error);
    stk__cuda_leave(driver);
    return status;
}

/* --- both ------------------------------------------------------------------------------------------------
 */

static stk_status draw(const stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t n = op->spec.input[0].dim[0], count = stk__shape_count(&op->spec.input[0]);
    const bool on_gpu =
        op->engine->info.draws && !io->sample_ids->on_host && n <= UINT32_MAX && count / n <= UINT32_MAX;
    return on_gpu ? launch(op, io, error) : put_factors(op, io, error);
}

/* to = from, or what the draws leave of it; both ways alike. */
static stk_status drop(stk__op *op, const stk__op_io *io, const stk__tensor *from, stk__tensor *to,
                       stk_error *error)
{
    if (io->training) STK__TRY(draw(op, io, error));
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__shape *shape = &op->form.output;
    const stk__torch_handle source = stk__torch_shaped(&s, from, shape),
                            target = stk__torch_shaped(&s, to, shape);
    const stk__torch_form form = stk__torch_dense_form(s.engine, STK_DTYPE_F32, shape);
    if (io->training)
        STK_TORCH_RUN(&s, "aten::mul", "out", STK_TORCH_T(source),
                      STK_TORCH_T(stk__torch_part(&s, io->scratch, 0, &form)), STK_TORCH_T(target));
    else if (from->memory != to->memory)
        stk__torch_copy(&s, target, source);
    return stk__torch_end(&s);
}

static stk_status dropout_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    return drop(op, io, io->x[0], io->y, error);
}

static stk_status dropout_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    return stk__torch_at(io->dx, 0) ? drop(op, io, io->dy, io->dx[0], error) : STK_OK;
}

const stk__torch_op_kind stk__torch_dropout = {dropout_forward, dropout_backward, dropout_needs};
