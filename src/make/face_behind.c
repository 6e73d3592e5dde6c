/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind a face: background, hair that falls behind the head, neck, clothes. */
#include "make/face.h"

static void paint_lights(stk__canvas *canvas, stk__face *face)
{
    stk__dice *dice = &face->dice;
    const int32_t count = 5 + stk__dice_below(dice, 8);
    for (int32_t i = 0; i < count; i++) {
        const float radius = stk__dice_range(dice, 18, 90), strength = stk__dice_range(dice, -46, 58);
        const stk__coord centre = {stk__dice_range(dice, 0, FACE_SIDE), stk__dice_range(dice, 0, FACE_SIDE)};
        const float warm = stk__dice_range(dice, -14, 14);
        const stk__glow glow = {centre, {radius, radius}, {strength + warm, strength, strength - warm}, 0};
        stk__canvas_glow(canvas, &glow);
    }
}

/* Shelves, trunks, window frames: something straight and out of focus. */
static void paint_bars(stk__canvas *canvas, stk__face *face)
{
    stk__dice *dice = &face->dice;
    const int32_t count = stk__dice_below(dice, 6);
    for (int32_t i = 0; i < count; i++) {
        const float x = stk__dice_range(dice, -20, 520), w = stk__dice_range(dice, 8, 60);
        const float lean = stk__dice_range(dice, -30, 30);
        const stk__coord spots[] = {{x, -5}, {x + w, -5}, {x + w + lean, 520}, {x + lean, 520}};
        const stk__colour colour = stk__colour_scale(face->back_other, stk__dice_range(dice, 0.6f, 1.25f));
        stk__paint paint = stk__face_flat(colour, FACE_BACKGROUND);
        paint.opacity = stk__dice_range(dice, 0.25f, 0.7f);
        paint.texture = (stk__texture){.kind = STK_NOISE_STRANDS, .amplitude = 0.16f, .u = i * 97, .v = 31};
        stk__canvas_polygon(canvas, spots, 4);
        stk__canvas_fill(canvas, &paint);
    }
}

static void paint_background(stk__canvas *canvas, stk__face *face)
{
    stk__dice *dice = &face->dice;
    stk__paint paint = stk__face_flat(face->back, FACE_BACKGROUND);
    paint.light = (stk__light){.centre = {256, 256},
                               .radius = {256, 256},
                               .slope = {face->light_x * 0.0006f, stk__dice_range(dice, -0.001f, 0.0006f)},
                               .gain = 1,
                               .bulge = 0.1f};
    paint.texture = (stk__texture){.kind = STK_NOISE_CLOUDS,
                                   .amplitude = stk__dice_range(dice, 0.3f, 0.55f),
                                   .u = stk__dice_below(dice, STK_NOISE_SIDE),
                                   .v = stk__dice_below(dice, STK_NOISE_SIDE)};
    stk__canvas_flood(canvas, &paint);
    paint_bars(canvas, face);
    paint_lights(canvas, face);
}

static void paint_hair_behind(stk__canvas *canvas, stk__face *face)
{
    const float w = face->half_w, h = face->half_h, side = face->hair_side, up = face->hair_up;
    const float end = face->hair_long ? h * 1.55f : h * 0.25f;
    const stk__coord controls[] = {
        {0, -h - up},
        {w * 0.7f, -h * 0.87f - up * 0.76f},
        {w + side * 0.8f, -h * 0.45f},
        {w + side, h * 0.1f},
        {w * 0.95f + side, end * 0.7f},
        {w * 0.7f, end},
        {-w * 0.7f, end},
        {-w * 0.95f - side, end * 0.7f},
        {-w - side, h * 0.1f},
        {-w - side * 0.8f, -h * 0.45f},
        {-w * 0.7f, -h * 0.87f - up * 0.76f},
    };
    stk__paint paint = stk__face_flat(stk__colour_scale(face->hair, 0.72f), FACE_HAIR);
    paint.texture = (stk__texture){.kind = STK_NOISE_STRANDS,
                                   .amplitude = face->hair.rgb[1] > 90 ? 0.26f : 0.42f,
                                   .u = stk__dice_below(&face->dice, STK_NOISE_SIDE),
                                   .v = stk__dice_below(&face->dice, STK_NOISE_SIDE),
                                   .fan = true,
                                   .fan_from = stk__face_place(face, 0, -h, 0)};
    stk__face_outline(canvas, face, (stk__face_shape){controls, 11, -18, 4});
    stk__canvas_fill(canvas, &paint);
}

