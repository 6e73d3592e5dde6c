/* SPDX-License-Identifier: Apache-2.0 */
/* Images of all EXIF orientations, square and oblong, with masks and points drawn on the stored or on the
 * upright pixels: loaded in step with the image, or refused with the setting that says which. With and
 * without a cache, and as a data set that is looked at before training. */
#include "image/orientation.h"
#include "loader/loader_open.h"
#include "loader/mask_decision.h"
#include "support/sample_set.h"
#include "support/pictures.h"

#include "core/file.h"
#include "core/pool.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { LONG = 48, SHORT = 32 };

/* A sample: its stored pixels have a bright corner; mask and points mark it, in one of the frames. */
typedef struct sample {
    int orientation;
    bool square, upright, points;
} sample;

static void put(const dataset *set, const char *name, stk__buffer *bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%.*s", set->root, (int)(strrchr(name, '/') - name), name);
    assert_int_equal(stk__folder_make(path, NULL), STK_OK);
    snprintf(path, sizeof path, "%s/%s", set->root, name);
    assert_int_equal(stk__file_write(path, *bytes, STK_FILE_QUICK, NULL), STK_OK);
    stk__buffer_fini(bytes);
}

/* Upper left quarter: value, else 0. */
static stk__pixels corner(uint8_t *memory, int32_t w, int32_t h, uint8_t value)
{
    const stk__pixels pixels = stk__pixels_dense(memory, w, h, 1);
    for (int32_t i = 0; i < w * h; i++)
        memory[i] = i % w < w / 2 && i / w < h / 2 ? value : 0;
    return pixels;
}

static void put_image(const dataset *set, const char *name, const sample *s)
{
    uint8_t stored[LONG * LONG];
    stk__buffer file = {0};
    pictures_jpeg(
        &file, corner(stored, LONG, s->square ? LONG : SHORT, 255),
        &(pictures_jpeg_options){.space = PICTURES_GREY, .quality = 100, .orientation = s->orientation});
    put(set, name, &file);
}

static void put_mask(const dataset *set, const char *name, const sample *s)
{
    uint8_t stored[LONG * LONG], turned[LONG * LONG];
    const int32_t w = LONG, h = s->square ? LONG : SHORT;
    const bool swaps = stk__orientation_swaps(s->orientation);
    stk__pixels mask = corner(stored, w, h, 1);
    if (s->upright) {
        const stk__pixels to = stk__pixels_dense(turned, swaps ? h : w, swaps ? w : h, 1);
        stk__orientation_apply(mask, to, s->orientation);
        mask = to;
    }
    stk__buffer file = {0};
    pictures_png_plain(&file, mask, 0);
    put(set, name, &file);
}

/* The middle of the bright corner: in the stored frame, or turned. */
static void put_points(const dataset *set, const sample *s)
{
    static const bool from_right[9] = {0, 0, 1, 1, 0, 0, 1, 1, 0},
                      from_bottom[9] = {0, 0, 0, 1, 1, 0, 0, 1, 1};
    const int o = s->orientation;
    const double w = LONG, h = s->square ? LONG : SHORT;
    double x = w / 4, y = h / 4;
    if (s->upright) {
        const bool swaps = stk__orientation_swaps(o);
        const double up_w = swaps ? h : w, up_h = swaps ? w : h;
        x = from_right[o] ? up_w * 3 / 4 : up_w / 4;
        y = from_bottom[o] ? up_h * 3 / 4 : up_h / 4;
    }
    char text[256];
    stk__buffer file = {0};
    snprintf(text, sizeof text, "file,p_x,p_y\nimages/a.jpg,%g,%g\n", x, y);
    assert_int_equal(stk__buffer_append(&file, text, strlen(text), NULL), STK_OK);
    put(set, "./points.csv", &file);
}

static dataset make(const sample *s)
{
    const dataset set = dataset_empty();
    put_image(&set, "images/a.jpg", s);
    if (s->points)
        put_points(&set, s);
    else
        put_mask(&set, "masks/a.png", s);
    return set;
}

