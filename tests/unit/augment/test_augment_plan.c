/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan does: composition, points, facts, memory, cost. */
#include "augment_helpers.h"
#include "core/clock.h"
#include "device/cpu/augment_pass.h"

#include <math.h>
#include <stdlib.h>

static const stk__plan_at square = {
    .source_w = 64, .source_h = 64, .target_w = 64, .target_h = 64, .channels = 3};

static void no_settings_only_resize(void **state)
{
    (void)state;
    stk__plan *plan;
    stk__resolved out, same = resolved_of("", square);
    assert_int_equal(stk__plan_create(&plan, NULL, 1, NULL), STK_OK);
    stk__plan_resolve(plan, &square, &out, NULL);
    assert_memory_equal(&out, &same, sizeof out);
    assert_true(!stk__plan_crops(plan) && !stk__plan_mixes(plan) && !stk__plan_mirrors(plan));
    assert_false(stk__resolved_mirrors(&out));
    const stk__mix mix = stk__plan_mix(plan, 0, 0, 8, 8);
    assert_true(mix.kind == STK_MIX_NONE && mix.lambda == 1);
    stk__plan_destroy(&plan);
    stk__plan_destroy(&plan);
    stk__plan_destroy(NULL);
}

/* One flip of the two, whatever else is done. */
static void one_flip_mirrors(void **state)
{
    (void)state;
    static const char *const others[] = {"", "rotation_degrees=20", "schedule=0:none,3:strong"};
    for (int i = 0; i < 3; i++) {
        stk__plan *plan = plan_of(others[i]);
        assert_int_equal(stk__plan_mirrors(plan), i == 2);
        stk__plan_destroy(&plan);
    }
    stk__plan *plan = plan_of("horizontal_flip_prob=0.5 vertical_flip_prob=0.5 rotation_degrees=180 shear=40 "
                              "scale=0.5 translate=0.4 crop=[0.08,1]");
    int mirrored = 0;
    assert_true(stk__plan_mirrors(plan));
    for (uint32_t sample = 0; sample < 400; sample++) {
        stk__plan_at at = square;
        stk__resolved out;
        stk__plan_trace trace;
        at.sample = sample;
        stk__plan_resolve(plan, &at, &out, &trace);
        const bool x = fact_or(&trace, "horizontal flip", "applied", 0) > 0,
                   y = fact_or(&trace, "vertical flip", "applied", 0) > 0;
        assert_int_equal(stk__resolved_mirrors(&out), x != y);
        mirrored += x != y;
    }
    assert_in_range(mirrored, 150, 250);
    stk__plan_destroy(&plan);
}

typedef struct point {
    double x, y;
} point;

/* Each operation's own map, one after the other, from what the trace says. */
static point chain(const stk__plan_trace *t, const stk__plan_at *at, point p)
{
    const double w = at->target_w, h = at->target_h, degree = acos(-1) / 180;
    p.x = (p.x - fact_or(t, "crop", "x", 0)) / fact_or(t, "crop", "width", at->source_w) * w;
    p.y = (p.y - fact_or(t, "crop", "y", 0)) / fact_or(t, "crop", "height", at->source_h) * h;
    if (fact_or(t, "horizontal flip", "applied", 0) > 0) p.x = w - p.x;
    if (fact_or(t, "vertical flip", "applied", 0) > 0) p.y = h - p.y;
    p = (point){p.x - w / 2, p.y - h / 2};
    const double factor = fact_or(t, "scale", "factor", 1);
    p = (point){p.x * factor, p.y * factor};
    p.x -= p.y * tan(fact_or(t, "shear", "degrees", 0) * degree);
    const double radius = hypot(p.x, p.y);
    const double angle = atan2(-p.y, p.x) + fact_or(t, "rotation", "degrees", 0) * degree; /* y up */
    p = (point){radius * cos(angle), -radius * sin(angle)};
    return (point){p.x + w / 2 + fact_or(t, "translate", "x", 0),
                   p.y + h / 2 + fact_or(t, "translate", "y", 0)};
}

static const char geometry[] = "horizontal_flip_prob=0.5 vertical_flip_prob=0.5 rotation_degrees=180 "
                               "rotation_prob=0.7 scale=0.5 scale_prob=0.7 shear=40 shear_prob=0.7 "
                               "translate=0.4 translate_prob=0.7 crop=[0.08,1] crop_prob=0.5";

