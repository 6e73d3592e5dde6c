/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation alone, against torchvision's formulas worked out here. */
#include "augment/operation.h"
#include "augment_helpers.h"

#include <math.h>

static const stk__plan_at square = {
    .source_w = 64, .source_h = 64, .target_w = 64, .target_h = 64, .channels = 3};
static const stk__plan_at wide = {
    .source_w = 100, .source_h = 50, .target_w = 64, .target_h = 48, .channels = 3};
static const double pi = 3.14159265358979323846;

static void check_matrix(const float got[6], const float expected[6])
{
    for (int i = 0; i < 6; i++) {
        if (got[i] != expected[i])
            fail_msg("entry %d: %.9g, expected %.9g", i, (double)got[i], (double)expected[i]);
        assert_false(got[i] == 0 && signbit(got[i]));
    }
}

static void check_near(const double *got, const double *expected, int count, double bound)
{
    for (int i = 0; i < count; i++)
        if (!(fabs(got[i] - expected[i]) <= bound))
            fail_msg("entry %d: %.17g, expected %.17g", i, got[i], expected[i]);
}

/* torchvision's _get_inverse_affine_matrix with inverted = False and a centre: M = T C RSS C^-1. */
static void affine_of_torchvision(double angle, const double translate[2], double scale, double shear,
                                  const stk__plan_at *at, double m[6])
{
    const double rot = angle * pi / 180, sx = shear * pi / 180, cx = at->target_w / 2.0,
                 cy = at->target_h / 2.0;
    const double a = cos(rot), b = -cos(rot) * tan(sx) - sin(rot), c = sin(rot),
                 d = -sin(rot) * tan(sx) + cos(rot);
    const double made[6] = {a * scale, b * scale, translate[0] + cx - scale * (a * cx + b * cy),
                            c * scale, d * scale, translate[1] + cy - scale * (c * cx + d * cy)};
    memcpy(m, made, sizeof made);
}

static void nothing_is_exactly_the_identity(void **state)
{
    (void)state;
    const stk__resolved out = resolved_of("", square);
    check_matrix(out.block.matrix, (const float[6]){1, 0, -0.5f, 0, 1, -0.5f});
    check_near(out.forward, (const double[6]){1, 0, 0, 0, 1, 0}, 6, 0);
    const stk__augment_block plain = {.matrix = {1, 0, -0.5f, 0, 1, -0.5f}, .mask_fill = 255};
    assert_memory_equal(&out.block, &plain, sizeof plain);
}

static void resizing_is_the_base(void **state)
{
    (void)state;
    const stk__resolved out = resolved_of("", wide);
    check_near(out.forward, (const double[6]){0.64, 0, 0, 0, 0.96, 0}, 6, 1e-15);
    check_matrix(out.block.matrix,
                 (const float[6]){(float)(100.0 / 64), 0, -0.5f, 0, (float)(50.0 / 48), -0.5f});
}

static void flips_are_exact(void **state)
{
    (void)state;
    check_matrix(resolved_of("horizontal_flip_prob=1", square).block.matrix,
                 (const float[6]){-1, 0, 63.5f, 0, 1, -0.5f});
    check_matrix(resolved_of("vertical_flip_prob=1", square).block.matrix,
                 (const float[6]){1, 0, -0.5f, 0, -1, 63.5f});
    check_matrix(resolved_of("horizontal_flip_prob=1 vertical_flip_prob=1", square).block.matrix,
                 (const float[6]){-1, 0, 63.5f, 0, -1, 63.5f});
    check_near(resolved_of("horizontal_flip_prob=1", wide).forward,
               (const double[6]){-0.64, 0, 64, 0, 0.96, 0}, 6, 1e-13);
    check_matrix(resolved_of("horizontal_flip_prob=0 vertical_flip_prob=0", square).block.matrix,
                 (const float[6]){1, 0, -0.5f, 0, 1, -0.5f});
}

/* Counter-clockwise: what is right of the centre goes up. */
static void rotation_turns_counter_clockwise(void **state)
{
    (void)state;
    const stk__resolved out = resolved_of("rotation_degrees=[90,90]", square);
    const double *f = out.forward, x = 60, y = 32;
    check_near((const double[]){f[0] * x + f[1] * y + f[2], f[3] * x + f[4] * y + f[5]},
               (const double[]){32, 4}, 2, 1e-12);
    double expected[6];
    affine_of_torchvision(-20, (const double[2]){0, 0}, 1, 0, &square,
                          expected); /* rotate(20) is affine(-20) */
    check_near(resolved_of("rotation_degrees=[20,20]", square).forward, expected, 6, 1e-12);
}

