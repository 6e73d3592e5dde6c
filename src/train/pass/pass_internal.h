/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a pass share. */
#ifndef STK_TRAIN_PASS_INTERNAL_H
#define STK_TRAIN_PASS_INTERNAL_H

#include "train/pass/pass.h"
#include "train/pass/pass_plan.h"

struct stk__pass {
    stk__engine *engine;
    const stk__network *network;
    stk__shape input;
    stk_dtype half; /* 0: f32 */
    bool training, recompute, poison;
    stk__op_form *forms; /* [layer_count] */
    stk__op **ops;       /* [layer_count]; NULL: the layer is not used */
    stk__op *loss, *metric;
    stk__pass_graph graph;
    stk__pass_plan plan;
    stk__pass_row *rows;
    stk__pass_report report;
    /* Since bind: */
    stk__model *model;     /* not owned */
    stk__tensor **tensors; /* [plan.value_count]; owned */
    stk__trace *trace;     /* NULL: none */
};

void stk__pass_fill_report(stk__pass *pass);

/* What train.gradient_checkpointing trades: the same pass without (0) and with recomputing (1). */
typedef struct stk__pass_trade {
    size_t activation_bytes;
    double step_flops;
    int recomputed_layers;
} stk__pass_trade;
stk_status stk__pass_compare(const stk__pass *pass, stk__pass_trade trades[2], stk_error *error);

/* Looks for feed->fault at what step has written. */
stk_status stk__pass_check(const stk__pass *pass, const stk__pass_step *step, const stk__pass_feed *feed,
                           stk_error *error);

#endif
