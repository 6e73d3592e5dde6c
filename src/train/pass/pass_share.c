/* SPDX-License-Identifier: Apache-2.0 */
/* Values that lie in another's memory: results in place of what they are made from, copies that need not be
 * made. */
#include "train/pass/pass_plan.h"

#include <assert.h>

/* Homes are a chain while values are joined; stk__pass_share leaves each value its last one. */
static int home_of(const stk__pass_plan *plan, int value)
{
    while (plan->values[value].home != value)
        value = plan->values[value].home;
    return value;
}

static void join(stk__pass_plan *plan, int into, int from)
{
    stk__pass_value *home = &plan->values[into];
    assert(home->home == into && home->size_bytes == plan->values[from].size_bytes);
    plan->values[from].home = into;
    if (plan->values[from].first < home->first) home->first = plan->values[from].first;
    if (plan->values[from].last > home->last) home->last = plan->values[from].last;
}

static int count_uses(const stk__pass_plan *plan, const stk__pass_step *step, int home)
{
    int count = 0;
    for (int i = 0; i < step->use_count; i++)
        count += home_of(plan, step->use[i].value) == home;
    return count;
}

/* target in the memory of source, which this step reads for the last time, and reads once. */
static bool join_in_place(stk__pass_plan *plan, int now, int source, int target)
{
    if (source < 0 || target < 0) return false;
    const int a = home_of(plan, source), b = home_of(plan, target);
    if (plan->values[a].last != now || plan->values[b].first != now) return false;
    if (plan->values[a].size_bytes != plan->values[b].size_bytes) return false;
    if (count_uses(plan, &plan->steps[now], a) != 1) return false;
    join(plan, a, b);
    return true;
}

/* A copy shares memory with its source until one of the two is written to: from then on the other may
 * not be read. Later steps are not joined yet, so a step that touches both is not done in place. */
static bool copy_is_needless(const stk__pass_plan *plan, int now, int a, int b)
{
    const int last =
        plan->values[a].last > plan->values[b].last ? plan->values[a].last : plan->values[b].last;
    int current = STK_VALUE_NONE;
    for (int s = now + 1; s <= last; s++) {
        const stk__pass_step *step = &plan->steps[s];
        const int touched = count_uses(plan, step, a) + count_uses(plan, step, b);
        for (int i = 0; touched && i < step->use_count; i++) {
            const int value = step->use[i].value, home = home_of(plan, value);
            if (home != a && home != b) continue;
            if (step->use[i].read && current != STK_VALUE_NONE && current != value) return false;
            if (step->use[i].write && touched > 1) return false;
            if (step->use[i].write) current = value;
        }
    }
    return true;
}

/* Of activations and their gradients; small ones of different types have the same size. */
static bool have_one_type(const stk__pass_plan *plan, const stk__pass_graph *graph, int a, int b)
{
    return graph->nodes[plan->values[a].layer].form->output_dtype ==
           graph->nodes[plan->values[b].layer].form->output_dtype;
}

static void share_copy(stk__pass_plan *plan, const stk__pass_graph *graph, int now)
{
    const stk__pass_step *step = &plan->steps[now];
    const int a = home_of(plan, step->x[0]), b = home_of(plan, step->y);
    if (!have_one_type(plan, graph, a, b)) return;
    if (plan->values[a].size_bytes == plan->values[b].size_bytes && copy_is_needless(plan, now, a, b))
        join(plan, a, b);
}

static void share_forward(stk__pass_plan *plan, const stk__pass_graph *graph, int now)
{
    stk__pass_step *step = &plan->steps[now];
    const stk__pass_node *node = &graph->nodes[step->layer];
    if (step->join != STK_VALUE_NONE) {
        join_in_place(plan, now, step->plus, step->y);
        return;
    }
    if (!node->form->in_place || join_in_place(plan, now, step->x[0], step->y)) return;
    if (node->layer->spec.kind != STK_OP_ADD || !join_in_place(plan, now, step->x[1], step->y)) return;
    const int other = step->x[0]; /* a + b is b + a, to the bit */
    step->x[0] = step->x[1];
    step->x[1] = other;
}

static bool is_gradient_in_place(const stk__pass_node *node)
{
    return node->form->gradient_in_place && !node->needs.dx_apart;
}

void stk__pass_share(stk__pass_plan *plan, const stk__pass_graph *graph)
{
    for (int i = 0; i < plan->step_count; i++) {
        stk__pass_step *step = &plan->steps[i];
        if (step->action == STK_STEP_FORWARD || step->action == STK_STEP_AGAIN)
            share_forward(plan, graph, i);
        else if (step->action == STK_STEP_COPY)
            share_copy(plan, graph, i);
        else if (step->action == STK_STEP_BACKWARD && is_gradient_in_place(&graph->nodes[step->layer]))
            join_in_place(plan, i, step->dy, step->dx[0]);
    }
    for (int i = 0; i < plan->value_count; i++)
        plan->values[i].home = home_of(plan, i);
}
