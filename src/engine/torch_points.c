/* The loss of points by heat maps with offsets (op.h, image_size). */
#include "engine/torch_loss.h"

/* Shapes: [n k cells] of maps, [n k 1] of everything a point has one of. */
typedef struct maps {
    const stk__op *op;
    const stk__op_io *io;
    int64_t n, k, h, w, cells;
    stk__torch_handle logs; /* of the heat's softmax, scratch */
    stk__torch_handle weights;
} maps;

/* Where the points lie, and what they count. */
typedef struct spots {
    stk__torch_handle cell;      /* i64; 0 where a point does not count */
    stk__torch_handle offset[2]; /* f32, x and y, in cells from the cell's centre */
    stk__torch_handle share;     /* f32: weight of its sample; 0: left out */
} spots;

/* scratch: heat, later pulls; logarithms. */
static stk__op_needs needs(const stk__op *op)
{
    const size_t bytes = (size_t)stk__shape_count(&op->spec.input[0]) / 3 * sizeof(float);
    stk__op_needs made = {0};
    stk__torch_reserve(&made.scratch_bytes, bytes);
    stk__torch_reserve(&made.scratch_bytes, bytes);
    return made;
}

static maps maps_of(stk__torch_scope *s, const stk__op *op, const stk__op_io *io)
{
    const int64_t *x = op->spec.input[0].dim;
    maps m = {.op = op, .io = io, .n = x[0], .k = x[3] / 3, .h = x[1], .w = x[2], .cells = x[1] * x[2]};
    m.weights = stk__torch_per_sample(s, io->x[STK_LOSS_WEIGHTS], 3);
    return m;
}

static stk__torch_handle scratch_part(stk__torch_scope *s, const maps *m, int i)
{
    const stk__shape shape = {3, {m->n, m->k, m->cells}};
    const stk__torch_form form = stk__torch_dense_form(s->engine, STK_DTYPE_F32, &shape);
    return stk__torch_part(s, m->io->scratch, (size_t)i * (needs(m->op).scratch_bytes / 2), &form);
}

/* Every step-th channel of a picture [n h w 3k] from the first on, as [n k cells]. */
static stk__torch_handle channels(stk__torch_scope *s, const maps *m, const stk__tensor *tensor,
                                  int64_t first, int64_t step)
{
    const stk__torch_form form = {.ndim = 3,
                                  .size = {m->n, m->k, m->cells},
                                  .stride = {m->cells * 3 * m->k, step, 3 * m->k},
                                  .offset = first,
                                  .dtype = s->engine->api->aoti_torch_dtype_float32()};
    return stk__torch_view(s, tensor, &form);
}

/* Component a of the points: x, y, visible. */
static stk__torch_handle component(stk__torch_scope *s, const maps *m, int64_t a)
{
    const stk__torch_form form = {.ndim = 3,
                                  .size = {m->n, m->k, 1},
                                  .stride = {3 * m->k, 3, 1},
                                  .offset = a,
                                  .dtype = s->engine->api->aoti_torch_dtype_float32()};
    return stk__torch_view(s, m->io->x[STK_LOSS_TARGET], &form);
}

static stk__torch_handle choose(stk__torch_scope *s, stk__torch_handle where, stk__torch_handle values)
{
    return STK_TORCH_RUN(s, "aten::where", "self", STK_TORCH_T(where), STK_TORCH_T(values),
                         STK_TORCH_T(s->engine->zero));
}

/* Place along one axis (0: x, 1: y) in cells, f64; whether it is inside is joined to *inside. */
static stk__torch_handle place_along(stk__torch_scope *s, const maps *m, int axis, stk__torch_handle *inside)
{
    const int64_t length = axis ? m->h : m->w;
    const double cell_px = (double)m->op->spec.image_size[1 - axis] / (double)length;
    const stk__torch_handle px =
        stk__torch_convert(s, component(s, m, axis), s->engine->api->aoti_torch_dtype_float64());
    const stk__torch_handle place =
        STK_TORCH_RUN(s, "aten::div", "Tensor", STK_TORCH_T(px), STK_TORCH_T(stk__torch_number(s, cell_px)));
    *inside = stk__torch_both(s, *inside, stk__torch_compare(s, "aten::ge", place, s->engine->zero));
    *inside = stk__torch_both(s, *inside,
                              stk__torch_compare(s, "aten::lt", place, stk__torch_number(s, (double)length)));
    return place;
}

