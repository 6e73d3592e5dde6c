/* SPDX-License-Identifier: Apache-2.0 */
/* The source list in CSV and JSONL: labels, points, masks, bad rows, duplicates, limits, and failing
 * allocations. */
#include "source_tree.h"

static const float *points_of(const stk__source *source, uint64_t id)
{
    stk__sample_facts facts;
    assert_int_equal(source->ops->facts(source, id, &facts, NULL), STK_OK);
    assert_non_null(facts.points);
    return facts.points;
}

static void class_numbers_in_csv(void **state)
{
    (void)state;
    tree_file("labels.csv", "\xEF\xBB\xBFLabel,file,comment\r\n 2 ,b.JPG,\"x, y\"\r\n0,./sub//a.png,\r\n");
    tree_file("images/b.JPG", "B");
    tree_file("images/sub/a.png", "A");
    stk__source *source = tree_open();
    const stk__source_info *info = &source->info;
    assert_string_equal(info->layout, "list of images");
    assert_int_equal(info->count, 2);
    assert_int_equal(info->label, STK_LABEL_CLASS);
    assert_int_equal(info->class_count, 3);
    assert_null(info->class_names);
    assert_true(info->images && !info->masks && info->point_count == 0);
    check_key(source, 0, "b");
    check_key(source, 1, "sub/a");
    assert_true(label_of(source, 0) == 2 && label_of(source, 1) == 0);
    check_read(source, 0, STK_FIELD_IMAGE, "B", "jpg");
    check_read(source, 1, STK_FIELD_IMAGE, "A", "png");
    const stk__digest digest = source->info.fingerprint, expected = stk__digest_of("b\0sub/a", 8);
    assert_memory_equal(&digest, &expected, sizeof digest);
    stk__source_close(&source);
}

static void names_are_numbered_in_order(void **state)
{
    (void)state;
    tree_file("any.csv", "path,class\nx.jpg,dog\ny.jpg,\"cat, old\"\nz.jpg,7\nw.jpg,dog\nv.jpg,\n");
    tree_file("x.jpg", "X");
    stk__source *source = tree_open_as("any.csv", NULL, 0);
    assert_non_null(source);
    assert_int_equal(source->info.class_count, 3);
    assert_string_equal(source->info.class_names[0], "7");
    assert_string_equal(source->info.class_names[1], "cat, old");
    assert_string_equal(source->info.class_names[2], "dog");
    check_facts_damage(source, 0, STK_DAMAGE_BAD_ROW, "the label is missing", "any.csv:6");
    assert_true(label_of(source, 1) == 2 && label_of(source, 2) == 2 && label_of(source, 3) == 1 &&
                label_of(source, 4) == 0);
    check_read(source, 2, STK_FIELD_IMAGE, "X", "jpg"); /* no images/: relative to the list */
    stk__source_close(&source);
}

static void classes_file_wins(void **state)
{
    (void)state;
    tree_file("classes.txt", "zebra\nant\n");
    tree_file("labels.csv", "file,label\na.jpg,ant\nb.jpg,0\nc.jpg,2\nd.jpg,cow\n");
    stk__source *source = tree_open();
    assert_int_equal(source->info.class_count, 2);
    assert_string_equal(source->info.class_names[0], "zebra");
    assert_true(label_of(source, 0) == 1 && label_of(source, 1) == 0);
    check_facts_damage(source, 2, STK_DAMAGE_BAD_ROW, "the label 2 is not between 0 and 1", "labels.csv:4");
    check_facts_damage(source, 3, STK_DAMAGE_BAD_ROW, "and not in classes.txt", "labels.csv:5");
    stk__source_close(&source);
}