static void scale_and_shear_are_torchvisions(void **state)
{
    (void)state;
    double expected[6];
    affine_of_torchvision(0, (const double[2]){0, 0}, 1.25, 0, &square, expected);
    check_near(resolved_of("scale=[1.25,1.25]", square).forward, expected, 6, 1e-12);
    affine_of_torchvision(0, (const double[2]){0, 0}, 1, 12, &square, expected);
    check_near(resolved_of("shear=[12,12]", square).forward, expected, 6, 1e-12);
}

static void together_they_are_one_affine(void **state)
{
    (void)state;
    stk__plan *plan = plan_of("rotation_degrees=[-31,-31] scale=[0.7,0.7] shear=[9,9] translate=[0.2,0.1]");
    stk__resolved out;
    stk__plan_trace trace;
    const stk__plan_at at = {
        .source_w = 80, .source_h = 60, .target_w = 80, .target_h = 60, .channels = 3, .sample = 5};
    stk__plan_resolve(plan, &at, &out, &trace);
    const double moved[2] = {fact_or(&trace, "translate", "x", 0), fact_or(&trace, "translate", "y", 0)};
    assert_true(moved[0] != 0 && moved[1] != 0 && fabs(moved[0]) <= 16 && fabs(moved[1]) <= 6);
    double expected[6];
    affine_of_torchvision(31, moved, 0.7, 9, &at, expected);
    check_near(out.forward, expected, 6, 1e-12);
    stk__plan_destroy(&plan);
}

static void one_number_goes_to_both_sides(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *operation, *what;
        double low, high;
    } cases[] = {{"rotation_degrees=15", "rotation", "degrees", -15, 15},
                 {"rotation_degrees=[5,6]", "rotation", "degrees", 5, 6},
                 {"scale=0.2", "scale", "factor", 0.8, 1.2},
                 {"shear=8", "shear", "degrees", -8, 8},
                 {"brightness=0.3", "brightness", "factor", 0.7, 1.3},
                 {"brightness=1.5", "brightness", "factor", 0, 2.5},
                 {"contrast=[0.5,0.75]", "contrast", "factor", 0.5, 0.75},
                 {"saturation=0.25", "saturation", "factor", 0.75, 1.25},
                 {"hue=0.1", "hue", "turn", -0.1, 0.1},
                 {"gamma=0.5", "gamma", "exponent", 0.5, 1.5},
                 {"blur_kernel=3", "blur", "sigma", 0.1, 2},
                 {"noise_std=[0.01,0.05]", "noise", "std", 0.01, 0.05}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stk__plan *plan = plan_of(cases[i].keys);
        double least = INFINITY, most = -INFINITY;
        for (uint32_t sample = 0; sample < 400; sample++) {
            stk__plan_at at = square;
            at.sample = sample;
            stk__resolved out;
            stk__plan_trace trace;
            stk__plan_resolve(plan, &at, &out, &trace);
            const double value = fact_or(&trace, cases[i].operation, cases[i].what, NAN);
            least = fmin(least, value);
            most = fmax(most, value);
            assert_true(value >= cases[i].low && value <= cases[i].high);
        }
        const double edge = (cases[i].high - cases[i].low) * 0.05;
        assert_true(least < cases[i].low + edge && most > cases[i].high - edge);
        stk__plan_destroy(&plan);
    }
}

static void colour_steps_stand_in_their_order(void **state)
{
    (void)state;
    const stk__augment_block block =
        resolved_of("jitter_order=fixed gamma=[2,2] gray_prob=1 hue=[0.25,0.25] saturation=[0.5,0.5] "
                    "contrast=[1.5,1.5] brightness=[1.25,1.25]",
                    square)
            .block;
    const float values[] = {1.25f, 1.5f, 0.5f, 0.25f, 0, 2};
    assert_int_equal(block.step_count, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(block.step_kind[i], i);
        assert_true(block.step_value[i] == values[i]);
    }
}

static void grey_images_have_no_colour_steps(void **state)
{
    (void)state;
    stk__plan_at at = square;
    at.channels = 1;
    const stk__augment_block block =
        resolved_of("gray_prob=1 hue=0.1 saturation=0.5 contrast=[1.5,1.5] gamma=[2,2]", at).block;
    assert_int_equal(block.step_count, 2);
    assert_int_equal(block.step_kind[0], STK_COLOUR_CONTRAST);
    assert_int_equal(block.step_kind[1], STK_COLOUR_GAMMA);
}

