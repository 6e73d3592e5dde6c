/* SPDX-License-Identifier: Apache-2.0 */
/* Ears, skin, nose and mouth of a generated face. */
#include "make/face.h"

static void paint_earring(stk__canvas *canvas, stk__face *face, float x, float y)
{
    const stk__colour gold = {{218, 184, 104}}, silver = {{206, 210, 216}};
    stk__paint paint = stk__face_flat(face->skin.rgb[2] < 130 ? gold : silver, FACE_EARRING);
    paint.texture = (stk__texture){.kind = STK_NOISE_CLOUDS, .amplitude = 0.5f, .step = 5};
    if (face->hoops) {
        stk__face_ellipse(canvas, face, (stk__coord){x, y + 16}, (stk__coord){11, 15}, -14);
        stk__face_ellipse(canvas, face, (stk__coord){x, y + 16}, (stk__coord){-7.5f, 11.5f}, -14);
    } else {
        stk__face_ellipse(canvas, face, (stk__coord){x, y + 5}, (stk__coord){5, 5}, -14);
        stk__face_ellipse(canvas, face, (stk__coord){x, y + 18}, (stk__coord){4.2f, 9}, -14);
    }
    stk__canvas_fill(canvas, &paint);
}

static void paint_ear(stk__canvas *canvas, stk__face *face, float side)
{
    const float x = side * (face->half_w - 1), y = face->eye_y + 14;
    const stk__coord controls[] = {
        {x - side * 8, y - 26}, {x + side * 10, y - 33}, {x + side * 20, y - 18},
        {x + side * 15, y + 8}, {x + side * 7, y + 30},  {x - side * 8, y + 28},
    };
    const uint8_t id = side < 0 ? FACE_LEFT_EAR : FACE_RIGHT_EAR;
    stk__paint paint = stk__face_flat(stk__colour_scale(face->skin, 0.93f), id);
    paint.light = stk__face_light(face, (stk__coord){0, 0}, (stk__coord){face->half_w, face->half_h}, 0.1f);
    paint.texture = (stk__texture){.kind = STK_NOISE_CLOUDS, .amplitude = 0.08f};
    stk__face_outline(canvas, face, (stk__face_shape){controls, 6, -14, 0});
    stk__canvas_fill(canvas, &paint);
    const float inner[3] = {-58, -64, -62};
    stk__face_glow(canvas, face, (stk__face_at){x + side * 7, y - 8, -14}, (stk__coord){9, 20}, inner,
                   FACE_BIT(id));
    if (face->earrings) paint_earring(canvas, face, x + side * 6, y + 27);
}

static void paint_skin(stk__canvas *canvas, stk__face *face)
{
    const float w = face->half_w, h = face->half_h, jaw = w * face->jaw, cheek = w * face->cheek;
    const stk__coord controls[] = {
        {0, -h},
        {w * 0.62f, -h * 0.86f},
        {w * 0.96f, -h * 0.4f},
        {cheek * 0.98f, h * 0.08f},
        {jaw * 0.86f, h * 0.5f},
        {jaw * 0.52f, h * 0.86f},
        {jaw * 0.2f, h},
        {-jaw * 0.2f, h},
        {-jaw * 0.52f, h * 0.86f},
        {-jaw * 0.86f, h * 0.5f},
        {-cheek * 0.98f, h * 0.08f},
        {-w * 0.96f, -h * 0.4f},
        {-w * 0.62f, -h * 0.86f},
    };
    stk__paint paint = stk__face_flat(face->skin, FACE_SKIN);
    paint.light = stk__face_light(face, (stk__coord){0, 0}, (stk__coord){w, h}, 0.22f);
    paint.texture = (stk__texture){.kind = STK_NOISE_CLOUDS,
                                   .amplitude = 0.09f,
                                   .u = stk__dice_below(&face->dice, STK_NOISE_SIDE),
                                   .v = stk__dice_below(&face->dice, STK_NOISE_SIDE),
                                   .step = 2};
    stk__face_outline(canvas, face, (stk__face_shape){controls, 13, 0, 0});
    stk__canvas_fill(canvas, &paint);
}

