/* SPDX-License-Identifier: Apache-2.0 */
/* What is checked: a family for each stage alone, and some for all of them together. */
#include "check/check_case.h"

#include <math.h>
#include <string.h>

static void copy(check_case *c)
{
    (void)c;
}

/* Whole shifts and mirrors; often beyond the edge. */
static void shift(check_case *c)
{
    float *const m = c->block.matrix;
    const int32_t reach = check_draw(c) % 4 ? 5 : 200;
    if (check_draw(c) % 2) c->source_w = check_draw_int(c, 1, 90);
    if (check_draw(c) % 2) c->source_h = check_draw_int(c, 1, 90);
    m[2] += (float)check_draw_int(c, -reach, reach);
    m[5] += (float)check_draw_int(c, -reach, reach);
    if (check_draw(c) % 2) m[0] = -1, m[2] += (float)c->target.w;
    if (check_draw(c) % 2) m[4] = -1, m[5] += (float)c->target.h;
}

static void flip(check_case *c)
{
    float *const m = c->block.matrix;
    const uint32_t which = check_draw(c) % 3;
    if (which != 1) m[0] = -1, m[2] = (float)c->target.w - 0.5f;
    if (which != 0) m[4] = -1, m[5] = (float)c->target.h - 0.5f;
}

static void quarter_turn(check_case *c)
{
    const float w = (float)c->target.h, h = (float)c->target.w;
    c->source_w = c->target.h;
    c->source_h = c->target.w;
    const float turns[2][6] = {{0, 1, -0.5f, -1, 0, h - 0.5f}, {0, -1, w - 0.5f, 1, 0, -0.5f}};
    memcpy(c->block.matrix, turns[check_draw(c) % 2], sizeof c->block.matrix);
}

/* Turned by an angle and scaled about the middle. */
static void turn_by(check_case *c, float angle, float scale)
{
    float *const m = c->block.matrix;
    const float half_w = (float)c->target.w / 2, half_h = (float)c->target.h / 2;
    m[0] = cosf(angle) * scale * (float)c->source_w / (float)c->target.w;
    m[1] = -sinf(angle) * scale;
    m[3] = sinf(angle) * scale;
    m[4] = cosf(angle) * scale * (float)c->source_h / (float)c->target.h;
    m[2] = (float)c->source_w / 2 - m[0] * half_w - m[1] * half_h - 0.5f;
    m[5] = (float)c->source_h / 2 - m[3] * half_w - m[4] * half_h - 0.5f;
}

static void rotate(check_case *c)
{
    const bool little = check_draw(c) % 2;
    turn_by(c, little ? check_draw_float(c, -0.3f, 0.3f) : check_draw_float(c, -3.2f, 3.2f), 1);
}

static void resize(check_case *c)
{
    c->source_w = check_draw_int(c, 1, 200);
    c->source_h = check_draw_int(c, 1, 200);
    turn_by(c, 0, check_draw(c) % 2 ? 1 : check_draw_float(c, 0.2f, 3));
}

static void warp(check_case *c)
{
    c->source_w = check_draw_int(c, 1, 150);
    c->source_h = check_draw_int(c, 1, 150);
    turn_by(c, check_draw_float(c, -3.2f, 3.2f), check_draw_float(c, 0.3f, 2));
    for (int i = 0; i < 6; i++)
        c->block.matrix[i] += check_draw_float(c, -0.3f, 0.3f) * (i % 3 == 2 ? 30 : 1);
}

/* Offsets near the points where indices, weights and the nearest id change. */
static void near_miss(check_case *c)
{
    for (int i = 2; i < 6; i += 3) {
        const float whole = (float)check_draw_int(c, -3, 3) + (check_draw(c) % 2 ? 0.5f : 0);
        c->block.matrix[i] = check_draw(c) % 2 ? whole : nextafterf(whole, check_draw(c) % 2 ? 9 : -9);
    }
    if (check_draw(c) % 2) c->block.matrix[0] = nextafterf(check_draw(c) % 2 ? 1 : -1, 0);
    if (check_draw(c) % 2) c->block.matrix[4] = nextafterf(check_draw(c) % 2 ? 1 : -1, 2);
}

static void far_away(check_case *c)
{
    const float exponent = check_draw_float(c, 3, 30);
    warp(c);
    c->block.matrix[check_draw_int(c, 0, 5)] *= powf(10, exponent);
}

static void add_step(check_case *c, int32_t kind)
{
    const int32_t s = c->block.step_count++;
    static const float low[STK_COLOUR_COUNT] = {0, 0, 0, -0.5f, 0, 0.05f};
    static const float high[STK_COLOUR_COUNT] = {2.5f, 2.5f, 2.5f, 0.5f, 1, 5};
    const uint32_t special = check_draw(c) % 12;
    c->block.step_kind[s] = kind;
    c->block.step_value[s] = check_draw_float(c, low[kind], high[kind]);
    if (special < 2) c->block.step_value[s] = special ? high[kind] : low[kind];
    if (special == 2) c->block.step_value[s] = kind == STK_COLOUR_HUE ? 0 : 1;
    if (special == 3 && kind == STK_COLOUR_BRIGHTNESS) c->block.step_value[s] = -1; /* zeros below zero */
}

