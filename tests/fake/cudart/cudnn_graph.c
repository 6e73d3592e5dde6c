/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN's graph interface (cudnnBackend…), as far as convolutions are asked for by it: descriptors that know
 * what work they stand for, one engine for everything, no knobs, no workspace. What a descriptor means is
 * copied from one to the next: tensor -> operation -> graph -> engine -> configuration -> plan. */
#include "cudnn.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind {
    POINTWISE,
    CONVOLUTION,
    ENGINE,
    ENGINE_CONFIG,
    ENGINE_HEURISTIC,
    PLAN,
    OPERATION_FORWARD = 10,
    OPERATION_BACKWARD_FILTER,
    OPERATION_BACKWARD_DATA,
    OPERATION_POINTWISE,
    GRAPH = 15,
    VARIANTS,
    TENSOR
} kind;

enum {
    HEURISTIC_GRAPH = 201,
    HEURISTIC_RESULTS = 202,
    CONFIG_ENGINE = 300,
    PLAN_HANDLE = 400,
    PLAN_CONFIG = 401,
    PLAN_WORKSPACE = 402,
    GRAPH_OPERATIONS = 801,
    GRAPH_ENGINE_COUNT = 802,
    TENSOR_TYPE = 901,
    TENSOR_DIMS = 902,
    TENSOR_STRIDES = 903,
    ENGINE_GRAPH = 1300,
    ENGINE_INDEX = 1301
};

enum { TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15 };

typedef struct descriptor {
    kind kind;
    bool final;
    cudnn_tensor tensor; /* of a tensor */
    cudnn_work work;     /* of an operation, and of all that is made of it */
} descriptor;

DRY_EXPORT int cudnnBackendCreateDescriptor(kind of, descriptor **made);
DRY_EXPORT int cudnnBackendDestroyDescriptor(descriptor *d);
DRY_EXPORT int cudnnBackendFinalize(descriptor *d);
DRY_EXPORT int cudnnBackendSetAttribute(descriptor *d, int name, int type, int64_t count, const void *values);
DRY_EXPORT int cudnnBackendGetAttribute(const descriptor *d, int name, int type, int64_t wanted,
                                        int64_t *count, void *values);
DRY_EXPORT int cudnnBackendExecute(const cudnn_handle *handle, const descriptor *plan,
                                   const descriptor *variants);

int cudnnBackendCreateDescriptor(kind of, descriptor **made)
{
    descriptor *d = calloc(1, sizeof *d);
    if (!d) return CUDNN_NO_MEMORY;
    d->kind = of;
    d->work.word = of == OPERATION_FORWARD           ? DRY_conv_forward
                   : of == OPERATION_BACKWARD_DATA   ? DRY_conv_backward_data
                   : of == OPERATION_BACKWARD_FILTER ? DRY_conv_backward_filter
                                                     : DRY_WORDS;
    *made = d;
    return 0;
}

int cudnnBackendDestroyDescriptor(descriptor *d)
{
    free(d);
    return 0;
}

int cudnnBackendFinalize(descriptor *d)
{
    const bool whole = d->kind != TENSOR || (d->tensor.ndim > 0 && d->tensor.stride[0] > 0);
    if (d->final || !whole) return CUDNN_BAD_PARAM;
    d->final = true;
    return 0;
}

static void set_tensor(descriptor *d, int name, int64_t count, const void *values)
{
    if (name == TENSOR_TYPE) memcpy(&d->tensor.dtype, values, sizeof d->tensor.dtype);
    if (name == TENSOR_DIMS) d->tensor.ndim = (int)count;
    if (name == TENSOR_DIMS) memcpy(d->tensor.dim, values, (size_t)count * sizeof *d->tensor.dim);
    if (name == TENSOR_STRIDES) memcpy(d->tensor.stride, values, (size_t)count * sizeof *d->tensor.stride);
}

/* The operations of a graph become one piece of work: a convolution, and what is done to its result. */
static void set_operations(descriptor *graph, int64_t count, descriptor *const *operations)
{
    for (int64_t i = 0; i < count; i++)
        if (operations[i]->work.word != DRY_WORDS) graph->work = operations[i]->work;
    graph->work.fused = count > 1;
}

int cudnnBackendSetAttribute(descriptor *d, int name, int type, int64_t count, const void *values)
{
    descriptor *const *others = type == TYPE_DESCRIPTOR ? values : NULL;
    if (d->final || count > CUDNN_DIMS * 8) return CUDNN_BAD_PARAM;
    for (int64_t i = 0; others && i < count; i++)
        if (!others[i]->final) return CUDNN_BAD_PARAM;
    if (d->kind == TENSOR) {
        if (count > CUDNN_DIMS) return CUDNN_NOT_SUPPORTED;
        set_tensor(d, name, count, values);
    } else if (name == GRAPH_OPERATIONS) {
        set_operations(d, count, others);
    } else if (others && count > 0 && others[0]->kind == TENSOR) {
        cudnn_work_add(&d->work, &others[0]->tensor);
    } else if (name == HEURISTIC_GRAPH || name == ENGINE_GRAPH || name == CONFIG_ENGINE ||
               name == PLAN_CONFIG) {
        d->work = others[0]->work;
    }
    return 0;
}

static int give_number(int64_t number, int64_t wanted, int64_t *count, void *values)
{
    if (count) *count = 1;
    if (values && wanted > 0) memcpy(values, &number, sizeof number);
    return 0;
}

/* The caller has made it: it becomes what is asked for. */
static int give_descriptor(const descriptor *d, int64_t wanted, int64_t *count, descriptor **values)
{
    if (count) *count = 1;
    if (values && wanted > 0) {
        values[0]->work = d->work;
        values[0]->final = true;
    }
    return 0;
}

/* Notes, knobs, intermediates: there are none. */
int cudnnBackendGetAttribute(const descriptor *d, int name, int type, int64_t wanted, int64_t *count,
                             void *values)
{
    (void)type;
    switch (name) {
    case GRAPH_ENGINE_COUNT:
        return give_number(1, wanted, count, values);
    case PLAN_WORKSPACE:
    case ENGINE_INDEX:
        return give_number(0, wanted, count, values);
    case HEURISTIC_RESULTS:
    case CONFIG_ENGINE:
        return give_descriptor(d, wanted, count, values);
    default:
        if (count) *count = 0;
        return 0;
    }
}

int cudnnBackendExecute(const cudnn_handle *handle, const descriptor *plan, const descriptor *variants)
{
    if (!plan->final || !variants->final || plan->kind != PLAN) return CUDNN_BAD_PARAM;
    if (plan->work.word == DRY_WORDS) return dry_refuse("a graph without a convolution", CUDNN_NOT_SUPPORTED);
    return cudnn_work_submit(&plan->work, handle->stream);
}
