/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation's forward pass in double precision, written from its definition and differently from any
 * engine: the values that tests/engine believes. Gradients are checked by differences of these. */
#include "op_oracle.h"

#include "core/random.h"

#include <math.h>
#include <string.h>

/* A picture's value, 0 outside. */
static double pixel(const sheet *s, int64_t n, int64_t h, int64_t w, int64_t c)
{
    const int64_t *dim = s->shape.dim;
    if (h < 0 || w < 0 || h >= dim[1] || w >= dim[2]) return 0;
    return s->value[((n * dim[1] + h) * dim[2] + w) * dim[3] + c];
}

static void conv(const op_trial *t, sheet *y)
{
    const stk__op_spec *s = &t->spec;
    const int64_t *out = y->shape.dim, in_group = s->input[0].dim[3] / s->groups;
    const int64_t out_group = out[3] / s->groups, taps = (int64_t)s->kernel[0] * s->kernel[1];
    for (int64_t i = 0; i < y->count; i++) {
        const int64_t o = i % out[3], w = i / out[3] % out[2], h = i / out[3] / out[2] % out[1];
        const int64_t n = i / out[3] / out[2] / out[1];
        double sum = s->no_bias ? 0 : t->param[1].value[o];
        for (int64_t k = 0; k < in_group * taps; k++) {
            const int64_t kw = k % s->kernel[1], kh = k / s->kernel[1] % s->kernel[0], c = k / taps;
            sum += t->param[0].value[o * in_group * taps + k] *
                   pixel(&t->x[0], n, h * s->stride[0] + kh * s->dilation[0] - s->pad[0],
                         w * s->stride[1] + kw * s->dilation[1] - s->pad[1], o / out_group * in_group + c);
        }
        y->value[i] = sum;
    }
}

/* Every input value is added to all outputs it reaches. */
static void conv_transpose(const op_trial *t, sheet *y)
{
    const stk__op_spec *s = &t->spec;
    const int64_t *in = s->input[0].dim, *out = y->shape.dim, taps = (int64_t)s->kernel[0] * s->kernel[1];
    for (int64_t i = 0; i < y->count; i++)
        y->value[i] = s->no_bias ? 0 : t->param[1].value[i % out[3]];
    for (int64_t i = 0; i < t->x[0].count; i++) {
        const int64_t c = i % in[3], w = i / in[3] % in[2], h = i / in[3] / in[2] % in[1];
        const int64_t n = i / in[3] / in[2] / in[1];
        for (int64_t k = 0; k < out[3] * taps; k++) {
            const int64_t kw = k % s->kernel[1], kh = k / s->kernel[1] % s->kernel[0], o = k / taps;
            const int64_t to_h = h * s->stride[0] + kh * s->dilation[0] - s->pad[0];
            const int64_t to_w = w * s->stride[1] + kw * s->dilation[1] - s->pad[1];
            if (to_h < 0 || to_w < 0 || to_h >= out[1] || to_w >= out[2]) continue;
            y->value[((n * out[1] + to_h) * out[2] + to_w) * out[3] + o] +=
                t->x[0].value[i] * t->param[0].value[c * out[3] * taps + k];
        }
    }
}

static void linear(const op_trial *t, sheet *y)
{
    const int64_t out = t->spec.channels, in = t->param[0].shape.dim[1];
    for (int64_t i = 0; i < y->count; i++) {
        y->value[i] = t->spec.no_bias ? 0 : t->param[1].value[i % out];
        for (int64_t k = 0; k < in; k++)
            y->value[i] += t->x[0].value[i / out * in + k] * t->param[0].value[i % out * in + k];
    }
}

static void batch_norm(const op_trial *t, op_result *r)
{
    const int64_t c = t->param[0].count, rows = t->x[0].count / c;
    for (int i = 0; i < 3; i++)
        memcpy(r->buffer[i].value, t->buffer[i].value, (size_t)t->buffer[i].count * sizeof(double));
    for (int64_t k = 0; k < c; k++) {
        double mean = 0, squares = 0; /* Welford's way */
        for (int64_t row = 0; row < rows; row++) {
            const double away = t->x[0].value[row * c + k] - mean;
            mean += away / (double)(row + 1);
            squares += away * (t->x[0].value[row * c + k] - mean);
        }
        double variance = squares / (double)rows;
        if (t->flags.training && !t->flags.again) {
            const double m = t->spec.momentum, unbiased = rows > 1 ? squares / (double)(rows - 1) : 0;
            r->buffer[0].value[k] += m * (mean - r->buffer[0].value[k]);
            r->buffer[1].value[k] += m * (unbiased - r->buffer[1].value[k]);
        }
        if (!t->flags.training) mean = t->buffer[0].value[k], variance = t->buffer[1].value[k];
        for (int64_t i = k; i < t->x[0].count; i += c)
            r->y.value[i] = (t->x[0].value[i] - mean) / sqrt(variance + t->spec.eps) * t->param[0].value[k] +
                            t->param[1].value[k];
    }
    if (t->flags.training && !t->flags.again) r->buffer[2].value[0] += 1;
}

