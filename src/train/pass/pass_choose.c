/* SPDX-License-Identifier: Apache-2.0 */
/* Which plan: without recomputing the only one, with it the best of several. */
#include "train/pass/pass_internal.h"

#include "core/memory.h"

#include <string.h>

static stk_status make_plan(stk__pass_plan *plan, stk__pass_graph *graph, bool unshared, stk_error *error)
{
    STK__TRY(stk__pass_write(plan, graph, error));
    if (!unshared) stk__pass_share(plan, graph);
    if (!graph->rough) return stk__pass_pack(plan, unshared, error);
    stk__pass_pack_rough(plan);
    return STK_OK;
}

/* The same for a plan that is of use only if it is smaller than `most`. Packing takes nearly all of the time,
 * and never comes to less than the rough least. */
static stk_status make_smaller(stk__pass_plan *plan, stk__pass_graph *graph, size_t most, stk_error *error)
{
    STK__TRY(stk__pass_write(plan, graph, error));
    stk__pass_share(plan, graph);
    stk__pass_pack_rough(plan);
    return graph->rough || plan->least_bytes >= most ? STK_OK : stk__pass_pack(plan, false, error);
}

/* Tries segments of several sizes; the smallest arena wins. Few tries: half a dozen sizes around the one that
 * makes as many segments as layers in each. */
static stk_status plan_again(stk__pass_plan *best, stk__pass_graph *graph, bool unshared, stk_error *error)
{
    static const int parts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32};
    const size_t all = stk__pass_forward_bytes(graph);
    size_t best_limit = SIZE_MAX, best_size = best->size_bytes;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        stk__pass_plan plan = {0};
        stk_status status = stk__pass_divide(graph, all / (size_t)parts[i], error);
        if (status == STK_OK) status = make_smaller(&plan, graph, best_size, error);
        if (status == STK_OK && plan.size_bytes < best_size) {
            best_size = plan.size_bytes;
            best_limit = all / (size_t)parts[i];
        }
        stk__pass_plan_fini(&plan);
        if (status != STK_OK) return status;
    }
    stk__pass_plan_fini(best);
    STK__TRY(stk__pass_divide(graph, best_limit, error));
    return make_plan(best, graph, unshared, error);
}

stk_status stk__pass_choose(stk__pass_plan *plan, stk__pass_graph *graph, bool recompute, bool unshared,
                            stk_error *error)
{
    stk__pass_join(graph, graph->fuse && !recompute); /* what is computed again is computed layer by layer */
    STK__TRY(make_plan(plan, graph, unshared, error));
    return recompute ? plan_again(plan, graph, unshared, error) : STK_OK;
}

/* On a copy of the graph: planning writes into its nodes. Rough: it is not what will be run. */
static stk_status try_trade(stk__pass_graph *graph, bool recompute, stk__pass_trade *trade, stk_error *error)
{
    stk__pass_plan plan = {0};
    graph->rough = true;
    stk__pass_mark(graph);
    const stk_status status = stk__pass_choose(&plan, graph, recompute, false, error);
    *trade = (stk__pass_trade){plan.size_bytes, stk__pass_step_flops(graph), 0};
    for (int i = 0; i < graph->count; i++)
        trade->recomputed_layers += graph->nodes[i].again;
    stk__pass_plan_fini(&plan);
    return status;
}

stk_status stk__pass_compare(const stk__pass *pass, stk__pass_trade trades[2], stk_error *error)
{
    stk__pass_graph graph = pass->graph;
    const size_t size = (size_t)graph.count * sizeof *graph.nodes;
    graph.nodes = stk__alloc(size);
    if (!graph.nodes) return stk__fail_memory(error, size, "the plan of a pass");
    memcpy(graph.nodes, pass->graph.nodes, size);
    trades[pass->recompute] = (stk__pass_trade){pass->plan.size_bytes, stk__pass_step_flops(&pass->graph),
                                                pass->report.recomputed_layers};
    const stk_status status = try_trade(&graph, !pass->recompute, &trades[!pass->recompute], error);
    stk__free(graph.nodes);
    return status;
}