static void points_masks_and_values_in_csv(void **state)
{
    (void)state;
    tree_file("points.csv",
              "image,gap_y,gap_x,slider_x,slider_y,mask,value\n"
              "images/a.jpg,2.5,1.5,-3,1e2,masks/m.PNG,0.25\nb.webp,,,7,8,m.PNG,-1\nc,1,2,3,4,no,5\n");
    tree_file("images/a.jpg", "A");
    tree_file("images/b.webp", "W");
    tree_file("images/c", "C");
    tree_file("m.PNG", "M");
    tree_file("masks/m.PNG", "M");
    stk__source *source = tree_open_as("points.csv", NULL, 0);
    assert_non_null(source);
    assert_int_equal(source->info.point_count, 2);
    assert_string_equal(source->info.point_names[0], "gap"); /* by the x columns, without "_x" */
    assert_string_equal(source->info.point_names[1], "slider");
    assert_int_equal(source->info.label, STK_LABEL_VALUE);
    assert_int_equal(source->info.class_count, 0);
    assert_true(source->info.masks);
    const float first[6] = {1.5f, 2.5f, 1, -3, 100, 1}, second[6] = {0, 0, 0, 7, 8, 1};
    assert_memory_equal(points_of(source, 0), first, sizeof first);
    assert_memory_equal(points_of(source, 1), second, sizeof second);
    assert_true(label_of(source, 0) == 0.25 && label_of(source, 1) == -1);
    check_key(source, 0, "a"); /* images/ in front is dropped, as the folder gives it */
    check_read(source, 0, STK_FIELD_IMAGE, "A", "jpg");
    check_read(source, 1, STK_FIELD_IMAGE, "W", "webp");
    check_read(source, 2, STK_FIELD_IMAGE, "C", NULL);
    check_read(source, 0, STK_FIELD_MASK, "M", "PNG");
    check_read(source, 1, STK_FIELD_MASK, "M", "PNG");
    check_read_damage(source, 2, STK_FIELD_MASK, STK_DAMAGE_MISSING, "/masks/no");
    char text[PATH_MAX];
    source->ops->where(source, 1, STK_FIELD_IMAGE, text, sizeof text);
    assert_string_equal(text, tree_path("images/b.webp"));
    stk__source_close(&source);
}

static void bad_rows_of_csv(void **state)
{
    (void)state;
    const struct {
        const char *row, *message;
    } cases[] = {
        {"a.jpg,1", "has 2 fields, the header has 4"},
        {"b.jpg,1,2,3,4", "has 5 fields"},
        {"c.jpg,x,1,2", "the label 'x' is not an integer"},
        {"d.jpg,1.5,1,2", "'1.5' is not an integer"},
        {"e.jpg,-1,1,2", "the label -1 is not between"},
        {"f.jpg,99999999999,1,2", "is not between"},
        {"g.jpg,1,one,2", "the coordinate 'one' is not a finite number"},
        {"h.jpg,1,nan,2", "the coordinate 'nan'"},
        {"hh.jpg,1,1e39,2", "the coordinate '1e39'"},
        {"i.jpg,1,,2", "the coordinate '' is not a finite number"},
        {"j.jpg,1,2,", "the coordinate ''"},
        {",1,1,2", "the file '' is empty"},
        {"/etc/k.jpg,1,1,2", "is an absolute path"},
        {"../l.jpg,1,1,2", "leaves the data set's folder"},
        {"m/../../m.jpg,1,1,2", "leaves the data set's folder"},
        {"./,1,1,2", "does not name a file"},
        {"folder/,1,1,2", "does not name a file"},
        {"n.jpg,\"1,1,2", "never closed"},
        {"o.jpg,\"1\"x,1,2", "text after a closing quote"},
        {"good.jpg,1,1,2", "duplicate of the sample in line 2"},
        {"good.png,1,1,2", "duplicate of the sample in line 21"},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    char text[8192] = "file,label,p_x,p_y\ngood.jpg,4,1,2\n";
    for (int i = 0; i < CASES; i++) {
        if (strstr(cases[i].row, "n.jpg,\"")) continue; /* is put last: it would end in the next quote */
        strcat(strcat(text, cases[i].row), "\n");
    }
    strcat(strcat(text, "n.jpg,\"1,1,2"), "\n");
    tree_file("labels.csv", text);
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 1 + CASES);
    assert_int_equal(source->info.class_count, 5);
    int good = 0;
    for (uint64_t id = 0; id < source->info.count; id++) {
        stk_error error = {0};
        stk__sample_facts facts;
        if (source->ops->facts(source, id, &facts, &error) == STK_OK) {
            good++;
            check_key(source, id, "good");
            assert_true(facts.label == 4 && facts.points[1] == 2);
            continue;
        }
        assert_int_equal(error.damage, STK_DAMAGE_BAD_ROW);
        int found = 0;
        for (int i = 0; i < CASES; i++)
            found += strstr(error.message, cases[i].message) != NULL;
        if (!found) print_error("%s (%s)\n", error.message, error.place);
        assert_true(found > 0);
        check_read_damage(source, id, STK_FIELD_IMAGE, STK_DAMAGE_BAD_ROW, "labels.csv:");
        source->ops->hint(source, id);
        char place[PATH_MAX];
        source->ops->where(source, id, STK_FIELD_IMAGE, place, sizeof place);
        assert_string_equal(place, error.place);
    }
    assert_int_equal(good, 1);
    check_key(source, 0, "a"); /* as far as there is a name it is the key */
    check_facts_damage(source, 0, STK_DAMAGE_BAD_ROW, cases[0].message, "labels.csv:3");
    check_key(source, 14, "line-000000014");
    check_facts_damage(source, 14, STK_DAMAGE_BAD_ROW, "is empty", "labels.csv:14");
    stk__source_close(&source);
}

