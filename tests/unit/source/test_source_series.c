/* SPDX-License-Identifier: Apache-2.0 */
/* The source series from CSV and npy: windows and their labels, bad rows, tables that cannot be used, and
 * failing allocations. */
#include "source_tree.h"

#include <math.h>

static const float *window_of(const stk__source *source, uint64_t id)
{
    stk__sample_facts facts;
    assert_int_equal(source->ops->facts(source, id, &facts, NULL), STK_OK);
    assert_non_null(facts.window);
    return facts.window;
}

static void windows_of_csv(void **state)
{
    (void)state;
    tree_file("series.csv", "a, target ,b\n1,10,2\n3, 20 ,4\n5,30,6\n7,40,8\n");
    stk__source *source = tree_open_as("", NULL, 2);
    assert_non_null(source);
    const stk__source_info *info = &source->info;
    assert_string_equal(info->layout, "series");
    assert_int_equal(info->count, 3);
    assert_int_equal(info->window_rows, 2);
    assert_int_equal(info->window_columns, 2);
    assert_int_equal(info->label, STK_LABEL_VALUE);
    assert_true(!info->images && !info->masks);
    const float second[4] = {3, 4, 5, 6};
    assert_memory_equal(window_of(source, 1), second, sizeof second);
    assert_true(window_of(source, 2) == window_of(source, 0) + 4);
    assert_true(label_of(source, 0) == 20 && label_of(source, 2) == 40);
    check_key(source, 2, "000000000002");
    char text[PATH_MAX];
    source->ops->where(source, 0, STK_FIELD_IMAGE, text, sizeof text);
    assert_string_equal(text, tree_path("series.csv"));
    stk__buffer buffer = {0};
    const char *extension;
    assert_int_equal(source->ops->read(source, 0, STK_FIELD_IMAGE, &buffer, &extension, NULL),
                     STK_ERROR_ARGUMENT);
    stk__source_close(&source);
}

static void fingerprint_is_over_size_window_and_names(void **state)
{
    (void)state;
    const char *const texts[] = {"a,b\n1,2\n3,4\n", "a,b\n9,9\n9,9\n", "a,c\n1,2\n3,4\n",
                                 "a,b\n1,2\n3,4\n5,6\n"};
    stk__digest digests[5];
    for (int i = 0; i < 5; i++) {
        tree_file("s.csv", texts[i % 4]);
        stk__source *source = tree_open_as("s.csv", NULL, i == 4 ? 1 : 2);
        assert_non_null(source);
        digests[i] = source->info.fingerprint;
        stk__source_close(&source);
    }
    assert_memory_equal(&digests[0], &digests[1], sizeof digests[0]);
    for (int i = 2; i < 5; i++)
        assert_memory_not_equal(&digests[0], &digests[i], sizeof digests[0]);
}

static void without_header_and_alone_in_a_folder(void **state)
{
    (void)state;
    tree_file("data.csv", "1,2,3\n4,5,6\n");
    tree_file("README.txt", "");
    stk__source *source = tree_open_as("", NULL, 2);
    assert_non_null(source);
    const float window[4] = {1, 2, 4, 5};
    assert_memory_equal(window_of(source, 0), window, sizeof window);
    assert_true(label_of(source, 0) == 6);
    stk__source_close(&source);
    tree_file("more.csv", "");
    tree_refused("", STK_ERROR_DATA, "but 2 .csv files", tree);
}

static void default_window(void **state)
{
    (void)state;
    char text[1024] = "a,b\n";
    for (int i = 0; i < 59; i++)
        strcat(text, "1,2\n");
    tree_file("series.csv", text);
    tree_refused("", STK_ERROR_DATA, "a window of 60 rows does not fit into a series of 59", "series.csv");
    assert_non_null(strstr(failure.hint, "59"));
    strcat(text, "1,2\n");
    tree_file("series.csv", text);
    stk__source *source = tree_open();
    assert_int_equal(source->info.window_rows, 60);
    assert_int_equal(source->info.count, 1);
    stk__source_close(&source);
    assert_null(tree_open_as("", NULL, -1));
    assert_int_equal(failure.code, STK_ERROR_ARGUMENT);
    assert_null(tree_open_as("", NULL, INT64_MAX));
    assert_int_equal(failure.code, STK_ERROR_DATA);
}

