/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of PyTorch's LSTM share: where things lie, and one layer of one run. The steps in time are
 * taken by elementary operators (torch_lstm_steps.c) or, on CUDA, by PyTorch's fused cells
 * (torch_lstm_cells.c); everything that belongs to all steps at once is torch_lstm.c's.
 *
 * Gates in PyTorch's order: input, forget, cell, output. Everything inside lies by time, [t n ..]. */
#ifndef STK_ENGINE_TORCH_LSTM_H
#define STK_ENGINE_TORCH_LSTM_H

#include "engine/torch/torch_call.h"

typedef struct stk__torch_lstm_sizes {
    int64_t n, t, f, h;
} stk__torch_lstm_sizes;

/* Offsets in saved and scratch. */
typedef struct stk__torch_lstm_places {
    size_t input;                /* saved: x by time [t n f] */
    size_t layers, layer;        /* saved: first layer's, bytes of one layer */
    size_t cells, states;        /* from a layer's start, where its gates [t n 4h] are */
    size_t bias;                 /* scratch: [4h], sum of both */
    size_t product;              /* scratch: [n 4h] */
    size_t dgates, dstates;      /* scratch: [t n 4h], [t n max(f, h)] */
    size_t dcell, bent, through; /* scratch: [n h] */
    stk__op_needs needs;
} stk__torch_lstm_places;

typedef struct stk__torch_lstm_layer {
    stk__torch_scope *s;
    const stk__op_io *io;
    stk__torch_lstm_sizes z;
    stk__torch_lstm_places p;
    int number;
    int64_t in;     /* features of its input */
    bool last_only; /* of a way that knows it: y is the last step's state, dy its gradient; no dstates */
    stk__torch_handle weight_hh, turned_hh; /* [4h h] and [h 4h] */
    stk__torch_handle dcell, bent, through; /* [n h], of whichever step; backward by steps only */
} stk__torch_lstm_layer;

/* A matrix in memory: width values from a row of stride on. */
typedef struct stk__torch_lstm_block {
    const stk__tensor *memory;
    size_t offset;
    int64_t rows, width, stride, first; /* stride 0: width; first: values before it */
} stk__torch_lstm_block;

stk__torch_handle stk__torch_lstm_see(stk__torch_scope *s, stk__torch_lstm_block block);
/* The gates of one step, count of them from the first on, and their gradients: [n count x h]. */
stk__torch_handle stk__torch_lstm_gates(const stk__torch_lstm_layer *l, int64_t step, int first, int count);
stk__torch_handle stk__torch_lstm_dgates(const stk__torch_lstm_layer *l, int64_t step, int first, int count);
/* What lies at an offset of a layer's memory for one step: cells or states, [n h]. */
stk__torch_handle stk__torch_lstm_kept(const stk__torch_lstm_layer *l, size_t offset, int64_t step);
stk__torch_handle stk__torch_lstm_scratch(const stk__torch_lstm_layer *l, size_t offset, int64_t step,
                                          int64_t width);
/* to = a b */
void stk__torch_lstm_matrix(const stk__torch_lstm_layer *l, stk__torch_handle a, stk__torch_handle b,
                            stk__torch_handle to);

/* All steps of a layer. Forward: from its input to gates, cells and states in saved. Backward: from dstates
 * to dgates. */
typedef struct stk__torch_lstm_way {
    void (*forward)(const stk__torch_lstm_layer *l, stk__torch_handle input, stk__torch_handle gates);
    void (*backward)(stk__torch_lstm_layer *l);
    bool knows_last; /* see last_only: forward makes y, backward reads dy */
} stk__torch_lstm_way;

extern const stk__torch_lstm_way stk__torch_lstm_steps, stk__torch_lstm_cells;

#endif
