/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM by matrix products, gates in PyTorch's order: input, forget, cell, output.
 *
 * Everything inside lies by time, [t n ..]. The products with the inputs of all steps are one large product;
 * the steps themselves run in slices of the batch, one a thread, which never wait for each other. */
#include "core/memory.h"
#include "core/pool.h"
#include "engine/onednn/onednn_exp.h"
#include "engine/onednn/onednn_engine.h"

#include <stdatomic.h>
#include <string.h>

typedef struct lstm {
    int64_t n, t, f, hidden, steps; /* steps: n x t */
    size_t input;                   /* saved: x by time [t n f]; behind it each layer's */
    size_t layers, layer_bytes;     /* saved: gates [t n 4h] behind their curves, cells and states [t n h] */
    size_t cells, states;           /* from a layer's start */
    size_t bias;                    /* scratch: [4h], sum of both */
    size_t zeros;                   /* scratch: [h] */
    size_t dgates, dstates, dcells; /* scratch: [t n 4h], [t n max(f, h)], [n h] */
} lstm;

/* One layer of one run. */
typedef struct layer_run {
    const stk__op *op;
    const lstm *own;
    int64_t in;         /* features of its input */
    const float *input; /* [t n in] */
    float *gates, *cells, *states;
    float *bias, *dgates, *dstates, *dcells;
    float *zeros; /* [h], the cells before the first step */
    const float *weight_ih, *weight_hh;
    bool backward;
    atomic_int status; /* of the first product that failed */
} layer_run;

static stk_status create(stk__op *op, stk_error *error)
{
    const int64_t *x = op->spec.input[0].dim, h = op->spec.hidden, steps = x[0] * x[1];
    lstm *own = op->own = stk__alloc(sizeof *own);
    if (!own) return stk__fail_memory(error, sizeof *own, "a layer");
    *own = (lstm){.n = x[0], .t = x[1], .f = x[2], .hidden = h, .steps = steps};
    size_t *saved = &op->needs.saved_bytes, *scratch = &op->needs.scratch_bytes;
    own->input = stk__onednn_reserve(saved, (size_t)(steps * own->f) * sizeof(float));
    own->layers = *saved;
    stk__onednn_reserve(&own->layer_bytes, (size_t)(steps * 4 * h) * sizeof(float));
    own->cells = stk__onednn_reserve(&own->layer_bytes, (size_t)(steps * h) * sizeof(float));
    own->states = stk__onednn_reserve(&own->layer_bytes, (size_t)(steps * h) * sizeof(float));
    stk__onednn_reserve(saved, (size_t)op->spec.layers * own->layer_bytes);
    const int64_t wide = own->f > h ? own->f : h;
    own->bias = stk__onednn_reserve(scratch, (size_t)(4 * h) * sizeof(float));
    own->zeros = stk__onednn_reserve(scratch, (size_t)h * sizeof(float));
    own->dgates = stk__onednn_reserve(scratch, (size_t)(steps * 4 * h) * sizeof(float));
    own->dstates = stk__onednn_reserve(scratch, (size_t)(steps * wide) * sizeof(float));
    own->dcells = stk__onednn_reserve(scratch, (size_t)(own->n * h) * sizeof(float));
    return STK_OK;
}

static layer_run layer_of(const stk__op *op, const stk__op_io *io, int number)
{
    const lstm *own = op->own;
    char *kept = stk__onednn_at(io->saved, own->layers + (size_t)number * own->layer_bytes);
    layer_run run = {.op = op, .own = own, .in = number ? own->hidden : own->f};
    run.gates = (void *)kept;
    run.cells = (void *)(kept + own->cells);
    run.states = (void *)(kept + own->states);
    run.input =
        number ? (void *)(kept - own->layer_bytes + own->states) : stk__onednn_at(io->saved, own->input);
    run.bias = stk__onednn_at(io->scratch, own->bias);
    run.dgates = stk__onednn_at(io->scratch, own->dgates);
    run.dstates = stk__onednn_at(io->scratch, own->dstates);
    run.dcells = stk__onednn_at(io->scratch, own->dcells);
    run.zeros = stk__onednn_at(io->scratch, own->zeros);
    memset(run.zeros, 0, (size_t)own->hidden * sizeof *run.zeros);
    run.weight_ih = stk__floats(io->param[4 * number]);
    run.weight_hh = stk__floats(io->param[4 * number + 1]);
    return run;
}

