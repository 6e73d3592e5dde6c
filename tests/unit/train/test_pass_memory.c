/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of random networks, run on a memory of tags: whoever reads must find what was meant for him. The tags
 * that are meant follow from the network alone, not from the plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "train/pass/pass_plan.h"

enum { LAYERS = 40, CELL = 64, ROUNDS = 3000 };
static const uint64_t trash = 0xdead, fed = 77;

typedef struct world {
    stk__layer layers[LAYERS];
    stk__op_form forms[LAYERS];
    stk__pass_node nodes[LAYERS];
    stk__pass_graph graph;
    stk__pass_plan plan;
    uint64_t y[LAYERS], saved[LAYERS], dy[LAYERS]; /* tags as they should be */
    int backwards[LAYERS];
    uint64_t *memory; /* a tag for each cell of the arena */
    stk__random_at dice;
} world;

static uint32_t roll(world *w, uint32_t bound)
{
    w->dice.draw++;
    return stk__random_draw(w->dice).word[0] % bound;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
    return x ^ (x >> 29);
}

/* --- a random network --------------------------------------------------------------------------------------
 */

static int roll_input(world *w, int layer)
{
    if (layer == 0 || roll(w, 12) == 0) return STK_LAYER_INPUT;
    if (roll(w, 3)) return layer - 1;
    return (int)roll(w, (uint32_t)layer);
}

static size_t roll_bytes(world *w)
{
    return (size_t)CELL * (1 + roll(w, roll(w, 4) ? 4 : 24));
}

static void roll_layer(world *w, int index)
{
    stk__layer *layer = &w->layers[index];
    stk__pass_node *node = &w->nodes[index];
    stk__op_form *form = &w->forms[index];
    const uint32_t kind = roll(w, 6);
    const bool alike = kind == 0 || kind == 1; /* the output is as large as the first input */
    *layer = (stk__layer){.spec = {.kind = kind == 0   ? STK_OP_ADD
                                           : kind == 2 ? STK_OP_CONCAT
                                                       : STK_OP_CONV,
                                   .inputs = kind == 0   ? 2
                                             : kind == 2 ? (int)(1 + roll(w, STK_OP_INPUTS))
                                                         : 1}};
    for (int i = 0; i < layer->spec.inputs; i++)
        layer->input[i] = roll_input(w, index);
    *form = (stk__op_form){.in_place = alike,
                           .gradient_in_place = alike,
                           .needs_x = kind > 1 && roll(w, 2),
                           .needs_y = kind && roll(w, 2),
                           .param_count = roll(w, 2) ? 1 : 0};
    *node = (stk__pass_node){.layer = layer, .form = form, .output_bytes = roll_bytes(w)};
    node->learns = form->param_count > 0 && roll(w, 4);
    if (roll(w, 2)) node->needs.saved_bytes = roll_bytes(w);
    if (roll(w, 2)) node->needs.scratch_bytes = roll_bytes(w);
    if (!alike || layer->input[0] == STK_LAYER_INPUT) return;
    node->output_bytes = w->nodes[layer->input[0]].output_bytes;
    if (kind == 0 &&
        (layer->input[1] == STK_LAYER_INPUT || w->nodes[layer->input[1]].output_bytes != node->output_bytes))
        layer->input[1] = roll(w, 2) ? layer->input[0] : STK_LAYER_INPUT;
}

static void roll_world(world *w, uint64_t seed)
{
    *w = (world){.dice = {.seed = seed}};
    w->graph.count = 1 + (int)roll(w, LAYERS);
    w->graph.nodes = w->nodes;
    w->graph.output = roll(w, 3) ? w->graph.count - 1 : (int)roll(w, (uint32_t)w->graph.count);
    w->graph.training = roll(w, 4) > 0;
    w->graph.loss = w->graph.training || roll(w, 2);
    w->graph.metric = roll(w, 2);
    if (roll(w, 2))
        w->graph.loss_needs = (stk__op_needs){.saved_bytes = roll_bytes(w), .scratch_bytes = roll_bytes(w)};
    if (roll(w, 2))
        w->graph.metric_needs = (stk__op_needs){.saved_bytes = roll_bytes(w), .scratch_bytes = roll_bytes(w)};
    for (int i = 0; i < w->graph.count; i++)
        roll_layer(w, i);
}

/* Some sums do the work of a relu behind them. */
static void roll_relus(world *w)
{
    for (int i = 0; i < w->graph.count; i++)
        if (w->layers[i].spec.kind == STK_OP_ADD && roll(w, 2)) w->nodes[i].relu = w->forms[i].needs_y = true;
}

