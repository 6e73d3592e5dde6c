/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions whose windows lie side by side (kernel = stride, no padding), as all that double a
 * picture: each input pixel makes a window of its own, so they are one matrix product
 *
 *     [pixels c] x [c window], window = kh x kw x o,
 *
 * and a move of windows to where they belong. oneDNN's own take two to three times as long. Others are its.
 * Products run on one thread each, cut the same way whatever the number of threads. */
#include "core/memory.h"
#include "engine/onednn/onednn_engine.h"

#include <stdatomic.h>
#include <string.h>

enum {
    PITCH = 16,          /* values between windows in scratch */
    BAND = 256,          /* pixels of a product */
    STRETCH = 32 * BAND, /* pixels whose windows are in scratch at a time, backward */
    TILE_LEAST = 32,     /* rows of a part of the weights' gradient */
    TILES = 8
};

typedef struct side_by_side {
    int64_t pixels, c, o, kh, kw, window, bands, tile;
    int64_t pitch;     /* from a window to the next: never a power of two, which caches do not like */
    size_t weights;    /* scratch: [c window] */
    size_t bias, rows; /* forward: [kw o], a band of windows for each worker */
    size_t dy, dweights, partial; /* backward: windows of a stretch, [c window], sums of each band */
} side_by_side;

typedef struct turn {
    stk__op *op;
    const side_by_side *own;
    const float *x, *weights, *bias;
    float *y, *dx, *rows, *dweights, *partial;
    int64_t first, last; /* pixels of the stretch */
    const float *dy;
    atomic_int status;
} turn;

static bool is_side_by_side(const stk__op_spec *s)
{
    for (int a = 0; a < 2; a++)
        if (s->kernel[a] != s->stride[a] || s->pad[a] || s->dilation[a] != 1) return false;
    return true;
}

static void plan_scratch(stk__op *op, side_by_side *own)
{
    const size_t row = (size_t)own->pitch * sizeof(float), weights = (size_t)own->c * row;
    size_t forward = 0, backward;
    own->weights = stk__onednn_reserve(&forward, weights);
    backward = forward;
    own->bias = stk__onednn_reserve(&forward, row);
    own->rows = stk__onednn_reserve(&forward, (size_t)op->engine->info.threads * BAND * row);
    own->dy = stk__onednn_reserve(&backward, (size_t)(own->pixels < STRETCH ? own->pixels : STRETCH) * row);
    own->dweights = stk__onednn_reserve(&backward, weights);
    own->partial = stk__onednn_reserve(&backward, (size_t)own->bands * row);
    op->needs.scratch_bytes = forward > backward ? forward : backward;
}

static stk_status create(stk__op *op, stk_error *error)
{
    const int64_t *in = op->spec.input[0].dim, kh = op->spec.kernel[0], kw = op->spec.kernel[1];
    if (!is_side_by_side(&op->spec)) return stk__onednn_conv_linear.create(op, error);
    side_by_side *own = op->own = stk__alloc(sizeof *own);
    if (!own) return stk__fail_memory(error, sizeof *own, "a layer");
    *own = (side_by_side){.pixels = in[0] * in[1] * in[2],
                          .c = in[3],
                          .o = op->spec.channels,
                          .kh = kh,
                          .kw = kw,
                          .window = kh * kw * op->spec.channels};
    own->pitch = own->window + PITCH;
    own->bands = (own->pixels + BAND - 1) / BAND;
    own->tile = (own->c + TILES - 1) / TILES;
    if (own->tile < TILE_LEAST) own->tile = TILE_LEAST;
    plan_scratch(op, own);
    return STK_OK;
}

static void destroy(stk__op *op)
{
    if (!is_side_by_side(&op->spec)) stk__onednn_conv_linear.destroy(op);
}

/* PyTorch's [c o kh kw] as [c kh kw o] */
static void bring_weights(const side_by_side *own, const float *source, float *target)
{
    const int64_t places = own->kh * own->kw;
    for (int64_t c = 0; c < own->c; c++, source += own->window, target += own->pitch)
        for (int64_t o = 0; o < own->o; o++)
            for (int64_t k = 0; k < places; k++)
                target[k * own->o + o] = source[o * places + k];
}

static void return_weights(const side_by_side *own, const float *source, float *target, bool add)
{
    const int64_t places = own->kh * own->kw;
    for (int64_t c = 0; c < own->c; c++, source += own->pitch, target += own->window)
        for (int64_t o = 0; o < own->o; o++)
            for (int64_t k = 0; k < places; k++)
                target[o * places + k] =
                    add ? target[o * places + k] + source[k * own->o + o] : source[k * own->o + o];
}

/* Where row kh of a pixel's window begins in the large picture. */
static int64_t place_of(const turn *t, int64_t pixel, int64_t kh)
{
    const int64_t *in = t->op->spec.input[0].dim, line = t->own->kw * t->own->o;
    const int64_t w = pixel % in[2], row = pixel / in[2];
    return ((row * t->own->kh + kh) * in[2] + w) * line;
}

static void multiply(turn *t, const stk__dnn_product *product)
{
    stk__dnn_threads(stk__dnn_of(t->op), 1);
    const stk_status status = stk__dnn_multiply(stk__dnn_of(t->op), product, NULL);
    if (status != STK_OK) atomic_store(&t->status, (int)status);
}

static stk_status finish(const turn *t, stk_error *error)
{
    stk__dnn_threads(stk__dnn_of(t->op), t->op->engine->info.threads); /* this thread has taken part */
    const stk_status status = (stk_status)atomic_load(&t->status);
    if (status != STK_OK) stk__fail(error, status, "a matrix product of a conv_transpose failed");
    return status;
}

