/* Whole packs: what is in them, going on, and what is refused. */
#include "core/hash.h"
#include "core/thread.h"
#include "pack/pack.h"
#include "pack/pack_state.h"
#include "source/shard.h"
#include "support/fail_alloc.h"
#include "support/pictures.h"
#include "unit/source_tree.h"

#include <dirent.h>

static stk_error trouble; /* of the last run */
static stk__pack_report report;

static char *path_of(const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s", strncmp(name, "make:", 5) == 0 ? name : tree_path(name));
    return path;
}

static stk_status pack(const char *root, const char *folder, const stk__pack_settings *settings)
{
    char from[PATH_MAX], to[PATH_MAX];
    const stk__pack_request request = {
        .root = path_of(root, from), .folder = path_of(folder, to), .settings = *settings};
    trouble = (stk_error){0};
    const stk_status status = stk__pack_run(&request, &report, &trouble);
    assert_int_equal(status, trouble.code);
    return status;
}

static void pack_well(const char *root, const char *folder, const stk__pack_settings *settings)
{
    const stk_status status = pack(root, folder, settings);
    if (status != STK_OK) print_error("%s (%s)\n", trouble.message, trouble.place);
    assert_int_equal(status, STK_OK);
}

static void refused(stk_status expected, stk_status got, const char *message)
{
    if (got != expected || !strstr(trouble.message, message))
        print_error("unexpected: %s\n", trouble.message);
    assert_int_equal(got, expected);
    assert_non_null(strstr(trouble.message, message));
}

static void hash_file(stk__hash *hash, const char *path)
{
    stk__buffer bytes = {0};
    assert_int_equal(stk__file_read(path, 0, &bytes, NULL), STK_OK);
    stk__hash_update(hash, bytes.data, bytes.size_bytes);
    stk__buffer_fini(&bytes);
}

/* Names and bytes of everything but the lock. */
static void hash_folder(stk__hash *hash, const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "lock") != 0) {
            assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
            stk__hash_update(hash, name, strlen(name) + 1);
            if (stk__path_is_folder(path))
                hash_folder(hash, path);
            else
                hash_file(hash, path);
        }
        free(entries[i]);
    }
    free(entries);
}

static stk__digest digest_of(const char *name)
{
    stk__hash *hash;
    char path[PATH_MAX];
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    hash_folder(hash, path_of(name, path));
    const stk__digest digest = stk__hash_digest(hash);
    stk__hash_destroy(&hash);
    return digest;
}

static void check_same(stk__digest a, stk__digest b)
{
    assert_true(a.high == b.high && a.low == b.low);
}

static bool is_there(const char *name)
{
    return access(tree_path(name), F_OK) == 0;
}