/* Some layers could compute the sum behind them; sums keep nothing. */
static void roll_joins(world *w)
{
    for (int i = 0; i < w->graph.count; i++) {
        if (w->layers[i].spec.kind == STK_OP_ADD) w->nodes[i].needs.saved_bytes = 0;
        w->nodes[i].joins = w->layers[i].spec.kind == STK_OP_CONV && !w->forms[i].needs_y;
    }
}

/* --- what it should compute --------------------------------------------------------------------------------
 */

static uint64_t wanted_input(const world *w, const stk__layer *layer, int i)
{
    return layer->input[i] == STK_LAYER_INPUT ? fed : w->y[layer->input[i]];
}

/* What layer says about the gradient of its input i. */
static uint64_t wanted_part(const world *w, int index, int i)
{
    const stk__layer *layer = &w->layers[index];
    if (layer->spec.kind == STK_OP_ADD && !w->nodes[index].relu) return w->dy[index];
    if (layer->spec.kind == STK_OP_ADD) return mix(mix(w->dy[index], w->y[index]), 5); /* for both */
    uint64_t tag = mix(mix(w->dy[index], (uint64_t)index), (uint64_t)i);
    for (int k = 0; w->forms[index].needs_x && k < layer->spec.inputs; k++)
        tag = mix(tag, wanted_input(w, layer, k));
    if (w->forms[index].needs_y) tag = mix(tag, w->y[index]);
    return w->nodes[index].needs.saved_bytes ? mix(tag, w->saved[index]) : tag;
}

static uint64_t wanted_loss(const world *w)
{
    return mix(12345, w->y[w->graph.output]);
}

static void compute_wanted(world *w)
{
    for (int i = 0; i < w->graph.count; i++) {
        w->y[i] = mix(1, (uint64_t)i);
        for (int k = 0; k < w->layers[i].spec.inputs; k++)
            w->y[i] = mix(w->y[i], wanted_input(w, &w->layers[i], k));
        w->saved[i] = mix(w->y[i], 9);
    }
    w->dy[w->graph.output] = wanted_loss(w);
    for (int i = w->graph.output; i >= 0; i--)
        for (int k = 0; w->nodes[i].used && k < w->layers[i].spec.inputs; k++)
            if (w->layers[i].input[k] != STK_LAYER_INPUT)
                w->dy[w->layers[i].input[k]] += wanted_part(w, i, k);
}

/* --- the memory --------------------------------------------------------------------------------------------
 */

static void put(world *w, int value, uint64_t tag)
{
    if (value < 0) return;
    const stk__pass_value *v = &w->plan.values[value];
    assert_true(v->offset_bytes % CELL == 0 && v->offset_bytes + v->size_bytes <= w->plan.size_bytes);
    for (size_t i = 0; i < v->size_bytes / CELL; i++)
        w->memory[v->offset_bytes / CELL + i] = tag;
}

static uint64_t get(const world *w, int value)
{
    if (value == STK_VALUE_FEED) return fed;
    assert_true(value >= 0);
    const stk__pass_value *v = &w->plan.values[value];
    const uint64_t *cells = w->memory + v->offset_bytes / CELL;
    for (size_t i = 1; i < v->size_bytes / CELL; i++)
        if (cells[i] != cells[0]) return trash;
    return cells[0];
}

static bool same_place(const world *w, int a, int b)
{
    return a >= 0 && b >= 0 && w->plan.values[a].offset_bytes == w->plan.values[b].offset_bytes;
}

/* --- steps: results are spoilt before anything is read, unless they may lie where they are made from
 * ---------
 */

static bool comes_from(const world *w, int value, int input)
{
    return value < 0 ? input == STK_LAYER_INPUT : w->plan.values[value].layer == input;
}

static void run_forward(world *w, const stk__pass_step *step)
{
    const int index = step->layer;
    const stk__layer *layer = &w->layers[index];
    const bool in_place =
        w->forms[index].in_place && same_place(w, step->x[0], step->y) && !same_place(w, step->x[1], step->y);
    if (!in_place) put(w, step->y, trash);
    put(w, step->saved, trash);
    put(w, step->scratch, trash);
    const bool swapped = layer->spec.kind == STK_OP_ADD && !comes_from(w, step->x[0], layer->input[0]);
    for (int i = 0; i < layer->spec.inputs; i++)
        assert_int_equal(get(w, step->x[i]), wanted_input(w, layer, swapped ? 1 - i : i));
    put(w, step->y, w->y[index]);
    put(w, step->saved, w->saved[index]);
}

