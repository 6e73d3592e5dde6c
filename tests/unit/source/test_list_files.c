/* SPDX-License-Identifier: Apache-2.0 */
/* Lists as files: delimiters, rows without header, where the images are, points in JSON files, formats of
 * other programs, and failing allocations. */
#include "list_tree.h"

static void delimiters(void **state)
{
    (void)state;
    const struct {
        const char *name, *text;
    } lists[] = {
        {"labels.csv", "file;label;note\r\n\"a;1.jpg\";dog;\"x, y\"\r\nb.jpg;cat;\r\n"},
        {"labels.tsv", "file\tlabel\tnote\na;1.jpg\tdog\tx, y\nb.jpg\tcat\t\n"},
        {"labels.txt", "\xEF\xBB\xBF"
                       "file label note\na;1.jpg  dog x\nb.jpg cat y \n"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        tree_file(lists[i].name, lists[i].text);
        stk__source *source = open_good("", NULL, NULL);
        assert_int_equal(source->info.class_count, 2);
        check_key(source, 0, "a;1");
        assert_true(label_of(source, 0) == 1 && label_of(source, 1) == 0);
        check_left_out(source, "column 'note' of the list: not used (2)");
        stk__source_close(&source);
        assert_int_equal(remove(tree_path(lists[i].name)), 0);
    }
}

static void no_header(void **state)
{
    (void)state;
    tree_file("labels.csv", "a.jpg,image\nb.jpg,cat\n"); /* "image" would be a name of the column */
    stk__source *source = open_good("", NULL, NULL);
    assert_string_equal(source->info.layout, "list of images without header");
    assert_int_equal(source->info.count, 2);
    assert_true(label_of(source, 0) == 1 && label_of(source, 1) == 0);
    stk__source_close(&source);
    tree_file("labels.csv", "a.jpg,0.5\nb.jpg,0.25\n");
    source = open_good("", NULL, NULL);
    assert_int_equal(source->info.label, STK_LABEL_VALUE);
    stk__source_close(&source);
    tree_file("labels.csv", "a.jpg,1,2\nb.jpg,3,4\n");
    check_refused(NULL, STK_ERROR_DATA, "has no header and 3 columns", "data.columns='file=1,label=2'");
    source = open_good("", "label=3", NULL);
    assert_true(label_of(source, 0) == 2);
    check_left_out(source, "column '2' of the list: not used (2)");
    stk__source_close(&source);
    tree_file("images/000001.jpg", "1");
    tree_file("labels.csv", "000001,cat\n000002,dog\n");
    source = open_good("", NULL, NULL);
    assert_int_equal(source->info.count, 2);
    check_read(source, 0, STK_FIELD_IMAGE, "1", "jpg");
    stk__source_close(&source);
}

static void where_the_files_are(void **state)
{
    (void)state;
    tree_file("train/1.png", "train 1");
    tree_file("train/2.PNG", "train 2");
    tree_file("test/1.png", "test 1");
    tree_file("test.csv", "id\n1\n");
    tree_file("sample_submission.csv", "id,label\n1,x\n");
    tree_file("train.csv", "id,label\n1,x\n2,y\n");
    stk__source *source = open_good("", NULL, NULL);
    assert_int_equal(source->info.count, 2);
    check_read(source, 0, STK_FIELD_IMAGE, "train 1", "png");
    check_read(source, 1, STK_FIELD_IMAGE, "train 2", "png");
    check_left_out(source, "tables beside the list: not read (2)");
    stk__source_close(&source);
    tree_file("train/2.jpg", "also 2");
    check_refused(NULL, STK_ERROR_DATA, "a name of the list can be 'train/2.PNG' or 'train/2.jpg'",
                  "extensions");
    tree_file("labels.csv", "file,label\n1.png,x\n");
    check_refused(NULL, STK_ERROR_DATA, "has two lists, 'labels.csv' and 'train.csv'", "/labels.csv' or '");
}

/* Tables that are called like lists, beside folders of classes. */
static void tables_that_are_no_lists(void **state)
{
    (void)state;
    const struct {
        const char *name, *text, *layout;
    } tables[] = {
        {"labels.txt", "cat\ndog\n", "folder of classes"},
        {"train.txt", "cat/1.jpg\ndog/2.jpg\n", "folder of classes"},
        {"metadata.csv", "file_name,caption\ncat/1.jpg,a cat\n", "folder of classes"},
        {"metadata.jsonl", "{\"file_name\": \"cat/1.jpg\", \"caption\": \"a cat\"}\n", "folder of classes"},
        {"metadata.jsonl", "{\"step\": 1}\n", "folder of classes"},
        {"data.csv", "id,a,b\n1,2,3\n", "folder of classes"},
        {"train.csv", "Image,whale\n1.jpg,w1\n",
         "list of images"}, /* without labels, but the column is named */
        {"metadata.csv", "file_name,label\ncat/1.jpg,tom\n", "list of images"},
    };
    tree_file("cat/1.jpg", "1");
    tree_file("dog/2.jpg", "2");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        tree_file(tables[i].name, tables[i].text);
        stk__source *source = open_good("", NULL, NULL);
        assert_string_equal(source->info.layout, tables[i].layout);
        stk__source_close(&source);
        assert_int_equal(remove(tree_path(tables[i].name)), 0);
    }
    tree_file("1.jpg", "1");
    tree_file("t.csv", "id,label\n1,x\n"); /* numbers, and such a file */
    stk__source *source = open_good("t.csv", NULL, NULL);
    check_read(source, 0, STK_FIELD_IMAGE, "1", "jpg");
    stk__source_close(&source);
}

