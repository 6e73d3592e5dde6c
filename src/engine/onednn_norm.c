/* Batch norm by oneDNN; the running statistics are ours, as PyTorch keeps them. */
#include "core/memory.h"
#include "engine/onednn_parts.h"

#include <math.h>
#include <string.h>

enum { BATCH, GIVEN, MODES }; /* statistics of the batch (training), or the running ones (evaluation) */

typedef struct norm {
    stk__dnn_step forward[MODES], backward[MODES];
    int64_t rows, c;
    size_t variance;                  /* saved: after the mean */
    size_t dscale, dshift, sums;      /* scratch */
    size_t forward_pad, backward_pad; /* scratch: oneDNN's own */
} norm;

static void plan_memory(stk__op *op, norm *own)
{
    const size_t channel_bytes = (size_t)own->c * sizeof(float);
    size_t forward = 0, backward = 0, pad[2] = {0};
    for (int mode = 0; mode < MODES; mode++) {
        const stk__dnn_step *steps[] = {&own->forward[mode], &own->backward[mode]};
        for (int i = 0; i < 2; i++)
            if (steps[i]->size_bytes[STK_DNN_SCRATCHPAD] > pad[i])
                pad[i] = steps[i]->size_bytes[STK_DNN_SCRATCHPAD];
    }
    stk__onednn_reserve(&op->needs.saved_bytes, channel_bytes);
    own->variance = stk__onednn_reserve(&op->needs.saved_bytes, channel_bytes);
    own->forward_pad = stk__onednn_reserve(&forward, pad[0]);
    own->dscale = stk__onednn_reserve(&backward, channel_bytes);
    own->dshift = stk__onednn_reserve(&backward, channel_bytes);
    own->sums = stk__onednn_reserve(&backward, 2 * (size_t)own->c * sizeof(double));
    own->backward_pad = stk__onednn_reserve(&backward, pad[1]);
    op->needs.scratch_bytes = forward > backward ? forward : backward;
}

static stk_status create(stk__op *op, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    norm *own = op->own = stk__alloc(sizeof *own);
    if (!own) return stk__fail_memory(error, sizeof *own, "a layer");
    own->c = op->form.param[0].shape.dim[0];
    own->rows = stk__shape_count(&op->form.output) / own->c;
    stk__dnn_layer layer = {.src = stk__onednn_picture(&op->form.output), .eps = op->spec.eps};
    for (int mode = 0; mode < MODES; mode++) {
        stk__dnn_step *forward = &own->forward[mode];
        layer.kind = mode == BATCH ? STK_DNN_NORM : STK_DNN_NORM_GIVEN;
        STK__TRY(stk__dnn_step_create(dnn, &layer, STK_DNN_FORWARD, NULL, forward, error));
        STK__TRY(stk__dnn_step_create(dnn, &layer, STK_DNN_BACKWARD, forward, &own->backward[mode], error));
    }
    plan_memory(op, own);
    return STK_OK;
}

static void destroy(stk__op *op)
{
    norm *own = op->own;
    for (int mode = 0; mode < MODES; mode++) {
        stk__dnn_step_fini(stk__dnn_of(op), &own->forward[mode]);
        stk__dnn_step_fini(stk__dnn_of(op), &own->backward[mode]);
    }
}

static const float *mean_of(const stk__op_io *io)
{
    return io->training ? stk__floats(io->saved) : stk__floats(io->buffer[0]);
}

static const float *variance_of(const norm *own, const stk__op_io *io)
{
    return io->training ? stk__onednn_at(io->saved, own->variance) : stk__floats(io->buffer[1]);
}

static void track(const stk__op *op, const stk__op_io *io)
{
    const norm *own = op->own;
    const float *mean = mean_of(io), *variance = variance_of(own, io);
    float *running_mean = stk__floats(io->buffer[0]), *running_var = stk__floats(io->buffer[1]);
    const double momentum = op->spec.momentum, rows = (double)own->rows;
    const double unbiased = own->rows > 1 ? rows / (rows - 1) : 1;
    for (int64_t i = 0; i < own->c; i++) {
        running_mean[i] = (float)((1 - momentum) * running_mean[i] + momentum * mean[i]);
        running_var[i] = (float)((1 - momentum) * running_var[i] + momentum * unbiased * variance[i]);
    }
    ++*(int64_t *)io->buffer[2]->memory;
}

