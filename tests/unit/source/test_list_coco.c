/* SPDX-License-Identifier: Apache-2.0 */
/* COCO's key points: points and their frame, what is left out or refused, which file of a folder is read; and
 * lists for the parts of a data set, whose classes are numbered alike. */
#include "list_tree.h"

#define IMAGES                 "\"images\": [{\"id\": 7, \"file_name\": \"b.jpg\"}, {\"id\": 3, \"file_name\": \"a.jpg\"}]"
#define NAMES                  "\"categories\": [{\"id\": 1, \"keypoints\": [\"left\", \"right\"]}]"
#define POINTS(image, numbers) "{\"image_id\": " image ", \"category_id\": 1, \"keypoints\": [" numbers "]}"
#define COCO(annotations)      "{" IMAGES ", \"annotations\": [" annotations "], " NAMES "}"
#define BOTH                   COCO(POINTS("3", "1,2,2,3,4,1") ", " POINTS("7", "5,6,1,0,0,0"))

static void images(void)
{
    tree_file("images/a.jpg", "A");
    tree_file("images/b.jpg", "B");
}

static void check_points(const stk__source *source, uint64_t id, const float expected[6])
{
    stk__sample_facts facts;
    assert_int_equal(source->ops->facts(source, id, &facts, NULL), STK_OK);
    for (int i = 0; i < 6; i++)
        assert_true(facts.points[i] == expected[i]);
}

/* Integers are indices of pixels, fractions are positions; v = 1 is visible, v = 0 not. */
static void points(void **state)
{
    (void)state;
    images();
    tree_file("coco.json", BOTH);
    stk__source *source = open_good("", NULL, NULL);
    assert_string_equal(source->info.layout, "images with COCO key points");
    assert_int_equal(source->info.point_count, 2);
    assert_string_equal(source->info.point_names[1], "right");
    check_key(source, 0, "a");
    check_points(source, 0, (const float[]){1.5F, 2.5F, 1, 3.5F, 4.5F, 1});
    check_points(source, 1, (const float[]){5.5F, 6.5F, 1, 0, 0, 0});
    check_read(source, 1, STK_FIELD_IMAGE, "B", "jpg");
    stk__source_close(&source);
    tree_file("coco.json", COCO(POINTS("3", "1.5,2,2,3,4,1")));
    source = open_good("", NULL, NULL);
    check_points(source, 0, (const float[]){1.5F, 2, 1, 3, 4, 1});
    check_left_out(source, "images without key points (1)");
    stk__source_close(&source);
}

/* What is not an instance of its own. */
static void instances(void **state)
{
    (void)state;
    images();
    tree_file(
        "coco.json",
        COCO(POINTS("3", "1,2,2,3,4,1") ", {\"image_id\": 3, \"iscrowd\": 1, \"keypoints\": "
                                        "[9,9,2,9,9,2]}, {\"image_id\": 3, \"bbox\": [1,2,3,4]}, " POINTS(
                                            "7", "0,0,0,0,0,0")));
    stk__source *source = open_good("", NULL, NULL);
    assert_int_equal(source->info.count, 1);
    check_left_out(source, "images without key points (1); annotations of crowds (iscrowd) (1)");
    stk__source_close(&source);
    tree_file("coco.json", COCO(POINTS("3", "1,2,2,3,4,1") ", " POINTS("3", "5,6,1,0,0,0") ", " POINTS(
                               "3", "5,6,1,0,0,0")));
    tree_refused("", STK_ERROR_DATA, "1 of 2 images have several annotated instances ('a.jpg' has 3)",
                 "coco.json");
    assert_non_null(strstr(failure.hint, "crop each instance"));
}

