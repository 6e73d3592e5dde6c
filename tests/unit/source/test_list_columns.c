/* SPDX-License-Identifier: Apache-2.0 */
/* Lists as other people write them: names of columns, data.columns, parts by a column, delimiters, rows
 * without header, names without folder or extension, several labels, boxes; and what is told as not used. */
#include "source_tree.h"

static stk__source *open_with(const char *name, const char *columns, const char *part)
{
    char root[PATH_MAX];
    snprintf(root, sizeof root, "%s%s%s", tree, *name ? "/" : "", name);
    const stk__source_options options = {
        .root = root, .part = part, .columns = columns, .limit_bytes = 1 << 20};
    stk__source *source = NULL;
    failure = (stk_error){0};
    const stk_status status = stk__source_open(&source, &options, &failure);
    assert_int_equal(status, failure.code);
    assert_true((status == STK_OK) == (source != NULL));
    return source;
}

static stk__source *open_good(const char *name, const char *columns, const char *part)
{
    stk__source *source = open_with(name, columns, part);
    if (!source) print_error("%s (%s)\n", failure.message, failure.place);
    assert_non_null(source);
    return source;
}

static void check_refused(const char *columns, stk_status code, const char *message, const char *hint)
{
    assert_null(open_with("", columns, NULL));
    if (!strstr(failure.message, message) || !strstr(failure.hint, hint))
        print_error("unexpected: %s (hint: %s)\n", failure.message, failure.hint);
    assert_int_equal(failure.code, code);
    assert_non_null(strstr(failure.message, message));
    assert_non_null(strstr(failure.hint, hint));
}

/* The rows of left_out, joined: "a (3); b (1)". */
static void check_left_out(const stk__source *source, const char *expected)
{
    char text[1024] = "";
    size_t size = 0;
    for (int32_t i = 0; i < source->info.left_out_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s (%llu)", i ? "; " : "",
                                 source->info.left_out[i].what,
                                 (unsigned long long)source->info.left_out[i].count);
    assert_string_equal(text, expected);
}

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
                  "file, label, value");
    check_refused("colour=x", STK_ERROR_CONFIG, "has 'colour=x'", "file, label, value");
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
    tree_file("labels.csv", "file,label\na.jpg,0.25\nb.jpg,0.5\n");
    check_refused(NULL, STK_ERROR_DATA, "has numbers that are not integers", "data.columns='value=label'");
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
    tree_file("l.jsonl", "{\"file\":\"a\",\"split\":\"train\"}\n{\"file\":\"b\",\"split\":\"test\"}\n");
    source = open_good("l.jsonl", NULL, "train");
    assert_int_equal(source->info.count, 1);
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
    check_refused(NULL, STK_ERROR_DATA, "has two lists, 'labels.csv' and 'train.csv'",
                  "/labels.csv or data.root=");
}

static void folders_that_may_have_them(void **state)
{
    (void)state;
    tree_file("one/a.png", "1");
    tree_file("two/a.png", "2");
    tree_file("masks/a.png", "M");
    tree_file("labels.csv", "file,label\na.png,x\n");
    check_refused(NULL, STK_ERROR_DATA, "/one/' or in '", "images/");
    tree_file("image/a.png", "I");
    stk__source *source = open_good("", NULL, NULL);
    check_read(source, 0, STK_FIELD_IMAGE, "I", "png");
    stk__source_close(&source);
    char text[PATH_MAX + 128];
    snprintf(text, sizeof text, "file,label\ntwo\\a.png,x\n%s/one/a.png,y\nC:\\b.png,z\nhttp://h/c.png,z\n",
             tree);
    tree_file("labels.csv", text);
    source = open_good("", NULL, NULL);
    assert_int_equal(source->info.count, 4);
    check_facts_damage(source, 0, STK_DAMAGE_BAD_ROW, "is an absolute path", "labels.csv:4");
    check_facts_damage(source, 1, STK_DAMAGE_BAD_ROW, "is a URL", "labels.csv:5");
    check_key(source, 2, "one/a");
    check_read(source, 2, STK_FIELD_IMAGE, "1", "png");
    check_read(source, 3, STK_FIELD_IMAGE, "2", "png");
    stk__source_close(&source);
}

static void several_labels(void **state)
{
    (void)state;
    const char *const lists[] = {
        "file,tags\na.jpg,cat;dog\nb.jpg,cat\n",
        "file,label\na.jpg,cat|dog\nb.jpg,cow\n",
        "file,label\na.jpg,cat dog\nb.jpg,cat\nc.jpg,dog\n",
        "file,label\na.jpg,\"cat, dog\"\nb.jpg,cat\nc.jpg,dog\n",
        "file,label\na.jpg,5\nb.jpg,16 0\n",
        "file,label\na.jpg,\"['cat', 'dog']\"\n",
        "file,tags\na.jpg,agriculture clear primary water\nb.jpg,clear primary water road\nc.jpg,agriculture "
        "haze road\n",
        "image_id,smiling,young,male\na.jpg,1,-1,1\nb.jpg,-1,-1,1\n",
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        tree_file("labels.csv", lists[i]);
        check_refused(NULL, STK_ERROR_DATA, "multi-label classification is not supported",
                      "data.columns='label=");
    }
    stk__source *source = open_good("", "label=smiling", NULL); /* the last of them: -1 is class 0 */
    check_left_out(source,
                   "column 'young' of the list: not used (2); column 'male' of the list: not used (2)");
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
    stk__source_close(&source);
}

static void several_rows_for_one_file(void **state)
{
    (void)state;
    char text[1024] = "file,label\n";
    for (int i = 0; i < 12; i++)
        snprintf(text + strlen(text), 32, "%d.jpg,%s\n", i / 3, i % 3 ? "cat" : "dog");
    tree_file("labels.csv", text);
    check_refused(NULL, STK_ERROR_DATA, "several rows with other labels for the same file",
                  "one row per image");
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
    tree_file("labels.csv", "file,a_x,a_y,b_x,b_y\na.jpg,1,2,3,4\n");
    source = open_good("", "points=b", NULL);
    assert_int_equal(source->info.point_count, 1);
    check_left_out(source, "column 'a_x' of the list: not used (1); column 'a_y' of the list: not used (1)");
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
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(names_people_use),    TEST(columns_by_setting),
        TEST(ambiguous_columns),   TEST(pandas_defaults),
        TEST(delimiters),          TEST(no_header),
        TEST(parts_by_a_column),   TEST(parts_that_are_not_clear),
        TEST(where_the_files_are), TEST(folders_that_may_have_them),
        TEST(several_labels),      TEST(several_rows_for_one_file),
        TEST(boxes_and_polygons),  TEST(points_beside_images),
        TEST(formats_of_others),   TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
