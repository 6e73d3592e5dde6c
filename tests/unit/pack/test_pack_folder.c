/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a pack: where it may be, what may be in it, what is left over in it. */
#include "core/folder_lock.h"
#include "core/logger.h"
#include "pack/pack_folder.h"
#include "pack/pack_ledger.h"
#include "pack/pack_probe.h"
#include "pack/pack_shard.h"
#include "support/fail_alloc.h"
#include "../source/source_tree.h"

#include <fcntl.h>
#include <sys/file.h>

static char *copy_path(const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s", tree_path(name));
    return path;
}

static stk_status check(const char *root, const char *folder, const char *message)
{
    stk_error error = {0};
    const stk_status status = stk__pack_folder_check(root, folder, &error);
    if (!strstr(error.message, message)) print_error("unexpected: %s\n", error.message);
    assert_non_null(strstr(error.message, message));
    return status;
}

static void not_inside_the_data_set(void **state)
{
    (void)state;
    tree_folder("data/images");
    tree_folder("data2");
    tree_link("data", "link");
    tree_link("data/images", "other");
    char data[PATH_MAX];
    snprintf(data, sizeof data, "%s", copy_path("data"));
    assert_int_equal(check(data, data, "is the data set itself"), STK_ERROR_ARGUMENT);
    assert_int_equal(check(data, copy_path("link"), "is the data set itself"), STK_ERROR_ARGUMENT);
    assert_int_equal(check(copy_path("link"), data, "is the data set itself"), STK_ERROR_ARGUMENT);
    assert_int_equal(check(data, copy_path("data/"), "is the data set itself"), STK_ERROR_ARGUMENT);
    assert_int_equal(check(data, copy_path("data/packed"), "is inside"), STK_ERROR_ARGUMENT);
    assert_int_equal(check(data, copy_path("data/a/b/c"), "is inside"), STK_ERROR_ARGUMENT);
    assert_int_equal(check(data, copy_path("other"), "is inside"), STK_ERROR_ARGUMENT);
    assert_int_equal(check(data, copy_path("other/new"), "is inside"), STK_ERROR_ARGUMENT);
    assert_int_equal(check("/", copy_path("new"), "is inside"), STK_ERROR_ARGUMENT);
    assert_int_equal(check(data, copy_path("data2"), ""), STK_OK);
    assert_int_equal(check(data, copy_path("data2/new"), ""), STK_OK);
    assert_int_equal(check(data, copy_path("packed"), ""), STK_OK);
    assert_int_equal(check(data, "packed", ""), STK_OK);
    assert_int_equal(check("make:faces", copy_path("data"), ""), STK_OK);
    assert_int_equal(check(data, "", "is empty"), STK_ERROR_ARGUMENT);
    char far[PATH_MAX + 100];
    memset(far, 'a', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    assert_int_equal(check(data, far, ""), STK_OK); /* refused when it is made */
}

/* The current folder was deleted: nothing relative to it can be found, and looking for it must end. */
static void current_folder_is_gone(void **state)
{
    (void)state;
    const int home = open(".", O_RDONLY | O_DIRECTORY);
    tree_folder("data");
    tree_folder("gone");
    char data[PATH_MAX];
    snprintf(data, sizeof data, "%s", copy_path("data"));
    assert_int_equal(chdir(tree_path("gone")), 0);
    assert_int_equal(rmdir(tree_path("gone")), 0);
    assert_int_equal(check(data, "out", "the working directory was deleted"), STK_ERROR_IO);
    assert_int_equal(check("make:faces", "a/b", "the working directory was deleted"), STK_ERROR_IO);
    assert_int_equal(check(data, copy_path("out"), ""), STK_OK);
    assert_int_equal(fchdir(home), 0);
    close(home);
}

/* --- opening ------------------------------------------------------------------------------------------- */

static stk_status open_folder(const char *folder, bool *found, stk_error *error)
{
    int lock = -1;
    stk__pack_state state;
    const stk_status status = stk__pack_folder_open(folder, &lock, &state, found, error);
    stk__folder_lock_release(&lock);
    return status;
}

static void new_and_empty_folders(void **state)
{
    (void)state;
    bool found = true;
    assert_int_equal(open_folder(copy_path("a/b/c"), &found, NULL), STK_OK);
    assert_false(found);
    assert_int_equal(open_folder(copy_path("a/b/c"), &found, NULL), STK_OK); /* has a lock now */
    tree_file("a/b/c/pack.json.tmp-123", "left over");
    assert_int_equal(open_folder(copy_path("a/b/c"), &found, NULL), STK_OK);
    assert_false(found);
}

static void folders_of_others(void **state)
{
    (void)state;
    static const char *const strangers[] = {"x/notes.txt", "y/shard-000000.tar", "z/.hidden",
                                            "w/pack.json.tmp"};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        stk_error error = {0};
        bool found;
        char folder[8] = {strangers[i][0]}, path[PATH_MAX + 8];
        tree_file(strangers[i], "mine");
        assert_int_equal(open_folder(copy_path(folder), &found, &error), STK_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "not empty and is not a pack"));
        snprintf(path, sizeof path, "%s/lock", tree_path(folder));
        assert_int_not_equal(access(path, F_OK), 0); /* nothing was put into it */
    }
    tree_file("file", "");
    bool found;
    assert_int_equal(open_folder(copy_path("file"), &found, NULL), STK_ERROR_IO);
}

