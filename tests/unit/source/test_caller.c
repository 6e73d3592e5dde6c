/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own functions as a source: keys and ids, what is refused at open, memory that runs out. */
#include "source/kinds.h"
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 12, LIMIT_BYTES = 1 << 16 };

static stk_error failure;

static stk_status give_index(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                             stk_error *error)
{
    (void)context;
    (void)field;
    (void)error;
    void *room = stk_sample_sink_bytes(sink, sizeof index);
    if (room) memcpy(room, &index, sizeof index);
    return STK_OK;
}

static stk_status give_facts(void *context, uint64_t index, stk_sample_facts *facts, stk_error *error)
{
    (void)context;
    (void)error;
    facts->label = (double)index;
    for (int i = 0; facts->points && i < 6; i++)
        facts->points[i] = i % 3 == 2 ? 1 : (float)index;
    return STK_OK;
}

static stk_dataset good_set(void)
{
    stk_dataset set = STK_DATASET_INIT;
    set.count = COUNT;
    set.read = give_index;
    return set;
}

static stk__source *open_set(const stk_dataset *set)
{
    stk__source *source = NULL;
    failure = (stk_error){0};
    const stk_status status = stk__caller_open(&source, set, LIMIT_BYTES, &failure);
    assert_int_equal(status, failure.code);
    assert_true((status == STK_OK) == (source != NULL));
    return source;
}

static void check_refused(const stk_dataset *set, stk_status code, const char *message)
{
    assert_null(open_set(set));
    assert_int_equal(failure.code, code);
    if (!strstr(failure.message, message)) fail_msg("unexpected: %s", failure.message);
    assert_true(failure.hint[0]);
}

static uint64_t read_index(const stk__source *source, uint64_t id)
{
    stk__buffer buffer = {0};
    const char *extension = "none";
    uint64_t index;
    assert_int_equal(source->ops->read(source, id, STK_FIELD_IMAGE, &buffer, &extension, NULL), STK_OK);
    assert_null(extension);
    assert_int_equal(buffer.size_bytes, sizeof index);
    for (int i = 0; i < 64; i++)
        assert_int_equal(buffer.data[sizeof index + (size_t)i], 0);
    memcpy(&index, buffer.data, sizeof index);
    stk__buffer_fini(&buffer);
    return index;
}

static void descending_key(void *context, uint64_t index, char *text, size_t size)
{
    (void)context;
    snprintf(text, size, "k%c", (char)('z' - index));
}

static void ids_are_the_ranks_of_keys(void **state)
{
    (void)state;
    char text[64];
    stk_dataset set = good_set();
    set.key = descending_key;
    stk__source *source = open_set(&set);
    for (uint64_t id = 0; id < COUNT; id++) {
        assert_int_equal(read_index(source, id), COUNT - 1 - id);
        source->ops->key(source, id, text, sizeof text);
        assert_int_equal(text[1], 'z' - (COUNT - 1 - (int)id));
    }
    source->ops->key(source, 0, text, 2); /* cut */
    assert_string_equal(text, "k");
    source->ops->where(source, COUNT - 1, STK_FIELD_MASK, text, sizeof text);
    assert_string_equal(text, "dataset!kz (mask)");
    stk__source_close(&source);
}

static void without_keys_the_index_is_one(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        const char *last;
    } rows[] = {{1, "0"}, {10, "9"}, {11, "10"}, {100, "99"}, {1001, "1000"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        stk_dataset set = good_set();
        set.count = rows[i].count;
        stk__source *source = open_set(&set);
        source->ops->key(source, rows[i].count - 1, text, sizeof text);
        assert_string_equal(text, rows[i].last);
        for (uint64_t id = 0; id < rows[i].count; id++)
            assert_int_equal(read_index(source, id), id);
        stk__source_close(&source);
    }
}

static void equal_key(void *context, uint64_t index, char *text, size_t size)
{
    const uint64_t *pair = context;
    snprintf(text, size, "%03d", (int)(index == pair[1] ? pair[0] : index));
}

static void no_key(void *context, uint64_t index, char *text, size_t size)
{
    if (index != 7) descending_key(context, index, text, size);
}

static void endless_key(void *context, uint64_t index, char *text, size_t size)
{
    (void)context;
    memset(text, 'a' + (int)index, size); /* without its end */
}

static void bad_keys_are_refused(void **state)
{
    (void)state;
    uint64_t pair[2] = {3, 9};
    stk_dataset set = good_set();
    set.context = pair;
    set.key = equal_key;
    check_refused(&set, STK_ERROR_DATA, "samples 3 and 9 of the data set have the same key '003'");
    assert_string_equal(failure.place, "dataset!003");
    set.key = no_key;
    check_refused(&set, STK_ERROR_DATA, "the key of sample 7 of the data set is empty");
    set.key = endless_key;
    check_refused(&set, STK_ERROR_DATA, "the key of sample 0 of the data set is too long");
}

