/* SPDX-License-Identifier: Apache-2.0 */
/* A model by hand, over an engine that can do nothing but hold tensors. Everything stops the test when it
 * goes wrong. */
#ifndef SMALL_MODEL_H
#define SMALL_MODEL_H

#include "train/model.h"

typedef enum small_optimizer { SMALL_NONE, SMALL_SGD, SMALL_ADAMW } small_optimizer;

typedef struct small_options {
    int64_t head; /* rows of "head.weight" [head 3]; 0: 5 */
    small_optimizer optimizer;
    bool average;
} small_options;

stk__model *small_model_make(const small_options *options);
void small_model_remove(stk__model **model);

/* Sets every element of every tensor to a function of (step, place). */
void small_model_fill(stk__model *model, uint64_t step);
typedef enum small_part {
    SMALL_VALUES,
    SMALL_EVERYTHING, /* moments and the average too */
    SMALL_AVERAGED    /* values are what the average was filled with */
} small_part;
/* Whether it is as fill has left it. */
bool small_model_is(stk__model *model, uint64_t step, small_part part);

/* For failure tests: the n-th map (from 0) or unmap from now on fails; -1: none. */
extern int small_model_fail_map, small_model_fail_unmap;

#endif
