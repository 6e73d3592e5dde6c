/* SPDX-License-Identifier: Apache-2.0 */
/* Hair in front of a generated face, and its hat. */
#include "make/face.h"

static stk__paint hair_paint(stk__face *face)
{
    stk__paint paint = stk__face_flat(face->hair, FACE_HAIR);
    paint.light = stk__face_light(face, (stk__coord){0, -face->half_h * 0.4f},
                                  (stk__coord){face->half_w * 2, face->half_h * 2.4f}, 0.24f);
    paint.texture =
        (stk__texture){.kind = STK_NOISE_STRANDS,
                       .amplitude = face->hair.rgb[1] > 90 ? 0.3f : 0.5f,
                       .u = stk__dice_below(&face->dice, STK_NOISE_SIDE),
                       .v = stk__dice_below(&face->dice, STK_NOISE_SIDE),
                       .fan = true,
                       .fan_from = stk__face_place(face, face->parting * face->half_w, -face->half_h, 0)};
    return paint;
}

/* A lock that falls beside the face, over ear and shoulder. */
static void paint_lock(stk__canvas *canvas, stk__face *face, float side)
{
    const float w = face->half_w, h = face->half_h, out = face->hair_side;
    const float end = h * stk__dice_range(&face->dice, 1.35f, 1.75f),
                in = stk__dice_range(&face->dice, 0.84f, 0.97f);
    const stk__coord controls[] = {
        {side * w * 0.7f, -h * 0.8f},    {side * (w + out * 0.8f), -h * 0.4f},
        {side * (w + out), h * 0.2f},    {side * (w + out * 1.1f), h * 0.8f},
        {side * (w * 0.95f + out), end}, {side * w * 0.86f, end * 1.04f},
        {side * w * 0.8f, h * 0.95f},    {side * w * (in + 0.04f), h * 0.45f},
        {side * w * in, -h * 0.1f},      {side * w * 0.88f, -h * 0.45f},
    };
    const stk__paint paint = hair_paint(face);
    stk__face_outline(canvas, face, (stk__face_shape){controls, 10, -4, 3.2f});
    stk__canvas_fill(canvas, &paint);
}

static void paint_front(stk__canvas *canvas, stk__face *face)
{
    const float w = face->half_w, h = face->half_h, up = face->hair_up, side = face->hair_side;
    const float line = face->fringe ? 0.44f : face->hairline, part = face->parting * w;
    const float low = face->hair_long ? 0.05f : -0.12f;
    const stk__coord controls[] = {
        {-w - side * 0.3f, h * low},
        {-w - side * 0.8f, -h * 0.45f},
        {-w * 0.7f, -h * 0.88f - up * 0.76f},
        {0, -h - up},
        {w * 0.7f, -h * 0.88f - up * 0.76f},
        {w + side * 0.8f, -h * 0.45f},
        {w + side * 0.3f, h * low},
        {w * 0.95f, -h * 0.2f},
        {w * 0.84f, -h * (line - 0.16f)},
        {w * 0.45f + part * 0.4f, -h * line},
        {part, -h * (face->fringe ? line : line + 0.1f)},
        {-w * 0.45f + part * 0.4f, -h * line},
        {-w * 0.84f, -h * (line - 0.16f)},
        {-w * 0.95f, -h * 0.2f},
    };
    const stk__paint paint = hair_paint(face);
    const float dark[3] = {-24, -24, -22};
    stk__face_glow(canvas, face, (stk__face_at){0, -h * line, 4}, (stk__coord){w * 0.95f, h * 0.22f}, dark,
                   FACE_BIT(FACE_SKIN));
    stk__face_outline(canvas, face, (stk__face_shape){controls, 14, 2, 3.4f});
    stk__canvas_fill(canvas, &paint);
    const float shine = 20 + face->hair.rgb[0] * 0.12f;
    const float delta[3] = {shine, shine * 0.92f, shine * 0.8f};
    for (float s = -1; s <= 1; s += 2)
        stk__face_glow(canvas, face, (stk__face_at){s * w * 0.5f + face->light_x * 20, -h * 0.92f, 0},
                       (stk__coord){w * 0.5f, h * 0.16f}, delta, FACE_BIT(FACE_HAIR));
}

/* Where hair ends: down the side of a long head of hair, or on the arch from the top to the side. */
static stk__coord hair_edge(stk__face *face, float side)
{
    stk__dice *dice = &face->dice;
    const float out = face->half_w + face->hair_side * 0.85f, top = face->half_h + face->hair_up;
    if (face->hair_long && stk__dice_chance(dice, 0.5f))
        return (stk__coord){side * (out + stk__dice_range(dice, -4, 4)),
                            stk__dice_range(dice, -0.1f, 1.3f) * face->half_h};
    const float turns = stk__dice_range(dice, 0, face->hair_long ? 0.25f : 0.16f);
    return (stk__coord){side * out * stk__turn_sin(turns), -top * stk__turn_cos(turns) + 4};
}

