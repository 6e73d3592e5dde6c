/* SPDX-License-Identifier: Apache-2.0 */
/* Generated data (make:…) as a source: keys, labels, pictures, points, windows, malformed roots, and
 * failing allocations. */
#include "source/kinds.h"
#include "make/make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static stk__source *open_root(const char *root, int64_t window_rows)
{
    stk__source *source = NULL;
    stk_error error;
    const stk__source_options options = {.root = root, .window_rows = window_rows};
    if (stk__made_open(&source, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return source;
}

static void keys_are_sorted_and_labels_follow(void **state)
{
    (void)state;
    for (int count = 1; count < 45; count++) {
        char root[64], before[64] = "", key[64];
        int per_class[10] = {0};
        snprintf(root, sizeof root, "make:gray?count=%d", count);
        stk__source *source = open_root(root, 0);
        assert_int_equal(source->info.count, count);
        assert_int_equal(source->info.label, STK_LABEL_CLASS);
        for (uint64_t id = 0; id < source->info.count; id++) {
            stk__sample_facts facts;
            source->ops->key(source, id, key, sizeof key);
            assert_true(strcmp(before, key) < 0);
            assert_int_equal(source->ops->facts(source, id, &facts, NULL), STK_OK);
            const char *name = source->info.class_names[(int)facts.label];
            assert_memory_equal(key, name, strlen(name));
            per_class[(int)facts.label]++;
            memcpy(before, key, sizeof key);
        }
        for (int label = 0; label < 10; label++)
            assert_int_equal(per_class[label], count / 10 + (label < count % 10));
        source->ops->close(source);
    }
}

static void check_npy(const stk__buffer *buffer, const char *shape, size_t pixel_bytes)
{
    char header[129] = "";
    assert_int_equal(buffer->size_bytes, 128 + pixel_bytes);
    memcpy(header, buffer->data + 10, 118);
    assert_memory_equal(buffer->data, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_non_null(strstr(header, "'descr': '|u1'"));
    assert_non_null(strstr(header, "'fortran_order': False"));
    assert_non_null(strstr(header, shape));
    assert_int_equal(header[117], '\n');
    for (int i = 0; i < 64; i++)
        assert_int_equal(buffer->data[buffer->size_bytes + (size_t)i], 0);
}

static void pictures_are_the_drawn_ones(void **state)
{
    (void)state;
    const stk__make_info *info = stk__make_describe(STK_MAKE_FACES);
    const size_t plane = 512 * 512;
    uint8_t *expected = stk__alloc(4 * plane), *scratch = stk__alloc(info->scratch_bytes);
    assert_true(expected && scratch);
    stk__make_draw(STK_MAKE_FACES, 3, 5, stk__pixels_dense(expected, 512, 512, 3),
                   stk__pixels_dense(expected + 3 * plane, 512, 512, 1), scratch);
    stk__source *source = open_root("make:faces?seed=3&count=9", 0);
    assert_true(source->info.images && source->info.masks);
    assert_int_equal(source->info.class_count, 19);
    stk__buffer buffer = {0};
    const char *extension = NULL;
    assert_int_equal(source->ops->read(source, 5, STK_FIELD_IMAGE, &buffer, &extension, NULL), STK_OK);
    assert_string_equal(extension, "npy");
    check_npy(&buffer, "'shape': (512, 512, 3)", 3 * plane);
    assert_memory_equal(buffer.data + 128, expected, 3 * plane);
    const uint8_t *kept = buffer.data; /* a second read needs no memory */
    assert_int_equal(source->ops->read(source, 5, STK_FIELD_MASK, &buffer, &extension, NULL), STK_OK);
    assert_ptr_equal(buffer.data, kept);
    check_npy(&buffer, "'shape': (512, 512)", plane);
    assert_memory_equal(buffer.data + 128, expected + 3 * plane, plane);
    source->ops->close(source);
    stk__buffer_fini(&buffer);
    stk__free(expected);
    stk__free(scratch);
}

static void points_and_places(void **state)
{
    (void)state;
    stk__source *source = open_root("make:captcha?count=50&seed=2", 0);
    assert_int_equal(source->info.point_count, 2);
    assert_string_equal(source->info.point_names[1], "slider");
    for (uint64_t id = 0; id < 50; id++) {
        stk__sample_facts facts;
        const stk__made made = stk__make_facts(STK_MAKE_CAPTCHA, 2, id);
        assert_int_equal(source->ops->facts(source, id, &facts, NULL), STK_OK);
        assert_memory_equal(facts.points, made.points, sizeof made.points);
    }
    char text[96];
    source->ops->where(source, 7, STK_FIELD_IMAGE, text, sizeof text);
    assert_string_equal(text, "make:captcha?seed=2#000007");
    stk__buffer buffer = {0};
    const char *extension;
    stk_error error;
    assert_int_equal(source->ops->read(source, 7, STK_FIELD_MASK, &buffer, &extension, &error),
                     STK_ERROR_ARGUMENT);
    source->ops->close(source);
    stk__buffer_fini(&buffer);
}

static void windows_overlap_by_all_but_one_row(void **state)
{
    (void)state;
    enum { ROWS = 200, WINDOW = 40, COLUMNS = STK_MAKE_FEATURES + 1 };
    static float values[ROWS * COLUMNS];
    stk__make_series(4, 0, ROWS, values);
    stk__source *source = open_root("make:series?count=200&seed=4", WINDOW);
    assert_int_equal(source->info.count, ROWS - WINDOW + 1);
    assert_int_equal(source->info.window_rows, WINDOW);
    assert_int_equal(source->info.window_columns, STK_MAKE_FEATURES);
    assert_int_equal(source->info.label, STK_LABEL_VALUE);
    for (uint64_t id = 0; id < source->info.count; id++) {
        stk__sample_facts facts;
        assert_int_equal(source->ops->facts(source, id, &facts, NULL), STK_OK);
        for (uint64_t row = 0; row < WINDOW; row++)
            assert_memory_equal(facts.window + row * STK_MAKE_FEATURES, values + (id + row) * COLUMNS,
                                sizeof(float) * STK_MAKE_FEATURES);
        assert_true(facts.label == values[(id + WINDOW - 1) * COLUMNS + STK_MAKE_FEATURES]);
    }
    source->ops->close(source);
    source = open_root("make:series", 0);
    assert_int_equal(source->info.window_rows, 60);
    source->ops->close(source);
}

static void fingerprints_tell_sizes_apart(void **state)
{
    (void)state;
    stk__source *a = open_root("make:gray?count=100", 0), *b = open_root("make:gray?count=100&seed=8", 0),
                *c = open_root("make:gray?count=101", 0);
    assert_memory_equal(&a->info.fingerprint, &b->info.fingerprint, sizeof(stk__digest));
    assert_memory_not_equal(&a->info.fingerprint, &c->info.fingerprint, sizeof(stk__digest));
    a->ops->close(a);
    b->ops->close(b);
    c->ops->close(c);
}

static void malformed_roots_are_refused(void **state)
{
    (void)state;
    const char *const roots[] = {"make:",
                                 "make:cats",
                                 "make:facesandmorefacesandmorefacesandmore",
                                 "make:faces?count=0",
                                 "make:faces?count=10000001",
                                 "make:faces?count=99999999999999999999999",
                                 "make:faces?count=",
                                 "make:faces?count=-1",
                                 "make:faces?count=1x",
                                 "make:faces?size=3",
                                 "make:faces?seed",
                                 "make:series?count=29"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        stk__source *source = NULL;
        stk_error error;
        const stk__source_options options = {.root = roots[i]};
        assert_int_equal(stk__made_open(&source, &options, &error), STK_ERROR_CONFIG);
        assert_null(source);
        assert_non_null(strstr(error.message, roots[i]));
        assert_true(error.hint[0] != '\0');
    }
}

static long allocations, frees, allowed;

static void *scarce(void *context, size_t size_bytes)
{
    (void)context;
    if (allocations >= allowed) return NULL;
    allocations++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void give_back(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    frees++;
    free(memory);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const stk_allocator allocator = {.alloc = scarce, .release = give_back};
    const char *const roots[] = {"make:captcha?count=5", "make:series?count=70", "make:gray?count=5"};
    stk_allocator_set(&allocator);
    for (size_t i = 0; i < 3; i++) {
        stk_status status = STK_ERROR_MEMORY;
        for (long limit = 0; status != STK_OK; limit++) {
            stk__source *source = NULL;
            stk_error error;
            const stk__source_options options = {.root = roots[i]};
            allocations = frees = 0;
            allowed = limit;
            status = stk__made_open(&source, &options, &error);
            assert_true(status == STK_OK || (status == STK_ERROR_MEMORY && !source));
            if (source) source->ops->close(source);
            assert_int_equal(allocations, frees);
        }
    }
    stk_allocator_set(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_sorted_and_labels_follow),
        cmocka_unit_test(pictures_are_the_drawn_ones),
        cmocka_unit_test(points_and_places),
        cmocka_unit_test(windows_overlap_by_all_but_one_row),
        cmocka_unit_test(fingerprints_tell_sizes_apart),
        cmocka_unit_test(malformed_roots_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
