/* SPDX-License-Identifier: Apache-2.0 */
/* Rule by rule: clean statistics of each kind of data give no finding; one change gives the finding of one
 * rule with its numbers; and where a setting answers it, or too little was looked at, there is none. */
#include "session/stats/data_findings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { CLASSES = 4, POINTS = 2, COLUMNS = 3 };

static const char *const names[CLASSES] = {"sky", "sea", "sand", "rock"};
static uint64_t labels[CLASSES];
static stk__data_point points[POINTS];
static stk__data_column columns[COLUMNS];
static stk__data_stats stats; /* large */

/* 120 images of one size with labels of four classes. */
static stk__data_stats *clean_labels(void)
{
    stats = (stk__data_stats){.samples = 120, .labels = labels, .masks = 0};
    stats.info = (stk_loader_info){.layout = "folder of classes",
                                   .sample_count = 120,
                                   .classes = true,
                                   .class_count = CLASSES,
                                   .class_names = names,
                                   .w = 32,
                                   .h = 24,
                                   .channels = 3};
    stats.files[STK_FIELD_IMAGE].count = stats.files[STK_FIELD_IMAGE].rgb = 120;
    stats.sizes.different = 1;
    stats.sizes.w_counts[32] = stats.sizes.h_counts[24] = 120;
    stats.duplicates = stats.overlap = (stk__content_matches){.example = {-1, -1}};
    for (int i = 0; i < CLASSES; i++)
        labels[i] = 30;
    return &stats;
}

static stk__data_stats *clean_masks(void)
{
    clean_labels();
    stats.labels = NULL;
    stats.info.classes = false;
    stats.info.masks = true;
    stats.masks = 120;
    for (int id = 0; id < CLASSES; id++) { /* rare in pixels, but in most masks */
        stats.mask_pixels[id] = id ? 1000 : 1000000;
        stats.mask_samples[id] = id ? 60 : 120;
    }
    return &stats;
}

static stk__data_stats *clean_points(void)
{
    clean_labels();
    stats.labels = NULL;
    stats.info.classes = false;
    stats.info.class_count = 0;
    stats.info.class_names = NULL;
    stats.info.point_count = POINTS;
    stats.points = points;
    for (int i = 0; i < POINTS; i++)
        points[i] = (stk__data_point){.visible = 110, .missing = 10, .x_most = 31, .y_most = 23};
    return &stats;
}

static stk__data_stats *clean_series(void)
{
    stats = (stk__data_stats){.samples = 141, .rows = 200, .columns = columns, .column_count = COLUMNS};
    stats.info = (stk_loader_info){
        .layout = "series", .sample_count = 141, .values = true, .window_rows = 60, .feature_count = 2};
    stats.duplicates = stats.overlap = (stk__content_matches){.example = {-1, -1}};
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = (stk__data_column){.mean = 5, .std = 2, .least = 0, .most = 10, .count = 200};
        snprintf(columns[i].name, sizeof columns[i].name, "column%d", i);
    }
    columns[0].step = 1;
    return &stats;
}

static void add_event(stk__data_event *event, uint64_t count, const char *path)
{
    event->count = count;
    event->id = 7;
    snprintf(event->path, sizeof event->path, "%s", path);
}

/* Exactly one finding: that one. */
static stk__finding only(const char *id, const char *text)
{
    stk__finding list[STK_FINDING_MOST];
    const int count = stk__data_findings(&stats, list);
    if (count != 1 || strcmp(list[0].id, id) != 0)
        for (int i = 0; i < count; i++)
            print_message("%s: %s\n", list[i].id, list[i].text);
    assert_int_equal(count, 1);
    assert_string_equal(list[0].id, id);
    if (!strstr(list[0].text, text)) fail_msg("'%s' is not in '%s'", text, list[0].text);
    assert_true(list[0].hint[0] != '\0');
    return list[0];
}

static void none(void)
{
    stk__finding list[STK_FINDING_MOST];
    if (stk__data_findings(&stats, list)) fail_msg("%s: %s", list[0].id, list[0].text);
}