static void bad_rows_damage_their_windows(void **state)
{
    (void)state;
    tree_file("series.csv", "a,b\n0,0\n1,nan\n\n2,2\n3,3\nfour,4\n5,5\n6,6\n7,\n8,8\n9\n1e39,1\n\"1\n");
    stk__source *source = tree_open_as("", NULL, 2);
    assert_non_null(source);
    assert_int_equal(source->info.count, 11);
    check_facts_damage(source, 0, STK_DAMAGE_BAD_VALUES, "column 2", "series.csv:3");
    check_facts_damage(source, 1, STK_DAMAGE_BAD_VALUES, "column 2", "series.csv:3");
    assert_true(label_of(source, 2) == 3);
    check_facts_damage(source, 3, STK_DAMAGE_BAD_ROW, "column 1 has a text that is not a number",
                       "series.csv:7");
    check_facts_damage(source, 4, STK_DAMAGE_BAD_ROW, "column 1", "series.csv:7");
    assert_true(label_of(source, 5) == 6);
    check_facts_damage(source, 7, STK_DAMAGE_BAD_ROW, "column 2", "series.csv:10");
    check_facts_damage(source, 8, STK_DAMAGE_BAD_ROW, "wrong number of fields", "series.csv:12");
    check_facts_damage(source, 9, STK_DAMAGE_BAD_ROW, "wrong number of fields", "series.csv:12");
    check_facts_damage(source, 10, STK_DAMAGE_BAD_VALUES, "column 1", "series.csv:13"); /* not a float */
    stk__source_close(&source);
    source = tree_open_as("", NULL, 1);
    check_facts_damage(source, 11, STK_DAMAGE_BAD_ROW, "malformed", "series.csv:14");
    assert_true(label_of(source, 0) == 0);
    stk__source_close(&source);
}

static void tables_that_cannot_be(void **state)
{
    (void)state;
    const struct {
        const char *text, *message, *place;
    } cases[] = {{"", "it is empty", "series.csv"},
                 {"a,b\n", "it has no rows", "series.csv"},
                 {"a\n1\n", "two columns or more", "series.csv"},
                 {"\"a,b\n", "never closed", "series.csv"},
                 {"date,b\n1 May,2\n2 May,3\n", "no row is usable", "series.csv:2"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tree_file("series.csv", cases[i].text);
        tree_refused("", STK_ERROR_DATA, cases[i].message, cases[i].place);
        tree_refused("series.csv", STK_ERROR_DATA, cases[i].message, cases[i].place);
    }
    assert_int_equal(remove(tree_path("series.csv")), 0);
    assert_int_equal(mkfifo(tree_path("series.csv"), 0600), 0);
    tree_refused("", STK_ERROR_IO, "cannot read", "series.csv");
}

static void put_npy(const char *name, const char *dtype, const char *order, const char *shape,
                    const void *data, size_t size_bytes)
{
    uint8_t file[4096] = "\x93NUMPY\x01\x00";
    char text[119];
    const int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }",
                                dtype, order, shape);
    memset(text + length, ' ', sizeof text - (size_t)length);
    text[117] = '\n';
    file[8] = 118;
    memcpy(file + 10, text, 118);
    memcpy(file + 128, data, size_bytes);
    tree_bytes(name, file, 128 + size_bytes);
}

