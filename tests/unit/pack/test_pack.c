/* SPDX-License-Identifier: Apache-2.0 */
/* Whole packs: what is in them, and going on with them. */
#include "pack/pack_folder.h"
#include "pack_rig.h"

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
    assert_in_range(report.stored_bytes, 1, report.bytes - PAIRS * 1024);
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
        assert_in_range(facts.st_mtim.tv_sec, STK_SHARD_TIME_S, STK_SHARD_TIME_S + STK_SHARD_TIME_RANGE_S);
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

static struct stat shard_of_values(const char *folder, const char *values)
{
    struct stat facts;
    char name[64];
    const stk__pack_settings settings = {0};
    drop("data");
    put_jpeg("data/a.jpg", 1, &(pictures_jpeg_options){0});
    tree_file("data/labels.csv", values);
    pack_well("data", folder, &settings);
    snprintf(name, sizeof name, "%s/shard-000000.tar", folder);
    assert_int_equal(stat(tree_path(name), &facts), 0);
    return facts;
}

/* Programs that copy look at size and time only. */
static void a_shard_that_changed_has_another_time(void **state)
{
    (void)state;
    const struct stat one = shard_of_values("one", "file,value\na.jpg,1\n"),
                      two = shard_of_values("two", "file,value\na.jpg,2\n"),
                      again = shard_of_values("again", "file,value\na.jpg,1\n");
    assert_int_equal(one.st_size, two.st_size);
    assert_int_not_equal(one.st_mtim.tv_sec, two.st_mtim.tv_sec);
    assert_int_equal(one.st_mtim.tv_sec, again.st_mtim.tv_sec);
    assert_int_equal(one.st_mtim.tv_nsec, 0);
    check_same(digest_of("one"), digest_of("again"));
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

static void names_of_points(void **state)
{
    (void)state;
    const stk__pack_settings settings = {0};
    stk__buffer text = {0};
    pack_well("make:captcha?count=3", "out", &settings);
    assert_int_equal(stk__file_read(tree_path("out/points.txt"), 0, &text, NULL), STK_OK);
    assert_string_equal((const char *)text.data, "gap\nslider\n");
    stk__buffer_fini(&text);
    assert_false(is_there("out/classes.txt"));
    tree_folder("own");
    const char *names[] = {"left_eye", "two\nlines"};
    const stk__source_info info = {.point_count = 2, .point_names = names};
    assert_int_equal(stk__pack_folder_points(tree_path("own"), &info, NULL), STK_OK);
    assert_int_equal(stk__pack_folder_points(tree_path("own"), &(stk__source_info){.point_count = 2}, NULL),
                     STK_OK);
    assert_false(is_there("own/points.txt")); /* none have names, or one cannot be a line */
    names[1] = "right_eye";
    assert_int_equal(stk__pack_folder_points(tree_path("nowhere"), &info, NULL), STK_ERROR_IO);
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
        assert_non_null(strstr(trouble.hint, "the same command resumes"));
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
    refused(STK_ERROR_DATA, pack("data", "out", &settings), "every sample is bad (2)");
    refused(STK_ERROR_DATA, pack("data", "out", &settings), "every sample is bad (2)");
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

/* Decoders forgive a JPEG that lacks its end, if they are told to: it is stored as it was. */
static void warnings_are_forgiven(void **state)
{
    (void)state;
    stk__pack_settings settings = {0};
    stk__buffer bytes = {0};
    put_jpeg("data/a.jpg", 1, &(pictures_jpeg_options){0});
    put_jpeg("data/b.jpg", 2, &(pictures_jpeg_options){0});
    assert_int_equal(stk__file_read(tree_path("data/a.jpg"), 0, &bytes, NULL), STK_OK);
    tree_bytes("data/a.jpg", bytes.data, bytes.size_bytes - 2);
    stk__buffer_fini(&bytes);
    refused(STK_ERROR_SAMPLE, pack("data", "out", &settings), "");
    settings.limit_warnings = 1;
    pack_well("data", "out", &settings);
    assert_int_equal(report.packed, 2);
    assert_int_equal(report.kept, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_do_not_depend_on_workers),
        TEST(shards_keep_to_their_size),
        TEST(names_of_points),
        TEST(a_shard_that_changed_has_another_time),
        TEST(parts_become_parts),
        TEST(images_made_in_memory),
        TEST(links_are_followed),
        TEST(stopped_anywhere),
        TEST(bad_samples_stop_it),
        TEST(nothing_but_bad_samples),
        TEST(limits_hold),
        TEST(warnings_are_forgiven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
