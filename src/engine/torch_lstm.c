/* LSTM composed of matrix products and curves, gates in PyTorch's order: input, forget, cell, output. Runs on
 * every device. Everything inside lies by time, [t n ..]; the products with the inputs of all steps are one.
 */
#include "engine/torch_call.h"

typedef struct sizes {
    int64_t n, t, f, h;
} sizes;

/* Offsets in saved and scratch. */
typedef struct places {
    size_t input;                /* saved: x by time [t n f] */
    size_t layers, layer;        /* saved: first layer's, bytes of one layer */
    size_t cells, states;        /* from a layer's start, where its gates [t n 4h] are */
    size_t bias;                 /* scratch: [4h], sum of both */
    size_t product;              /* scratch: [n 4h] */
    size_t dgates, dstates;      /* scratch: [t n 4h], [t n max(f, h)] */
    size_t dcell, bent, through; /* scratch: [n h] */
    stk__op_needs needs;
} places;

/* One layer of one run. */
typedef struct layer {
    stk__torch_scope *s;
    const stk__op_io *io;
    sizes z;
    places p;
    int number;
    int64_t in;                             /* features of its input */
    stk__torch_handle weight_hh, turned_hh; /* [4h h] and [h 4h] */
    stk__torch_handle dcell, bent, through; /* [n h], of whichever step; backward only */
} layer;

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

/* A matrix in memory: width values from a row of stride on. */
typedef struct block {
    const stk__tensor *memory;
    size_t offset;
    int64_t rows, width, stride, first; /* first: values before it */
} block;

static stk__torch_handle see(stk__torch_scope *s, block b)
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
    l.weight_hh = see(s, weight);
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

/* Gates of one step, count of them from the first on. */
static stk__torch_handle gates_of(const layer *l, int64_t step, int first, int count)
{
    const int64_t h = l->z.h;
    return see(l->s, (block){.memory = l->io->saved,
                             .offset = layer_at(l, l->number),
                             .rows = l->z.n,
                             .width = count * h,
                             .stride = 4 * h,
                             .first = step * l->z.n * 4 * h + first * h});
}

static stk__torch_handle dgates_of(const layer *l, int64_t step, int first, int count)
{
    const int64_t h = l->z.h;
    return see(l->s, (block){.memory = l->io->scratch,
                             .offset = l->p.dgates,
                             .rows = l->z.n,
                             .width = count * h,
                             .stride = 4 * h,
                             .first = step * l->z.n * 4 * h + first * h});
}

/* What lies at an offset of a layer's memory for one step: cells or states. */
static stk__torch_handle kept_of(const layer *l, size_t offset, int64_t step)
{
    return see(l->s, (block){.memory = l->io->saved,
                             .offset = layer_at(l, l->number) + offset,
                             .rows = l->z.n,
                             .width = l->z.h,
                             .first = step * l->z.n * l->z.h});
}

static stk__torch_handle scratch_of(const layer *l, size_t offset, int64_t step, int64_t width)
{
    return see(l->s, (block){.memory = l->io->scratch,
                             .offset = offset,
                             .rows = l->z.n,
                             .width = width,
                             .first = step * l->z.n * width});
}

static void map_to(const layer *l, const char *curve, stk__torch_handle from, stk__torch_handle to)
{
    STK_TORCH_RUN(l->s, curve, "out", STK_TORCH_T(from), STK_TORCH_T(to));
}

static void multiply_to(const layer *l, stk__torch_handle a, stk__torch_handle b, stk__torch_handle to)
{
    STK_TORCH_RUN(l->s, "aten::mul", "out", STK_TORCH_T(a), STK_TORCH_T(b), STK_TORCH_T(to));
}

static void matrix_to(const layer *l, stk__torch_handle a, stk__torch_handle b, stk__torch_handle to)
{
    STK_TORCH_RUN(l->s, "aten::mm", "out", STK_TORCH_T(a), STK_TORCH_T(b), STK_TORCH_T(to));
}

