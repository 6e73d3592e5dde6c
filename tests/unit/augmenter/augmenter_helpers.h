/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in memory of a test, and calls that must succeed or must be refused. */
#ifndef AUGMENTER_HELPERS_H
#define AUGMENTER_HELPERS_H

#include "image/pixels.h"
#include "stoker/augment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static inline stk_tensor tensor_of(void *data, stk_dtype dtype, int ndim, const int64_t *shape)
{
    stk_tensor tensor = {.data = data, .dtype = dtype, .ndim = ndim};
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        tensor.shape[i] = shape[i];
        tensor.strides[i] = stride;
        stride *= shape[i];
    }
    return tensor;
}

/* Memory is that of malloc, filled with 0x5a, so that sanitizers see who reads or writes beyond it. */
static inline stk_tensor tensor_new(stk_dtype dtype, int ndim, const int64_t *shape)
{
    stk_tensor tensor = tensor_of(NULL, dtype, ndim, shape);
    tensor.data = malloc((size_t)stk_tensor_bytes(&tensor));
    assert_non_null(tensor.data);
    memset(tensor.data, 0x5a, (size_t)stk_tensor_bytes(&tensor));
    return tensor;
}

#define TENSOR(dtype, ...)                                                                                   \
    tensor_new(dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static inline void tensor_free(stk_tensor *tensor)
{
    free(tensor->data);
    *tensor = (stk_tensor){0};
}

static inline void io_free(stk_augment_io *io)
{
    tensor_free(&io->images);
    tensor_free(&io->masks);
    tensor_free(&io->labels);
    tensor_free(&io->points);
    tensor_free(&io->out_images);
    tensor_free(&io->out_masks);
    tensor_free(&io->out_masks2);
    tensor_free(&io->out_labels);
    tensor_free(&io->out_labels2);
    tensor_free(&io->out_lambda);
    tensor_free(&io->out_points);
}

static inline stk_augmenter *augmenter_new(stk_augment_options options)
{
    stk_augmenter *augmenter;
    stk_error error = {0};
    if (stk_augmenter_open(&augmenter, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return augmenter;
}

static inline void apply(stk_augmenter *augmenter, const stk_augment_io *io)
{
    stk_error error = {0};
    if (stk_augmenter_apply(augmenter, io, &error) != STK_OK) fail_msg("%s", error.message);
}

static inline void apply_once(stk_augment_options options, const stk_augment_io *io)
{
    stk_augmenter *augmenter = augmenter_new(options);
    apply(augmenter, io);
    stk_augmenter_close(&augmenter);
}

static inline void expect_same(const stk_tensor *a, const stk_tensor *b)
{
    assert_int_equal(stk_tensor_bytes(a), stk_tensor_bytes(b));
    assert_memory_equal(a->data, b->data, (size_t)stk_tensor_bytes(b));
}

#endif
