/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of points by heat maps with offsets. */
#include "engine/torch/torch_loss.h"
#include "engine/torch/torch_maps.h"

/* Where the points lie, and what they count. */
typedef struct coords {
    stk__torch_handle cell;      /* i64; 0 where a point does not count */
    stk__torch_handle offset[2]; /* f32, x and y, in cells from the cell's centre */
    stk__torch_handle share;     /* f32: weight of its sample; 0: left out */
} coords;

/* scratch: heat, later pulls; logarithms. */
static stk__op_needs needs(const stk__op *op)
{
    const size_t bytes = (size_t)stk__shape_count(&op->spec.input[0]) / 3 * sizeof(float);
    stk__op_needs made = {0};
    stk__torch_reserve(&made.scratch_bytes, bytes);
    stk__torch_reserve(&made.scratch_bytes, bytes);
    return made;
}

static stk__torch_handle scratch_half(stk__torch_scope *s, const stk__torch_maps *m, int i)
{
    const stk__shape shape = {3, {m->n, m->k, m->cells}};
    const stk__torch_form form = stk__torch_dense_form(s->engine, STK_DTYPE_F32, &shape);
    size_t half = 0;
    stk__torch_reserve(&half, (size_t)stk__shape_count(&shape) * sizeof(float));
    return stk__torch_part(s, m->io->scratch, (size_t)i * half, &form);
}

static stk__torch_handle choose(stk__torch_scope *s, stk__torch_handle where, stk__torch_handle values)
{
    return STK_TORCH_RUN(s, "aten::where", "self", STK_TORCH_T(where), STK_TORCH_T(values),
                         STK_TORCH_T(s->engine->zero));
}

static coords find_spots(stk__torch_scope *s, const stk__torch_maps *m)
{
    const stk__torch_api *api = s->engine->api;
    const stk__torch_handle weights = stk__torch_per_sample(s, m->io->x[STK_LOSS_WEIGHTS], 3);
    stk__torch_handle place[2], floors[2];
    const stk__torch_handle inside = stk__torch_map_points(s, m, place);
    coords found;
    for (int a = 0; a < 2; a++) {
        place[a] = choose(s, inside, place[a]);
        floors[a] = STK_TORCH_RUN(s, "aten::floor", "", STK_TORCH_T(place[a]));
        stk__torch_add(s, place[a], floors[a], -1);
        stk__torch_add(s, place[a], s->engine->one, -0.5);
        found.offset[a] = stk__torch_convert(s, place[a], api->aoti_torch_dtype_float32());
    }
    const stk__torch_handle row = stk__torch_number(s, (double)m->length[0]);
    const stk__torch_handle cell = stk__torch_multiply(s, floors[1], row);
    stk__torch_add(s, cell, floors[0], 1);
    found.cell = stk__torch_convert(s, cell, api->aoti_torch_dtype_int64());
    found.share = stk__torch_multiply(s, inside, weights ? weights : s->engine->one);
    return found;
}

static stk__torch_handle pick(stk__torch_scope *s, stk__torch_handle from, const coords *at)
{
    return STK_TORCH_RUN(s, "aten::gather", "", STK_TORCH_T(from), STK_TORCH_I(2), STK_TORCH_T(at->cell),
                         STK_TORCH_I(false));
}

/* Predicted offset less the true one, of points that count. */
static stk__torch_handle find_error(stk__torch_scope *s, const stk__torch_maps *m, const coords *at, int axis)
{
    const stk__torch_handle error = pick(s, stk__torch_map_channels(s, m, m->io->x[0], m->k + axis, 2), at);
    stk__torch_add(s, error, at->offset[axis], -1);
    stk__torch_leave_out(s, error, at->share);
    return error;
}

/* logs: logarithms of the heat's softmax. */
static stk__torch_handle add_up(stk__torch_scope *s, stk__torch_handle logs, const coords *at,
                                stk__torch_handle errors[2])
{
    const stk__torch_handle total = stk__torch_multiply(s, pick(s, logs, at), stk__torch_number(s, -1));
    for (int a = 0; a < 2; a++)
        stk__torch_add(s, total, stk__torch_smooth(s, errors[a]), 1);
    return stk__torch_sum(s, stk__torch_multiply(s, total, at->share));
}

/* scaled: what each point counts, times what slopes are multiplied by. */
static void find_heat_slopes(stk__torch_scope *s, const stk__torch_maps *m, stk__torch_handle logs,
                             const coords *at, stk__torch_handle scaled)
{
    const stk__torch_handle pulls = scratch_half(s, m, 0);
    STK_TORCH_RUN(s, "aten::zero_", "", STK_TORCH_T(pulls));
    STK_TORCH_RUN(s, "aten::scatter_add_", "", STK_TORCH_T(pulls), STK_TORCH_I(2), STK_TORCH_T(at->cell),
                  STK_TORCH_T(stk__torch_multiply(s, scaled, stk__torch_number(s, -1))));
    const stk__torch_handle slopes =
        STK_TORCH_RUN(s, "aten::_log_softmax_backward_data", "", STK_TORCH_T(pulls), STK_TORCH_T(logs),
                      STK_TORCH_I(2), STK_TORCH_I(s->engine->api->aoti_torch_dtype_float32()));
    stk__torch_copy(s, stk__torch_map_channels(s, m, m->io->dx[0], 0, 1), slopes);
}

static void find_offset_slopes(stk__torch_scope *s, const stk__torch_maps *m, stk__torch_handle errors[2],
                               const coords *at, stk__torch_handle scaled)
{
    for (int a = 0; a < 2; a++)
        STK_TORCH_RUN(s, "aten::scatter_add_", "",
                      STK_TORCH_T(stk__torch_map_channels(s, m, m->io->dx[0], m->k + a, 2)), STK_TORCH_I(2),
                      STK_TORCH_T(at->cell),
                      STK_TORCH_T(stk__torch_multiply(s, stk__torch_smooth_slope(s, errors[a]), scaled)));
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__torch_maps m = stk__torch_maps_of(op, io);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    const stk__torch_handle heat = scratch_half(&s, &m, 0), logs = scratch_half(&s, &m, 1);
    stk__torch_copy(&s, heat, stk__torch_map_channels(&s, &m, io->x[0], 0, 1));
    STK_TORCH_RUN(&s, "aten::_log_softmax", "out", STK_TORCH_T(heat), STK_TORCH_I(2), STK_TORCH_I(false),
                  STK_TORCH_T(logs));
    const coords at = find_spots(&s, &m);
    stk__torch_leave_out(&s, logs, at.share);
    stk__torch_handle errors[2] = {find_error(&s, &m, &at, 0), find_error(&s, &m, &at, 1)};
    const stk__torch_handle factor =
        stk__torch_finish(&s, io, add_up(&s, logs, &at, errors), stk__torch_sum(&s, at.share));
    if (stk__torch_at(io->dx, 0)) {
        const stk__torch_handle scaled = stk__torch_multiply(&s, at.share, factor);
        STK_TORCH_RUN(&s, "aten::zero_", "", STK_TORCH_T(stk__torch_dense(&s, io->dx[0])));
        find_heat_slopes(&s, &m, logs, &at, scaled);
        find_offset_slopes(&s, &m, errors, &at, scaled);
    }
    return stk__torch_end(&s);
}

const stk__torch_op_kind stk__torch_points = {forward, NULL, needs};