static void drop(const char *name)
{
    char path[PATH_MAX];
    nftw(path_of(name, path), tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put_jpeg(const char *name, uint32_t seed, const pictures_jpeg_options *options)
{
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(40, 24, 3, seed);
    pictures_jpeg(&bytes, drawn, options);
    tree_bytes(name, bytes.data, bytes.size_bytes);
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
}

static void put_mask(const char *name, uint32_t seed)
{
    stk__buffer bytes = {0};
    stk__pixels ids = pictures_draw_mask(40, 24, 5, seed);
    pictures_png_plain(&bytes, ids, 1);
    tree_bytes(name, bytes.data, bytes.size_bytes);
    stk__free(ids.data);
    stk__buffer_fini(&bytes);
}

enum { PAIRS = 20 };

/* Twenty images of all kinds with their masks; *.jpg of the numbers in `bad` (-1 at the end) are cut off. */
static void put_pairs(const char *root, const int *bad)
{
    char name[128];
    for (int i = 0; i < PAIRS; i++) {
        snprintf(name, sizeof name, "%s/images/%02d.jpg", root, i);
        put_jpeg(
            name, (uint32_t)i,
            &(pictures_jpeg_options){.progressive = i % 2, .sampling = i % 3 == 0, .orientation = i % 9});
        snprintf(name, sizeof name, "%s/masks/%02d.png", root, i);
        put_mask(name, (uint32_t)i);
    }
    for (; bad && *bad >= 0; bad++) {
        snprintf(name, sizeof name, "%s/images/%02d.jpg", root, *bad);
        tree_file(name, "\xFF\xD8\xFF");
    }
    snprintf(name, sizeof name, "%s/classes.txt", root);
    tree_file(name, "a\nb\nc\nd\ne\n");
}

/* --- whole packs --------------------------------------------------------------------------------------- */

static void bytes_do_not_depend_on_workers(void **state)
{
    (void)state;
    put_pairs("data", NULL);
    stk__pack_settings settings = {.shard_samples = 6, .num_workers = -1};
    pack_well("data", "one", &settings);
    assert_int_equal(report.packed, PAIRS);
    assert_int_equal(report.count, PAIRS);
    assert_int_equal(report.shards, 4);
    assert_int_equal(report.left_out + report.kept + report.found + report.hanging, 0);
    assert_true(report.bytes > 0 && report.source_bytes > 0);
    assert_true(is_there("one/shard-000003.tar.index") && is_there("one/classes.txt"));
    assert_false(is_there("one/ledger.jsonl") || is_there("one/shard-000004.tar"));
    for (int workers = 1; workers < 10; workers *= 3) {
        char name[16];
        snprintf(name, sizeof name, "many%d", workers);
        settings.num_workers = workers;
        pack_well("data", name, &settings);
        check_same(digest_of(name), digest_of("one"));
    }
    settings.num_workers = 0;
    pack_well("data", "auto", &settings);
    assert_true(report.workers >= 1);
    check_same(digest_of("auto"), digest_of("one"));
    pack_well("data", "auto", &settings); /* nothing is left to do */
    assert_int_equal(report.found, PAIRS);
    check_same(digest_of("auto"), digest_of("one"));
}

static void shards_keep_to_their_size(void **state)
{
    (void)state;
    put_pairs("data", NULL);
    const stk__pack_settings settings = {.shard_bytes = 12000};
    pack_well("data", "out", &settings);
    assert_in_range(report.shards, 3, PAIRS - 1);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < report.shards; i++) {
        struct stat facts;
        char name[64];
        snprintf(name, sizeof name, "out/shard-%06d.tar", (int)i);
        assert_int_equal(stat(tree_path(name), &facts), 0);
        assert_true(facts.st_size <= 12000);
        assert_int_equal(facts.st_mtim.tv_sec, STK_SHARD_TIME_S);
        sum += (uint64_t)facts.st_size;
    }
    assert_int_equal(sum, report.bytes);
    const stk__pack_settings tiny = {.shard_bytes = 1024}; /* smaller than any sample: one each */
    pack_well("data", "tiny", &tiny);
    assert_int_equal(report.shards, PAIRS);
    const stk__pack_settings all = {0};
    pack_well("data", "all", &all);
    assert_int_equal(report.shards, 1);
}

static void parts_become_parts(void **state)
{
    (void)state;
    put_jpeg("data/train/cat/1.jpg", 1, &(pictures_jpeg_options){0});
    put_jpeg("data/train/dog/2.jpg", 2, &(pictures_jpeg_options){0});
    put_jpeg("data/val/cat/3.jpg", 3, &(pictures_jpeg_options){0});
    put_jpeg("data/val/emu/4.jpg", 4, &(pictures_jpeg_options){0});
    const stk__pack_settings settings = {.shard_samples = 1};
    pack_well("data", "out", &settings);
    assert_int_equal(report.packed, 4);
    assert_int_equal(report.shards, 4);
    static const char *const there[] = {"out/train/shard-000001.tar", "out/val/shard-000001.tar",
                                        "out/train/classes.txt", "out/val/classes.txt", "out/pack.json"};
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
        assert_true(is_there(there[i]));
    assert_false(is_there("out/classes.txt") || is_there("out/train/pack.json"));
    stk__buffer names = {0};
    assert_int_equal(stk__file_read(tree_path("out/train/classes.txt"), 0, &names, NULL), STK_OK);
    assert_string_equal((const char *)names.data, "cat\ndog\nemu\n"); /* the other part's too */
    stk__buffer_fini(&names);
    const stk__digest whole = digest_of("out");
    pack_well("data", "out", &settings);
    check_same(digest_of("out"), whole);
}

static void images_made_in_memory(void **state)
{
    (void)state;
    const stk__pack_settings settings = {0};
    pack_well("make:gray?count=12", "out", &settings);
    assert_int_equal(report.packed, 12);
    assert_true(is_there("out/classes.txt"));
}

/* Links to images, and to folders of them, are packed like the images. */
static void links_are_followed(void **state)
{
    (void)state;
    const stk__pack_settings settings = {0};
    put_jpeg("data/cat/1.jpg", 1, &(pictures_jpeg_options){0});
    put_jpeg("data/dog/2.jpg", 2, &(pictures_jpeg_options){0});
    tree_folder("linked/cat");
    tree_link("../../data/cat/1.jpg", "linked/cat/1.jpg");
    tree_link("../data/dog", "linked/dog");
    pack_well("data", "out", &settings);
    pack_well("linked", "out2", &settings);
    check_same(digest_of("out"), digest_of("out2"));
}

/* --- stopping and going on ----------------------------------------------------------------------------- */

typedef struct patience {
    atomic_bool stop;
    uint64_t samples; /* after so many, and at the next look */
} patience;

static void look(void *context, const stk__pack_report *done)
{
    patience *self = context;
    if (done->packed + done->left_out - done->found >= self->samples) atomic_store(&self->stop, true);
}

static stk_status pack_some(const char *root, const char *folder, const stk__pack_settings *settings,
                            uint64_t samples)
{
    char from[PATH_MAX], to[PATH_MAX];
    patience self = {.samples = samples};
    const stk__pack_request request = {.root = path_of(root, from),
                                       .folder = path_of(folder, to),
                                       .settings = *settings,
                                       .stop = &self.stop,
                                       .show = look,
                                       .context = &self};
    trouble = (stk_error){0};
    return stk__pack_run(&request, &report, &trouble);
}

/* Stopped after every number of samples, then once more, then let run: the same bytes. */
static void check_stops(const char *root, const stk__pack_settings *settings, uint64_t count)
{
    pack_well(root, "whole", settings);
    const stk__digest whole = digest_of("whole");
    for (uint64_t n = 1; n < count; n++) {
        refused(STK_ERROR_INTERRUPTED, pack_some(root, "out", settings, n), "stopped with ");
        assert_non_null(strstr(trouble.hint, "the same command goes on"));
        assert_true(report.packed + report.left_out <= n);
        const uint64_t before = report.packed + report.left_out;
        const stk_status again = pack_some(root, "out", settings, count / 3);
        assert_true(again == STK_OK || again == STK_ERROR_INTERRUPTED);
        assert_int_equal(report.found, before);
        pack_well(root, "out", settings);
        check_same(digest_of("out"), whole);
        drop("out");
    }
    drop("whole");
}

static void stopped_anywhere(void **state)
{
    (void)state;
    static const int bad[] = {0, 5, 6, 11, 19, -1};
    stk__pack_settings settings = {.shard_samples = 3, .num_workers = 2};
    put_pairs("data", NULL);
    check_stops("data", &settings, PAIRS);
    put_pairs("bad", bad);
    settings.on_bad_sample = STK_PACK_SKIP;
    check_stops("bad", &settings, PAIRS);
    settings.num_workers = -1;
    check_stops("bad", &settings, PAIRS);
    put_pairs("both/train", bad);
    put_pairs("both/val", NULL);
    check_stops("both", &settings, 2 * PAIRS);
}

/* --- bad samples --------------------------------------------------------------------------------------- */

static void bad_samples_stop_it(void **state)
{
    (void)state;
    static const int bad[] = {13, 17, -1};
    stk__pack_settings settings = {.shard_samples = 5, .num_workers = 4};
    put_pairs("data", bad);
    refused(STK_ERROR_SAMPLE, pack("data", "out", &settings), "");
    assert_string_equal(stk_damage_name(trouble.damage), "truncated");
    assert_non_null(strstr(trouble.place, "images/13.jpg")); /* the first, whoever met it */
    assert_non_null(strstr(trouble.hint, "on_bad_sample=skip"));
    assert_int_equal(report.shards, 2);
    assert_false(is_there("out/shard-000002.tar") || is_there("out/.tmp-shard-000002.tar"));
    settings.on_bad_sample = STK_PACK_SKIP; /* what was packed before would have been the same */
    pack_well("data", "out", &settings);
    assert_int_equal(report.left_out, 2);
    assert_int_equal(report.packed, PAIRS - 2);
    assert_int_equal(report.found, 10);
    pack_well("data", "again", &settings);
    check_same(digest_of("out"), digest_of("again"));
    stk__buffer ledger = {0};
    assert_int_equal(stk__file_read(tree_path("out/ledger.jsonl"), 0, &ledger, NULL), STK_OK);
    assert_non_null(strstr((const char *)ledger.data,
                           "{\"sample_id\":13,\"class\":\"truncated\",\"action\":\"left out\""));
    assert_non_null(strstr((const char *)ledger.data, "{\"sample_id\":17,"));
    stk__buffer_fini(&ledger);
}

static void nothing_but_bad_samples(void **state)
{
    (void)state;
    tree_file("data/a.jpg", "");
    tree_file("data/b.jpg", "");
    const stk__pack_settings settings = {.on_bad_sample = STK_PACK_SKIP};
    refused(STK_ERROR_DATA, pack("data", "out", &settings), "all 2 samples are bad");
    refused(STK_ERROR_DATA, pack("data", "out", &settings), "all 2 samples are bad");
}

static void limits_hold(void **state)
{
    (void)state;
    put_jpeg("data/a.jpg", 1, &(pictures_jpeg_options){.progressive = true});
    stk__pack_settings settings = {.limit_pixels = 40 * 24 - 1};
    refused(STK_ERROR_SAMPLE, pack("data", "out", &settings), "limits.pixels");
    settings = (stk__pack_settings){.limit_scans = 2};
    refused(STK_ERROR_SAMPLE, pack("data", "out", &settings), "2 scans");
    settings = (stk__pack_settings){.limit_bytes = 100};
    refused(STK_ERROR_SAMPLE, pack("data", "out", &settings), "the limit is 100");
    settings = (stk__pack_settings){0};
    pack_well("data", "out", &settings);
}

/* --- refused ------------------------------------------------------------------------------------------- */

static void data_sets_without_images(void **state)
{
    (void)state;
    const stk__pack_settings settings = {0};
    refused(STK_ERROR_DATA, pack("make:series", "out", &settings), "is a series: it has no images to pack");
    refused(STK_ERROR_IO, pack("nowhere", "out", &settings), "cannot open the data set");
    tree_folder("empty");
    refused(STK_ERROR_DATA, pack("empty", "out", &settings), "");
    assert_false(is_there("out"));
}

static void folders_that_cannot_be_used(void **state)
{
    (void)state;
    const stk__pack_settings settings = {0}, odd = {.shard_samples = -5};
    put_jpeg("data/a.jpg", 1, &(pictures_jpeg_options){0});
    refused(STK_ERROR_ARGUMENT, pack("data", "data", &settings), "is the data set itself");
    refused(STK_ERROR_ARGUMENT, pack("data", "data/out", &settings), "lies inside the data set");
    tree_file("full/something", "");
    refused(STK_ERROR_ARGUMENT, pack("data", "full", &settings), "not empty and holds no pack");
    tree_file("file", "");
    refused(STK_ERROR_IO, pack("data", "file", &settings), "cannot make the folder");
    refused(STK_ERROR_CONFIG, pack("data", "out", &odd), "shard_samples");
    assert_false(is_there("out"));
}

static void packs_of_other_things(void **state)
{
    (void)state;
    stk__pack_settings settings = {.shard_samples = 5};
    put_pairs("data", NULL);
    put_pairs("other", NULL);
    put_jpeg("other/images/00.jpg", 99, &(pictures_jpeg_options){0});
    pack_well("data", "out", &settings);
    const stk__digest whole = digest_of("out");
    refused(STK_ERROR_STATE, pack("other", "out", &settings), "the same names but differ");
    put_jpeg("other/images/zz.jpg", 99, &(pictures_jpeg_options){0});
    refused(STK_ERROR_STATE, pack("other", "out", &settings), "other names");
    settings.shard_samples = 6;
    refused(STK_ERROR_STATE, pack("data", "out", &settings),
            "was begun with pack.shard_samples=5, this is 6");
    settings.shard_samples = 5;
    check_same(digest_of("out"), whole); /* nothing was touched */
    assert_int_equal(unlink(tree_path("out/shard-000001.tar")), 0);
    refused(STK_ERROR_STATE, pack("data", "out", &settings), "a shard is missing");
}

static void names_that_no_class_can_have(void **state)
{
    (void)state;
    const stk__pack_settings settings = {0};
    put_jpeg("data/a\nb/1.jpg", 1, &(pictures_jpeg_options){0});
    put_jpeg("data/c/2.jpg", 1, &(pictures_jpeg_options){0});
    refused(STK_ERROR_DATA, pack("data", "out", &settings), "cannot be a line of classes.txt");
}

/* --- what fails ---------------------------------------------------------------------------------------- */

static stk_status pack_anew(void *context, stk_error *error)
{
    const stk__pack_settings *settings = context;
    char from[PATH_MAX], to[PATH_MAX];
    const stk__pack_request request = {
        .root = path_of("data", from), .folder = path_of("out", to), .settings = *settings};
    const stk_status status = stk__pack_run(&request, &report, error);
    if (status == STK_OK) return status;
    fail_alloc_set(NULL); /* what is there is whole: it can be gone on with, later */
    drop("out");
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    char name[64];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "data/images/%02d.jpg", i);
        put_jpeg(name, (uint32_t)i, &(pictures_jpeg_options){0});
        snprintf(name, sizeof name, "data/masks/%02d.png", i);
        put_mask(name, (uint32_t)i);
    }
    tree_file("data/images/02.jpg", "");
    tree_file("data/classes.txt", "a\nb\n");
    stk__pack_settings settings = {.num_workers = -1, .shard_samples = 1, .on_bad_sample = STK_PACK_SKIP};
    assert_true(fail_alloc_each(pack_anew, &settings) > 40);
    pack_well("data", "again", &settings);
    check_same(digest_of("out"), digest_of("again"));
}