static void folders_that_may_have_them(void **state)
{
    (void)state;
    tree_file("one/a.png", "1");
    tree_file("two/a.png", "2");
    tree_file("labels.csv", "file,label\na.png,x\n");
    check_refused(NULL, STK_ERROR_DATA, "/one/' or in '", "images/");
    tree_file("image/a.png", "I");
    tree_file("masks/a.png", "M");
    stk__source *source = open_good("labels.csv", NULL, NULL);
    check_read(source, 0, STK_FIELD_IMAGE, "I", "png");
    stk__source_close(&source);
    char text[PATH_MAX + 128];
    snprintf(text, sizeof text, "file,label\ntwo\\a.png,x\n%s/one/a.png,y\nC:\\b.png,z\nhttp://h/c.png,z\n",
             tree);
    tree_file("labels.csv", text);
    source = open_good("labels.csv", NULL, NULL);
    assert_int_equal(source->info.count, 4);
    check_facts_damage(source, 0, STK_DAMAGE_BAD_ROW, "is an absolute path", "labels.csv:4");
    check_facts_damage(source, 1, STK_DAMAGE_BAD_ROW, "is a URL", "labels.csv:5");
    check_key(source, 2, "one/a");
    check_read(source, 2, STK_FIELD_IMAGE, "1", "png");
    check_read(source, 3, STK_FIELD_IMAGE, "2", "png");
    stk__source_close(&source);
}

static void points_beside_images(void **state)
{
    (void)state;
    const struct {
        const char *a, *b, *message; /* NULL: read */
    } sets[] = {
        {"{\"bg_center\": [1, 2.5], \"sd_center\": [3, 4], \"size\": [9, 9]}",
         "{\"sd_center\": [5, 6], \"bg_center\": [7, 8]}", NULL},
        {"{\"points\": {\"bg_center\": [1, 2.5], \"sd_center\": [3, 4]}}",
         "{\"points\": {\"bg_center\": [7, 8], \"sd_center\": [5, 6]}}", NULL},
        {"{\"shapes\": [{\"label\": \"bg_center\", \"points\": [[1, 2.5]], \"shape_type\": \"point\"},"
         "{\"label\": \"sd_center\", \"points\": [[3, 4]], \"shape_type\": \"point\"}], \"imagePath\": "
         "\"a\"}",
         "{\"bg_center\": [7, 8], \"sd_center\": [5, 6]}", NULL},
        {"{\"a\": [1, 2]}", "{\"a\": [1, 2], \"b\": [1, 2]}", "/b.json' has not as many points"},
        {"{\"a\": [1, 2]}", "{\"b\": [1, 2]}", "/b.json' has other names of points"},
        {"{\"a\": [1, 2]}", "oops", "/b.json' is not a JSON object"},
        {"{\"a\": [1, 2]}", NULL, "/b.json' cannot be read: every image needs one"},
        {"{\"points\": [[1, 2]]}", "{\"points\": [[1, \"x\"]]}", "/b.json' has a point that is not [x, y]"},
        {"{\"shapes\": [{\"label\": \"a\", \"points\": [[1, 2], [3, 4]], \"shape_type\": \"rectangle\"}]}",
         "{}", "/a.json' has shapes that are not points: boxes and polygons"},
    };
    tree_file("images/a.png", "A");
    tree_file("images/b.jpg", "B");
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        remove(tree_path("images/b.json"));
        tree_file("images/a.json", sets[i].a);
        if (sets[i].b) tree_file("images/b.json", sets[i].b);
        if (sets[i].message) {
            check_refused(NULL, STK_ERROR_DATA, sets[i].message, "points.csv");
            continue;
        }
        stk__source *source = open_good("", NULL, NULL);
        stk__sample_facts facts;
        assert_string_equal(source->info.layout, "images with points in JSON files");
        assert_int_equal(source->info.point_count, 2);
        assert_string_equal(source->info.point_names[0], "bg_center");
        assert_int_equal(source->ops->facts(source, 1, &facts, NULL), STK_OK);
        const float expected[6] = {7, 8, 1, 5, 6, 1};
        assert_memory_equal(facts.points, expected, sizeof expected);
        check_read(source, 1, STK_FIELD_IMAGE, "B", "jpg");
        stk__source_close(&source);
    }
    tree_file("images/a.json", "{\"width\": 5}"); /* something else: images without labels */
    stk__source *source = open_good("", NULL, NULL);
    assert_int_equal(source->info.point_count, 0);
    stk__source_close(&source);
}

