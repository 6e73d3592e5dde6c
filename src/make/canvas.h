/* SPDX-License-Identifier: Apache-2.0 */
/* A small painter for generated pictures: filled outlines with soft edges, light and texture, and in step a
 * plane of class ids. Plain + - * / in a fixed order, so that every machine paints the same bytes. */
#ifndef STK_MAKE_CANVAS_H
#define STK_MAKE_CANVAS_H

#include "image/pixels.h"
#include "make/noise.h"

#include <stdbool.h>

enum { STK_CANVAS_SIDE = 512, STK_CANVAS_KEEP = 255 };

typedef struct stk__coord {
    float x, y;
} stk__coord;

/* Row spans of the outline that is being built: sums[h][w + 2] are differences of coverage along x,
 * in 1/4096. Up to seven layers may lie over each other. */
typedef struct stk__cover {
    int16_t *sums;
    int16_t *first, *last; /* [h]: touched columns; first > last: none */
    int32_t top, bottom;   /* touched rows */
} stk__cover;

typedef struct stk__canvas {
    int32_t w, h, plane_count; /* 0 planes: only ids are wanted */
    uint8_t *planes[3];
    uint8_t *ids;
    stk__cover cover; /* empty between fills */
} stk__canvas;

/* tone = gain + slope . p - bulge |p / radius|^2 + amplitude * texture, p = pixel - centre; colour = rgb *
 * tone. Gain 0 means 1. */
typedef struct stk__light {
    stk__coord centre, radius, slope;
    float gain, bulge;
} stk__light;

typedef struct stk__texture {
    stk__noise_kind kind;
    float amplitude; /* of tone, at a texture value of 127 */
    int32_t u, v;    /* where in the tile */
    int32_t step;    /* tile pixels a pixel; 0: 1 */
    bool fan;        /* columns spread from fan_from, as hair does */
    stk__coord fan_from;
} stk__texture;

typedef struct stk__paint {
    float rgb[3];
    float opacity; /* 0: 1 */
    stk__light light;
    stk__texture texture;
    uint8_t id;    /* STK_CANVAS_KEEP: the plane of ids stays */
    uint32_t only; /* bits of the ids that may be painted over; 0: all */
} stk__paint;

/* A soft ellipse: delta * (1 - r^2)^2 is added to the colours where `only` permits. */
typedef struct stk__glow {
    stk__coord centre, radius;
    float delta[3];
    uint32_t only;
} stk__glow;

size_t stk__canvas_bytes(int32_t w, int32_t h, int32_t plane_count);

/* memory: stk__canvas_bytes of any content, aligned to 64. The picture starts black, all ids 0. */
void stk__canvas_init(stk__canvas *canvas, int32_t w, int32_t h, int32_t plane_count, uint8_t *memory);

/* Adds a closed polygon to the outline; one that runs the other way round cuts a hole. */
void stk__canvas_polygon(stk__canvas *canvas, const stk__coord *spots, int32_t count);

/* Paints the outline and forgets it. */
void stk__canvas_fill(stk__canvas *canvas, const stk__paint *paint);

void stk__canvas_flood(stk__canvas *canvas, const stk__paint *paint); /* the whole picture */
void stk__canvas_glow(stk__canvas *canvas, const stk__glow *glow);

/* Interleaves the planes into image and adds grain of the given strength (levels at a tile value of 127,
 * below 120) from place (u, v) of the tile. */
void stk__canvas_finish(const stk__canvas *canvas, float grain, int32_t u, int32_t v, stk__pixels image);

/* A smooth closed curve through the controls, `steps` spots each: returns count * steps spots in out. */
int32_t stk__curve(const stk__coord *controls, int32_t count, int32_t steps, stk__coord *out);

#endif
