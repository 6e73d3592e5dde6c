/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of this engine's own operations, once for each set of instructions. All have the same bits:
 * they are the same C, compiled without contraction. c: channels, the last dimension; rows are dense. */
#ifndef STK_ENGINE_ONEDNN_LOOPS_H
#define STK_ENGINE_ONEDNN_LOOPS_H

#include "core/cpu_level.h"
#include "engine/op.h"

#include <stdbool.h>
#include <stdint.h>

/* What a batch norm multiplies and adds, a value for each channel:
 * y = (x - mean) * scale + shift, dx = scale * (dy - slope - (x - mean) * tilt) */
typedef struct stk__norm_numbers {
    const float *mean, *scale, *shift, *slope, *tilt;
    int64_t c;
    bool relu; /* behind it */
} stk__norm_numbers;

/* What a step of AdamW multiplies: gradients by factor; keep: share of the parameter that decay leaves; … */
typedef struct stk__adamw_numbers {
    float factor, keep, step_size, root2, eps;
    float first_share, second_keep, second_share;
} stk__adamw_numbers;

/* The values of a parameter and what belongs to them. */
typedef struct stk__adamw_values {
    float *param, *first, *second;
    const float *grad;
} stk__adamw_values;

/* A max pool's window over one row of outputs. */
typedef struct stk__pool_row {
    const float *x; /* the sample [h w c] */
    float *y;       /* the row [out_w c] */
    uint8_t *taps;  /* [out_w c]: which place of the window won, kernel_w * row + column */
    int64_t h, w, c, out_w;
    int64_t top;  /* of the window, may lie in the padding */
    int64_t left; /* … of the first */
    int64_t step; /* from one to the next */
    int64_t kernel[2];
} stk__pool_row;

enum { STK_SOFTMAX_ROWS = 16 };

/* As many rows of a prediction side by side: [class][row]. */
typedef struct stk__softmax_block {
    float value[STK_OP_CLASSES][STK_SOFTMAX_ROWS];
    float largest[STK_SOFTMAX_ROWS];
    float sum[STK_SOFTMAX_ROWS];      /* of exp(x - largest) */
    float weighted[STK_SOFTMAX_ROWS]; /* of w_c (x_c - largest) */
    /* gradient = softmax x factor - w_c x even - what the targets take; factor holds 1 / sum already */
    float factor[STK_SOFTMAX_ROWS], even[STK_SOFTMAX_ROWS];
} stk__softmax_block;

typedef struct stk__onednn_loops {
    void (*add_rows)(const float *x, int64_t rows, int64_t c, float *sum);
    /* Mean, and sum of squares around it, of each channel over some rows (at least one). */
    void (*norm_measure)(const float *x, int64_t rows, int64_t c, float *mean, float *squares);
    void (*norm_apply)(const float *x, float *y, int64_t rows, const stk__norm_numbers *n);
    /* y = norm of x, plus `plus`, then a relu if asked; y may be plus. */
    void (*norm_join)(const float *x, const float *plus, float *y, int64_t rows, const stk__norm_numbers *n);
    /* Sums of dy (behind the relu) and of dy * (x - mean) over some rows. */
    void (*norm_gather)(const float *x, const float *dy, int64_t rows, const stk__norm_numbers *n,
                        float *sums);
    /* dx may lie in dy's memory. */
    void (*norm_spread)(const float *x, const float *dy, float *dx, int64_t rows, const stk__norm_numbers *n);
    /* y = a + b, then a relu if asked; y may be a. */
    void (*add)(const float *a, const float *b, float *y, int64_t count, bool relu);
    /* dx = a + b where y > 0, else 0: two gradients that meet behind a relu; dx may be a. */
    void (*pass_relu_sum)(const float *y, const float *a, const float *b, float *dx, int64_t count);
    double (*sum_squares)(const float *values, int64_t count);
    void (*adamw)(const stk__adamw_values *values, int64_t count, const stk__adamw_numbers *numbers);
    /* y = 0 where x < 0, else x; y may be x. (oneDNN's own makes 0 of NaN.) */
    void (*relu)(const float *x, float *y, int64_t count);
    /* dx = dy where y > 0, else 0; dx may be dy. */
    void (*pass_relu)(const float *y, const float *dy, float *dx, int64_t count);
    /* x[rows classes] -> value becomes exp(x - largest); weights NULL: all 1. Rows behind the last repeat it.
     */
    void (*softmax)(const float *x, int64_t rows, int64_t classes, const float *weights,
                    stk__softmax_block *block);
    /* From exp to the gradient but for the targets' part. */
    void (*softmax_back)(stk__softmax_block *block, int64_t rows, int64_t classes, const float *weights,
                         float *dx);
    void (*max_pool)(const stk__pool_row *row);
    /* dx[i] += dy[i] where tap won */
    void (*pool_back)(const uint8_t *taps, const float *dy, float *dx, int64_t count, uint8_t tap);
} stk__onednn_loops;

extern const stk__onednn_loops stk__onednn_loops_c, stk__onednn_loops_avx2;

const stk__onednn_loops *stk__onednn_loops_at(stk__cpu_level level);

#endif
