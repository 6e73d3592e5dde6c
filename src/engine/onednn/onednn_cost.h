/* SPDX-License-Identifier: Apache-2.0 */
/* What oneDNN keeps on its heap for the steps that were created, for plans of memory: an estimate by counting. */
#ifndef STK_ENGINE_ONEDNN_COST_H
#define STK_ENGINE_ONEDNN_COST_H

#include "engine/onednn/onednn_step.h"

enum { STK_DNN_COST_SEEN = 4096 };

struct stk__dnn_cost {
    size_t kept_bytes;
    uint64_t seen[STK_DNN_COST_SEEN]; /* hashes of layers and passes, at their value modulo the room or behind; 0: free */
    int seen_count;
};

/* A step of a layer: descriptors and memory objects, and generated code if it is the first of its shape: others share it
 * through oneDNN's cache of primitives. */
void stk__dnn_cost_step(stk__dnn_cost *cost, const stk__dnn_layer *layer, stk__dnn_pass pass);
void stk__dnn_cost_reorder(stk__dnn_cost *cost);

#endif