static void check_mask(const stk_batch *batch)
{
    const uint8_t *image = batch->images.data, *mask = batch->masks.data;
    const int64_t pixels = batch->images.shape[1] * batch->images.shape[2];
    int64_t ones = 0;
    for (int64_t i = 0; i < pixels; i++) {
        assert_int_equal(image[i] > 127, mask[i]);
        ones += mask[i];
    }
    assert_int_equal(ones, pixels / 4);
}

static void check_points(const stk_batch *batch)
{
    const uint8_t *image = batch->images.data;
    const float *point = batch->points.data;
    const int64_t h = batch->images.shape[1], w = batch->images.shape[2];
    const int64_t at = (int64_t)point[1] * w + (int64_t)point[0];
    assert_int_equal(image[at] > 127, 1);
    assert_true(fabsf(fabsf(point[0] - (float)w / 2) - (float)w / 4) < 0.01f);
    assert_true(fabsf(fabsf(point[1] - (float)h / 2) - (float)h / 4) < 0.01f);
}

/* Two epochs, so that a cache is used; in step, or the status and the error of what was refused. */
static stk_status load(const dataset *set, const sample *s, stk_mask_frame frame, const char *cache,
                       stk_error *error)
{
    char root[512];
    snprintf(root, sizeof root, "%s%s", set->root, s->points ? "/points.csv" : "");
    const stk_loader_options options = {.root = root,
                                        .batch_size = 1,
                                        .num_workers = STK_WORKERS_NONE,
                                        .mask_frame = frame,
                                        .on_bad_sample = STK_BAD_SKIP,
                                        .cache = cache,
                                        .epochs = 2};
    stk_loader *loader;
    stk_batch *batch;
    STK__TRY(stk_loader_open(&loader, &options, error));
    stk_status status = STK_OK;
    for (int epoch = 0; epoch < 2 && status == STK_OK; epoch++) {
        status = stk_loader_next(loader, &batch, error);
        if (status != STK_OK) break;
        s->points ? check_points(batch) : check_mask(batch);
        stk_batch_release(batch);
        assert_int_equal(stk_loader_next(loader, &batch, error), STK_END);
    }
    stk_loader_close(&loader);
    return status;
}

static void check_sample(const sample *s)
{
    stk_error error = {.code = STK_OK};
    dataset set = make(s);
    const bool oriented = s->orientation != 1, proven = s->orientation >= 5 && !s->square && !s->points;
    const stk_mask_frame right = s->upright ? STK_MASK_FRAME_UPRIGHT : STK_MASK_FRAME_STORED,
                         wrong = s->upright ? STK_MASK_FRAME_STORED : STK_MASK_FRAME_UPRIGHT;
    assert_int_equal(load(&set, s, right, NULL, &error), STK_OK);
    assert_int_equal(load(&set, s, right, "1M", &error), STK_OK);
    const stk_status status = load(&set, s, STK_MASK_FRAME_AUTO, NULL, &error);
    assert_int_equal(status, oriented && !proven ? STK_ERROR_CONFIG : STK_OK);
    if (status != STK_OK) {
        assert_non_null(strstr(error.hint, "data.mask_frame=upright"));
        assert_non_null(strstr(error.place, "/a."));
    }
    if (proven) {
        assert_int_equal(load(&set, s, wrong, NULL, &error), STK_ERROR_CONFIG);
        assert_non_null(
            strstr(error.hint, s->upright ? "data.mask_frame=upright" : "data.mask_frame=stored"));
    }
    dataset_remove(&set);
}

static void test_all(void **state)
{
    (void)state;
    for (int orientation = 1; orientation <= 8; orientation++)
        for (int bits = 0; bits < 8; bits++)
            check_sample(&(sample){orientation, bits & 1, bits & 2, bits & 4});
}

/* --- data sets that are looked at --------------------------------------------------------------------------
 */

static dataset make_set(const sample *samples, int count)
{
    const dataset set = dataset_empty();
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "images/%02d.jpg", i);
        put_image(&set, name, &samples[i]);
        snprintf(name, sizeof name, "masks/%02d.png", i);
        put_mask(&set, name, &samples[i]);
    }
    return set;
}