static void clean_sets(void **state)
{
    (void)state;
    clean_labels();
    none();
    clean_masks();
    none();
    clean_points();
    none();
    clean_series();
    none();
}

static void files(void **state)
{
    (void)state;
    add_event(&clean_labels()->damages[STK_DAMAGE_TRUNCATED], 2, "a.jpg");
    add_event(&stats.damages[STK_DAMAGE_EMPTY], 1, "b.jpg");
    stats.damages[STK_DAMAGE_EMPTY].id = 3;
    const stk__finding f =
        only("corrupt_samples", "3 of 120 samples cannot be loaded (1 empty, 2 truncated)");
    assert_int_equal(f.severity, STK_SEVERITY_ERROR);
    assert_int_equal(f.count, 3);
    assert_int_equal(f.sample_ids[0], 3);
    assert_string_equal(f.paths[0], "b.jpg");

    add_event(&clean_labels()->damages[STK_DAMAGE_WRONG_EXTENSION], 1, "a.png");
    only("misnamed_files", "1 file is of another format");
    add_event(&clean_labels()->files[STK_FIELD_IMAGE].misnamed, 4, "a.png");
    only("misnamed_files", "4 files are of another format");
    stk__data_stats *masks = clean_labels();
    add_event(&masks->damages[STK_DAMAGE_MASK_FORMAT], 3, "a.png");
    only("corrupt_samples", "3 of 120 samples cannot be loaded (3 mask_format)");
    stk__finding found[STK_FINDING_MOST];
    assert_int_equal(stk__data_findings(masks, found), 1);
    assert_non_null(strstr(found[0].hint, "data.mask_colors=auto"));
    clean_labels()->loaded.warning_files = 1;
    only("decoder_warnings", "1 file has decoder warnings");

    clean_labels()->loaded.warning_files = 2;
    only("decoder_warnings", "2 files have decoder warnings that are not damage");

    clean_labels()->left_out_count = 1;
    stats.left_out[0] = (stk__left_out){"webp files: unsupported format", "x.webp", 5};
    assert_string_equal(only("left_out", "5 files or rows are not used: webp").paths[0], "x.webp");
    clean_labels()->left_out_count = 2;
    stats.left_out[0] = (stk__left_out){"column 'age' of the list: not used", "", 120};
    stats.left_out[1] = (stk__left_out){"column 3 of the list, without a name: not used", "", 120};
    only("unused_columns", "2 columns of the list are not used: column 'age', and others");
    clean_labels()->left_out_count = 1;
    stats.left_out[0] = (stk__left_out){"column 'age' of the list: not used", "", 120};
    only("unused_columns", "1 column of the list is not used: column 'age'");
    clean_labels()->left_out_count = STK_LEFT_OUT_MOST;
    for (int i = 0; i < STK_LEFT_OUT_MOST; i++)
        stats.left_out[i] = (stk__left_out){"column 'age' of the list: not used", "", 120};
    strcpy(stats.left_out[STK_LEFT_OUT_MOST - 1].what, "other");
    only("unused_columns", "16 columns or more of the list are not used");
    clean_masks()->orphans = 1;
    only("left_out", "1 mask without an image is not used");
}

static void contents(void **state)
{
    (void)state;
    clean_labels()->duplicates = (stk__content_matches){1, 2, {4, 9}};
    snprintf(stats.duplicate_paths[1], sizeof stats.duplicate_paths[1], "b.png");
    stk__finding f = only("duplicates", "2 of 120 images have the same bytes");
    assert_int_equal(f.sample_ids[1], 9);
    assert_string_equal(f.paths[1], "b.png");
    clean_labels()->overlap = (stk__content_matches){1, 1, {4, 9}};
    stats.other_part = "val";
    f = only("train_val_overlap", "1 of 120 images is also in part val");
    assert_int_equal(f.severity, STK_SEVERITY_ERROR);
    assert_int_equal(f.sample_ids[0], 4);
    assert_int_equal(f.sample_ids[1], -1); /* an id of the other part */
    snprintf(clean_labels()->other_error, sizeof stats.other_error, "found no images in 'val'");
    stats.other_part = "val";
    only("part_unusable", "part val cannot be opened: found no images in 'val'");
}