/* A layer and the sum behind it: its own output is never anywhere. */
static void run_joined(world *w, const stk__pass_step *step)
{
    const stk__layer *layer = &w->layers[step->layer], *sum = &w->layers[step->join];
    const int other = sum->input[sum->input[0] == step->layer];
    if (!same_place(w, step->plus, step->y)) put(w, step->y, trash);
    put(w, step->saved, trash);
    put(w, step->scratch, trash);
    for (int i = 0; i < layer->spec.inputs; i++)
        assert_int_equal(get(w, step->x[i]), wanted_input(w, layer, i));
    assert_int_equal(get(w, step->plus), other == STK_LAYER_INPUT ? fed : w->y[other]);
    put(w, step->y, w->y[step->join]);
    put(w, step->saved, w->saved[step->layer]);
}

static void run_judge(world *w, const stk__pass_step *step)
{
    put(w, step->dx[0], trash);
    put(w, step->saved, trash);
    put(w, step->scratch, trash);
    assert_int_equal(get(w, step->x[0]), w->y[w->graph.output]);
    put(w, step->dx[0], wanted_loss(w));
}

static void run_backward(world *w, const stk__pass_step *step)
{
    const int index = step->layer;
    const stk__layer *layer = &w->layers[index];
    const bool in_place = w->forms[index].gradient_in_place && same_place(w, step->dy, step->dx[0]);
    for (int i = 0; i < layer->spec.inputs; i++)
        if (i || !in_place) put(w, step->dx[i], trash);
    put(w, step->scratch, trash);
    if (step->dy2 != STK_VALUE_NONE) { /* both are parts; dy becomes the sum */
        assert_false(same_place(w, step->dy, step->dy2));
        const uint64_t both = get(w, step->dy) + get(w, step->dy2);
        put(w, step->dy, both);
    }
    assert_int_equal(get(w, step->dy), w->dy[index]);
    for (int i = 0; w->forms[index].needs_x && i < layer->spec.inputs; i++)
        assert_int_equal(get(w, step->x[i]), wanted_input(w, layer, i));
    if (w->forms[index].needs_y) assert_int_equal(get(w, step->y), w->y[index]);
    if (w->nodes[index].needs.saved_bytes) assert_int_equal(get(w, step->saved), w->saved[index]);
    for (int i = 0; i < layer->spec.inputs; i++) {
        const bool sum = layer->spec.kind == STK_OP_ADD; /* its first gradient is copied to the second */
        const bool wants =
            sum ? i == 0 : layer->input[i] != STK_LAYER_INPUT && w->nodes[layer->input[i]].gradient;
        assert_int_equal(step->dx[i] != STK_VALUE_NONE, wants);
        put(w, step->dx[i], wanted_part(w, index, i));
    }
    w->backwards[index]++;
}

static void run_step(world *w, const stk__pass_step *step)
{
    switch (step->action) {
    case STK_STEP_LOSS:
    case STK_STEP_METRIC:
        run_judge(w, step);
        break;
    case STK_STEP_HOLD:
        assert_int_equal(get(w, step->x[0]), w->y[w->graph.output]);
        break;
    case STK_STEP_BACKWARD:
        run_backward(w, step);
        break;
    case STK_STEP_ADD:
        assert_false(same_place(w, step->x[0], step->y));
        put(w, step->y, get(w, step->y) + get(w, step->x[0]));
        break;
    case STK_STEP_COPY:
        put(w, step->y, get(w, step->x[0]));
        break;
    default:
        if (step->join != STK_VALUE_NONE)
            run_joined(w, step);
        else
            run_forward(w, step);
    }
}

/* --- lifetimes, found once more
 * ------------------------------------------------------------------------------
 */

static void find_lives(const world *w, int first[], int last[])
{
    for (int v = 0; v < w->plan.value_count; v++)
        first[v] = last[v] = -1;
    for (int s = 0; s < w->plan.step_count; s++) {
        const stk__pass_step *step = &w->plan.steps[s];
        for (int i = 0; i < step->use_count; i++) {
            const int v = step->use[i].value;
            if (first[v] < 0) first[v] = s;
            last[v] = s;
        }
    }
}

static void check_overlaps(const world *w)
{
    int first[16 * LAYERS], last[16 * LAYERS];
    assert_true(w->plan.value_count <= 16 * LAYERS);
    find_lives(w, first, last);
    for (int a = 0; a < w->plan.value_count; a++)
        for (int b = 0; b < a; b++) {
            const stk__pass_value *x = &w->plan.values[a], *y = &w->plan.values[b];
            const bool together = first[a] <= last[b] && first[b] <= last[a];
            const bool overlap = x->offset_bytes < y->offset_bytes + y->size_bytes &&
                                 y->offset_bytes < x->offset_bytes + x->size_bytes;
            if (together && overlap) assert_int_equal(x->home, y->home);
            if (x->home == y->home) assert_int_equal(x->offset_bytes, y->offset_bytes);
        }
}

