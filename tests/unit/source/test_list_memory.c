/* SPDX-License-Identifier: Apache-2.0 */
/* A list that consists of bad rows takes no more memory than one of good rows: what is wrong is kept once for
 * many rows, and their messages and places are right all the same. */
#include "source_tree.h"

static size_t now_bytes, most_bytes;

static void *count_alloc(void *context, size_t size_bytes)
{
    (void)context;
    now_bytes += size_bytes;
    if (now_bytes > most_bytes) most_bytes = now_bytes;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    now_bytes -= size_bytes;
    free(memory);
}

enum { ROWS = 200000 };

/* Opens a list of ROWS rows like `row`, in which # is the number of the row; returns the peak of memory. */
static size_t open_rows(const char *name, const char *head, const char *row, stk__source **source)
{
    const stk_allocator counting = {count_alloc, count_release, NULL, NULL, NULL};
    char *text = malloc(strlen(head) + (size_t)ROWS * (strlen(row) + 24)), *out = stpcpy(text, head);
    for (int i = 0; i < ROWS; i++)
        for (const char *letter = row; *letter; letter++)
            if (*letter == '#')
                out += sprintf(out, "%d", i);
            else
                *out++ = *letter;
    tree_bytes(name, text, (size_t)(out - text));
    free(text);
    assert_int_equal(stk_allocator_set(&counting), STK_OK);
    now_bytes = most_bytes = 0;
    *source = tree_open_as(name, NULL, 0);
    assert_non_null(*source);
    assert_int_equal((*source)->info.count, ROWS + 1);
    return most_bytes;
}

static void close_rows(stk__source **source)
{
    stk__source_close(source);
    stk_allocator_set(NULL);
    assert_int_equal(now_bytes, 0);
}

/* The message of the sample whose row is in this line. */
static void check_line(const stk__source *source, unsigned line, const char *message)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, ":%u", line);
    for (uint64_t id = 0; id < source->info.count; id++) {
        stk_error error = {0};
        stk__sample_facts facts;
        if (source->ops->facts(source, id, &facts, &error) == STK_OK) continue;
        if (strcmp(strrchr(error.place, ':'), wanted) != 0) continue;
        assert_string_equal(error.message, message);
        assert_int_equal(error.damage, STK_DAMAGE_BAD_ROW);
        return;
    }
    fail_msg("no sample in line %u", line);
}

static void bad_rows_cost_what_good_ones_do(void **state)
{
    (void)state;
    static const struct {
        const char *name, *head, *row, *message, *last_message;
    } lists[] = {
        {"b.jsonl", "{\"file\":\"a.png\"}\n", "{\n",
         "invalid JSON: string or '}' expected near end of file (column 1)", NULL},
        {"c.csv", "file,label\na.png,1\n", ",\n", "the file '' is empty", NULL},
        {"d.csv", "file,label\na.png,1\n", "n#,x#\n", "the label 'x5' is not an integer",
         "the label '…' is not an integer"},
        {"e.csv", "file,label\na.png,1\n", "../#,1\n",
         "the file '../5' leaves the data set's folder through '..'",
         "the file '…' leaves the data set's folder through '…'"},
        {"f.csv", "file,label\na.png,1\n", "a.png,1\n", "duplicate of the sample in line 7",
         "duplicate of the sample in line 200001"},
        {"g.csv", "file,label\na.png,1\n", "n#,-#\n", "the label -5 is not between 0 and 2147483646",
         "the label -… is not between … and …"},
    };
    stk__source *source;
    const size_t good_bytes = open_rows("good.csv", "file,label\na.png,1\n", "name#,1\n", &source);
    close_rows(&source);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const size_t most = open_rows(lists[i].name, lists[i].head, lists[i].row, &source);
        const unsigned first = i == 0 ? 2 : 3;
        check_line(source, first + 5, lists[i].message);
        check_line(source, first + ROWS - 1,
                   lists[i].last_message ? lists[i].last_message : lists[i].message);
        close_rows(&source);
        if (most > good_bytes + good_bytes / 10 + 600000)
            fail_msg("%s: %zu bytes, good rows take %zu", lists[i].name, most, good_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bad_rows_cost_what_good_ones_do, tree_make, tree_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