static void the_matrix_is_the_chain_of_all_maps(void **state)
{
    (void)state;
    stk__plan *plan = plan_of(geometry);
    for (uint32_t sample = 0; sample < 3000; sample++) {
        const stk__plan_at at = {.epoch = sample % 7,
                                 .sample = sample,
                                 .source_w = 1 + (int32_t)(sample * 37 % 900),
                                 .source_h = 1 + (int32_t)(sample * 53 % 700),
                                 .target_w = 1 + (int32_t)(sample * 71 % 600),
                                 .target_h = 1 + (int32_t)(sample * 29 % 500),
                                 .channels = 3};
        stk__resolved out;
        stk__plan_trace trace;
        stk__plan_resolve(plan, &at, &out, &trace);
        const double *f = out.forward;
        const float *inverse = out.block.matrix;
        for (int i = 0; i < 4; i++) {
            const point from = {i % 2 * at.source_w, i / 2 * at.source_h}, to = chain(&trace, &at, from);
            const double x = f[0] * from.x + f[1] * from.y + f[2], y = f[3] * from.x + f[4] * from.y + f[5];
            const double bound = 1e-9 * (1 + hypot(to.x, to.y) / 100);
            assert_true(fabs(x - to.x) < bound && fabs(y - to.y) < bound);
            /* entries of the inverse have 24 bits */
            const double terms[6] = {inverse[0] * to.x, inverse[1] * to.y, inverse[2],
                                     inverse[3] * to.x, inverse[4] * to.y, inverse[5]};
            const double u = terms[0] + terms[1] + terms[2], v = terms[3] + terms[4] + terms[5];
            double near = 1e-9;
            for (int k = 0; k < 6; k++)
                near += fabs(terms[k]) * 0x1p-24;
            assert_true(fabs(u + 0.5 - from.x) < near && fabs(v + 0.5 - from.y) < near);
        }
    }
    stk__plan_destroy(&plan);
}

enum { SIDE = 48 };

/* The brightest pixel of the target; the source is black but for the pixel at (x, y). */
static point find_bright(const stk__resolved *resolved, int32_t x, int32_t y, stk__buffer *scratch)
{
    static uint8_t pixels[SIDE * SIDE];
    static float out[SIDE * SIDE];
    memset(pixels, 0, sizeof pixels);
    pixels[y * SIDE + x] = 255;
    const stk__augment_source source = {.image = stk__pixels_dense(pixels, SIDE, SIDE, 1)};
    const stk__augment_target target = {
        .image = out, .dtype = STK_DTYPE_F32, .w = SIDE, .h = SIDE, .channels = 1, .scale = {1, 1, 1}};
    assert_int_equal(stk__augment_c(&resolved->block, &source, &target, scratch, NULL), STK_OK);
    int best = 0;
    for (int i = 1; i < SIDE * SIDE; i++)
        if (out[i] > out[best]) best = i;
    return (point){best % SIDE + 0.5, best / SIDE + 0.5};
}

static void points_land_on_the_pixels_they_marked(void **state)
{
    (void)state;
    stk__plan *plan =
        plan_of("horizontal_flip_prob=0.5 vertical_flip_prob=0.5 rotation_degrees=180 scale=[0.9,1.4] "
                "shear=10 translate=0.2");
    stk__buffer scratch = {0};
    int seen = 0;
    for (uint32_t sample = 0; sample < 600; sample++) {
        const stk__plan_at at = {.sample = sample,
                                 .source_w = SIDE,
                                 .source_h = SIDE,
                                 .target_w = SIDE,
                                 .target_h = SIDE,
                                 .channels = 1};
        const int32_t x = (int32_t)(sample * 7 % SIDE), y = (int32_t)(sample * 5 % SIDE);
        stk__resolved out;
        stk__plan_resolve(plan, &at, &out, NULL);
        float points[6] = {(float)x + 0.5f, (float)y + 0.5f, 1, 1e6f, 0, 1};
        stk__plan_points(&out, &at, points, 2);
        const bool inside = points[0] >= 0 && points[0] < SIDE && points[1] >= 0 && points[1] < SIDE;
        assert_true(points[2] == (inside ? 1 : 0) && points[5] == 0);
        const bool near_edge = points[0] < 2 || points[1] < 2 || points[0] > SIDE - 2 || points[1] > SIDE - 2;
        if (near_edge) continue;
        const point bright = find_bright(&out, x, y, &scratch);
        assert_true(fabs(bright.x - points[0]) <= 1.05 && fabs(bright.y - points[1]) <= 1.05);
        seen++;
    }
    assert_true(seen > 200);
    stk__plan_destroy(&plan);
    plan = plan_of("horizontal_flip_prob=0.5 vertical_flip_prob=0.5"); /* exact: the very pixel */
    for (uint32_t sample = 0; sample < 100; sample++) {
        const stk__plan_at at = {.sample = sample,
                                 .source_w = SIDE,
                                 .source_h = SIDE,
                                 .target_w = SIDE,
                                 .target_h = SIDE,
                                 .channels = 1};
        const int32_t x = (int32_t)(sample * 7 % SIDE), y = (int32_t)(sample * 5 % SIDE);
        stk__resolved out;
        stk__plan_resolve(plan, &at, &out, NULL);
        float points[3] = {(float)x + 0.5f, (float)y + 0.5f, 1};
        stk__plan_points(&out, &at, points, 1);
        const point bright = find_bright(&out, x, y, &scratch);
        assert_true(points[0] == (float)bright.x && points[1] == (float)bright.y && points[2] == 1);
    }
    stk__plan_destroy(&plan);
    stk__buffer_fini(&scratch);
}

