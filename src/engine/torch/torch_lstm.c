/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM: what belongs to all steps at once. The products with the inputs of all steps are one, and so are the
 * gradients of weights; who takes the steps, see torch_lstm.h.
 */
#include "engine/torch/torch_lstm.h"

typedef stk__torch_lstm_sizes sizes;
typedef stk__torch_lstm_places places;
typedef stk__torch_lstm_layer layer;
typedef stk__torch_lstm_block block;

static const stk__torch_lstm_way *way_of(const stk__op *op)
{
    return stk__torch_device_is_host(&stk__torch_of(op->engine)->device) ? &stk__torch_lstm_steps
                                                                         : &stk__torch_lstm_cells;
}

static sizes sizes_of(const stk__op *op)
{
    const int64_t *x = op->spec.input[0].dim;
    return (sizes){x[0], x[1], x[2], op->spec.hidden};
}

static size_t floats(int64_t a, int64_t b)
{
    return (size_t)(a * b) * sizeof(float);
}

static places places_of(const stk__op *op)
{
    const sizes z = sizes_of(op);
    const int64_t steps = z.n * z.t, wide = z.f > z.h ? z.f : z.h;
    places p = {0};
    size_t *saved = &p.needs.saved_bytes, *scratch = &p.needs.scratch_bytes;
    p.input = stk__torch_reserve(saved, floats(steps, z.f));
    p.layers = *saved;
    stk__torch_reserve(&p.layer, floats(steps, 4 * z.h));
    p.cells = stk__torch_reserve(&p.layer, floats(steps, z.h));
    p.states = stk__torch_reserve(&p.layer, floats(steps, z.h));
    stk__torch_reserve(saved, (size_t)op->spec.layers * p.layer);
    p.bias = stk__torch_reserve(scratch, floats(1, 4 * z.h));
    p.product = stk__torch_reserve(scratch, floats(z.n, 4 * z.h));
    p.dgates = stk__torch_reserve(scratch, floats(steps, 4 * z.h));
    p.dstates = stk__torch_reserve(scratch, floats(steps, wide));
    p.dcell = stk__torch_reserve(scratch, floats(z.n, z.h));
    p.bent = stk__torch_reserve(scratch, floats(z.n, z.h));
    p.through = stk__torch_reserve(scratch, floats(z.n, z.h));
    return p;
}

static stk__op_needs lstm_needs(const stk__op *op)
{
    return places_of(op).needs;
}

stk__torch_handle stk__torch_lstm_see(stk__torch_scope *s, block b)
{
    const stk__torch_form form = {.ndim = 2,
                                  .size = {b.rows, b.width},
                                  .stride = {b.stride ? b.stride : b.width, 1},
                                  .offset = b.first,
                                  .dtype = s->engine->api->aoti_torch_dtype_float32()};
    return stk__torch_part(s, b.memory, b.offset, &form);
}

static stk__torch_handle see_turned(stk__torch_scope *s, block b)
{
    const stk__torch_form form = {.ndim = 2,
                                  .size = {b.width, b.rows},
                                  .stride = {1, b.width},
                                  .offset = b.first,
                                  .dtype = s->engine->api->aoti_torch_dtype_float32()};
    return stk__torch_part(s, b.memory, b.offset, &form);
}

/* A tensor [n t width] seen by time. */
static stk__torch_handle by_time(stk__torch_scope *s, const sizes *z, const stk__tensor *tensor,
                                 int64_t width)
{
    const stk__torch_form form = {.ndim = 3,
                                  .size = {z->t, z->n, width},
                                  .stride = {width, z->t * width, 1},
                                  .dtype = s->engine->api->aoti_torch_dtype_float32()};
    return stk__torch_view(s, tensor, &form);
}

static stk__torch_handle in_time(stk__torch_scope *s, const sizes *z, const stk__tensor *memory,
                                 size_t offset, int64_t width)
{
    const stk__torch_form form =
        stk__torch_dense_form(s->engine, STK_DTYPE_F32, &(stk__shape){3, {z->t, z->n, width}});
    return stk__torch_part(s, memory, offset, &form);
}

static layer layer_of(stk__torch_scope *s, const stk__op *op, const stk__op_io *io, int number)
{
    layer l = {.s = s, .io = io, .z = sizes_of(op), .p = places_of(op), .number = number};
    const block weight = {.memory = io->param[4 * number + 1], .rows = 4 * l.z.h, .width = l.z.h};
    l.in = number ? l.z.h : l.z.f;
    l.weight_hh = stk__torch_lstm_see(s, weight);
    l.turned_hh = see_turned(s, weight);
    return l;
}

