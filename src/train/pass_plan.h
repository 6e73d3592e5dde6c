/* The plan of a pass: a straight program over values, and where every value lies. Knows nothing of engines.
 *
 *     graph (layers, what their operations need)
 *       -> stk__plan_divide   segments, for recomputing
 *       -> stk__plan_write    steps and values, each value written once and added to
 *       -> stk__plan_share    values that may lie in another's memory
 *       -> stk__plan_pack     lifetimes to offsets */
#ifndef STK_TRAIN_PASS_PLAN_H
#define STK_TRAIN_PASS_PLAN_H

#include "engine/engine.h"
#include "train/network.h"

enum {
    STK_PLAN_NONE = -1, /* instead of a value: there is none */
    STK_PLAN_FEED = -2, /* … the network's input, which lies in foreign memory and is only read */
    STK_PLAN_USES = 2 * STK_OP_INPUTS + 4
};

typedef enum stk__plan_kind {
    STK_PLAN_ACTIVATION,
    STK_PLAN_GRADIENT,
    STK_PLAN_PART, /* of a gradient: added to it in the next steps */
    STK_PLAN_SAVED,
    STK_PLAN_SCRATCH
} stk__plan_kind;

typedef struct stk__plan_value {
    stk__plan_kind kind;
    int layer; /* whose output, gradient …; layer_count: the loss or metric */
    size_t size_bytes;
    int first, last;     /* steps of its first and last use */
    int home;            /* the value in whose memory it lies; itself: in its own */
    size_t offset_bytes; /* in the arena */
} stk__plan_value;

typedef enum stk__plan_action {
    STK_PLAN_FORWARD,  /* x -> y, saved */
    STK_PLAN_AGAIN,    /* the same, once more during the backward pass */
    STK_PLAN_LOSS,     /* x[0] -> dx[0] */
    STK_PLAN_METRIC,   /* x[0] -> */
    STK_PLAN_HOLD,     /* end of the forward pass: x[0], the prediction, lives until here */
    STK_PLAN_BACKWARD, /* dy, x, y, saved -> dx */
    STK_PLAN_ADD,      /* y += x[0] */
    STK_PLAN_COPY      /* y = x[0]; nothing to do where they share memory */
} stk__plan_action;

typedef struct stk__plan_use {
    int value;
    bool read, write;
} stk__plan_use;

typedef struct stk__plan_step {
    stk__plan_action action;
    int layer;
    int x[STK_OP_INPUTS], dx[STK_OP_INPUTS];
    int y, dy, saved, scratch;
    /* What the above means for memory. An operation that must have x at hand but does not read it has it in x
     * and not here. */
    stk__plan_use use[STK_PLAN_USES];
    int use_count;
} stk__plan_step;

typedef struct stk__plan_node {
    const stk__layer *layer;
    const stk__op_form *form;
    stk__op_needs needs;
    size_t output_bytes;
    bool used; /* the prediction depends on it */
    bool frozen;
    bool learns;      /* has parameters that are not frozen */
    bool gradient;    /* it or something before it learns: there is a backward pass */
    int segment;      /* of stk__plan_divide; recomputed when it is not the last one */
    bool kept;        /* output and saved stay until they are not needed */
    bool again;       /* computed again */
    int y, saved, dy; /* values in force, while the program is written */
} stk__plan_node;

typedef struct stk__plan_graph {
    stk__plan_node *nodes;
    int count;
    int output;
    int segments;
    bool training, loss, metric;
    stk__op_needs loss_needs, metric_needs;
} stk__plan_graph;

typedef struct stk__plan {
    stk__plan_value *values;
    stk__plan_step *steps;
    int value_count, value_room;
    int step_count, step_room;
    int forward_count; /* steps of the forward pass */
    size_t size_bytes; /* of the arena */
    size_t unshared_bytes;
    size_t least_bytes; /* most that lives at once: no arrangement takes less */
    size_t scratch_bytes;
} stk__plan;

/* Fills used, gradient and, without recomputing, the one segment. */
void stk__plan_mark(stk__plan_graph *graph);

/* Bytes that all layers make in a forward pass, counted as stk__plan_divide counts. */
size_t stk__plan_forward_bytes(const stk__plan_graph *graph);

/* Divides the layers into segments of which each makes at most limit_bytes (or is a single layer), so that as
 * little as possible must be kept between them. Sets segments, segment and kept. */
stk_status stk__plan_divide(stk__plan_graph *graph, size_t limit_bytes, stk_error *error);

stk_status stk__plan_write(stk__plan *plan, stk__plan_graph *graph, stk_error *error);
void stk__plan_share(stk__plan *plan, const stk__plan_graph *graph);
stk_status stk__plan_pack(stk__plan *plan, bool unshared, stk_error *error);
void stk__plan_fini(stk__plan *plan);

#endif
