/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be packed, and what fails on the way. */
#include "core/thread.h"
#include "support/fail_alloc.h"
#include "pack_rig.h"

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
    refused(STK_ERROR_ARGUMENT, pack("data", "data/out", &settings), "is inside the data set");
    tree_file("full/something", "");
    refused(STK_ERROR_ARGUMENT, pack("data", "full", &settings), "not empty and is not a pack");
    tree_file("file", "");
    refused(STK_ERROR_IO, pack("data", "file", &settings), "cannot create the folder");
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
            "was started with pack.shard_samples=5, this is 6");
    settings.shard_samples = 5;
    check_same(digest_of("out"), whole); /* nothing was touched */
    assert_int_equal(unlink(tree_path("out/shard-000001.tar")), 0);
    refused(STK_ERROR_STATE, pack("data", "out", &settings), "'shard-000001.tar' is missing");
    assert_non_null(strstr(trouble.place, "/out/shard-000001.tar"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(data_sets_without_images), TEST(folders_that_cannot_be_used),
        TEST(packs_of_other_things),    TEST(names_that_no_class_can_have),
        TEST(memory_runs_out),          TEST(threads_do_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
