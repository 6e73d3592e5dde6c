/* SPDX-License-Identifier: Apache-2.0 */
/* A look at masks: the same samples and sums whatever threads do it, what is found, and what is decided by it
 * for a loader. */
#include "loader/loader_open.h"
#include "loader/mask_decision.h"
#include "support/sample_set.h"
#include "support/fail_alloc.h"
#include "support/pictures.h"

#include "core/file.h"
#include "core/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static stk_loader *open_held(const dataset *set, const stk__mask_look *look, stk_error *error)
{
    const stk_loader_options options = {.root = set->root, .batch_size = 4};
    stk_loader *loader = NULL;
    stk__loader_open(&loader, &(stk__loader_setup){.options = &options, .look = look, .held = true}, error);
    return loader;
}

static void put(const dataset *set, const char *name, stk__buffer *bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/masks/%s", set->root, name);
    assert_int_equal(stk__file_write(path, *bytes, STK_FILE_QUICK, NULL), STK_OK);
    stk__buffer_fini(bytes);
}

/* An RGB mask whose left half is `color`, the rest black. */
static void put_colored(const dataset *set, const char *name, const uint8_t color[3])
{
    uint8_t rgb[24 * 16 * 3] = {0};
    stk__buffer bytes = {0};
    for (int i = 0; i < 24 * 16; i++)
        if (i % 24 < 12) memcpy(rgb + (size_t)i * 3, color, 3);
    pictures_png_plain(&bytes, stk__pixels_dense(rgb, 24, 16, 3), 0);
    put(set, name, &bytes);
}

static void test_same_for_all_threads(void **state)
{
    (void)state;
    dataset set = dataset_pairs(40, 24, 16);
    put_colored(&set, "0003.png", (const uint8_t[]){255, 0, 0});
    put_colored(&set, "0030.png", (const uint8_t[]){0, 0, 255});
    put_colored(&set, "0035.png", (const uint8_t[]){9, 9, 9});
    stk_loader *loader = open_held(&set, NULL, NULL);
    assert_non_null(loader);
    for (uint64_t most = 0; most <= 21; most += 7) {
        static stk__mask_survey first, other;
        assert_int_equal(
            stk__mask_survey_run(loader, (stk__survey_options){.most = most, .workers = 1}, &first, NULL),
            STK_OK);
        assert_int_equal(first.chosen, most ? most : 40);
        for (int workers = 2; workers <= 5; workers++) {
            assert_int_equal(stk__mask_survey_run(loader,
                                                  (stk__survey_options){.most = most, .workers = workers},
                                                  &other, NULL),
                             STK_OK);
            other.seconds = first.seconds;
            assert_memory_equal(&first, &other, sizeof first);
        }
        if (most) continue;
        assert_int_equal(first.looked, 40);
        assert_int_equal(first.colored.count, 2);
        assert_int_equal(first.colored.id, 3);
        assert_non_null(strstr(first.colored.path, "/masks/0003.png"));
        assert_int_equal(first.gray_rgb, 1);
        assert_int_equal(first.color_count, 4); /* black, blue, gray, red */
        assert_int_equal(first.colors[1].color, 0x0000ff);
        assert_int_equal(first.colors[0].masks, 3);
        assert_int_equal(first.colors[1].pixels, 12 * 16);
        assert_int_equal(first.ids.pixels[9], 0); /* gray counts as ids only where no mask has colors */
        assert_int_equal(first.ids.pixels[4] > 0, 1);
        assert_int_equal(first.ids.pixels[5], 0);
    }
    stk_loader_close(&loader);
    dataset_remove(&set);
}

static void test_damaged(void **state)
{
    (void)state;
    dataset set = dataset_pairs(5, 24, 16);
    stk__buffer broken = {0};
    static stk__mask_survey survey;
    assert_int_equal(stk__buffer_reserve(&broken, 4, NULL), STK_OK);
    memcpy(broken.data, "text", 4);
    broken.size_bytes = 4;
    put(&set, "0002.png", &broken);
    put_colored(&set, "0004.png", (const uint8_t[]){9, 9, 9});
    stk_loader *loader = open_held(&set, NULL, NULL);
    assert_int_equal(stk__mask_survey_run(loader, (stk__survey_options){0}, &survey, NULL), STK_OK);
    assert_int_equal(survey.looked, 4);
    assert_int_equal(survey.unusable.count, 1);
    assert_int_equal(survey.unusable.id, 2);
    assert_string_equal(survey.first_error.message, "not a JPEG, PNG or npy file");
    assert_int_equal(survey.ids.pixels[9], 12 * 16); /* gray saved as RGB */
    stk_loader_close(&loader);
    dataset_remove(&set);
}

static void test_decided(void **state)
{
    (void)state;
    dataset set = dataset_pairs(6, 24, 16);
    const stk__mask_look look = {.ignore_index = 255}, asked = {.ignore_index = 255, .class_count = 19};
    stk_error error;
    stk_loader *loader = open_held(&set, &look, &error);
    assert_non_null(loader);
    assert_int_equal(stk_loader_describe(loader)->class_count, 5);
    assert_string_equal(stk__loader_masks(loader)->count_why, "largest mask id found 4 + 1, in 6 masks");
    stk_loader_close(&loader);
    loader = open_held(&set, &asked, &error);
    assert_int_equal(stk_loader_describe(loader)->class_count, 19);
    stk_loader_close(&loader);
    loader = open_held(&set, NULL, &error); /* nobody looks */
    assert_int_equal(stk_loader_describe(loader)->class_count, 0);
    assert_null(stk__loader_masks(loader));
    stk_loader_close(&loader);
    put_colored(&set, "0004.png", (const uint8_t[]){255, 0, 0});
    assert_null(open_held(&set, &look, &error));
    assert_non_null(strstr(error.message, "1 of 6 masks are RGB images, with 2 colors in all"));
    dataset_remove(&set);
}

static stk_status survey_once(void *context, stk_error *error)
{
    static stk__mask_survey survey;
    return stk__mask_survey_run(context, (stk__survey_options){.most = 3, .workers = 1}, &survey, error);
}

static void test_no_memory(void **state)
{
    (void)state;
    dataset set = dataset_pairs(5, 24, 16);
    stk_loader *loader = open_held(&set, NULL, NULL);
    assert_true(fail_alloc_each(survey_once, loader) > 3);
    stk_loader_close(&loader);
    dataset_remove(&set);
}

int main(void)
{
    setenv("STOKER_CACHE_DIR", "/dev/null/nowhere", 1); /* each look is a new one (test_survey_store.c) */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_for_all_threads),
                                       cmocka_unit_test(test_damaged), cmocka_unit_test(test_decided),
                                       cmocka_unit_test(test_no_memory)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__pool_stop();
    return failed;
}
