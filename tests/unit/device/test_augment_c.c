/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of the fused augmentation against each stage's own definition, computed here in double. */
#include "device/cpu/augment_pass.h"
#include "image/orientation.h"
#include "support/augment_book.h"
#include "support/pictures.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { W = 37, H = 23 };

typedef struct result {
    float image[W * H * 3];
    uint8_t mask[W * H];
} result;

static stk__pixels photo, ids;
static stk__buffer scratch;

static int draw_pictures(void **state)
{
    (void)state;
    photo = pictures_draw(W, H, 3, 5);
    ids = pictures_draw_mask(W, H, 7, 5);
    return 0;
}

static int free_pictures(void **state)
{
    (void)state;
    stk__free(photo.data);
    stk__free(ids.data);
    stk__buffer_fini(&scratch);
    return 0;
}

static stk__augment_block identity(void)
{
    return (stk__augment_block){
        .matrix = {1, 0, -0.5f, 0, 1, -0.5f},
        .fill = {10 * STK_AUGMENT_LEVEL, 20 * STK_AUGMENT_LEVEL, 30 * STK_AUGMENT_LEVEL},
        .mask_fill = 255};
}

static void run(const stk__augment_block *block, result *out, int32_t w, int32_t h, bool planar)
{
    const stk__augment_target target = {.image = out->image,
                                        .mask = out->mask,
                                        .dtype = STK_DTYPE_F32,
                                        .mask_dtype = STK_DTYPE_U8,
                                        .w = w,
                                        .h = h,
                                        .channels = 3,
                                        .planar = planar,
                                        .scale = {1, 1, 1}};
    assert_int_equal(stk__augment_c(block, &(stk__augment_source){photo, ids}, &target, &scratch, NULL),
                     STK_OK);
}

static void identity_changes_nothing_in_both_layouts(void **state)
{
    (void)state;
    static result out, planar;
    const stk__augment_block block = identity();
    run(&block, &out, W, H, false);
    run(&block, &planar, W, H, true);
    for (int i = 0; i < W * H; i++) {
        assert_int_equal(out.mask[i], ids.data[i]);
        for (int c = 0; c < 3; c++) {
            assert_true(out.image[3 * i + c] == photo.data[3 * i + c]);
            assert_true(planar.image[c * W * H + i] == photo.data[3 * i + c]);
        }
    }
}

/* Orientations are exact: no pixel is interpolated. */
static void flips_and_quarter_turns_are_copies(void **state)
{
    (void)state;
    static const struct {
        stk__orientation orientation;
        float matrix[6];
    } turns[] = {
        {2, {-1, 0, W - 0.5f, 0, 1, -0.5f}}, {3, {-1, 0, W - 0.5f, 0, -1, H - 0.5f}},
        {4, {1, 0, -0.5f, 0, -1, H - 0.5f}}, {6, {0, 1, -0.5f, -1, 0, H - 0.5f}},
        {8, {0, -1, W - 0.5f, 1, 0, -0.5f}},
    };
    static result out;
    static uint8_t expected[W * H * 3], expected_ids[W * H];
    for (size_t t = 0; t < sizeof turns / sizeof turns[0]; t++) {
        stk__augment_block block = identity();
        memcpy(block.matrix, turns[t].matrix, sizeof block.matrix);
        const bool swaps = stk__orientation_swaps(turns[t].orientation);
        const int32_t w = swaps ? H : W, h = swaps ? W : H;
        stk__orientation_apply(photo, stk__pixels_dense(expected, w, h, 3), turns[t].orientation);
        stk__orientation_apply(ids, stk__pixels_dense(expected_ids, w, h, 1), turns[t].orientation);
        run(&block, &out, w, h, false);
        for (int i = 0; i < W * H * 3; i++)
            assert_true(out.image[i] == expected[i]);
        assert_memory_equal(out.mask, expected_ids, sizeof expected_ids);
    }
}

static void a_turned_image_is_interpolated_and_its_mask_is_not(void **state)
{
    (void)state;
    static result out;
    stk__augment_block block = identity();
    const float matrix[6] = {0.9f, -0.3f, 4.1f, 0.35f, 1.2f, -6.7f};
    memcpy(block.matrix, matrix, sizeof matrix);
    run(&block, &out, W, H, false);
    int filled = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const double u = matrix[0] * (x + 0.5) + matrix[1] * (y + 0.5) + matrix[2];
            const double v = matrix[3] * (x + 0.5) + matrix[4] * (y + 0.5) + matrix[5];
            double expected[3];
            book_sample(photo, block.fill, u, v, expected);
            for (int c = 0; c < 3; c++)
                /* three roundings to 1/64, and weights of 15 bits */
                assert_true(fabs((double)out.image[(y * W + x) * 3 + c] - expected[c]) < 0.03);
            const int near_x = (int)floor(u + 0.5), near_y = (int)floor(v + 0.5);
            const bool inside = near_x >= 0 && near_y >= 0 && near_x < W && near_y < H;
            const double edge = fmin(fabs(u + 0.5 - round(u + 0.5)), fabs(v + 0.5 - round(v + 0.5)));
            filled += !inside;
            if (edge > 1e-4)
                assert_int_equal(out.mask[y * W + x], inside ? ids.data[near_y * W + near_x] : 255);
        }
    assert_in_range(filled, 20, W * H - 20);
}

