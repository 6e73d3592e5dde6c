/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's 3x3 convolution F(4x4, 3x3): stride 1, padding 1 (Lavin and Gray, 2016). A tile is 4x4 pixels of
 * the output; its 6x6 pixels of the input become 36 numbers ("spots"), each of which takes part in a matrix
 * product of its own: 36 multiplications for a tile and a pair of channels instead of 16 x 9 = 144.
 *
 * With d [6 6] the pixels of x under a tile, w [3 3], "." element by element, ' transposed:
 *
 *     forward             y  = A' [ (G w G') . (B' d B) ] A
 *     data gradient       the same of dy, weights turned by 180 degrees, input and output channels exchanged
 *     weight gradient     dw = G' [ sum over tiles (B' d B) . (A dy A') ] G
 *
 * Summed over channels, for x [n h w c], y [n h w k] and T = n ceil(h/4) ceil(w/4) tiles:
 *
 *     u = G w G'       [36] of [c k]      once for a call
 *     v = B' d B       [36] of [T c]
 *     m = v u          [36] of [T k]      36 products of matrices: nearly all of the work
 *     y = A' m A       [T] of [4 4 k]
 *     s = v' (A dy A') [36] of [c k]      weight gradient: 36 products over all tiles, then dw = G' s G
 *
 * Why it is a convolution, along one line: y_j = sum_k w_k d_(j+k), j = 0 … 3, k = 0 … 2, is the transpose of
 * multiplying polynomials of degree 2 and 3. Their product has degree 5, so its values at 6 points fix it: G
 * and A evaluate at 0, a, -a, b, -b and infinity, and B holds the interpolation:
 *
 *     at      0      a       -a       b       -b     inf
 *     G' = [ g0     ga       ga      gb       gb      0 ]      B' = [ a2b2    0   -a2-b2    0     1   0 ]
 *          [  0     ga a    -ga a    gb b    -gb b    0 ]           [  0   -a b2   -b2      a     1   0 ]
 *          [  0     ga a2    ga a2   gb b2    gb b2   1 ]           [  0    a b2   -b2     -a     1   0 ]
 *                                                                   [  0   -a2 b   -a2      b     1   0 ]
 *     A' = [  1      1        1       1        1      0 ]           [  0    a2 b   -a2     -b     1   0 ]
 *          [  0      a       -a       b       -b      0 ]           [  0    a2b2    0   -a2-b2    0   1 ]
 *          [  0      a2       a2      b2       b2     0 ]
 *          [  0      a3      -a3      b3      -b3     1 ]
 *
 *     a2 = a^2, …    g0 = 1 / a2b2    ga = 1 / (2 a2 (a2 - b2))    gb = 1 / (2 b2 (b2 - a2))
 *
 * a = 5/8 and b = 3/2 are exact in binary, and round less than half as badly as the usual 1 and 2
 * (docs/performance.md).
 *
 * Here are the steps, as one table for each CPU level; winograd_run.c puts them together. Whatever is
 * transformed lies as [36][panels][tiles][panel]: panel channels side by side, the last panel filled with
 * zeros. Pictures are [n h w c]. All memory is aligned to 64 bytes, except that of pictures and weights. */
#ifndef STK_ENGINE_WINOGRAD_H
#define STK_ENGINE_WINOGRAD_H

#include "core/cpu_level.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STK_WINOGRAD_SPOTS = 36, /* 6x6 */
    STK_WINOGRAD_SIDE = 4,   /* of a tile */
    STK_WINOGRAD_TAPS = 9    /* 3x3 */
};