static void lengths_of_rows_are_bounded(void **state)
{
    (void)state;
    static char text[40000];
    int size = snprintf(text, sizeof text, "file,label\n");
    for (int i = 0; i < 5000; i++)
        text[size++] = 'p';
    size += snprintf(text + size, 32, ",cat\na.jpg,");
    for (int i = 0; i < 256; i++)
        text[size++] = 'l';
    size += snprintf(text + size, 32, "\nb.jpg,cat\n");
    tree_bytes("labels.csv", text, (size_t)size);
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 3);
    check_facts_damage(source, 0, STK_DAMAGE_BAD_ROW, "the label is longer than 255 bytes", "labels.csv:3");
    assert_true(label_of(source, 1) == 0);
    check_facts_damage(source, 2, STK_DAMAGE_BAD_ROW, "is too long", "labels.csv:2");
    check_key(source, 2, "line-000000002");
    stk__source_close(&source);
}

static void headers_that_cannot_be(void **state)
{
    (void)state;
    const struct {
        const char *text, *message, *place;
    } cases[] = {
        {"", "the file is empty", "labels.csv:"},
        {"a,b\nx,y\n", "no column names the images, as file, path", "labels.csv:1:1"},
        {"file,label,label\n", "column 3 'label' is a duplicate", "labels.csv:1:3"},
        {"file,label,value\na,1,1\n", "column 3 'value' and a label exclude each other", "labels.csv:1:3"},
        {"file,p_x\na,1\n", "column 2 'p_x' has no column for the other", "labels.csv:1:2"},
        {"file,q_y\na,1\n", "column 2 'q_y' has no column for the other", "labels.csv:1:2"},
        {"file,\"label\na,1\n", "quote", "labels.csv:1"},
        {"file,label\n", "has no rows", "labels.csv"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tree_file("labels.csv", cases[i].text);
        tree_refused("", STK_ERROR_DATA, cases[i].message, cases[i].place);
    }
    char text[400] = "file,";
    memset(text + 5, 'p', 300);
    strcpy(text + 305, "_x\na,1\n");
    tree_file("labels.csv", text);
    tree_refused("", STK_ERROR_DATA, "has a name that is too long", "labels.csv:1:2");
}

static void rows_of_json(void **state)
{
    (void)state;
    tree_file("labels.jsonl",
              "{\"file\": \"b.jpg\", \"label\": \"cat\", \"points\": [[1, 2.5], null], \"mask\": "
              "\"m.png\"}\r\n\n{\"file\":\"a.jpg\",\"label\":\"ant\",\"points\":[null,[3,4]],"
              "\"mask\":\"m.png\",\"note\":[1]}");
    tree_file("a.jpg", "A");
    tree_file("m.png", "M");
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 2);
    assert_int_equal(source->info.point_count, 2);
    assert_int_equal(source->info.class_count, 2);
    assert_true(source->info.masks);
    const float first[6] = {0, 0, 0, 3, 4, 1}, second[6] = {1, 2.5f, 1, 0, 0, 0};
    assert_memory_equal(points_of(source, 0), first, sizeof first);
    assert_memory_equal(points_of(source, 1), second, sizeof second);
    assert_true(label_of(source, 0) == 0 && label_of(source, 1) == 1);
    check_read(source, 0, STK_FIELD_IMAGE, "A", "jpg");
    check_read(source, 0, STK_FIELD_MASK, "M", "png");
    stk__source_close(&source);
    tree_file("v.jsonl", "{\"file\": \"b.jpg\", \"target\": 2}\n{\"file\": \"c.jpg\", \"target\": -0.5}\n");
    source = tree_open_as("v.jsonl", NULL, 0);
    assert_int_equal(source->info.label, STK_LABEL_VALUE);
    assert_true(label_of(source, 1) == -0.5);
    stk__buffer buffer = {0};
    const char *extension;
    assert_int_equal(source->ops->read(source, 0, STK_FIELD_MASK, &buffer, &extension, NULL),
                     STK_ERROR_ARGUMENT);
    stk__source_close(&source);
}