static void slope_to(const layer *l, const char *curve, stk__torch_handle grad, stk__torch_handle at,
                     stk__torch_handle to)
{
    STK_TORCH_RUN(l->s, curve, "grad_input", STK_TORCH_T(grad), STK_TORCH_T(at), STK_TORCH_T(to));
}

static void step_forward(const layer *l, int64_t t)
{
    const int mark = l->s->count;
    const stk__torch_handle cell = kept_of(l, l->p.cells, t), state = kept_of(l, l->p.states, t);
    const stk__torch_handle i = gates_of(l, t, 0, 1), f = gates_of(l, t, 1, 1), g = gates_of(l, t, 2, 1);
    const stk__torch_handle i_and_f = gates_of(l, t, 0, 2), o = gates_of(l, t, 3, 1);
    if (t) {
        const stk__torch_handle product = scratch_of(l, l->p.product, 0, 4 * l->z.h);
        matrix_to(l, kept_of(l, l->p.states, t - 1), l->turned_hh, product);
        stk__torch_add(l->s, gates_of(l, t, 0, 4), product, 1);
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

static void forward_layer(const layer *l)
{
    const int64_t steps = l->z.n * l->z.t, width = 4 * l->z.h;
    stk__tensor *const *param = l->io->param + 4 * l->number;
    const stk__torch_form row = stk__torch_dense_form(l->s->engine, STK_DTYPE_F32, &(stk__shape){1, {width}});
    const stk__torch_handle bias = stk__torch_part(l->s, l->io->scratch, l->p.bias, &row);
    stk__torch_copy(l->s, bias, stk__torch_dense(l->s, param[2]));
    stk__torch_add(l->s, bias, stk__torch_dense(l->s, param[3]), 1);
    STK_TORCH_RUN(l->s, "aten::linear", "out", STK_TORCH_T(see(l->s, input_of(l, l->z.t))),
                  STK_TORCH_T(stk__torch_dense(l->s, param[0])), STK_TORCH_T_OR_NONE(bias),
                  STK_TORCH_T(see(l->s, (block){.memory = l->io->saved,
                                                .offset = layer_at(l, l->number),
                                                .rows = steps,
                                                .width = width})));
    for (int64_t t = 0; t < l->z.t; t++)
        step_forward(l, t);
}

static stk_status lstm_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const sizes z = sizes_of(op);
    const places p = places_of(op);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    stk__torch_copy(&s, in_time(&s, &z, io->saved, p.input, z.f), by_time(&s, &z, io->x[0], z.f));
    for (int number = 0; number < op->spec.layers; number++) {
        const layer l = layer_of(&s, op, io, number);
        forward_layer(&l);
        stk__torch_release(&s, 0);
    }
    const layer top = layer_of(&s, op, io, op->spec.layers - 1);
    if (op->spec.last)
        stk__torch_copy(&s, stk__torch_shaped(&s, io->y, &op->form.output), kept_of(&top, p.states, z.t - 1));
    else
        stk__torch_copy(&s, by_time(&s, &z, io->y, z.h),
                        in_time(&s, &z, io->saved, layer_at(&top, top.number) + p.states, z.h));
    return stk__torch_end(&s);
}

/* dcell: that of the step behind, and becomes that of this one; dstate is complete. */
static void close_gates(const layer *l, int64_t t, stk__torch_handle dstate)
{
    const stk__torch_handle dcell = l->dcell, bent = l->bent, through = l->through;
    const stk__torch_handle i = gates_of(l, t, 0, 1), f = gates_of(l, t, 1, 1);
    const stk__torch_handle g = gates_of(l, t, 2, 1), o = gates_of(l, t, 3, 1);
    map_to(l, "aten::tanh", kept_of(l, l->p.cells, t), bent);
    multiply_to(l, dstate, bent, through);
    slope_to(l, "aten::sigmoid_backward", through, o, dgates_of(l, t, 3, 1));
    multiply_to(l, dstate, o, through);
    slope_to(l, "aten::tanh_backward", through, bent, through);
    stk__torch_add(l->s, dcell, through, 1);
    multiply_to(l, dcell, g, through);
    slope_to(l, "aten::sigmoid_backward", through, i, dgates_of(l, t, 0, 1));
    multiply_to(l, dcell, i, through);
    slope_to(l, "aten::tanh_backward", through, g, dgates_of(l, t, 2, 1));
    if (t) {
        multiply_to(l, dcell, kept_of(l, l->p.cells, t - 1), through);
        slope_to(l, "aten::sigmoid_backward", through, f, dgates_of(l, t, 1, 1));
    } else {
        STK_TORCH_RUN(l->s, "aten::zero_", "", STK_TORCH_T(dgates_of(l, t, 1, 1)));
    }
    multiply_to(l, dcell, f, dcell);
}

static void step_backward(const layer *l, int64_t t)
{
    const int mark = l->s->count;
    const stk__torch_handle dstate = scratch_of(l, l->p.dstates, t, l->z.h);
    if (t + 1 < l->z.t) {
        const stk__torch_handle product = scratch_of(l, l->p.product, 0, l->z.h);
        matrix_to(l, dgates_of(l, t + 1, 0, 4), l->weight_hh, product);
        stk__torch_add(l->s, dstate, product, 1);
    }
    close_gates(l, t, dstate);
    stk__torch_release(l->s, mark);
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
    if (values.rows)
        stk__torch_learn(l->s, l->io, 4 * l->number + param,
                         STK_TORCH_RUN(l->s, "aten::mm", "",
                                       STK_TORCH_T(see_turned(l->s, dgates_from(l, first_step))),
                                       STK_TORCH_T(see(l->s, values))));
    else if (!l->io->add_dparam) /* a single step has no state before it */
        STK_TORCH_RUN(l->s, "aten::zero_", "", STK_TORCH_T(stk__torch_dense(l->s, dparam)));
}

static void learn_layer(const layer *l)
{
    const block states = {.memory = l->io->saved,
                          .offset = layer_at(l, l->number) + l->p.states,
                          .rows = (l->z.t - 1) * l->z.n,
                          .width = l->z.h};
    learn_weight(l, 0, 0, input_of(l, l->z.t));
    learn_weight(l, 1, 1, states);
    const stk__torch_handle bias =
        STK_TORCH_RUN(l->s, "aten::sum", "dim_IntList", STK_TORCH_T(see(l->s, dgates_from(l, 0))),
                      STK_TORCH_SOME_INT_LIST(&(int64_t){0}, 1), STK_TORCH_I(false), STK_TORCH_NOTHING);
    stk__torch_learn(l->s, l->io, 4 * l->number + 2, bias);
    stk__torch_learn(l->s, l->io, 4 * l->number + 3, bias);
}

/* dstates becomes the gradient of the layer's input. */
static void backward_layer(const layer *l)
{
    STK_TORCH_RUN(l->s, "aten::zero_", "", STK_TORCH_T(l->dcell));
    for (int64_t t = l->z.t - 1; t >= 0; t--)
        step_backward(l, t);
    learn_layer(l);
    if (!l->number && !stk__torch_at(l->io->dx, 0)) return;
    matrix_to(l, see(l->s, dgates_from(l, 0)), stk__torch_dense(l->s, l->io->param[4 * l->number]),
              see(l->s, (block){.memory = l->io->scratch,
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
        stk__torch_copy(s, scratch_of(&top, top.p.dstates, z.t - 1, z.h),
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
    begin_slopes(&s, op, io);
    for (int number = op->spec.layers - 1; number >= 0; number--) {
        layer l = layer_of(&s, op, io, number);
        l.dcell = scratch_of(&l, p.dcell, 0, z.h);
        l.bent = scratch_of(&l, p.bent, 0, z.h);
        l.through = scratch_of(&l, p.through, 0, z.h);
        backward_layer(&l);
        stk__torch_release(&s, 0);
    }
    if (stk__torch_at(io->dx, 0))
        stk__torch_copy(&s, by_time(&s, &z, io->dx[0], z.f), in_time(&s, &z, io->scratch, p.dstates, z.f));
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_lstm = {lstm_forward, lstm_backward, lstm_needs};