static void windows_of_npy(void **state)
{
    (void)state;
    const float f4[6] = {1, 2, 3, 4, 5, 6};
    const double f8[6] = {1, 2, 3, 4, 5, 6};
    const int8_t i1[6] = {1, 2, 3, 4, 5, 6};
    const int16_t i2[6] = {1, 2, 3, 4, 5, 6};
    const int32_t i4[6] = {1, 2, 3, 4, 5, 6};
    const int64_t i8[6] = {1, 2, 3, 4, 5, 6};
    const struct {
        const char *dtype;
        const void *data;
        size_t size;
    } cases[] = {{"<f4", f4, 4}, {"<f8", f8, 8}, {"|i1", i1, 1}, {"<i2", i2, 2}, {"<i4", i4, 4},
                 {"<i8", i8, 8}, {"|u1", i1, 1}, {"<u2", i2, 2}, {"<u4", i4, 4}, {"<u8", i8, 8}};
    const float window[4] = {1, 2, 4, 5};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_npy("only.npy", cases[i].dtype, "False", "(2, 3)", cases[i].data, cases[i].size * 6);
        stk__source *source = tree_open_as(i % 2 ? "" : "only.npy", NULL, 2);
        assert_non_null(source);
        assert_memory_equal(window_of(source, 0), window, sizeof window);
        assert_true(label_of(source, 0) == 6);
        stk__source_close(&source);
    }
    const float columns[6] = {1, 4, 2, 5, 3, 6};
    put_npy("only.npy", "<f4", "True", "(2, 3)", columns, sizeof columns);
    stk__source *source = tree_open_as("", NULL, 2);
    assert_memory_equal(window_of(source, 0), window, sizeof window);
    stk__source_close(&source);
}

static void *alloc_little(void *context, size_t size_bytes)
{
    (void)context;
    return size_bytes < 1 << 20 ? aligned_alloc(64, (size_bytes + 63) / 64 * 64) : NULL;
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

/* A header alone must not cost memory. */
static void wide_npy_without_rows(void **state)
{
    (void)state;
    put_npy("series.npy", "<f4", "False", "(0, 2147483647)", "", 0);
    stk_allocator_set(&(stk_allocator){.alloc = alloc_little, .release = release});
    tree_refused("", STK_ERROR_DATA, "it has no rows", "series.npy");
    stk_allocator_set(NULL);
}

static void npy_that_cannot_be(void **state)
{
    (void)state;
    const float values[6] = {1, 2, 3, INFINITY, 5, 6};
    put_npy("series.npy", "<f4", "False", "(3, 2)", values, sizeof values);
    stk__source *source = tree_open_as("", NULL, 1);
    assert_non_null(source);
    check_facts_damage(source, 1, STK_DAMAGE_BAD_VALUES, "column 2", "series.npy:2");
    assert_true(label_of(source, 2) == 6);
    stk__source_close(&source);
    const char *const shapes[] = {"(6,)", "(6, 1)", "(1, 2, 3)"};
    for (int i = 0; i < 3; i++) {
        put_npy("series.npy", "<f4", "False", shapes[i], values, sizeof values);
        tree_refused("", STK_ERROR_DATA, "the array is not", "series.npy");
    }
    put_npy("series.npy", "<f2", "False", "(6, 2)", values, sizeof values);
    tree_refused("", STK_ERROR_DATA, "the array is not", "series.npy");
    put_npy("series.npy", "<f4", "False", "(0, 2)", values, 0);
    tree_refused("", STK_ERROR_DATA, "it has no rows", "series.npy");
    put_npy("series.npy", "<f4", "False", "(7, 2)", values, sizeof values);
    tree_refused("", STK_ERROR_DATA, "cannot be used as a series", "series.npy");
    tree_file("series.npy", "no array");
    tree_refused("", STK_ERROR_DATA, "cannot be used as a series", "series.npy");
}

static void memory_runs_out(void **state)
{
    (void)state;
    char text[2048] = "a,b\n";
    for (int i = 0; i < 70; i++)
        strcat(text, i == 3 ? "1,nan\n" : "1,2\n");
    tree_file("c/series.csv", text);
    check_poor_memory("c", NULL);
    float values[60 * 2] = {0};
    values[9] = INFINITY;
    put_npy("n/series.npy", "<f4", "False", "(60, 2)", values, sizeof values);
    check_poor_memory("n", NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(windows_of_csv),
        TEST(fingerprint_is_over_size_window_and_names),
        TEST(without_header_and_alone_in_a_folder),
        TEST(default_window),
        TEST(bad_rows_damage_their_windows),
        TEST(tables_that_cannot_be),
        TEST(windows_of_npy),
        TEST(wide_npy_without_rows),
        TEST(npy_that_cannot_be),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
