/* SPDX-License-Identifier: Apache-2.0 */
/* From layers to steps: forward, loss and metric, then backward, segment by segment. */
#include "train/pass/pass_plan.h"

#include "core/memory.h"

#include <assert.h>

static void mark_used(stk__pass_graph *graph)
{
    for (int i = 0; i < graph->count; i++)
        graph->nodes[i].used = i == graph->output;
    for (int i = graph->output; i >= 0; i--) {
        const stk__pass_node *node = &graph->nodes[i];
        for (int k = 0; node->used && k < node->layer->spec.inputs; k++)
            if (node->input[k] != STK_LAYER_INPUT) graph->nodes[node->input[k]].used = true;
    }
}

void stk__pass_mark(stk__pass_graph *graph)
{
    mark_used(graph);
    graph->segments = 1;
    for (int i = 0; i < graph->count; i++) {
        stk__pass_node *node = &graph->nodes[i];
        node->segment = 0;
        node->kept = true;
        node->again = false;
        node->gradient = graph->training && node->learns;
        for (int k = 0; k < node->layer->spec.inputs; k++)
            if (node->input[k] != STK_LAYER_INPUT && graph->nodes[node->input[k]].gradient)
                node->gradient = true;
        node->gradient &= node->used;
    }
}

static int add_value(stk__pass_plan *plan, stk__value_kind kind, int layer, size_t size_bytes)
{
    if (size_bytes == 0) return STK_VALUE_NONE;
    assert(plan->value_count < plan->value_room);
    const int index = plan->value_count++;
    plan->values[index] =
        (stk__pass_value){.kind = kind, .layer = layer, .size_bytes = size_bytes, .home = index, .first = -1};
    return index;
}

static stk__pass_step *add_step(stk__pass_plan *plan, stk__step_action action, int layer)
{
    assert(plan->step_count < plan->step_room);
    stk__pass_step *step = &plan->steps[plan->step_count++];
    *step = (stk__pass_step){.action = action, .layer = layer};
    for (int i = 0; i < STK_OP_INPUTS; i++)
        step->x[i] = step->dx[i] = STK_VALUE_NONE;
    step->join = step->plus = step->y = step->dy = step->dy2 = step->saved = step->scratch = STK_VALUE_NONE;
    return step;
}

/* Notes that the newest step uses a value. */
static void use(stk__pass_plan *plan, int value, bool read, bool write)
{
    if (value < 0) return;
    const int now = plan->step_count - 1;
    stk__pass_step *step = &plan->steps[now];
    assert(step->use_count < STK_STEP_USES);
    step->use[step->use_count++] = (stk__pass_use){value, read, write};
    if (plan->values[value].first < 0) plan->values[value].first = now;
    plan->values[value].last = now;
}

static void use_inputs(stk__pass_plan *plan, stk__pass_step *step, const stk__pass_graph *graph, bool read)
{
    const stk__pass_node *node = &graph->nodes[step->layer];
    for (int i = 0; i < node->layer->spec.inputs; i++) {
        step->x[i] = node->input[i] == STK_LAYER_INPUT ? STK_VALUE_FEED : graph->nodes[node->input[i]].y;
        if (read) use(plan, step->x[i], true, false);
    }
}

static void use_scratch(stk__pass_plan *plan, stk__pass_step *step, size_t scratch_bytes)
{
    step->scratch = add_value(plan, STK_VALUE_SCRATCH, step->layer, scratch_bytes);
    use(plan, step->scratch, false, true);
    if (scratch_bytes > plan->scratch_bytes) plan->scratch_bytes = scratch_bytes;
}

static void write_forward(stk__pass_plan *plan, stk__pass_graph *graph, int layer, stk__step_action action)
{
    stk__pass_node *node = &graph->nodes[layer];
    stk__pass_step *step = add_step(plan, action, layer);
    use_inputs(plan, step, graph, true);
    step->y = node->y = add_value(plan, STK_VALUE_ACTIVATION, layer, node->output_bytes);
    step->saved = node->saved = add_value(plan, STK_VALUE_SAVED, layer, node->needs.saved_bytes);
    use(plan, step->y, false, true);
    use(plan, step->saved, false, true);
    use_scratch(plan, step, node->needs.scratch_bytes);
}

/* A sum and the input that computes it, in one step. */
static void write_joined(stk__pass_plan *plan, stk__pass_graph *graph, int layer)
{
    stk__pass_node *sum = &graph->nodes[layer], *node = &graph->nodes[sum->joined];
    const int other = sum->input[sum->input[0] == sum->joined];
    stk__pass_step *step = add_step(plan, STK_STEP_FORWARD, sum->joined);
    use_inputs(plan, step, graph, true);
    step->join = layer;
    step->plus = other == STK_LAYER_INPUT ? STK_VALUE_FEED : graph->nodes[other].y;
    use(plan, step->plus, true, false);
    step->y = sum->y = add_value(plan, STK_VALUE_ACTIVATION, layer, sum->output_bytes);
    step->saved = node->saved = add_value(plan, STK_VALUE_SAVED, sum->joined, node->needs.saved_bytes);
    use(plan, step->y, false, true);
    use(plan, step->saved, false, true);
    use_scratch(plan, step, node->needs.scratch_bytes);
}

