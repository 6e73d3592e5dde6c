/* SPDX-License-Identifier: Apache-2.0 */
/* Grey pictures of ten shapes, anywhere, of any size, on clutter and under noise. */
#include "make/canvas.h"
#include "make/dice.h"
#include "make/make.h"

enum { SIDE = 128, CLASSES = 10, SPOTS = 64 };

static const char *const class_names[CLASSES] = {"arrow", "circle", "cross", "heart",    "moon",
                                                 "ring",  "square", "star",  "triangle", "wave"};

/* Corners of the straight shapes within -1 … 1. */
static const stk__coord arrow[] = {{-1, -0.3f},  {0.1f, -0.3f}, {0.1f, -0.8f}, {1, 0},
                                   {0.1f, 0.8f}, {0.1f, 0.3f},  {-1, 0.3f}};
static const stk__coord cross[] = {{-0.3f, -1},   {0.3f, -1},   {0.3f, -0.3f}, {1, -0.3f},
                                   {1, 0.3f},     {0.3f, 0.3f}, {0.3f, 1},     {-0.3f, 1},
                                   {-0.3f, 0.3f}, {-1, 0.3f},   {-1, -0.3f},   {-0.3f, -0.3f}};
static const stk__coord square[] = {{-0.8f, -0.8f}, {0.8f, -0.8f}, {0.8f, 0.8f}, {-0.8f, 0.8f}};
static const stk__coord triangle[] = {{0, -0.95f}, {0.95f, 0.75f}, {-0.95f, 0.75f}};

typedef struct stance {
    stk__coord centre;
    float size, cosine, sine;
} stance;

static stk__coord place(const stance *pose, float x, float y)
{
    return (stk__coord){pose->centre.x + pose->size * (pose->cosine * x - pose->sine * y),
                        pose->centre.y + pose->size * (pose->sine * x + pose->cosine * y)};
}

static void add_corners(stk__canvas *canvas, const stance *pose, const stk__coord *corners, int32_t count)
{
    stk__coord spots[SPOTS];
    for (int32_t i = 0; i < count; i++)
        spots[i] = place(pose, corners[i].x, corners[i].y);
    stk__canvas_polygon(canvas, spots, count);
}

static void add_circle(stk__canvas *canvas, const stance *pose, float radius_x, float radius_y)
{
    stk__coord spots[SPOTS];
    for (int i = 0; i < SPOTS; i++) {
        const float turns = (float)i / SPOTS;
        spots[i] = place(pose, radius_x * stk__turn_cos(turns), radius_y * stk__turn_sin(turns));
    }
    stk__canvas_polygon(canvas, spots, SPOTS);
}

/* Outer half circle down the left side, back along a flatter arc. */
static void add_moon(stk__canvas *canvas, const stance *pose)
{
    stk__coord spots[SPOTS];
    for (int i = 0; i < SPOTS / 2; i++) {
        const float turns = 0.25f + 0.5f * (float)i / (SPOTS / 2 - 1);
        spots[i] = place(pose, stk__turn_cos(turns) + 0.4f, stk__turn_sin(turns));
        spots[SPOTS - 1 - i] = place(pose, 0.4f * stk__turn_cos(turns) + 0.4f, stk__turn_sin(turns));
    }
    stk__canvas_polygon(canvas, spots, SPOTS);
}

static void add_star(stk__canvas *canvas, const stance *pose)
{
    stk__coord spots[10];
    for (int i = 0; i < 10; i++) {
        const float turns = (float)i / 10 + 0.75f, radius = i % 2 ? 0.42f : 1;
        spots[i] = place(pose, radius * stk__turn_cos(turns), radius * stk__turn_sin(turns));
    }
    stk__canvas_polygon(canvas, spots, 10);
}

static void add_heart(stk__canvas *canvas, const stance *pose)
{
    static const stk__coord controls[] = {{0, -0.45f},   {0.4f, -0.9f},   {0.95f, -0.6f},
                                          {0.8f, 0.1f},  {0.05f, 0.95f},  {-0.05f, 0.95f},
                                          {-0.8f, 0.1f}, {-0.95f, -0.6f}, {-0.4f, -0.9f}};
    stk__coord spots[SPOTS];
    add_corners(canvas, pose, spots, stk__curve(controls, 9, 7, spots));
}

static void add_wave(stk__canvas *canvas, const stance *pose)
{
    stk__coord spots[SPOTS];
    for (int i = 0; i < SPOTS / 2; i++) {
        const float t = (float)i / (SPOTS / 2 - 1), y = 0.5f * stk__turn_sin(t * 1.5f + 1);
        spots[i] = place(pose, 2 * t - 1, y - 0.25f);
        spots[SPOTS - 1 - i] = place(pose, 2 * t - 1, y + 0.25f);
    }
    stk__canvas_polygon(canvas, spots, SPOTS);
}