static void images(void **state)
{
    (void)state;
    add_event(&clean_labels()->sizes.tiny, 1, "a.png");
    only("tiny_images", "1 of 120 images is less than 8 px wide or high");
    add_event(&clean_labels()->constant, 2, "a.png");
    only("constant_images", "2 of 120 images have one color");

    clean_labels()->sizes.different = 2;
    stats.sizes.w_counts[32] = stats.sizes.h_counts[24] = 100;
    stats.sizes.w_counts[64] = stats.sizes.h_counts[48] = 20;
    assert_non_null(strstr(only("mixed_sizes", "2 sizes, 32 to 64 px wide and 24 to 48 px high").hint,
                           "image_size=32x24"));
    stats.size_fixed = true;
    none();

    clean_labels()->files[STK_FIELD_IMAGE].gray = 20;
    only("mixed_channels", "20 images are grayscale, 120 have colors");
    stats.channels_fixed = true;
    none();
}

static void masks(void **state)
{
    (void)state;
    add_event(&clean_masks()->damages[STK_DAMAGE_MASK_IDS], 3, "a.png");
    only("mask_ids_out_of_range", "3 of 120 masks have ids beyond the 4 classes");
    add_event(&clean_masks()->damages[STK_DAMAGE_MASK_MISSING], 1, "a.png");
    only("labels_missing", "1 of 120 images has no mask");
    add_event(&clean_masks()->no_class, 2, "a.png");
    only("empty_masks", "2 of 120 masks have background or ignored pixels only");
    clean_masks();
    stats.mask_pixels[3] = stats.mask_samples[3] = 0;
    only("classes_without_samples", "1 of 4 classes has no sample: 'rock'");
    stats.limited = true;
    none();
    clean_masks()->mask_samples[3] = 5;
    only("class_imbalance", "class 'rock' has 5 samples, class 'sky' has 120: 24 times as many");
}

/* 0 and 255: class 1 and not ignored, unless the user says so; values that training refuses are an error. */
static void mask_readings(void **state)
{
    (void)state;
    stk_error error;
    for (int asked = 0; asked < 2; asked++) {
        clean_masks()->info.class_count = 0;
        memset(stats.mask_pixels, 0, sizeof stats.mask_pixels);
        memset(stats.mask_samples, 0, sizeof stats.mask_samples);
        stats.mask_pixels[0] = stats.mask_pixels[255] = 5000;
        stats.mask_samples[0] = stats.mask_samples[255] = 120;
        add_event(&stats.no_class, 120, "a.png");
        assert_int_equal(stk__data_masks_judge(&stats, asked ? "none" : NULL, &error), STK_OK);
        if (asked)
            only("empty_masks", "120 of 120");
        else
            assert_int_equal(only("binary_masks", "255 is read as class 1").severity, STK_SEVERITY_NOTE);
        assert_int_equal(stats.mask_pixels[1], asked ? 0 : 5000);
        assert_int_equal(stk__data_classes_of(&stats).count, asked ? 1 : 2);
    }
    clean_masks()->info.class_count = 0;
    memset(stats.mask_pixels, 0, sizeof stats.mask_pixels);
    for (int id = 0; id < 256; id += 100)
        stats.mask_pixels[id] = stats.mask_samples[id] = 60;
    assert_int_equal(stk__data_masks_judge(&stats, NULL, &error), STK_OK);
    assert_non_null(strstr(only("mask_values", "0, 100 and 200").hint, "data.mask_map=0:0,100:1,200:2"));
    stats.masks_refused[0] = '\0';
    assert_int_equal(stk__data_masks_judge(&stats, "none", &error), STK_OK);
    none();
}

static void check_alike(const char *a, const char *b, bool alike)
{
    const char *const four[CLASSES] = {"sky", a, "sand", b};
    clean_labels()->info.class_names = four;
    char text[200];
    snprintf(text, sizeof text, "classes '%s' and '%s' differ in case or surrounding blanks alone", a, b);
    if (alike)
        only("similar_classes", text);
    else
        none();
}