static void paint_neck(stk__canvas *canvas, stk__face *face)
{
    const float w = face->half_w, h = face->half_h, neck = w * (face->hair_long ? 0.52f : 0.6f);
    const stk__coord controls[] = {
        {-neck, h * 0.5f},         {neck, h * 0.5f},       {neck * 0.96f, h * 1.1f},
        {neck * 1.25f, h * 1.4f},  {neck * 2, h * 1.62f},  {neck * 1.5f, h * 2.4f},
        {-neck * 1.5f, h * 2.4f},  {-neck * 2, h * 1.62f}, {-neck * 1.25f, h * 1.4f},
        {-neck * 0.96f, h * 1.1f},
    };
    stk__paint paint = stk__face_flat(stk__colour_scale(face->skin, 0.9f), FACE_NECK);
    paint.light = stk__face_light(face, (stk__coord){0, h * 1.2f}, (stk__coord){neck, h}, 0.16f);
    paint.texture = (stk__texture){.kind = STK_NOISE_CLOUDS, .amplitude = 0.06f, .u = 40, .v = 77};
    stk__face_outline(canvas, face, (stk__face_shape){controls, 10, -8, 0});
    stk__canvas_fill(canvas, &paint);
    const float dark[3] = {-70, -66, -60};
    stk__face_glow(canvas, face, (stk__face_at){0, h * 0.98f, 0}, (stk__coord){w * 0.95f, h * 0.36f}, dark,
                   FACE_BIT(FACE_NECK));
}

static void paint_necklace(stk__canvas *canvas, stk__face *face)
{
    const float w = face->half_w, h = face->half_h, deep = stk__dice_range(&face->dice, 0.12f, 0.3f);
    const stk__colour gold = {{212, 176, 92}}, pearl = {{232, 226, 216}};
    stk__paint paint = stk__face_flat(stk__dice_chance(&face->dice, 0.5f) ? gold : pearl, FACE_NECKLACE);
    paint.only = FACE_BIT(FACE_NECK) | FACE_BIT(FACE_CLOTH) | FACE_BIT(FACE_NECKLACE);
    paint.texture = (stk__texture){.kind = STK_NOISE_GRAIN, .amplitude = 0.3f};
    for (int i = -14; i <= 14; i++) {
        const float t = (float)i / 14, bend = 1 - t * t;
        const stk__coord centre = {t * w * 0.66f, h * (1.2f + deep * bend)};
        stk__face_ellipse(canvas, face, centre, (stk__coord){3.3f, 3.3f}, -8);
    }
    stk__face_ellipse(canvas, face, (stk__coord){0, h * (1.22f + deep) + 4}, (stk__coord){6, 8}, -8);
    stk__canvas_fill(canvas, &paint);
}

static void paint_collar(stk__canvas *canvas, stk__face *face, float side)
{
    const float w = face->half_w, h = face->half_h;
    const stk__coord controls[] = {
        {side * w * 0.62f, h * 1.16f}, {side * w * 0.98f, h * 1.3f}, {side * w * 0.6f, h * 1.72f},
        {side * w * 0.12f, h * 1.6f},  {side * w * 0.5f, h * 1.42f},
    };
    stk__paint paint = stk__face_flat(stk__colour_mix(face->cloth, face->trim, 0.3f), FACE_CLOTH);
    paint.light = (stk__light){.gain = 1.12f};
    paint.texture = (stk__texture){.kind = STK_NOISE_WEAVE, .amplitude = 0.1f};
    stk__face_outline(canvas, face, (stk__face_shape){controls, 5, -8, 0});
    stk__canvas_fill(canvas, &paint);
}

static void paint_cloth(stk__canvas *canvas, stk__face *face)
{
    const float w = face->half_w, h = face->half_h;
    const float deep = face->cloth_style == 1 ? 1.85f : 1.52f;
    const stk__coord controls[] = {
        {-w * 3.6f, h * 3},     {-w * 2.7f, h * 1.95f}, {-w * 1.75f, h * 1.52f}, {-w * 0.86f, h * 1.3f},
        {-w * 0.5f, h * 1.45f}, {0, h * deep},          {w * 0.5f, h * 1.45f},   {w * 0.86f, h * 1.3f},
        {w * 1.75f, h * 1.52f}, {w * 2.7f, h * 1.95f},  {w * 3.6f, h * 3},
    };
    stk__paint paint = stk__face_flat(face->cloth, FACE_CLOTH);
    paint.light = stk__face_light(face, (stk__coord){0, h * 1.9f}, (stk__coord){w * 2.6f, h}, 0.2f);
    paint.texture = (stk__texture){
        .kind = face->cloth_style == 0 ? STK_NOISE_WEAVE : STK_NOISE_CLOUDS, .amplitude = 0.16f, .step = 1};
    stk__face_outline(canvas, face, (stk__face_shape){controls, 11, -8, 0});
    stk__canvas_fill(canvas, &paint);
    const float fold[3] = {-34, -34, -34};
    for (int i = 0; i < 4; i++) {
        const stk__coord at = {stk__dice_range(&face->dice, -2, 2) * w,
                               stk__dice_range(&face->dice, 1.6f, 2) * h};
        stk__face_glow(canvas, face, (stk__face_at){at.x, at.y, -8},
                       (stk__coord){stk__dice_range(&face->dice, 10, 26), 70}, fold, FACE_BIT(FACE_CLOTH));
    }
    if (face->cloth_style == 2) {
        paint_collar(canvas, face, -1);
        paint_collar(canvas, face, 1);
    }
}

void stk__face_paint_behind(stk__canvas *canvas, stk__face *face)
{
    paint_background(canvas, face);
    if (!face->bald) paint_hair_behind(canvas, face);
    paint_neck(canvas, face);
    paint_cloth(canvas, face);
    if (face->necklace) paint_necklace(canvas, face);
}
