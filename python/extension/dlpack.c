/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor in DLPack's terms: stk_tensor has the same fields, so they are copied, and the loan is held until
 * the consumer calls the deleter. Threads: any, no interpreter is needed. */
#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

typedef struct shared_tensor {
    stk__dlpack_managed managed; /* first: what the consumer gets */
    int64_t shape[STK_TENSOR_DIMS], strides[STK_TENSOR_DIMS];
    stk__loan *loan;
} shared_tensor;

static void delete (stk__dlpack_managed *managed)
{
    shared_tensor *shared = managed->context;
    stk__loan_release(shared->loan);
    free(shared);
}

static uint8_t code_of(stk_dtype dtype)
{
    switch (dtype) {
    case STK_DTYPE_U8:
        return STK_DLPACK_UINT;
    case STK_DTYPE_I64:
        return STK_DLPACK_INT;
    case STK_DTYPE_BF16:
        return STK_DLPACK_BFLOAT;
    default:
        return STK_DLPACK_FLOAT;
    }
}

stk__dlpack_managed *stk__dlpack_create(const stk_tensor *tensor, stk__loan *loan)
{
    shared_tensor *shared = calloc(1, sizeof *shared);
    if (!shared) return NULL;
    stk__loan_retain(loan);
    shared->loan = loan;
    memcpy(shared->shape, tensor->shape, sizeof shared->shape);
    memcpy(shared->strides, tensor->strides, sizeof shared->strides);
    stk__dlpack_tensor *out = &shared->managed.tensor;
    out->data = tensor->data;
    out->device.type = tensor->device == STK_DEVICE_CUDA ? STK_DLPACK_CUDA : STK_DLPACK_CPU;
    out->device.index = tensor->device == STK_DEVICE_CUDA ? tensor->device_index : 0;
    out->ndim = tensor->ndim;
    out->dtype.code = code_of(tensor->dtype);
    out->dtype.bits = (uint8_t)(8 * stk_dtype_bytes(tensor->dtype));
    out->dtype.lanes = 1;
    out->shape = shared->shape;
    out->strides = shared->strides;
    shared->managed.context = shared;
    shared->managed.deleter = delete;
    return &shared->managed;
}
