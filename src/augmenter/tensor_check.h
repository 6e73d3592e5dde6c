/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that come from a caller, checked before anything in them is trusted: messages name the argument. */
#ifndef STK_AUGMENTER_TENSOR_CHECK_H
#define STK_AUGMENTER_TENSOR_CHECK_H

#include "core/error.h"
#include "stoker/batch.h"

#include <stdint.h>

/* What a tensor must be. */
typedef struct stk__tensor_rule {
    const char *name; /* of the argument: "io.images" */
    int64_t item;     /* of a list of tensors; -1: it is no list */
    unsigned dtypes;  /* 1 << stk_dtype for each that is good */
    int ndim;         /* of shape */
    int64_t shape[4]; /* 0: any length of at least 1 */
    bool dense;       /* no gaps: strides follow from the shape */
    int cuda_index;   /* it may lie in the memory of this GPU; -1: in host memory only */
    const char *like; /* what the shape comes from, for messages: "io.count and options.image_size" */
} stk__tensor_rule;

stk_status stk__tensor_check(const stk_tensor *tensor, const stk__tensor_rule *rule, stk_error *error);

/* The bytes between the first and the last value of a checked tensor. */
typedef struct stk__tensor_range {
    const char *name;
    stk_device_kind device;
    int device_index;
    uintptr_t first, end;
} stk__tensor_range;

stk__tensor_range stk__tensor_range_of(const stk_tensor *tensor, const char *name);
bool stk__tensor_ranges_meet(const stk__tensor_range *a, const stk__tensor_range *b);

#endif
