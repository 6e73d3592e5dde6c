/* SPDX-License-Identifier: Apache-2.0 */
/* The closed set of operations a network is made of: what each one takes, makes and learns. Nothing here
 * belongs to an engine; every engine computes exactly these.
 *
 * Shapes at the edges: pictures [n h w c], windows [n t f], features [n f]. Parameters lie as PyTorch's. */
#ifndef STK_ENGINE_OP_H
#define STK_ENGINE_OP_H

#include "core/error.h"
#include "stoker/batch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STK_OP_DIMS = 4,
    STK_OP_INPUTS = 8,   /* of concat; losses take up to 6 */
    STK_OP_PARAMS = 16,  /* of an LSTM of four layers */
    STK_OP_BUFFERS = 3,  /* of a batch norm */
    STK_OP_CLASSES = 256 /* most classes of a loss or metric */
};

typedef struct stk__shape {
    int ndim;
    int64_t dim[STK_OP_DIMS];
} stk__shape;

/* Identifier and the word in network files. */
#define STK_OP_LIST(X)                                                                                       \
    X(CONV, "conv")                     /* [n h w c] -> [n h' w' channels] */                                \
    X(CONV_TRANSPOSE, "conv_transpose") /* the same, upwards; output_padding 0 */                            \
    X(BATCH_NORM, "batch_norm")         /* over the last dimension */                                        \
    X(RELU, "relu")                                                                                          \
    X(SILU, "silu")                                                                                          \
    X(GELU, "gelu") /* by erf, as PyTorch's default */                                                       \
    X(SIGMOID, "sigmoid")                                                                                    \
    X(TANH, "tanh")                                                                                          \
    X(MAX_POOL, "max_pool")       /* padding never wins */                                                   \
    X(AVG_POOL, "avg_pool")       /* padding counts as zeros, as PyTorch's default */                        \
    X(GLOBAL_POOL, "global_pool") /* mean over h and w: [n h w c] -> [n c] */                                \
    X(LINEAR, "linear")           /* over the last dimension; [n 1 1 c] counts as [n c] */                   \
    X(ADD, "add")                 /* two inputs of one shape */                                              \
    X(CONCAT, "concat")           /* along the last dimension */                                             \
    X(RESIZE, "resize")           /* of h and w; half-pixel centres, also of nearest ("nearest-exact") */    \
    X(DROPOUT, "dropout")         /* identity in evaluation */                                               \
    X(LSTM, "lstm")               /* [n t f] -> [n t hidden], or [n hidden] of the last step */              \
    X(AFFINE, "affine")           /* x * scale + shift over the last dimension; constants, not learnt */     \
    /* Losses: x[0] is the prediction, the rest see stk__loss_input; y[0] sums, see stk__loss_sum. */        \
    X(CROSS_ENTROPY, "cross_entropy")                                                                        \
    X(L1, "l1")                                                                                              \
    X(MSE, "mse")                                                                                            \
    X(SMOOTH_L1, "smooth_l1")                                                                                \
    X(POINTS, "points") /* heat maps with offsets, see stk__op_spec.points */                                \
    X(BCE, "bce")       /* of sigmoids, one a class: several may be true */                                  \
    /* Metrics: inputs as their losses'; y[0] counts, see stk__metric_sum. */                                \
    X(CONFUSION, "confusion")                                                                                \
    X(TOP_K, "top_k")                                                                                        \
    X(POINT_ERROR, "point_error")                                                                            \
    X(VALUE_ERROR, "value_error")                                                                            \
    X(LABEL_HITS, "label_hits")

typedef enum stk__op_kind {
#define STK_OP_ENUM(id, word) STK_OP_##id,
    STK_OP_LIST(STK_OP_ENUM)
#undef STK_OP_ENUM
        STK_OP_COUNT
} stk__op_kind;

typedef enum stk__resize_mode { STK_RESIZE_BILINEAR, STK_RESIZE_NEAREST } stk__resize_mode;

