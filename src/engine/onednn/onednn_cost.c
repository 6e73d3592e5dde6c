/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers are from mallinfo2 around the creation of each step, oneDNN 2.6.3 with AVX2, networks
 * hrnet_w18, unet, resnet and locator at 64 px: a step whose primitive is in oneDNN's cache takes 3.4 to 4.9
 * kB (7,588 steps of four hrnet_w18 passes: 30 MB), one that is not 15 to 45 kB more, code included.
 * tests/train/plan_check.py holds the sum against the peak memory of runs. One thread: that of the engine. */
#include "engine/onednn/onednn_cost.h"

#include "core/hash.h"

#include <string.h>

enum { STEP_BYTES = 4200, CODE_BYTES = 32 << 10, REORDER_BYTES = 2400 };

typedef struct numbers {
    int64_t of[64];
    int count;
} numbers;

static void add_layout(numbers *n, const stk__dnn_layout *layout)
{
    n->of[n->count++] = layout->ndim + 16 * layout->any;
    for (int i = 0; i < layout->ndim; i++) {
        n->of[n->count++] = layout->dim[i];
        n->of[n->count++] = layout->any ? 0 : layout->stride[i];
    }
}

static uint64_t key_of(const stk__dnn_layer *layer, stk__dnn_pass pass)
{
    numbers n = {.of = {(int64_t)layer->kind, (int64_t)pass}, .count = 2};
    for (int a = 0; a < 2; a++) {
        n.of[n.count++] = layer->kernel[a];
        n.of[n.count++] = layer->stride[a];
        n.of[n.count++] = layer->pad[a];
        n.of[n.count++] = layer->dilation[a];
    }
    add_layout(&n, &layer->src);
    add_layout(&n, &layer->weights);
    add_layout(&n, &layer->bias);
    add_layout(&n, &layer->dst);
    return stk__digest_of(n.of, (size_t)n.count * sizeof n.of[0]).low | 1;
}

/* True: it was not there before. A full table counts all as new. */
static bool see(stk__dnn_cost *cost, uint64_t key)
{
    if (cost->seen_count >= STK_DNN_COST_SEEN / 2) return true;
    size_t at = key % STK_DNN_COST_SEEN;
    for (; cost->seen[at]; at = (at + 1) % STK_DNN_COST_SEEN)
        if (cost->seen[at] == key) return false;
    cost->seen[at] = key;
    cost->seen_count++;
    return true;
}

void stk__dnn_cost_step(stk__dnn_cost *cost, const stk__dnn_layer *layer, stk__dnn_pass pass)
{
    cost->kept_bytes += STEP_BYTES;
    if (see(cost, key_of(layer, pass))) cost->code_bytes += CODE_BYTES;
}

void stk__dnn_cost_reorder(stk__dnn_cost *cost)
{
    cost->kept_bytes += REORDER_BYTES;
}

/* Bytes between members may differ in equal specifications: those are described twice. */
stk__onednn_memo *stk__onednn_memo_find(stk__onednn_memo *memos, const stk__op *op)
{
    const uint64_t key = stk__digest_of(&op->spec, sizeof op->spec).low | 1;
    size_t at = key % STK_ONEDNN_MEMOS;
    for (int i = 0; i < STK_ONEDNN_MEMOS / 2; i++, at = (at + 1) % STK_ONEDNN_MEMOS)
        if (memos[at].key == key || !memos[at].key) {
            memos[at].key = key;
            return &memos[at];
        }
    return NULL;
}
