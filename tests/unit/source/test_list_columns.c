/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of lists as other people name them: roles, data.columns, parts by a column, several labels, boxes;
 * and what is told as not used. */
#include "list_tree.h"

static void names_people_use(void **state)
{
    (void)state;
    static const char *const files[] = {"file",     "Path", "IMAGE",      "file_name",  "File Name",
                                        "image_id", "img",  "image-name", "img_path",   "Name",
                                        "filepath", "id",   "ImageID",    "image_path", "image.file"};
    static const char *const labels[] = {"label",      "Class",  "species", "category",
                                         "class_name", "target", "y",       "Tag"};
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        char text[128];
        const char *label = labels[f % (sizeof labels / sizeof labels[0])];
        snprintf(text, sizeof text, "%s,%s\na.jpg,dog\nb.jpg,cat\n", files[f], label);
        tree_file("labels.csv", text);
        stk__source *source = open_good("", NULL, NULL);
        assert_int_equal(source->info.label, STK_LABEL_CLASS);
        assert_int_equal(source->info.class_count, 2);
        assert_true(label_of(source, 0) == 1 && label_of(source, 1) == 0);
        check_left_out(source, "");
        stk__source_close(&source);
    }
}

static void columns_by_setting(void **state)
{
    (void)state;
    tree_file("labels.csv", "Picture No,kind,species,weight\na.jpg,1,fox,2.5\nb.jpg,0,owl,3\n");
    check_refused(NULL, STK_ERROR_DATA, "no column names the images, as file, path",
                  "data.columns='file=COLUMN'");
    const char *const texts[] = {"file=Picture No,label=species", " file : picture no , label : SPECIES "};
    for (int i = 0; i < 2; i++) {
        stk__source *source = open_good("", texts[i], NULL);
        assert_string_equal(source->info.class_names[0], "fox");
        check_left_out(source,
                       "column 'kind' of the list: not used (2); column 'weight' of the list: not used (2)");
        stk__source_close(&source);
    }
    stk__source *source = open_good("", "file=Picture No,value=weight", NULL);
    assert_int_equal(source->info.label, STK_LABEL_VALUE);
    assert_true(label_of(source, 0) == 2.5);
    stk__source_close(&source);
    check_refused("file=nothing", STK_ERROR_CONFIG, "takes the file from 'nothing', which is not a column",
                  "'Picture No', 'kind', 'species', 'weight'");
    check_refused("file", STK_ERROR_CONFIG, "has 'file', which does not say ROLE=COLUMN",
                  "file, label (or labels), value");
    check_refused("colour=x", STK_ERROR_CONFIG, "has 'colour=x'", "file, label (or labels), value");
    check_refused("file=Picture No,file=kind", STK_ERROR_CONFIG, "has 'file=kind'", "each once");
    check_refused("file=kind,label=kind", STK_ERROR_CONFIG, "takes both file and label from 'kind'", "");
    check_refused("file=Picture No,points=all", STK_ERROR_CONFIG, "the list has no such columns", "NAME_x");
    check_refused("file=Picture No,label=kind,value=weight", STK_ERROR_DATA, "exclude each other",
                  "data.columns");
}

