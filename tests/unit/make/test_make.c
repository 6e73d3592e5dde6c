/* SPDX-License-Identifier: Apache-2.0 */
/* Generated data sets: frozen bytes, sizes, and whether something can be learnt from them. */
#include "core/hash.h"
#include "core/memory.h"
#include "image/jpeg_write.h"
#include "image/png_write.h"
#include "make/make.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { FACE = 512, GREY = 128, GREYS = GREY * GREY, CLASSES = 10, COLUMNS = STK_MAKE_FEATURES + 1 };

static uint8_t image_bytes[FACE * FACE * 3], mask_bytes[FACE * FACE];
static _Alignas(64) uint8_t scratch[1600 * 1024];

static stk__pixels draw(stk__make_kind kind, uint64_t seed, uint64_t index)
{
    const stk__make_info *info = stk__make_describe(kind);
    assert_true(info->scratch_bytes <= sizeof scratch);
    const stk__pixels image = stk__pixels_dense(image_bytes, info->w, info->h, info->channels);
    const stk__pixels mask = stk__pixels_dense(info->masks ? mask_bytes : NULL, info->w, info->h, 1);
    stk__make_draw(kind, seed, index, image, mask, scratch);
    return image;
}

static void check_digest(const void *data, size_t size, const char *expected)
{
    char text[STK_DIGEST_TEXT_BYTES];
    stk__digest_print(stk__digest_of(data, size), text);
    assert_string_equal(text, expected);
}

/* If one of these changes, every data set that was ever made changes: change them only on purpose. */
static void sample_0_never_changes(void **state)
{
    (void)state;
    static float series[1000 * COLUMNS];
    draw(STK_MAKE_FACES, 0, 0);
    check_digest(image_bytes, FACE * FACE * 3, "ef0f186edd29cdf07379f45dbc6dc784");
    check_digest(mask_bytes, FACE * FACE, "16d323ff22ac21a745acf79574e4f0f7");
    draw(STK_MAKE_CAPTCHA, 0, 0);
    check_digest(image_bytes, 320 * 160 * 3, "45babfb9751e289e381073e01a1ca32f");
    draw(STK_MAKE_GRAY, 0, 0);
    check_digest(image_bytes, GREYS, "78618c6422adcaa4bf711700da948690");
    stk__make_series(0, 0, 1000, series);
    check_digest(series, sizeof series, "16577c75d6ccf53ae4ec78be9fbba725");
}

static void scratch_content_and_neighbours_do_not_matter(void **state)
{
    (void)state;
    for (int kind = 0; kind < STK_MAKE_SERIES; kind++) {
        const stk__make_info *info = stk__make_describe((stk__make_kind)kind);
        const size_t size = (size_t)info->w * (size_t)info->h * (size_t)info->channels;
        memset(scratch, 0xa5, sizeof scratch);
        draw((stk__make_kind)kind, 5, 3);
        const stk__digest first = stk__digest_of(image_bytes, size);
        draw((stk__make_kind)kind, 5, 4);
        const stk__digest other = stk__digest_of(image_bytes, size);
        draw((stk__make_kind)kind, 6, 3);
        const stk__digest other_seed = stk__digest_of(image_bytes, size);
        draw((stk__make_kind)kind, 5, 3);
        const stk__digest again = stk__digest_of(image_bytes, size);
        assert_memory_equal(&first, &again, sizeof first);
        assert_memory_not_equal(&first, &other, sizeof first);
        assert_memory_not_equal(&first, &other_seed, sizeof first);
    }
}

static void image_and_mask_alone_are_the_same(void **state)
{
    (void)state;
    static uint8_t alone[FACE * FACE * 3];
    const stk__pixels none = {0};
    draw(STK_MAKE_FACES, 1, 7);
    stk__make_draw(STK_MAKE_FACES, 1, 7, none, stk__pixels_dense(alone, FACE, FACE, 1), scratch);
    assert_memory_equal(alone, mask_bytes, FACE * FACE);
    stk__make_draw(STK_MAKE_FACES, 1, 7, stk__pixels_dense(alone, FACE, FACE, 3), none, scratch);
    assert_memory_equal(alone, image_bytes, FACE * FACE * 3);
}

static void faces_have_the_size_of_photographs(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    stk__png_writer *writer = NULL;
    stk__buffer file = {0};
    double jpeg_sum = 0, png_sum = 0;
    assert_int_equal(stk__png_writer_create(&writer, STK_PNG_LEVEL_QUICK, NULL), STK_OK);
    for (uint64_t index = 0; index < COUNT; index++) {
        const stk__pixels image = draw(STK_MAKE_FACES, 0, index);
        assert_int_equal(stk__jpeg_write(image, 90, &file, NULL), STK_OK);
        assert_in_range(file.size_bytes, 45000, 90000);
        jpeg_sum += (double)file.size_bytes;
        const stk__pixels mask = stk__pixels_dense(mask_bytes, FACE, FACE, 1);
        assert_int_equal(
            stk__png_write(writer, mask, &(stk__png_options){.filter = STK_PNG_LEFT}, &file, NULL), STK_OK);
        assert_in_range(file.size_bytes, 2000, 12000);
        png_sum += (double)file.size_bytes;
    }
    stk__buffer_fini(&file);
    stk__png_writer_destroy(&writer);
    assert_true(jpeg_sum / COUNT > 50000 && jpeg_sum / COUNT < 80000);
    assert_true(png_sum / COUNT > 3500 && png_sum / COUNT < 9000);
}

