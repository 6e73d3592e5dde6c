/* SPDX-License-Identifier: Apache-2.0 */
/* Slider captchas: a scene with a darkened gap in the shape of a puzzle piece, and the piece at the left. */
#include "make/canvas.h"
#include "make/dice.h"
#include "make/make.h"

enum { WIDTH = 320, HEIGHT = 160, PIECE_ID = 1, EDGE_SPOTS = 14, PIECE_SPOTS = 4 * (EDGE_SPOTS + 1) };

typedef struct puzzle {
    stk__coord gap, slider; /* centres; apart by whole pixels in x */
    float side;
    int32_t bulbs[4]; /* per side, clockwise from the top: 1 tab, -1 notch, 0 straight */
    stk__dice dice;
} puzzle;

static void plan_puzzle(puzzle *plan, uint64_t seed, uint64_t index)
{
    plan->dice = stk__dice_make(seed, index, STK_OPERATION_MAKE_CAPTCHA);
    stk__dice *dice = &plan->dice;
    plan->side = (float)(34 + stk__dice_below(dice, 11));
    plan->slider.x = 34 + 0.25f * (float)stk__dice_below(dice, 57);
    plan->slider.y = 36 + 0.25f * (float)stk__dice_below(dice, (HEIGHT - 72) * 4);
    const int32_t nearest = 64, farthest = WIDTH - 36 - (int32_t)plan->slider.x;
    plan->gap.x = plan->slider.x + (float)(nearest + stk__dice_below(dice, farthest - nearest));
    plan->gap.y = plan->slider.y;
    for (int i = 0; i < 4; i++)
        plan->bulbs[i] = stk__dice_below(dice, 3) - 1;
    if (!plan->bulbs[0] && !plan->bulbs[1] && !plan->bulbs[2] && !plan->bulbs[3]) plan->bulbs[1] = 1;
}

static void captcha_facts(uint64_t seed, uint64_t index, stk__made *made)
{
    puzzle plan;
    plan_puzzle(&plan, seed, index);
    const stk__coord spots[2] = {plan.gap, plan.slider};
    for (int i = 0; i < 2; i++) {
        made->points[i][0] = spots[i].x;
        made->points[i][1] = spots[i].y;
        made->points[i][2] = 1;
    }
}