static void ambiguous_columns(void **state)
{
    (void)state;
    tree_file("labels.csv", "filename,id,label,category\na.jpg,7,x,y\n");
    check_refused(NULL, STK_ERROR_DATA, "the columns 'label' and 'category' can both be the label",
                  "data.columns='label=label' or data.columns='label=category'");
    stk__source *source = open_good("", "label=category", NULL);
    check_key(source, 0, "a"); /* filename before id */
    check_left_out(source, "column 'id' of the list: not used (1); column 'label' of the list: not used (1)");
    stk__source_close(&source);
    tree_file("labels.csv", "file,label,age\na.jpg,x,33\n"); /* a weak name beside a label */
    source = open_good("", NULL, NULL);
    assert_int_equal(source->info.label, STK_LABEL_CLASS);
    check_left_out(source, "column 'age' of the list: not used (1)");
    stk__source_close(&source);
    tree_file("labels.csv", "file,label\na.jpg,0.25\nb.jpg,0.5\n"); /* no class is called 0.25 */
    source = open_good("", NULL, NULL);
    assert_int_equal(source->info.label, STK_LABEL_VALUE);
    assert_true(label_of(source, 0) == 0.25 && label_of(source, 1) == 0.5);
    assert_string_equal(source->info.how, "values: column 'label'");
    stk__source_close(&source);
    tree_file("labels.csv", "file,y\na.jpg,0\nb.jpg,1\n");
    check_refused(NULL, STK_ERROR_DATA, "the column 'y' has integers only, which can be class ids or values",
                  "data.columns='label=y' reads them as classes, data.columns='value=y' as values");
    tree_file("labels.csv", "file,y\na.jpg,0\nb.jpg,256\n"); /* there are 256 classes at most */
    source = open_good("", NULL, NULL);
    assert_int_equal(source->info.label, STK_LABEL_VALUE);
    stk__source_close(&source);
    tree_file("labels.csv", "image_url,label\nhttps://host/a.jpg,x\n");
    check_refused(NULL, STK_ERROR_DATA, "the column 'image_url' has URLs: images must be local", "download");
}

/* pandas: an index without name, 3.0 beside empty cells. */
static void pandas_defaults(void **state)
{
    (void)state;
    tree_file("labels.csv", ",file,label\n0,a.jpg,3.0\n1,b.jpg,\n2,c.jpg,1.0\n");
    stk__source *source = open_good("", NULL, NULL);
    assert_int_equal(source->info.class_count, 4);
    assert_true(label_of(source, 0) == 3 && label_of(source, 2) == 1);
    check_facts_damage(source, 1, STK_DAMAGE_BAD_ROW, "the label is missing", "labels.csv:3");
    check_left_out(source, "column 1 of the list, without a name: not used (3)");
    stk__source_close(&source);
}

static void parts_by_a_column(void **state)
{
    (void)state;
    tree_file("labels.csv", "file,label,split\nd.jpg,owl,test\na.jpg,fox,train\nb.jpg,fox,Validation\n"
                            "c.jpg,cat,train\na.jpg,fox,val\n");
    const struct {
        const char *part;
        uint64_t count;
    } parts[] = {{NULL, 5}, {"train", 2}, {"val", 2}, {"test", 1}};
    for (int i = 0; i < 4; i++) {
        stk__source *source = open_good("", NULL, parts[i].part);
        assert_int_equal(source->info.parts, STK_SOURCE_TRAIN | STK_SOURCE_VAL | STK_SOURCE_TEST);
        assert_int_equal(source->info.count, parts[i].count);
        assert_int_equal(source->info.class_count, 3); /* numbered over all parts */
        check_left_out(source, "");
        stk__source_close(&source);
    }
    stk__source *source = open_good("", NULL, "train");
    check_key(source, 0, "a");
    check_key(source, 1, "c");
    assert_true(label_of(source, 0) == 1 && label_of(source, 1) == 0);
    stk__source_close(&source);
    source = open_good("", NULL, "val");
    check_facts_damage(source, 0, STK_DAMAGE_BAD_ROW, "duplicate of the sample in line 3", "labels.csv:6");
    check_key(source, 1, "b");
    stk__source_close(&source);
    source = open_good("", "split=none", "val");
    assert_int_equal(source->info.parts, 0);
    assert_int_equal(source->info.count, 5);
    check_left_out(source, "column 'split' of the list: not used (5)");
    stk__source_close(&source);
}

