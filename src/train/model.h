/* SPDX-License-Identifier: Apache-2.0 */
/* A model: the named tensors of a network that live as long as a run: parameters and buffers, and for
 * training their gradients, the optimizer state and a moving average. */
#ifndef STK_TRAIN_MODEL_H
#define STK_TRAIN_MODEL_H

#include "engine/engine.h"
#include "train/network/network.h"

typedef struct stk__model_tensor {
    const char *name; /* "down1.conv1.weight" */
    int layer;
    bool buffer;    /* not learnt: running_mean … */
    bool trainable; /* false: buffer, or frozen */
    stk__tensor_desc desc;
    stk__op_param origin;
    stk__tensor *value;
    stk__tensor *grad, *first, *second; /* of trainable ones in training; NULL otherwise */
    stk__tensor *average;               /* with a moving average: of everything in f32, frozen ones too */
} stk__model_tensor;

typedef struct stk__model_options {
    bool training;      /* gradients and the optimizer state */
    bool first, second; /* moments that the optimizer needs */
    bool average;
    bool spare;         /* buffers can be kept */
    const char *freeze; /* patterns of layers, see freeze.h; NULL: none */
    uint64_t seed;      /* of the weights at the start */
} stk__model_options;

typedef struct stk__model { /* create/destroy */
    stk__engine *engine;
    stk__model_tensor *tensors; /* in the order of layers; a layer's parameters before its buffers */
    int count;
    int *layer_first;    /* [layer_count + 1]: a layer's tensors are [layer_first[i], layer_first[i + 1]) */
    int64_t param_count; /* elements of parameters */
    int64_t trainable_count;
    size_t size_bytes; /* of the arena */
    stk__arena *arena;
    /* The values of all buffers as one, which lie side by side, and what stk__model_keep_buffers kept of
     * them. NULL: a model without spares, or without buffers. */
    stk__tensor *buffers, *spares;
    char *names; /* all of them */
    /* The trainable ones side by side, for stk__engine_update. */
    stk__tensor **list_memory;
    stk__tensor_list params, grads, firsts, seconds;
    stk__tensor_list values, averages; /* of everything in f32 */
} stk__model;

/* forms: from stk__network_shape (or stk__pass_forms). A pattern of freeze that matches nothing is an error
 * with the nearest layer. Frozen layers keep their parameters; frozen batch norms also their running
 * statistics: they compute as in evaluation (pass.h).
 *
 * Values at the start: element e of tensor number i of the model is word e % 4 of the draw (epoch 0, sample
 * i, STK_OPERATION_WEIGHTS, draw e / 4), spread over +- 1 / sqrt(fan_in). */
stk_status stk__model_create(stk__model **model, stk__engine *engine, const stk__network *network,
                             const stk__op_form *forms, const stk__model_options *options, stk_error *error);
void stk__model_destroy(stk__model **model);

stk__model_tensor *stk__model_find(const stk__model *model, const char *name); /* NULL: none */

/* Exchanges values with their averages, for evaluation; called again, back. Passes that are bound follow.
 * Without an average nothing happens. */
void stk__model_swap_average(stk__model *model);

/* Buffers as they are before a step that may have to be undone; and back: one copy. Without spares nothing
 * happens. Not while averages are swapped in. */
stk_status stk__model_keep_buffers(stk__model *model, stk_error *error);
stk_status stk__model_restore_buffers(stk__model *model, stk_error *error);

/* Where the arena's bytes go. */
typedef struct stk__model_bytes {
    size_t params, buffers, grads, optimizer, averages;
} stk__model_bytes;
stk__model_bytes stk__model_measure(const stk__model *model);

#endif