static void bad_rows_of_json(void **state)
{
    (void)state;
    const char *const first = "nonsense\n";
    const char *const good = "{\"file\":\"good.jpg\",\"label\":1,\"points\":[[5,6]],\"mask\":\"m\"}\n";
    const struct {
        const char *row, *message;
    } cases[] = {
        {"{\"file\":\"r03\",\"points\":[[1,2]],\"mask\":\"m\"}", "has no 'label', unlike the first"},
        {"{\"file\":\"r04\",\"label\":1,\"mask\":\"m\"}", "has no 'points'"},
        {"{\"file\":\"r05\",\"label\":1,\"points\":[],\"mask\":\"m\"}", "has no 'points'"},
        {"{\"file\":\"r06\",\"label\":1,\"points\":[[1,2],[3,4]],\"mask\":\"m\"}", "not a list of 1 point"},
        {"{\"file\":\"r07\",\"label\":1,\"points\":7,\"mask\":\"m\"}", "not a list of 1 point"},
        {"{\"file\":\"r08\",\"label\":1,\"points\":[[1]],\"mask\":\"m\"}",
         "point 0 is neither [x, y], [x, y, visible] nor null"},
        {"{\"file\":\"r09\",\"label\":1,\"points\":[[1,\"2\"]],\"mask\":\"m\"}", "point 0 is neither"},
        {"{\"file\":\"r10\",\"label\":1.5,\"points\":[null],\"mask\":\"m\"}",
         "neither an integer nor a name"},
        {"{\"file\":\"r11\",\"label\":\"cat\",\"points\":[null],\"mask\":\"m\"}", "is not an integer"},
        {"{\"file\":\"r12\",\"label\":1,\"points\":[null],\"mask\":5}", "'mask' is not a text"},
        {"{\"file\":\"r13\",\"label\":1,\"points\":[null],\"mask\":\"\"}", "the mask '' is empty"},
        {"{\"file\":\"r14\",\"label\":1,\"points\":[null],\"mask\":\"../m\"}",
         "leaves the data set's folder"},
        {"{\"file\":\"r15\",\"label\":1,\"points\":[null],\"mask\":\"m\",\"value\":2}", "has a 'value'"},
        {"{\"file\":\"r16\",\"file\":\"x\",\"label\":1}", "invalid JSON: duplicate"},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    char text[8192];
    snprintf(text, sizeof text, "%s%s", first, good);
    for (int i = 0; i < CASES; i++)
        strcat(strcat(text, cases[i].row), "\n");
    strcat(text, "{\"file\":5,\"label\":1,\"points\":[null],\"mask\":\"m\"}\n"); /* line 17 */
    strcat(text, "{\"label\":1,\"points\":[null],\"mask\":\"m\"}\n[1]\n");       /* lines 18, 19 */
    tree_file("points.jsonl", text);
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, CASES + 5);
    check_key(source, 0, "good");
    assert_true(label_of(source, 0) == 1);
    assert_true(points_of(source, 0)[0] == 5 && points_of(source, 0)[1] == 6);
    const struct {
        const char *key, *message, *place;
    } lines[] = {{"line-000000001", "invalid JSON", "points.jsonl:1"},
                 {"line-000000016", "invalid JSON: duplicate", "points.jsonl:16"},
                 {"line-000000017", "'file' is not a text", "points.jsonl:17"},
                 {"line-000000018", "the name of the file is missing", "points.jsonl:18"},
                 {"line-000000019", "not a JSON object", "points.jsonl:19"}};
    for (uint64_t i = 0; i < 5; i++) {
        check_key(source, 1 + i, lines[i].key);
        check_facts_damage(source, 1 + i, STK_DAMAGE_BAD_ROW, lines[i].message, lines[i].place);
    }
    for (uint64_t i = 0; i + 1 < CASES; i++) {
        char place[64];
        snprintf(place, sizeof place, "points.jsonl:%d", (int)i + 3);
        check_facts_damage(source, 6 + i, STK_DAMAGE_BAD_ROW, cases[i].message, place);
    }
    stk__source_close(&source);
    tree_file("points.jsonl", "{\"file\":\"a\",\"label\":1,\"value\":2}\n{\"file\":\"b\",\"value\":\"x\"}\n");
    tree_refused("", STK_ERROR_DATA, "column 3 'value' and a label exclude each other", "points.jsonl:1:3");
    tree_file("points.jsonl", "{\"file\":\"a\",\"value\":1}\n{\"file\":\"b\",\"value\":\"x\"}\n"
                              "{\"file\":\"c\",\"value\":1e39}\n");
    source = tree_open();
    check_facts_damage(source, 1, STK_DAMAGE_BAD_ROW, "'value' is not a number", ":2");
    check_facts_damage(source, 2, STK_DAMAGE_BAD_ROW, "'value' is not a finite", ":3");
    stk__source_close(&source);
}