/* Damage of one sample, at its line. */
static void bad_annotations(void **state)
{
    (void)state;
    images();
    static const struct {
        const char *annotation, *message;
    } rows[] = {
        {POINTS("3", "1,2,2"), "'keypoints' has 3 numbers, not 6 (x, y, v of 2 points)"},
        {POINTS("3", "1,null,2,3,4,1"), "point 0 is not three numbers"},
        {POINTS("3", "1e300,1,2,3,4,1"), "point 0 is not three numbers"},
        {"{\"image_id\": 3, \"category_id\": 1, \"num_keypoints\": 0, \"keypoints\": [1,2,2,0,0,0]}",
         "'num_keypoints' is 0, but 1 point is labeled"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[2048];
        snprintf(text, sizeof text, "{" IMAGES ", \"annotations\": [%s,\n%s], " NAMES "}",
                 POINTS("7", "5,6,1,0,0,0"), rows[i].annotation);
        tree_file("coco.json", text);
        stk__source *source = open_good("", NULL, NULL);
        check_facts_damage(source, 0, STK_DAMAGE_BAD_ROW, rows[i].message, "coco.json:2");
        stk__source_close(&source);
    }
}

static void refused(void **state)
{
    (void)state;
    images();
    static const struct {
        const char *text, *message;
    } files[] = {
        {"{" IMAGES ", \"annotations\": [" POINTS("3", "1,2,2,3,4,1"), "it ends in a value"},
        {"{" IMAGES ", \"annotations\": [" POINTS("3", "1,2,2,3,4,1") "], \"a", "a name is missing"},
        {"{" IMAGES ", \"annotations\": [" POINTS("3", "1,2,2,3,4,1") "]", "it is cut off"},
        {"{" IMAGES " , \"annotations\" [" POINTS("3", "1,2,2,3,4,1") "]}", "':' is missing"},
        {"{" IMAGES ", " IMAGES ", \"annotations\": [" POINTS("3", "1,2,2") "]}", "it has a key twice"},
        {"{\"annotations\": [" POINTS("3", "1,2,2,3,4,1") "]}",
         "it has no arrays 'images' and 'annotations'"},
        {"{\"images\": {}, \"annotations\": [" POINTS("3", "1,2,2,3,4,1") "]}", "it has no arrays"},
        {COCO(POINTS("3", "1,2,2,3,4,1") " " POINTS("7", "1,2,2,3,4,1")), "',' is missing in an array"},
        {COCO(POINTS("3", "1,2,2,3,4,1") ","), "invalid JSON in an image or annotation"},
        {COCO("3, " POINTS("3", "1,2,2,3,4,1")), "invalid JSON in an image or annotation"},
        {"{\"images\": [{\"file_name\": \"a.jpg\"}], \"annotations\": [" POINTS("3", "1,2,2") "]}",
         "an image has no 'id' that is an integer"},
        {"{\"images\": [{\"id\": 3}], \"annotations\": [" POINTS("3", "1,2,2") "]}",
         "an image has no 'file_name'"},
        {"{\"images\": [{\"id\": 3, \"file_name\": \"a\"}, {\"id\": 3, \"file_name\": \"b\"}], "
         "\"annotations\": [" POINTS("3", "1,2,2") "]}",
         "two images have the same 'id'"},
        {COCO(POINTS("8", "1,2,2,3,4,1")), "'image_id' that is not in 'images'"},
        {COCO(POINTS("\"3\"", "1,2,2,3,4,1")), "'image_id' that is not in 'images'"},
        {COCO("{\"image_id\": 3}"), "no annotation has key points"},
        {"{" IMAGES ", \"annotations\": [" POINTS("3", "1,2,2") "], \"categories\": 3}",
         "its 'categories' are not an array"},
        {"{" IMAGES ", \"annotations\": [" POINTS("3", "1,2,2") "], \"categories\": [{\"id\": 1, "
                                                                "\"keypoints\": [3]}]}",
         "is not a text"},
        {"{" IMAGES
         ", \"annotations\": [" POINTS("3", "1,2,2") ", {\"image_id\": 7, \"category_id\": 2, "
                                                     "\"keypoints\": [1,2,2]}], \"categories\": [{\"id\": 1, "
                                                     "\"keypoints\": [\"a\"]}, {\"id\": 2, "
                                                     "\"keypoints\": [\"b\"]}]}",
         "annotations of two categories have different key points"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        tree_file("coco.json", files[i].text);
        tree_refused("coco.json", STK_ERROR_DATA, files[i].message, "coco.json");
    }
}

/* Without names, and with another category that has the same ones. */
static void categories(void **state)
{
    (void)state;
    images();
    tree_file("coco.json",
              "{\"annotations\": [" POINTS(
                  "3", "1,2,2") ", {\"image_id\": 7, \"category_id\": 2, "
                                "\"keypoints\": [1,2,2]}], \"info\": {\"a\": \"\\\"]}\"}, \"n\": 3, " IMAGES
                                "}");
    stk__source *source = open_good("", NULL, NULL);
    assert_true(source->info.count == 2 && source->info.point_count == 1 && !source->info.point_names);
    stk__source_close(&source);
}

static void check_file(const char *root, const char *part, const char *layout, uint64_t count)
{
    stk__source *source = open_good(root, NULL, part);
    assert_string_equal(source->info.layout, layout);
    assert_int_equal(source->info.count, count);
    stk__source_close(&source);
}

static void where_the_file_is(void **state)
{
    (void)state;
    static const char one[] = COCO(POINTS("3", "1,2,2,3,4,1"));
    tree_file("cvat/images/a.jpg", "A");
    tree_file("cvat/images/b.jpg", "B");
    tree_file("cvat/annotations/person_keypoints_default.json", BOTH);
    tree_file("cvat/annotations/instances.json", "{" IMAGES ", \"annotations\": [], \"keypoints\": []}");
    check_file("cvat", NULL, "images with COCO key points", 2);
    check_file("cvat/annotations/person_keypoints_default.json", NULL, "images with COCO key points", 2);
    tree_file("parts/images/a.jpg", "A");
    tree_file("parts/images/b.jpg", "B");
    tree_file("parts/annotations/kp_train.json", BOTH);
    tree_file("parts/annotations/kp_val.json", one);
    check_file("parts", "train", "images with COCO key points", 2);
    check_file("parts", "val", "images with COCO key points", 1);
    tree_refused("parts", STK_ERROR_CONFIG, "for its parts: load one of them", "parts");
    tree_file("parts/annotations/other_val.json", one);
    tree_refused("parts", STK_ERROR_DATA, "two COCO files with key points", "parts");
    tree_file("coco/train2017/a.jpg", "A");
    tree_file("coco/val2017/a.jpg", "A");
    tree_file("coco/annotations/person_keypoints_train2017.json", one);
    tree_file("coco/annotations/person_keypoints_val2017.json", one);
    check_file("coco", "train", "images with COCO key points in train2017/", 1);
    tree_file("two/a.jpg", "A");
    tree_file("two/coco.json", one);
    tree_file("two/annotations/kp_val.json", one);
    tree_refused("two", STK_ERROR_DATA, "has two lists, 'coco.json' and 'kp_val.json'", "two");
}

/* --- lists for parts ------------------------------------------------------------------------------------ */

static void lists_for_parts(void **state)
{
    (void)state;
    images();
    tree_file("train.csv", "file,label\na.jpg,dog\n");
    tree_file("dev.csv", "file,label\nb.jpg,cat\n");
    tree_file("test.jsonl",
              "{\"file\": \"b.jpg\", \"label\": \"dog\"}\n{\"file\": \"a.jpg\", \"label\": \"1\"}\n");
    stk__source *source = open_good("", NULL, "train");
    assert_true(source->info.parts == (STK_SOURCE_TRAIN | STK_SOURCE_VAL | STK_SOURCE_TEST));
    assert_int_equal(source->info.class_count, 2);
    assert_true(label_of(source, 0) == 1);
    assert_string_equal(source->info.how, "'train.csv' of the lists 'train.csv', 'dev.csv' and 'test.jsonl'");
    stk__source_close(&source);
    source = open_good("", NULL, "val");
    assert_true(label_of(source, 0) == 0);
    stk__source_close(&source);
    source = open_good("", NULL, "test"); /* a label that is in no other part, though it is a number */
    assert_true(label_of(source, 1) == 1);
    check_facts_damage(source, 0, STK_DAMAGE_BAD_ROW, "the label '1' is in neither of the lists",
                       "test.jsonl:2");
    stk__source_close(&source);
    const stk__source_options options = {.root = tree};
    assert_int_equal(stk__source_find_parts(&options), STK_SOURCE_TRAIN | STK_SOURCE_VAL | STK_SOURCE_TEST);
}

static void lists_that_do_not_fit(void **state)
{
    (void)state;
    images();
    tree_file("train.csv", "file,label\na.jpg,dog\n");
    tree_file("val.csv", "file,label\nb.jpg,1\n");
    assert_null(tree_open_as("", "train", 0));
    assert_non_null(strstr(failure.message, "'train.csv' and 'val.csv' lie in one folder, but have not"));
    tree_file("val.csv", "file,label,split\nb.jpg,dog,val\n");
    assert_null(tree_open_as("", "train", 0));
    assert_non_null(strstr(failure.message, "can be read in two ways: the lists"));
    tree_file("val.csv", "file,label\nb.jpg,dog\n");
    assert_null(tree_open_as("", "test", 0));
    assert_non_null(strstr(failure.message, "has no part 'test'"));
    tree_file("train.csv", "file,a_x,a_y\na.jpg,1,2\n");
    tree_file("val.csv", "file,b_x,b_y\nb.jpg,1,2\n");
    assert_null(tree_open_as("", "train", 0));
    assert_non_null(strstr(failure.message, "have not the same kind of labels, masks or points"));
    tree_file("valid.csv", "file,b_x,b_y\nb.jpg,1,2\n");
    assert_null(tree_open_as("", "train", 0));
    assert_non_null(strstr(failure.message, "has two lists, 'val.csv' and 'valid.csv'"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(points),     TEST(instances),         TEST(bad_annotations), TEST(refused),
        TEST(categories), TEST(where_the_file_is), TEST(lists_for_parts), TEST(lists_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