/* The rows [4h] and [h] of one sample at one step. */
static void open_gates(const layer_run *run, float *restrict gates, const float *restrict cell_before,
                       float *restrict cell, float *restrict state)
{
    const int64_t h = run->own->hidden;
    const float *restrict bias = run->bias;
    STK__INDEPENDENT
    for (int64_t k = 0; k < h; k++) {
        const float i = stk__sigmoid(gates[k] + bias[k]);
        const float f = stk__sigmoid(gates[h + k] + bias[h + k]);
        const float g = stk__tanh(gates[2 * h + k] + bias[2 * h + k]);
        const float o = stk__sigmoid(gates[3 * h + k] + bias[3 * h + k]);
        const float c = f * cell_before[k] + i * g;
        gates[k] = i;
        gates[h + k] = f;
        gates[2 * h + k] = g;
        gates[3 * h + k] = o;
        cell[k] = c;
        state[k] = o * stk__tanh(c);
    }
}

/* row: t n + sample. dstate is complete; dcell is that of the step behind, and becomes that of this one. */
static void close_gates(const layer_run *run, int64_t row, const float *restrict dstate,
                        float *restrict dcell)
{
    const int64_t h = run->own->hidden;
    const float *restrict gates = run->gates + row * 4 * h, *restrict cell = run->cells + row * h;
    const float *restrict before = row >= run->own->n ? cell - run->own->n * h : run->zeros;
    float *restrict dgates = run->dgates + row * 4 * h;
    STK__INDEPENDENT
    for (int64_t k = 0; k < h; k++) {
        const float i = gates[k], f = gates[h + k], g = gates[2 * h + k], o = gates[3 * h + k];
        const float curve = stk__tanh(cell[k]);
        const float dc = dcell[k] + dstate[k] * o * (1 - curve * curve);
        dgates[k] = dc * g * i * (1 - i);
        dgates[h + k] = dc * before[k] * f * (1 - f);
        dgates[2 * h + k] = dc * i * (1 - g * g);
        dgates[3 * h + k] = dstate[k] * curve * o * (1 - o);
        dcell[k] = dc * f;
    }
}

static stk_status step_forward(layer_run *run, int64_t t, int64_t first, int64_t last)
{
    const int64_t h = run->own->hidden, row = t * run->own->n;
    const float *before = t ? run->states + (row - run->own->n) * h : NULL;
    if (t)
        STK__TRY(stk__dnn_multiply(stk__dnn_of(run->op),
                                   &(stk__dnn_product){.m = last - first,
                                                       .n = 4 * h,
                                                       .k = h,
                                                       .a = before + first * h,
                                                       .lda = h,
                                                       .b = run->weight_hh,
                                                       .ldb = h,
                                                       .transpose_b = true,
                                                       .beta = 1,
                                                       .c = run->gates + (row + first) * 4 * h,
                                                       .ldc = 4 * h},
                                   NULL));
    for (int64_t i = row + first; i < row + last; i++)
        open_gates(run, run->gates + i * 4 * h, t ? run->cells + (i - run->own->n) * h : run->zeros,
                   run->cells + i * h, run->states + i * h);
    return STK_OK;
}

static stk_status step_backward(layer_run *run, int64_t t, int64_t first, int64_t last)
{
    const int64_t h = run->own->hidden, n = run->own->n, row = t * n;
    if (t + 1 < run->own->t)
        STK__TRY(stk__dnn_multiply(stk__dnn_of(run->op),
                                   &(stk__dnn_product){.m = last - first,
                                                       .n = h,
                                                       .k = 4 * h,
                                                       .a = run->dgates + (row + n + first) * 4 * h,
                                                       .lda = 4 * h,
                                                       .b = run->weight_hh,
                                                       .ldb = h,
                                                       .beta = 1,
                                                       .c = run->dstates + (row + first) * h,
                                                       .ldc = h},
                                   NULL));
    for (int64_t i = first; i < last; i++)
        close_gates(run, row + i, run->dstates + (row + i) * h, run->dcells + i * h);
    return STK_OK;
}