static void far_away_is_filled(void **state)
{
    (void)state;
    static result out;
    stk__augment_block block = identity();
    block.matrix[2] = 1e30f;
    block.matrix[5] = -1e30f;
    run(&block, &out, W, H, false);
    for (int i = 0; i < W * H; i++) {
        assert_int_equal(out.mask[i], 255);
        for (int c = 0; c < 3; c++)
            assert_true(out.image[3 * i + c] == (float)block.fill[c] / STK_AUGMENT_LEVEL);
    }
}

static void check_steps(const stk__augment_block *block)
{
    static result out;
    static double expected[W * H * 3];
    for (int i = 0; i < W * H * 3; i++)
        expected[i] = photo.data[i];
    for (int s = 0; s < block->step_count; s++)
        book_step(block->step_kind[s], (double)block->step_value[s], expected, W * H);
    run(block, &out, W, H, false);
    for (int i = 0; i < W * H * 3; i++)
        assert_true(fabs((double)out.image[i] - expected[i]) < 0.02);
    assert_memory_equal(out.mask, ids.data, sizeof out.mask); /* colours never touch a mask */
}

static void colour_steps_are_torchvisions(void **state)
{
    (void)state;
    static const struct {
        int kind;
        float values[4];
    } steps[] = {{STK_COLOUR_BRIGHTNESS, {0.6f, 1, 1.5f, 0}},
                 {STK_COLOUR_CONTRAST, {0.6f, 1, 1.7f, 0}},
                 {STK_COLOUR_SATURATION, {0.3f, 1, 1.9f, 0}},
                 {STK_COLOUR_HUE, {-0.5f, -0.1f, 0.07f, 0.5f}},
                 {STK_COLOUR_GRAY, {0}},
                 {STK_COLOUR_GAMMA, {0.3f, 1, 1.8f, 4}}};
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++)
        for (int v = 0; v < 4; v++) {
            stk__augment_block block = identity();
            block.step_count = 1;
            block.step_kind[0] = steps[k].kind;
            block.step_value[0] = steps[k].values[v];
            check_steps(&block);
        }
}

static void the_order_of_steps_counts(void **state)
{
    (void)state;
    stk__augment_block block = identity();
    block.step_count = 4;
    for (int first = 0; first < 4; first++) {
        static const float values[] = {1.3f, 0.7f, 1.4f, 0.05f};
        for (int s = 0; s < 4; s++) {
            block.step_kind[s] = (first + s) % 4;
            block.step_value[s] = values[(first + s) % 4];
        }
        check_steps(&block);
    }
}

static void blur_spreads_a_point_by_its_weights(void **state)
{
    (void)state;
    static result out;
    static uint8_t point[W * H * 3];
    memset(point, 0, sizeof point);
    point[(5 * W + 6) * 3] = 200;
    const stk__pixels kept = photo;
    photo.data = point;
    stk__augment_block block = identity();
    block.blur_radius = 2;
    memcpy(block.blur_weight, (float[]){0.4f, 0.2f, 0.1f}, 3 * sizeof(float));
    run(&block, &out, W, H, false);
    photo = kept;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const int dx = x > 6 ? x - 6 : 6 - x, dy = y > 5 ? y - 5 : 5 - y;
            const double expected =
                dx > 2 || dy > 2 ? 0 : 200 * (double)block.blur_weight[dx] * (double)block.blur_weight[dy];
            assert_true(fabs((double)out.image[(y * W + x) * 3] - expected) < 1e-4);
            assert_true(out.image[(y * W + x) * 3 + 1] == 0);
        }
}

static void blur_reflects_at_the_edges(void **state)
{
    (void)state;
    static result out;
    stk__augment_block block = identity();
    block.blur_radius = 3;
    memcpy(block.blur_weight, (float[]){0.25f, 0.125f, 0.125f, 0.125f}, 4 * sizeof(float));
    run(&block, &out, W, H, false);
    double expected = 0;
    for (int dy = -3; dy <= 3; dy++)
        for (int dx = -3; dx <= 3; dx++)
            expected += (double)(block.blur_weight[abs(dx)] * block.blur_weight[abs(dy)]) *
                        photo.data[(abs(dy) * W + abs(dx)) * 3];
    assert_true(fabs((double)out.image[0] - expected) < 1e-3);
}

