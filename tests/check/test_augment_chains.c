/* SPDX-License-Identifier: Apache-2.0 */
/* A second oracle for the reference: operations chained one after the other, each by its own map, in double.
 *
 * The bound of a chain is the error of sampling, enlarged by as much as each step can enlarge a difference.
 * Sampling: weights of 15 bits lose 2 * 255 / 32768, three roundings to 1/64 lose 3 / 128, and coordinates
 * of some 100 pixels in float are off by 2e-5, times a slope of 255: together below 0.04 levels. */
#include "device/cpu/augment_pass.h"
#include "support/augment_book.h"
#include "support/pictures.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { W = 61, H = 43, SOURCE_W = 53, SOURCE_H = 71, CHAINS = 200 };
static const double sampling_error = 0.04, rounding_error = 0.005;

/* One map of points, from the output towards the source: p -> matrix * (p - centre) + centre + shift. */
typedef struct map {
    double matrix[4], shift[2];
} map;

typedef struct chain {
    map maps[4];
    int map_count;
    stk__augment_block block;
    double bound;
} chain;

static double draw(uint32_t *seed, double low, double high)
{
    return low + (high - low) * (double)(pictures_random(seed) % 65536) / 65536;
}

/* Flip, rotation, scale with shear, shift: any of them, in this order. */
static void draw_maps(chain *c, uint32_t *seed)
{
    const double angle = draw(seed, -3.1, 3.1), scale = draw(seed, 0.6, 1.6), shear = draw(seed, -0.3, 0.3);
    const map maps[4] = {{{-1, 0, 0, 1}, {0, 0}},
                         {{cos(angle), -sin(angle), sin(angle), cos(angle)}, {0, 0}},
                         {{scale, shear, 0, scale}, {0, 0}},
                         {{1, 0, 0, 1}, {draw(seed, -20, 20), draw(seed, -20, 20)}}};
    for (int i = 0; i < 4; i++)
        if (pictures_random(seed) % 2) c->maps[c->map_count++] = maps[i];
}

/* Through all maps one by one, then from the middle of the target to the middle of the source. */
static void follow(const chain *c, double x, double y, double *u, double *v)
{
    double px = x - W / 2.0, py = y - H / 2.0;
    for (int i = 0; i < c->map_count; i++) {
        const map *const m = &c->maps[i];
        const double nx = m->matrix[0] * px + m->matrix[1] * py + m->shift[0];
        py = m->matrix[2] * px + m->matrix[3] * py + m->shift[1];
        px = nx;
    }
    *u = px + SOURCE_W / 2.0 - 0.5;
    *v = py + SOURCE_H / 2.0 - 0.5;
}

/* The one matrix: from where three points go. */
static void compose(chain *c)
{
    double u0, v0, u1, v1, u2, v2;
    follow(c, 0, 0, &u0, &v0);
    follow(c, 1, 0, &u1, &v1);
    follow(c, 0, 1, &u2, &v2);
    const double m[6] = {u1 - u0, u2 - u0, u0, v1 - v0, v2 - v0, v0};
    for (int i = 0; i < 6; i++)
        c->block.matrix[i] = (float)m[i];
}

/* How much a step enlarges differences. Gamma from 1 on: below, it is infinitely steep at black. */
static double enlarges(int kind, double a)
{
    if (kind == STK_COLOUR_HUE) return 5; /* each channel follows the largest, the smallest and the hue */
    if (kind == STK_COLOUR_GRAY) return 1;
    return kind == STK_COLOUR_BRIGHTNESS || kind == STK_COLOUR_GAMMA ? fmax(a, 1) : a + fabs(1 - a);
}

static void draw_steps(chain *c, uint32_t *seed)
{
    stk__augment_block *const b = &c->block;
    int contrasts = 0;
    for (int left = (int)(pictures_random(seed) % 4); left > 0; left--) {
        const int kind = (int)(pictures_random(seed) % STK_COLOUR_COUNT), s = b->step_count;
        if (kind == STK_COLOUR_CONTRAST && contrasts++) continue;
        b->step_kind[s] = kind;
        b->step_value[s] = (float)(kind == STK_COLOUR_HUE     ? draw(seed, -0.5, 0.5)
                                   : kind == STK_COLOUR_GAMMA ? draw(seed, 1, 2)
                                                              : draw(seed, 0.5, 1.5));
        b->step_count++;
        c->bound = c->bound * enlarges(kind, (double)b->step_value[s]) + rounding_error;
    }
}

static chain draw_chain(uint32_t seed)
{
    chain c;
    memset(&c, 0, sizeof c);
    c.bound = sampling_error;
    for (int i = 0; i < 3; i++)
        c.block.fill[i] = (int32_t)(pictures_random(&seed) % (255 * STK_AUGMENT_LEVEL + 1));
    draw_maps(&c, &seed);
    compose(&c);
    draw_steps(&c, &seed);
    c.block.blur_radius = (int32_t)(pictures_random(&seed) % 4);
    const float weights[4][4] = {{1}, {0.5f, 0.25f}, {0.4f, 0.2f, 0.1f}, {0.28f, 0.2f, 0.1f, 0.06f}};
    memcpy(c.block.blur_weight, weights[c.block.blur_radius], sizeof weights[0]);
    return c;
}

static void by_the_book(const chain *c, stk__pixels photo, double *out)
{
    static double image[W * H * 3];
    for (int i = 0; i < W * H; i++) {
        double u, v;
        follow(c, i % W + 0.5, i / W + 0.5, &u, &v);
        book_sample(photo, c->block.fill, u, v, image + 3 * i);
    }
    for (int s = 0; s < c->block.step_count; s++)
        book_step(c->block.step_kind[s], (double)c->block.step_value[s], image, W * H);
    book_blur(&c->block, image, W, H, out);
}

static void chains_are_their_operations_one_by_one(void **state)
{
    (void)state;
    static float image[W * H * 3];
    static double expected[W * H * 3];
    stk__buffer scratch = {0};
    const stk__pixels photo = pictures_draw(SOURCE_W, SOURCE_H, 3, 9);
    const stk__augment_target target = {
        .image = image, .dtype = STK_DTYPE_F32, .w = W, .h = H, .channels = 3, .scale = {1, 1, 1}};
    for (uint32_t n = 0; n < CHAINS; n++) {
        const chain c = draw_chain(n);
        assert_int_equal(
            stk__augment_c(&c.block, &(stk__augment_source){.image = photo}, &target, &scratch, NULL),
            STK_OK);
        by_the_book(&c, photo, expected);
        double worst = 0;
        for (int i = 0; i < W * H * 3; i++)
            worst = fmax(worst, fabs((double)image[i] - expected[i]));
        if (worst >= c.bound) print_message("chain %u: off by %g, bound %g\n", n, worst, c.bound);
        assert_true(worst < c.bound);
    }
    stk__free(photo.data);
    stk__buffer_fini(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_are_their_operations_one_by_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
