/* SPDX-License-Identifier: Apache-2.0 */
/* The same pack again: what is looked at, what is refused, and that nothing of others is touched. */
#include "pack/pack_verify.h"
#include "support/fail_alloc.h"
#include "pack_rig.h"

#include <fcntl.h>

/* --- files of others ----------------------------------------------------------------------------------- */

static const stk__pack_settings five = {.shard_samples = 5, .num_workers = -1};

static void nothing_is_removed(void **state)
{
    (void)state;
    static const char *const mine[] = {"out/ledger.jsonl", "out/notes.tmp-1", "out/.tmp-shard-000001.tar",
                                       "out/pack.json.tmp-7"};
    put_pairs("data", NULL);
    pack_well("data", "out", &five);
    for (size_t i = 0; i < sizeof mine / sizeof mine[0]; i++)
        tree_file(mine[i], "mine");
    const stk__digest before = digest_of("out");
    pack_well("data", "out", &five);
    check_same(digest_of("out"), before);
    tree_file("out/shard-000099.tar", "mine");
    refused(STK_ERROR_STATE, pack("data", "out", &five), "is not a shard of this pack, which has 4");
    assert_non_null(strstr(trouble.place, "/out/shard-000099.tar"));
    assert_true(is_there("out/shard-000099.tar"));
}

/* Where packing goes on, what a stop can have left goes, and nothing else. */
static void only_left_overs_are_removed(void **state)
{
    (void)state;
    static const int bad[] = {7, -1};
    put_pairs("data", bad);
    refused(STK_ERROR_SAMPLE, pack("data", "out", &five), "");
    assert_int_equal(report.shards, 1);
    tree_file("out/shard-000001.tar", "has its name but is not in pack.json");
    tree_file("out/notes.tmp-1", "mine");
    tree_file("out/shard-000002.tar", "mine");
    const stk__pack_settings skip = {.shard_samples = 5, .num_workers = -1, .on_bad_sample = STK_PACK_SKIP};
    refused(STK_ERROR_STATE, pack("data", "out", &skip), "is not a shard of this pack");
    assert_true(is_there("out/shard-000002.tar") && is_there("out/shard-000001.tar"));
    assert_int_equal(unlink(tree_path("out/shard-000002.tar")), 0);
    pack_well("data", "out", &skip);
    assert_int_equal(report.packed, PAIRS - 1);
    assert_true(is_there("out/notes.tmp-1"));
}

static stk_status verify(const char *folder, const stk__pack_part *part, stk_error *error)
{
    return stk__pack_verify(&(stk__pack_verify_options){.folder = folder, .part = part}, error);
}

static void shards_must_be_as_they_were(void **state)
{
    (void)state;
    stk_error error = {0};
    const stk__pack_part part = {.shards = 2, .bytes = 8};
    tree_file("shard-000000.tar", "abc");
    assert_int_equal(verify(tree, &part, &error), STK_ERROR_STATE);
    assert_non_null(strstr(error.message, "'shard-000001.tar' is missing"));
    assert_non_null(strstr(error.place, "shard-000001.tar"));
    tree_file("shard-000001.tar", "abcd");
    assert_int_equal(verify(tree, &part, &error), STK_ERROR_STATE);
    assert_non_null(strstr(error.message, "other sizes"));
    tree_file("shard-000001.tar", "abcde");
    assert_int_equal(verify(tree, &part, NULL), STK_OK);
}

/* Shards that the part does not have are not removed: nobody knows whose they are. But one that has its name
 * may not be in pack.json yet. */
static void shards_of_others_are_named(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__pack_part part = {.shards = 1, .bytes = 3, .next = 5, .count = 9};
    tree_file("shard-000000.tar", "abc");
    tree_file("shard-000001.tar", "half");
    assert_int_equal(verify(tree, &part, NULL), STK_OK);
    tree_file("shard-000002.tar", "other");
    assert_int_equal(verify(tree, &part, &error), STK_ERROR_STATE);
    assert_non_null(strstr(error.message, "is not a shard of this pack"));
    assert_non_null(strstr(error.place, "/shard-000002.tar"));
    assert_non_null(strstr(error.hint, "move it"));
    assert_int_equal(unlink(tree_path("shard-000002.tar")), 0);
    part.next = part.count; /* the part is whole: no shard can follow */
    assert_int_equal(verify(tree, &part, &error), STK_ERROR_STATE);
    assert_non_null(strstr(error.place, "/shard-000001.tar"));
    assert_int_equal(verify(tree_path("nowhere"), &(stk__pack_part){0}, NULL), STK_ERROR_IO);
}

/* --- shards that are others ---------------------------------------------------------------------------- */

/* In the middle of the file; its size stays. */
static void overwrite(const char *name, const char *bytes)
{
    FILE *file = fopen(tree_path(name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 3000, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, 4, file), 4);
    assert_int_equal(fclose(file), 0);
}

