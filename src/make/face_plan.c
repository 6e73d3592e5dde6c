/* SPDX-License-Identifier: Apache-2.0 */
/* A generated face as numbers: pose, proportions, what it wears and its colours, drawn from (seed, index);
 * and the map from face coordinates to pixels. The face_*.c files paint it. */
#include "make/face.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof(array)[0]))

static const stk__colour skins[] = {
    {{247, 214, 193}}, {{238, 197, 170}}, {{226, 180, 148}}, {{210, 160, 124}},
    {{187, 134, 100}}, {{156, 106, 76}},  {{122, 82, 60}},   {{98, 66, 50}},
};
static const stk__colour hairs[] = {
    {{30, 26, 26}},  {{44, 33, 28}},   {{70, 48, 34}},    {{98, 66, 42}},    {{122, 70, 38}},
    {{158, 96, 50}}, {{190, 150, 92}}, {{214, 184, 128}}, {{150, 148, 146}}, {{206, 204, 200}},
};
static const stk__colour irises[] = {
    {{74, 48, 30}}, {{98, 66, 38}}, {{70, 110, 140}}, {{88, 128, 108}}, {{120, 132, 140}}, {{52, 36, 28}},
};
static const stk__colour cloths[] = {
    {{38, 52, 86}},   {{176, 48, 52}},  {{232, 230, 224}}, {{50, 50, 54}},   {{74, 116, 92}},
    {{214, 170, 84}}, {{132, 92, 140}}, {{112, 146, 182}}, {{196, 122, 96}}, {{92, 100, 108}},
};
static const stk__colour backs[] = {
    {{96, 124, 98}}, {{152, 170, 186}}, {{192, 178, 156}}, {{92, 86, 94}},    {{128, 146, 122}},
    {{76, 96, 122}}, {{176, 150, 128}}, {{140, 132, 150}}, {{206, 204, 200}}, {{120, 98, 80}},
};
static const stk__colour lip_red = {{186, 68, 78}};

static stk__colour vary(stk__dice *dice, stk__colour colour, float amount)
{
    const float all = stk__dice_range(dice, -amount, amount);
    for (int c = 0; c < 3; c++) {
        colour.rgb[c] += all + stk__dice_range(dice, -amount, amount) * 0.4f;
        if (colour.rgb[c] < 12) colour.rgb[c] = 12;
        if (colour.rgb[c] > 250) colour.rgb[c] = 250;
    }
    return colour;
}

static stk__colour pick(stk__dice *dice, const stk__colour *colours, int32_t count, float amount)
{
    const int32_t which = stk__dice_below(dice, count);
    return vary(dice, colours[which], amount);
}

static void plan_pose(stk__face *face)
{
    stk__dice *dice = &face->dice;
    const float turns = stk__dice_bell(dice) * 0.014f;
    face->centre_x = 256 + stk__dice_bell(dice) * 12;
    face->centre_y = 256 + stk__dice_bell(dice) * 10;
    face->zoom = stk__dice_range(dice, 1.02f, 1.3f);
    face->cosine = stk__turn_cos(turns + 1);
    face->sine = stk__turn_sin(turns + 1);
    face->yaw = stk__dice_bell(dice) * 0.4f;
    face->pitch = stk__dice_bell(dice) * 0.22f;
    face->light_x = stk__dice_range(dice, -1, 1);
    face->light_y = stk__dice_range(dice, -1, 0.1f);
}

static void plan_shape(stk__face *face)
{
    stk__dice *dice = &face->dice;
    face->half_w = stk__dice_range(dice, 92, 106);
    face->half_h = stk__dice_range(dice, 126, 140);
    face->jaw = stk__dice_range(dice, 0.86f, 1.1f);
    face->cheek = stk__dice_range(dice, 0.95f, 1.03f);
    face->eye_x = stk__dice_range(dice, 40, 46);
    face->eye_y = stk__dice_range(dice, -16, -6);
    face->eye_w = stk__dice_range(dice, 20, 25);
    face->eye_h = stk__dice_range(dice, 8, 12.5f);
    face->gaze_x = stk__dice_bell(dice) * 2.6f;
    face->gaze_y = stk__dice_bell(dice);
    face->brow_y = face->eye_y - stk__dice_range(dice, 24, 32);
    face->brow_tilt = stk__dice_range(dice, -4, 6);
    face->brow_thick = stk__dice_range(dice, 3.5f, 8);
    face->nose_y = stk__dice_range(dice, 34, 46);
    face->nose_w = stk__dice_range(dice, 17, 25);
    face->mouth_y = face->nose_y + stk__dice_range(dice, 31, 40);
    face->mouth_w = stk__dice_range(dice, 30, 43);
    face->mouth_open = stk__dice_chance(dice, 0.45f) ? stk__dice_range(dice, 3, 14) : 0;
    face->smile = stk__dice_range(dice, -2, 9);
    face->lip = stk__dice_range(dice, 7, 12);
}