/* Single strands that stand off, as a comb never gets them all. One side at a time: shorter rows to fill. */
static void paint_wisps(stk__canvas *canvas, stk__face *face, float side)
{
    enum { WISPS = 50 };
    stk__dice *dice = &face->dice;
    for (int i = 0; i < WISPS; i++) {
        const float width = stk__dice_range(dice, 1.5f, 3);
        const stk__coord root = hair_edge(face, side);
        const stk__coord bend = {root.x + side * stk__dice_range(dice, 2, 9),
                                 root.y + stk__dice_range(dice, 4, 18)};
        const stk__coord tip = {bend.x + side * stk__dice_range(dice, -5, 7),
                                bend.y + stk__dice_range(dice, 8, 30)};
        const stk__coord spots[] = {stk__face_place(face, root.x, root.y, -6),
                                    stk__face_place(face, bend.x + side * width, bend.y - 1, -6),
                                    stk__face_place(face, tip.x, tip.y, -6),
                                    stk__face_place(face, bend.x, bend.y, -6)};
        stk__canvas_polygon(canvas, spots, 4);
    }
    const stk__paint paint = hair_paint(face);
    stk__canvas_fill(canvas, &paint);
}

static void paint_wool(stk__canvas *canvas, stk__face *face)
{
    const float w = face->half_w, h = face->half_h, up = (face->bald ? 22 : face->hair_up) + 16,
                low = -h * 0.5f;
    const stk__coord crown[] = {
        {-w - 16, low},
        {-w - 12, -h * 0.8f},
        {-w * 0.6f, -h - up * 0.8f},
        {0, -h - up - 6},
        {w * 0.6f, -h - up * 0.8f},
        {w + 12, -h * 0.8f},
        {w + 16, low},
        {0, low - 12},
    };
    const stk__coord band[] = {
        {-w - 15, low + 6}, {-w - 15, low - 30}, {-w * 0.5f, low - 45}, {0, low - 49}, {w * 0.5f, low - 45},
        {w + 15, low - 30}, {w + 15, low + 6},   {w * 0.5f, low - 7},   {0, low - 11}, {-w * 0.5f, low - 7},
    };
    stk__paint paint = stk__face_flat(face->wear, FACE_HAT);
    paint.light = stk__face_light(face, (stk__coord){0, -h}, (stk__coord){w * 1.2f, h * 0.8f}, 0.22f);
    paint.texture = (stk__texture){.kind = STK_NOISE_WEAVE, .amplitude = 0.3f, .u = 9};
    stk__face_outline(canvas, face, (stk__face_shape){crown, 8, 2, 1});
    stk__canvas_fill(canvas, &paint);
    const stk__colour other = stk__colour_mix(face->wear, face->trim, 0.5f);
    for (int c = 0; c < 3; c++)
        paint.rgb[c] = other.rgb[c];
    paint.texture = (stk__texture){.kind = STK_NOISE_STRANDS, .amplitude = 0.4f, .u = 5};
    stk__face_outline(canvas, face, (stk__face_shape){band, 10, 2, 1});
    stk__canvas_fill(canvas, &paint);
}

static void paint_brim(stk__canvas *canvas, stk__face *face)
{
    const float w = face->half_w, h = face->half_h, up = (face->bald ? 18 : face->hair_up) + 26,
                low = -h * 0.62f;
    const stk__coord crown[] = {
        {-w - 6, low},        {-w * 0.86f, -h - up * 0.6f}, {-w * 0.45f, -h - up}, {0, -h - up * 0.86f},
        {w * 0.45f, -h - up}, {w * 0.86f, -h - up * 0.6f},  {w + 6, low},          {0, low + 8},
    };
    const stk__coord ribbon[] = {
        {-w - 7, low}, {-w - 3, low - 24}, {0, low - 16}, {w + 3, low - 24}, {w + 7, low}, {0, low + 9},
    };
    const float dark[3] = {-44, -42, -40};
    stk__face_glow(canvas, face, (stk__face_at){0, low + 16, 0}, (stk__coord){w * 1.2f, 46}, dark,
                   FACE_BIT(FACE_SKIN) | FACE_BIT(FACE_HAIR));
    stk__paint paint = stk__face_flat(face->wear, FACE_HAT);
    paint.light = stk__face_light(face, (stk__coord){0, -h}, (stk__coord){w * 1.5f, h * 0.8f}, 0.2f);
    paint.texture = (stk__texture){.kind = STK_NOISE_CLOUDS, .amplitude = 0.22f, .step = 3};
    stk__face_outline(canvas, face, (stk__face_shape){crown, 8, 2, 0});
    stk__canvas_fill(canvas, &paint);
    const stk__paint strip = stk__face_flat(stk__colour_scale(face->trim, 0.6f), FACE_HAT);
    stk__face_outline(canvas, face, (stk__face_shape){ribbon, 6, 2, 0});
    stk__canvas_fill(canvas, &strip);
    for (int c = 0; c < 3; c++)
        paint.rgb[c] *= 0.9f;
    stk__face_ellipse(canvas, face, (stk__coord){0, low + 6}, (stk__coord){w * 1.62f, 25}, 6);
    stk__canvas_fill(canvas, &paint);
}

void stk__face_paint_top(stk__canvas *canvas, stk__face *face)
{
    if (face->hair_long) {
        paint_lock(canvas, face, -1);
        paint_lock(canvas, face, 1);
    }
    if (!face->bald) {
        paint_front(canvas, face);
        paint_wisps(canvas, face, -1);
        paint_wisps(canvas, face, 1);
    }
    if (face->hat == HAT_WOOL) paint_wool(canvas, face);
    if (face->hat == HAT_BRIM) paint_brim(canvas, face);
}