static void noise_has_its_strength_and_repeats(void **state)
{
    (void)state;
    static result out, again;
    static uint8_t flat[W * H * 3];
    memset(flat, 128, sizeof flat);
    const stk__pixels kept = photo;
    photo.data = flat;
    stk__augment_block block = identity();
    block.noise_std = 9;
    block.noise_sample = 4;
    run(&block, &out, W, H, false);
    run(&block, &again, W, H, false);
    photo = kept;
    assert_memory_equal(out.image, again.image, sizeof out.image);
    double sum = 0, squares = 0;
    for (int i = 0; i < W * H * 3; i++) {
        const double off = (double)out.image[i] - 128;
        sum += off;
        squares += off * off;
    }
    const double n = W * H * 3, mean = sum / n, std = sqrt(squares / n - mean * mean);
    assert_true(fabs(mean) < 1 && std > 8.3 && std < 9.7); /* 5 standard errors */
}

static void erased_and_normalised(void **state)
{
    (void)state;
    static result out;
    stk__augment_block block = identity();
    block.erase_x = 3, block.erase_y = 4, block.erase_w = 5, block.erase_h = 6;
    const stk__augment_target target = {.image = out.image,
                                        .mask = out.mask,
                                        .dtype = STK_DTYPE_F32,
                                        .mask_dtype = STK_DTYPE_U8,
                                        .w = W,
                                        .h = H,
                                        .channels = 3,
                                        .scale = {2, 3, 4},
                                        .bias = {-1, 0, 1}};
    assert_int_equal(stk__augment_c(&block, &(stk__augment_source){photo, ids}, &target, &scratch, NULL),
                     STK_OK);
    for (int i = 0; i < W * H; i++) {
        const int x = i % W, y = i / W;
        const bool gone = x >= 3 && x < 8 && y >= 4 && y < 10;
        for (int c = 0; c < 3; c++) {
            const float v = gone ? (float)block.fill[c] / STK_AUGMENT_LEVEL : photo.data[3 * i + c];
            assert_true(out.image[3 * i + c] == v * target.scale[c] + target.bias[c]);
        }
        assert_int_equal(out.mask[i], ids.data[i]);
    }
}

/* Against the CPU's own conversion, where it has one; every exponent, ties and their neighbours. */
static void halves_round_to_nearest_even(void **state)
{
    (void)state;
    const struct {
        float value;
        uint16_t half, bfloat;
    } known[] = {{0, 0, 0},
                 {1, 0x3c00, 0x3f80},
                 {-2, 0xc000, 0xc000},
                 {65504, 0x7bff, 0x4780},
                 {65520, 0x7c00, 0x4780},
                 {0x1p-24f, 1, 0x3380},
                 {0x1p-25f, 0, 0x3300},
                 {0x1.8p-25f, 1, 0x3340},
                 {0x1.002p0f, 0x3c00, 0x3f80},
                 {0x1.006p0f, 0x3c02, 0x3f80},
                 {0x1.01p0f, 0x3c04, 0x3f80},
                 {0x1.03p0f, 0x3c0c, 0x3f82}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_int_equal(stk__half_from_float(known[i].value), known[i].half);
        assert_int_equal(stk__bfloat_from_float(known[i].value), known[i].bfloat);
    }
}

static void other_types_are_the_floats_rounded(void **state)
{
    (void)state;
    static result out;
    static uint16_t half[W * H * 3], bfloat[W * H * 3];
    static int64_t wide[W * H];
    stk__augment_block block = identity();
    block.matrix[1] = 0.2f;
    block.noise_std = 3;
    run(&block, &out, W, H, true);
    stk__augment_target target = {.image = half, .mask = wide, .dtype = STK_DTYPE_F16, .w = W, .h = H};
    target.mask_dtype = STK_DTYPE_I64;
    target.channels = 3;
    target.planar = true;
    target.scale[0] = target.scale[1] = target.scale[2] = 1;
    const stk__augment_source source = {photo, ids};
    assert_int_equal(stk__augment_c(&block, &source, &target, &scratch, NULL), STK_OK);
    target.image = bfloat;
    target.dtype = STK_DTYPE_BF16;
    assert_int_equal(stk__augment_c(&block, &source, &target, &scratch, NULL), STK_OK);
    for (int i = 0; i < W * H * 3; i++) {
        assert_int_equal(half[i], stk__half_from_float(out.image[i]));
        assert_int_equal(bfloat[i], stk__bfloat_from_float(out.image[i]));
    }
    for (int i = 0; i < W * H; i++)
        assert_int_equal(wide[i], out.mask[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_changes_nothing_in_both_layouts),
        cmocka_unit_test(flips_and_quarter_turns_are_copies),
        cmocka_unit_test(a_turned_image_is_interpolated_and_its_mask_is_not),
        cmocka_unit_test(far_away_is_filled),
        cmocka_unit_test(colour_steps_are_torchvisions),
        cmocka_unit_test(the_order_of_steps_counts),
        cmocka_unit_test(blur_spreads_a_point_by_its_weights),
        cmocka_unit_test(blur_reflects_at_the_edges),
        cmocka_unit_test(noise_has_its_strength_and_repeats),
        cmocka_unit_test(erased_and_normalised),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(other_types_are_the_floats_rounded),
    };
    return cmocka_run_group_tests(tests, draw_pictures, free_pictures);
}
