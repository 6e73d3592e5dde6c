/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of a network at one batch size, forward and backward: a straight program of operations, and
 * where every tensor lies in one arena. Made before step 1; running it allocates nothing.
 *
 *     stk__pass_create(&pass, &request, &error);          // operations, program, memory
 *     stk__pass_size(pass)                                // … of an arena that several passes may share
 *     stk__pass_bind(pass, model, arena, &error);         // tensors; both must outlive the pass
 *     stk__pass_forward(pass, &feed, &error);
 *     stk__pass_backward(pass, &feed, &error);            // adds into the model's gradients if asked to */
#ifndef STK_TRAIN_PASS_H
#define STK_TRAIN_PASS_H

#include "train/model.h"
#include "train/trace.h"

typedef struct stk__pass stk__pass;

typedef struct stk__pass_request {
    stk__engine *engine;
    stk__network *network; /* reshaped by every pass; outlives it */
    stk__shape input;      /* [n h w c] or [n t f] */
    bool training;         /* backward too */
    bool fuse;             /* relus as part of the layers before them; results differ at most by rounding */
    stk_dtype half;        /* mixed precision: bf16 or f16 for activations and their gradients, but for the
                            * prediction; 0: f32 */
    bool recompute;        /* gradient_checkpointing: keep only some activations, compute the rest again */
    const char *freeze;  /* as the model's: nothing before the first trainable layer has a backward pass, and
                          * frozen batch norms compute as in evaluation, also while training */
    stk__op_spec loss;   /* kind and settings; shapes and, for points, image_size are filled in */
    stk__op_spec metric; /* a kind other than a metric: there is none */
    bool rough;          /* for plans that are thrown away: sizes a little above the exact ones, in no time */
    /* For tests and for finding faults: */
    bool unshared; /* every tensor in memory of its own */
    bool
        poison; /* memory is filled with NaN before a forward pass and when it is not needed any more; slow */
} stk__pass_request;

/* What a pass says of itself; `--plan` prints it. */
typedef struct stk__pass_row {
    const char *layer;
    const char *word;   /* "conv", "batch_norm + relu" */
    const char *fused;  /* of a relu: the layer that does its work; NULL: it does it itself */
    const char *joined; /* of a sum: the batch norm that computes it with its own output; NULL: none */
    const char *method; /* "winograd", "direct" …, see stk__op_method */
    int line;
    stk__shape output;
    int64_t param_count;
    double flops;        /* forward */
    size_t output_bytes; /* 0: lies in its input's memory */
    size_t saved_bytes;
    bool recomputed;
} stk__pass_row;

typedef struct stk__pass_report {
    const stk__pass_row *rows;
    int row_count;
    double flops;            /* forward, all layers */
    double step_flops;       /* forward, backward and what is computed again */
    size_t activation_bytes; /* the arena: activations, gradients of activations, saved, scratch together */
    size_t unshared_bytes;   /* the same if every tensor had its own memory */
    size_t least_bytes;      /* most that is needed at one moment: no arrangement takes less */
    size_t scratch_bytes;
    size_t
        library_bytes; /* kept for the operations by the engine's library, and by us for handles of tensors */
    size_t inside_bytes; /* most that the engine's library allocates while it runs one operation … */
    size_t adding_bytes; /* … and adds gradients up */
    int generating_ops;  /* stk__op_needs.generates */
    int64_t param_count;
    int recomputed_layers;
    int fused_layers;     /* relus that the layers before them compute */
    int joined_layers;    /* sums that a batch norm before them computes */
    int joined_gradients; /* sums of gradients that are made on the way through a relu */
} stk__pass_report;

stk_status stk__pass_create(stk__pass **pass, const stk__pass_request *request, stk_error *error);
void stk__pass_destroy(stk__pass **pass);
size_t stk__pass_size(const stk__pass *pass);
const stk__pass_report *stk__pass_describe(const stk__pass *pass);
/* Another method for the layer of a row, see stk__op_choose. */
bool stk__pass_choose_method(stk__pass *pass, int row, const char *method);
const stk__op_form *stk__pass_forms(const stk__pass *pass); /* [layer_count] */

/* Every instruction goes to trace from now on; NULL: none. */
void stk__pass_trace(stk__pass *pass, stk__trace *trace);

stk_status stk__pass_bind(stk__pass *pass, stk__model *model, stk__arena *arena, stk_error *error);

/* What was not finite first. */
typedef struct stk__pass_fault {
    const char *layer; /* NULL: nothing so far; empty: the input or the target */
    const char *what;  /* "output", "gradient", "gradient of its weights" */
} stk__pass_fault;

/* *at: the first element that is infinite or NaN; -1: none. Looked at on the host: a copy, if it lies on a
 * GPU. */
stk_status stk__tensor_find_bad(stk__tensor *tensor, int64_t *at, stk_error *error);

/* What one pass works on. Tensors are the engine's (stk__tensor_wrap around a batch's). */
typedef struct stk__pass_feed {
    stk__tensor *input;
    stk__tensor *target[STK_LOSS_INPUTS]; /* by stk__loss_input; PREDICTION is not used; NULL: absent */
    const stk__tensor *sample_ids;
    stk__tensor *loss_sums;   /* f64 [2]; NULL: no loss is computed (and there is no backward) */
    stk__tensor *metric_sums; /* NULL: no metric */
    double grad_scale;        /* of the loss: 1 / accumulation steps; 0: 1 */
    bool add_gradients;       /* to those of the pass before; else they are overwritten */
    uint64_t seed;
    uint32_t epoch;
    stk__pass_fault *fault; /* looks at everything that is computed, until it has found one; slow. NULL: no */
} stk__pass_feed;

/* Network, loss (with its gradient if the pass trains) and metric. */
stk_status stk__pass_forward(stk__pass *pass, const stk__pass_feed *feed, stk_error *error);
stk_status stk__pass_backward(stk__pass *pass, const stk__pass_feed *feed, stk_error *error);

/* The prediction of the last forward pass; it lives until the next pass, forward or backward. */
stk__tensor *stk__pass_output(const stk__pass *pass);

/* Prints the report the way `stoker train --plan` shows it: a row a layer, broken between cells where it is
 * wider than so many columns (0: never), then sums; of a pass that is bound with the model's memory. */
stk_status stk__pass_print(const stk__pass *pass, const stk__network *network, int columns, stk__buffer *text,
                           stk_error *error);

#endif