static void lines_of_json_are_bounded(void **state)
{
    (void)state;
    const size_t size = (1 << 20) + 10;
    char *text = malloc(size + 64);
    assert_non_null(text);
    memset(text, ' ', size);
    text[0] = '{';
    const size_t tail = (size_t)snprintf(text + size, 64, "}\n{\"file\":\"a\"}\n");
    tree_bytes("labels.jsonl", text, size + tail);
    free(text);
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 2);
    check_facts_damage(source, 1, STK_DAMAGE_BAD_ROW, "the line is longer than", "labels.jsonl:1");
    stk__source_close(&source);
    tree_file("labels.jsonl", "\n  \n");
    tree_refused("", STK_ERROR_DATA, "has no rows", "labels.jsonl");
}

/* As lists made from COCO have them: 0 is not visible, 1 and 2 are. */
static void points_with_visibility(void **state)
{
    (void)state;
    tree_file("points.jsonl",
              "{\"file\": \"a.jpg\", \"points\": [[1, 2, 0], [3, 4, 1], [5, 6, 2], [7, 8], null]}\n"
              "{\"file\": \"b.jpg\", \"points\": [[1, 2, false], [3, 4, true], null, null, null]}\n"
              "{\"file\": \"c.jpg\", \"points\": [[1, 2, \"no\"], null, null, null, null]}\n"
              "{\"file\": \"d.jpg\", \"points\": [[1, 2, 1, 1], null, null, null, null]}\n");
    stk__source *source = tree_open();
    const float first[15] = {1, 2, 0, 3, 4, 1, 5, 6, 1, 7, 8, 1, 0, 0, 0}, second[15] = {1, 2, 0, 3, 4, 1};
    assert_memory_equal(points_of(source, 0), first, sizeof first);
    assert_memory_equal(points_of(source, 1), second, sizeof second);
    check_facts_damage(source, 2, STK_DAMAGE_BAD_ROW, "point 0 is neither [x, y], [x, y, visible] nor null",
                       "points.jsonl:3");
    check_facts_damage(source, 3, STK_DAMAGE_BAD_ROW, "point 0 is neither", "points.jsonl:4");
    stk__source_close(&source);
}