static void one_at_a_time(void **state)
{
    (void)state;
    stk_error error = {0};
    bool found;
    int first = -1;
    stk__pack_state pack;
    assert_int_equal(stk__pack_folder_open(copy_path("p"), &first, &pack, &found, NULL), STK_OK);
    assert_int_equal(open_folder(copy_path("p"), &found, &error), STK_ERROR_STATE);
    assert_non_null(strstr(error.message, "is using the folder"));
    stk__folder_lock_release(&first);
    assert_int_equal(open_folder(copy_path("p"), &found, NULL), STK_OK);
}

/* --- shards -------------------------------------------------------------------------------------------- */

static bool is_there(const char *name)
{
    return access(tree_path(name), F_OK) == 0;
}

static void what_is_left_over_goes(void **state)
{
    (void)state;
    static const char *const gone[] = {
        ".tmp-shard-000002.tar", ".tmp-shard-000002.tar.index", ".tmp-shard-000002.tar.index.tmp-77",
        "shard-000002.tar",      "shard-000002.tar.index",      "shard-000001.tar.index.tmp-3",
        "pack.json.tmp-12",      "classes.txt.tmp-1",           "points.txt.tmp-1"};
    static const char *const kept[] = {"shard-000000.tar", "shard-000001.tar",  "shard-000001.tar.index",
                                       "pack.json",        "classes.txt",       "shard-000002.tar.gz",
                                       "shard-2.tar",      "shard-0000020.tar", "my-shard-000002.tar",
                                       "notes.tmp",        "notes.tmp-7",       "shard-000003.tar"};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        tree_file(gone[i], "");
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        tree_file(kept[i], "");
    assert_int_equal(stk__pack_shard_tidy(tree, 2, NULL), STK_OK);
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        assert_false(is_there(gone[i]));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_true(is_there(kept[i]));
    tree_folder("shard-000002.tar"); /* cannot be removed like a file */
    assert_int_equal(stk__pack_shard_tidy(tree, 2, NULL), STK_ERROR_IO);
    assert_int_equal(stk__pack_shard_tidy(tree_path("nowhere"), 2, NULL), STK_ERROR_IO);
}

