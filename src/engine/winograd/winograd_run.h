/* SPDX-License-Identifier: Apache-2.0 */
/* Whole convolutions by the steps of winograd.h, on the pool's threads. What a call computes does not depend
 * on how many they are: blocks of tiles follow from shapes alone, and every sum is made by one thread in one
 * order. Nothing is allocated. */
#ifndef STK_ENGINE_WINOGRAD_RUN_H
#define STK_ENGINE_WINOGRAD_RUN_H

#include "engine/winograd/winograd.h"

typedef enum stk__winograd_pass {
    STK_WINOGRAD_FORWARD,
    STK_WINOGRAD_DATA,
    STK_WINOGRAD_WEIGHTS,
    STK_WINOGRAD_PASSES
} stk__winograd_pass;

/* A 3x3 convolution, stride 1, padding 1, from [n h w c] to [n h w k]. */
typedef struct stk__winograd_layer {
    const stk__winograd_kernel *kernel;
    int64_t n, h, w, c, k;
    int threads;
} stk__winograd_layer;

/* Whatever a pass needs not is NULL. */
typedef struct stk__winograd_io {
    const float *x, *weights, *bias, *dy; /* weights [k c 3 3]; bias may be NULL */
    float *y, *dx, *dweights, *dbias;     /* dweights, dbias may be NULL */
    bool add;                             /* dweights, dbias += instead of = */
    void *scratch;                        /* aligned to 64 bytes */
} stk__winograd_io;

size_t stk__winograd_scratch_bytes(const stk__winograd_layer *layer, stk__winograd_pass pass);
void stk__winograd_run(const stk__winograd_layer *layer, stk__winograd_pass pass, const stk__winograd_io *io);

#endif