/* Inputs of losses and metrics: x[] has all STK_LOSS_INPUTS places, absent ones are NULL. */
typedef enum stk__loss_input {
    STK_LOSS_PREDICTION, /* f32 */
    STK_LOSS_TARGET,  /* classes: masks u8 [n h w] (or i64), labels i64 [n]; values f32 [n]; points f32 [n k
                       * 3];  bce, label_hits: f32 [n classes], 1 for each class that is true, a share if mixed
                       */
    STK_LOSS_TARGET2, /* second target of a mixed sample, or NULL; of classes only */
    STK_LOSS_LAMBDA,  /* [n] f32: share of the first, or NULL: 1; not read without a second */
    STK_LOSS_WEIGHTS, /* [n] f32: 0 leaves a sample out (even one of NaNs), or NULL: 1 */
    STK_LOSS_CLASS_WEIGHTS, /* [classes] f32, or NULL: 1 */
    STK_LOSS_INPUTS
} stk__loss_input;

/* y[0] of a loss, f64 [2]; both are added to. Their quotient is the mean loss.
 *
 * cross_entropy, v = weight[n] x class weight x (target is a class other than ignore_index):
 *   numerator sum of lambda v_a ce_a + (1 - lambda) v_b ce_b, denominator sum of lambda v_a + (1 - lambda)
 * v_b. Smoothing s as PyTorch: (1 - s) w_y nll + s / classes x sum over c of w_c nll_c; targets that are not
 * a class
 *   (-1, or >= classes) count as ignored.
 * l1, mse, smooth_l1 (beta 1): numerator sum of weight[n] x error, denominator sum of weight[n]; the target
 * of a prediction [n 1] or [n] is [n]. bce, of a prediction [n classes] of logits x and targets t:
 *   numerator sum of weight[n] x (max(x, 0) - x t + log(1 + exp(-|x|))), denominator sum of weight[n] x
 * classes, as PyTorch's binary_cross_entropy_with_logits; slope sigmoid(x) - t. points: see below;
 * denominator = sum of weight[n] x visible. The gradient dx[0] is that of grad_scale x numerator /
 * denominator of this call (0 when that is 0 / 0). */
typedef enum stk__loss_sum { STK_LOSS_NUMERATOR, STK_LOSS_DENOMINATOR, STK_LOSS_SUMS } stk__loss_sum;

/* y[0] of a metric; all are added to. Samples of weight 0 are left out; where lambda < 0.5 the second target
 * counts.
 *   confusion    i64 [classes x classes], row = truth, column = prediction (first largest logit)
 *   top_k        i64 [3]: samples, truth is the largest, truth is among the five largest. A tie counts for
 * the lower class. point_error  f64 [3]: visible points, sum of distances in px, points within 5 px
 *   value_error  f64 [5]: samples, sum |e|, sum e^2, sum of targets, sum of squared targets
 *   label_hits   i64 [3]: labels that are predicted (logit > 0) and true (target > 0.5), predicted, true */
enum {
    STK_METRIC_TOP_K_SUMS = 3,
    STK_METRIC_POINT_SUMS = 3,
    STK_METRIC_VALUE_SUMS = 5,
    STK_METRIC_LABEL_SUMS = 3
};