static spots find_spots(stk__torch_scope *s, const maps *m)
{
    const stk__torch_api *api = s->engine->api;
    stk__torch_handle inside = stk__torch_compare(s, "aten::gt", component(s, m, 2), s->engine->zero);
    stk__torch_handle place[2], floors[2];
    spots found;
    for (int a = 0; a < 2; a++)
        place[a] = place_along(s, m, a, &inside);
    for (int a = 0; a < 2; a++) {
        place[a] = choose(s, inside, place[a]);
        floors[a] = STK_TORCH_RUN(s, "aten::floor", "", STK_TORCH_T(place[a]));
        stk__torch_add(s, place[a], floors[a], -1);
        stk__torch_add(s, place[a], s->engine->one, -0.5);
        found.offset[a] = stk__torch_convert(s, place[a], api->aoti_torch_dtype_float32());
    }
    const stk__torch_handle cell = stk__torch_multiply(s, floors[1], stk__torch_number(s, (double)m->w));
    stk__torch_add(s, cell, floors[0], 1);
    found.cell = stk__torch_convert(s, cell, api->aoti_torch_dtype_int64());
    found.share = stk__torch_multiply(s, inside, m->weights ? m->weights : s->engine->one);
    return found;
}

static stk__torch_handle pick(stk__torch_scope *s, stk__torch_handle from, const spots *at)
{
    return STK_TORCH_RUN(s, "aten::gather", "", STK_TORCH_T(from), STK_TORCH_I(2), STK_TORCH_T(at->cell),
                         STK_TORCH_I(false));
}

/* Predicted offset less the true one, of points that count. */
static stk__torch_handle find_error(stk__torch_scope *s, const maps *m, const spots *at, int axis)
{
    const stk__torch_handle error = pick(s, channels(s, m, m->io->x[0], m->k + axis, 2), at);
    stk__torch_add(s, error, at->offset[axis], -1);
    stk__torch_leave_out(s, error, at->share);
    return error;
}

static stk__torch_handle add_up(stk__torch_scope *s, const maps *m, const spots *at,
                                stk__torch_handle errors[2])
{
    const stk__torch_handle total = stk__torch_multiply(s, pick(s, m->logs, at), stk__torch_number(s, -1));
    for (int a = 0; a < 2; a++)
        stk__torch_add(s, total, stk__torch_smooth(s, errors[a]), 1);
    return stk__torch_sum(s, stk__torch_multiply(s, total, at->share));
}

static void find_slopes(stk__torch_scope *s, const maps *m, const spots *at, stk__torch_handle errors[2],
                        stk__torch_handle factor)
{
    const stk__tensor *dx = m->io->dx[0];
    const stk__torch_handle scaled = stk__torch_multiply(s, at->share, factor);
    const stk__torch_handle pulls = scratch_part(s, m, 0);
    STK_TORCH_RUN(s, "aten::zero_", "", STK_TORCH_T(stk__torch_dense(s, dx)));
    STK_TORCH_RUN(s, "aten::zero_", "", STK_TORCH_T(pulls));
    STK_TORCH_RUN(s, "aten::scatter_add_", "", STK_TORCH_T(pulls), STK_TORCH_I(2), STK_TORCH_T(at->cell),
                  STK_TORCH_T(stk__torch_multiply(s, scaled, stk__torch_number(s, -1))));
    const stk__torch_handle slopes =
        STK_TORCH_RUN(s, "aten::_log_softmax_backward_data", "", STK_TORCH_T(pulls), STK_TORCH_T(m->logs),
                      STK_TORCH_I(2), STK_TORCH_I(s->engine->api->aoti_torch_dtype_float32()));
    stk__torch_copy(s, channels(s, m, dx, 0, 1), slopes);
    for (int a = 0; a < 2; a++)
        STK_TORCH_RUN(s, "aten::scatter_add_", "", STK_TORCH_T(channels(s, m, dx, m->k + a, 2)),
                      STK_TORCH_I(2), STK_TORCH_T(at->cell),
                      STK_TORCH_T(stk__torch_multiply(s, stk__torch_smooth_slope(s, errors[a]), scaled)));
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    maps m = maps_of(&s, op, io);
    const stk__torch_handle heat = scratch_part(&s, &m, 0);
    m.logs = scratch_part(&s, &m, 1);
    stk__torch_copy(&s, heat, channels(&s, &m, io->x[0], 0, 1));
    STK_TORCH_RUN(&s, "aten::_log_softmax", "out", STK_TORCH_T(heat), STK_TORCH_I(2), STK_TORCH_I(false),
                  STK_TORCH_T(m.logs));
    const spots at = find_spots(&s, &m);
    stk__torch_leave_out(&s, m.logs, at.share);
    stk__torch_handle errors[2] = {find_error(&s, &m, &at, 0), find_error(&s, &m, &at, 1)};
    const stk__torch_handle factor =
        stk__torch_finish(&s, io, add_up(&s, &m, &at, errors), stk__torch_sum(&s, at.share));
    if (stk__torch_at(io->dx, 0)) find_slopes(&s, &m, &at, errors, factor);
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_points = {forward, NULL, needs};
