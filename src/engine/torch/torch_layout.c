/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of convolutions lie as PyTorch's convolutions want them beside pictures [n h w c]; otherwise every
 * call puts them in order first, and their gradients back. The host sees what stands in checkpoints, in
 * memory of its own while it is mapped. */
#include "core/memory.h"
#include "engine/torch/torch_engine.h"

#include <assert.h>

/* Each of count matrices [rows columns] becomes [columns rows]. */
static void turn(const float *from, float *to, int64_t count, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < count; i++, from += rows * columns, to += rows * columns)
        for (int64_t column = 0; column < columns; column++)
            for (int64_t row = 0; row < rows; row++)
                to[column * rows + row] = from[row * columns + column];
}

static void show(const stk__tensor *tensor, const stk_tensor *stored, const stk_tensor *view)
{
    const int64_t *dim = tensor->desc.shape.dim;
    turn(stored->data, view->data, dim[0], dim[2] * dim[3], dim[1]);
}

static void store(const stk__tensor *tensor, const stk_tensor *view, const stk_tensor *stored)
{
    const int64_t *dim = tensor->desc.shape.dim;
    turn(view->data, stored->data, dim[0], dim[1], dim[2] * dim[3]);
}

static stk_status take_memory(const stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    assert(tensor->desc.layout == STK_TORCH_KERNEL && tensor->desc.dtype == STK_DTYPE_F32);
    view->data = stk__alloc(tensor->size_bytes);
    return view->data ? STK_OK : stk__fail_memory(error, tensor->size_bytes, "weights as the host sees them");
}

stk_status stk__torch_layout_map(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    if (!tensor->desc.layout) return stk__torch_tensor_map(tensor, view, error);
    stk_tensor stored = *view;
    STK__TRY(take_memory(tensor, view, error));
    stk_status status = stk__torch_tensor_map(tensor, &stored, error);
    if (status == STK_OK) {
        show(tensor, &stored, view);
        status = stk__torch_tensor_unmap(tensor, &stored, false, error);
    }
    if (status != STK_OK) stk__free(view->data);
    return status;
}

stk_status stk__torch_layout_map_new(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    if (!tensor->desc.layout) return stk__torch_tensor_map_new(tensor, view, error);
    return take_memory(tensor, view, error);
}

static stk_status put_back(stk__tensor *tensor, const stk_tensor *view, stk_error *error)
{
    stk_tensor stored = *view;
    stored.data = tensor->memory;
    STK__TRY(stk__torch_tensor_map_new(tensor, &stored, error));
    store(tensor, view, &stored);
    return stk__torch_tensor_unmap(tensor, &stored, true, error);
}

stk_status stk__torch_layout_unmap(stk__tensor *tensor, const stk_tensor *view, bool changed,
                                   stk_error *error)
{
    if (!tensor->desc.layout) return stk__torch_tensor_unmap(tensor, view, changed, error);
    const stk_status status = changed ? put_back(tensor, view, error) : STK_OK;
    stk__free(view->data);
    return status;
}
