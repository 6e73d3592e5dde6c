/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of winograd.h in the vectors of a level (LANES, ROWS, vf_…), which is included before. */
#ifndef STK_ENGINE_WINOGRAD_LEVEL_H
#define STK_ENGINE_WINOGRAD_LEVEL_H

#include "engine/winograd/winograd_products.h"
#include "engine/winograd/winograd_transforms.h"

#include <string.h>

enum { SIDE = STK_WINOGRAD_SIDE, WIDE = SIDE + 2 };

/* Pixels around a tile, and where its spots go. */
typedef struct place {
    float *pixels;
    int64_t row, pixel; /* elements from one to the next */
    float *spots;
    int64_t spot; /* from one to the next */
} place;

typedef void (*tile_step)(const place *p, const float *bias);

/* The top left pixel of a tile. */
typedef struct corner {
    int64_t n, y, x;
} corner;

static inline corner corner_of(const stk__winograd_grid *grid, int64_t tile)
{
    const int64_t in_picture = tile % (grid->rows * grid->columns);
    return (corner){tile / (grid->rows * grid->columns), in_picture / grid->columns * SIDE,
                    in_picture % grid->columns * SIDE};
}

static inline const float *pixel_of(const stk__winograd_span *span, const float *x, corner at)
{
    return x + ((at.n * span->grid->h + at.y) * span->grid->w + at.x) * span->c;
}

static inline bool is_inside(const stk__winograd_grid *grid, corner at)
{
    return at.y >= 0 && at.x >= 0 && at.y < grid->h && at.x < grid->w;
}

static inline int64_t padded_of(const stk__winograd_span *span)
{
    return (span->c + PANEL - 1) / PANEL * PANEL;
}

/* side x side pixels from `at` on, zeros where there are none. */
static void fill_patch(const stk__winograd_span *span, const float *x, corner at, int64_t side)
{
    const int64_t padded = padded_of(span);
    for (int64_t i = 0; i < side * side; i++) {
        const corner here = {at.n, at.y + i / side, at.x + i % side};
        float *target = span->patch + i * padded;
        const int64_t c = is_inside(span->grid, here) ? span->c : 0;
        if (c) memcpy(target, pixel_of(span, x, here), (size_t)c * sizeof *target);
        memset(target + c, 0, (size_t)(padded - c) * sizeof *target);
    }
}

/* The tile's pixels that there are. */
static void empty_patch(const stk__winograd_span *span, float *y, corner at)
{
    const int64_t padded = padded_of(span);
    for (int64_t i = 0; i < SIDE * SIDE; i++) {
        const corner here = {at.n, at.y + i / SIDE, at.x + i % SIDE};
        if (!is_inside(span->grid, here)) continue;
        memcpy(y + (pixel_of(span, y, here) - y), span->patch + i * padded, (size_t)span->c * sizeof *y);
    }
}

/* Whole panels, and no pixel outside: nothing need be copied. */
static inline bool is_plain(const stk__winograd_span *span, corner at, int64_t side)
{
    const corner end = {at.n, at.y + side - 1, at.x + side - 1};
    return span->c % PANEL == 0 && is_inside(span->grid, at) && is_inside(span->grid, end);
}

/* All channels of a tile, vector by vector. */
static inline __attribute__((always_inline)) void step_tile(const stk__winograd_span *span, place p,
                                                            const float *bias, tile_step step)
{
    const int64_t panels = padded_of(span) / PANEL;
    for (int64_t panel = 0; panel < panels; panel++, p.spots += (span->spread - 1) * PANEL)
        for (int half = 0; half < PANEL / LANES; half++) {
            step(&p, bias);
            p.pixels += LANES;
            p.spots += LANES;
            if (bias) bias += LANES;
        }
}