static void maybe_warp(check_case *c)
{
    const uint32_t kind = check_draw(c) % 4;
    if (kind == 0) flip(c);
    if (kind == 1) warp(c);
    if (kind == 2) rotate(c);
}

#define STEP_FAMILY(name, kind)                                                                              \
    static void name(check_case *c)                                                                          \
    {                                                                                                        \
        maybe_warp(c);                                                                                       \
        add_step(c, kind);                                                                                   \
    }

STEP_FAMILY(brightness, STK_COLOUR_BRIGHTNESS)
STEP_FAMILY(contrast, STK_COLOUR_CONTRAST)
STEP_FAMILY(saturation, STK_COLOUR_SATURATION)
STEP_FAMILY(hue, STK_COLOUR_HUE)
STEP_FAMILY(gray, STK_COLOUR_GRAY)
STEP_FAMILY(gamma_step, STK_COLOUR_GAMMA)

/* Zeros below zero come of a brightness below zero only, which no setting allows. The CPU's levels turn hue
 * without a look at chroma: where it is 0, they give all channels the sign of one. */
static void keep_zeros_above(stk__augment_block *block)
{
    for (int32_t s = 0; s < block->step_count; s++)
        if (block->step_value[s] < 0 && block->step_kind[s] == STK_COLOUR_BRIGHTNESS)
            block->step_value[s] = 0;
}

/* Any steps in any order; contrast once at most. */
static void program(check_case *c)
{
    maybe_warp(c);
    bool contrasted = false, turned = false;
    for (int32_t left = check_draw_int(c, 1, STK_AUGMENT_STEPS); left; left--) {
        const int32_t kind = check_draw_int(c, 0, STK_COLOUR_COUNT - 1);
        if (kind != STK_COLOUR_CONTRAST || !contrasted) add_step(c, kind);
        contrasted |= kind == STK_COLOUR_CONTRAST;
        turned |= kind == STK_COLOUR_HUE;
    }
    if (turned) keep_zeros_above(&c->block);
}

static void add_blur(check_case *c)
{
    const int32_t radius = check_draw_int(c, 1, STK_AUGMENT_RADIUS);
    const float sigma = check_draw_float(c, 0.1f, 3);
    float sum = 0;
    for (int32_t r = 0; r <= radius; r++) {
        c->block.blur_weight[r] = expf(-(float)(r * r) / (2 * sigma * sigma));
        sum += c->block.blur_weight[r] * (r ? 2 : 1);
    }
    for (int32_t r = 0; r <= radius; r++)
        c->block.blur_weight[r] /= sum;
    c->block.blur_radius = radius;
}

static void blur(check_case *c)
{
    maybe_warp(c);
    add_blur(c);
}

static void add_noise(check_case *c)
{
    c->block.noise_std = check_draw(c) % 4 ? check_draw_float(c, 0.1f, 30) : 1000;
    for (int i = 0; i < 2; i++)
        c->block.noise_key[i] = check_draw(c);
    c->block.noise_epoch = check_draw(c);
    c->block.noise_sample = check_draw(c);
}

static void noise(check_case *c)
{
    maybe_warp(c);
    add_noise(c);
}

static void add_erase(check_case *c)
{
    c->block.erase_x = check_draw_int(c, -10, c->target.w);
    c->block.erase_y = check_draw_int(c, -10, c->target.h);
    c->block.erase_w = check_draw_int(c, 0, c->target.w + 5);
    c->block.erase_h = check_draw_int(c, 0, c->target.h + 5);
}

static void erase(check_case *c)
{
    maybe_warp(c);
    add_erase(c);
}

static void everything(check_case *c)
{
    program(c);
    if (check_draw(c) % 2) add_blur(c);
    if (check_draw(c) % 2) add_noise(c);
    if (check_draw(c) % 2) add_erase(c);
}

/* Large enough to be written past the caches, where rows are aligned. */
static void large(check_case *c)
{
    c->target.w = check_draw(c) % 4 ? 384 : 389;
    c->target.h = 301;
    c->source_w = c->target.w;
    c->source_h = c->target.h;
    everything(c);
}

static const check_family families[] = {
    {"copy", copy, 80},         {"shift", shift, 150},
    {"flip", flip, 80},         {"turn", quarter_turn, 40},
    {"rotation", rotate, 200},  {"resize", resize, 100},
    {"warp", warp, 200},        {"near", near_miss, 150},
    {"far", far_away, 60},      {"brightness", brightness, 60},
    {"contrast", contrast, 80}, {"saturation", saturation, 60},
    {"hue", hue, 80},           {"gray", gray, 40},
    {"gamma", gamma_step, 80},  {"program", program, 150},
    {"blur", blur, 120},        {"noise", noise, 80},
    {"erase", erase, 60},       {"everything", everything, 250},
    {"large", large, 12},
};

const check_family *check_families(size_t *count)
{
    *count = sizeof families / sizeof families[0];
    return families;
}
