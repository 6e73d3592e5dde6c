/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the cases of stkcheck: sizes from 1x1 to very tall, all types and layouts, and an augmentation
 * block, as a pure function of (family, seed, round), so that a failure is repeated by its number. */
#include "check/check_case.h"

#include <math.h>
#include <string.h>

uint32_t check_draw(check_case *c) /* splitmix64 */
{
    uint64_t z = c->draws += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)(z >> 32);
}

int32_t check_draw_int(check_case *c, int32_t low, int32_t high)
{
    return low + (int32_t)(check_draw(c) % (uint32_t)(high - low + 1));
}

float check_draw_float(check_case *c, float low, float high)
{
    return low + (high - low) * ((float)(check_draw(c) >> 8) * 0x1p-24f);
}

static int32_t draw_side(check_case *c)
{
    static const int32_t sides[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 47, 64, 65, 97, 131};
    return sides[check_draw(c) % (sizeof sides / sizeof sides[0])];
}

/* One in eight is very tall or very wide. */
static void draw_size(check_case *c, int32_t *w, int32_t *h)
{
    *w = draw_side(c);
    *h = draw_side(c);
    const int32_t shape = check_draw_int(c, 0, 15);
    if (shape == 0) *w = 1009, *h = check_draw_int(c, 1, 3);
    if (shape == 1) *h = 1009, *w = check_draw_int(c, 1, 3);
}

static void draw_target(check_case *c)
{
    static const stk_dtype dtypes[] = {STK_DTYPE_F32, STK_DTYPE_F16, STK_DTYPE_BF16};
    stk__augment_target *const t = &c->target;
    draw_size(c, &t->w, &t->h);
    t->dtype = dtypes[check_draw(c) % 3];
    t->mask_dtype = check_draw(c) % 2 ? STK_DTYPE_U8 : STK_DTYPE_I64;
    t->channels = check_draw(c) % 4 ? 3 : 1;
    t->planar = check_draw(c) % 2;
    c->has_mask = check_draw(c) % 3;
    c->image_offset = check_draw(c) % 2 ? 0 : check_draw(c) % 64;
    for (int i = 0; i < 3; i++) { /* one in four far from 1: infinite and subnormal halves */
        t->scale[i] = check_draw_float(c, -0.05f, 0.05f);
        t->bias[i] = check_draw_float(c, -3, 3);
        const uint32_t kind = check_draw(c) % 16;
        if (kind < 2) t->scale[i] *= kind ? 1e5f : 1e-6f;
        if (kind < 4) t->bias[i] = kind % 2 ? -0.0f : 0; /* -0 keeps the sign of a zero */
    }
}

static void draw_source(check_case *c)
{
    c->source_w = c->target.w;
    c->source_h = c->target.h;
    c->pitch_slack = check_draw(c) % 2 ? 0 : check_draw_int(c, 1, 70);
    c->mask_slack = check_draw(c) % 2 ? 0 : check_draw_int(c, 1, 70);
    c->pixels = check_draw(c) % 2 ? CHECK_RANDOM : (check_pixels)(check_draw(c) % CHECK_PIXEL_KINDS);
    c->source_first = check_draw(c) % 4 == 0;
}

static void draw_plain_block(check_case *c)
{
    c->block = (stk__augment_block){.matrix = {1, 0, -0.5f, 0, 1, -0.5f}};
    for (int i = 0; i < 3; i++)
        c->block.fill[i] = check_draw_int(c, 0, 255 * STK_AUGMENT_LEVEL);
    c->block.mask_fill = check_draw_int(c, 0, 255);
}

check_case check_case_draw(const check_family *family, uint64_t seed, int round)
{
    check_case c;
    memset(&c, 0, sizeof c);
    c.draws = seed * UINT64_C(0xD6E8FEB86659FD93) + (uint64_t)round;
    for (const char *letter = family->name; *letter; letter++)
        c.draws = c.draws * 31 + (uint64_t)*letter;
    draw_target(&c);
    draw_source(&c);
    draw_plain_block(&c);
    family->change(&c);
    return c;
}
