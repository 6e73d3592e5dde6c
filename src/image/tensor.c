/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of tensors: bytes of an element and of a dense tensor. */
#include "stoker/batch.h"

int64_t stk_dtype_bytes(stk_dtype dtype)
{
    static const int64_t bytes[] = {0, 1, 8, 2, 2, 4, 8};
    return (unsigned)dtype < sizeof bytes / sizeof bytes[0] ? bytes[dtype] : 0;
}

int64_t stk_tensor_bytes(const stk_tensor *tensor)
{
    if (!tensor) return 0;
    int64_t bytes = stk_dtype_bytes(tensor->dtype);
    for (int i = 0; i < tensor->ndim; i++)
        bytes *= tensor->shape[i];
    return bytes;
}