/* The points a and b, and what follows from them. */
#define STK_WINOGRAD_A    0.625f
#define STK_WINOGRAD_B    1.5f
#define STK_WINOGRAD_A2   (STK_WINOGRAD_A * STK_WINOGRAD_A)
#define STK_WINOGRAD_B2   (STK_WINOGRAD_B * STK_WINOGRAD_B)
#define STK_WINOGRAD_A2B2 (STK_WINOGRAD_A2 * STK_WINOGRAD_B2)
#define STK_WINOGRAD_SUM2 (STK_WINOGRAD_A2 + STK_WINOGRAD_B2)
#define STK_WINOGRAD_G0   (1 / STK_WINOGRAD_A2B2)
#define STK_WINOGRAD_GA   (1 / (2 * STK_WINOGRAD_A2 * (STK_WINOGRAD_A2 - STK_WINOGRAD_B2)))
#define STK_WINOGRAD_GB   (1 / (2 * STK_WINOGRAD_B2 * (STK_WINOGRAD_B2 - STK_WINOGRAD_A2)))

/* Pictures as tiles: tile t of picture t / (rows x columns), row by row. */
typedef struct stk__winograd_grid {
    int64_t h, w;          /* px */
    int64_t rows, columns; /* tiles of a picture */
} stk__winograd_grid;

/* Tiles first … last-1 of pictures with c channels, and where they lie transformed. */
typedef struct stk__winograd_span {
    const stk__winograd_grid *grid;
    int64_t c, first, last;
    float *spots;   /* [36][panels][spread][panel]; tile `first` is 0 */
    int64_t spread; /* tiles, >= last - first */
    int64_t spot;   /* floats from one spot to the next, see stk__winograd_spot */
    float *patch;   /* [36][panels x panel] of scratch */
} stk__winograd_span;

/* Of one spot. multiply: m [tiles] = v [tiles] x u over c channels, for panels of m. add_up: s [c] += v
 * [tiles]' x m [tiles], for panels of m (first: s = instead of +=). */
typedef struct stk__winograd_product {
    const float *v; /* [c's panels][spread][panel] */
    const float *u; /* multiply: [panels][c][panel] */
    float *m;       /* [panels][spread][panel] */
    float *s;       /* add_up: [panels][c][panel] */
    int64_t tiles, spread, c, panels;
    bool first;
} stk__winograd_product;

/* Weights of PyTorch, [outer inner 3 3], as u [36][panels of output][input][panel]. turned: for the data
 * gradient, outer is the input. */
typedef struct stk__winograd_weights {
    const float *plain;
    float *plain_out; /* weights_out: written (add: added to) */
    float *u;
    int64_t spot;          /* floats from one spot of u to the next */
    int64_t input, output; /* channels */
    bool turned, add;
} stk__winograd_weights;

typedef struct stk__winograd_kernel {
    int panel;                                                                /* channels */
    void (*weights_in)(const stk__winograd_weights *weights, int64_t panel);  /* one panel of u */
    void (*weights_out)(const stk__winograd_weights *weights, int64_t panel); /* one panel back; not turned */
    void (*input)(const stk__winograd_span *span, const float *x);
    void (*output)(const stk__winograd_span *span, const float *bias, float *y); /* bias: padded, or NULL */
    void (*gradient)(const stk__winograd_span *span, const float *dy); /* spot 36: the sum of the tile */
    void (*multiply)(const stk__winograd_product *product);
    void (*add_up)(const stk__winograd_product *product);
} stk__winograd_kernel;

/* NULL: this CPU has no such level. */
const stk__winograd_kernel *stk__winograd_at(stk__cpu_level level);

extern const stk__winograd_kernel stk__winograd_c, stk__winograd_avx2, stk__winograd_avx512;

static inline int64_t stk__winograd_panels(const stk__winograd_kernel *kernel, int64_t channels)
{
    return (channels + kernel->panel - 1) / kernel->panel;
}

/* Floats from one spot to the next, if each has so many: an odd number of lines, because 36 places at a power
 * of two from each other would push each other out of the cache. */
static inline int64_t stk__winograd_spot(int64_t floats)
{
    const int64_t lines = (floats + 15) / 16;
    return (lines + (lines % 2 == 0)) * 16;
}

#endif
