/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of a training batch, forward and backward, each marked in the stall table; or both as one CUDA
 * graph (train.compile_mode=reduce-overhead), which the host launches with one call instead of hundreds. The
 * update stays as it is, few launches with numbers that change with every step (learning rate, step, loss
 * scale).
 *
 * A graph works on fixed memory with fixed numbers, so there is one for each slot of a batch: whatever the
 * passes are given must be as it was. The first batch of a slot is trained without, the second one is
 * captured. What cannot be captured is trained without, and a warning says so once. */
#include "core/logger.h"
#include "train/trainer_internal.h"

#include <stdio.h>
#include <string.h>

/* Dropout reads seed and epoch where the last pass without a graph left them: see below. */
static bool is_same(const stk__trainer_graph *g, const stk__pass *pass, const stk__pass_feed *feed)
{
    const stk__pass_feed *f = &g->feed;
    return g->pass == pass && f->input == feed->input && f->sample_ids == feed->sample_ids &&
           f->loss_sums == feed->loss_sums && f->metric_sums == feed->metric_sums &&
           f->grad_scale == feed->grad_scale && f->add_gradients == feed->add_gradients &&
           memcmp(f->target, feed->target, sizeof f->target) == 0;
}

/* The one for this work, or the place of the oldest. */
static stk_status find_graph(stk__trainer *t, const stk__pass *pass, const stk__pass_feed *feed,
                             stk__trainer_graph **found, stk_error *error)
{
    for (int i = 0; i < STK_TRAINER_GRAPHS; i++)
        if (is_same(&t->graphs[i], pass, feed)) {
            *found = &t->graphs[i];
            return STK_OK;
        }
    *found = &t->graphs[t->graph_next++ % STK_TRAINER_GRAPHS];
    if ((*found)->graph) STK__TRY(stk__engine_sync(t->engine, error)); /* it may run */
    stk__graph_destroy(&(*found)->graph);
    **found = (stk__trainer_graph){.pass = pass, .feed = *feed};
    return STK_OK;
}

static stk_status run_both(stk__trainer *t, stk__pass *pass, const stk__pass_feed *feed, stk_error *error)
{
    STK__TRY(stk__pass_forward(pass, feed, error));
    stk__stall_mark(&t->stall, STK_STALL_FORWARD);
    STK__TRY(stk__pass_backward(pass, feed, error));
    stk__stall_mark(&t->stall, STK_STALL_BACKWARD);
    return STK_OK;
}

static stk_status capture(stk__trainer *t, stk__pass *pass, const stk__pass_feed *feed, stk__graph **graph,
                          stk_error *error)
{
    STK__TRY(stk__graph_begin(t->engine, error));
    const stk_status status = run_both(t, pass, feed, error);
    const stk_status ended = stk__graph_end(t->engine, graph, status == STK_OK ? error : NULL);
    if (status != STK_OK) stk__graph_destroy(graph);
    return status != STK_OK ? status : ended;
}

static void give_up(stk__trainer *t, const stk_error *why)
{
    t->captures = false;
    stk__log(STK_LOG_WARNING,
             "train.compile_mode=reduce-overhead is not in effect: no CUDA graph of a step: %s",
             why->message);
}

stk_status stk__trainer_run_passes(stk__trainer *t, stk__pass *pass, const stk__pass_feed *feed,
                                   stk_error *error)
{
    stk__trainer_graph *g;
    stk_error why = {0};
    if (!t->captures || feed->fault || t->stall.trace) return run_both(t, pass, feed, error);
    if (t->info.engine->draws && t->graph_epoch != (int64_t)feed->epoch + 1) { /* the first of an epoch */
        STK__TRY(run_both(t, pass, feed, error));
        t->graph_epoch = (int64_t)feed->epoch + 1;
        return STK_OK;
    }
    STK__TRY(find_graph(t, pass, feed, &g, error));
    const bool first = !g->seen;
    g->seen = true;
    if (first) return run_both(t, pass, feed, error);
    if (!g->graph && capture(t, pass, feed, &g->graph, &why) != STK_OK) {
        give_up(t, &why);
        return run_both(t, pass, feed, error);
    }
    const stk_status status = stk__graph_launch(g->graph, error);
    stk__stall_mark(&t->stall, STK_STALL_FORWARD);
    return status;
}

void stk__trainer_drop_graphs(stk__trainer *t)
{
    bool any = false;
    for (int i = 0; i < STK_TRAINER_GRAPHS; i++)
        any = any || t->graphs[i].graph;
    if (any) stk__engine_sync(t->engine, NULL);
    for (int i = 0; i < STK_TRAINER_GRAPHS; i++)
        stk__graph_destroy(&t->graphs[i].graph);
}

static bool drops(const stk__network *network)
{
    for (int i = 0; i < network->layer_count; i++)
        if (network->layers[i].spec.kind == STK_OP_DROPOUT && network->layers[i].spec.drop > 0) return true;
    return false;
}

static const char *why_not(const stk__trainer *t, const stk__train_settings *train)
{
    const stk__engine_info *engine = t->info.engine;
    if (train->compile == STK_SWITCH_OFF) return "train.compile is false";
    if (engine->device != STK_DEVICE_CUDA) return "CUDA graphs need a GPU (run.device)";
    if (!engine->graphs) return engine->graphs_why;
    if (t->evaluates_only) return "nothing is trained";
    return drops(t->network) && !engine->draws ? "dropout is drawn on the host with every batch" : NULL;
}

void stk__trainer_choose_graphs(stk__trainer *t, const stk__train_settings *train)
{
    const char *why = why_not(t, train);
    t->captures = !why;
    stk__trainer_note_if_asked(t, "train.compile_mode", why ? "" : "reduce-overhead",
                               why ? why
                                   : "a batch's operations are launched as one CUDA graph, from the second "
                                     "batch of each slot on");
}
