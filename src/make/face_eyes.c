/* SPDX-License-Identifier: Apache-2.0 */
/* Eyes, brows and glasses of a generated face. */
#include "make/face.h"

enum { EYE_DEPTH = 13 };

static void paint_iris(stk__canvas *canvas, stk__face *face, float side, uint8_t id)
{
    const stk__coord at = {side * face->eye_x + face->gaze_x + face->yaw * 3,
                           face->eye_y + face->gaze_y - 0.5f};
    const float radius = face->eye_h * 0.98f + 1;
    const stk__colour black = {{18, 14, 14}}, white = {{250, 250, 250}};
    stk__paint paint = stk__face_flat(stk__colour_scale(face->eye, 0.55f), STK_CANVAS_KEEP);
    paint.only = FACE_BIT(id);
    stk__face_ellipse(canvas, face, at, (stk__coord){radius, radius}, EYE_DEPTH);
    stk__canvas_fill(canvas, &paint);
    paint = stk__face_flat(face->eye, STK_CANVAS_KEEP);
    paint.only = FACE_BIT(id);
    paint.texture = (stk__texture){.kind = STK_NOISE_GRAIN, .amplitude = 0.3f};
    stk__face_ellipse(canvas, face, at, (stk__coord){radius * 0.84f, radius * 0.84f}, EYE_DEPTH);
    stk__canvas_fill(canvas, &paint);
    paint = stk__face_flat(black, STK_CANVAS_KEEP);
    paint.only = FACE_BIT(id);
    stk__face_ellipse(canvas, face, at, (stk__coord){radius * 0.42f, radius * 0.42f}, EYE_DEPTH);
    stk__canvas_fill(canvas, &paint);
    paint = stk__face_flat(white, STK_CANVAS_KEEP);
    paint.only = FACE_BIT(id);
    paint.opacity = 0.9f;
    stk__face_ellipse(canvas, face, (stk__coord){at.x + face->light_x * 3.5f, at.y - 3},
                      (stk__coord){2.2f, 2.2f}, EYE_DEPTH);
    stk__canvas_fill(canvas, &paint);
}

/* The line of the upper lashes, and the fold above it: part of the skin, not of the eye. */
static void paint_lid(stk__canvas *canvas, stk__face *face, float side)
{
    const float x = side * face->eye_x, y = face->eye_y, w = face->eye_w, h = face->eye_h;
    const stk__coord lash[] = {
        {x - side * w, y + 2},
        {x - side * w * 0.4f, y - h * 0.86f},
        {x + side * w * 0.3f, y - h},
        {x + side * w * 1.06f, y - 2},
        {x + side * w * 0.3f, y - h - 2.6f},
        {x - side * w * 0.4f, y - h - 2.2f},
    };
    stk__paint paint = stk__face_flat(stk__colour_scale(face->brow, 0.5f), STK_CANVAS_KEEP);
    paint.opacity = 0.85f;
    stk__face_outline(canvas, face, (stk__face_shape){lash, 6, EYE_DEPTH, 0});
    stk__canvas_fill(canvas, &paint);
    const stk__coord fold[] = {
        {x - side * w * 0.8f, y - h * 0.9f},
        {x, y - h - 6},
        {x + side * w, y - h * 0.7f},
        {x, y - h - 7.6f},
    };
    paint = stk__face_flat(stk__colour_scale(face->skin, 0.62f), STK_CANVAS_KEEP);
    paint.opacity = 0.6f;
    stk__face_outline(canvas, face, (stk__face_shape){fold, 4, EYE_DEPTH, 0});
    stk__canvas_fill(canvas, &paint);
}

static void paint_eye(stk__canvas *canvas, stk__face *face, float side)
{
    const float x = side * face->eye_x, y = face->eye_y, w = face->eye_w, h = face->eye_h;
    const stk__coord almond[] = {
        {x - side * w, y + 2}, {x - side * w * 0.4f, y - h * 0.86f}, {x + side * w * 0.3f, y - h},
        {x + side * w, y - 1}, {x + side * w * 0.4f, y + h * 0.66f}, {x - side * w * 0.35f, y + h * 0.74f},
    };
    const uint8_t id = side < 0 ? FACE_LEFT_EYE : FACE_RIGHT_EYE;
    const stk__colour white = {{232, 226, 222}};
    stk__paint paint = stk__face_flat(white, id);
    paint.light = (stk__light){.centre = stk__face_place(face, x, y, EYE_DEPTH),
                               .radius = {w * face->zoom, h * 2 * face->zoom},
                               .slope = {0, 0.012f},
                               .gain = 1,
                               .bulge = 0.22f};
    stk__face_outline(canvas, face, (stk__face_shape){almond, 6, EYE_DEPTH, 0});
    stk__canvas_fill(canvas, &paint);
    paint_iris(canvas, face, side, id);
    paint_lid(canvas, face, side);
}

