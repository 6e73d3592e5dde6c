/* SPDX-License-Identifier: Apache-2.0 */
/* The sources folder and pairs: classes, splits, links, odd names, unreadable folders, paths that are too
 * long, and failing allocations. */
#include "source_tree.h"

#include <fcntl.h>

static char logged[2048];

static void keep_log(void *context, stk_log_level level, const char *line)
{
    (void)context;
    (void)level;
    snprintf(logged, sizeof logged, "%s", line);
}

static void classes_are_the_first_folders(void **state)
{
    (void)state;
    tree_file("b/2.JPG", "two");
    tree_file("b/deep/er/1.png", "one");
    tree_file("a b/x.jpeg", "x");
    tree_file("a/x.Npy", "y");
    tree_file("a/notes.txt", "");
    tree_file(".hidden/z.jpg", "");
    tree_file("a/.z.jpg", "");
    tree_folder("empty");
    stk__source *source = tree_open();
    const stk__source_info *info = &source->info;
    assert_string_equal(info->layout, "folder of classes");
    assert_int_equal(info->count, 4);
    assert_int_equal(info->class_count, 3);
    assert_string_equal(info->class_names[0], "a");
    assert_string_equal(info->class_names[1], "a b");
    assert_string_equal(info->class_names[2], "b");
    assert_int_equal(info->label, STK_LABEL_CLASS);
    assert_true(info->images && !info->masks && info->point_count == 0 && info->window_rows == 0);
    check_key(source, 0, "a b/x"); /* ' ' < '/' */
    check_key(source, 1, "a/x");
    check_key(source, 2, "b/2");
    check_key(source, 3, "b/deep/er/1");
    assert_true(label_of(source, 0) == 1 && label_of(source, 1) == 0 && label_of(source, 3) == 2);
    check_read(source, 0, STK_FIELD_IMAGE, "x", "jpeg");
    check_read(source, 1, STK_FIELD_IMAGE, "y", "npy");
    check_read(source, 2, STK_FIELD_IMAGE, "two", "jpg");
    char text[PATH_MAX];
    source->ops->where(source, 2, STK_FIELD_IMAGE, text, sizeof text);
    assert_string_equal(text, tree_path("b/2.JPG"));
    source->ops->key(source, 2, text, 3);
    assert_string_equal(text, "b/");
    stk__buffer buffer = {0};
    const char *extension;
    assert_int_equal(source->ops->read(source, 0, STK_FIELD_MASK, &buffer, &extension, NULL),
                     STK_ERROR_ARGUMENT);
    stk__source_close(&source);
    assert_null(source);
    stk__source_close(&source);
}

static void parts_have_the_same_classes(void **state)
{
    (void)state;
    tree_file("train/a/1.jpg", "");
    tree_file("train/b/1.jpg", "");
    tree_file("val/b/2.jpg", "");
    tree_file("val/c/x/2.jpg", "");
    tree_file("val/logs/text.txt", "");
    tree_file("val/odd.jpg/2.jpg", ""); /* a folder, but called like an image */
    assert_int_equal(stk__source_find_parts(&(stk__source_options){.root = tree}),
                     STK_SOURCE_TRAIN | STK_SOURCE_VAL);
    assert_int_equal(stk__source_find_parts(&(stk__source_options){.root = tree_path("train")}), 0);
    stk__source *source = tree_open_as("", "train", 0);
    assert_non_null(source);
    assert_string_equal(source->info.layout, "folder of classes in train/");
    assert_int_equal(source->info.count, 2);
    assert_int_equal(source->info.class_count, 3);
    assert_string_equal(source->info.class_names[2], "c");
    check_key(source, 1, "b/1");
    assert_true(label_of(source, 1) == 1);
    stk__source_close(&source);
    assert_int_equal(remove(tree_path("val/odd.jpg/2.jpg")), 0);
    assert_int_equal(remove(tree_path("val/odd.jpg")), 0);
    source = tree_open_as("", "val", 0);
    assert_non_null(source);
    assert_int_equal(source->info.class_count, 3);
    assert_true(label_of(source, 0) == 1 && label_of(source, 1) == 2);
    stk__source_close(&source);
    assert_null(tree_open_as("", "test", 0));
    assert_int_equal(failure.code, STK_ERROR_CONFIG);
    assert_null(tree_open_as("", "other", 0));
    assert_int_equal(failure.code, STK_ERROR_ARGUMENT);
    source = tree_open_as("train", "val", 0); /* no parts there: the whole */
    assert_int_equal(source->info.count, 2);
    stk__source_close(&source);
}

