/* SPDX-License-Identifier: Apache-2.0 */
/* What a look at masks is taken for: number of classes, map, colors, frame, or a refusal with both readings.
 */
#include "loader/mask_decision.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static stk__mask_survey survey;
static stk__mask_given given;
static stk__mask_decision decision;
static stk_error error;

/* Ten masks with these values, ended by -1. */
static void see(const int *values)
{
    survey = (stk__mask_survey){.part_count = 10, .chosen = 10, .looked = 10};
    given = (stk__mask_given){.ignore_index = 255};
    for (; *values >= 0; values++) {
        survey.ids.pixels[*values] = 100;
        survey.ids.masks[*values] = 5;
    }
}

#define SEE(...) see((const int[]){__VA_ARGS__, -1})

static stk_status decide(void)
{
    decision = (stk__mask_decision){.looked = false};
    return stk__mask_decide(&survey, &given, &decision, &error);
}

static void expect_refused(const char *message, const char *hint)
{
    assert_int_not_equal(decide(), STK_OK);
    if (!strstr(error.message, message) || !strstr(error.hint, hint))
        fail_msg("'%s' (%s)\n", error.message, error.hint);
}

static void test_count(void **state)
{
    (void)state;
    SEE(0, 1, 2);
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 3);
    assert_string_equal(decision.count_why, "largest mask id found 2 + 1, in 10 masks");
    assert_string_equal(decision.map, "");

    SEE(0, 1, 2, 7, 255);
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 8);

    given.class_count = 21; /* as asked for: nothing to tell */
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 21);
    assert_string_equal(decision.count_why, "");

    SEE(0, 1, 9);
    given.map = "0:0,1:1,9:2";
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 3);
    assert_string_equal(decision.map, "");

    SEE(0);
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 1);
}

static void test_ignored(void **state)
{
    (void)state;
    SEE(0, 1, 200);
    given.ignore_index = 200;
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 2);
    assert_non_null(strstr(decision.map, "1:1,"));
    assert_non_null(strstr(decision.map, "200:255"));
    assert_non_null(strstr(decision.map_why, "id 200 is ignored"));
    given.ignore_index = 0; /* a class that does not count, but a class */
    SEE(0, 1, 2);
    given.ignore_index = 0;
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 3);
    assert_string_equal(decision.map, "");
}

static void test_binary(void **state)
{
    (void)state;
    SEE(0, 255);
    assert_int_equal(decide(), STK_OK);
    assert_string_equal(decision.map, "0:0,255:1");
    assert_non_null(strstr(decision.map_why, "0 and 255 only"));
    assert_int_equal(decision.class_count, 2);
    given.class_count = 2;
    assert_int_equal(decide(), STK_OK);
    assert_string_equal(decision.map, "0:0,255:1");
    given.class_count = 21;
    expect_refused("0 and 255 (10 masks): 255 is the foreground",
                   "data.mask_map=0:0,255:1 or data.mask_map=none");
    given.map = "none";
    assert_int_equal(decide(), STK_OK);
    assert_string_equal(decision.map, "");

    SEE(255);
    expect_refused("the value 255", "data.mask_map=none");
    given.map = "none";
    expect_refused("are 255: ignored", "data.mask_map");

    SEE(0, 1, 255);
    expect_refused("some masks are 0/1 and others 0/255",
                   "data.mask_map=0:0,1:1,255:1 or data.mask_map=none");
    survey.ids.beside_255 = 3;
    assert_int_equal(decide(), STK_OK);
    assert_string_equal(decision.map, "none");
    assert_string_equal(decision.map_why, "auto: two classes 0 and 1; 255 is ignored (3 masks have both)");
    assert_int_equal(decision.class_count, 2);
}

static void test_levels(void **state)
{
    (void)state;
    SEE(0, 128, 255);
    expect_refused("0, 128 and 255 (10 masks): gray levels",
                   "data.mask_map=0:0,128:1,255:2 or data.mask_map=none");
    SEE(0, 50, 100, 150, 200);
    expect_refused("gray levels", "0:0,50:1,100:2,150:3,200:4");
    SEE(0, 15, 255);
    assert_int_equal(decide(), STK_OK);
    SEE(0, 64, 128);
    given.class_count = 150;
    assert_int_equal(decide(), STK_OK);
    SEE(0, 128, 255);
    survey.indexed = 10; /* of a palette values are ids for certain */
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 129);

    SEE(0, 3, 20, 77, 101, 130, 200, 240, 251, 255);
    survey.ids.pixels[0] = survey.ids.pixels[255] = 10000;
    expect_refused("blurred edges", "data.mask_map=threshold or data.mask_map=none");
    given.map = "threshold";
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 2);
}

