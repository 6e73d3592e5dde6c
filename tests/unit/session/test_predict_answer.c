/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a network that does not exist, on a source that lies in memory: rows, pictures and failures as a
 * module gets them through its two functions. */
#include "session/predict/predict_answer.h"

#include "core/file.h"
#include "support/fail_alloc.h"
#include "support/pictures.h"
#include "support/workspace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { CLASSES = 8, W = 6, H = 4 };

static workspace folder;
static stk__buffer image; /* what every sample reads: a JPEG of W x H, to be turned by 90 degrees */

static int make_image(void **state)
{
    (void)state;
    stk__pixels pixels = pictures_draw(W, H, 3, 1);
    pictures_jpeg(&image, pixels, &(pictures_jpeg_options){.orientation = 6});
    stk__free(pixels.data);
    folder = workspace_make();
    return 0;
}

static int remove_image(void **state)
{
    (void)state;
    stk__buffer_fini(&image);
    workspace_remove(&folder);
    return 0;
}

/* --- a source ----------------------------------------------------------------------------------------------
 */

static const char *const apart[] = {"b", "a/b", "a"}, *const same[] = {"z", "a", "m", "a"};

typedef struct made_up {
    stk__source source;
    const char *const *keys;
} made_up;

static stk_status read_image(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                             const char **extension, stk_error *error)
{
    (void)source;
    (void)id;
    assert_int_equal(field, STK_FIELD_IMAGE);
    *extension = "jpg";
    buffer->size_bytes = 0;
    STK__TRY(stk__buffer_reserve(buffer, image.size_bytes + 64, error));
    return stk__buffer_append(buffer, image.data, image.size_bytes, error);
}

static void give_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    snprintf(text, size, "%s", ((const made_up *)(const void *)source)->keys[id]);
}

static void give_place(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    (void)field;
    snprintf(text, size, "in/%s.jpg", ((const made_up *)(const void *)source)->keys[id]);
}

static const stk__source_ops made_up_ops = {
    .name = "made up", .read = read_image, .key = give_key, .where = give_place};

static made_up source_of(const char *const *keys, uint64_t count)
{
    return (made_up){.source = {.ops = &made_up_ops, .info = {.count = count}}, .keys = keys};
}

/* --- what a caller hears -----------------------------------------------------------------------------------
 */

typedef struct heard {
    int rows, refused;
    uint64_t last_id;
    json_t *last; /* owned */
    char refusal[200];
} heard;

static void hear_row(void *context, uint64_t id, const json_t *row)
{
    heard *h = context;
    h->rows++;
    h->last_id = id;
    json_decref(h->last);
    h->last = json_deep_copy(row);
}

static void hear_refusal(void *context, const char *file, const char *damage, const char *detail)
{
    heard *h = context;
    h->refused++;
    snprintf(h->refusal, sizeof h->refusal, "%s|%s|%s", file, damage ? damage : "NULL", detail);
}

static stk__answers answers_of(stk__task task, const made_up *source, heard *h)
{
    static const stk__run_data no_names;
    return (stk__answers){.task = task,
                          .data = &no_names,
                          .source = &source->source,
                          .folder = folder.path,
                          .on_row = h ? hear_row : NULL,
                          .on_refusal = h ? hear_refusal : NULL,
                          .context = h};
}

/* One batch of `count` samples; the prediction is dense, shape [count …]. */
static void look(stk__answers *a, int64_t count, const float *weights, stk_tensor prediction)
{
    int64_t ids[] = {0, 1, 2};
    const stk_batch batch = {
        .count = count, .sample_ids = {.data = ids}, .weights = {.data = (void *)(uintptr_t)weights}};
    prediction.shape[0] = count;
    prediction.strides[0] = 1;
    for (int d = 1; d < prediction.ndim; d++)
        prediction.strides[0] *= prediction.shape[d];
    stk__answers_look(a, &batch, &prediction);
}

static const float all_count[] = {1, 1, 1};

static stk__answers open_answers(stk__task task, const made_up *source, heard *h)
{
    stk_error error = {0};
    stk__answers a = answers_of(task, source, h);
    assert_int_equal(stk__answers_init(&a, &stk__limits_default, &error), STK_OK);
    return a;
}