static size_t layer_at(const layer *l, int number)
{
    return l->p.layers + (size_t)number * l->p.layer;
}

/* The input of all steps, or the first `steps` of them. */
static block input_of(const layer *l, int64_t steps)
{
    const size_t at = l->number ? layer_at(l, l->number - 1) + l->p.states : l->p.input;
    return (block){.memory = l->io->saved, .offset = at, .rows = steps * l->z.n, .width = l->in};
}

stk__torch_handle stk__torch_lstm_gates(const layer *l, int64_t step, int first, int count)
{
    const int64_t h = l->z.h;
    return stk__torch_lstm_see(l->s, (block){.memory = l->io->saved,
                                             .offset = layer_at(l, l->number),
                                             .rows = l->z.n,
                                             .width = count * h,
                                             .stride = 4 * h,
                                             .first = step * l->z.n * 4 * h + first * h});
}

stk__torch_handle stk__torch_lstm_dgates(const layer *l, int64_t step, int first, int count)
{
    const int64_t h = l->z.h;
    return stk__torch_lstm_see(l->s, (block){.memory = l->io->scratch,
                                             .offset = l->p.dgates,
                                             .rows = l->z.n,
                                             .width = count * h,
                                             .stride = 4 * h,
                                             .first = step * l->z.n * 4 * h + first * h});
}

stk__torch_handle stk__torch_lstm_kept(const layer *l, size_t offset, int64_t step)
{
    return stk__torch_lstm_see(l->s, (block){.memory = l->io->saved,
                                             .offset = layer_at(l, l->number) + offset,
                                             .rows = l->z.n,
                                             .width = l->z.h,
                                             .first = step * l->z.n * l->z.h});
}

stk__torch_handle stk__torch_lstm_scratch(const layer *l, size_t offset, int64_t step, int64_t width)
{
    return stk__torch_lstm_see(l->s, (block){.memory = l->io->scratch,
                                             .offset = offset,
                                             .rows = l->z.n,
                                             .width = width,
                                             .first = step * l->z.n * width});
}

void stk__torch_lstm_matrix(const layer *l, stk__torch_handle a, stk__torch_handle b, stk__torch_handle to)
{
    STK_TORCH_RUN(l->s, "aten::mm", "out", STK_TORCH_T(a), STK_TORCH_T(b), STK_TORCH_T(to));
}

static void forward_layer(const stk__op *op, const layer *l)
{
    const block gates = {.memory = l->io->saved,
                         .offset = layer_at(l, l->number),
                         .rows = l->z.n * l->z.t,
                         .width = 4 * l->z.h};
    way_of(op)->forward(l, stk__torch_lstm_see(l->s, input_of(l, l->z.t)), stk__torch_lstm_see(l->s, gates));
}

static stk_status lstm_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const sizes z = sizes_of(op);
    const places p = places_of(op);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const bool last_only = op->spec.last && way_of(op)->knows_last;
    stk__torch_copy(&s, in_time(&s, &z, io->saved, p.input, z.f), by_time(&s, &z, io->x[0], z.f));
    for (int number = 0; number < op->spec.layers; number++) {
        layer l = layer_of(&s, op, io, number);
        l.last_only = last_only && number == op->spec.layers - 1;
        forward_layer(op, &l);
        stk__torch_release(&s, 0);
    }
    if (last_only) return stk__torch_end(&s);
    const layer top = layer_of(&s, op, io, op->spec.layers - 1);
    if (op->spec.last)
        stk__torch_copy(&s, stk__torch_shaped(&s, io->y, &op->form.output),
                        stk__torch_lstm_kept(&top, p.states, z.t - 1));
    else
        stk__torch_copy(&s, by_time(&s, &z, io->y, z.h),
                        in_time(&s, &z, io->saved, layer_at(&top, top.number) + p.states, z.h));
    return stk__torch_end(&s);
}

/* Gradients of all steps' gates, from a step on. */
static block dgates_from(const layer *l, int64_t step)
{
    return (block){.memory = l->io->scratch,
                   .offset = l->p.dgates,
                   .rows = (l->z.t - step) * l->z.n,
                   .width = 4 * l->z.h,
                   .first = step * l->z.n * 4 * l->z.h};
}

