/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of an LSTM by PyTorch's fused cells, which only CUDA has: one kernel beside the matrix product.
 *
 * A cell returns new tensors (state, cell, gates; backward: gradients of gates and cell). Those of RUN steps
 * are held and go to our memory by one kernel for all of them; until then the next step reads them where they
 * are. */
#include "engine/torch/torch_lstm.h"

#include <string.h>

enum { RUN = 30, RESULTS = 3 };

typedef stk__torch_lstm_layer layer;

/* What the steps of a run have returned, by time; count of them are filled. */
typedef struct run {
    stk__torch_handle result[RESULTS][RUN];
    int64_t first, count; /* steps first .. first + count - 1 */
} run;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Releases what has come behind `mark` but for the results of the last call. */
static void hold_results(stk__torch_scope *s, int mark)
{
    stk__torch_handle kept[RESULTS];
    if (s->status != STK_OK) return;
    s->count -= RESULTS;
    memcpy(kept, s->held + s->count, sizeof kept);
    stk__torch_release(s, mark);
    memcpy(s->held + s->count, kept, sizeof kept);
    s->count += RESULTS;
}

/* Result i of all steps of a run becomes rows of memory. */
static void store(const layer *l, const run *r, int i, stk__torch_lstm_block to)
{
    to.rows = r->count * l->z.n;
    to.first = r->first * l->z.n * to.width;
    STK_TORCH_RUN(l->s, "aten::cat", "out", STK_TORCH_LIST(r->result[i], (size_t)r->count), STK_TORCH_I(0),
                  STK_TORCH_T(stk__torch_lstm_see(l->s, to)));
}

static stk__torch_handle zeros(const layer *l, size_t offset, int64_t width)
{
    const stk__torch_handle made = stk__torch_lstm_scratch(l, offset, 0, width);
    STK_TORCH_RUN(l->s, "aten::zero_", "", STK_TORCH_T(made));
    return made;
}

static void step_forward(const layer *l, run *r, int64_t i)
{
    const int mark = l->s->count;
    const int64_t t = r->first + i;
    stk__tensor *const *param = l->io->param + 4 * l->number;
    stk__torch_handle product, cell;
    if (t) {
        const stk__torch_handle state = i ? r->result[0][i - 1] : stk__torch_lstm_kept(l, l->p.states, t - 1);
        product = stk__torch_lstm_scratch(l, l->p.product, 0, 4 * l->z.h);
        cell = i ? r->result[1][i - 1] : stk__torch_lstm_kept(l, l->p.cells, t - 1);
        stk__torch_lstm_matrix(l, state, l->turned_hh, product);
    } else {
        product = zeros(l, l->p.product, 4 * l->z.h);
        cell = zeros(l, l->p.dcell, l->z.h);
    }
    stk__torch_request *call = STK_TORCH_REQUEST(
        "aten::_thnn_fused_lstm_cell", "", RESULTS, STK_TORCH_T(stk__torch_lstm_gates(l, t, 0, 4)),
        STK_TORCH_T(product), STK_TORCH_T(cell), STK_TORCH_T_OR_NONE(stk__torch_dense(l->s, param[2])),
        STK_TORCH_T_OR_NONE(stk__torch_dense(l->s, param[3])));
    stk__torch_call(l->s, call);
    for (int k = 0; k < RESULTS; k++)
        r->result[k][i] = call->result[k];
    hold_results(l->s, mark);
}

