/* SPDX-License-Identifier: Apache-2.0 */
/* No false alarm: thousands of good files of every kind load with the strictest policy, without a line in the
 * ledger. */
#include "loader/damage_operators.h"
#include "loader/test_folder.h"
#include "support/pictures.h"

#include "core/file.h"
#include "stoker/loader.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { IMAGES = 3000, PAIRS = 500, MOST_SIDE = 48, MOST_SAMPLES = MOST_SIDE * MOST_SIDE * 4 };

static uint32_t seed = 2024;

static int roll(int below)
{
    return (int)(pictures_random(&seed) % (uint32_t)below);
}

static void draw_jpeg(stk__buffer *out, int32_t w, int32_t h, int orientation)
{
    static const int channels[] = {3, 1, 3, 4, 4};
    const int space = roll(5);
    const pictures_jpeg_options options = {.quality = 1 + roll(100),
                                           .sampling = roll(3),
                                           .space = (pictures_space)space,
                                           .progressive = roll(3) == 0,
                                           .no_adobe = space == PICTURES_CMYK && roll(2),
                                           .orientation = orientation,
                                           .exif_big = roll(2),
                                           .restart_rows = roll(4) == 0};
    const stk__pixels pixels = pictures_draw(w, h, channels[space], seed);
    pictures_jpeg(out, pixels, &options);
    stk__free(pixels.data);
}

/* Random samples below a number; in a palette of 256 colours when the type is 3. */
static void draw_png(stk__buffer *out, int32_t w, int32_t h, pictures_png_options options, uint32_t below)
{
    static uint16_t samples[MOST_SAMPLES];
    static uint8_t palette[256 * 3];
    const bool flat = roll(8) == 0; /* compresses best */
    for (size_t i = 0; i < MOST_SAMPLES; i++)
        samples[i] = (uint16_t)(flat ? 0 : pictures_random(&seed) % below);
    for (size_t i = 0; i < sizeof palette; i++)
        palette[i] = (uint8_t)roll(256);
    options.palette = options.colour == 3 ? palette : NULL;
    options.palette_count = options.depth == 8 ? 256 : 1 << options.depth;
    options.filter = roll(6);
    options.idat_bytes = roll(3) == 0 ? 1 + roll(200) : 0;
    options.interlaced = roll(3) == 0;
    options.extra = roll(3) == 0;
    pictures_png(out, samples, w, h, &options);
}

static const pictures_png_options kinds[] = {
    {.colour = 0, .depth = 1}, {.colour = 0, .depth = 2},  {.colour = 0, .depth = 4},
    {.colour = 0, .depth = 8}, {.colour = 3, .depth = 1},  {.colour = 3, .depth = 2},
    {.colour = 3, .depth = 4}, {.colour = 3, .depth = 8},  {.colour = 0, .depth = 16},
    {.colour = 4, .depth = 8}, {.colour = 4, .depth = 16}, /* ids end here */
    {.colour = 2, .depth = 8}, {.colour = 2, .depth = 16}, {.colour = 6, .depth = 8},
    {.colour = 6, .depth = 16}};
enum { KINDS = sizeof kinds / sizeof kinds[0], KINDS_OF_IDS = 11 };

static void draw_npy(stk__buffer *out, int32_t w, int32_t h)
{
    char text[128];
    const stk__pixels pixels = pictures_draw(w, h, roll(2) ? 3 : 1, seed);
    snprintf(text, sizeof text, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d), }\n", h, w,
             pixels.channels);
    pictures_npy(out, 1 + roll(3), text, pixels.data, (size_t)w * (size_t)h * (size_t)pixels.channels);
    stk__free(pixels.data);
}

static void write_below(const char *name, int number, const char *extension, const stk__buffer *bytes)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%04d.%s", root, name, number, extension);
    damage_write(path, bytes);
}

static void make_folder(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(stk__folder_make(path, NULL), STK_OK);
}

static void refuse_line(void *context, const stk_ledger_entry *entry)
{
    print_error("%s: %s: %s\n", stk_damage_name(entry->damage), entry->path, entry->detail);
    ++*(int *)context;
}

static void check_clean(const char *name, int count)
{
    char path[PATH_MAX];
    int alarms = 0;
    stk_loader *loader = NULL;
    stk_error error = {0};
    stk_status status;
    stk_batch *batch;
    int64_t samples = 0;
    snprintf(path, sizeof path, "%s/%s", root, name);
    const stk_loader_options options = {.root = path, .num_workers = 2, .epochs = 1, .seed = 3};
    if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
    stk_loader_set_ledger(loader, refuse_line, &alarms);
    while ((status = stk_loader_next(loader, &batch, &error)) == STK_OK) {
        for (int64_t i = 0; i < batch->count; i++)
            assert_true(((const float *)batch->weights.data)[i] == 1);
        samples += batch->count;
        stk_batch_release(batch);
    }
    assert_int_equal(alarms, 0);
    assert_int_equal(status, STK_END);
    assert_int_equal(samples, count);
    stk_loader_close(&loader);
}

static void good_images_raise_no_alarm(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    make_folder("images-only");
    for (int i = 0; i < IMAGES; i++) {
        const int32_t w = 1 + roll(MOST_SIDE), h = 1 + roll(MOST_SIDE);
        const pictures_png_options *kind = &kinds[roll(KINDS)];
        const int choice = roll(10);
        if (choice < 5)
            draw_jpeg(&bytes, w, h, roll(9));
        else if (choice < 9)
            draw_png(&bytes, w, h, *kind, 1u << kind->depth);
        else
            draw_npy(&bytes, w, h);
        write_below("images-only", i, choice < 5 ? "JPG" : choice < 9 ? "png" : "npy", &bytes);
    }
    stk__buffer_fini(&bytes);
    check_clean("images-only", IMAGES);
}

/* A mask has the size of the stored image or of the upright one. */
static void good_pairs_raise_no_alarm(void **state)
{
    (void)state;
    stk__buffer bytes = {0}, names = {0};
    make_folder("pairs/images");
    make_folder("pairs/masks");
    assert_int_equal(stk__buffer_append(&names, "sky\nsea\n", 8, NULL), STK_OK);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/pairs/classes.txt", root);
    damage_write(path, &names);
    for (int i = 0; i < PAIRS; i++) {
        const int32_t w = 1 + roll(MOST_SIDE), h = 1 + roll(MOST_SIDE);
        const int drawn = roll(9);
        /* Sizes prove the frame of the mask; others need data.mask_frame (test_mask_frames.c). */
        const int orientation = drawn > 4 && w != h ? drawn : drawn < 2 ? drawn : 1;
        const bool turned = orientation > 4 && roll(2);
        draw_jpeg(&bytes, w, h, orientation);
        write_below("pairs/images", i, "jpeg", &bytes);
        draw_png(&bytes, turned ? h : w, turned ? w : h, kinds[roll(KINDS_OF_IDS)], 2);
        write_below("pairs/masks", i, "PNG", &bytes);
    }
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&names);
    check_clean("pairs", PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_images_raise_no_alarm),
        cmocka_unit_test(good_pairs_raise_no_alarm),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