static void shards_that_cannot_be_written(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__pack_shard shard = {0};
    stk__pack_shard_init(&shard, tree_path("nowhere"));
    assert_int_equal(stk__pack_shard_open(&shard, 0, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "cannot write"));
    stk__pack_shard_abandon(&shard);
    assert_int_equal(stk__pack_shard_open(&shard, STK_PACK_SHARDS_MOST, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.hint, "shard_bytes"));
    char far[PATH_MAX];
    memset(far, 'a', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    stk__pack_shard_init(&shard, far);
    assert_int_equal(stk__pack_shard_open(&shard, 0, &error), STK_ERROR_ARGUMENT);
    stk__pack_shard_abandon(&shard);
}

/* Its name, or that of its index, is taken by something that cannot be replaced. */
static void names_that_are_taken(void **state)
{
    (void)state;
    static const char *const names[] = {"shard-000000.tar.index", "shard-000000.tar",
                                        ".tmp-shard-000000.tar.index"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        stk__pack_shard shard = {0};
        char path[PATH_MAX + 8];
        snprintf(path, sizeof path, "%s/in", tree_path(names[i]));
        assert_int_equal(stk__folder_make(path, NULL), STK_OK);
        stk__pack_shard_init(&shard, tree);
        assert_int_equal(stk__pack_shard_open(&shard, 0, NULL), STK_OK);
        assert_int_equal(stk__pack_shard_finish(&shard, NULL), STK_ERROR_IO);
        stk__pack_shard_abandon(&shard);
        assert_false(is_there(".tmp-shard-000000.tar"));
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(rmdir(tree_path(names[i])), 0);
        assert_false(is_there("shard-000000.tar"));
        assert_false(is_there("shard-000000.tar.index"));
    }
}

/* --- room, classes, ledger ----------------------------------------------------------------------------- */

static char warned[256];

static void take_line(void *context, stk_log_level level, const char *line)
{
    (void)context;
    (void)level;
    snprintf(warned, sizeof warned, "%s", line);
}

static stk_status ask_room(uint64_t least, uint64_t most, stk_error *error)
{
    warned[0] = '\0';
    return stk__pack_folder_room(tree, (stk__pack_need){least, most}, "the pack", error);
}

/* Refused is only what cannot fit. */
static void room_is_asked_for(void **state)
{
    (void)state;
    const uint64_t much = UINT64_C(1) << 60;
    stk_error error = {0};
    stk_log_set(take_line, NULL, STK_LOG_WARNING);
    assert_int_equal(ask_room(1, 1, NULL), STK_OK);
    assert_string_equal(warned, "");
    assert_int_equal(ask_room(1, much, NULL), STK_OK);
    assert_non_null(strstr(warned, "the pack may need up to"));
    assert_int_equal(ask_room(much, much, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "the pack needs at least"));
    assert_non_null(strstr(error.hint, "free some space"));
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    assert_int_equal(stk__pack_folder_room(tree_path("nowhere"), (stk__pack_need){1, 1}, "the pack", NULL),
                     STK_ERROR_IO);
}

static void check_classes(const char *name, bool good)
{
    stk_error error = {0};
    const char *const names[] = {"first", name};
    const stk__source_info info = {.class_count = 2, .class_names = names};
    unlink(tree_path("classes.txt"));
    assert_int_equal(stk__pack_folder_classes(tree, &info, &error), good ? STK_OK : STK_ERROR_DATA);
    assert_int_equal(is_there("classes.txt"), good);
    if (!good) assert_non_null(strstr(error.message, "cannot be a line"));
}

static void names_of_classes(void **state)
{
    (void)state;
    char longest[257];
    memset(longest, 'n', sizeof longest);
    longest[256] = '\0';
    check_classes(longest, false);
    longest[255] = '\0';
    check_classes(longest, true);
    check_classes("", false);
    check_classes("two\nlines", false);
    check_classes("mac\r", false);
    check_classes("\xEF\xBB\xBFmark", false);
    check_classes("a b\tc\r.", true);
    stk__buffer text = {0};
    assert_int_equal(stk__file_read(tree_path("classes.txt"), 0, &text, NULL), STK_OK);
    assert_string_equal((const char *)text.data, "first\na b\tc\r.\n");
    stk__buffer_fini(&text);
    assert_int_equal(unlink(tree_path("classes.txt")), 0);
    assert_int_equal(stk__pack_folder_classes(tree, &(stk__source_info){.class_count = 2}, NULL), STK_OK);
    assert_false(is_there("classes.txt"));
}

static void check_ledger(const char *expected)
{
    stk__buffer text = {0};
    assert_int_equal(stk__file_read(tree_path(STK_PACK_LEDGER), 0, &text, NULL), STK_OK);
    assert_string_equal((const char *)text.data, expected);
    stk__buffer_fini(&text);
}

#define LINE_ONE                                                                                             \
    "{\"sample_id\":3,\"class\":\"empty\",\"action\":\"left "                                                \
    "out\",\"path\":\"a\\\\xff\",\"detail\":\"why\"}\n"
#define LINE_TWO                                                                                             \
    "{\"sample_id\":4,\"class\":\"corrupt\",\"action\":\"left "                                              \
    "out\",\"path\":\"b\",\"detail\":\"\\\"q\\\"\"}\n"

/* Lines that came after the last whole shard are cut off at the next start. */
static void ledgers_are_cut(void **state)
{
    (void)state;
    const stk_error one = {.damage = STK_DAMAGE_EMPTY, .message = "why", .place = "a\xFF"};
    const stk_error two = {.damage = STK_DAMAGE_CORRUPT, .message = "\"q\"", .place = "b"};
    stk__pack_ledger ledger = {.file = -1};
    assert_int_equal(stk__pack_ledger_open(&ledger, tree, 0, NULL), STK_OK);
    assert_int_equal(stk__pack_ledger_sync(&ledger, NULL), STK_OK);
    assert_false(is_there(STK_PACK_LEDGER));
    assert_int_equal(stk__pack_ledger_add(&ledger, 3, &one, NULL), STK_OK);
    const uint64_t kept = ledger.bytes;
    assert_int_equal(kept, strlen(LINE_ONE));
    assert_int_equal(stk__pack_ledger_add(&ledger, 4, &two, NULL), STK_OK);
    assert_int_equal(stk__pack_ledger_sync(&ledger, NULL), STK_OK);
    stk__pack_ledger_close(&ledger);
    check_ledger(LINE_ONE LINE_TWO);
    assert_int_equal(stk__pack_ledger_open(&ledger, tree, kept, NULL), STK_OK);
    check_ledger(LINE_ONE);
    assert_int_equal(stk__pack_ledger_add(&ledger, 4, &two, NULL), STK_OK);
    stk__pack_ledger_close(&ledger);
    check_ledger(LINE_ONE LINE_TWO);
    stk_error error = {0};
    assert_int_equal(stk__pack_ledger_open(&ledger, tree, 1000, &error), STK_ERROR_STATE);
    stk__pack_ledger_close(&ledger);
    assert_int_equal(stk__pack_ledger_open(&ledger, tree, 0, NULL), STK_OK);
    stk__pack_ledger_close(&ledger);
    assert_false(is_there(STK_PACK_LEDGER));
    assert_int_equal(stk__pack_ledger_open(&ledger, tree, 5, &error), STK_ERROR_STATE); /* it has vanished */
    assert_non_null(strstr(error.message, "shorter"));
    stk__pack_ledger_close(&ledger);
}

static void ledgers_that_cannot_be_written(void **state)
{
    (void)state;
    const stk_error bad = {.damage = STK_DAMAGE_EMPTY};
    stk__pack_ledger ledger = {.file = -1};
    assert_int_equal(stk__pack_ledger_open(&ledger, tree_path("nowhere"), 0, NULL), STK_OK);
    assert_int_equal(stk__pack_ledger_add(&ledger, 3, &bad, NULL), STK_ERROR_IO);
    stk__pack_ledger_close(&ledger);
    tree_file("file", "");
    assert_int_equal(stk__pack_ledger_open(&ledger, tree_path("file"), 0, NULL), STK_ERROR_IO);
    stk__pack_ledger_close(&ledger);
    tree_folder(STK_PACK_LEDGER);
    assert_int_equal(stk__pack_ledger_open(&ledger, tree, 0, NULL), STK_ERROR_IO);
    stk__pack_ledger_close(&ledger);
}

/* --- the look before ----------------------------------------------------------------------------------- */

static stk__pack_probe look(void)
{
    stk__source *source = tree_open_as("data", NULL, 0);
    stk__pack_probe probe;
    assert_non_null(source);
    assert_int_equal(stk__pack_probe_look(source, &probe, NULL), STK_OK);
    stk__source_close(&source);
    return probe;
}

static void samples_are_looked_at(void **state)
{
    (void)state;
    tree_file("data/images/a.jpg", "12345");
    tree_file("data/images/b.jpg", "123");
    tree_file("data/labels.csv", "file,label\na.jpg,1\nb.jpg,0\n");
    const stk__pack_probe first = look();
    assert_int_equal(first.mean_bytes, 4);
    assert_true(first.files);
    assert_true(first.looks.hashes[0] && first.looks.hashes[1] && !first.looks.hashes[2]);
    stk__pack_probe other = look();
    assert_memory_equal(&other.looks, &first.looks, sizeof first.looks);
    tree_file("data/images/b.jpg", "124");
    other = look();
    assert_false(stk__pack_looks_agree(&other.looks, &first.looks)); /* other bytes */
    tree_file("data/images/b.jpg", "123");
    tree_file("data/labels.csv", "file,label\na.jpg,0\nb.jpg,0\n");
    other = look();
    assert_false(stk__pack_looks_agree(&other.looks, &first.looks)); /* another label */
    tree_file("data/labels.csv", "file,label\na.jpg,1\nb.jpg,0\n");
    assert_int_equal(unlink(tree_path("data/images/b.jpg")), 0);
    other = look();
    assert_int_equal(other.looks.hashes[1], 0);
    assert_true(stk__pack_looks_agree(&other.looks, &first.looks)); /* nobody knows */
}

static void points_are_looked_at(void **state)
{
    (void)state;
    tree_file("data/images/a.jpg", "12345");
    tree_file("data/points.csv", "file,tip_x,tip_y\na.jpg,1,2\n");
    const stk__pack_probe first = look();
    tree_file("data/points.csv", "file,tip_x,tip_y\na.jpg,1,3\n");
    const stk__pack_probe other = look();
    assert_false(stk__pack_looks_agree(&other.looks, &first.looks));
}

/* Forty files of a thousand bytes. */
static void put_files(const char *start, const char *extension)
{
    char name[64], text[1001];
    memset(text, 'x', sizeof text - 1);
    text[1000] = '\0';
    memcpy(text, start, strlen(start));
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "%s/%03d.%s", extension, i, extension);
        tree_file(name, text);
    }
}