/* gates holds the products of inputs and weights until the cells' take their place. */
static void forward(const layer *l, stk__torch_handle input, stk__torch_handle gates)
{
    const size_t at = l->p.layers + (size_t)l->number * l->p.layer;
    STK_TORCH_RUN(l->s, "aten::linear", "out", STK_TORCH_T(input),
                  STK_TORCH_T(stk__torch_dense(l->s, l->io->param[4 * l->number])), STK_TORCH_NOTHING,
                  STK_TORCH_T(gates));
    const int mark = l->s->count;
    for (int64_t t = 0; t < l->z.t && l->s->status == STK_OK; t += RUN) {
        run r = {.first = t, .count = least(RUN, l->z.t - t)};
        for (int64_t i = 0; i < r.count; i++)
            step_forward(l, &r, i);
        if (l->last_only && t + r.count == l->z.t) stk__torch_take(l->s, l->io->y, r.result[0][r.count - 1]);
        stk__torch_lstm_block to = {.memory = l->io->saved, .offset = at + l->p.states, .width = l->z.h};
        store(l, &r, 0, to);
        to.offset = at + l->p.cells;
        store(l, &r, 1, to);
        to.offset = at, to.width = 4 * l->z.h;
        store(l, &r, 2, to);
        stk__torch_release(l->s, mark);
    }
}

/* Gradient of a step's state: dy or dstates, and what comes from the step behind, whose gates have dgates.
 * linear adds the product to what it is given, which may be a matrix, and its result, too. */
static stk__torch_handle find_dstate(const layer *l, int64_t t, stk__torch_handle dgates)
{
    if (l->last_only && !dgates)
        return stk__torch_shaped(l->s, l->io->dy, &(stk__shape){2, {l->z.n, l->z.h}});
    const stk__torch_handle dstate = l->last_only ? stk__torch_lstm_scratch(l, l->p.product, 0, l->z.h)
                                                  : stk__torch_lstm_scratch(l, l->p.dstates, t, l->z.h);
    if (dgates)
        STK_TORCH_RUN(l->s, "aten::linear", "out", STK_TORCH_T(dgates), STK_TORCH_T(l->turned_hh),
                      STK_TORCH_T_OR_NONE(l->last_only ? NULL : dstate), STK_TORCH_T(dstate));
    return dstate;
}

/* One step of a run, whose steps are taken from the last one on; dgates and dcell are of the step behind, or
 * NULL. */
static void step_backward(const layer *l, run *r, int64_t i, stk__torch_handle dgates,
                          stk__torch_handle dcell)
{
    const int mark = l->s->count;
    const int64_t t = r->first + i;
    const stk__torch_handle dstate = find_dstate(l, t, dgates);
    const stk__torch_handle before =
        t ? stk__torch_lstm_kept(l, l->p.cells, t - 1) : zeros(l, l->p.dcell, l->z.h);
    stk__torch_request *call = STK_TORCH_REQUEST(
        "aten::_thnn_fused_lstm_cell_backward_impl", "", RESULTS, STK_TORCH_T_OR_NONE(dstate),
        STK_TORCH_T_OR_NONE(dcell), STK_TORCH_T(before), STK_TORCH_T(stk__torch_lstm_kept(l, l->p.cells, t)),
        STK_TORCH_T(stk__torch_lstm_gates(l, t, 0, 4)), STK_TORCH_I(false)); /* no sum for the bias */
    stk__torch_call(l->s, call);
    r->result[0][i] = call->result[0];
    r->result[1][i] = call->result[1];
    hold_results(l->s, mark);
}

static void backward(layer *l)
{
    const stk__torch_lstm_block to = {.memory = l->io->scratch, .offset = l->p.dgates, .width = 4 * l->z.h};
    const int mark = l->s->count;
    stk__torch_handle dgates = NULL, dcell = NULL;
    for (int64_t end = l->z.t; end > 0 && l->s->status == STK_OK;) {
        run r = {.count = least(RUN, end)};
        r.first = end -= r.count;
        for (int64_t i = r.count - 1; i >= 0; i--) {
            step_backward(l, &r, i, dgates, dcell);
            dgates = r.result[0][i], dcell = r.result[1][i];
        }
        const int results = l->s->count;
        store(l, &r, 0, to);
        stk__torch_release(l->s, results);
        hold_results(l->s, mark); /* of the first step: the previous run continues there */
    }
    stk__torch_release(l->s, mark);
}

const stk__torch_lstm_way stk__torch_lstm_cells = {forward, backward, true};
