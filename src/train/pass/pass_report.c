/* SPDX-License-Identifier: Apache-2.0 */
/* What a pass is made of, layer by layer: shapes, parameters, FLOPs of forward and backward, and how it
 * was fused; shown before a run and kept in run.json. */
#include "train/pass/pass_internal.h"

enum { HANDLE_BYTES = 256 }; /* of a tensor, as stk__alloc_held_bytes counts */

static double backward_flops(const stk__pass_graph *graph, const stk__pass_node *node)
{
    if (!node->gradient) return 0;
    if (node->form->param_count == 0) return 2 * node->form->flops;
    bool inputs = false;
    for (int i = 0; i < node->layer->spec.inputs; i++)
        inputs |= node->input[i] != STK_LAYER_INPUT && graph->nodes[node->input[i]].gradient;
    return node->form->flops * (node->learns + inputs);
}

double stk__pass_step_flops(const stk__pass_graph *graph)
{
    double flops = 0;
    for (int i = 0; i < graph->count; i++) {
        const stk__pass_node *node = &graph->nodes[i];
        const double forward = node->used ? node->form->flops : 0;
        flops += forward + backward_flops(graph, node) + (node->again ? forward : 0);
    }
    return flops;
}

static const char *word_of(const stk__pass_node *node)
{
    const stk__op_kind kind = node->layer->spec.kind;
    if (!node->relu) return stk__op_word(kind);
    return kind == STK_OP_ADD ? "add + relu" : "batch_norm + relu";
}

static void count_inside(stk__pass_report *report, const stk__op *op)
{
    if (!op) return;
    const stk__op_needs needs = stk__op_memory(op);
    if (needs.inside_bytes > report->inside_bytes) report->inside_bytes = needs.inside_bytes;
    if (needs.adding_bytes > report->adding_bytes) report->adding_bytes = needs.adding_bytes;
    report->generating_ops += needs.generates;
}

static void fill_row(stk__pass *pass, int index)
{
    const stk__pass_node *node = &pass->graph.nodes[index];
    stk__pass_row *row = &pass->rows[index];
    stk__pass_report *report = &pass->report;
    *row = (stk__pass_row){.layer = node->layer->name,
                           .word = word_of(node),
                           .fused = node->fused >= 0 ? pass->graph.nodes[node->fused].layer->name : NULL,
                           .joined = node->joined >= 0 ? pass->graph.nodes[node->joined].layer->name : NULL,
                           .method = pass->ops[index] ? stk__op_method(pass->ops[index]) : "",
                           .line = node->layer->line,
                           .output = node->form->output,
                           .flops = node->used ? node->form->flops : 0,
                           .saved_bytes = pass->training ? node->needs.saved_bytes : 0,
                           .recomputed = node->again};
    for (int i = 0; i < node->form->param_count; i++)
        row->param_count += stk__shape_count(&node->form->param[i].shape);
    report->param_count += row->param_count;
    report->flops += row->flops;
    report->recomputed_layers += node->again;
    report->fused_layers += row->fused != NULL;
    report->joined_layers += row->joined != NULL;
    if (!pass->ops[index]) return;
    const stk__op_needs needs = stk__op_memory(pass->ops[index]);
    report->library_bytes += needs.library_bytes;
    count_inside(report, pass->ops[index]);
}

void stk__pass_fill_report(stk__pass *pass)
{
    const stk__pass_plan *plan = &pass->plan;
    pass->report = (stk__pass_report){.rows = pass->rows,
                                      .row_count = pass->graph.count,
                                      .step_flops = stk__pass_step_flops(&pass->graph),
                                      .activation_bytes = plan->size_bytes,
                                      .unshared_bytes = plan->unshared_bytes,
                                      .least_bytes = plan->least_bytes,
                                      .scratch_bytes = plan->scratch_bytes,
                                      .library_bytes = (size_t)plan->value_count * HANDLE_BYTES};
    for (int i = 0; i < pass->graph.count; i++)
        fill_row(pass, i);
    count_inside(&pass->report, pass->loss);
    count_inside(&pass->report, pass->metric);
    for (int i = plan->forward_count; i < plan->step_count; i++)
        pass->report.joined_gradients += plan->steps[i].dy2 != STK_VALUE_NONE;
    for (int i = 0; i < plan->forward_count; i++) {
        const stk__pass_step *step = &plan->steps[i];
        if (step->action == STK_STEP_FORWARD && plan->values[step->y].home == step->y)
            pass->rows[plan->values[step->y].layer].output_bytes = plan->values[step->y].size_bytes;
    }
}