static int starts_left;

static bool refuse_start(void)
{
    return starts_left-- == 0;
}

static void threads_do_not_start(void **state)
{
    (void)state;
    const stk__pack_settings settings = {.num_workers = 3};
    put_pairs("data", NULL);
    stk__thread_fault_set(refuse_start);
    for (int good = 0; good < 3; good++) {
        starts_left = good;
        refused(STK_ERROR_THREAD, pack("data", "out", &settings), "cannot start thread");
    }
    stk__thread_fault_set(NULL);
    pack_well("data", "out", &settings);
}

/* Memory, where there is some for files: these tests wait for the disk very often. */
static int make_tree(void **state)
{
    snprintf(tree, sizeof tree, "/dev/shm/stoker-test-XXXXXX");
    return mkdtemp(tree) ? 0 : tree_make(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_tree, tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_do_not_depend_on_workers),
        TEST(shards_keep_to_their_size),
        TEST(parts_become_parts),
        TEST(images_made_in_memory),
        TEST(links_are_followed),
        TEST(stopped_anywhere),
        TEST(bad_samples_stop_it),
        TEST(nothing_but_bad_samples),
        TEST(limits_hold),
        TEST(data_sets_without_images),
        TEST(folders_that_cannot_be_used),
        TEST(packs_of_other_things),
        TEST(names_that_no_class_can_have),
        TEST(memory_runs_out),
        TEST(threads_do_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