static void affine(const op_trial *t, op_result *r)
{
    for (int64_t i = 0; i < r->y.count; i++) {
        const int64_t k = i % t->buffer[0].count;
        r->y.value[i] = fma(t->x[0].value[i], t->buffer[0].value[k], t->buffer[1].value[k]);
    }
    for (int i = 0; i < 2; i++)
        memcpy(r->buffer[i].value, t->buffer[i].value, (size_t)t->buffer[i].count * sizeof(double));
}

static double activate(stk__op_kind kind, double x)
{
    switch (kind) {
    case STK_OP_RELU:
        return fmax(x, 0);
    case STK_OP_SILU:
        return x / (1 + exp(-x));
    case STK_OP_GELU:
        return x / 2 * (1 + erf(x / sqrt(2)));
    case STK_OP_SIGMOID:
        return (tanh(x / 2) + 1) / 2;
    default:
        return (exp(x) - exp(-x)) / (exp(x) + exp(-x));
    }
}

static void pool(const op_trial *t, sheet *y)
{
    const stk__op_spec *s = &t->spec;
    const int64_t *out = y->shape.dim, *in = s->input[0].dim;
    for (int64_t i = 0; i < y->count; i++) {
        const int64_t c = i % out[3], w = i / out[3] % out[2], h = i / out[3] / out[2] % out[1];
        const int64_t n = i / out[3] / out[2] / out[1];
        double sum = 0, most = -INFINITY;
        for (int64_t k = 0; k < (int64_t)s->kernel[0] * s->kernel[1]; k++) {
            const int64_t from_h = h * s->stride[0] - s->pad[0] + k / s->kernel[1];
            const int64_t from_w = w * s->stride[1] - s->pad[1] + k % s->kernel[1];
            sum += pixel(&t->x[0], n, from_h, from_w, c);
            if (from_h < 0 || from_w < 0 || from_h >= in[1] || from_w >= in[2]) continue;
            most = fmax(most, pixel(&t->x[0], n, from_h, from_w, c));
        }
        y->value[i] = s->kind == STK_OP_MAX_POOL ? most : sum / (s->kernel[0] * s->kernel[1]);
    }
}

static void global_pool(const op_trial *t, sheet *y)
{
    const int64_t *in = t->spec.input[0].dim, pixels = in[1] * in[2];
    for (int64_t i = 0; i < t->x[0].count; i++)
        y->value[i / (pixels * in[3]) * in[3] + i % in[3]] += t->x[0].value[i] / (double)pixels;
}

/* Share of input row or column `from` in output row or column `to`: a tent around the centre of `to`, or all
 * of the one that holds it. */
static double resize_share(const stk__op_spec *s, int axis, int64_t to, int64_t from)
{
    const double length = (double)s->input[0].dim[1 + axis];
    const double centre = ((double)to + 0.5) * length / s->size[axis];
    if (s->resize == STK_RESIZE_NEAREST) return floor(centre + 1e-9) == (double)from;
    const double held = fmin(fmax(centre - 0.5, 0), length - 1);
    return fmax(1 - fabs(held - (double)from), 0);
}

static void resize(const op_trial *t, sheet *y)
{
    const int64_t *out = y->shape.dim, *in = t->spec.input[0].dim;
    for (int64_t i = 0; i < y->count; i++) {
        const int64_t c = i % out[3], w = i / out[3] % out[2], h = i / out[3] / out[2] % out[1];
        const int64_t n = i / out[3] / out[2] / out[1];
        for (int64_t from_h = 0; from_h < in[1]; from_h++)
            for (int64_t from_w = 0; from_w < in[2]; from_w++)
                y->value[i] += resize_share(&t->spec, 0, h, from_h) * resize_share(&t->spec, 1, w, from_w) *
                               pixel(&t->x[0], n, from_h, from_w, c);
    }
}

static void dropout(const op_trial *t, sheet *y)
{
    const int64_t length = y->count / t->sample_ids.count;
    for (int64_t i = 0; i < y->count; i++) {
        const int64_t element = i % length;
        const stk__random_at at = {.seed = t->seed,
                                   .epoch = t->epoch,
                                   .sample = (uint32_t)t->sample_ids.value[i / length],
                                   .operation = STK_OPERATION_DROPOUT + t->spec.random_layer,
                                   .draw = (uint32_t)(element / 4)};
        const double unit = stk__random_unit(stk__random_draw(at).word[element % 4]);
        y->value[i] = t->x[0].value[i];
        if (t->flags.training) y->value[i] *= unit >= t->spec.drop ? 1 / (1 - t->spec.drop) : 0;
    }
}

