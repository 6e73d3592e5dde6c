/* How far points are from where the heat maps see them: the centre of the largest cell, plus its offset. */
#include "engine/torch_metric.h"

/* Shapes: [n k cells] of maps, [n k 1] of everything a point has one of. */
typedef struct maps {
    const stk__op *op;
    const stk__op_io *io;
    int64_t n, k, cells;
    int64_t length[2]; /* cells along x and y */
} maps;

/* Every step-th channel of the pictures [n h w 3k], from the first on. */
static stk__torch_handle channels(stk__torch_scope *s, const maps *m, int64_t first, int64_t step)
{
    const stk__torch_form form = {.ndim = 3,
                                  .size = {m->n, m->k, m->cells},
                                  .stride = {m->cells * 3 * m->k, step, 3 * m->k},
                                  .offset = first,
                                  .dtype = s->engine->api->aoti_torch_dtype_float32()};
    return stk__torch_view(s, m->io->x[0], &form);
}

/* x, y or visible of the points, f64. */
static stk__torch_handle component(stk__torch_scope *s, const maps *m, int64_t a)
{
    const stk__torch_form form = {.ndim = 3,
                                  .size = {m->n, m->k, 1},
                                  .stride = {3 * m->k, 3, 1},
                                  .offset = a,
                                  .dtype = s->engine->api->aoti_torch_dtype_float32()};
    return stk__torch_as(s, stk__torch_view(s, m->io->x[STK_LOSS_TARGET], &form), STK_DTYPE_F64);
}

static double cell_px(const maps *m, int axis)
{
    return (double)m->op->spec.image_size[1 - axis] / (double)m->length[axis];
}

static stk__torch_handle divide(stk__torch_scope *s, stk__torch_handle values, double by)
{
    return STK_TORCH_RUN(s, "aten::div", "Tensor", STK_TORCH_T(values),
                         STK_TORCH_T(stk__torch_number(s, by)));
}

/* Points that can be seen, inside the picture, of samples that count. */
static stk__torch_handle find_valid(stk__torch_scope *s, const maps *m)
{
    const stk__torch_handle zero = stk__torch_number(s, 0), weighs = stk__torch_has_weight(s, m->io, 3);
    stk__torch_handle valid = stk__torch_compare(s, "aten::gt", component(s, m, 2), zero);
    for (int a = 0; a < 2; a++) {
        const stk__torch_handle place = divide(s, component(s, m, a), cell_px(m, a));
        const stk__torch_handle end = stk__torch_number(s, (double)m->length[a]);
        valid = stk__torch_both(s, valid, stk__torch_compare(s, "aten::ge", place, zero));
        valid = stk__torch_both(s, valid, stk__torch_compare(s, "aten::lt", place, end));
    }
    return weighs ? stk__torch_both(s, valid, weighs) : valid;
}

/* Column and row of the largest cell, f64. */
static void find_cells(stk__torch_scope *s, const maps *m, stk__torch_handle best, stk__torch_handle place[2])
{
    const stk__torch_handle cell = stk__torch_as(s, best, STK_DTYPE_F64);
    place[1] = STK_TORCH_RUN(s, "aten::floor", "", STK_TORCH_T(divide(s, cell, (double)m->length[0])));
    place[0] = cell;
    stk__torch_add(s, cell, place[1], -(double)m->length[0]);
}

/* Predicted less true, in px, along one axis. */
static stk__torch_handle find_gap(stk__torch_scope *s, const maps *m, int axis, stk__torch_handle best,
                                  stk__torch_handle place)
{
    const stk__torch_handle offset =
        STK_TORCH_RUN(s, "aten::gather", "", STK_TORCH_T(channels(s, m, m->k + axis, 2)), STK_TORCH_I(2),
                      STK_TORCH_T(best), STK_TORCH_I(false));
    stk__torch_add(s, place, s->engine->one, 0.5);
    stk__torch_add(s, place, offset, 1);
    const stk__torch_handle gap = stk__torch_multiply(s, place, stk__torch_number(s, cell_px(m, axis)));
    stk__torch_add(s, gap, component(s, m, axis), -1);
    return gap;
}

stk_status stk__torch_point_error(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const int64_t *x = op->spec.input[0].dim;
    const maps m = {
        .op = op, .io = io, .n = x[0], .k = x[3] / 3, .cells = x[1] * x[2], .length = {x[2], x[1]}};
    stk__torch_scope s = stk__torch_begin(op->engine, error);
    stk__torch_handle place[2], gap[2];
    const stk__torch_handle valid = find_valid(&s, &m), best = stk__torch_best(&s, channels(&s, &m, 0, 1));
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