/* Loss or metric: its saved bytes, if it needs any, are its own. */
static void write_judge(stk__pass_plan *plan, stk__pass_graph *graph, stk__step_action action,
                        stk__op_needs needs)
{
    stk__pass_node *output = &graph->nodes[graph->output];
    stk__pass_step *step = add_step(plan, action, graph->count);
    step->x[0] = output->y;
    use(plan, output->y, true, false);
    if (action == STK_STEP_LOSS && output->gradient) {
        output->dy = add_value(plan, STK_VALUE_GRADIENT, graph->output, output->output_bytes);
        step->dx[0] = output->dy;
        use(plan, output->dy, false, true);
    }
    step->saved = add_value(plan, STK_VALUE_SAVED, graph->count, needs.saved_bytes);
    use(plan, step->saved, false, true);
    use_scratch(plan, step, needs.scratch_bytes);
}

static void write_add(stk__pass_plan *plan, int target, int source, int layer)
{
    stk__pass_step *step = add_step(plan, STK_STEP_ADD, layer);
    step->x[0] = source;
    step->y = target;
    use(plan, source, true, false);
    use(plan, target, true, true);
}

static stk__pass_node *input_with_gradient(stk__pass_graph *graph, const stk__pass_node *node, int i)
{
    stk__pass_node *input = node->input[i] == STK_LAYER_INPUT ? NULL : &graph->nodes[node->input[i]];
    return input && input->gradient ? input : NULL;
}

/* The newest step, if it adds to this gradient, is taken back: the next one, which has its place in the
 * program, adds itself. Returns what is to be added. */
static int take_sum_back(stk__pass_plan *plan, int gradient)
{
    const stk__pass_step *newest = &plan->steps[plan->step_count - 1];
    if (newest->action != STK_STEP_ADD || newest->y != gradient) return STK_VALUE_NONE;
    plan->step_count--;
    return newest->x[0];
}

/* What the relu of a sum lets through of its gradient, as a gradient of its own in (mostly) the same memory.
 */
static void write_relu_of_add(stk__pass_plan *plan, stk__pass_graph *graph, int layer)
{
    stk__pass_node *node = &graph->nodes[layer];
    const int more = take_sum_back(plan, node->dy);
    stk__pass_step *step = add_step(plan, STK_STEP_BACKWARD, layer);
    step->dy = node->dy;
    step->dy2 = more;
    use(plan, step->dy, true, more != STK_VALUE_NONE);
    use(plan, more, true, false);
    use_inputs(plan, step, graph, false);
    step->y = node->y;
    use(plan, step->y, true, false);
    step->saved = node->saved;
    use(plan, step->saved, true, false);
    step->dx[0] = node->dy = add_value(plan, STK_VALUE_GRADIENT, layer, node->output_bytes);
    use(plan, step->dx[0], false, true);
    use_scratch(plan, step, node->needs.scratch_bytes);
}

/* Gradients of a sum are the gradient itself: it is copied (mostly for nothing, see stk__pass_share) or
 * added. */
static void write_backward_of_add(stk__pass_plan *plan, stk__pass_graph *graph, int layer)
{
    const stk__pass_node *node = &graph->nodes[layer];
    if (node->relu) write_relu_of_add(plan, graph, layer);
    for (int i = 0; i < node->layer->spec.inputs; i++) {
        stk__pass_node *input = input_with_gradient(graph, node, i);
        if (!input) continue;
        if (input->dy != STK_VALUE_NONE) {
            write_add(plan, input->dy, node->dy, node->input[i]);
            continue;
        }
        stk__pass_step *step = add_step(plan, STK_STEP_COPY, node->input[i]);
        step->x[0] = node->dy;
        use(plan, node->dy, true, false);
        step->y = input->dy = add_value(plan, STK_VALUE_GRADIENT, node->input[i], input->output_bytes);
        use(plan, step->y, false, true);
    }
}

