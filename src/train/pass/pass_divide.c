/* SPDX-License-Identifier: Apache-2.0 */
/* Segments for recomputing. Only what crosses from one segment to a later one is kept in the forward pass;
 * the rest is computed again when the backward pass reaches its segment. */
#include "train/pass/pass_plan.h"

#include "core/memory.h"

typedef struct cut {
    size_t kept_bytes; /* least that must be kept by segments that end with this layer */
    int before;        /* last layer of the segment before; -1: none */
    int reach;         /* last layer that reads this one's output */
} cut;

/* What a layer adds to the memory of its segment. */
static size_t made_bytes(const stk__pass_node *node)
{
    if (!node->used) return 0;
    return node->needs.saved_bytes + (node->form->in_place ? 0 : node->output_bytes);
}

size_t stk__pass_forward_bytes(const stk__pass_graph *graph)
{
    size_t bytes = 0;
    for (int i = 0; i < graph->count; i++)
        bytes += made_bytes(&graph->nodes[i]);
    return bytes;
}

static void find_reaches(const stk__pass_graph *graph, cut *cuts)
{
    for (int i = 0; i <= graph->output; i++) {
        const stk__pass_node *node = &graph->nodes[i];
        cuts[i].reach = i;
        for (int k = 0; node->used && k < node->layer->spec.inputs; k++)
            if (node->input[k] != STK_LAYER_INPUT) cuts[node->input[k]].reach = i;
    }
}

/* Fills the cut after layer `end` from the cuts before it. A tensor that crosses several borders is counted
 * once: by the segment that makes it. */
static void find_cut(const stk__pass_graph *graph, cut *cuts, int end, size_t limit_bytes)
{
    size_t made = 0, kept = 0, best = SIZE_MAX;
    for (int start = end; start >= 0; start--) {
        const stk__pass_node *node = &graph->nodes[start];
        made += made_bytes(node);
        if (made > limit_bytes && start < end) break;
        if (cuts[start].reach > end) kept += node->output_bytes + node->needs.saved_bytes;
        const size_t before = start ? cuts[start - 1].kept_bytes : 0;
        if (before + kept > best) continue; /* of equals the longer segment */
        best = before + kept;
        cuts[end].kept_bytes = best;
        cuts[end].before = start - 1;
    }
}

static void number_segments(stk__pass_graph *graph, const cut *cuts)
{
    int *segments = &graph->segments;
    *segments = 0;
    for (int end = graph->output; end >= 0; end = cuts[end].before)
        ++*segments;
    int segment = *segments;
    for (int end = graph->output; end >= 0; end = cuts[end].before) {
        segment--;
        for (int i = cuts[end].before + 1; i <= end; i++) {
            graph->nodes[i].segment = segment;
            graph->nodes[i].kept = segment == *segments - 1 || cuts[i].reach > end;
            graph->nodes[i].again = false;
        }
    }
}

stk_status stk__pass_divide(stk__pass_graph *graph, size_t limit_bytes, stk_error *error)
{
    const size_t size = ((size_t)graph->output + 1) * sizeof(cut); /* later layers are not used */
    cut *cuts = stk__alloc(size);
    if (!cuts) return stk__fail_memory(error, size, "the plan of a pass");
    find_reaches(graph, cuts);
    for (int end = 0; end <= graph->output; end++)
        find_cut(graph, cuts, end, limit_bytes);
    number_segments(graph, cuts);
    stk__free(cuts);
    return STK_OK;
}