static void close_answers(stk__answers *a, heard *h)
{
    stk__answers_fini(a);
    json_decref(h->last);
}

static int64_t integer_of(const json_t *row, const char *key)
{
    assert_true(json_is_integer(json_object_get(row, key)));
    return json_integer_value(json_object_get(row, key));
}

/* --- names -------------------------------------------------------------------------------------------------
 */

static void samples_that_write_the_same_picture_are_refused(void **state)
{
    (void)state;
    const made_up good = source_of(apart, 3), bad = source_of(same, 4);
    stk_error error = {0};
    char expected[512];
    stk__answers a = answers_of(STK_TASK_SEGMENTATION, &good, NULL);
    assert_int_equal(stk__answers_check_names(&a, &error), STK_OK);
    a = answers_of(STK_TASK_SEGMENTATION, &bad, NULL);
    assert_int_equal(stk__answers_check_names(&a, &error), STK_ERROR_CONFIG);
    snprintf(expected, sizeof expected, "two of the images would write the same '%s/a.png'", folder.path);
    assert_string_equal(error.message, expected);
    assert_true(error.hint[0]);
}

/* --- rows --------------------------------------------------------------------------------------------------
 */

/* Probabilities 1/2, 1/4, 1/8, 1/16, 1/32, 1/64, 1/64 and 0: the five largest, by size; with two classes that
 * have a share and six that have none, these two. */
static void classes_are_sorted_and_those_without_a_share_left_out(void **state)
{
    (void)state;
    const float ln2 = (float)log(2), none = -INFINITY;
    float logits[2][CLASSES] = {{2 * ln2, 5 * ln2, 0, none, 3 * ln2, 0, 4 * ln2, ln2},
                                {none, none, none, 1, none, none, 3, none}};
    static const int64_t order[] = {1, 6, 4, 0, 7};
    const made_up source = source_of(apart, 3);
    heard h = {0};
    stk__run_data names = {.json = json_pack("{s:[s, s]}", "class_names", "zero", "one")};
    stk__answers a = open_answers(STK_TASK_CLASSIFICATION, &source, &h);
    a.data = &names;
    look(&a, 2, all_count, (stk_tensor){.data = logits, .ndim = 2, .shape = {0, CLASSES}});
    assert_int_equal(a.status, STK_OK);
    assert_int_equal(h.rows, 2);
    assert_int_equal(h.last_id, 1);
    const json_t *row = json_array_get(a.rows, 0), *classes = json_object_get(row, "classes");
    assert_string_equal(json_string_value(json_object_get(row, "file")), "in/b.jpg");
    assert_int_equal(json_array_size(classes), 5);
    for (size_t i = 0; i < 5; i++) {
        const json_t *each = json_array_get(classes, i);
        assert_int_equal(integer_of(each, "class"), order[i]);
        assert_true(fabs(json_real_value(json_object_get(each, "probability")) - pow(2, -1 - (int)i)) < 1e-6);
    }
    assert_string_equal(json_string_value(json_object_get(json_array_get(classes, 0), "name")), "one");
    assert_true(json_is_null(json_object_get(json_array_get(classes, 1), "name")));
    classes = json_object_get(h.last, "classes");
    assert_int_equal(json_array_size(classes), 2);
    assert_int_equal(integer_of(json_array_get(classes, 0), "class"), 6);
    assert_int_equal(integer_of(json_array_get(classes, 1), "class"), 3);
    assert_true(json_equal(h.last, json_array_get(a.rows, 1)));
    json_decref(names.json);
    close_answers(&a, &h);
}

/* Maps of 2 x 1 cells, two points: the first in the right cell, the second has an offset that is no number,
 * and keeps its place in the list. */