static void parts_that_are_not_clear(void **state)
{
    (void)state;
    tree_file("labels.csv", "image_id,partition,label\na.jpg,0,x\nb.jpg,1,y\n");
    check_refused(NULL, STK_ERROR_DATA,
                  "the column 'partition' has '0', which is none of train, val and test",
                  "data.columns='split=none'");
    tree_file("labels.csv", "file,split,label\na.jpg,train,x\nb.jpg,,y\n");
    check_refused(NULL, STK_ERROR_DATA, "the column 'split' has '', which", "split=none");
    tree_file("labels.csv", "file,usage,label\na.jpg,Training,x\nb.jpg,Test,y\n");
    stk__source *source = open_good("", NULL, "test");
    assert_int_equal(source->info.parts, STK_SOURCE_TRAIN | STK_SOURCE_TEST);
    check_key(source, 0, "b");
    stk__source_close(&source);
    source = open_good("", NULL, "val"); /* to be held back from the training rows */
    assert_int_equal(source->info.count, 1);
    check_key(source, 0, "a");
    stk__source_close(&source);
    tree_file("labels.csv", "file,split,label\na.jpg,train,x\nb.jpg,val,y\n");
    assert_null(open_with("", NULL, "test"));
    assert_non_null(strstr(failure.message, "no rows of the part 'test': it has those of train val"));
    tree_file("labels.csv", "file,dataset,fold,label\na.jpg,rosendahl,0,x\nb.jpg,vidir,1,y\n");
    source = open_good("", NULL, "val");
    assert_int_equal(source->info.parts, 0);
    check_left_out(source,
                   "column 'dataset' of the list: not used (2); column 'fold' of the list: not used (2)");
    stk__source_close(&source);
    tree_file("labels.csv", "x");
    tree_file("l.jsonl", "{}\n{\"file\":\"a\",\"split\":\"val\"}\n"); /* an empty row is one of training */
    source = open_good("l.jsonl", NULL, NULL);
    assert_int_equal(source->info.parts, STK_SOURCE_TRAIN | STK_SOURCE_VAL);
    assert_int_equal(source->info.count, 2);
    check_facts_damage(source, 1, STK_DAMAGE_BAD_ROW, "the name of the file is missing", "l.jsonl:1");
    stk__source_close(&source);
    assert_null(open_with("l.jsonl", "file=x", NULL));
    tree_file("l.jsonl", "{\"file\":\"a\",\"split\":\"train\"}\n{\"file\":\"b\",\"split\":\"test\"}\n");
    source = open_good("l.jsonl", NULL, "train");
    assert_int_equal(source->info.count, 1);
    stk__source_close(&source);
}

/* "cat+dog": the names of the classes that a sample has. */
static void print_set(const stk__source *source, uint64_t id, char *text, size_t size)
{
    stk__sample_facts facts;
    assert_int_equal(source->ops->facts(source, id, &facts, NULL), STK_OK);
    *text = '\0';
    for (int32_t c = 0; c < source->info.class_count; c++)
        if (facts.set[c])
            snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? "+" : "",
                     source->info.class_names[c]);
}

static void check_sets(const char *const *sets, int count)
{
    stk__source *source = open_good("", NULL, NULL);
    assert_int_equal(source->info.label, STK_LABEL_SET);
    for (int i = 0; i < count && sets[i]; i++) {
        char text[256];
        print_set(source, (uint64_t)i, text, sizeof text);
        assert_string_equal(text, sets[i]);
    }
    stk__source_close(&source);
}