static void test_formats(void **state)
{
    (void)state;
    SEE(0, 1);
    survey.lossy = (stk__survey_example){.count = 2, .path = "m/1.jpg"};
    expect_refused("2 of 10 masks are JPEG files", "data.mask_map=threshold");
    assert_string_equal(error.place, "m/1.jpg");
    given.map = "threshold";
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.class_count, 2);

    survey = (stk__mask_survey){.chosen = 4, .unusable = {.count = 4}};
    stk_error broken = {.message = "broken"};
    survey.first_error = broken;
    expect_refused("none of the 4 masks that were looked at is usable; the first: broken", "");
}

static void test_colors(void **state)
{
    (void)state;
    static const stk__survey_color colors[] = {{0, 10, 3}, {0x800000, 5, 2}, {0xe0e0c0, 1, 1}};
    survey = (stk__mask_survey){.part_count = 3, .chosen = 3, .looked = 3, .color_count = 3};
    survey.colored = (stk__survey_example){.count = 2, .path = "m/1.png"};
    survey.gray_rgb = 1;
    memcpy(survey.colors, colors, sizeof colors);
    given = (stk__mask_given){.ignore_index = 255};
    expect_refused(
        "2 of 3 masks are RGB images, with 3 colors in all: #000000 in 3, #800000 in 2, #e0e0c0 in 1",
        "data.mask_colors=voc has all these colors; data.mask_colors=FILE");
    given.colors = "auto";
    assert_int_equal(decide(), STK_OK);
    assert_string_equal(decision.colors, "000000:0,800000:1,e0e0c0:2");
    assert_string_equal(decision.colors_why, "auto: 3 colors found in 3 masks, in ascending order");
    assert_int_equal(decision.class_count, 3);
    given.colors = "voc";
    given.color_classes = 21;
    assert_int_equal(decide(), STK_OK);
    assert_string_equal(decision.colors, "");
    assert_int_equal(decision.class_count, 21);
    assert_string_equal(decision.count_why, "classes of data.mask_colors");

    survey.color_count = 0;
    survey.more_colors = true;
    given = (stk__mask_given){.colors = "auto"};
    expect_refused("data.mask_colors=auto: the RGB masks have more than 64 colors", "data.mask_colors=FILE");
    given.colors = NULL;
    expect_refused("with more than 64 colors in all", "data.mask_colors=FILE");
}

static void test_frame(void **state)
{
    (void)state;
    SEE(0, 1);
    survey.oriented = (stk__survey_example){.count = 4, .path = "m/3.png"};
    expect_refused("4 of 10 images have an EXIF orientation", "data.mask_frame=upright");
    assert_string_equal(error.place, "m/3.png");
    given.frame = STK_MASK_FRAME_UPRIGHT;
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.frame, STK_MASK_FRAME_UPRIGHT);
    assert_string_equal(decision.frame_why, "");

    given.frame = STK_MASK_FRAME_AUTO;
    survey.stored = (stk__survey_example){.count = 2, .path = "m/4.png"};
    assert_int_equal(decide(), STK_OK);
    assert_int_equal(decision.frame, STK_MASK_FRAME_STORED);
    assert_string_equal(decision.frame_why,
                        "auto: by the sizes of 2 of 4 masks of images with an EXIF orientation");
    survey.upright = (stk__survey_example){.count = 1, .path = "m/5.png"};
    expect_refused("2 drawn on the stored pixels ('m/4.png'), 1 on the upright image ('m/5.png')",
                   "turn the masks");
    given.frame = STK_MASK_FRAME_STORED; /* what the sizes contradict cannot be asked for */
    assert_int_equal(decide(), STK_ERROR_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),  cmocka_unit_test(test_ignored), cmocka_unit_test(test_binary),
        cmocka_unit_test(test_levels), cmocka_unit_test(test_formats), cmocka_unit_test(test_colors),
        cmocka_unit_test(test_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