static void facts_are_told_in_order(void **state)
{
    (void)state;
    stk__plan *plan = plan_of("jitter_order=fixed rotation_degrees=[-7.25,-7.25] brightness=[1.5,1.5] "
                              "gamma=[2,2] vertical_flip_prob=1 erase_prob=1");
    static const char *const expected[] = {
        "vertical flip applied", "rotation degrees", "brightness factor", "gamma exponent",
        "erase applied",         "erase x",          "erase y",           "erase width",
        "erase height",          "order brightness", "order gamma"};
    stk__resolved out, again;
    stk__plan_trace trace;
    stk__plan_resolve(plan, &square, &out, &trace);
    assert_int_equal(trace.count, sizeof expected / sizeof expected[0]);
    for (int i = 0; i < trace.count; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s %s", trace.facts[i].operation, trace.facts[i].what);
        assert_string_equal(text, expected[i]);
    }
    assert_true(trace.facts[1].value == -7.25 && trace.facts[10].value == 2);
    stk__plan_resolve(plan, &square, &again, NULL);
    assert_memory_equal(&out, &again, sizeof out);
    stk__plan_destroy(&plan);
}

typedef struct counter {
    long left, alive;
} counter;

static void *count_alloc(void *context, size_t size_bytes)
{
    counter *c = context;
    if (c->left-- <= 0) return NULL;
    c->alive++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((counter *)context)->alive--;
    free(memory);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char texts[2][TEXTS_BYTES];
    const stk__augment_settings settings = settings_of("schedule=0:minimal,5:strong", texts[0]);
    const stk__augment_settings wrong = settings_of("scale=1", texts[1]);
    counter c = {0};
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release, .context = &c};
    stk_allocator_set(&hook);
    stk__plan *plan;
    long n = 0;
    for (stk_status status = STK_ERROR_MEMORY; status != STK_OK; n++) {
        stk_error error = {0};
        c.left = n;
        status = stk__plan_create(&plan, &settings, 0, n % 2 ? NULL : &error);
        if (status == STK_OK) continue;
        assert_int_equal(status, STK_ERROR_MEMORY);
        assert_null(plan);
        assert_int_equal(c.alive, 0);
    }
    assert_in_range(n, 2, 10);
    assert_int_equal(c.alive, 1);
    stk__plan_destroy(&plan);
    c.left = 10;
    assert_int_equal(stk__plan_create(&plan, &wrong, 0, NULL), STK_ERROR_CONFIG);
    assert_null(plan);
    assert_int_equal(c.alive, 0);
    stk_allocator_set(NULL);
}

static int compare_times(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Goal: 50 microseconds. The bound is loose, for sanitizers and busy machines; the number is printed. */
static void a_batch_is_drawn_quickly(void **state)
{
    (void)state;
    enum { ROUNDS = 201, BATCH = 32 };
    static uint64_t times[ROUNDS];
    stk__plan *plan = plan_of("preset=strong");
    stk__resolved out[BATCH];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint64_t start = stk__clock_ns();
        for (uint32_t i = 0; i < BATCH; i++) {
            stk__plan_at at = square;
            at.sample = round * BATCH + i;
            stk__plan_resolve(plan, &at, &out[i], NULL);
        }
        times[round] = stk__clock_ns() - start;
    }
    qsort(times, ROUNDS, sizeof times[0], compare_times);
    print_message("draw + resolve of 32 samples, strong: median %.1f us\n", (double)times[ROUNDS / 2] / 1e3);
    assert_true(times[ROUNDS / 2] < 2000000);
    stk__plan_destroy(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_settings_only_resize),
        cmocka_unit_test(one_flip_mirrors),
        cmocka_unit_test(the_matrix_is_the_chain_of_all_maps),
        cmocka_unit_test(points_land_on_the_pixels_they_marked),
        cmocka_unit_test(facts_are_told_in_order),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_batch_is_drawn_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