/* Corner, then the round bulb in the middle of the side: 240 degrees of a circle that starts on the side. */
static void outline_side(const puzzle *plan, int which, stk__coord centre, float half, stk__coord *spots)
{
    static const stk__coord along[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    const stk__coord e = along[which], n = {e.y, -e.x};
    const float radius = plan->side * 0.17f, sign = (float)plan->bulbs[which];
    const stk__coord middle = {centre.x + n.x * half, centre.y + n.y * half};
    spots[0] = (stk__coord){middle.x - e.x * half, middle.y - e.y * half};
    for (int i = 0; i < EDGE_SPOTS; i++) {
        const float turns = -1.0f / 12 + (float)i / (EDGE_SPOTS - 1) * (8.0f / 12);
        const float a = -stk__turn_cos(turns) * radius, b = sign * radius * (stk__turn_sin(turns) + 0.5f);
        spots[i + 1] = (stk__coord){middle.x + e.x * a + n.x * b, middle.y + e.y * a + n.y * b};
    }
}

static void outline_piece(stk__canvas *canvas, const puzzle *plan, stk__coord centre, float grow, bool hole)
{
    stk__coord spots[PIECE_SPOTS], turned[PIECE_SPOTS];
    for (int side = 0; side < 4; side++)
        outline_side(plan, side, centre, plan->side * 0.5f + grow, spots + side * (EDGE_SPOTS + 1));
    for (int i = 0; i < PIECE_SPOTS; i++)
        turned[i] = spots[hole ? PIECE_SPOTS - 1 - i : i];
    stk__canvas_polygon(canvas, turned, PIECE_SPOTS);
}

typedef struct scene {
    float sky[3], land[3];
    stk__noise_kind texture;
    float relief; /* strongest amplitude of the texture */
} scene;

static const scene scenes[] = {
    {{132, 176, 222}, {74, 112, 64}, STK_NOISE_STRANDS, 0.4f},  /* meadow */
    {{236, 178, 128}, {96, 70, 72}, STK_NOISE_CLOUDS, 0.6f},    /* evening hills */
    {{176, 196, 210}, {112, 122, 128}, STK_NOISE_WEAVE, 0.22f}, /* town in haze */
    {{150, 202, 214}, {206, 182, 134}, STK_NOISE_CLOUDS, 0.5f}, /* dunes */
    {{210, 214, 222}, {140, 162, 184}, STK_NOISE_CLOUDS, 0.4f}, /* snow */
    {{98, 120, 164}, {52, 72, 78}, STK_NOISE_STRANDS, 0.5f},    /* forest at dusk */
};

static void paint_sky(stk__canvas *canvas, stk__dice *dice, const scene *look)
{
    stk__paint sky = {.rgb = {look->sky[0], look->sky[1], look->sky[2]}, .id = STK_CANVAS_KEEP};
    sky.light = (stk__light){.centre = {WIDTH / 2.0f, HEIGHT / 2.0f},
                             .slope = {stk__dice_range(dice, -0.0006f, 0.0006f), 0.0016f},
                             .gain = stk__dice_range(dice, 0.82f, 1.02f)};
    sky.texture = (stk__texture){.kind = STK_NOISE_CLOUDS,
                                 .amplitude = stk__dice_range(dice, 0.25f, 0.5f),
                                 .u = stk__dice_below(dice, STK_NOISE_SIDE),
                                 .v = stk__dice_below(dice, STK_NOISE_SIDE)};
    stk__canvas_flood(canvas, &sky);
    const stk__coord sun = {stk__dice_range(dice, 0, WIDTH), stk__dice_range(dice, 5, 60)};
    const float radius = stk__dice_range(dice, 25, 70);
    const stk__glow glow = {sun, {radius, radius}, {70, 60, 36}, 0};
    stk__canvas_glow(canvas, &glow);
}

/* One range of hills from left to right; farther ones are paler. */
static void paint_ridge(stk__canvas *canvas, stk__dice *dice, const scene *look, float nearness)
{
    enum { STEPS = 40 };
    stk__coord spots[STEPS + 3];
    const float base = 40 + 85 * nearness + stk__dice_range(dice, -12, 12);
    const float wide = stk__dice_range(dice, 0.4f, 1.4f), start = stk__dice_range(dice, 0, 1);
    const float rough = look->texture == STK_NOISE_WEAVE ? 9.0f : 2.5f, high = stk__dice_range(dice, 8, 22);
    for (int i = 0; i <= STEPS; i++) {
        const float t = (float)i / STEPS;
        const float wave =
            stk__turn_sin(start + t * wide) + 0.4f * stk__turn_sin(start * 3 + t * wide * 3.1f + 2);
        spots[i] = (stk__coord){t * WIDTH, base - high * wave + stk__dice_range(dice, -rough, rough)};
    }
    spots[STEPS + 1] = (stk__coord){WIDTH, HEIGHT};
    spots[STEPS + 2] = (stk__coord){0, HEIGHT};
    stk__paint paint = {.id = STK_CANVAS_KEEP};
    const float shade = stk__dice_range(dice, 0.8f, 1.15f), haze = 0.65f * (1 - nearness);
    for (int c = 0; c < 3; c++)
        paint.rgb[c] = (look->land[c] * shade) * (1 - haze) + look->sky[c] * haze;
    paint.light = (stk__light){.centre = {WIDTH / 2.0f, base}, .slope = {0, -0.002f}, .gain = 1.06f};
    paint.texture = (stk__texture){.kind = look->texture,
                                   .amplitude = stk__dice_range(dice, 0.5f, 1) * look->relief,
                                   .u = stk__dice_below(dice, STK_NOISE_SIDE),
                                   .v = stk__dice_below(dice, STK_NOISE_SIDE),
                                   .step = 1 + stk__dice_below(dice, 2)};
    stk__canvas_polygon(canvas, spots, STEPS + 3);
    stk__canvas_fill(canvas, &paint);
}

/* Flowers, windows, stones: small things that make each place of the scene different. */
static void paint_things(stk__canvas *canvas, stk__dice *dice)
{
    const int32_t count = 14 + stk__dice_below(dice, 30);
    const float warm = stk__dice_range(dice, -1, 1);
    for (int32_t i = 0; i < count; i++) {
        const stk__coord at = {stk__dice_range(dice, 0, WIDTH), stk__dice_range(dice, 60, HEIGHT)};
        const float radius = stk__dice_range(dice, 2, 11), tone = stk__dice_range(dice, -60, 90);
        const stk__glow glow = {at, {radius, radius * 0.8f}, {tone + 40 * warm, tone, tone - 40 * warm}, 0};
        stk__canvas_glow(canvas, &glow);
    }
}

static void paint_scene(stk__canvas *canvas, stk__dice *dice)
{
    const scene *look = &scenes[stk__dice_below(dice, (int32_t)(sizeof scenes / sizeof scenes[0]))];
    paint_sky(canvas, dice, look);
    const int32_t ridges = 2 + stk__dice_below(dice, 3);
    for (int32_t i = 0; i < ridges; i++)
        paint_ridge(canvas, dice, look, (float)i / (float)(ridges - 1));
    paint_things(canvas, dice);
}

/* The outline of the gap goes into the ids first, then its pixels are copied to the left. */
static void lift_piece(stk__canvas *canvas, const puzzle *plan)
{
    const stk__glow shadow = {
        {plan->slider.x + 1, plan->slider.y + 2}, {plan->side, plan->side}, {-70, -70, -70}, 0};
    stk__canvas_glow(canvas, &shadow);
    const stk__paint invisible = {.opacity = 1e-9f, .id = PIECE_ID};
    outline_piece(canvas, plan, plan->gap, 0, false);
    stk__canvas_fill(canvas, &invisible);
    const int32_t shift = (int32_t)(plan->gap.x - plan->slider.x);
    for (int32_t i = 0; i < WIDTH * HEIGHT; i++)
        for (int c = 0; canvas->ids[i] == PIECE_ID && c < 3; c++)
            canvas->planes[c][i - shift] = canvas->planes[c][i];
}

static void draw_captcha(uint64_t seed, uint64_t index, stk__pixels image, stk__pixels mask, uint8_t *scratch)
{
    (void)mask; /* the kind has none */
    puzzle plan;
    plan_puzzle(&plan, seed, index);
    stk__canvas canvas;
    stk__canvas_init(&canvas, WIDTH, HEIGHT, 3, scratch);
    paint_scene(&canvas, &plan.dice);
    lift_piece(&canvas, &plan);
    const stk__paint dark = {
        .rgb = {16, 16, 20}, .opacity = stk__dice_range(&plan.dice, 0.5f, 0.68f), .id = STK_CANVAS_KEEP};
    outline_piece(&canvas, &plan, plan.gap, 0, false);
    stk__canvas_fill(&canvas, &dark);
    const stk__paint rim = {.rgb = {225, 225, 225}, .opacity = 0.35f, .id = STK_CANVAS_KEEP};
    outline_piece(&canvas, &plan, plan.gap, 0.6f, false);
    outline_piece(&canvas, &plan, plan.gap, -0.6f, true);
    stk__canvas_fill(&canvas, &rim);
    const stk__paint border = {.rgb = {250, 248, 240}, .opacity = 0.85f, .id = STK_CANVAS_KEEP};
    outline_piece(&canvas, &plan, plan.slider, 0.8f, false);
    outline_piece(&canvas, &plan, plan.slider, -0.8f, true);
    stk__canvas_fill(&canvas, &border);
    const int32_t u = stk__dice_below(&plan.dice, STK_NOISE_SIDE),
                  v = stk__dice_below(&plan.dice, STK_NOISE_SIDE);
    stk__canvas_finish(&canvas, 14, u, v, image);
}

static const char *const point_names[] = {"gap", "slider"};

const stk__make_info stk__make_captcha = {
    .name = "captcha",
    .about = "320x160 slider puzzles (JPEG), positions of gap and slider (CSV)",
    .w = WIDTH,
    .h = HEIGHT,
    .channels = 3,
    .point_count = 2,
    .point_names = point_names,
    .default_count = 2000,
    .file_bytes = 28000,
    .scratch_bytes = 320 * 1024,
    .draw = draw_captcha,
    .facts = captcha_facts,
};