static void place_windows(const turn *t, const float *rows, int64_t first, int64_t last)
{
    const int64_t line = t->own->kw * t->own->o;
    for (int64_t pixel = first; pixel < last; pixel++)
        for (int64_t kh = 0; kh < t->own->kh; kh++)
            stk__loops_of(t->op)->add(rows + (pixel - first) * t->own->pitch + kh * line, t->bias,
                                      t->y + place_of(t, pixel, kh), line, false);
}

static void forward_band(void *context, int64_t first, int64_t last, int worker)
{
    turn *t = context;
    const side_by_side *own = t->own;
    float *rows = t->rows + worker * BAND * own->pitch;
    multiply(t, &(stk__dnn_product){.m = last - first,
                                    .n = own->window,
                                    .k = own->c,
                                    .a = t->x + first * own->c,
                                    .lda = own->c,
                                    .b = t->weights,
                                    .ldb = own->pitch,
                                    .c = rows,
                                    .ldc = own->pitch});
    place_windows(t, rows, first, last);
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    if (!is_side_by_side(&op->spec)) return stk__onednn_conv_linear.forward(op, io, error);
    const side_by_side *own = op->own;
    float *weights = stk__onednn_at(io->scratch, own->weights),
          *bias = stk__onednn_at(io->scratch, own->bias);
    bring_weights(own, stk__floats(io->param[0]), weights);
    for (int64_t i = 0; i < own->kw * own->o; i++)
        bias[i] = op->form.param_count > 1 ? stk__floats(io->param[1])[i % own->o] : 0;
    turn t = {.op = op,
              .own = own,
              .x = stk__floats(io->x[0]),
              .weights = weights,
              .bias = bias,
              .y = stk__floats(io->y),
              .rows = stk__onednn_at(io->scratch, own->rows)};
    stk__onednn_loop(op->engine, own->pixels, BAND, forward_band, &t);
    return finish(&t, error);
}

/* Windows of the gradient side by side, their sums, and what they give to x. */
static void backward_band(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    turn *t = context;
    const side_by_side *own = t->own;
    const int64_t line = own->kw * own->o;
    float *rows = t->rows + first * own->pitch;
    first += t->first, last += t->first;
    for (int64_t pixel = first; pixel < last; pixel++)
        for (int64_t kh = 0; kh < own->kh; kh++)
            memcpy(rows + (pixel - first) * own->pitch + kh * line, t->dy + place_of(t, pixel, kh),
                   (size_t)line * sizeof *rows);
    stk__loops_of(t->op)->add_rows(rows, last - first, own->pitch, t->partial + first / BAND * own->pitch);
    if (t->dx)
        multiply(t, &(stk__dnn_product){.m = last - first,
                                        .n = own->c,
                                        .k = own->window,
                                        .a = rows,
                                        .lda = own->pitch,
                                        .b = t->weights,
                                        .ldb = own->pitch,
                                        .transpose_b = true,
                                        .c = t->dx + first * own->c,
                                        .ldc = own->c});
}

/* Rows first … last-1 of the weights' gradient. */
static void learn_tile(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    turn *t = context;
    const side_by_side *own = t->own;
    multiply(t, &(stk__dnn_product){.m = last - first,
                                    .n = own->window,
                                    .k = t->last - t->first,
                                    .a = t->x + t->first * own->c + first,
                                    .lda = own->c,
                                    .transpose_a = true,
                                    .b = t->rows,
                                    .ldb = own->pitch,
                                    .c = t->dweights + first * own->pitch,
                                    .ldc = own->pitch,
                                    .beta = t->first > 0 ? 1 : 0});
}

static void learn_bias(const turn *t, float *target, bool add)
{
    const side_by_side *own = t->own;
    for (int64_t o = 0; target && o < own->o; o++) {
        double sum = add ? (double)target[o] : 0;
        for (int64_t band = 0; band < own->bands; band++)
            for (int64_t k = o; k < own->window; k += own->o)
                sum += (double)t->partial[band * own->pitch + k];
        target[o] = (float)sum;
    }
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    if (!is_side_by_side(&op->spec)) return stk__onednn_conv_linear.backward(op, io, error);
    const side_by_side *own = op->own;
    float *weights = stk__onednn_at(io->scratch, own->weights), *wanted = stk__floats_at(io->dparam, 0);
    bring_weights(own, stk__floats(io->param[0]), weights);
    turn t = {.op = op,
              .own = own,
              .x = stk__floats(io->x[0]),
              .weights = weights,
              .dy = stk__floats(io->dy),
              .dx = stk__floats_at(io->dx, 0),
              .rows = stk__onednn_at(io->scratch, own->dy),
              .dweights = stk__onednn_at(io->scratch, own->dweights),
              .partial = stk__onednn_at(io->scratch, own->partial)};
    for (; t.first < own->pixels; t.first = t.last) {
        t.last = t.first + STRETCH < own->pixels ? t.first + STRETCH : own->pixels;
        stk__onednn_loop(op->engine, t.last - t.first, BAND, backward_band, &t);
        if (wanted) stk__onednn_loop(op->engine, own->c, own->tile, learn_tile, &t);
    }
    STK__TRY(finish(&t, error));
    if (wanted) return_weights(own, t.dweights, wanted, io->add_dparam);
    if (op->form.param_count > 1) learn_bias(&t, stk__floats_at(io->dparam, 1), io->add_dparam);
    return STK_OK;
}

const stk__onednn_kind stk__onednn_conv_transpose = {create, destroy, forward, backward};