static void add_shape(stk__canvas *canvas, const stance *pose, int32_t label)
{
    switch (label) {
    case 0:
        add_corners(canvas, pose, arrow, 7);
        break;
    case 1:
        add_circle(canvas, pose, 0.9f, 0.9f);
        break;
    case 2:
        add_corners(canvas, pose, cross, 12);
        break;
    case 3:
        add_heart(canvas, pose);
        break;
    case 4:
        add_moon(canvas, pose);
        break;
    case 5:
        add_circle(canvas, pose, 0.95f, 0.95f);
        add_circle(canvas, pose, -0.55f, 0.55f);
        break;
    case 6:
        add_corners(canvas, pose, square, 4);
        break;
    case 7:
        add_star(canvas, pose);
        break;
    case 8:
        add_corners(canvas, pose, triangle, 3);
        break;
    default:
        add_wave(canvas, pose);
        break;
    }
}

static void paint_ground(stk__canvas *canvas, stk__dice *dice, float grey)
{
    stk__paint paint = {.rgb = {grey}, .id = STK_CANVAS_KEEP};
    paint.light = (stk__light){
        .centre = {SIDE / 2.0f, SIDE / 2.0f},
        .slope = {stk__dice_range(dice, -0.004f, 0.004f), stk__dice_range(dice, -0.004f, 0.004f)},
        .gain = 1};
    paint.texture = (stk__texture){.kind = STK_NOISE_CLOUDS,
                                   .amplitude = stk__dice_range(dice, 0.1f, 0.7f),
                                   .u = stk__dice_below(dice, STK_NOISE_SIDE),
                                   .v = stk__dice_below(dice, STK_NOISE_SIDE),
                                   .step = 1 + stk__dice_below(dice, 2)};
    stk__canvas_flood(canvas, &paint);
}

static void paint_clutter(stk__canvas *canvas, stk__dice *dice, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const stk__coord a = {stk__dice_range(dice, 0, SIDE), stk__dice_range(dice, 0, SIDE)};
        const stk__coord reach = {stk__dice_range(dice, -50, 50), stk__dice_range(dice, -50, 50)};
        const float thick = stk__dice_range(dice, 0.02f, 0.09f);
        const stk__coord bar[] = {a,
                                  {a.x + reach.x, a.y + reach.y},
                                  {a.x + reach.x - reach.y * thick, a.y + reach.y + reach.x * thick},
                                  {a.x - reach.y * thick, a.y + reach.x * thick}};
        stk__paint paint = {.rgb = {stk__dice_range(dice, 20, 235)}, .id = STK_CANVAS_KEEP};
        paint.opacity = stk__dice_range(dice, 0.3f, 0.9f);
        stk__canvas_polygon(canvas, bar, 4);
        stk__canvas_fill(canvas, &paint);
    }
}

/* Equally many of each class in every ten neighbours. */
static void gray_facts(uint64_t seed, uint64_t index, stk__made *made)
{
    (void)seed;
    made->label = (int32_t)(index % CLASSES);
}

static void draw_gray(uint64_t seed, uint64_t index, stk__pixels image, stk__pixels mask, uint8_t *scratch)
{
    (void)mask; /* the kind has none */
    stk__dice dice = stk__dice_make(seed, index, STK_OPERATION_MAKE_GRAY);
    stk__canvas canvas;
    stk__canvas_init(&canvas, SIDE, SIDE, 1, scratch);
    const float ground = stk__dice_range(&dice, 50, 130), contrast = stk__dice_range(&dice, 28, 110);
    const bool darker = ground > 90 && stk__dice_chance(&dice, 0.25f);
    paint_ground(&canvas, &dice, ground);
    paint_clutter(&canvas, &dice, 2 + stk__dice_below(&dice, 6));
    const float turns = stk__dice_range(&dice, -0.07f, 0.07f) + 1;
    const stance pose = {
        .centre = {stk__dice_range(&dice, 50, SIDE - 50), stk__dice_range(&dice, 50, SIDE - 50)},
        .size = stk__dice_range(&dice, 20, 42),
        .cosine = stk__turn_cos(turns),
        .sine = stk__turn_sin(turns)};
    stk__paint paint = {.rgb = {darker ? ground - contrast * 0.6f : ground + contrast},
                        .id = STK_CANVAS_KEEP};
    paint.texture =
        (stk__texture){.kind = STK_NOISE_CLOUDS, .amplitude = stk__dice_range(&dice, 0.05f, 0.3f), .step = 2};
    add_shape(&canvas, &pose, (int32_t)(index % CLASSES));
    stk__canvas_fill(&canvas, &paint);
    paint_clutter(&canvas, &dice, stk__dice_below(&dice, 3));
    const float grain = stk__dice_range(&dice, 12, 48);
    const int32_t u = stk__dice_below(&dice, STK_NOISE_SIDE), v = stk__dice_below(&dice, STK_NOISE_SIDE);
    stk__canvas_finish(&canvas, grain, u, v, image);
}

const stk__make_info stk__make_gray = {
    .name = "gray",
    .about = "128x128 gray shapes (PNG), a folder for each of 10 classes",
    .w = SIDE,
    .h = SIDE,
    .channels = 1,
    .class_count = CLASSES,
    .class_names = class_names,
    .default_count = 5000,
    .file_bytes = 20000,
    .scratch_bytes = 72 * 1024,
    .draw = draw_gray,
    .facts = gray_facts,
};