/* What an operation is asked to be. Zero means default. Pairs are {h, w}. */
typedef struct stk__op_spec {
    stk__op_kind kind;
    int inputs; /* 0: 1 */
    stk__shape input[STK_OP_INPUTS];

    int64_t channels;                                  /* conv, conv_transpose, linear: of the output */
    int32_t kernel[2], stride[2], pad[2], dilation[2]; /* conv, pools; stride 0: 1, of pools: the kernel */
    int32_t groups;                                    /* conv; 0: 1 */
    bool no_bias;                                      /* conv, conv_transpose, linear */
    double eps, momentum;                              /* batch_norm; 0: 1e-5 and 0.1 */
    double drop;                                       /* dropout: share of values that become 0 */
    int64_t hidden;                                    /* lstm */
    int32_t layers;                                    /* lstm; 0: 1 */
    bool last;                                         /* lstm: only the last step is the output */
    stk__resize_mode resize;
    int32_t size[2];       /* resize: of the output, or … */
    int32_t scale[2];      /* … how many times as large */
    uint32_t random_layer; /* dropout: key of this layer's random numbers */
    bool relu;             /* batch_norm, add: what they make goes through a relu; their gradient, too */

    /* Mixed precision, see engine.h. Not of losses and metrics. */
    stk_dtype half;      /* bf16 or f16: type of x, y, dx and dy; 0: everything is f32 */
    uint32_t f32_inputs; /* bit i: x[i] (and dx[i]) is f32 all the same: the network's input */
    bool f32_output;     /* y and dy, too: the prediction, which a loss reads */

    int64_t classes;      /* cross_entropy, confusion, top_k: the prediction's last dimension; filled in */
    int64_t ignore_index; /* cross_entropy, confusion; only where ignores is true */
    bool ignores;
    double label_smoothing; /* cross_entropy */

    /* points, point_error: the prediction is [n h w 3k]: channel j < k is the heat map of point j, channels
     * k + 2j and k + 2j + 1 its offset (x, y) in cells from a cell's centre. A point (x, y) in px of an image
     * [image_size] lies in cell (floor(x / sx), floor(y / sy)), s = image size / map size; outside or not
     * visible: left out. Loss of a point = cross-entropy of its map's softmax over all cells + smooth L1
     * (beta 1, both components added) of its offset in that cell. Predicted: centre of the largest cell (the
     * first of equals)
     * + offset, in px. */
    int32_t image_size[2];
} stk__op_spec;

/* A tensor that belongs to a layer: name after the layer's ("weight", "bias_ih_l0"), shape as PyTorch has it.
 */
typedef struct stk__op_param {
    char name[24];
    stk__shape shape;
    stk_dtype dtype; /* f32; i64 for num_batches_tracked */
    float fill;      /* buffers, and parameters whose fan is 0: the value at the start */
    int64_t fan_in;  /* parameters: uniform in +- 1 / sqrt(fan_in), as PyTorch begins; 0: fill */
} stk__op_param;

/* What follows from a spec. */
typedef struct stk__op_form {
    stk__shape output;
    stk_dtype output_dtype; /* f32, or spec.half; of metrics and losses f64 or i64 */
    int param_count, buffer_count;
    stk__op_param param[STK_OP_PARAMS];
    stk__op_param buffer[STK_OP_BUFFERS]; /* batch_norm: running_mean, running_var, num_batches_tracked;
                                             affine: scale, shift */
    double flops;                         /* of a forward pass; a backward pass counts twice that */
    bool needs_x, needs_y;                /* backward reads x[], y[0] of the forward pass */
    bool in_place;                        /* y[0] may lie in x[0]'s memory (if no one else reads x[0]) */
    bool gradient_in_place;               /* dx[0] may lie in dy's memory */
    bool has_gradient;                    /* false: metrics */
} stk__op_form;

/* Fills the defaults of spec in and says what follows; STK_ERROR_CONFIG with the reason when it makes no
 * sense (the message names neither file nor layer: the caller adds them). */
stk_status stk__op_describe(stk__op_spec *spec, stk__op_form *form, stk_error *error);

const char *stk__op_word(stk__op_kind kind);
stk__op_kind stk__op_find(const char *word); /* STK_OP_COUNT: no such word */
bool stk__op_takes_relu(stk__op_kind kind);  /* see stk__op_spec.relu */
bool stk__op_is_loss(stk__op_kind kind);
bool stk__op_is_metric(stk__op_kind kind);
bool stk__op_is_product(
    stk__op_kind kind); /* of its input with weights: conv, conv_transpose, linear, lstm */

int64_t stk__shape_count(const stk__shape *shape); /* elements; INT64_MAX: more than that */
bool stk__shape_equal(const stk__shape *a, const stk__shape *b);
void stk__shape_print(const stk__shape *shape, char *text, size_t size); /* "4 x 128 x 128 x 32" */

#endif