/* Where the pixels of a tile are read or written: in the picture or in the patch. */
static inline place place_of(const stk__winograd_span *span, float *picture, int64_t side, int64_t tile)
{
    const int64_t padded = padded_of(span);
    float *spots = span->spots + (tile - span->first) * PANEL;
    if (!picture) return (place){span->patch, side * padded, padded, spots, span->spot};
    return (place){picture, span->grid->w * span->c, span->c, spots, span->spot};
}

static inline void input_step(const place *p, const float *bias)
{
    (void)bias;
    vf t[WIDE][WIDE], d[WIDE];
    for (int j = 0; j < WIDE; j++) {
        for (int i = 0; i < WIDE; i++)
            d[i] = vf_load(p->pixels + i * p->row + j * p->pixel);
        input_line(d, t[j]);
    }
    for (int i = 0; i < WIDE; i++) {
        vf out[WIDE];
        for (int j = 0; j < WIDE; j++)
            d[j] = t[j][i];
        input_line(d, out);
        for (int j = 0; j < WIDE; j++)
            vf_store(p->spots + (i * WIDE + j) * p->spot, out[j]);
    }
}

static inline void gradient_step(const place *p, const float *bias)
{
    (void)bias;
    vf t[SIDE][WIDE], d[SIDE], sum = vf_all(0);
    for (int j = 0; j < SIDE; j++) {
        for (int i = 0; i < SIDE; i++)
            d[i] = vf_load(p->pixels + i * p->row + j * p->pixel);
        sum = vf_add(sum, vf_add(vf_add(d[0], d[1]), vf_add(d[2], d[3])));
        gradient_line(d, t[j]);
    }
    vf_store(p->spots + STK_WINOGRAD_SPOTS * p->spot, sum);
    for (int i = 0; i < WIDE; i++) {
        vf out[WIDE];
        for (int j = 0; j < SIDE; j++)
            d[j] = t[j][i];
        gradient_line(d, out);
        for (int j = 0; j < WIDE; j++)
            vf_store(p->spots + (i * WIDE + j) * p->spot, out[j]);
    }
}

static inline void output_step(const place *p, const float *bias)
{
    vf t[WIDE][SIDE], d[WIDE], out[SIDE];
    const vf shift = bias ? vf_load(bias) : vf_all(0);
    for (int j = 0; j < WIDE; j++) {
        for (int i = 0; i < WIDE; i++)
            d[i] = vf_load(p->spots + (i * WIDE + j) * p->spot);
        output_line(d, t[j]);
    }
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < WIDE; j++)
            d[j] = t[j][i];
        output_line(d, out);
        for (int j = 0; j < SIDE; j++)
            vf_store(p->pixels + i * p->row + j * p->pixel, vf_add(out[j], shift));
    }
}

static void input_tiles(const stk__winograd_span *span, const float *x)
{
    for (int64_t tile = span->first; tile < span->last; tile++) {
        corner at = corner_of(span->grid, tile);
        at.y--, at.x--;
        const bool plain = is_plain(span, at, WIDE);
        if (!plain) fill_patch(span, x, at, WIDE);
        float *picture = plain ? (float *)pixel_of(span, x, at) : NULL;
        step_tile(span, place_of(span, picture, WIDE, tile), NULL, input_step);
    }
}

static void gradient_tiles(const stk__winograd_span *span, const float *dy)
{
    for (int64_t tile = span->first; tile < span->last; tile++) {
        const corner at = corner_of(span->grid, tile);
        const bool plain = is_plain(span, at, SIDE);
        if (!plain) fill_patch(span, dy, at, SIDE);
        float *picture = plain ? (float *)pixel_of(span, dy, at) : NULL;
        step_tile(span, place_of(span, picture, SIDE, tile), NULL, gradient_step);
    }
}

static void output_tiles(const stk__winograd_span *span, const float *bias, float *y)
{
    for (int64_t tile = span->first; tile < span->last; tile++) {
        const corner at = corner_of(span->grid, tile);
        const bool plain = is_plain(span, at, SIDE);
        float *picture = plain ? (float *)pixel_of(span, y, at) : NULL;
        step_tile(span, place_of(span, picture, SIDE, tile), bias, output_step);
        if (!plain) empty_patch(span, y, at);
    }
}

