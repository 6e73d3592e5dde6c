/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that only move or scale values: add, relu, concat, affine, dropout. */
#include "engine/dropout.h"
#include "engine/onednn/onednn_engine.h"

#include <assert.h>
#include <string.h>

enum { GRAIN = 1 << 14 }; /* values a chunk */

typedef struct values_run {
    const stk__onednn_loops *loops;
    const float *a, *b;
    float *target;
    bool relu;
    const float *more; /* of a gradient; NULL: no second part */
} values_run;

static void add_values(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const values_run *run = context;
    run->loops->add(run->a + first, run->b + first, run->target + first, last - first, run->relu);
}

static void pass_values(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const values_run *run = context;
    if (run->more)
        run->loops->pass_relu_sum(run->a + first, run->b + first, run->more + first, run->target + first,
                                  last - first);
    else
        run->loops->pass_relu(run->a + first, run->b + first, run->target + first, last - first);
}

static stk_status create_add(stk__op *op, stk_error *error)
{
    (void)error;
    op->adds = op->spec.relu;
    return STK_OK;
}

static stk_status forward_add(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    values_run run = {stk__loops_of(op),  stk__floats(io->x[0]), stk__floats(io->x[1]),
                      stk__floats(io->y), op->spec.relu,         NULL};
    stk__onednn_loop(op->engine, stk__shape_count(&op->form.output), GRAIN, add_values, &run);
    return STK_OK;
}

static void pass_on(const stk__op *op, const stk__op_io *io, int i)
{
    float *dx = stk__floats_at(io->dx, i);
    const int64_t count = stk__shape_count(&op->form.output);
    values_run run = {stk__loops_of(op), stk__floats(io->y), stk__floats(io->dy), dx, false, NULL};
    if (op->adds) run.more = stk__floats(io->dy2);
    if (dx && op->spec.relu)
        stk__onednn_loop(op->engine, count, GRAIN, pass_values, &run);
    else if (dx)
        stk__onednn_copy(op->engine, dx, stk__floats(io->dy), (size_t)count * sizeof *dx);
}

static stk_status backward_add(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    pass_on(op, io, 1); /* first: dx[0] may lie in dy's memory */
    pass_on(op, io, 0);
    return STK_OK;
}

static void relu_values(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const values_run *run = context;
    run->loops->relu(run->a + first, run->target + first, last - first);
}

static stk_status forward_relu(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    values_run run = {.loops = stk__loops_of(op), .a = stk__floats(io->x[0]), .target = stk__floats(io->y)};
    stk__onednn_loop(op->engine, stk__shape_count(&op->form.output), GRAIN, relu_values, &run);
    return STK_OK;
}

static stk_status backward_relu(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    values_run run = {.loops = stk__loops_of(op),
                      .a = stk__floats(io->y),
                      .b = stk__floats(io->dy),
                      .target = stk__floats_at(io->dx, 0)};
    if (run.target)
        stk__onednn_loop(op->engine, stk__shape_count(&op->form.output), GRAIN, pass_values, &run);
    return STK_OK;
}

typedef struct concat_run {
    float *whole;               /* [rows width] */
    float *part[STK_OP_INPUTS]; /* [rows part_width]; NULL: not wanted */
    int64_t part_width[STK_OP_INPUTS], width;
    int parts;
    bool back;
} concat_run;

/* All parts of a row at once, so that the whole is read or written from one end to the other. */
static void concat_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const concat_run *run = context;
    float *whole = run->whole + first * run->width;
    for (int64_t row = first; row < last; row++)
        for (int i = 0; i < run->parts; i++) {
            const int64_t width = run->part_width[i];
            float *part = run->part[i] ? run->part[i] + row * width : NULL;
            if (part)
                memcpy(run->back ? part : whole, run->back ? whole : part, (size_t)width * sizeof *part);
            whole += width;
        }
}

static void concat(const stk__op *op, float *whole, stk__tensor *const *parts, bool back)
{
    const stk__shape *output = &op->form.output;
    const int last = output->ndim - 1;
    concat_run run = {.whole = whole, .width = output->dim[last], .parts = op->spec.inputs, .back = back};
    for (int i = 0; i < run.parts; i++) {
        run.part[i] = stk__floats_at(parts, i);
        run.part_width[i] = op->spec.input[i].dim[last];
    }
    stk__onednn_loop(op->engine, stk__shape_count(output) / run.width, 512, concat_rows, &run);
}