static void utf16_is_named(void **state)
{
    (void)state;
    const char *const names[] = {"l.csv", "l.jsonl", "b.csv", "b.jsonl"};
    for (int i = 0; i < 4; i++) {
        tree_file(names[i], i < 2 ? "\xFF\xFE"
                                    "f"
                                  : "\xFE\xFF");
        tree_refused(names[i], STK_ERROR_DATA, "is UTF-16 text; lists and series must be UTF-8", names[i]);
        assert_non_null(strstr(failure.hint, "iconv -f UTF-16 -t UTF-8"));
    }
}

/* Names could be numbered differently in train/ and val/: then classes.txt has to say. */
static void parts_with_lists(void **state)
{
    (void)state;
    tree_file("train/labels.csv", "file,label\na.jpg,cat\nb.jpg,dog\n");
    tree_file("val/labels.csv", "file,label\na.jpg,dog\n");
    assert_null(tree_open_as("", "val", 0));
    assert_int_equal(failure.code, STK_ERROR_DATA);
    assert_non_null(strstr(failure.hint, "classes.txt"));
    tree_file("classes.txt", "cat\ndog\n");
    stk__source *source = tree_open_as("", "val", 0);
    assert_non_null(source);
    assert_string_equal(source->info.layout, "list of images in val/");
    assert_true(label_of(source, 0) == 1);
    stk__source_close(&source);
}

/* Many rows for one file: each but the first is bad, and sorting them stays quick. */
static void many_rows_for_one_file(void **state)
{
    (void)state;
    FILE *file = fopen(tree_path("labels.csv"), "w");
    assert_non_null(file);
    fputs("file\n", file);
    for (int i = 0; i < 20000; i++)
        fputs("the_same_long_name_of_a_file.jpg\n", file);
    assert_int_equal(fclose(file), 0);
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 20000);
    label_of(source, 0);
    check_facts_damage(source, 19999, STK_DAMAGE_BAD_ROW, "in line 20000", "labels.csv:20001");
    stk__source_close(&source);
}

static void memory_runs_out(void **state)
{
    (void)state;
    tree_file("c/labels.csv",
              "file,label,p_x,p_y,mask\na.jpg,cat,1,2,m\nb.webp,dog,,,m\nb.webp,dog,,,m\n,,,,\n");
    check_poor_memory("c", NULL);
    tree_file("j/labels.jsonl", "oops\n{\"file\":\"a\",\"label\":\"x\",\"points\":[[1,2]],\"mask\":\"m\"}\n");
    check_poor_memory("j", NULL);
    check_poor_memory("c/labels.csv", NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(class_numbers_in_csv),   TEST(names_are_numbered_in_order),
        TEST(classes_file_wins),      TEST(points_masks_and_values_in_csv),
        TEST(bad_rows_of_csv),        TEST(lengths_of_rows_are_bounded),
        TEST(headers_that_cannot_be), TEST(rows_of_json),
        TEST(bad_rows_of_json),       TEST(lines_of_json_are_bounded),
        TEST(parts_with_lists),       TEST(many_rows_for_one_file),
        TEST(points_with_visibility), TEST(utf16_is_named),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
