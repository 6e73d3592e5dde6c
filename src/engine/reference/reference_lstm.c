/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM over windows [n t f], gates in PyTorch's order: input, forget, cell, output.
 *
 * What the forward pass keeps of each layer: gates [n t 4 hidden] behind their curves, cells and states
 * [n t hidden] each. */
#include "engine/reference/reference.h"

#include <math.h>
#include <string.h>

typedef struct sizes {
    int64_t n, t, hidden, steps; /* steps: n x t */
} sizes;

typedef struct layer {
    int64_t in;                    /* features of its input */
    const float *input;            /* [n t in] */
    float *gates, *cells, *states; /* kept */
    const float *weight_ih, *weight_hh, *bias_ih, *bias_hh;
} layer;

static sizes sizes_of(const stk__op *op)
{
    const int64_t *x = op->spec.input[0].dim;
    return (sizes){x[0], x[1], op->spec.hidden, x[0] * x[1]};
}

static layer layer_of(const stk__op *op, const stk__op_io *io, int number)
{
    const sizes s = sizes_of(op);
    float *kept = stk__reference_f32(io->saved);
    const int64_t length = s.steps * 6 * s.hidden; /* floats of one layer */
    layer l = {.gates = kept + number * length};
    l.cells = l.gates + s.steps * 4 * s.hidden;
    l.states = l.cells + s.steps * s.hidden;
    l.in = number ? s.hidden : op->spec.input[0].dim[2];
    l.input = number ? l.states - length : stk__reference_f32(io->x[0]);
    l.weight_ih = stk__reference_f32(io->param[4 * number]);
    l.weight_hh = stk__reference_f32(io->param[4 * number + 1]);
    l.bias_ih = stk__reference_f32(io->param[4 * number + 2]);
    l.bias_hh = stk__reference_f32(io->param[4 * number + 3]);
    return l;
}

