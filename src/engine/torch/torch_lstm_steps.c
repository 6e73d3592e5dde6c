/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of an LSTM by matrix products and curves: on CPUs, where PyTorch has no fused cells. */
#include "engine/torch/torch_lstm.h"

typedef stk__torch_lstm_layer layer;

static void map_to(const layer *l, const char *curve, stk__torch_handle from, stk__torch_handle to)
{
    STK_TORCH_RUN(l->s, curve, "out", STK_TORCH_T(from), STK_TORCH_T(to));
}

static void multiply_to(const layer *l, stk__torch_handle a, stk__torch_handle b, stk__torch_handle to)
{
    STK_TORCH_RUN(l->s, "aten::mul", "out", STK_TORCH_T(a), STK_TORCH_T(b), STK_TORCH_T(to));
}

static void slope_to(const layer *l, const char *curve, stk__torch_handle grad, stk__torch_handle at,
                     stk__torch_handle to)
{
    STK_TORCH_RUN(l->s, curve, "grad_input", STK_TORCH_T(grad), STK_TORCH_T(at), STK_TORCH_T(to));
}

static stk__torch_handle kept_of(const layer *l, size_t offset, int64_t step)
{
    return stk__torch_lstm_kept(l, offset, step);
}

static void step_forward(const layer *l, int64_t t)
{
    const int mark = l->s->count;
    const stk__torch_handle cell = kept_of(l, l->p.cells, t), state = kept_of(l, l->p.states, t);
    const stk__torch_handle i = stk__torch_lstm_gates(l, t, 0, 1), f = stk__torch_lstm_gates(l, t, 1, 1);
    const stk__torch_handle g = stk__torch_lstm_gates(l, t, 2, 1), o = stk__torch_lstm_gates(l, t, 3, 1);
    const stk__torch_handle i_and_f = stk__torch_lstm_gates(l, t, 0, 2);
    if (t) {
        const stk__torch_handle product = stk__torch_lstm_scratch(l, l->p.product, 0, 4 * l->z.h);
        stk__torch_lstm_matrix(l, kept_of(l, l->p.states, t - 1), l->turned_hh, product);
        stk__torch_add(l->s, stk__torch_lstm_gates(l, t, 0, 4), product, 1);
    }
    map_to(l, "aten::sigmoid", i_and_f, i_and_f);
    map_to(l, "aten::tanh", g, g);
    map_to(l, "aten::sigmoid", o, o);
    if (t)
        multiply_to(l, f, kept_of(l, l->p.cells, t - 1), cell);
    else
        STK_TORCH_RUN(l->s, "aten::zero_", "", STK_TORCH_T(cell));
    stk__torch_add_product(l->s, cell, i, g, 1);
    map_to(l, "aten::tanh", cell, state);
    multiply_to(l, state, o, state);
    stk__torch_release(l->s, mark);
}

static void forward(const layer *l, stk__torch_handle input, stk__torch_handle gates)
{
    stk__tensor *const *param = l->io->param + 4 * l->number;
    const stk__torch_form row =
        stk__torch_dense_form(l->s->engine, STK_DTYPE_F32, &(stk__shape){1, {4 * l->z.h}});
    const stk__torch_handle bias = stk__torch_part(l->s, l->io->scratch, l->p.bias, &row);
    stk__torch_copy(l->s, bias, stk__torch_dense(l->s, param[2]));
    stk__torch_add(l->s, bias, stk__torch_dense(l->s, param[3]), 1);
    STK_TORCH_RUN(l->s, "aten::linear", "out", STK_TORCH_T(input),
                  STK_TORCH_T(stk__torch_dense(l->s, param[0])), STK_TORCH_T_OR_NONE(bias),
                  STK_TORCH_T(gates));
    for (int64_t t = 0; t < l->z.t; t++)
        step_forward(l, t);
}

/* dcell: that of the step behind, and becomes that of this one; dstate is complete. */
static void close_gates(const layer *l, int64_t t, stk__torch_handle dstate)
{
    const stk__torch_handle dcell = l->dcell, bent = l->bent, through = l->through;
    const stk__torch_handle i = stk__torch_lstm_gates(l, t, 0, 1), f = stk__torch_lstm_gates(l, t, 1, 1);
    const stk__torch_handle g = stk__torch_lstm_gates(l, t, 2, 1), o = stk__torch_lstm_gates(l, t, 3, 1);
    map_to(l, "aten::tanh", kept_of(l, l->p.cells, t), bent);
    multiply_to(l, dstate, bent, through);
    slope_to(l, "aten::sigmoid_backward", through, o, stk__torch_lstm_dgates(l, t, 3, 1));
    multiply_to(l, dstate, o, through);
    slope_to(l, "aten::tanh_backward", through, bent, through);
    stk__torch_add(l->s, dcell, through, 1);
    multiply_to(l, dcell, g, through);
    slope_to(l, "aten::sigmoid_backward", through, i, stk__torch_lstm_dgates(l, t, 0, 1));
    multiply_to(l, dcell, i, through);
    slope_to(l, "aten::tanh_backward", through, g, stk__torch_lstm_dgates(l, t, 2, 1));
    if (t) {
        multiply_to(l, dcell, kept_of(l, l->p.cells, t - 1), through);
        slope_to(l, "aten::sigmoid_backward", through, f, stk__torch_lstm_dgates(l, t, 1, 1));
    } else {
        STK_TORCH_RUN(l->s, "aten::zero_", "", STK_TORCH_T(stk__torch_lstm_dgates(l, t, 1, 1)));
    }
    multiply_to(l, dcell, f, dcell);
}

static void step_backward(const layer *l, int64_t t)
{
    const int mark = l->s->count;
    const stk__torch_handle dstate = stk__torch_lstm_scratch(l, l->p.dstates, t, l->z.h);
    if (t + 1 < l->z.t) {
        const stk__torch_handle product = stk__torch_lstm_scratch(l, l->p.product, 0, l->z.h);
        stk__torch_lstm_matrix(l, stk__torch_lstm_dgates(l, t + 1, 0, 4), l->weight_hh, product);
        stk__torch_add(l->s, dstate, product, 1);
    }
    close_gates(l, t, dstate);
    stk__torch_release(l->s, mark);
}

static void backward(layer *l)
{
    l->dcell = stk__torch_lstm_scratch(l, l->p.dcell, 0, l->z.h);
    l->bent = stk__torch_lstm_scratch(l, l->p.bent, 0, l->z.h);
    l->through = stk__torch_lstm_scratch(l, l->p.through, 0, l->z.h);
    STK_TORCH_RUN(l->s, "aten::zero_", "", STK_TORCH_T(l->dcell));
    for (int64_t t = l->z.t - 1; t >= 0; t--)
        step_backward(l, t);
}

const stk__torch_lstm_way stk__torch_lstm_steps = {forward, backward, false};
