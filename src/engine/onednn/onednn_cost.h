/* SPDX-License-Identifier: Apache-2.0 */
/* What oneDNN keeps on its heap for the steps that were created, for plans of memory: an estimate by
 * counting. */
#ifndef STK_ENGINE_ONEDNN_COST_H
#define STK_ENGINE_ONEDNN_COST_H

#include "engine/engine.h"
#include "engine/onednn/onednn_step.h"

enum { STK_DNN_COST_SEEN = 4096 };

struct stk__dnn_cost {
    size_t kept_bytes;                /* by every step */
    size_t code_bytes;                /* by the first of its shape besides */
    uint64_t seen[STK_DNN_COST_SEEN]; /* hashes of layers and passes, at their value modulo the room or
                                         behind; 0: free */
    int seen_count;
};

/* A step of a layer: descriptors and memory objects, and generated code if it is the first of its shape:
 * others share it through oneDNN's cache of primitives. */
void stk__dnn_cost_step(stk__dnn_cost *cost, const stk__dnn_layer *layer, stk__dnn_pass pass);
void stk__dnn_cost_reorder(stk__dnn_cost *cost);

/* A dry engine's memory of operations, so that oneDNN describes the hundreds of equal layers of a network
 * once. */
typedef struct stk__onednn_memo {
    uint64_t key; /* of the specification; 0: free */
    stk__op_needs needs;
    const char *method;
    bool known, joins, adds;
} stk__onednn_memo;
enum { STK_ONEDNN_MEMOS = 2048 };

/* The place of an operation among STK_ONEDNN_MEMOS, which has its key or is free; NULL: there is no room. */
stk__onednn_memo *stk__onednn_memo_find(stk__onednn_memo *memos, const stk__op *op);

#endif