static stk_status forward_concat(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    concat(op, stk__floats(io->y), io->x, false);
    return STK_OK;
}

static stk_status backward_concat(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    concat(op, stk__floats(io->dy), io->dx, true);
    return STK_OK;
}

typedef struct affine_run {
    const float *source, *scale, *shift; /* shift NULL: 0 */
    float *target;
    int64_t c;
} affine_run;

static void affine_rows(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const affine_run *run = context;
    const int64_t c = run->c;
    for (int64_t row = first; row < last; row++) {
        const float *source = run->source + row * c;
        float *target = run->target + row * c;
        for (int64_t k = 0; k < c; k++)
            target[k] = source[k] * run->scale[k];
        for (int64_t k = 0; run->shift && k < c; k++)
            target[k] += run->shift[k];
    }
}

static void run_affine(const stk__op *op, affine_run *run)
{
    run->c = op->form.output.dim[op->form.output.ndim - 1];
    stk__onednn_loop(op->engine, stk__shape_count(&op->form.output) / run->c, 1 + GRAIN / run->c, affine_rows,
                     run);
}

static stk_status forward_affine(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    run_affine(op, &(affine_run){stk__floats(io->x[0]), stk__floats(io->buffer[0]),
                                 stk__floats(io->buffer[1]), .target = stk__floats(io->y)});
    return STK_OK;
}

static stk_status backward_affine(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    if (stk__floats_at(io->dx, 0))
        run_affine(op, &(affine_run){stk__floats(io->dy), stk__floats(io->buffer[0]),
                                     .target = stk__floats(io->dx[0])});
    return STK_OK;
}

typedef struct dropout_run {
    stk__dropout dropout;
    const int64_t *ids; /* of the samples */
    const float *source;
    float *target;
    int64_t length; /* values of a sample */
} dropout_run;

/* One draw for four values of a sample; first … last count draws, over all samples. */
static void drop_values(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const dropout_run *run = context;
    const int64_t draws = (run->length + 3) / 4;
    for (int64_t i = first; i < last; i++) {
        const int64_t n = i / draws, draw = i % draws, at = n * run->length + draw * 4;
        const stk__random random = stk__dropout_draw(&run->dropout, run->ids[n], (uint32_t)draw);
        for (int64_t k = 0; k < 4 && draw * 4 + k < run->length; k++)
            run->target[at + k] = run->source[at + k] * stk__dropout_factor(&run->dropout, random.word[k]);
    }
}

static void run_dropout(const stk__op *op, const stk__op_io *io, const float *source, float *target)
{
    const int64_t count = stk__shape_count(&op->form.output), n = op->form.output.dim[0];
    if (!io->training) {
        stk__onednn_copy(op->engine, target, source, (size_t)count * sizeof *target);
        return;
    }
    assert(io->sample_ids);
    dropout_run run = {.dropout =
                           stk__dropout_make(op->spec.drop, io->seed, io->epoch, op->spec.random_layer),
                       .ids = io->sample_ids->memory,
                       .source = source,
                       .target = target,
                       .length = count / n};
    stk__onednn_loop(op->engine, n * ((run.length + 3) / 4), GRAIN / 4, drop_values, &run);
}

static stk_status forward_dropout(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    run_dropout(op, io, stk__floats(io->x[0]), stk__floats(io->y));
    return STK_OK;
}

static stk_status backward_dropout(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    if (stk__floats_at(io->dx, 0)) run_dropout(op, io, stk__floats(io->dy), stk__floats(io->dx[0]));
    return STK_OK;
}

const stk__onednn_kind stk__onednn_add = {
    .create = create_add, .forward = forward_add, .backward = backward_add};
const stk__onednn_kind stk__onednn_relu = {.forward = forward_relu, .backward = backward_relu};
const stk__onednn_kind stk__onednn_concat = {.forward = forward_concat, .backward = backward_concat};
const stk__onednn_kind stk__onednn_affine = {.forward = forward_affine, .backward = backward_affine};
const stk__onednn_kind stk__onednn_dropout = {.forward = forward_dropout, .backward = backward_dropout};