static void read_bytes(const char *name, char bytes[4])
{
    FILE *file = fopen(tree_path(name), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 3000, SEEK_SET), 0);
    assert_int_equal(fread(bytes, 1, 4, file), 4);
    assert_int_equal(fclose(file), 0);
}

/* As after a copy that does not keep times. */
static void touch_all(void)
{
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "out/shard-%06d.tar", i);
        assert_int_equal(utimensat(AT_FDCWD, tree_path(name), NULL, 0), 0);
    }
}

static void swap(const char *a, const char *b)
{
    char first[PATH_MAX], second[PATH_MAX], between[PATH_MAX];
    path_of(a, first);
    path_of(b, second);
    path_of("swapped", between);
    assert_int_equal(rename(first, between), 0);
    assert_int_equal(rename(second, first), 0);
    assert_int_equal(rename(between, second), 0);
}

/* As whoever loads the pack does when the index there is does not fit. */
static void index_anew(const char *name)
{
    stk__buffer bytes = {0};
    stk__shard_index index;
    stk__shard_origin origin;
    assert_int_equal(stk__shard_index_get(tree_path(name), &bytes, &index, &origin, NULL), STK_OK);
    assert_int_equal(origin, STK_SHARD_STORED);
    stk__buffer_fini(&bytes);
}

static void put_pack(void)
{
    put_pairs("data", NULL);
    pack_well("data", "out", &five);
}

static void a_shard_was_overwritten(void **state)
{
    (void)state;
    char was[4];
    put_pack();
    read_bytes("out/shard-000002.tar", was);
    overwrite("out/shard-000002.tar", "XXXX");
    refused(STK_ERROR_STATE, pack("data", "out", &five), "'shard-000002.tar' has changed");
    assert_non_null(strstr(trouble.place, "/out/shard-000002.tar"));
    assert_non_null(strstr(trouble.hint, "the same shard"));
    overwrite("out/shard-000002.tar", was); /* the time is not what counts */
    pack_well("data", "out", &five);
    overwrite("out/shard-000002.tar", "XXXX");
    index_anew("out/shard-000002.tar"); /* nothing tells which one it is */
    refused(STK_ERROR_STATE, pack("data", "out", &five), "its shards are others, or in another order");
    assert_int_equal(truncate(tree_path("out/shard-000002.tar"), 4096), 0);
    refused(STK_ERROR_STATE, pack("data", "out", &five), "'shard-000002.tar' has changed");
}

static void shards_were_swapped(void **state)
{
    (void)state;
    put_pack();
    swap("out/shard-000001.tar", "out/shard-000003.tar");
    refused(STK_ERROR_STATE, pack("data", "out", &five), "'shard-000001.tar' has changed");
    swap("out/shard-000001.tar.index", "out/shard-000003.tar.index");
    refused(STK_ERROR_STATE, pack("data", "out", &five), "its shards are others, or in another order");
}

static void copied_without_times(void **state)
{
    (void)state;
    put_pack();
    touch_all();
    pack_well("data", "out", &five);
    index_anew("out/shard-000001.tar");
    assert_int_equal(unlink(tree_path("out/shard-000002.tar.index")), 0);
    tree_file("out/shard-000003.tar.index", "damaged");
    pack_well("data", "out", &five);
    assert_int_equal(report.found, PAIRS);
    const atomic_bool stop = true;
    char from[PATH_MAX], to[PATH_MAX];
    const stk__pack_request request = {
        .root = path_of("data", from), .folder = path_of("out", to), .settings = five, .stop = &stop};
    refused(STK_ERROR_INTERRUPTED, stk__pack_run(&request, &report, &trouble), "stopped");
}