/* All steps of a slice of the batch. */
static void run_slice(void *context, size_t slice, int worker)
{
    (void)worker;
    layer_run *run = context;
    const int64_t n = run->own->n, steps = run->own->t, slices = run->op->engine->info.threads;
    const int64_t first = n * (int64_t)slice / slices, last = n * ((int64_t)slice + 1) / slices;
    stk_status status = STK_OK;
    if (first == last) return;
    stk__dnn_threads(stk__dnn_of(run->op), 1);
    for (int64_t i = 0; i < steps && status == STK_OK; i++)
        status = run->backward ? step_backward(run, steps - 1 - i, first, last)
                               : step_forward(run, i, first, last);
    if (status != STK_OK) atomic_store(&run->status, (int)status);
}

static stk_status run_steps(layer_run *run, stk_error *error)
{
    const int threads = run->op->engine->info.threads;
    stk__pool_run(
        &(stk__pool_job){.run = run_slice, .context = run, .count = (size_t)threads, .workers = threads});
    stk__dnn_threads(stk__dnn_of(run->op), threads); /* this thread has taken part */
    const stk_status status = (stk_status)atomic_load(&run->status);
    if (status != STK_OK) stk__fail(error, status, "a matrix product of an lstm failed");
    return status;
}

/* [a b f] -> [b a f] */
static void swap_axes(const float *source, float *target, int64_t a, int64_t b, int64_t f)
{
    for (int64_t i = 0; i < a; i++)
        for (int64_t j = 0; j < b; j++)
            memcpy(target + (j * a + i) * f, source + (i * b + j) * f, (size_t)f * sizeof *target);
}

static stk_status forward_layer(stk__op *op, const stk__op_io *io, int number, stk_error *error)
{
    layer_run run = layer_of(op, io, number);
    const lstm *own = op->own;
    const int64_t width = 4 * own->hidden;
    const float *bias[] = {stk__floats(io->param[4 * number + 2]), stk__floats(io->param[4 * number + 3])};
    for (int64_t k = 0; k < width; k++)
        run.bias[k] = bias[0][k] + bias[1][k];
    STK__TRY(stk__dnn_multiply(stk__dnn_of(op),
                               &(stk__dnn_product){.m = own->steps,
                                                   .n = width,
                                                   .k = run.in,
                                                   .a = run.input,
                                                   .lda = run.in,
                                                   .b = run.weight_ih,
                                                   .ldb = run.in,
                                                   .transpose_b = true,
                                                   .c = run.gates,
                                                   .ldc = width},
                               error));
    return run_steps(&run, error);
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const lstm *own = op->own;
    swap_axes(stk__floats(io->x[0]), stk__onednn_at(io->saved, own->input), own->n, own->t, own->f);
    for (int number = 0; number < op->spec.layers; number++)
        STK__TRY(forward_layer(op, io, number, error));
    const float *states = layer_of(op, io, op->spec.layers - 1).states;
    if (op->spec.last)
        memcpy(stk__floats(io->y), states + (own->t - 1) * own->n * own->hidden,
               (size_t)(own->n * own->hidden) * sizeof *states);
    else
        swap_axes(states, stk__floats(io->y), own->t, own->n, own->hidden);
    return STK_OK;
}