static void count_is_checked(void **state)
{
    (void)state;
    stk_dataset set = good_set();
    set.count = 0;
    check_refused(&set, STK_ERROR_DATA, "the data set has 0 samples");
    set.count = UINT32_MAX;
    check_refused(&set, STK_ERROR_DATA, "1 to 4294967294 are possible");
    set.count = UINT64_MAX;
    check_refused(&set, STK_ERROR_DATA, "1 to 4294967294 are possible");
}

static void functions_that_are_needed_must_be_there(void **state)
{
    (void)state;
    stk_dataset set = good_set();
    set.read = NULL;
    check_refused(&set, STK_ERROR_ARGUMENT, "read is NULL");
    set = good_set();
    set.point_count = 2;
    check_refused(&set, STK_ERROR_ARGUMENT, "facts is NULL");
    set = good_set();
    set.label = STK_LABEL_VALUE;
    check_refused(&set, STK_ERROR_ARGUMENT, "facts is NULL");
    set = (stk_dataset){.count = 3, .window_rows = 2, .window_columns = 2};
    check_refused(&set, STK_ERROR_ARGUMENT, "facts is NULL");
    set.facts = give_facts; /* windows need no read */
    stk__source *source = open_set(&set);
    assert_false(source->info.images);
    stk__buffer buffer = {0};
    const char *extension;
    assert_int_equal(source->ops->read(source, 0, STK_FIELD_IMAGE, &buffer, &extension, NULL),
                     STK_ERROR_ARGUMENT);
    stk__source_close(&source);
    set = good_set();
    source = open_set(&set);
    assert_int_equal(source->ops->read(source, 0, STK_FIELD_MASK, &buffer, &extension, NULL),
                     STK_ERROR_ARGUMENT);
    stk__source_close(&source);
}

static void numbers_that_contradict_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"a", NULL};
    static const struct {
        stk_dataset set;
        const char *message;
    } rows[] = {
        {{.window_rows = 2}, "window_rows is 2 and window_columns 0"},
        {{.window_columns = 2}, "window_rows is 0 and window_columns 2"},
        {{.window_rows = -2, .window_columns = 2}, "window_rows is -2"},
        {{.window_rows = 2, .window_columns = 2, .masks = true}, "windows have neither masks nor points"},
        {{.window_rows = 2, .window_columns = 2, .point_count = 1}, "windows have neither"},
        {{.window_rows = 1000000, .window_columns = 1000000}, "more than limits.bytes '65536'"},
        {{.point_count = INT32_MAX}, "more than limits.bytes '65536'"},
        {{.point_count = -1}, "point_count -1"},
        {{.class_count = -1}, "class_count is -1"},
        {{.label = STK_LABEL_CLASS}, "labels are classes, and class_count is 0"},
        {{.label = STK_LABEL_SET}, "labels are classes, and class_count is 0"},
        {{.label = (stk_label_kind)4, .class_count = 3}, "label is 4"},
        {{.label = (stk_label_kind)-1, .class_count = 3}, "label is -1"},
        {{.class_names = names}, "class_names is set, and their number is 0"},
        {{.point_names = names}, "point_names is set, and their number is 0"},
        {{.class_names = names, .class_count = 2}, "class_names[1] is NULL"},
        {{.point_names = names, .point_count = 2}, "point_names[1] is NULL"},
        {{.struct_size = 9}, "stk_dataset has a struct_size of 9"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_dataset set = rows[i].set;
        set.count = COUNT;
        set.read = give_index;
        set.facts = give_facts;
        check_refused(&set, STK_ERROR_ARGUMENT, rows[i].message);
    }
}

static stk_status live(void *context, stk_error *error)
{
    static const char *const classes[] = {"a", "b"}, *const points[] = {"c", "d"};
    (void)context;
    stk__source *source;
    stk__buffer bytes = {0}, room = {0};
    const char *extension;
    stk_dataset set = good_set();
    set.facts = give_facts;
    set.class_count = set.point_count = 2;
    set.class_names = classes;
    set.point_names = points;
    STK__TRY(stk__caller_open(&source, &set, LIMIT_BYTES, error));
    stk__sample_facts facts = {.room = &room};
    stk_status status = source->ops->facts(source, 3, &facts, error);
    if (status == STK_OK) assert_true(facts.points[4] == 3 && facts.points[5] == 1 && !facts.set);
    if (status == STK_OK) status = source->ops->read(source, 3, STK_FIELD_IMAGE, &bytes, &extension, error);
    if (status == STK_OK) assert_string_equal(source->info.point_names[1], "d");
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&room);
    stk__source_close(&source);
    return status;
}

static void each_allocation_fails(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(live, NULL) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_the_ranks_of_keys),
        cmocka_unit_test(without_keys_the_index_is_one),
        cmocka_unit_test(bad_keys_are_refused),
        cmocka_unit_test(count_is_checked),
        cmocka_unit_test(functions_that_are_needed_must_be_there),
        cmocka_unit_test(numbers_that_contradict_are_refused),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