static void formats_of_others(void **state)
{
    (void)state;
    const struct {
        const char *name, *text, *message, *hint;
    } files[] = {
        {"x.h5", "", "is an HDF5 file, which cannot be read", "h5py"},
        {"x.XLSX", "", "is an Excel workbook", "CSV UTF-8"},
        {"x.zip", "", "is a ZIP archive", "unzip"},
        {"x.parquet", "", "is a Parquet table", "read_parquet"},
        {"x.mat", "", "is a MATLAB file", "loadmat"},
        {"x.tfrecord", "", "is a TFRecord file", "TensorFlow"},
        {"x.rec", "", "is an MXNet RecordIO file", "recordio"},
        {"x.txt", "nothing\n", "is neither a list, a series nor a shard", ".tsv"},
        {"x.json", "{\"images\": [], \"annotations\": [], \"categories\": []}", "is a COCO annotation file",
         "labels.csv"},
        {"y.json", "[1]", "is JSON, but not a list", "labels.jsonl"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        tree_file(files[i].name, files[i].text);
        tree_refused(files[i].name, STK_ERROR_DATA, files[i].message, files[i].name);
        assert_non_null(strstr(failure.hint, files[i].hint));
    }
    tree_file("h/only.h5", "");
    tree_refused("h", STK_ERROR_DATA, "1 .h5 file: unsupported format", "");
    assert_non_null(strstr(failure.hint, "h5py"));
    tree_file("coco/images/a.jpg", "A");
    tree_file("coco/annotations/instances.json", "{\"info\": {}, \"images\": [{\"file_name\": \"a.jpg\"}]}");
    tree_refused("coco", STK_ERROR_DATA, "is a COCO annotation file", "instances.json");
    tree_file("yolo/images/a.jpg", "A");
    tree_file("yolo/labels/a.txt", "0 0.5 0.5 0.25 0.25\n");
    tree_refused("yolo", STK_ERROR_DATA, "is a YOLO annotation", "labels/a.txt");
    tree_file("voc/JPEGImages/a.jpg", "A");
    tree_file("voc/Annotations/a.xml", "<annotation/>");
    tree_refused("voc", STK_ERROR_DATA, "is a VOC annotation", "a.xml");
}

static void memory_runs_out(void **state)
{
    (void)state;
    tree_file("t/train/1.png", "");
    tree_file("t/train.csv", "id;label;split;p_x;p_y\n1;a;train;1;2\n2;b;val;1;2\n");
    check_poor_memory("t", NULL);
    tree_file("b/a.png", "");
    tree_file("b/a.json", "{\"a\": [1, 2]}");
    check_poor_memory("b", NULL);
    tree_file("c/images/a.png", "");
    tree_file("c/coco.json",
              "{\"images\": [{\"id\": 1, \"file_name\": \"a.png\"}], \"annotations\": [{\"image_id\": 1, "
              "\"category_id\": 1, \"keypoints\": [1, 2, 2]}], \"categories\": [{\"id\": 1, "
              "\"keypoints\": [\"a\"]}]}");
    check_poor_memory("c", NULL);
    tree_file("p/images/a.png", "");
    tree_file("p/train.csv", "file,label\na.png,cat\n");
    tree_file("p/val.csv", "file,label\na.png,dog\n");
    check_poor_memory("p", "val");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(delimiters),
        TEST(no_header),
        TEST(where_the_files_are),
        TEST(tables_that_are_no_lists),
        TEST(folders_that_may_have_them),
        TEST(points_beside_images),
        TEST(formats_of_others),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