static stk_status look_at(const dataset *set, stk_mask_frame *frame, stk_error *error)
{
    const stk_loader_options options = {
        .root = set->root, .batch_size = 1, .image_size = {32, 32}, .epochs = 1};
    const stk__mask_look look = {.ignore_index = 255};
    stk_loader *loader;
    stk_batch *batch;
    STK__TRY(stk__loader_open(&loader, &(stk__loader_setup){.options = &options, .look = &look}, error));
    *frame = stk__loader_masks(loader)->frame;
    stk_status status;
    while ((status = stk_loader_next(loader, &batch, error)) == STK_OK) {
        check_mask(batch);
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    return status == STK_END ? STK_OK : status;
}

/* The same without a look before: the first sample that cannot tell asks the others. */
static stk_status load_all(const dataset *set, int64_t workers, stk_error *error)
{
    const stk_loader_options options = {.root = set->root,
                                        .batch_size = 1,
                                        .image_size = {32, 32},
                                        .epochs = 1,
                                        .num_workers = workers,
                                        .shuffle = STK_SWITCH_OFF};
    stk_loader *loader;
    stk_batch *batch;
    stk_status status;
    STK__TRY(stk_loader_open(&loader, &options, error));
    while ((status = stk_loader_next(loader, &batch, error)) == STK_OK) {
        check_mask(batch);
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    return status == STK_END ? STK_OK : status;
}

/* What some samples prove holds for those that cannot. */
static void test_decided_for_all(void **state)
{
    (void)state;
    stk_error error;
    for (int upright = 0; upright < 2; upright++) {
        const sample samples[] = {{1, false, false, false},
                                  {3, false, upright, false},
                                  {6, false, upright, false},
                                  {6, true, upright, false},
                                  {2, true, upright, false}};
        stk_mask_frame frame = STK_MASK_FRAME_AUTO;
        dataset set = make_set(samples, 5);
        assert_int_equal(look_at(&set, &frame, &error), STK_OK);
        assert_int_equal(frame, upright ? STK_MASK_FRAME_UPRIGHT : STK_MASK_FRAME_STORED);
        for (int64_t workers = STK_WORKERS_NONE; workers <= 3; workers += 3 - STK_WORKERS_NONE)
            assert_int_equal(load_all(&set, workers, &error), STK_OK);
        dataset_remove(&set);
    }
}

static void test_undecided(void **state)
{
    (void)state;
    stk_error error;
    stk_mask_frame frame;
    const sample open[] = {{1, false, false, false}, {3, false, true, false}, {4, true, true, false}};
    dataset set = make_set(open, 3);
    assert_int_equal(look_at(&set, &frame, &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.message, "2 of 3 images have an EXIF orientation"));
    assert_non_null(strstr(error.place, "/masks/01.png"));
    assert_int_equal(load_all(&set, STK_WORKERS_NONE, &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.place, "/masks/01.png"));
    dataset_remove(&set);
    const sample both[] = {{6, false, false, false}, {8, false, true, false}};
    set = make_set(both, 2);
    assert_int_equal(look_at(&set, &frame, &error), STK_ERROR_DATA);
    assert_non_null(strstr(error.message, "masks/00.png"));
    assert_non_null(strstr(error.message, "masks/01.png"));
    assert_int_equal(load_all(&set, STK_WORKERS_NONE, &error), STK_OK); /* each proves its own */
    dataset_remove(&set);
    const sample neither[] = {{6, false, false, false}, {8, false, true, false}, {3, false, true, false}};
    set = make_set(neither, 3);
    for (int64_t workers = STK_WORKERS_NONE; workers <= 3; workers += 3 - STK_WORKERS_NONE) {
        assert_int_equal(load_all(&set, workers, &error), STK_ERROR_DATA);
        assert_non_null(strstr(error.message, "do not agree"));
    }
    dataset_remove(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_decided_for_all),
                                       cmocka_unit_test(test_undecided)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__pool_stop();
    return failed;
}