static void shade_skin(stk__canvas *canvas, const stk__face *face)
{
    const float w = face->half_w, h = face->half_h;
    const float blush[3] = {10, -10, -8}, bright[3] = {17, 16, 14}, socket[3] = {-30, -32, -28};
    const float chin[3] = {-20, -20, -18}, beard[3] = {-46, -44, -38};
    const uint32_t skin = FACE_BIT(FACE_SKIN);
    for (float side = -1; side <= 1; side += 2) {
        stk__face_glow(canvas, face, (stk__face_at){side * w * 0.56f, h * 0.32f, 14}, (stk__coord){36, 32},
                       blush, skin);
        stk__face_glow(canvas, face, (stk__face_at){side * w * 0.5f, h * 0.2f, 16}, (stk__coord){28, 17},
                       bright, skin);
        stk__face_glow(canvas, face, (stk__face_at){side * face->eye_x, face->eye_y - 7, 12},
                       (stk__coord){36, 25}, socket, skin);
        stk__face_glow(canvas, face, (stk__face_at){side * w * 0.86f, h * 0.45f, 0},
                       (stk__coord){w * 0.3f, h * 0.5f}, chin, skin);
    }
    stk__face_glow(canvas, face, (stk__face_at){0, -h * 0.5f, 12}, (stk__coord){62, 36}, bright, skin);
    stk__face_glow(canvas, face, (stk__face_at){0, h * 0.86f, 16}, (stk__coord){26, 15}, bright, skin);
    stk__face_glow(canvas, face, (stk__face_at){0, face->mouth_y + face->lip + face->mouth_open + 9, 18},
                   (stk__coord){28, 11}, chin, skin);
    if (!face->beard) return;
    stk__face_glow(canvas, face, (stk__face_at){0, h * 0.8f, 6}, (stk__coord){w * 1.05f, h * 0.48f}, beard,
                   skin);
    stk__face_glow(canvas, face, (stk__face_at){0, face->mouth_y - 17, 18}, (stk__coord){44, 12}, beard,
                   skin);
}

static void paint_nose(stk__canvas *canvas, stk__face *face)
{
    const float y = face->nose_y, w = face->nose_w, top = face->eye_y + 4, depth = 24;
    const stk__coord controls[] = {
        {-7, top},   {7, top},           {10, y - 24}, {w, y - 3},    {w * 0.8f, y + 9},
        {0, y + 13}, {-w * 0.8f, y + 9}, {-w, y - 3},  {-10, y - 24},
    };
    stk__paint paint = stk__face_flat(face->skin, FACE_NOSE);
    paint.light = stk__face_light(face, (stk__coord){0, 0}, (stk__coord){face->half_w, face->half_h}, 0.22f);
    paint.texture = (stk__texture){.kind = STK_NOISE_CLOUDS, .amplitude = 0.06f, .step = 2};
    paint.opacity = 0.6f;
    stk__face_outline(canvas, face, (stk__face_shape){controls, 9, depth, 0});
    stk__canvas_fill(canvas, &paint);
    const uint32_t nose = FACE_BIT(FACE_NOSE), around = nose | FACE_BIT(FACE_SKIN);
    const float lit = face->light_x > 0 ? 1 : -1;
    const float shadow[3] = {-38, -40, -38}, bright[3] = {34, 32, 30}, hole[3] = {-95, -88, -78};
    stk__face_glow(canvas, face, (stk__face_at){-lit * 11, y - 22, depth}, (stk__coord){13, 38}, shadow,
                   around);
    stk__face_glow(canvas, face, (stk__face_at){0, y + 15, depth}, (stk__coord){w * 1.2f, 10}, shadow,
                   around);
    stk__face_glow(canvas, face, (stk__face_at){lit * 2, y - 24, depth}, (stk__coord){7, 40}, bright, nose);
    stk__face_glow(canvas, face, (stk__face_at){lit * 2, y - 3, depth + 6}, (stk__coord){11, 10}, bright,
                   nose);
    for (float side = -1; side <= 1; side += 2) {
        stk__face_glow(canvas, face, (stk__face_at){side * w * 0.86f, y + 2, depth}, (stk__coord){6, 12},
                       shadow, around);
        stk__face_glow(canvas, face, (stk__face_at){side * w * 0.45f, y + 8, depth}, (stk__coord){8, 5}, hole,
                       nose);
    }
}

