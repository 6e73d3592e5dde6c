/* SPDX-License-Identifier: Apache-2.0 */
/* Are the samples of shards all that there should be, and no more? */
#include "shards_tree.h"

static void write_ball(const char *name)
{
    tree_file(name, "");
    tarball_write(&ball, tree_path(name));
}

/* Where a tar file ends is marked by zeros. */
static void shards_that_just_end(void **state)
{
    (void)state;
    tarball_text(&ball, "1.jpg", "x");
    write_ball("foreign/x.tar");
    for (int i = 0; i < 2; i++) { /* built, then found */
        logged[0] = '\0';
        stk__source *source = open_as("foreign");
        assert_int_equal(source->info.count, 1);
        assert_non_null(strstr(logged, "x.tar' ends without the tar end-of-archive marker"));
        stk__source_close(&source);
    }
    ball.bytes.size_bytes = 512 + 300; /* within the zeros that fill the block */
    write_ball("filled/x.tar");
    stk__source *source = open_as("filled");
    assert_int_equal(source->info.count, 2);
    check_read(source, 0, STK_FIELD_IMAGE, "x", "jpg");
    check_read_damage(source, 1, STK_FIELD_IMAGE, STK_DAMAGE_TRUNCATED, "filled/x.tar@812");
    stk__source_close(&source);
    ball.bytes.size_bytes = 512 + 1; /* within the member: only that is damage */
    ball.bytes.data[124 + 10] = '2';
    tarball_sum(&ball, 0);
    write_ball("within/x.tar");
    source = open_as("within");
    assert_int_equal(source->info.count, 1);
    check_read_damage(source, 0, STK_FIELD_IMAGE, STK_DAMAGE_TRUNCATED, "within/x.tar!1.jpg@0");
    stk__source_close(&source);
    tarball_clear(&ball);
    tarball_text(&ball, "1.jpg", "x");
    tarball_end(&ball);
    ball.bytes.size_bytes = 1024 + 100; /* the zeros have begun: nothing stood behind */
    write_ball("marked/x.tar");
    logged[0] = '\0';
    source = open_as("marked");
    assert_int_equal(source->info.count, 1);
    assert_string_equal(logged, "");
    stk__source_close(&source);
    tarball_clear(&ball);
}

static void hidden_members(void **state)
{
    (void)state;
    tarball_text(&ball, "./.trash/1.jpg", "x");
    tarball_text(&ball, "./a/.checkpoints/2.jpg", "x");
    tarball_text(&ball, "./.3.jpg", "x");
    tarball_text(&ball, "./a/4.jpg", "x");
    put("x.tar");
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 1);
    check_key(source, 0, "a/4");
    stk__source_close(&source);
}

static void check_note(const char *root, const char *part, const char *note, const char *expected)
{
    tree_file("pack.json", note);
    logged[0] = '\0';
    stk__source *source = tree_open_as(root, part, 0);
    assert_non_null(source);
    if (expected ? !strstr(logged, expected) : *logged) fail_msg("'%s' for %s", logged, note);
    stk__source_close(&source);
}

static void packs_that_are_not_whole(void **state)
{
    (void)state;
    put_one("x.tar", "1.jpg", "x");
    check_note("", NULL, "not ours", NULL);
    check_note("", NULL, "{\"complete\": false, \"parts\": 3}", NULL);
    check_note("", NULL, "{\"complete\": true, \"parts\": [{\"count\": 2, \"left_out\": 1, \"shards\": 1}]}",
               NULL);
    check_note("", NULL, "{\"complete\": true, \"parts\": [{\"count\": 2, \"left_out\": 0, \"shards\": 2}]}",
               "2 samples in 2 shards packed, 1 in 1 found");
    check_note("", NULL, "{\"complete\": false, \"parts\": [{\"count\": 9, \"left_out\": 0, \"shards\": 1}]}",
               "is an incomplete pack: it has 1 of 9 samples; the same 'stoker pack' resumes it");
    check_note("x.tar", NULL,
               "{\"complete\": false, \"parts\": [{\"count\": 9, \"left_out\": 0, \"shards\": 1}]}", NULL);
    assert_int_equal(remove(tree_path("x.tar")), 0);
    tree_refused("", STK_ERROR_DATA, "is an incomplete pack", "");
    put_one("train/x.tar", "1.jpg", "x");
    tree_file("pack.json",
              "{\"complete\": false, \"parts\": [{\"part\": \"train\", \"count\": 9, \"left_out\": 0}]}");
    tree_refused("", STK_ERROR_DATA, "is an incomplete pack", "");
    put_one("val/x.tar", "2.jpg", "x");
    const char *const both =
        "{\"complete\": false, \"parts\": [{\"part\": \"train\", \"count\": 1, \"left_out\": 0},"
        " {\"part\": \"val\", \"count\": 4, \"left_out\": 0}]}";
    check_note("", "train", both, NULL);
    check_note("", "val", both, "it has 1 of 4 samples");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shards_that_just_end),
        TEST(hidden_members),
        TEST(packs_that_are_not_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