static void images_without_classes(void **state)
{
    (void)state;
    tree_file("images/a/1.jpg", "1");
    tree_file("images/2.jpg", "2");
    stk__source *source = tree_open();
    assert_string_equal(source->info.layout, "folder of images");
    assert_int_equal(source->info.label, STK_LABEL_NONE);
    assert_int_equal(source->info.class_count, 0);
    check_key(source, 0, "2");
    check_key(source, 1, "a/1");
    check_read(source, 1, STK_FIELD_IMAGE, "1", "jpg");
    const stk__digest below = source->info.fingerprint;
    stk__source_close(&source);
    source = tree_open_as("images/a", NULL, 0);
    assert_string_equal(source->info.layout, "folder of images");
    check_key(source, 0, "1");
    assert_true(source->info.fingerprint.low != below.low);
    stk__source_close(&source);
    source = tree_open_as("images/a/", NULL, 0); /* a slash at the end changes nothing */
    check_read(source, 0, STK_FIELD_IMAGE, "1", "jpg");
    stk__source_close(&source);
}

static void fingerprint_is_over_keys(void **state)
{
    (void)state;
    tree_file("one/b.jpg", "1");
    tree_file("one/a.jpg", "1");
    tree_file("two/a.png", "other");
    tree_file("two/b.JPEG", "bytes");
    stk__source *one = tree_open_as("one", NULL, 0), *two = tree_open_as("two", NULL, 0);
    assert_memory_equal(&one->info.fingerprint, &two->info.fingerprint, sizeof(stk__digest));
    const stk__digest expected = stk__digest_of("a\0b", 4);
    assert_memory_equal(&one->info.fingerprint, &expected, sizeof expected);
    stk__source_close(&one);
    stk__source_close(&two);
}

static void pairs_by_stem(void **state)
{
    (void)state;
    tree_file("images/a.jpg", "A");
    tree_file("images/s/b.PNG", "B");
    tree_file("images/c.npy", "C");
    tree_file("masks/a.PNG", "ma");
    tree_file("masks/s/b.npy", "mb");
    tree_file("masks/lost.png", "");
    tree_file("masks/z/lost.png", "");
    tree_file("classes.txt", "\xEF\xBB\xBFsky\r\nground\n");
    stk__source *source = tree_open();
    assert_int_equal(source->info.left_out_count, 1);
    assert_string_equal(source->info.left_out[0].what, "masks without an image");
    assert_string_equal(source->info.left_out[0].example, "lost.png");
    assert_int_equal(source->info.left_out[0].count, 2);
    assert_int_equal(source->info.unmasked, 1);
    assert_string_equal(source->info.layout, "images and masks");
    assert_true(source->info.images && source->info.masks);
    assert_int_equal(source->info.count, 3);
    assert_int_equal(source->info.orphans, 2);
    assert_int_equal(source->info.class_count, 2);
    assert_string_equal(source->info.class_names[0], "sky");
    assert_string_equal(source->info.class_names[1], "ground");
    check_read(source, 0, STK_FIELD_IMAGE, "A", "jpg");
    check_read(source, 0, STK_FIELD_MASK, "ma", "png");
    check_read(source, 2, STK_FIELD_MASK, "mb", "npy");
    label_of(source, 1); /* facts of an image without mask are fine */
    check_read_damage(source, 1, STK_FIELD_MASK, STK_DAMAGE_MASK_MISSING, "/masks/c.png");
    char text[PATH_MAX];
    source->ops->where(source, 0, STK_FIELD_MASK, text, sizeof text);
    assert_string_equal(text, tree_path("masks/a.PNG"));
    stk__source_close(&source);
}