static void learn_weight(const layer *l, int param, int64_t first_step, block values)
{
    const stk__tensor *dparam = stk__torch_at(l->io->dparam, 4 * l->number + param);
    if (!dparam) return;
    const stk__torch_handle dgates = see_turned(l->s, dgates_from(l, first_step));
    if (values.rows && !l->io->add_dparam)
        stk__torch_lstm_matrix(l, dgates, stk__torch_lstm_see(l->s, values), stk__torch_dense(l->s, dparam));
    else if (values.rows)
        stk__torch_learn(l->s, l->io, 4 * l->number + param,
                         STK_TORCH_RUN(l->s, "aten::mm", "", STK_TORCH_T(dgates),
                                       STK_TORCH_T(stk__torch_lstm_see(l->s, values))));
    else if (!l->io->add_dparam) /* a single step has no state before it */
        STK_TORCH_RUN(l->s, "aten::zero_", "", STK_TORCH_T(stk__torch_dense(l->s, dparam)));
}

/* Both biases have the gradient of the sum of both. */
static void learn_biases(const layer *l)
{
    const int first = 4 * l->number + 2;
    const stk__tensor *one = stk__torch_at(l->io->dparam, first),
                      *other = stk__torch_at(l->io->dparam, first + 1);
    const stk__torch_handle dgates = stk__torch_lstm_see(l->s, dgates_from(l, 0));
    const stk__torch_arg rows = STK_TORCH_SOME_INT_LIST(&(int64_t){0}, 1);
    if (!one && !other) return;
    if (l->io->add_dparam || !one || !other) {
        const stk__torch_handle sum = STK_TORCH_RUN(l->s, "aten::sum", "dim_IntList", STK_TORCH_T(dgates),
                                                    rows, STK_TORCH_I(false), STK_TORCH_NOTHING);
        stk__torch_learn(l->s, l->io, first, sum);
        stk__torch_learn(l->s, l->io, first + 1, sum);
        return;
    }
    const stk__torch_handle sum = stk__torch_dense(l->s, one);
    STK_TORCH_RUN(l->s, "aten::sum", "IntList_out", STK_TORCH_T(dgates), rows, STK_TORCH_I(false),
                  STK_TORCH_NOTHING, STK_TORCH_T(sum));
    STK_TORCH_RUN(l->s, "aten::mul", "out", STK_TORCH_T(sum), STK_TORCH_T(l->s->engine->one),
                  STK_TORCH_T(stk__torch_dense(l->s, other)));
}

static void learn_layer(const layer *l)
{
    const block states = {.memory = l->io->saved,
                          .offset = layer_at(l, l->number) + l->p.states,
                          .rows = (l->z.t - 1) * l->z.n,
                          .width = l->z.h};
    learn_weight(l, 0, 0, input_of(l, l->z.t));
    learn_weight(l, 1, 1, states);
    learn_biases(l);
}

/* dstates becomes the gradient of the layer's input. */
static void backward_layer(const stk__op *op, layer *l)
{
    way_of(op)->backward(l);
    learn_layer(l);
    if (!l->number && !stk__torch_at(l->io->dx, 0)) return;
    stk__torch_lstm_matrix(l, stk__torch_lstm_see(l->s, dgates_from(l, 0)),
                           stk__torch_dense(l->s, l->io->param[4 * l->number]),
                           stk__torch_lstm_see(l->s, (block){.memory = l->io->scratch,
                                                             .offset = l->p.dstates,
                                                             .rows = l->z.t * l->z.n,
                                                             .width = l->in}));
}

static void begin_slopes(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const sizes z = sizes_of(op);
    const layer top = layer_of(s, op, io, op->spec.layers - 1);
    const stk__torch_handle dstates = in_time(s, &z, io->scratch, top.p.dstates, z.h);
    if (op->spec.last) {
        STK_TORCH_RUN(s, "aten::zero_", "", STK_TORCH_T(dstates));
        stk__torch_copy(s, stk__torch_lstm_scratch(&top, top.p.dstates, z.t - 1, z.h),
                        stk__torch_shaped(s, io->dy, &op->form.output));
    } else {
        stk__torch_copy(s, dstates, by_time(s, &z, io->dy, z.h));
    }
    stk__torch_release(s, 0);
}

static stk_status lstm_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const sizes z = sizes_of(op);
    const places p = places_of(op);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const bool last_only = op->spec.last && way_of(op)->knows_last;
    if (!last_only) begin_slopes(&s, op, io);
    for (int number = op->spec.layers - 1; number >= 0; number--) {
        layer l = layer_of(&s, op, io, number);
        l.last_only = last_only && number == op->spec.layers - 1;
        backward_layer(op, &l);
        stk__torch_release(&s, 0);
    }
    if (stk__torch_at(io->dx, 0))
        stk__torch_copy(&s, by_time(&s, &z, io->dx[0], z.f), in_time(&s, &z, io->scratch, p.dstates, z.f));
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_lstm = {lstm_forward, lstm_backward, lstm_needs};
