/* SPDX-License-Identifier: Apache-2.0 */
/* Heat maps with offsets (op.h, image_size), as the loss of points and their metric see them. Shapes: [n k
 * cells] of maps, [n k 1] of whatever a point has one of. */
#ifndef STK_ENGINE_TORCH_MAPS_H
#define STK_ENGINE_TORCH_MAPS_H

#include "engine/torch/torch_call.h"

typedef struct stk__torch_maps {
    const stk__op_io *io;
    int64_t n, k, cells;
    int64_t length[2]; /* cells along x and y */
    double cell_px[2];
} stk__torch_maps;

stk__torch_maps stk__torch_maps_of(const stk__op *op, const stk__op_io *io);
/* Every step-th channel of a picture [n h w 3k] from the first on. */
stk__torch_handle stk__torch_map_channels(stk__torch_scope *scope, const stk__torch_maps *maps,
                                          const stk__tensor *picture, int64_t first, int64_t step);
/* x, y or visible of the points, f64. */
stk__torch_handle stk__torch_map_component(stk__torch_scope *scope, const stk__torch_maps *maps, int64_t a);
/* Where they lie along x and y, in cells, f64; returns who is visible and inside, bool. */
stk__torch_handle stk__torch_map_points(stk__torch_scope *scope, const stk__torch_maps *maps,
                                        stk__torch_handle place[2]);

#endif