static void pairs_that_cannot_be(void **state)
{
    (void)state;
    tree_folder("images");
    tree_folder("masks");
    tree_refused("", STK_ERROR_DATA, "found no images", "images");
    tree_file("images/a.jpg", "");
    tree_refused("", STK_ERROR_DATA, "found no images", "masks");
    tree_file("masks/a_other.png", "");
    tree_refused("", STK_ERROR_DATA, "no image of 1 has a mask: 'a.png' does not exist, but 'a_other.png'",
                 "masks");
    tree_file("masks/a.png", "");
    tree_file("masks/a.npy", "");
    tree_refused("", STK_ERROR_DATA, "are the same sample", "masks/a.");
    tree_file("images/a.jpeg", "");
    tree_refused("", STK_ERROR_DATA, "are the same sample", "images/a.");
    assert_int_equal(remove(tree_path("masks/a.npy")), 0);
    assert_int_equal(remove(tree_path("images/a.jpeg")), 0);
    const struct {
        const char *text, *message, *place;
    } cases[] = {{"", "no names", "classes.txt:1"},
                 {"a\n\nb\n", "an empty line", "classes.txt:2"},
                 {"a\nb\na\n", "a duplicate name", "classes.txt:3"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tree_file("classes.txt", cases[i].text);
        tree_refused("", STK_ERROR_DATA, cases[i].message, cases[i].place);
    }
    char name[300];
    memset(name, 'n', sizeof name);
    tree_bytes("classes.txt", name, sizeof name);
    tree_refused("", STK_ERROR_DATA, "longer than 255", "classes.txt:1");
    tree_bytes("classes.txt", "a\nb\0c\n", 6);
    tree_refused("", STK_ERROR_DATA, "a NUL byte", "classes.txt:2");
    assert_int_equal(remove(tree_path("classes.txt")), 0);
    assert_int_equal(mkfifo(tree_path("classes.txt"), 0600), 0);
    assert_null(tree_open_as("", NULL, 0));
    assert_int_equal(failure.code, STK_ERROR_IO);
}

static void links_are_followed_once(void **state)
{
    (void)state;
    tree_file("elsewhere/x/1.jpg", "1");
    tree_file("elsewhere/2.jpg", "2");
    tree_file("set/real/3.jpg", "3");
    tree_link("..", "set/real/up");          /* a cycle */
    tree_link("real", "set/again");          /* a second name: the real folder wins */
    tree_link("../elsewhere", "set/linked"); /* outside */
    tree_link("../elsewhere/x", "set/late"); /* sorts before linked: has x for itself */
    tree_link("../../elsewhere/2.jpg", "set/real/4.jpg");
    tree_link("nowhere", "set/real/5.jpg");
    tree_link("nowhere", "set/real/text");
    stk_log_set(keep_log, NULL, STK_LOG_DEBUG);
    stk__source *source = tree_open_as("set", NULL, 0);
    stk_log_set(NULL, NULL, STK_LOG_DEBUG);
    assert_non_null(strstr(logged, "already read"));
    assert_non_null(source);
    assert_int_equal(source->info.count, 5);
    check_key(source, 0, "late/1");
    check_key(source, 1, "linked/2");
    check_key(source, 2, "real/3");
    check_read(source, 3, STK_FIELD_IMAGE, "2", "jpg");
    check_read_damage(source, 4, STK_FIELD_IMAGE, STK_DAMAGE_DANGLING_LINK, "real/5.jpg");
    stk__source_close(&source);
}

static void odd_files_are_samples(void **state)
{
    (void)state;
    tree_folder("dir.jpg");
    tree_file("dir.jpg/inside.jpg", "");
    assert_int_equal(mkfifo(tree_path("pipe.png"), 0600), 0);
    tree_file("plain.jpg", "p");
    tree_file("large.jpg", "");
    assert_int_equal(truncate(tree_path("large.jpg"), (1 << 20) + 1), 0);
    tree_file("gone.jpg", "");
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 5);
    check_read_damage(source, 0, STK_FIELD_IMAGE, STK_DAMAGE_NOT_A_FILE, "dir.jpg");
    assert_int_equal(remove(tree_path("gone.jpg")), 0);
    check_read_damage(source, 1, STK_FIELD_IMAGE, STK_DAMAGE_MISSING, "gone.jpg");
    check_read_damage(source, 2, STK_FIELD_IMAGE, STK_DAMAGE_TOO_MANY_BYTES, "large.jpg");
    check_read_damage(source, 3, STK_FIELD_IMAGE, STK_DAMAGE_NOT_A_FILE, "pipe.png");
    check_read(source, 4, STK_FIELD_IMAGE, "p", "jpg");
    stk__source_close(&source);
}

