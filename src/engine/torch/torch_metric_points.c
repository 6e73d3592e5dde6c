/* SPDX-License-Identifier: Apache-2.0 */
/* How far points are from where the heat maps see them: the centre of the largest cell, plus its offset. */
#include "engine/torch/torch_maps.h"
#include "engine/torch/torch_metric.h"

/* Points that can be seen, inside the picture, of samples that count. */
static stk__torch_handle find_valid(stk__torch_scope *s, const stk__torch_maps *m)
{
    stk__torch_handle place[2];
    const stk__torch_handle inside = stk__torch_map_points(s, m, place);
    const stk__torch_handle weighs = stk__torch_has_weight(s, m->io, 3);
    return weighs ? stk__torch_both(s, inside, weighs) : inside;
}

/* Column and row of the largest cell, f64: the quotient of whole numbers is rounded to the next one only
 * where it is one. */
static void find_cells(stk__torch_scope *s, const stk__torch_maps *m, stk__torch_handle best,
                       stk__torch_handle place[2])
{
    const stk__torch_handle cell = stk__torch_as(s, best, STK_DTYPE_F64);
    const stk__torch_handle row = stk__torch_divisor(s, (double)m->length[0]);
    place[1] = STK_TORCH_RUN(
        s, "aten::floor", "",
        STK_TORCH_T(STK_TORCH_RUN(s, "aten::div", "Tensor", STK_TORCH_T(cell), STK_TORCH_T(row))));
    place[0] = cell;
    stk__torch_add(s, cell, place[1], -(double)m->length[0]);
}

/* Predicted less true, in px, along one axis. */
static stk__torch_handle find_gap(stk__torch_scope *s, const stk__torch_maps *m, int axis,
                                  stk__torch_handle best, stk__torch_handle place)
{
    const stk__torch_handle offsets = stk__torch_map_channels(s, m, m->io->x[0], m->k + axis, 2);
    const stk__torch_handle offset = STK_TORCH_RUN(s, "aten::gather", "", STK_TORCH_T(offsets),
                                                   STK_TORCH_I(2), STK_TORCH_T(best), STK_TORCH_I(false));
    stk__torch_add(s, place, s->engine->one, 0.5);
    stk__torch_add(s, place, offset, 1);
    const stk__torch_handle gap = stk__torch_multiply(s, place, stk__torch_number(s, m->cell_px[axis]));
    stk__torch_add(s, gap, stk__torch_map_component(s, m, axis), -1);
    return gap;
}

stk_status stk__torch_point_error(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const stk__torch_maps m = stk__torch_maps_of(op, io);
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    stk__torch_handle place[2], gap[2];
    const stk__torch_handle valid = find_valid(&s, &m);
    const stk__torch_handle best = stk__torch_best(&s, stk__torch_map_channels(&s, &m, io->x[0], 0, 1));
    find_cells(&s, &m, best, place);
    for (int a = 0; a < 2; a++)
        gap[a] = find_gap(&s, &m, a, best, place[a]);
    const stk__torch_handle distance_px =
        STK_TORCH_RUN(&s, "aten::hypot", "", STK_TORCH_T(gap[0]), STK_TORCH_T(gap[1]));
    const stk__torch_handle near = stk__torch_compare(&s, "aten::le", distance_px, stk__torch_number(&s, 5));
    stk__torch_tally(&s, io, 0, valid);
    stk__torch_leave_out(&s, distance_px, valid);
    stk__torch_tally(&s, io, 1, distance_px);
    stk__torch_tally(&s, io, 2, stk__torch_both(&s, valid, near));
    return stk__torch_end(&s);
}
