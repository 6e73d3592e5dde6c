/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of winograd.h in plain C: what the other levels are held to. Each transform is a product with
 * its matrix as the papers print it; nothing is clever here. */
#include "engine/winograd/winograd.h"

#include <string.h>

enum { PANEL = 16, SIDE = STK_WINOGRAD_SIDE, WIDE = SIDE + 2, TAP = 3 };

#define A  STK_WINOGRAD_A
#define B  STK_WINOGRAD_B
#define A2 STK_WINOGRAD_A2
#define B2 STK_WINOGRAD_B2
#define GA STK_WINOGRAD_GA
#define GB STK_WINOGRAD_GB

static const float input_matrix[WIDE][WIDE] = {
    {A2 * B2, 0, -A2 - B2, 0, 1, 0}, {0, -A *B2, -B2, A, 1, 0}, {0, A *B2, -B2, -A, 1, 0},
    {0, -A2 *B, -A2, B, 1, 0},       {0, A2 *B, -A2, -B, 1, 0}, {0, A2 *B2, 0, -A2 - B2, 0, 1}};
static const float output_matrix[SIDE][WIDE] = {
    {1, 1, 1, 1, 1, 0}, {0, A, -A, B, -B, 0}, {0, A2, A2, B2, B2, 0}, {0, A *A2, -A *A2, B *B2, -B *B2, 1}};
static const float weight_matrix[WIDE][TAP] = {{STK_WINOGRAD_G0, 0, 0}, {GA, GA *A, GA *A2},
                                               {GA, -GA *A, GA *A2},    {GB, GB *B, GB *B2},
                                               {GB, -GB *B, GB *B2},    {0, 0, 1}};

/* out [to to] = m in m' of a matrix m [to from], or of its transpose. */
typedef struct change {
    const float *matrix;
    int from, to;
    bool transposed;
} change;

static float entry(const change *c, int to, int from)
{
    return c->transposed ? c->matrix[from * c->to + to] : c->matrix[to * c->from + from];
}

static void apply(const change *c, const float *in, float *out)
{
    float half[WIDE * WIDE] = {0};
    memset(out, 0, (size_t)(c->to * c->to) * sizeof *out);
    for (int i = 0; i < c->to; i++)
        for (int j = 0; j < c->from; j++)
            for (int k = 0; k < c->from; k++)
                half[i * c->from + j] += entry(c, i, k) * in[k * c->from + j];
    for (int i = 0; i < c->to; i++)
        for (int j = 0; j < c->to; j++)
            for (int k = 0; k < c->from; k++)
                out[i * c->to + j] += entry(c, j, k) * half[i * c->from + k];
}

static const change input_change = {input_matrix[0], WIDE, WIDE, false};
static const change output_change = {output_matrix[0], WIDE, SIDE, false};
static const change gradient_change = {output_matrix[0], SIDE, WIDE, true};
static const change weight_change = {weight_matrix[0], TAP, WIDE, false};
static const change tap_change = {weight_matrix[0], WIDE, TAP, true};

/* Where a pixel of a tile lies, counted from its first; -1: outside the picture. */
static int64_t pixel_of(const stk__winograd_span *span, int64_t tile, int64_t down, int64_t right)
{
    const stk__winograd_grid *g = span->grid;
    const int64_t in_picture = tile % (g->rows * g->columns), n = tile / (g->rows * g->columns);
    const int64_t y = in_picture / g->columns * SIDE + down, x = in_picture % g->columns * SIDE + right;
    return y < 0 || x < 0 || y >= g->h || x >= g->w ? -1 : ((n * g->h + y) * g->w + x) * span->c;
}

static float *spot_of(const stk__winograd_span *span, int64_t tile, int64_t c, int64_t spot)
{
    return span->spots + spot * span->spot + (c / PANEL * span->spread + tile - span->first) * PANEL +
           c % PANEL;
}

/* Pixels from (start, start) of each tile on; the sum of what came in becomes the spot behind the last. */
static void bring_tiles(const stk__winograd_span *span, const float *x, const change *by, int start)
{
    const int64_t padded = (span->c + PANEL - 1) / PANEL * PANEL, area = by->from * by->from;
    for (int64_t at = 0; at < (span->last - span->first) * padded; at++) {
        const int64_t tile = span->first + at / padded, c = at % padded;
        float in[WIDE * WIDE], out[WIDE * WIDE], sum = 0;
        for (int64_t i = 0; i < area; i++) {
            const int64_t pixel = pixel_of(span, tile, start + i / by->from, start + i % by->from);
            in[i] = pixel < 0 || c >= span->c ? 0 : x[pixel + c];
            sum += in[i];
        }
        apply(by, in, out);
        for (int64_t i = 0; i < STK_WINOGRAD_SPOTS; i++)
            *spot_of(span, tile, c, i) = out[i];
        if (start == 0) *spot_of(span, tile, c, STK_WINOGRAD_SPOTS) = sum;
    }
}

