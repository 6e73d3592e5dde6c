/* SPDX-License-Identifier: Apache-2.0 */
/* Heat maps [n k h w] with offsets, in terms of PyTorch operators, shared by the loss of points and its
 * metric: channels, components, and the decoded coordinates. */
#include "engine/torch/torch_maps.h"

#include "engine/torch/torch_loss.h"

stk__torch_maps stk__torch_maps_of(const stk__op *op, const stk__op_io *io)
{
    const int64_t *x = op->spec.input[0].dim;
    const int32_t *image = op->spec.image_size;
    return (stk__torch_maps){.io = io,
                             .n = x[0],
                             .k = x[3] / 3,
                             .cells = x[1] * x[2],
                             .length = {x[2], x[1]},
                             .cell_px = {(double)image[1] / (double)x[2], (double)image[0] / (double)x[1]}};
}

stk__torch_handle stk__torch_map_channels(stk__torch_scope *s, const stk__torch_maps *m,
                                          const stk__tensor *picture, int64_t first, int64_t step)
{
    const stk__torch_form form = {.ndim = 3,
                                  .size = {m->n, m->k, m->cells},
                                  .stride = {m->cells * 3 * m->k, step, 3 * m->k},
                                  .offset = first,
                                  .dtype = s->engine->api->aoti_torch_dtype_float32()};
    return stk__torch_view(s, picture, &form);
}

stk__torch_handle stk__torch_map_component(stk__torch_scope *s, const stk__torch_maps *m, int64_t a)
{
    const stk__torch_api *api = s->engine->api;
    const stk__torch_form form = {.ndim = 3,
                                  .size = {m->n, m->k, 1},
                                  .stride = {3 * m->k, 3, 1},
                                  .offset = a,
                                  .dtype = api->aoti_torch_dtype_float32()};
    return stk__torch_convert(s, stk__torch_view(s, m->io->x[STK_LOSS_TARGET], &form),
                              api->aoti_torch_dtype_float64());
}

stk__torch_handle stk__torch_map_points(stk__torch_scope *s, const stk__torch_maps *m,
                                        stk__torch_handle place[2])
{
    const stk__torch_handle zero = s->engine->zero;
    stk__torch_handle inside = stk__torch_compare(s, "aten::gt", stk__torch_map_component(s, m, 2), zero);
    for (int a = 0; a < 2; a++) {
        const stk__torch_handle end = stk__torch_number(s, (double)m->length[a]);
        place[a] = STK_TORCH_RUN(s, "aten::div", "Tensor", STK_TORCH_T(stk__torch_map_component(s, m, a)),
                                 STK_TORCH_T(stk__torch_divisor(s, m->cell_px[a])));
        inside = stk__torch_both(s, inside, stk__torch_compare(s, "aten::ge", place[a], zero));
        inside = stk__torch_both(s, inside, stk__torch_compare(s, "aten::lt", place[a], end));
    }
    return inside;
}