static stk__pack_need need_of(const char *data, uint64_t first, bool files)
{
    stk__source *source = tree_open_as(data, NULL, 0);
    stk__pack_probe probe;
    assert_int_equal(stk__pack_probe_look(source, &probe, NULL), STK_OK);
    assert_true(probe.files);
    probe.files = files;
    const stk__pack_need need = stk__pack_probe_need(source, &probe, first, NULL);
    stk__source_close(&source);
    return need;
}

/* Every sample is counted, with what a shard adds to it; those that are packed already are not. Copied files
 * do not grow. */
static void bytes_are_estimated(void **state)
{
    (void)state;
    put_files("\xFF\xD8\xFF", "jpg");
    put_files("\x89PNG", "png");
    const stk__pack_need jpegs = need_of("jpg", 0, true), pngs = need_of("png", 0, true);
    assert_int_equal(jpegs.least_bytes, 40 * (1000 + 512));
    assert_int_equal(pngs.least_bytes, 40 * (1000 + 512));
    assert_int_equal(jpegs.most_bytes, pngs.most_bytes + 40 * 250);
    assert_in_range(pngs.most_bytes, 40 * (1000 + 1024), 40 * (1000 + 1024 + 512));
    assert_int_equal(need_of("jpg", 30, true).least_bytes, jpegs.least_bytes / 4);
    assert_int_equal(need_of("jpg", 30, true).most_bytes, jpegs.most_bytes / 4);
    assert_int_equal(need_of("jpg", 40, true).most_bytes, 0);
    /* Sizes are not to be had: those of the samples looked at. */
    assert_int_equal(need_of("jpg", 0, false).most_bytes, jpegs.most_bytes);
    stk__source *source = NULL;
    stk__pack_probe probe;
    stk__source_options made = {.root = "make:gray?count=50"};
    assert_int_equal(stk__source_open(&source, &made, NULL), STK_OK);
    assert_int_equal(stk__pack_probe_look(source, &probe, NULL), STK_OK);
    assert_false(probe.files);
    assert_true(stk__pack_probe_need(source, &probe, 0, NULL).least_bytes > 50 * 128 * 128);
    stk__source_close(&source);
}

static stk_status look_once(void *context, stk_error *error)
{
    stk__pack_probe probe;
    return stk__pack_probe_look(context, &probe, error);
}

static void memory_runs_out(void **state)
{
    (void)state;
    tree_file("data/a.jpg", "12345");
    stk__source *source = tree_open_as("data", NULL, 0);
    assert_true(fail_alloc_each(look_once, source) > 2);
    stk__source_close(&source);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(not_inside_the_data_set),
        TEST(current_folder_is_gone),
        TEST(new_and_empty_folders),
        TEST(folders_of_others),
        TEST(one_at_a_time),
        TEST(what_is_left_over_goes),
        TEST(shards_that_cannot_be_written),
        TEST(names_that_are_taken),
        TEST(room_is_asked_for),
        TEST(names_of_classes),
        TEST(ledgers_are_cut),
        TEST(ledgers_that_cannot_be_written),
        TEST(samples_are_looked_at),
        TEST(points_are_looked_at),
        TEST(bytes_are_estimated),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