/* dweight = or += dgates^T x values; both have rows rows. */
static stk_status learn_weight(const layer_run *run, const stk__op_io *io, int param,
                               const stk__dnn_product *rows, stk_error *error)
{
    stk__dnn_product product = *rows;
    product.c = stk__floats_at(io->dparam, param);
    if (!product.c) return STK_OK;
    product.m = product.lda = 4 * run->own->hidden;
    product.ldb = product.ldc = product.n;
    product.transpose_a = true;
    product.beta = io->add_dparam ? 1 : 0;
    if (product.k > 0) return stk__dnn_multiply(stk__dnn_of(run->op), &product, error);
    if (!io->add_dparam) memset(product.c, 0, (size_t)(product.m * product.n) * sizeof *product.c);
    return STK_OK;
}

enum { COLUMNS = 64 };

typedef struct bias_run {
    const layer_run *layer;
    const stk__op_io *io;
    int param; /* of the first bias; the second has the same gradient */
} bias_run;

static void learn_columns(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const bias_run *run = context;
    const lstm *own = run->layer->own;
    double sum[COLUMNS] = {0};
    for (int64_t row = 0; row < own->steps; row++) {
        const float *dgates = run->layer->dgates + row * 4 * own->hidden;
        for (int64_t k = first; k < last; k++)
            sum[k - first] += (double)dgates[k];
    }
    for (int i = 0; i < 2; i++) {
        float *dbias = stk__floats_at(run->io->dparam, run->param + i);
        for (int64_t k = first; dbias && k < last; k++)
            dbias[k] = (float)((run->io->add_dparam ? (double)dbias[k] : 0) + sum[k - first]);
    }
}

static stk_status learn(const layer_run *run, const stk__op_io *io, int number, stk_error *error)
{
    const lstm *own = run->own;
    const stk__dnn_product ih = {.a = run->dgates, .b = run->input, .k = own->steps, .n = run->in};
    const stk__dnn_product hh = {.a =
                                     run->dgates + own->n * 4 * own->hidden, /* the first step has no state */
                                 .b = run->states,
                                 .k = own->steps - own->n,
                                 .n = own->hidden};
    bias_run bias = {run, io, 4 * number + 2};
    STK__TRY(learn_weight(run, io, 4 * number, &ih, error));
    STK__TRY(learn_weight(run, io, 4 * number + 1, &hh, error));
    stk__onednn_loop(run->op->engine, 4 * own->hidden, COLUMNS, learn_columns, &bias);
    return STK_OK;
}

/* dstates becomes the gradient of the layer's input. */
static stk_status backward_layer(stk__op *op, const stk__op_io *io, int number, stk_error *error)
{
    layer_run run = layer_of(op, io, number);
    const lstm *own = op->own;
    run.backward = true;
    memset(run.dcells, 0, (size_t)(own->n * own->hidden) * sizeof *run.dcells);
    STK__TRY(run_steps(&run, error));
    if (io->dparam) STK__TRY(learn(&run, io, number, error));
    if (!number && !stk__floats_at(io->dx, 0)) return STK_OK;
    return stk__dnn_multiply(stk__dnn_of(op),
                             &(stk__dnn_product){.m = own->steps,
                                                 .n = run.in,
                                                 .k = 4 * own->hidden,
                                                 .a = run.dgates,
                                                 .lda = 4 * own->hidden,
                                                 .b = run.weight_ih,
                                                 .ldb = run.in,
                                                 .c = run.dstates,
                                                 .ldc = run.in},
                             error);
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const lstm *own = op->own;
    float *dstates = stk__onednn_at(io->scratch, own->dstates), *dx = stk__floats_at(io->dx, 0);
    const int64_t last = (own->t - 1) * own->n * own->hidden, size = own->n * own->hidden;
    if (op->spec.last) {
        memset(dstates, 0, (size_t)last * sizeof *dstates);
        memcpy(dstates + last, stk__floats(io->dy), (size_t)size * sizeof *dstates);
    } else {
        swap_axes(stk__floats(io->dy), dstates, own->n, own->t, own->hidden);
    }
    for (int number = op->spec.layers - 1; number >= 0; number--)
        STK__TRY(backward_layer(op, io, number, error));
    if (dx) swap_axes(dstates, dx, own->t, own->n, own->f);
    return STK_OK;
}

const stk__onednn_kind stk__onednn_lstm = {create, NULL, forward, backward};