/* --- weights ---------------------------------------------------------------------------------------------
 */

/* The 3x3 of output channel o and input channel i. */
static inline int64_t taps_of(const stk__winograd_weights *w, int64_t o, int64_t i)
{
    return (w->turned ? i * w->output + o : o * w->input + i) * STK_WINOGRAD_TAPS;
}

/* [9][LANES] of output channels o …, zeros behind the last. */
static inline void gather_taps(const stk__winograd_weights *w, int64_t o, int64_t i, float *taps)
{
    for (int64_t lane = 0; lane < LANES; lane++) {
        const float *plain = w->plain + taps_of(w, o + lane < w->output ? o + lane : 0, i);
        for (int64_t tap = 0; tap < STK_WINOGRAD_TAPS; tap++)
            taps[tap * LANES + lane] =
                o + lane < w->output ? plain[w->turned ? STK_WINOGRAD_TAPS - 1 - tap : tap] : 0;
    }
}

static void scatter_taps(const stk__winograd_weights *w, int64_t o, int64_t i, const float *taps)
{
    for (int64_t lane = 0; lane < LANES && o + lane < w->output; lane++) {
        float *plain = w->plain_out + taps_of(w, o + lane, i);
        for (int64_t tap = 0; tap < STK_WINOGRAD_TAPS; tap++)
            plain[tap] = taps[tap * LANES + lane] + (w->add ? plain[tap] : 0);
    }
}

static void weights_in_panel(const stk__winograd_weights *w, int64_t panel)
{
    for (int64_t i = 0; i < w->input; i++)
        for (int64_t lane = 0; lane < PANEL; lane += LANES) {
            float taps[STK_WINOGRAD_TAPS * LANES], *u = w->u + (panel * w->input + i) * PANEL + lane;
            vf t[3][WIDE], d[3], out[WIDE];
            gather_taps(w, panel * PANEL + lane, i, taps);
            for (int x = 0; x < 3; x++) {
                for (int y = 0; y < 3; y++)
                    d[y] = vf_load(taps + (y * 3 + x) * LANES);
                weight_line(d, t[x]);
            }
            for (int y = 0; y < WIDE; y++) {
                for (int x = 0; x < 3; x++)
                    d[x] = t[x][y];
                weight_line(d, out);
                for (int x = 0; x < WIDE; x++)
                    vf_store(u + (y * WIDE + x) * w->spot, out[x]);
            }
        }
}

static void weights_out_panel(const stk__winograd_weights *w, int64_t panel)
{
    for (int64_t i = 0; i < w->input; i++)
        for (int64_t lane = 0; lane < PANEL; lane += LANES) {
            float taps[STK_WINOGRAD_TAPS * LANES];
            const float *u = w->u + (panel * w->input + i) * PANEL + lane;
            vf t[WIDE][3], d[WIDE], out[3];
            for (int x = 0; x < WIDE; x++) {
                for (int y = 0; y < WIDE; y++)
                    d[y] = vf_load(u + (y * WIDE + x) * w->spot);
                tap_line(d, t[x]);
            }
            for (int y = 0; y < 3; y++) {
                for (int x = 0; x < WIDE; x++)
                    d[x] = t[x][y];
                tap_line(d, out);
                for (int x = 0; x < 3; x++)
                    vf_store(taps + (y * 3 + x) * LANES, out[x]);
            }
            scatter_taps(w, panel * PANEL + lane, i, taps);
        }
}

#define WINOGRAD_LEVEL                                                                                       \
    {                                                                                                        \
        .panel = PANEL, .weights_in = weights_in_panel, .weights_out = weights_out_panel,                    \
        .input = input_tiles, .output = output_tiles, .gradient = gradient_tiles, .multiply = multiply_spot, \
        .add_up = add_up_spot                                                                                \
    }

#endif