static void points_are_in_pixels_of_the_original(void **state)
{
    (void)state;
    float maps[2][6] = {{0, 9, 0, 0, NAN, 0.25F}, {9, 0, -0.5F, 0, 0, 0}};
    const made_up source = source_of(apart, 3);
    for (int upright = 0; upright < 2; upright++) {
        heard h = {0};
        stk__answers a = open_answers(STK_TASK_POINTS, &source, &h);
        a.upright = upright;
        look(&a, 1, all_count, (stk_tensor){.data = maps, .ndim = 4, .shape = {0, 1, 2, 6}});
        const double w = upright ? H : W, height = upright ? W : H;
        assert_int_equal(integer_of(h.last, "width"), (int)w);
        assert_int_equal(integer_of(h.last, "height"), (int)height);
        const json_t *points = json_object_get(h.last, "points"), *first = json_array_get(points, 0),
                     *second = json_array_get(points, 1);
        assert_int_equal(json_array_size(points), 2);
        assert_true(json_real_value(json_object_get(first, "x")) == w / 2);
        assert_true(json_real_value(json_object_get(first, "y")) == height / 2);
        assert_true(json_is_null(json_object_get(second, "x")));
        assert_true(json_real_value(json_object_get(second, "y")) == 0.75 * height);
        close_answers(&a, &h);
    }
}

/* --- pictures ----------------------------------------------------------------------------------------------
 */

/* Logits of 2 x 2 cells: class 2 in three of them, class 0 in one. */
static float cells[3][4][3] = {{{0, 0, 1}, {0, 0, 1}, {1, 0, 0}, {0, 0, 1}}};
static const stk_tensor mask_logits = {.data = cells, .ndim = 4, .shape = {0, 2, 2, 3}};

static void check_mask(const char *path)
{
    static const uint8_t expected[] = {2, 0}; /* first pixels of the first and the last row */
    uint8_t ids[W * H];
    stk__buffer bytes = {0};
    stk__decoder *decoder = NULL;
    stk__picture picture;
    stk_error error = {0};
    assert_int_equal(stk__file_read(path, 0, &bytes, &error), STK_OK);
    const stk__encoded encoded = {bytes.data, bytes.size_bytes};
    assert_int_equal(stk__decoder_create(&decoder, &stk__limits_default, &error), STK_OK);
    assert_int_equal(stk__decode_header(decoder, encoded, "png", &picture, &error), STK_OK);
    assert_int_equal(picture.w, W);
    assert_int_equal(picture.h, H);
    assert_int_equal(stk__decode_mask(decoder, encoded, &picture, &(stk__mask_options){.orientation = 1},
                                      stk__pixels_dense(ids, W, H, 1), &error),
                     STK_OK);
    assert_int_equal(ids[0], expected[0]);
    assert_int_equal(ids[W * (H - 1)], expected[1]);
    assert_int_equal(ids[W * H - 1], expected[0]);
    stk__decoder_destroy(&decoder);
    stk__buffer_fini(&bytes);
}

static void masks_have_the_size_of_the_original(void **state)
{
    (void)state;
    static const float second_left_out[] = {1, 0, 0};
    const made_up source = source_of(apart + 1, 2);
    heard h = {0};
    char path[PATH_MAX];
    stk__answers a = open_answers(STK_TASK_SEGMENTATION, &source, &h);
    a.overlay = true;
    look(&a, 2, second_left_out, mask_logits);
    assert_int_equal(a.status, STK_OK);
    assert_int_equal(a.done, 2);
    assert_int_equal(h.rows, 1);
    assert_int_equal(json_array_size(a.rows), 1);
    stk__answers_path(&a, 0, ".png", path);
    assert_string_equal(json_string_value(json_object_get(h.last, "mask")), path);
    check_mask(path);
    stk__answers_path(&a, 0, ".overlay.png", path);
    assert_string_equal(json_string_value(json_object_get(h.last, "overlay")), path);
    stk_error error = {0};
    assert_int_equal(stk__file_read(path, 0, &a.original.bytes, &error), STK_OK);
    const json_t *classes = json_object_get(h.last, "classes");
    assert_int_equal(json_array_size(classes), 2); /* none for class 1 */
    assert_int_equal(integer_of(json_array_get(classes, 0), "class"), 2);
    assert_true(fabs(json_real_value(json_object_get(json_array_get(classes, 0), "share")) - 0.75) < 1e-9);
    close_answers(&a, &h);
}