static void input(const stk__winograd_span *span, const float *x)
{
    bring_tiles(span, x, &input_change, -1);
}

static void gradient(const stk__winograd_span *span, const float *dy)
{
    bring_tiles(span, dy, &gradient_change, 0);
}

static void output(const stk__winograd_span *span, const float *bias, float *y)
{
    for (int64_t at = 0; at < (span->last - span->first) * span->c; at++) {
        const int64_t tile = span->first + at / span->c, c = at % span->c;
        float in[WIDE * WIDE], out[SIDE * SIDE];
        for (int64_t i = 0; i < STK_WINOGRAD_SPOTS; i++)
            in[i] = *spot_of(span, tile, c, i);
        apply(&output_change, in, out);
        for (int64_t i = 0; i < SIDE * SIDE; i++) {
            const int64_t pixel = pixel_of(span, tile, i / SIDE, i % SIDE);
            if (pixel >= 0) y[pixel + c] = out[i] + (bias ? bias[c] : 0);
        }
    }
}

/* The 3x3 of output channel o and input channel i. */
static int64_t taps_of(const stk__winograd_weights *w, int64_t o, int64_t i)
{
    return (w->turned ? i * w->output + o : o * w->input + i) * STK_WINOGRAD_TAPS;
}

static void weights_in(const stk__winograd_weights *w, int64_t panel)
{
    for (int64_t at = 0; at < w->input * PANEL; at++) {
        const int64_t i = at / PANEL, o = panel * PANEL + at % PANEL;
        float in[STK_WINOGRAD_TAPS] = {0}, out[WIDE * WIDE];
        for (int64_t tap = 0; o < w->output && tap < STK_WINOGRAD_TAPS; tap++)
            in[tap] = w->plain[taps_of(w, o, i) + (w->turned ? STK_WINOGRAD_TAPS - 1 - tap : tap)];
        apply(&weight_change, in, out);
        for (int64_t spot = 0; spot < STK_WINOGRAD_SPOTS; spot++)
            w->u[spot * w->spot + panel * w->input * PANEL + at] = out[spot];
    }
}

static void weights_out(const stk__winograd_weights *w, int64_t panel)
{
    for (int64_t at = 0; at < w->input * PANEL; at++) {
        const int64_t i = at / PANEL, o = panel * PANEL + at % PANEL;
        float in[WIDE * WIDE], out[STK_WINOGRAD_TAPS];
        if (o >= w->output) continue;
        for (int64_t spot = 0; spot < STK_WINOGRAD_SPOTS; spot++)
            in[spot] = w->u[spot * w->spot + panel * w->input * PANEL + at];
        apply(&tap_change, in, out);
        float *plain = w->plain_out + taps_of(w, o, i);
        for (int64_t tap = 0; tap < STK_WINOGRAD_TAPS; tap++)
            plain[tap] = out[tap] + (w->add ? plain[tap] : 0);
    }
}

/* Value c of a tile in [panels][spread][panel]. */
static int64_t value_of(const stk__winograd_product *p, int64_t tile, int64_t c)
{
    return (c / PANEL * p->spread + tile) * PANEL + c % PANEL;
}

static void multiply(const stk__winograd_product *p)
{
    for (int64_t tile = 0; tile < p->tiles; tile++)
        for (int64_t k = 0; k < p->panels * PANEL; k++) {
            float sum = 0;
            for (int64_t c = 0; c < p->c; c++)
                sum += p->v[value_of(p, tile, c)] * p->u[(k / PANEL * p->c + c) * PANEL + k % PANEL];
            p->m[value_of(p, tile, k)] = sum;
        }
}

static void add_up(const stk__winograd_product *p)
{
    for (int64_t c = 0; c < p->c; c++)
        for (int64_t k = 0; k < p->panels * PANEL; k++) {
            float *sum = &p->s[(k / PANEL * p->c + c) * PANEL + k % PANEL];
            if (p->first) *sum = 0;
            for (int64_t tile = 0; tile < p->tiles; tile++)
                *sum += p->v[value_of(p, tile, c)] * p->m[value_of(p, tile, k)];
        }
}

const stk__winograd_kernel stk__winograd_c = {PANEL,  weights_in, weights_out, input,
                                              output, gradient,   multiply,    add_up};