static void faces_show_every_class(void **state)
{
    (void)state;
    enum { COUNT = 100, KINDS = 19 };
    const stk__make_info *info = stk__make_describe(STK_MAKE_FACES);
    int faces_with[KINDS] = {0};
    assert_int_equal(info->class_count, KINDS);
    for (uint64_t index = 0; index < COUNT; index++) {
        bool seen[256] = {false};
        draw(STK_MAKE_FACES, 0, index);
        for (int i = 0; i < FACE * FACE; i++)
            seen[mask_bytes[i]] = true;
        for (int id = KINDS; id < 256; id++)
            assert_false(seen[id]);
        for (int id = 0; id < KINDS; id++)
            faces_with[id] += seen[id];
    }
    for (int id = 0; id < KINDS; id++)
        assert_in_range(faces_with[id], 3, COUNT);
    assert_int_equal(faces_with[1], COUNT);  /* skin */
    assert_int_equal(faces_with[10], COUNT); /* nose */
}

static double mean_grey(stk__pixels image, float x, float y, int from, int to)
{
    double sum = 0;
    int count = 0;
    for (int dy = -to; dy <= to; dy++)
        for (int dx = -to; dx <= to; dx++) {
            const int px = (int)x + dx, py = (int)y + dy;
            if (px < 0 || py < 0 || px >= image.w || py >= image.h) continue;
            if (dx > -from && dx < from && dy > -from && dy < from) continue;
            const uint8_t *pixel = stk__pixels_row(image, py) + px * 3;
            sum += pixel[0] + pixel[1] + pixel[2];
            count++;
        }
    return sum / (3 * count);
}

static void captchas_have_a_dark_gap_where_they_say(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    int darker = 0;
    double shift = 0, spread = 0;
    for (uint64_t index = 0; index < COUNT; index++) {
        const stk__made made = stk__make_facts(STK_MAKE_CAPTCHA, 3, index);
        const stk__pixels image = draw(STK_MAKE_CAPTCHA, 3, index);
        for (int i = 0; i < 2; i++) {
            assert_true(made.points[i][0] > 25 && made.points[i][0] < 295);
            assert_true(made.points[i][1] > 25 && made.points[i][1] < 135);
            assert_true(made.points[i][2] == 1);
        }
        assert_true(made.points[0][1] == made.points[1][1]);
        assert_true(made.points[0][0] - made.points[1][0] >= 60);
        const float x = made.points[0][0], y = made.points[0][1];
        darker += mean_grey(image, x, y, 0, 8) < 0.8 * mean_grey(image, x, y, 30, 36);
        shift += x;
        spread += (double)x * x;
    }
    assert_in_range(darker, COUNT * 97 / 100, COUNT);
    /* A constant answer is some 50 pixels off. */
    assert_true(sqrt(spread / COUNT - shift / COUNT * shift / COUNT) > 35);
}

static void train_means(uint64_t from, uint64_t to, double means[CLASSES][GREYS])
{
    int counts[CLASSES] = {0};
    memset(means, 0, sizeof(double) * CLASSES * GREYS);
    for (uint64_t index = from; index < to; index++) {
        const int32_t label = stk__make_facts(STK_MAKE_GRAY, 0, index).label;
        draw(STK_MAKE_GRAY, 0, index);
        counts[label]++;
        for (int i = 0; i < GREYS; i++)
            means[label][i] += image_bytes[i];
    }
    for (int label = 0; label < CLASSES; label++) {
        assert_int_equal(counts[label], (to - from) / CLASSES);
        for (int i = 0; i < GREYS; i++)
            means[label][i] /= counts[label];
    }
}

static int nearest_mean(double means[CLASSES][GREYS])
{
    double best = INFINITY;
    int found = 0;
    for (int label = 0; label < CLASSES; label++) {
        double sum = 0;
        for (int i = 0; i < GREYS; i++) {
            const double off = means[label][i] - image_bytes[i];
            sum += off * off;
        }
        if (sum < best) found = label;
        if (sum < best) best = sum;
    }
    return found;
}

static void grey_shapes_need_more_than_the_mean_picture(void **state)
{
    (void)state;
    enum { TRAIN = 3000, TEST = 1000 };
    static double means[CLASSES][GREYS];
    int right = 0;
    train_means(0, TRAIN, means);
    for (uint64_t index = TRAIN; index < TRAIN + TEST; index++) {
        draw(STK_MAKE_GRAY, 0, index);
        right += nearest_mean(means) == stk__make_facts(STK_MAKE_GRAY, 0, index).label;
    }
    assert_in_range(right * 100 / TEST, 15, 60);
}