/* The caller hears of the sample with what there is of its row, and nothing of those behind it. */
static void a_picture_that_cannot_be_written_ends_it(void **state)
{
    (void)state;
    const made_up source = source_of(apart, 3);
    heard h = {0};
    char no_folder[512];
    workspace_put(&folder, "file", "");
    snprintf(no_folder, sizeof no_folder, "%s/file/below", folder.path);
    stk__answers a = open_answers(STK_TASK_SEGMENTATION, &source, &h);
    a.folder = no_folder;
    look(&a, 3, all_count, mask_logits);
    assert_int_equal(a.status, STK_ERROR_IO);
    assert_non_null(strstr(a.error.message, "file"));
    assert_int_equal(h.rows, 1);
    assert_int_equal(a.done, 1);
    assert_string_equal(json_string_value(json_object_get(h.last, "file")), "in/b.jpg");
    assert_null(json_object_get(h.last, "mask"));
    close_answers(&a, &h);
}

/* --- failures and the report -------------------------------------------------------------------------------
 */

static void check_report(const stk__answers *a)
{
    char path[512];
    stk_error error = {0};
    json_t *report = stk__answers_json(a, "run/checkpoints/1");
    const json_t *failures = json_object_get(report, "failures");
    assert_int_equal(json_array_size(failures), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(failures, 0), "file")), "no.csv");
    assert_true(json_is_null(json_object_get(json_array_get(failures, 0), "damage")));
    assert_string_equal(json_string_value(json_object_get(json_array_get(failures, 1), "damage")),
                        "truncated");
    assert_string_equal(json_string_value(json_object_get(json_array_get(failures, 1), "error")),
                        "ends early");
    assert_int_equal(json_array_size(json_object_get(report, "predictions")), 0);
    assert_int_equal(stk__answers_write(a, "run/checkpoints/1", &error), STK_OK);
    snprintf(path, sizeof path, "%s/predictions.json", folder.path);
    json_t *written = json_load_file(path, 0, NULL);
    assert_true(json_equal(written, report));
    json_decref(written);
    json_decref(report);
}

static void refused_files_are_reported_and_kept(void **state)
{
    (void)state;
    const made_up source = source_of(apart, 3);
    stk_error error = {0};
    heard h = {0};
    stk__answers a = answers_of(STK_TASK_CLASSIFICATION, &source, &h);
    stk__answers_refuse(&a, "no.csv", NULL, "not there");
    assert_string_equal(h.refusal, "no.csv|NULL|not there");
    assert_int_equal(stk__answers_init(&a, &stk__limits_default, &error), STK_OK);
    stk__answers_refuse(&a, "cut.png", "truncated", "ends early");
    assert_string_equal(h.refusal, "cut.png|truncated|ends early");
    assert_int_equal(h.refused, 2);
    check_report(&a);
    a.on_refusal = NULL; /* nobody listens: it is kept all the same */
    stk__answers_refuse(&a, "more.png", NULL, "not there");
    assert_int_equal(h.refused, 2);
    assert_int_equal(json_array_size(a.failures), 3);
    close_answers(&a, &h);
}

static stk_status predict_once(void *context, stk_error *error)
{
    const made_up *source = context;
    stk__answers a = answers_of(STK_TASK_SEGMENTATION, source, NULL);
    a.overlay = true;
    stk_status status = stk__answers_init(&a, &stk__limits_default, error);
    if (status == STK_OK) status = stk__answers_check_names(&a, error);
    if (status == STK_OK) {
        look(&a, 3, all_count, mask_logits);
        status = a.status;
        if (status != STK_OK && error) *error = a.error;
    }
    stk__answers_fini(&a);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    made_up source = source_of(apart, 3);
    assert_true(fail_alloc_each(predict_once, &source) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_that_write_the_same_picture_are_refused),
        cmocka_unit_test(classes_are_sorted_and_those_without_a_share_left_out),
        cmocka_unit_test(points_are_in_pixels_of_the_original),
        cmocka_unit_test(masks_have_the_size_of_the_original),
        cmocka_unit_test(a_picture_that_cannot_be_written_ends_it),
        cmocka_unit_test(refused_files_are_reported_and_kept),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_image, remove_image);
}