/* The first to know something of a gradient writes it; later ones write a part that is added. */
static void write_backward(stk__pass_plan *plan, stk__pass_graph *graph, int layer)
{
    const stk__pass_node *node = &graph->nodes[layer];
    stk__pass_step *step = add_step(plan, STK_STEP_BACKWARD, layer);
    int part[STK_OP_INPUTS];
    step->dy = node->dy;
    use(plan, step->dy, true, false);
    use_inputs(plan, step, graph, node->form->needs_x);
    step->y = node->y;
    if (node->form->needs_y) use(plan, step->y, true, false);
    step->saved = node->saved;
    use(plan, step->saved, true, false);
    for (int i = 0; i < node->layer->spec.inputs; i++) {
        stk__pass_node *input = input_with_gradient(graph, node, i);
        const bool first = input && input->dy == STK_VALUE_NONE;
        part[i] = STK_VALUE_NONE;
        if (!input) continue;
        step->dx[i] =
            add_value(plan, first ? STK_VALUE_GRADIENT : STK_VALUE_PART, node->input[i], input->output_bytes);
        *(first ? &input->dy : &part[i]) = step->dx[i];
        use(plan, step->dx[i], false, true);
    }
    use_scratch(plan, step, node->needs.scratch_bytes);
    for (int i = 0; i < node->layer->spec.inputs; i++)
        if (part[i] != STK_VALUE_NONE)
            write_add(plan, graph->nodes[node->input[i]].dy, part[i], node->input[i]);
}

static void want_inputs_again(stk__pass_graph *graph, const stk__pass_node *node)
{
    for (int i = 0; i < node->layer->spec.inputs; i++) {
        if (node->input[i] == STK_LAYER_INPUT) continue;
        stk__pass_node *input = &graph->nodes[node->input[i]];
        if (!input->kept) input->again = true;
    }
}

/* Which layers of a segment must be computed again: those whose output or saved bytes a backward step reads,
 * and what these are made from. Inputs come before their readers, so one walk from the end finds all. */
static void mark_again(stk__pass_graph *graph, int segment)
{
    for (int i = graph->count - 1; i >= 0; i--) {
        stk__pass_node *node = &graph->nodes[i];
        if (!node->used || node->segment != segment) continue;
        if (node->gradient && !node->kept && (node->form->needs_y || node->needs.saved_bytes))
            node->again = true;
        if (node->again || (node->gradient && node->form->needs_x)) want_inputs_again(graph, node);
    }
}

static void write_segment(stk__pass_plan *plan, stk__pass_graph *graph, int segment)
{
    mark_again(graph, segment);
    for (int i = 0; i < graph->count; i++)
        if (graph->nodes[i].again && graph->nodes[i].segment == segment)
            write_forward(plan, graph, i, STK_STEP_AGAIN);
    for (int i = graph->count - 1; i >= 0; i--) {
        const stk__pass_node *node = &graph->nodes[i];
        if (!node->gradient || node->segment != segment) continue;
        if (node->layer->spec.kind == STK_OP_ADD)
            write_backward_of_add(plan, graph, i);
        else
            write_backward(plan, graph, i);
    }
}

static stk_status reserve(stk__pass_plan *plan, const stk__pass_graph *graph, stk_error *error)
{
    int inputs = 0;
    for (int i = 0; i < graph->count; i++)
        inputs += graph->nodes[i].layer->spec.inputs;
    plan->step_room = 3 * graph->count + inputs + 4;
    plan->value_room = 3 * 3 * graph->count + inputs + 8; /* output, saved, scratch, each way; gradients */
    plan->steps = stk__alloc((size_t)plan->step_room * sizeof *plan->steps);
    plan->values = stk__alloc((size_t)plan->value_room * sizeof *plan->values);
    if (plan->steps && plan->values) return STK_OK;
    return stk__fail_memory(error, (size_t)plan->step_room * sizeof *plan->steps, "the plan of a pass");
}

stk_status stk__pass_write(stk__pass_plan *plan, stk__pass_graph *graph, stk_error *error)
{
    *plan = (stk__pass_plan){0};
    STK__TRY(reserve(plan, graph, error));
    for (int i = 0; i < graph->count; i++) {
        graph->nodes[i].y = graph->nodes[i].saved = graph->nodes[i].dy = STK_VALUE_NONE;
        if (graph->nodes[i].joined != STK_VALUE_NONE)
            write_joined(plan, graph, i);
        else if (graph->nodes[i].used && !graph->nodes[i].late)
            write_forward(plan, graph, i, STK_STEP_FORWARD);
    }
    if (graph->metric) write_judge(plan, graph, STK_STEP_METRIC, graph->metric_needs);
    if (graph->loss) write_judge(plan, graph, STK_STEP_LOSS, graph->loss_needs);
    add_step(plan, STK_STEP_HOLD, graph->output)->x[0] = graph->nodes[graph->output].y;
    use(plan, graph->nodes[graph->output].y, true, false);
    plan->forward_count = plan->step_count;
    for (int s = graph->segments - 1; graph->training && s >= 0; s--)
        write_segment(plan, graph, s);
    return STK_OK;
}

void stk__pass_plan_fini(stk__pass_plan *plan)
{
    stk__free(plan->steps);
    stk__free(plan->values);
    *plan = (stk__pass_plan){0};
}
