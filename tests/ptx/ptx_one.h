/* SPDX-License-Identifier: Apache-2.0 */
/* Small PTX kernels of a test: one warp or block over four arrays of numbers. */
#ifndef PTX_ONE_H
#define PTX_ONE_H

#include "ptx/ptx.h"

enum { PTX_ONE_VALUES = 64 };

/* Threads of the block see values [thread] of a, b, c and d, and write out [thread]. */
typedef struct ptx_one {
    uint64_t in[4][PTX_ONE_VALUES], out[PTX_ONE_VALUES];
} ptx_one;

/* The kernel's statements. Registers that hold the inputs: %la %lb %lc %ld (64 bits), %ra … (32), %ha … (16),
 * %pa … (their last bit). Results: %lo, %ro, %ho or %po: result is l, r, h or p. %lx<8>, %rx<8>, %px<8> are
 * free, %lin is the address of the inputs, %rt the thread. `before` stands in front of the kernel, `declared`
 * in front of its statements. */
typedef struct ptx_one_text {
    const char *before, *declared, *statements;
    char result;
    uint32_t threads;
    bool backwards;
} ptx_one_text;

stk_status ptx_one_run(ptx_one *one, const ptx_one_text *text, stk_error *error);

#endif