static void set_common(stk__op *op, const stk__op_io *io, stk__dnn_step *step, size_t pad)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    stk__dnn_step_set(dnn, step, STK_DNN_SRC, stk__floats(io->x[0]));
    stk__dnn_step_set(dnn, step, STK_DNN_MEAN, mean_of(io));
    stk__dnn_step_set(dnn, step, STK_DNN_VARIANCE, variance_of(op->own, io));
    stk__dnn_step_set(dnn, step, STK_DNN_SCALE, stk__floats(io->param[0]));
    stk__dnn_step_set(dnn, step, STK_DNN_SCRATCHPAD, stk__onednn_at(io->scratch, pad));
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    norm *own = op->own;
    stk__dnn_step *step = &own->forward[io->training ? BATCH : GIVEN];
    set_common(op, io, step, own->forward_pad);
    stk__dnn_step_set(dnn, step, STK_DNN_SHIFT, stk__floats(io->param[1]));
    stk__dnn_step_set(dnn, step, STK_DNN_DST, stk__floats(io->y));
    STK__TRY(stk__dnn_step_run(dnn, step, error));
    if (io->training && !io->again) track(op, io);
    return STK_OK;
}

/* Hands what was made in scratch to those who want it. */
static void deliver(const stk__op *op, const stk__op_io *io)
{
    const norm *own = op->own;
    const size_t made[] = {own->dscale, own->dshift};
    for (int i = 0; i < 2; i++) {
        float *target = stk__floats_at(io->dparam, i);
        const float *source = stk__onednn_at(io->scratch, made[i]);
        for (int64_t k = 0; target && k < own->c; k++)
            target[k] = io->add_dparam ? target[k] + source[k] : source[k];
    }
}

/* When nobody wants dx, which oneDNN would write. */
static void sum_params(const stk__op *op, const stk__op_io *io)
{
    const norm *own = op->own;
    const int64_t c = own->c;
    double *dshift = stk__onednn_at(io->scratch, own->sums), *dscale = dshift + c;
    const float *x = stk__floats(io->x[0]), *dy = stk__floats(io->dy);
    const float *mean = mean_of(io), *variance = variance_of(own, io);
    memset(dshift, 0, 2 * (size_t)c * sizeof *dshift);
    for (int64_t row = 0; row < own->rows; row++, x += c, dy += c)
        for (int64_t k = 0; k < c; k++) {
            dshift[k] += (double)dy[k];
            dscale[k] += (double)dy[k] * ((double)x[k] - (double)mean[k]);
        }
    float *made_scale = stk__onednn_at(io->scratch, own->dscale);
    float *made_shift = stk__onednn_at(io->scratch, own->dshift);
    for (int64_t k = 0; k < c; k++) {
        made_shift[k] = (float)dshift[k];
        made_scale[k] = (float)(dscale[k] / sqrt((double)variance[k] + op->spec.eps));
    }
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__dnn *dnn = stk__dnn_of(op);
    norm *own = op->own;
    if (!stk__floats_at(io->dx, 0)) {
        sum_params(op, io);
        deliver(op, io);
        return STK_OK;
    }
    stk__dnn_step *step = &own->backward[io->training ? BATCH : GIVEN];
    set_common(op, io, step, own->backward_pad);
    stk__dnn_step_set(dnn, step, STK_DNN_DIFF_DST, stk__floats(io->dy));
    stk__dnn_step_set(dnn, step, STK_DNN_DIFF_SRC, stk__floats(io->dx[0]));
    stk__dnn_step_set(dnn, step, STK_DNN_DIFF_SCALE, stk__onednn_at(io->scratch, own->dscale));
    stk__dnn_step_set(dnn, step, STK_DNN_DIFF_SHIFT, stk__onednn_at(io->scratch, own->dshift));
    STK__TRY(stk__dnn_step_run(dnn, step, error));
    deliver(op, io);
    return STK_OK;
}

const stk__onednn_kind stk__onednn_norm = {create, destroy, forward, backward};