static void paint_brow(stk__canvas *canvas, stk__face *face, float side)
{
    const float x = side * face->eye_x, y = face->brow_y, tilt = face->brow_tilt, thick = face->brow_thick;
    const stk__coord controls[] = {
        {x - side * 24, y + tilt},
        {x, y - 5 - thick * 0.5f},
        {x + side * 18, y - 5},
        {x + side * 33, y + 5},
        {x + side * 16, y + thick * 0.4f},
        {x, y - 4 + thick * 0.6f},
        {x - side * 22, y + tilt + thick},
    };
    stk__paint paint = stk__face_flat(face->brow, side < 0 ? FACE_LEFT_BROW : FACE_RIGHT_BROW);
    paint.opacity = 0.86f;
    paint.texture = (stk__texture){.kind = STK_NOISE_STRANDS, .amplitude = 0.6f, .u = 211, .step = 2};
    stk__face_outline(canvas, face, (stk__face_shape){controls, 7, 12, 1});
    stk__canvas_fill(canvas, &paint);
}

/* Rim of one glass: an outer outline and an inner one that runs the other way round. */
static void outline_rim(stk__canvas *canvas, stk__face *face, float side, float thick)
{
    const float x = side * (face->eye_x + 1), y = face->eye_y + 3;
    for (int inner = 0; inner < 2; inner++) {
        const float w = inner ? -(34 - thick) : 34, h = inner ? 26 - thick : 26;
        const stk__coord controls[] = {
            {x - w, y}, {x - w * 0.8f, y - h * 0.85f}, {x, y - h}, {x + w * 0.8f, y - h * 0.85f},
            {x + w, y}, {x + w * 0.7f, y + h * 0.85f}, {x, y + h}, {x - w * 0.7f, y + h * 0.85f},
        };
        if (inner && thick <= 0) break;
        stk__face_outline(canvas, face, (stk__face_shape){controls, 8, 20, 0});
    }
}

static void paint_glasses(stk__canvas *canvas, stk__face *face)
{
    const stk__colour lens = {{34, 30, 32}};
    const float y = face->eye_y - 4, from = face->eye_x - 30, to = face->half_w - 2;
    if (face->glasses == GLASSES_DARK) {
        stk__paint dark = stk__face_flat(lens, FACE_GLASSES);
        dark.opacity = 0.93f;
        dark.light =
            (stk__light){.centre = stk__face_place(face, 0, y, 20), .slope = {0.002f, -0.016f}, .gain = 1.3f};
        outline_rim(canvas, face, -1, 0);
        outline_rim(canvas, face, 1, 0);
        stk__canvas_fill(canvas, &dark);
    }
    stk__paint frame = stk__face_flat(stk__colour_scale(face->wear, 0.5f), FACE_GLASSES);
    frame.texture = (stk__texture){.kind = STK_NOISE_CLOUDS, .amplitude = 0.3f, .step = 3};
    outline_rim(canvas, face, -1, 4);
    outline_rim(canvas, face, 1, 4);
    const stk__coord bridge[] = {{-from, y},    {0, y - 5}, {from, y},
                                 {from, y + 4}, {0, y - 1}, {-from, y + 4}};
    stk__face_outline(canvas, face, (stk__face_shape){bridge, 6, 20, 0});
    stk__canvas_fill(canvas, &frame);
    for (float side = -1; side <= 1; side += 2) {
        const float hinge = side * (face->eye_x + 34);
        const stk__coord temple[] = {
            stk__face_place(face, hinge, y - 3, 20), stk__face_place(face, side * to, y - 6, 0),
            stk__face_place(face, side * to, y - 1, 0), stk__face_place(face, hinge, y + 2, 20)};
        stk__canvas_polygon(canvas, temple, 4);
        stk__canvas_fill(canvas, &frame);
    }
}

void stk__face_paint_eyes(stk__canvas *canvas, stk__face *face)
{
    for (float side = -1; side <= 1; side += 2) {
        paint_eye(canvas, face, side);
        paint_brow(canvas, face, side);
    }
    if (face->glasses != GLASSES_NONE) paint_glasses(canvas, face);
}