static void one_gate_stands_before_the_jitter(void **state)
{
    (void)state;
    stk__plan *plan = plan_of("brightness=0.2 contrast=0.2 saturation=0.2 hue=0.1 jitter_prob=0.5 gamma=0.2");
    int with = 0;
    for (uint32_t sample = 0; sample < 1000; sample++) {
        stk__plan_at at = square;
        at.sample = sample;
        stk__resolved out;
        stk__plan_resolve(plan, &at, &out, NULL);
        assert_true(out.block.step_count == 1 || out.block.step_count == 5);
        with += out.block.step_count == 5;
        assert_int_equal(out.block.step_kind[out.block.step_count - 1], STK_COLOUR_GAMMA);
    }
    assert_in_range(with, 430, 570);
    stk__plan_destroy(&plan);
    assert_int_equal(resolved_of("brightness=0.2 jitter_prob=0", square).block.step_count, 0);
}

/* _get_gaussian_kernel1d: exp(-x^2 / 2 sigma^2) at whole offsets, made to sum to 1. */
static void blur_weights_are_torchvisions(void **state)
{
    (void)state;
    static const char *const keys[] = {"blur_kernel=3 blur_sigma=0.8", "blur_kernel=5 blur_sigma=1.5",
                                       "blur_kernel=7 blur_sigma=2"};
    static const double sigmas[] = {0.8, 1.5, 2};
    for (int k = 0; k < 3; k++) {
        const stk__augment_block block = resolved_of(keys[k], square).block;
        double sum = 0;
        for (int x = -k - 1; x <= k + 1; x++)
            sum += exp(-0.5 * x * x / (sigmas[k] * sigmas[k]));
        assert_int_equal(block.blur_radius, k + 1);
        for (int x = 0; x <= k + 1; x++)
            assert_true(block.blur_weight[x] == (float)(exp(-0.5 * (x / sigmas[k]) * (x / sigmas[k])) / sum));
    }
    assert_int_equal(resolved_of("blur_kernel=0", square).block.blur_radius, 0);
}

static void noise_is_keyed_by_seed_epoch_and_sample(void **state)
{
    (void)state;
    stk__plan *plan = plan_seeded("noise_std=0.04", 0x123456789abcdef0);
    const stk__plan_at at = {
        .epoch = 3, .sample = 9, .source_w = 8, .source_h = 8, .target_w = 8, .target_h = 8, .channels = 3};
    stk__resolved out;
    stk__plan_resolve(plan, &at, &out, NULL);
    assert_true(out.block.noise_std == (float)(0.04 * 255));
    assert_true(out.block.noise_key[0] == 0x9abcdef0 && out.block.noise_key[1] == 0x12345678);
    assert_true(out.block.noise_epoch == 3 && out.block.noise_sample == 9);
    stk__plan_destroy(&plan);
}

/* Whatever was drawn, the region becomes the whole target; sizes as torchvision's get_params. */
static void crops_take_a_region(void **state)
{
    (void)state;
    stk__plan *plan = plan_of("crop=[0.08,1]");
    for (uint32_t sample = 0; sample < 2000; sample++) {
        stk__plan_at at = wide;
        at.sample = sample;
        stk__resolved out;
        stk__plan_trace trace;
        stk__plan_resolve(plan, &at, &out, &trace);
        const double x = fact_or(&trace, "crop", "x", NAN), y = fact_or(&trace, "crop", "y", NAN);
        const double w = fact_or(&trace, "crop", "width", NAN), h = fact_or(&trace, "crop", "height", NAN);
        assert_true(x >= 0 && y >= 0 && w >= 1 && h >= 1 && x + w <= 100 && y + h <= 50);
        assert_true((w + 0.5) / (h - 0.5) >= 0.75 && (w - 0.5) / (h + 0.5) <= 4.0 / 3);
        assert_true((w + 0.5) * (h + 0.5) >= 0.08 * 5000 * 0.999);
        const double *f = out.forward;
        check_near(
            (const double[]){f[0] * x + f[2], f[4] * y + f[5], f[0] * (x + w) + f[2], f[4] * (y + h) + f[5]},
            (const double[]){0, 0, 64, 48}, 4, 1e-9);
    }
    assert_true(stk__plan_crops(plan));
    stk__plan_destroy(&plan);
}

