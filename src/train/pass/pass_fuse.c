/* SPDX-License-Identifier: Apache-2.0 */
/* Relus as part of the layer before them, sums as part of a batch norm before them: sweeps over a tensor
 * less. */
#include "train/pass/pass_plan.h"

static int count_readers(const stk__pass_graph *graph, int layer)
{
    int count = layer == graph->output;
    for (int i = layer + 1; i < graph->count; i++)
        for (int k = 0; k < graph->nodes[i].layer->spec.inputs; k++)
            count += graph->nodes[i].input[k] == layer;
    return count;
}

static void redirect(stk__pass_graph *graph, int from, int to)
{
    if (graph->output == from) graph->output = to;
    for (int i = from + 1; i < graph->count; i++)
        for (int k = 0; k < graph->nodes[i].layer->spec.inputs; k++)
            if (graph->nodes[i].input[k] == from) graph->nodes[i].input[k] = to;
}

static void fuse_relu(stk__pass_graph *graph, int layer)
{
    stk__pass_node *node = &graph->nodes[layer];
    const int before = node->input[0];
    if (node->layer->spec.kind != STK_OP_RELU || before == STK_LAYER_INPUT) return;
    stk__pass_node *worker = &graph->nodes[before];
    if (!stk__op_takes_relu(worker->layer->spec.kind) || worker->relu) return;
    if (count_readers(graph, before) != 1) return;
    worker->relu = true;
    node->fused = before;
    redirect(graph, layer, before);
}

void stk__pass_fuse(stk__pass_graph *graph, bool fuse)
{
    graph->fuse = fuse;
    for (int i = 0; i < graph->count; i++) {
        stk__pass_node *node = &graph->nodes[i];
        for (int k = 0; k < STK_OP_INPUTS; k++)
            node->input[k] = node->layer->input[k];
        node->fused = STK_VALUE_NONE;
        node->relu = false;
    }
    for (int i = 0; fuse && i < graph->count; i++)
        fuse_relu(graph, i);
}

/* The later one, if both inputs could: nothing that it waits for is computed after it. */
static int find_joined(const stk__pass_graph *graph, const stk__pass_node *sum)
{
    int found = STK_VALUE_NONE;
    for (int k = 0; k < sum->layer->spec.inputs; k++) {
        const int input = sum->input[k];
        if (input == STK_LAYER_INPUT || input <= found || !graph->nodes[input].joins) continue;
        if (count_readers(graph, input) == 1) found = input;
    }
    return found;
}

void stk__pass_join(stk__pass_graph *graph, bool join)
{
    for (int i = 0; i < graph->count; i++) {
        stk__pass_node *node = &graph->nodes[i];
        node->joined = STK_VALUE_NONE;
        node->late = false;
        if (!join || !node->used || node->layer->spec.kind != STK_OP_ADD) continue;
        node->joined = find_joined(graph, node);
        if (node->joined != STK_VALUE_NONE) graph->nodes[node->joined].late = true;
    }
}