static void roots_that_cannot_be(void **state)
{
    (void)state;
    tree_refused("", STK_ERROR_DATA, "found no images in", tree);
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "sub/%d.WebP", i);
        tree_file(name, "");
    }
    tree_file("read.me", "");
    tree_refused("", STK_ERROR_DATA, "but 3 .webp files: unsupported", tree);
    tree_refused("missing", STK_ERROR_IO, "cannot open the data set", "missing");
    tree_refused("read.me", STK_ERROR_DATA, "is neither a list, a series nor a shard", "read.me");
    tree_file("classes/cat/1.jpg", "");
    tree_file("classes/stray.jpg", "");
    tree_refused("classes", STK_ERROR_DATA, "is next to class folders", "classes/stray.jpg");
    tree_file("twins/a.jpg", "");
    tree_file("twins/a.PNG", "");
    tree_refused("twins", STK_ERROR_DATA, "twins/a.PNG'", "twins/a.");
    assert_non_null(strstr(failure.message, "twins/a.jpg'"));
    stk__source *source = NULL;
    stk__source_options options = {0};
    assert_int_equal(stk__source_open(&source, &options, NULL), STK_ERROR_ARGUMENT);
    options.root = "";
    assert_int_equal(stk__source_open(&source, &options, NULL), STK_ERROR_ARGUMENT);
}

static void folders_that_cannot_be_read_are_errors(void **state)
{
    (void)state;
    const uid_t user = geteuid();
    tree_file("a/1.jpg", "");
    tree_file("b/1.jpg", "");
    assert_int_equal(chmod(tree, 0755), 0);
    assert_int_equal(chmod(tree_path("b"), 0), 0);
    if (user == 0) assert_int_equal(seteuid(65534), 0); /* root may read everything */
    tree_refused("", STK_ERROR_IO, "cannot read a folder", "/b");
    if (user == 0) assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(tree_path("b"), 0700), 0);
    tree_file("parts/train/a/1.jpg", "");
    tree_folder("parts/val");
    assert_int_equal(chmod(tree_path("parts/val"), 0), 0);
    if (user == 0) assert_int_equal(seteuid(65534), 0);
    assert_null(tree_open_as("parts", "train", 0));
    if (user == 0) assert_int_equal(seteuid(0), 0);
    assert_int_equal(failure.code, STK_ERROR_IO);
    assert_non_null(strstr(failure.place, "parts/val"));
    assert_int_equal(chmod(tree_path("parts/val"), 0700), 0);
}

/* A tree of folders that is deeper than any path may be long. */
static void paths_that_are_too_long_are_errors(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'd', 255);
    name[255] = '\0';
    const int start = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(tree), 0);
    for (int i = 0; i < 17; i++)
        assert_true(mkdir(name, 0700) == 0 && chdir(name) == 0);
    stk__source *source = tree_open_as("", NULL, 0);
    assert_null(source);
    assert_int_equal(failure.code, STK_ERROR_IO);
    assert_non_null(strstr(failure.message, "longer than"));
    for (int i = 0; i < 17; i++)
        assert_true(chdir("..") == 0 && rmdir(name) == 0);
    assert_int_equal(fchdir(start), 0);
    close(start);
}

static void memory_runs_out(void **state)
{
    (void)state;
    tree_file("pairs/images/a.jpg", "");
    tree_file("pairs/masks/a.png", "");
    tree_file("pairs/masks/b.png", "");
    tree_file("pairs/classes.txt", "x\ny\n");
    check_poor_memory("pairs", NULL);
    tree_file("plain/images/a.jpg", "");
    check_poor_memory("plain", NULL);
    tree_file("parts/train/a/1.jpg", "");
    tree_file("parts/train/b/1.jpg", "");
    tree_file("parts/val/c/1.jpg", "");
    tree_link("b", "parts/train/link");
    check_poor_memory("parts", "train");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        TEST(classes_are_the_first_folders),
        TEST(parts_have_the_same_classes),
        TEST(images_without_classes),
        TEST(fingerprint_is_over_keys),
        TEST(pairs_by_stem),
        TEST(pairs_that_cannot_be),
        TEST(links_are_followed_once),
        TEST(odd_files_are_samples),
        TEST(roots_that_cannot_be),
        TEST(folders_that_cannot_be_read_are_errors),
        TEST(paths_that_are_too_long_are_errors),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