static void paint_teeth(stk__canvas *canvas, stk__face *face)
{
    const float w = face->mouth_w, y = face->mouth_y, open = face->mouth_open, up = face->smile;
    const stk__coord inside[] = {
        {-w * 0.82f, y - up * 0.6f},
        {-w * 0.4f, y - 1},
        {0, y},
        {w * 0.4f, y - 1},
        {w * 0.82f, y - up * 0.6f},
        {w * 0.45f, y + open * 0.85f},
        {0, y + open},
        {-w * 0.45f, y + open * 0.85f},
    };
    const stk__colour dark = {{72, 28, 30}}, white = {{236, 230, 220}};
    const stk__paint cave = stk__face_flat(dark, FACE_MOUTH);
    stk__face_outline(canvas, face, (stk__face_shape){inside, 8, 20, 0});
    stk__canvas_fill(canvas, &cave);
    stk__paint teeth = stk__face_flat(white, STK_CANVAS_KEEP);
    teeth.only = FACE_BIT(FACE_MOUTH);
    teeth.texture = (stk__texture){.kind = STK_NOISE_STRANDS, .amplitude = 0.12f, .step = 1};
    stk__face_ellipse(canvas, face, (stk__coord){0, y}, (stk__coord){w * 0.66f, open * 0.66f}, 20);
    stk__canvas_fill(canvas, &teeth);
}

static void paint_lips(stk__canvas *canvas, stk__face *face)
{
    const float w = face->mouth_w, y = face->mouth_y, open = face->mouth_open, up = face->smile,
                lip = face->lip;
    const stk__coord upper[] = {
        {-w, y - up},          {-w * 0.5f, y - lip * 0.75f},
        {-w * 0.16f, y - lip}, {0, y - lip * 0.72f},
        {w * 0.16f, y - lip},  {w * 0.5f, y - lip * 0.75f},
        {w, y - up},           {w * 0.45f, y},
        {0, y + 1.5f},         {-w * 0.45f, y},
    };
    const stk__coord lower[] = {
        {-w * 0.94f, y - up + 1},   {-w * 0.45f, y + open * 0.9f},
        {0, y + open + 1},          {w * 0.45f, y + open * 0.9f},
        {w * 0.94f, y - up + 1},    {w * 0.55f, y + open + lip * 0.75f},
        {0, y + open + lip * 1.2f}, {-w * 0.55f, y + open + lip * 0.75f},
    };
    if (open > 0) paint_teeth(canvas, face);
    stk__paint paint = stk__face_flat(stk__colour_scale(face->lips, 0.92f), FACE_UPPER_LIP);
    paint.texture = (stk__texture){.kind = STK_NOISE_STRANDS, .amplitude = 0.12f};
    stk__face_outline(canvas, face, (stk__face_shape){upper, 10, 20, 0});
    stk__canvas_fill(canvas, &paint);
    paint.id = FACE_LOWER_LIP;
    stk__face_outline(canvas, face, (stk__face_shape){lower, 8, 20, 0});
    stk__canvas_fill(canvas, &paint);
    const float shine[3] = {34, 28, 28}, line[3] = {-60, -46, -46};
    stk__face_glow(canvas, face, (stk__face_at){0, y + open + lip * 0.6f, 20},
                   (stk__coord){w * 0.5f, lip * 0.5f}, shine, FACE_BIT(FACE_LOWER_LIP));
    if (open <= 0)
        stk__face_glow(canvas, face, (stk__face_at){0, y + 0.5f, 20}, (stk__coord){w * 0.95f, 3.4f}, line,
                       FACE_BIT(FACE_LOWER_LIP) | FACE_BIT(FACE_UPPER_LIP));
}

void stk__face_paint_head(stk__canvas *canvas, stk__face *face)
{
    paint_ear(canvas, face, -1);
    paint_ear(canvas, face, 1);
    paint_skin(canvas, face);
    shade_skin(canvas, face);
    paint_nose(canvas, face);
    paint_lips(canvas, face);
}