/* Twice as wide as high, all of the area: no try fits, the middle with the widest proportions is taken. */
static void crops_that_never_fit_take_the_middle(void **state)
{
    (void)state;
    static const struct {
        int32_t w, h;
        double x, y, cw, ch;
    } cases[] = {{100, 50, 16, 0, 67, 50}, {50, 100, 0, 16, 50, 67}};
    stk__plan *plan = plan_of("crop=1");
    for (int i = 0; i < 2; i++) {
        const stk__plan_at at = {
            .source_w = cases[i].w, .source_h = cases[i].h, .target_w = 8, .target_h = 8, .channels = 3};
        stk__resolved out;
        stk__plan_trace trace;
        stk__plan_resolve(plan, &at, &out, &trace);
        assert_true(fact_or(&trace, "crop", "x", NAN) == cases[i].x &&
                    fact_or(&trace, "crop", "y", NAN) == cases[i].y);
        assert_true(fact_or(&trace, "crop", "width", NAN) == cases[i].cw);
        assert_true(fact_or(&trace, "crop", "height", NAN) == cases[i].ch);
    }
    stk__plan_destroy(&plan);
}

static void erased_boxes_lie_inside(void **state)
{
    (void)state;
    stk__plan *plan = plan_of("erase_prob=1 fill=10,20.5,255");
    for (uint32_t sample = 0; sample < 2000; sample++) {
        stk__plan_at at = wide;
        at.sample = sample;
        stk__resolved out;
        stk__plan_resolve(plan, &at, &out, NULL);
        const stk__augment_block *b = &out.block;
        assert_true(b->erase_w >= 1 && b->erase_h >= 1 && b->erase_w < 64 && b->erase_h < 48);
        assert_true(b->erase_x >= 0 && b->erase_y >= 0 && b->erase_x + b->erase_w <= 64 &&
                    b->erase_y + b->erase_h <= 48);
        const double ratio_least = (b->erase_h + 0.5) / (b->erase_w - 0.5),
                     ratio_most = (b->erase_h - 0.5) / (b->erase_w + 0.5);
        assert_true(ratio_least >= 0.3 && ratio_most <= 3.3);
        assert_true((b->erase_w - 0.5) * (b->erase_h - 0.5) <= 0.33 * 64 * 48);
        assert_int_equal(b->fill[0], 10 * STK_AUGMENT_LEVEL);
        assert_int_equal(b->fill[1], 41 * STK_AUGMENT_LEVEL / 2);
        assert_int_equal(b->fill[2], 255 * STK_AUGMENT_LEVEL);
    }
    stk__plan_destroy(&plan);
    stk__plan_at dot = {.source_w = 1, .source_h = 1, .target_w = 1, .target_h = 1, .channels = 3};
    assert_int_equal(resolved_of("erase_prob=1", dot).block.erase_w, 0); /* nothing fits: nothing erased */
}

static void masks_have_their_own_fill(void **state)
{
    (void)state;
    assert_int_equal(resolved_of("", square).block.mask_fill, 255);
    assert_int_equal(resolved_of("mask_fill=0", square).block.mask_fill, 0);
    assert_int_equal(resolved_of("mask_fill=19", square).block.mask_fill, 19);
}

/* In the order of the list: names and rows are whole, ids are of the augmentation and unique. */
static void the_list_is_sound(void **state)
{
    (void)state;
    assert_int_equal(stk__option_table_check(stk__augment_options(), NULL), STK_OK);
    const int count = stk__operations_count();
    for (int i = 0; i < count; i++) {
        const stk__augment_operation *operation = stk__operation_at(i);
        assert_true(operation->name && operation->option_count && operation->prepare);
        assert_true(!operation->resolve != !operation->mix);
        assert_in_range(stk__operation_number(i), STK_OPERATION_NOISE_PIXELS + 1, STK_OPERATION_MIX - 1);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(stk__operation_number(i), stk__operation_number(k));
        for (size_t row = 0; row < operation->option_count; row++)
            assert_string_equal(stk__operation_option(i, row)->name, operation->options[row].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_exactly_the_identity),
        cmocka_unit_test(resizing_is_the_base),
        cmocka_unit_test(flips_are_exact),
        cmocka_unit_test(rotation_turns_counter_clockwise),
        cmocka_unit_test(scale_and_shear_are_torchvisions),
        cmocka_unit_test(together_they_are_one_affine),
        cmocka_unit_test(one_number_goes_to_both_sides),
        cmocka_unit_test(colour_steps_stand_in_their_order),
        cmocka_unit_test(grey_images_have_no_colour_steps),
        cmocka_unit_test(one_gate_stands_before_the_jitter),
        cmocka_unit_test(blur_weights_are_torchvisions),
        cmocka_unit_test(noise_is_keyed_by_seed_epoch_and_sample),
        cmocka_unit_test(crops_take_a_region),
        cmocka_unit_test(crops_that_never_fit_take_the_middle),
        cmocka_unit_test(erased_boxes_lie_inside),
        cmocka_unit_test(masks_have_their_own_fill),
        cmocka_unit_test(the_list_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