/* Share of the target's variance that a linear model of `inputs` explains (normal equations, elimination). */
static double explained(const double *inputs, const double *targets, int rows, int width)
{
    enum { MOST = 24 };
    double a[MOST][MOST + 1] = {{0}}, weights[MOST] = {0}, mean = 0, total = 0, rest = 0;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width; i++) {
            for (int j = 0; j < width; j++)
                a[i][j] += inputs[r * width + i] * inputs[r * width + j];
            a[i][width] += inputs[r * width + i] * targets[r];
        }
    for (int i = 0; i < width; i++)
        for (int k = i + 1; k < width; k++)
            for (int j = width; j >= i; j--)
                a[k][j] -= a[i][j] * a[k][i] / a[i][i];
    for (int i = width - 1; i >= 0; i--) {
        weights[i] = a[i][width];
        for (int j = i + 1; j < width; j++)
            weights[i] -= a[i][j] * weights[j];
        weights[i] /= a[i][i];
    }
    for (int r = 0; r < rows; r++)
        mean += targets[r] / rows;
    for (int r = 0; r < rows; r++) {
        double value = 0;
        for (int i = 0; i < width; i++)
            value += weights[i] * inputs[r * width + i];
        rest += (targets[r] - value) * (targets[r] - value);
        total += (targets[r] - mean) * (targets[r] - mean);
    }
    return 1 - rest / total;
}

/* What the comment of make_series.c promises, written a second time. */
static void look_back(const float *now, double parts[3])
{
    double weight = 1;
    bool found = false;
    for (int k = 0; k < 30; k++, now -= COLUMNS) {
        parts[0] += weight * now[0] * now[1];
        parts[1] += k < 8 ? now[2] / 8.0 : k >= 15 ? -now[2] / 15.0 : 0;
        if (now[4] > 0.9f && !found) parts[2] = now[3];
        found = found || now[4] > 0.9f;
        weight *= 0.85;
    }
}

static void series_need_memory(void **state)
{
    (void)state;
    enum { ROWS = 6000, FIRST = 30, USED = ROWS - FIRST };
    static float values[ROWS * COLUMNS];
    static double means[USED * COLUMNS], last[USED * COLUMNS], parts[USED * 4], targets[USED];
    stk__make_series(0, 0, ROWS, values);
    for (int r = 0; r < USED; r++) {
        const float *now = values + (r + FIRST) * COLUMNS;
        targets[r] = now[STK_MAKE_FEATURES];
        means[r * COLUMNS] = last[r * COLUMNS] = parts[r * 4 + 3] = 1;
        look_back(now, parts + r * 4);
        for (int f = 0; f < STK_MAKE_FEATURES; f++) {
            last[r * COLUMNS + f + 1] = now[f];
            for (int k = 0; k < 30; k++)
                means[r * COLUMNS + f + 1] += now[f - k * COLUMNS] / 30.0;
        }
    }
    assert_true(explained(parts, targets, USED, 4) >= 0.9);
    assert_true(explained(means, targets, USED, COLUMNS) < 0.3);
    assert_true(explained(last, targets, USED, COLUMNS) < 0.5);
}

static void series_of_any_length_start_alike(void **state)
{
    (void)state;
    static float few[50 * COLUMNS], many[200 * COLUMNS];
    stk__make_series(9, 0, 50, few);
    stk__make_series(9, 0, 77, many);
    stk__make_series(9, 77, 200, many);
    assert_memory_equal(few, many, sizeof few);
}

static void kinds_are_found_by_name_and_keys_sort(void **state)
{
    (void)state;
    char key[64];
    for (int kind = 0; kind < STK_MAKE_COUNT; kind++)
        assert_int_equal(stk__make_find(stk__make_describe((stk__make_kind)kind)->name), kind);
    assert_int_equal(stk__make_find("cats"), STK_MAKE_COUNT);
    assert_int_equal(stk__make_find(""), STK_MAKE_COUNT);
    stk__make_key(STK_MAKE_FACES, 17, 1000000, key, sizeof key);
    assert_string_equal(key, "000017");
    stk__make_key(STK_MAKE_FACES, 17, 1000001, key, sizeof key);
    assert_string_equal(key, "0000017");
    stk__make_key(STK_MAKE_GRAY, 14, 100, key, sizeof key);
    assert_string_equal(key, "moon/000014");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_0_never_changes),
        cmocka_unit_test(scratch_content_and_neighbours_do_not_matter),
        cmocka_unit_test(image_and_mask_alone_are_the_same),
        cmocka_unit_test(faces_have_the_size_of_photographs),
        cmocka_unit_test(faces_show_every_class),
        cmocka_unit_test(captchas_have_a_dark_gap_where_they_say),
        cmocka_unit_test(grey_shapes_need_more_than_the_mean_picture),
        cmocka_unit_test(series_need_memory),
        cmocka_unit_test(series_of_any_length_start_alike),
        cmocka_unit_test(kinds_are_found_by_name_and_keys_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