static void shards_that_cannot_be_read(void **state)
{
    (void)state;
    stk_error error = {0};
    const stk__pack_part part = {.shards = 1, .stamps = {1, 2}};
    tree_folder("shard-000000.tar");
    assert_int_equal(verify(tree, &part, &error), STK_ERROR_STATE);
    assert_non_null(strstr(error.message, "'shard-000000.tar' cannot be read"));
    assert_int_equal(rmdir(tree_path("shard-000000.tar")), 0);
    tree_link("/proc/self/mem", "shard-000000.tar"); /* a file whose first byte cannot be read */
    assert_int_equal(verify(tree, &part, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "cannot read"));
    char far[PATH_MAX];
    memset(far, 'a', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    assert_int_equal(verify(far, &part, NULL), STK_ERROR_STATE); /* too long */
}

static stk_status pack_again(void *context, stk_error *error)
{
    (void)context;
    char from[PATH_MAX], to[PATH_MAX];
    const stk__pack_request request = {
        .root = path_of("data", from), .folder = path_of("out", to), .settings = five};
    return stk__pack_run(&request, &report, error);
}

static void memory_runs_out(void **state)
{
    (void)state;
    put_pack();
    touch_all();
    assert_true(fail_alloc_each(pack_again, NULL) > 10);
}

/* Earlier versions wrote no digest of the shards: their sizes are all that can be compared. */
static void packs_of_earlier_versions(void **state)
{
    (void)state;
    bool found;
    stk__pack_state old;
    put_pack();
    assert_int_equal(stk__pack_state_read(tree_path("out"), &old, &found, NULL), STK_OK);
    old.parts[0].stamps = old.parts[0].facts = (stk__digest){0};
    assert_int_equal(stk__pack_state_write(tree_path("out"), &old, NULL), STK_OK);
    touch_all();
    pack_well("data", "out", &five);
    assert_int_equal(truncate(tree_path("out/shard-000002.tar"), 4096), 0);
    refused(STK_ERROR_STATE, pack("data", "out", &five), "'shard-000002.tar' has changed");
}

/* --- a data set that is another ------------------------------------------------------------------------ */

/* Twenty images with a value each: ten times its number, but `value` for number `other`. */
static void put_values(int other, const char *value)
{
    char text[PAIRS * 32] = "file,value\n", *end = text + strlen(text);
    for (int i = 0; i < PAIRS; i++) {
        char name[64];
        snprintf(name, sizeof name, "data/images/%02d.jpg", i);
        if (!is_there(name)) put_jpeg(name, (uint32_t)i, &(pictures_jpeg_options){0});
        end +=
            i == other ? sprintf(end, "%02d.jpg,%s\n", i, value) : sprintf(end, "%02d.jpg,%d\n", i, 10 * i);
    }
    tree_file("data/labels.csv", text);
}

/* Number 1 is none of the samples that are read. */
static void labels_were_changed(void **state)
{
    (void)state;
    put_values(-1, "");
    pack_well("data", "out", &five);
    const stk__digest whole = digest_of("out");
    put_values(1, "3.5");
    refused(STK_ERROR_STATE, pack("data", "out", &five), "the same names but other labels");
    put_values(1, "none");
    refused(STK_ERROR_STATE, pack("data", "out", &five), "the same names but other labels");
    put_values(-1, "");
    pack_well("data", "out", &five);
    check_same(digest_of("out"), whole);
}

/* A point for each of twenty images; y of number 1 as told. */
static void put_points(int y)
{
    char text[PAIRS * 32] = "file,tip_x,tip_y\n", *end = text + strlen(text);
    for (int i = 0; i < PAIRS; i++)
        end += sprintf(end, "%02d.jpg,%d,%d\n", i, i, i == 1 ? y : 2);
    tree_file("data/points.csv", text);
}

static void points_and_classes_were_changed(void **state)
{
    (void)state;
    put_pairs("pairs", NULL);
    pack_well("pairs", "classes", &five);
    tree_file("pairs/classes.txt", "a\nb\nc\nd\nf\n");
    refused(STK_ERROR_STATE, pack("pairs", "classes", &five), "class names");
    put_values(-1, "");
    assert_int_equal(unlink(tree_path("data/labels.csv")), 0);
    put_points(4);
    pack_well("data", "out", &five);
    put_points(5);
    refused(STK_ERROR_STATE, pack("data", "out", &five), "the same names but other labels, points");
    put_points(4);
    pack_well("data", "out", &five);
}

/* What is packed must be as it is there; what is still to come may be mended. */
static void mended_on_the_way(void **state)
{
    (void)state;
    put_values(12, "none");
    refused(STK_ERROR_SAMPLE, pack("data", "out", &five), "");
    assert_int_equal(report.packed, 10);
    put_values(1, "3.5");
    refused(STK_ERROR_STATE, pack("data", "out", &five), "the same names but other labels");
    put_values(12, "77");
    pack_well("data", "out", &five);
    assert_int_equal(report.found, 10);
    pack_well("data", "anew", &five);
    check_same(digest_of("out"), digest_of("anew"));
}

static void images_were_changed(void **state)
{
    (void)state;
    put_values(-1, "");
    pack_well("data", "out", &five);
    put_jpeg("data/images/01.jpg", 99, &(pictures_jpeg_options){.progressive = true});
    refused(STK_ERROR_STATE, pack("data", "out", &five), "the same names but files of other sizes");
    put_jpeg("data/images/01.jpg", 1, &(pictures_jpeg_options){0});
    pack_well("data", "out", &five);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_removed),
        TEST(only_left_overs_are_removed),
        TEST(shards_must_be_as_they_were),
        TEST(shards_of_others_are_named),
        TEST(a_shard_was_overwritten),
        TEST(shards_were_swapped),
        TEST(copied_without_times),
        TEST(shards_that_cannot_be_read),
        TEST(memory_runs_out),
        TEST(packs_of_earlier_versions),
        TEST(labels_were_changed),
        TEST(points_and_classes_were_changed),
        TEST(mended_on_the_way),
        TEST(images_were_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
