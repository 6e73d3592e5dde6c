/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV reader: quotes, line ends, faults that cost one line only, length limits, and files that cannot
 * be read. */
#include "source_tree.h"

#include "source/csv.h"

static stk__csv csv;

static void open_text(const char *text)
{
    tree_file("t.csv", text);
    assert_int_equal(stk__csv_open(&csv, tree_path("t.csv"), NULL), STK_OK);
}

/* The next row is on this line and has these fields, joined by '|'. */
static void check_row(uint64_t line, const char *joined)
{
    char text[4096] = "";
    assert_int_equal(stk__csv_next(&csv, NULL), STK_OK);
    assert_null(csv.fault);
    assert_int_equal(csv.line, line);
    for (size_t i = 0; i < stk__csv_count(&csv); i++) {
        if (i) strcat(text, "|");
        assert_int_equal(strlen(stk__csv_at(&csv, i).data), stk__csv_at(&csv, i).length);
        strcat(text, stk__csv_at(&csv, i).data);
    }
    assert_string_equal(text, joined);
}

static void check_fault(uint64_t line, const char *fault)
{
    assert_int_equal(stk__csv_next(&csv, NULL), STK_OK);
    assert_non_null(csv.fault);
    assert_non_null(strstr(csv.fault, fault));
    assert_int_equal(csv.line, line);
    assert_int_equal(stk__csv_count(&csv), 0);
}

static void check_end(void)
{
    assert_int_equal(stk__csv_next(&csv, NULL), STK_END);
    assert_int_equal(stk__csv_next(&csv, NULL), STK_END);
    stk__csv_close(&csv);
}

static void fields_are_split(void **state)
{
    (void)state;
    open_text("\xEF\xBB\xBF"
              "a,b,c\r\n1,,3\n\n\r\n,,\n x , y\nlast");
    check_row(1, "a|b|c");
    check_row(2, "1||3");
    check_row(5, "||");
    check_row(6, " x | y");
    assert_int_equal(stk__csv_trimmed(&csv, 0).length, 1);
    assert_int_equal(stk__csv_find(&csv, "Y", 1), 1);
    assert_int_equal(stk__csv_find(&csv, "z", 1), -1);
    check_row(7, "last");
    check_end();
    open_text("");
    check_end();
}

static void quotes_are_understood(void **state)
{
    (void)state;
    open_text("\"a,b\",\"say \"\"hi\"\"\",\"\"\r\n\"two\r\nlines\",x\nnext,\"end\"");
    check_row(1, "a,b|say \"hi\"|");
    check_row(2, "two\r\nlines|x");
    check_row(4, "next|end");
    check_end();
}

static void a_fault_costs_one_line(void **state)
{
    (void)state;
    open_text("a,b\n1,\"open\n2,x\n3,\"y\"z\n4,y\"z\n5,fine\n6,\"open to the end\n7,fine");
    check_row(1, "a|b");
    check_fault(2, "text after a closing quote");
    check_row(3, "2|x");
    check_fault(4, "text after a closing quote");
    check_fault(5, "a quote inside a field");
    check_row(6, "5|fine");
    check_fault(7, "never closed");
    check_row(8, "7|fine");
    check_end();
}

static void zero_bytes_are_faults(void **state)
{
    (void)state;
    tree_bytes("t.csv", "a\0b\n\"c\0d\"\ne\n", 12);
    assert_int_equal(stk__csv_open(&csv, tree_path("t.csv"), NULL), STK_OK);
    check_fault(1, "NUL byte");
    check_fault(2, "NUL byte");
    check_row(3, "e");
    check_end();
}

/* Fields of the longest length, one longer, and rows across the reader's windows. */
static void lengths_are_bounded(void **state)
{
    (void)state;
    const size_t size = STK_CSV_FIELD_BYTES + 100;
    char *text = malloc(size * 4);
    assert_non_null(text);
    memset(text, 'x', size * 4);
    memcpy(text + STK_CSV_FIELD_BYTES, "\nb\n", 3);                                 /* as long as may be */
    memcpy(text + STK_CSV_FIELD_BYTES + 3 + STK_CSV_FIELD_BYTES + 1, "\nc\n\"", 4); /* one too long */
    memcpy(text + STK_CSV_FIELD_BYTES * 2 + 8 + STK_CSV_FIELD_BYTES + 1, "\"\nd\n", 4);
    tree_bytes("t.csv", text, STK_CSV_FIELD_BYTES * 3 + 13);
    assert_int_equal(stk__csv_open(&csv, tree_path("t.csv"), NULL), STK_OK);
    assert_int_equal(stk__csv_next(&csv, NULL), STK_OK);
    assert_int_equal(stk__csv_at(&csv, 0).length, STK_CSV_FIELD_BYTES);
    check_row(2, "b");
    check_fault(3, "longer than 65536");
    check_row(4, "c");
    check_fault(5, "longer than 65536");
    check_row(6, "d");
    check_end();
    memset(text, ',', STK_CSV_FIELDS);
    memcpy(text + STK_CSV_FIELDS, "\ne\n", 3);
    tree_bytes("t.csv", text, STK_CSV_FIELDS + 3);
    assert_int_equal(stk__csv_open(&csv, tree_path("t.csv"), NULL), STK_OK);
    check_fault(1, "more than 16384 fields");
    check_row(2, "e");
    check_end();
    free(text);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__csv_open(&csv, tree_path("none.csv"), &error), STK_ERROR_IO);
    assert_non_null(strstr(error.place, "none.csv"));
    tree_folder("folder.csv");
    assert_int_equal(stk__csv_open(&csv, tree_path("folder.csv"), &error), STK_ERROR_IO);
    assert_int_equal(mkfifo(tree_path("pipe.csv"), 0600), 0);
    assert_int_equal(stk__csv_open(&csv, tree_path("pipe.csv"), &error), STK_ERROR_IO);
    /* A read that fails later on: the descriptor is taken away. */
    open_text("a\nb\n");
    check_row(1, "a");
    close(csv.reader.file);
    csv.reader.at = csv.reader.filled;
    assert_int_equal(stk__csv_next(&csv, &error), STK_ERROR_IO);
    csv.reader.file = -1;
    stk__csv_close(&csv);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(fields_are_split),      TEST(quotes_are_understood), TEST(a_fault_costs_one_line),
        TEST(zero_bytes_are_faults), TEST(lengths_are_bounded),   TEST(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