static stk__op_needs lstm_needs(const stk__op *op)
{
    const sizes s = sizes_of(op);
    const size_t kept = (size_t)(s.steps * 6 * s.hidden * op->spec.layers) * sizeof(float);
    const size_t slopes = (size_t)(s.steps * 5 * s.hidden + 2 * s.hidden) * sizeof(double);
    return (stk__op_needs){.saved_bytes = kept, .scratch_bytes = slopes};
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double dot(const float *a, const float *b, int64_t length)
{
    double sum = 0;
    for (int64_t i = 0; i < length; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static void step_gates(const sizes *s, const layer *l, int64_t step, bool first)
{
    float *gates = l->gates + step * 4 * s->hidden;
    for (int64_t j = 0; j < 4 * s->hidden; j++) {
        double sum = (double)l->bias_ih[j] + l->bias_hh[j];
        sum += dot(l->weight_ih + j * l->in, l->input + step * l->in, l->in);
        if (!first) sum += dot(l->weight_hh + j * s->hidden, l->states + (step - 1) * s->hidden, s->hidden);
        gates[j] = (float)(j / s->hidden == 2 ? tanh(sum) : sigmoid(sum));
    }
}

static void step_forward(const sizes *s, const layer *l, int64_t step, bool first)
{
    step_gates(s, l, step, first);
    const float *i = l->gates + step * 4 * s->hidden;
    const float *f = i + s->hidden, *g = f + s->hidden, *o = g + s->hidden;
    float *cell = l->cells + step * s->hidden, *state = l->states + step * s->hidden;
    for (int64_t k = 0; k < s->hidden; k++) {
        const double before = first ? 0 : cell[k - s->hidden];
        cell[k] = (float)(f[k] * before + (double)i[k] * g[k]);
        state[k] = (float)(o[k] * tanh(cell[k]));
    }
}

static void lstm_forward(const stk__op *op, const stk__op_io *io)
{
    const sizes s = sizes_of(op);
    for (int number = 0; number < op->spec.layers; number++) {
        const layer l = layer_of(op, io, number);
        for (int64_t step = 0; step < s.steps; step++)
            step_forward(&s, &l, step, step % s.t == 0);
    }
    const layer top = layer_of(op, io, op->spec.layers - 1);
    float *y = stk__reference_f32(io->y);
    if (!op->spec.last) memcpy(y, top.states, (size_t)(s.steps * s.hidden) * sizeof *y);
    for (int64_t n = 0; op->spec.last && n < s.n; n++)
        memcpy(y + n * s.hidden, top.states + (n * s.t + s.t - 1) * s.hidden, (size_t)s.hidden * sizeof *y);
}

/* In the scratch, f64. */
typedef struct slopes {
    double *gates;        /* [n t 4 hidden]: gradients in front of the gates' curves */
    double *states;       /* [n t hidden]: of a layer's output */
    double *cell, *state; /* [hidden]: of the step after */
} slopes;

static slopes slopes_of(const sizes *s, const stk__op_io *io)
{
    slopes d = {.gates = io->scratch->memory};
    d.states = d.gates + s->steps * 4 * s->hidden;
    d.cell = d.states + s->steps * s->hidden;
    d.state = d.cell + s->hidden;
    return d;
}

static void begin_slopes(const stk__op *op, const stk__op_io *io, const slopes *d)
{
    const sizes s = sizes_of(op);
    const float *dy = stk__reference_f32(io->dy);
    for (int64_t i = 0; i < s.steps * s.hidden; i++) {
        const int64_t step = i / s.hidden, n = step / s.t;
        if (!op->spec.last)
            d->states[i] = dy[i];
        else
            d->states[i] = step % s.t == s.t - 1 ? dy[n * s.hidden + i % s.hidden] : 0;
    }
}

/* Uses d->cell and d->state of the step after and replaces d->cell by this step's. */
static void step_slopes(const sizes *s, const layer *l, const slopes *d, int64_t step, bool first)
{
    const int64_t hidden = s->hidden;
    const float *gates = l->gates + step * 4 * hidden, *cell = l->cells + step * hidden;
    double *out = d->gates + step * 4 * hidden;
    for (int64_t k = 0; k < hidden; k++) {
        const double i = gates[k], f = gates[hidden + k], g = gates[2 * hidden + k];
        const double o = gates[3 * hidden + k], bent = tanh(cell[k]);
        const double dstate = d->states[step * hidden + k] + d->state[k];
        const double dcell = dstate * o * (1 - bent * bent) + d->cell[k];
        out[k] = dcell * g * i * (1 - i);
        out[hidden + k] = dcell * (first ? 0 : cell[k - hidden]) * f * (1 - f);
        out[2 * hidden + k] = dcell * i * (1 - g * g);
        out[3 * hidden + k] = dstate * bent * o * (1 - o);
        d->cell[k] = dcell * f;
    }
}

/* Sum over the gates of one step, back through column k of a weight [4 hidden, width]. */
static double back_through(const sizes *s, const double *gates, const float *weight, int64_t width, int64_t k)
{
    double sum = 0;
    for (int64_t j = 0; j < 4 * s->hidden; j++)
        sum += gates[j] * weight[j * width + k];
    return sum;
}

static void layer_slopes(const sizes *s, const layer *l, const slopes *d)
{
    for (int64_t step = s->steps - 1; step >= 0; step--) {
        const bool first = step % s->t == 0, last = step % s->t == s->t - 1;
        for (int64_t k = 0; last && k < s->hidden; k++)
            d->cell[k] = d->state[k] = 0;
        step_slopes(s, l, d, step, first);
        for (int64_t k = 0; k < s->hidden; k++)
            d->state[k] = back_through(s, d->gates + step * 4 * s->hidden, l->weight_hh, s->hidden, k);
    }
}

/* Gradients of weight_ih, weight_hh, bias_ih and bias_hh: what meets gate j of all steps. */
static void learn_layer(const sizes *s, const layer *l, const slopes *d, const stk__op_io *io, int number)
{
    float *ih = stk__reference_dparam(io, 4 * number), *hh = stk__reference_dparam(io, 4 * number + 1);
    for (int64_t j = 0; j < 4 * s->hidden; j++) {
        double bias = 0;
        for (int64_t step = 0; step < s->steps; step++)
            bias += d->gates[step * 4 * s->hidden + j];
        for (int b = 2; b < 4; b++) {
            float *dbias = stk__reference_dparam(io, 4 * number + b);
            if (dbias) stk__reference_learn(io, &dbias[j], bias);
        }
        for (int64_t k = 0; ih && k < l->in; k++) {
            double sum = 0;
            for (int64_t step = 0; step < s->steps; step++)
                sum += d->gates[step * 4 * s->hidden + j] * l->input[step * l->in + k];
            stk__reference_learn(io, &ih[j * l->in + k], sum);
        }
        for (int64_t k = 0; hh && k < s->hidden; k++) {
            double sum = 0;
            for (int64_t step = 0; step < s->steps; step++)
                if (step % s->t)
                    sum += d->gates[step * 4 * s->hidden + j] * l->states[(step - 1) * s->hidden + k];
            stk__reference_learn(io, &hh[j * s->hidden + k], sum);
        }
    }
}

static void lstm_backward(const stk__op *op, const stk__op_io *io)
{
    const sizes s = sizes_of(op);
    const slopes d = slopes_of(&s, io);
    float *dx = stk__reference_dx(io, 0);
    begin_slopes(op, io, &d);
    for (int number = op->spec.layers - 1; number >= 0; number--) {
        const layer l = layer_of(op, io, number);
        layer_slopes(&s, &l, &d);
        learn_layer(&s, &l, &d, io, number);
        for (int64_t i = 0; i < s.steps * l.in; i++) {
            const double slope =
                back_through(&s, d.gates + i / l.in * 4 * s.hidden, l.weight_ih, l.in, i % l.in);
            if (number)
                d.states[i] = slope;
            else if (dx)
                dx[i] = (float)slope;
        }
    }
}

const stk__reference_kernel stk__reference_lstm = {lstm_forward, lstm_backward, lstm_needs};
