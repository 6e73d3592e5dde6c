/* The same pack again: what is looked at, what is refused, and that nothing of others is touched. */
#include "unit/pack_rig.h"

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
    refused(STK_ERROR_STATE, pack("data", "out", &five), "is no shard of this pack, which has 4");
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
    refused(STK_ERROR_STATE, pack("data", "out", &skip), "is no shard of this pack");
    assert_true(is_there("out/shard-000002.tar") && is_there("out/shard-000001.tar"));
    assert_int_equal(unlink(tree_path("out/shard-000002.tar")), 0);
    pack_well("data", "out", &skip);
    assert_int_equal(report.packed, PAIRS - 1);
    assert_true(is_there("out/notes.tmp-1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_removed),
        TEST(only_left_overs_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
