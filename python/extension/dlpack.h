/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack's C structs (version 0.8, capsules named "dltensor"), which every consumer still reads. Written from
 * the specification: https://dmlc.github.io/dlpack/latest/c_api.html */
#ifndef STK_PYTHON_DLPACK_H
#define STK_PYTHON_DLPACK_H

#include "loan.h"

#include <stdint.h>

enum { STK_DLPACK_CPU = 1, STK_DLPACK_CUDA = 2, STK_DLPACK_PINNED = 3 }; /* device types */
enum {
    STK_DLPACK_INT,
    STK_DLPACK_UINT,
    STK_DLPACK_FLOAT,
    STK_DLPACK_BFLOAT = 4,
    STK_DLPACK_BOOL = 6
}; /* codes */

typedef struct stk__dlpack_tensor {
    void *data;
    struct {
        int32_t type, index;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides in elements */
    uint64_t byte_offset;
} stk__dlpack_tensor;

typedef struct stk__dlpack_managed {
    stk__dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct stk__dlpack_managed *self); /* any thread, with or without the GIL */
} stk__dlpack_managed;

/* The tensor for another framework; it holds the loan until the deleter is called. NULL: out of memory. */
stk__dlpack_managed *stk__dlpack_create(const stk_tensor *tensor, stk__loan *loan);

#endif