/* Recomputing is of use: what is not kept dies before the backward pass, and only that is computed again. */
static void check_dropped(const world *w)
{
    int first[16 * LAYERS], last[16 * LAYERS];
    find_lives(w, first, last);
    for (int v = 0; v < w->plan.value_count; v++) {
        const stk__pass_value *value = &w->plan.values[v];
        if (value->kind == STK_VALUE_GRADIENT) assert_true(w->nodes[value->layer].gradient);
        const bool made = value->kind == STK_VALUE_ACTIVATION || value->kind == STK_VALUE_SAVED;
        if (!made || value->layer == w->graph.count || w->nodes[value->layer].kept) continue;
        assert_true(first[v] >= w->plan.forward_count || last[v] < w->plan.forward_count);
    }
    for (int i = 0; i < w->graph.count; i++)
        if (w->nodes[i].again) assert_true(!w->nodes[i].kept && w->nodes[i].segment < w->graph.segments - 1);
}

static void run_world(world *w, bool unshared)
{
    assert_int_equal(stk__pass_write(&w->plan, &w->graph, NULL), STK_OK);
    if (!unshared) stk__pass_share(&w->plan, &w->graph);
    assert_int_equal(stk__pass_pack(&w->plan, unshared, NULL), STK_OK);
    assert_true(w->plan.size_bytes >= w->plan.least_bytes);
    assert_true(w->plan.size_bytes <= w->plan.unshared_bytes + w->plan.scratch_bytes);
    if (!unshared) check_overlaps(w);
    check_dropped(w);
    w->memory = calloc(w->plan.size_bytes / CELL + 1, sizeof *w->memory);
    memset(w->backwards, 0, sizeof w->backwards);
    for (int i = 0; i < w->plan.step_count; i++)
        run_step(w, &w->plan.steps[i]);
    for (int i = 0; i < w->graph.count; i++)
        assert_int_equal(
            w->backwards[i],
            w->nodes[i].gradient && (w->layers[i].spec.kind != STK_OP_ADD || w->nodes[i].relu) ? 1 : 0);
    free(w->memory);
}

typedef struct tally {
    size_t unshared, shared, least, divided;
    int again, in_place, copies, needless, joined, parts;
} tally;

static void count_world(const world *w, tally *t)
{
    t->unshared += w->plan.unshared_bytes;
    t->shared += w->plan.size_bytes;
    t->least += w->plan.least_bytes;
    for (int i = 0; i < w->plan.step_count; i++) {
        const stk__pass_step *step = &w->plan.steps[i];
        t->joined += step->join != STK_VALUE_NONE;
        t->parts += step->dy2 != STK_VALUE_NONE;
        t->again += step->action == STK_STEP_AGAIN;
        t->copies += step->action == STK_STEP_COPY;
        t->needless += step->action == STK_STEP_COPY && same_place(w, step->x[0], step->y);
        t->in_place += step->action == STK_STEP_FORWARD && same_place(w, step->x[0], step->y);
    }
}

static void random_plans_keep_what_is_needed(void **state)
{
    (void)state;
    tally t = {0}, divided = {0};
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        world w;
        roll_world(&w, seed);
        stk__pass_fuse(&w.graph, false);
        roll_relus(&w);
        roll_joins(&w);
        stk__pass_mark(&w.graph);
        stk__pass_join(&w.graph, roll(&w, 4));
        compute_wanted(&w);
        run_world(&w, true);
        stk__pass_plan_fini(&w.plan);
        run_world(&w, false);
        count_world(&w, &t);
        stk__pass_plan_fini(&w.plan);
        const size_t limit = stk__pass_forward_bytes(&w.graph) / (1 + roll(&w, 10));
        assert_int_equal(stk__pass_divide(&w.graph, limit, NULL), STK_OK);
        stk__pass_join(&w.graph, false);
        run_world(&w, false);
        count_world(&w, &divided);
        stk__pass_plan_fini(&w.plan);
    }
    /* The test has seen what it is meant to see. */
    assert_true(t.joined > ROUNDS / 30 && t.parts > ROUNDS / 15 && divided.joined == 0);
    assert_true(t.again == 0 && divided.again > ROUNDS / 2);
    assert_true(t.in_place > ROUNDS / 2 && t.copies > ROUNDS / 2);
    assert_true(t.needless > t.copies / 4 && t.needless < t.copies);
    assert_true((double)t.shared < 0.55 * (double)t.unshared);
    assert_true((double)t.shared < 1.005 * (double)t.least);
    assert_true(divided.shared < t.shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_keep_what_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