/* Two classes stay two, but hardly anybody means it. */
static void similar_names(void **state)
{
    (void)state;
    check_alike("Cat", "cat", true);
    check_alike("cat ", "cat", true);
    check_alike(" Cat\t", "cAT", true);
    check_alike("cat", "cats", false);
    check_alike("c at", "cat", false);
    check_alike("cat_", "cat", false);
    check_alike("", "cat", false);
    const char *const many[CLASSES] = {"b", "B", "a", "A"};
    clean_labels()->info.class_names = many;
    assert_int_equal(only("similar_classes", "classes 'b' and 'B', and others, differ in case").count, 2);
}

static void classes(void **state)
{
    (void)state;
    clean_labels();
    labels[2] = 1;
    only("class_imbalance", "class 'sand' has 1 sample, class 'sky' has 30: 30 times as many");
    stats.limited = true;
    none();
    clean_labels();
    labels[1] = labels[2] = 0;
    only("classes_without_samples", "2 of 4 classes have no sample: 'sea', 'sand'");
    add_event(&clean_labels()->unlabelled, 1, "a.png");
    only("labels_missing", "1 of 120 samples has no label");
    clean_labels()->info.classes = false;
    stats.labels = NULL;
    stats.info.class_count = 0;
    only("no_targets", "neither masks, labels, points nor values");
}

static void point_rules(void **state)
{
    (void)state;
    add_event(&clean_points()->outside, 6, "a.png");
    only("points_outside", "6 of 120 images have points outside");
    clean_points();
    points[1].visible = 0;
    only("points_missing", "1 of 2 points is visible in no image: 2");
}

static void series(void **state)
{
    (void)state;
    clean_series()->bad_rows = 2;
    columns[1].not_numbers = 2;
    add_event(&stats.damages[STK_DAMAGE_BAD_VALUES], 90, "x.csv:17");
    assert_string_equal(only("series_nan", "2 of 200 rows").paths[0], "x.csv:17");
    clean_series();
    columns[0].gaps = 3;
    columns[0].gap = 12;
    only("series_gaps", "column 'column0' rises by 1 from row to row, but 3 times by more, at most by 12");
    clean_series();
    columns[1].least = columns[1].most = 4;
    only("constant_features", "1 of 3 columns has the same value in all rows: 'column1'");
}

static void values(void **state)
{
    (void)state;
    static const struct {
        double least, most;
        bool coarse;
    } cases[] = {{1.7e9, 1.7e9, true},
                 {1.7e9, 1.7e9 + 4096, true},
                 {1.7e9, 1.7e9 + 86400, false},
                 {-5, -5, true},
                 {0, 0, true},
                 {-3, -2.999999, true},
                 {0, 1e-6, false},
                 {-1e9, 1, false},
                 {1, 1.001, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        clean_labels()->value_count = 120;
        stats.value_least = cases[i].least;
        stats.value_most = cases[i].most;
        stk__finding found[STK_FINDING_MOST];
        assert_int_equal(stk__data_findings(&stats, found), cases[i].coarse);
        if (cases[i].coarse) assert_string_equal(found[0].id, "coarse_values");
    }
    clean_labels()->value_count = 1;
    assert_int_equal(stk__data_findings(&stats, (stk__finding[STK_FINDING_MOST]){0}), 0);
}

/* Every rule was reached above; ids are unique. */
static void table(void **state)
{
    (void)state;
    stk__finding f[STK_FINDING_MOST];
    clean_labels();
    for (int i = 0; i < stk__data_rule_count(); i++) {
        assert_false(stk__data_rule(i, &stats, &f[i]));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(f[i].id, f[k].id);
        assert_true(i == 0 || f[i].severity <= f[i - 1].severity); /* errors first */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_sets), cmocka_unit_test(files),       cmocka_unit_test(contents),
        cmocka_unit_test(images),     cmocka_unit_test(masks),       cmocka_unit_test(mask_readings),
        cmocka_unit_test(classes),    cmocka_unit_test(point_rules), cmocka_unit_test(series),
        cmocka_unit_test(values),     cmocka_unit_test(table),       cmocka_unit_test(similar_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