static void several_labels(void **state)
{
    (void)state;
    static const struct {
        const char *list, *sets[3];
        int32_t classes;
    } rows[] = {
        {"file,tags\na.jpg,cat;dog\nb.jpg,cat\n", {"cat+dog", "cat"}, 2},
        {"file,tags\na.jpg,dog ; cat;\nb.jpg,cat\n", {"cat+dog", "cat"}, 2},
        {"file,label\na.jpg,cat|dog\nb.jpg,cow\n", {"cat+dog", "cow"}, 3},
        {"file,label\na.jpg,cat dog\nb.jpg,cat\nc.jpg,dog\n", {"cat+dog", "cat", "dog"}, 2},
        {"file,label\na.jpg,\"cat, big dog\"\nb.jpg,cat\nc.jpg,big dog\n",
         {"big dog+cat", "cat", "big dog"},
         2},
        {"file,label\na.jpg,5\nb.jpg,16 0\n", {"5", "0+16"}, 3},
        {"file,label\na.jpg,\"['cat', 'old dog']\"\nb.jpg,[]\nc.jpg,\"[\"\"cat\"\"]\"\n",
         {"cat+old dog", "", "cat"},
         2},
        {"file,label\na.jpg,\"[3, 12]\"\nb.jpg,[3]\n", {"12+3", "3"}, 2},
        {"file,tags\na.jpg,agriculture clear primary water\nb.jpg,clear primary water road\n"
         "c.jpg,agriculture haze road\n",
         {"agriculture+clear+primary+water", "clear+primary+road+water", "agriculture+haze+road"},
         6},
        {"image_id,smiling,young,male\na.jpg,1,-1,1\nb.jpg,-1,-1,-1\nc.jpg,-1,1,-1\n",
         {"male+smiling", "", "young"},
         3},
        {"image_id,MEL,NV\na.jpg,1.0,0.0\nb.jpg,0.0,1.0\n", {"MEL", "NV"}, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tree_file("labels.csv", rows[i].list);
        check_sets(rows[i].sets, 3);
    }
    tree_file("labels.csv", rows[9].list);
    stk__source *source = open_good("", "label=smiling", NULL); /* -1 is class 0 */
    check_left_out(source,
                   "column 'young' of the list: not used (3); column 'male' of the list: not used (3)");
    assert_int_equal(source->info.class_count, 2);
    assert_true(label_of(source, 0) == 1 && label_of(source, 1) == 0);
    stk__source_close(&source);
    tree_file("labels.csv", "file,label\na.jpg,red car\nb.jpg,blue car\nc.jpg,red van\nd.jpg,\"cat, old\"\n");
    source = open_good("", NULL, NULL); /* words, not labels */
    assert_int_equal(source->info.class_count, 4);
    stk__source_close(&source);
    tree_file("labels.csv", "file,label\na.jpg,cat;dog\nb.jpg,cat\n");
    source = open_good("", "label=label", NULL);
    assert_int_equal(source->info.class_count, 2);
    assert_int_equal(source->info.label, STK_LABEL_CLASS);
    stk__source_close(&source);
}

static void sets_that_cannot_be_read(void **state)
{
    (void)state;
    stk__source *source;
    char text[300 * 1024] = "file,label\n", *end = text + strlen(text);
    tree_file("labels.csv", "file,label\na.jpg,\"['cat']\"\nb.jpg,dog\nc.jpg,\"['cow]\"\n");
    source = open_good("", NULL, NULL);
    check_facts_damage(source, 1, STK_DAMAGE_BAD_ROW, "the label 'dog' is not a list", "labels.csv:3");
    check_facts_damage(source, 2, STK_DAMAGE_BAD_ROW, "has an open quote", "labels.csv:4");
    stk__source_close(&source);
    for (int i = 0; i < 257; i++)
        end += snprintf(end, 64, "%d.jpg,a%d;b\n", i, i);
    tree_file("labels.csv", text);
    check_refused(NULL, STK_ERROR_DATA, "the list has 258 labels; up to 256 are supported", "label=none");
    tree_file("labels.csv", "file,label\na.jpg,[]\nb.jpg,[]\n");
    check_refused(NULL, STK_ERROR_DATA, "no image of the list has a label", "label=none");
    tree_file("classes.txt", "dog\ncat\n"); /* sets the order */
    tree_file("labels.csv", "file,label\na.jpg,['cat']\nb.jpg,['dog']\n");
    source = open_good("", NULL, NULL);
    assert_string_equal(source->info.class_names[0], "dog");
    assert_int_equal(source->info.label, STK_LABEL_SET);
    stk__source_close(&source);
    tree_file("labels.csv", "file,label\na.jpg,['cow']\n");
    check_refused(NULL, STK_ERROR_DATA, "the label 'cow' is not in classes.txt", "classes.txt");
}

static void poor_memory_of_sets(void **state)
{
    (void)state;
    tree_file("s/labels.csv", "file,tags\na.jpg,cat;dog\nb.jpg,cat\n");
    check_poor_memory("s", NULL);
    tree_file("f/labels.csv", "file,x,y\na.jpg,1,0\nb.jpg,1,1\n");
    check_poor_memory("f", NULL);
    tree_file("j/labels.jsonl", "{\"file\": \"a.jpg\", \"label\": [\"cat\", \"dog\"]}\n");
    check_poor_memory("j", NULL);
    tree_file("p/train.csv", "file,label\na.jpg,x;y\nb.jpg,y\n");
    tree_file("p/val.csv", "file,label\nc.jpg,z;y\nd.jpg,\n");
    tree_file("p/test.csv", "file,label\ne.jpg,u;y\nf.jpg,x\n");
    check_poor_memory("p", "train");
    check_poor_memory("p", "test");
    tree_file("c/labels.csv", "file,label\na.jpg,y\nb.jpg,x;y\n");
    tree_file("c/classes.txt", "y\nx\n");
    check_poor_memory("c", NULL);
}

static void several_rows_for_one_file(void **state)
{
    (void)state;
    char text[1024] = "file,label\n";
    for (int i = 0; i < 12; i++)
        snprintf(text + strlen(text), 32, "%d.jpg,%s\n", i / 3, i % 3 ? "cat" : "dog");
    tree_file("labels.csv", text);
    check_refused(NULL, STK_ERROR_DATA, "several rows with other labels for the same file",
                  "write the labels of an image into one row");
    stk__source *source = open_good("", "label=none", NULL);
    assert_int_equal(source->info.count, 12);
    check_facts_damage(source, 1, STK_DAMAGE_BAD_ROW, "duplicate of the sample in line 2", "labels.csv:3");
    stk__source_close(&source);
}

static void boxes_and_polygons(void **state)
{
    (void)state;
    const char *const headers[] = {"filename,width,height,class,xmin,ymin,xmax,ymax",
                                   "image_id,bbox,label,source",
                                   "file,x,y,w,h,label",
                                   "fname,file,bbox_x1,bbox_y1,class",
                                   "file,x1,y1,x2,y2",
                                   "image,label,EncodedPixels",
                                   "file,label,polygon_points"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s\n", headers[i]);
        for (const char *at = headers[i]; at; at = (at = strchr(at, ',')) ? at + 1 : NULL)
            strcat(text, at == headers[i] ? "1" : ",1");
        tree_file("labels.csv", strcat(text, "\n"));
        check_refused(NULL, STK_ERROR_DATA, "object detection is not supported", "data.columns='label=");
    }
    tree_file("labels.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\na.jpg,9,9,cat,1,2,3,4\n");
    stk__source *source = open_good("", "label=class", NULL);
    assert_int_equal(source->info.class_count, 1);
    assert_int_equal(source->info.left_out_count, 6);
    stk__source_close(&source);
    tree_file("labels.csv", "file,x1,y1,x2,y2\na.jpg,1,2,3,4\n");
    source = open_good("", "points=all", NULL);
    assert_int_equal(source->info.point_count, 2);
    assert_string_equal(source->info.point_names[1], "2");
    stk__source_close(&source);
    tree_file("labels.csv", "file,x,y\na.jpg,1,2\n");
    source = open_good("", NULL, NULL);
    assert_int_equal(source->info.point_count, 1);
    assert_string_equal(source->info.point_names[0], "point");
    stk__source_close(&source);
    tree_file("labels.csv", "file,label,x,y\na.jpg,cat,1,2\n"); /* of something else */
    source = open_good("", NULL, NULL);
    assert_int_equal(source->info.point_count, 0);
    check_left_out(source, "column 'x' of the list: not used (1); column 'y' of the list: not used (1)");
    stk__source_close(&source);
    tree_file("labels.csv", "file,a_x,a_y,b_x,b_y\na.jpg,1,2,3,4\n");
    source = open_good("", "points=b", NULL);
    assert_int_equal(source->info.point_count, 1);
    check_left_out(source, "column 'a_x' of the list: not used (1); column 'a_y' of the list: not used (1)");
    stk__source_close(&source);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(names_people_use),    TEST(columns_by_setting),
        TEST(ambiguous_columns),   TEST(pandas_defaults),
        TEST(parts_by_a_column),   TEST(parts_that_are_not_clear),
        TEST(several_labels),      TEST(sets_that_cannot_be_read),
        TEST(poor_memory_of_sets), TEST(several_rows_for_one_file),
        TEST(boxes_and_polygons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