static void plan_things(stk__face *face)
{
    stk__dice *dice = &face->dice;
    face->hair_long = stk__dice_chance(dice, 0.5f);
    face->bald = !face->hair_long && stk__dice_chance(dice, 0.08f);
    face->fringe = stk__dice_chance(dice, 0.3f);
    face->hair_up = face->bald ? 2 : stk__dice_range(dice, 18, 42);
    face->hair_side = stk__dice_range(dice, face->hair_long ? 22 : 6, face->hair_long ? 48 : 18);
    face->hairline = stk__dice_range(dice, 0.6f, 0.76f);
    face->parting = stk__dice_range(dice, -0.45f, 0.45f);
    face->beard = !face->hair_long && stk__dice_chance(dice, 0.4f);
    face->earrings = stk__dice_chance(dice, face->hair_long ? 0.45f : 0.15f);
    face->hoops = stk__dice_chance(dice, 0.5f);
    face->necklace = stk__dice_chance(dice, face->hair_long ? 0.4f : 0.12f);
    const float glasses = stk__dice_range(dice, 0, 1), hat = stk__dice_range(dice, 0, 1);
    face->glasses = glasses < 0.72f ? GLASSES_NONE : glasses < 0.93f ? GLASSES_CLEAR : GLASSES_DARK;
    face->hat = hat < 0.84f ? HAT_NONE : hat < 0.93f ? HAT_WOOL : HAT_BRIM;
    face->cloth_style = stk__dice_below(dice, 3);
}

static void plan_colours(stk__face *face)
{
    stk__dice *dice = &face->dice;
    face->skin = pick(dice, skins, COUNT(skins), 8);
    const bool dark = face->skin.rgb[0] < 170;
    face->hair = pick(dice, hairs, dark ? 3 : COUNT(hairs), 7);
    face->brow = stk__colour_scale(stk__colour_mix(face->hair, hairs[1], 0.45f), 0.9f);
    face->lips = stk__colour_mix(face->skin, lip_red, stk__dice_range(dice, 0.45f, 0.85f));
    face->eye = pick(dice, irises, dark ? 2 : COUNT(irises), 6);
    face->cloth = pick(dice, cloths, COUNT(cloths), 12);
    face->trim = pick(dice, cloths, COUNT(cloths), 12);
    face->wear = pick(dice, cloths, COUNT(cloths), 12);
    face->back = pick(dice, backs, COUNT(backs), 16);
    face->back_other = pick(dice, backs, COUNT(backs), 16);
}

void stk__face_plan(stk__face *face, uint64_t seed, uint64_t index)
{
    *face = (stk__face){.dice = stk__dice_make(seed, index, STK_OPERATION_MAKE_FACES)};
    plan_pose(face);
    plan_shape(face);
    plan_things(face);
    plan_colours(face);
}

stk__coord stk__face_place(const stk__face *face, float x, float y, float depth)
{
    x += face->yaw * depth;
    y += face->pitch * depth;
    return (stk__coord){face->centre_x + face->zoom * (face->cosine * x - face->sine * y),
                        face->centre_y + face->zoom * (face->sine * x + face->cosine * y)};
}

void stk__face_outline(stk__canvas *canvas, stk__face *face, stk__face_shape shape)
{
    enum { CONTROLS = 16, STEPS = 24 };
    stk__coord placed[CONTROLS], spots[CONTROLS * STEPS];
    for (int32_t i = 0; i < shape.count; i++)
        placed[i] = stk__face_place(face, shape.controls[i].x, shape.controls[i].y, shape.depth);
    const int32_t count = stk__curve(placed, shape.count, STEPS, spots);
    for (int32_t i = 0; shape.ragged > 0 && i < count; i++) {
        spots[i].x += stk__dice_range(&face->dice, -shape.ragged, shape.ragged);
        spots[i].y += stk__dice_range(&face->dice, -shape.ragged, shape.ragged);
    }
    stk__canvas_polygon(canvas, spots, count);
}

void stk__face_ellipse(stk__canvas *canvas, const stk__face *face, stk__coord centre, stk__coord radius,
                       float depth)
{
    enum { SPOTS = 40 };
    stk__coord spots[SPOTS];
    for (int i = 0; i < SPOTS; i++) {
        const float turns = (float)i / SPOTS;
        spots[i] = stk__face_place(face, centre.x + radius.x * stk__turn_cos(turns),
                                   centre.y + radius.y * stk__turn_sin(turns), depth);
    }
    stk__canvas_polygon(canvas, spots, SPOTS);
}

void stk__face_glow(stk__canvas *canvas, const stk__face *face, stk__face_at centre, stk__coord radius,
                    const float delta[3], uint32_t only)
{
    const stk__glow glow = {stk__face_place(face, centre.x, centre.y, centre.depth),
                            {radius.x * face->zoom, radius.y * face->zoom},
                            {delta[0], delta[1], delta[2]},
                            only};
    stk__canvas_glow(canvas, &glow);
}

stk__light stk__face_light(const stk__face *face, stk__coord centre, stk__coord radius, float strength)
{
    const stk__coord size = {radius.x * face->zoom, radius.y * face->zoom};
    return (stk__light){.centre = stk__face_place(face, centre.x, centre.y, 0),
                        .radius = size,
                        .slope = {strength * face->light_x / size.x, strength * face->light_y / size.y},
                        .gain = 1 + strength * 0.35f,
                        .bulge = strength * 0.8f};
}
