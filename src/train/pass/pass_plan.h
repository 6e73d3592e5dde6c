/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a pass: a straight program over values, and where every value lies. Knows nothing of engines.
 *
 *     graph (layers, what their operations need)
 *       -> stk__pass_fuse     a relu becomes part of the layer before it
 *       -> stk__pass_divide   segments, for recomputing
 *       -> stk__pass_write    steps and values, each value written once and added to
 *       -> stk__pass_share    values that may lie in another's memory
 *       -> stk__pass_pack     lifetimes to offsets
 *     stk__pass_choose does these three, for several divisions */
#ifndef STK_TRAIN_PASS_PLAN_H
#define STK_TRAIN_PASS_PLAN_H

#include "engine/engine.h"
#include "train/network/network.h"

enum {
    STK_VALUE_NONE = -1, /* instead of a value: there is none */
    STK_VALUE_FEED = -2, /* … the network's input, which lies in foreign memory and is only read */
    STK_STEP_USES = 2 * STK_OP_INPUTS + 4
};

typedef enum stk__value_kind {
    STK_VALUE_ACTIVATION,
    STK_VALUE_GRADIENT,
    STK_VALUE_PART, /* of a gradient: added to it in the next steps */
    STK_VALUE_SAVED,
    STK_VALUE_SCRATCH
} stk__value_kind;

typedef struct stk__pass_value {
    stk__value_kind kind;
    int layer; /* whose output, gradient …; layer_count: the loss or metric */
    size_t size_bytes;
    int first, last;     /* steps of its first and last use */
    int home;            /* the value in whose memory it lies; itself: in its own */
    size_t offset_bytes; /* in the arena */
} stk__pass_value;

typedef enum stk__step_action {
    STK_STEP_FORWARD,  /* x -> y, saved */
    STK_STEP_AGAIN,    /* the same, once more during the backward pass */
    STK_STEP_LOSS,     /* x[0] -> dx[0] */
    STK_STEP_METRIC,   /* x[0] -> */
    STK_STEP_HOLD,     /* end of the forward pass: x[0], the prediction, lives until here */
    STK_STEP_BACKWARD, /* dy, x, y, saved -> dx */
    STK_STEP_ADD,      /* y += x[0] */
    STK_STEP_COPY      /* y = x[0]; nothing to do where they share memory */
} stk__step_action;

typedef struct stk__pass_use {
    int value;
    bool read, write;
} stk__pass_use;

typedef struct stk__pass_step {
    stk__step_action action;
    int layer;
    int x[STK_OP_INPUTS], dx[STK_OP_INPUTS];
    int join; /* forward: the sum that this layer computes with its own output; STK_VALUE_NONE: none */
    int plus; /* … and what is added; y is the sum's */
    int y, dy, dy2, saved, scratch; /* dy2: a second part of dy, which is added first */
    /* What the above means for memory. An operation that must have x at hand but does not read it has it in x
     * and not here. */
    stk__pass_use use[STK_STEP_USES];
    int use_count;
} stk__pass_step;

typedef struct stk__pass_node {
    const stk__layer *layer;
    const stk__op_form *form;
    stk__op_needs needs;
    size_t output_bytes;
    int input[STK_OP_INPUTS]; /* as the layer's; a fused relu's place takes who does its work */
    int fused;                /* of a relu: the layer that does its work; STK_VALUE_NONE: it does it itself */
    bool relu;                /* does the work of the relu behind it */
    bool joins;               /* could add something to its output (stk__op.joins) */
    int joined;               /* of a sum: the input that computes it; STK_VALUE_NONE: it does it itself */
    bool late;                /* is computed with the sum behind it */
    bool used;                /* the prediction depends on it */
    bool frozen;
    bool learns;      /* has parameters that are not frozen */
    bool gradient;    /* it or something before it learns: there is a backward pass */
    int segment;      /* of stk__pass_divide; recomputed when it is not the last one */
    bool kept;        /* output and saved stay until they are not needed */
    bool again;       /* computed again */
    int y, saved, dy; /* values in force, while the program is written */
} stk__pass_node;

typedef struct stk__pass_graph {
    stk__pass_node *nodes;
    int count;
    int output;
    int segments;
    bool training, loss, metric, fuse;
    bool rough; /* sizes only: values are not given places, see stk__pass_pack_rough */
    stk__op_needs loss_needs, metric_needs;
} stk__pass_graph;

typedef struct stk__pass_plan {
    stk__pass_value *values;
    stk__pass_step *steps;
    int value_count, value_room;
    int step_count, step_room;
    int forward_count; /* steps of the forward pass */
    size_t size_bytes; /* of the arena */
    size_t unshared_bytes;
    size_t least_bytes; /* most that lives at once: no arrangement takes less */
    size_t scratch_bytes;
} stk__pass_plan;

/* Relus that alone read a layer which can do their work (stk__op_takes_relu): that layer computes them, and
 * those who read the relu read it. Before stk__pass_mark; fills input, fused and relu. Without `fuse` nothing
 * is fused. */
void stk__pass_fuse(stk__pass_graph *graph, bool fuse);

/* Sums whose input can compute them, as its only reader; with `join` false none is. After
 * stk__pass_mark, when operations are there. Changes no bit. */
void stk__pass_join(stk__pass_graph *graph, bool join);

/* Fills used, gradient and, without recomputing, the one segment. */
void stk__pass_mark(stk__pass_graph *graph);

/* Bytes that all layers make in a forward pass, counted as stk__pass_divide counts. */
size_t stk__pass_forward_bytes(const stk__pass_graph *graph);

/* Divides the layers into segments of which each makes at most limit_bytes (or is a single layer), so that as
 * little as possible must be kept between them. Sets segments, segment and kept. */
stk_status stk__pass_divide(stk__pass_graph *graph, size_t limit_bytes, stk_error *error);

stk_status stk__pass_write(stk__pass_plan *plan, stk__pass_graph *graph, stk_error *error);
void stk__pass_share(stk__pass_plan *plan, const stk__pass_graph *graph);
stk_status stk__pass_pack(stk__pass_plan *plan, bool unshared, stk_error *error);
/* Sets the sizes alone, that of the arena a little above what packing comes to: it takes no time. */
void stk__pass_pack_rough(stk__pass_plan *plan);
void stk__pass_plan_fini(stk__pass_plan *plan);

/* All of the above after stk__pass_mark: of several ways to recompute the one with the smallest arena. The
 * plan is to be finished also after a failure. */
stk_status stk__pass_choose(stk__pass_plan *plan, stk__pass_graph *graph, bool recompute, bool unshared,
                            stk_error *error);

/* Forward, backward and what is computed again, in floating-point operations. */
double stk__pass_step_flops(const stk__pass_graph *graph);

#endif