static void concat(const op_trial *t, sheet *y)
{
    const int last = y->shape.ndim - 1;
    const int64_t width = y->shape.dim[last];
    int64_t start = 0;
    for (int i = 0; i < t->spec.inputs; i++) {
        const int64_t part = t->spec.input[i].dim[last];
        for (int64_t k = 0; k < t->x[i].count; k++)
            y->value[k / part * width + start + k % part] = t->x[i].value[k];
        start += part;
    }
}

/* One sample through one layer; both [t, width]. */
static void lstm_sample(const op_trial *t, int layer, const double *in, int64_t width, double *out)
{
    const int64_t hidden = t->spec.hidden;
    const double *const p[] = {t->param[4 * layer].value, t->param[4 * layer + 1].value,
                               t->param[4 * layer + 2].value, t->param[4 * layer + 3].value};
    double cell[64] = {0}, state[64] = {0};
    for (int64_t step = 0; step < t->spec.input[0].dim[1]; step++) {
        double gate[4][64];
        for (int64_t j = 0; j < 4 * hidden; j++) {
            double sum = p[2][j] + p[3][j];
            for (int64_t k = 0; k < width; k++)
                sum += p[0][j * width + k] * in[step * width + k];
            for (int64_t k = 0; k < hidden; k++)
                sum += p[1][j * hidden + k] * state[k];
            gate[j / hidden][j % hidden] = activate(j / hidden == 2 ? STK_OP_TANH : STK_OP_SIGMOID, sum);
        }
        for (int64_t k = 0; k < hidden; k++) {
            cell[k] = gate[1][k] * cell[k] + gate[0][k] * gate[2][k];
            state[k] = out[step * hidden + k] = gate[3][k] * tanh(cell[k]);
        }
    }
}

static void lstm(const op_trial *t, sheet *y)
{
    static double book[2][1 << 14];
    const int64_t steps = t->spec.input[0].dim[1], features = t->spec.input[0].dim[2];
    const int64_t hidden = t->spec.hidden, length = y->count / t->spec.input[0].dim[0];
    for (int64_t n = 0; n < t->spec.input[0].dim[0]; n++) {
        lstm_sample(t, 0, t->x[0].value + n * steps * features, features, book[0]);
        for (int l = 1; l < t->spec.layers; l++)
            lstm_sample(t, l, book[(l - 1) % 2], hidden, book[l % 2]);
        memcpy(y->value + n * length, book[(t->spec.layers - 1) % 2] + steps * hidden - length,
               (size_t)length * sizeof(double));
    }
}

void op_oracle_forward(const op_trial *t, op_result *r)
{
    memcpy(r->y.value, t->y.value, (size_t)r->y.count * sizeof(double));
    switch (t->spec.kind) {
    case STK_OP_CONV:
        conv(t, &r->y);
        break;
    case STK_OP_CONV_TRANSPOSE:
        conv_transpose(t, &r->y);
        break;
    case STK_OP_BATCH_NORM:
        batch_norm(t, r);
        break;
    case STK_OP_MAX_POOL:
    case STK_OP_AVG_POOL:
        pool(t, &r->y);
        break;
    case STK_OP_GLOBAL_POOL:
        global_pool(t, &r->y);
        break;
    case STK_OP_LINEAR:
        linear(t, &r->y);
        break;
    case STK_OP_CONCAT:
        concat(t, &r->y);
        break;
    case STK_OP_RESIZE:
        resize(t, &r->y);
        break;
    case STK_OP_DROPOUT:
        dropout(t, &r->y);
        break;
    case STK_OP_LSTM:
        lstm(t, &r->y);
        break;
    case STK_OP_AFFINE:
        affine(t, r);
        break;
    case STK_OP_ADD:
        for (int64_t i = 0; i < r->y.count; i++)
            r->y.value[i] = t->x[0].value[i] + t->x[1].value[i];
        break;
    case STK_OP_RELU:
    case STK_OP_SILU:
    case STK_OP_GELU:
    case STK_OP_SIGMOID:
    case STK_OP_TANH:
        for (int64_t i = 0; i < r->y.count; i++)
            r->y.value[i] = activate(t->spec.kind, t->x[0].value[i]);
        break;
    default:
        op_oracle_judge(t, r->y.value);
    }
    for (int64_t i = 0; t->spec.relu && i < r->y.count; i++)
        r->y.value[i] = activate(STK_OP_RELU, r->y.value[i]);
}
