/* SPDX-License-Identifier: Apache-2.0 */
/* Walking tar files that are in order: all dialects, long names, sizes, ends; and any flipped bit, which
 * must end the walk without harm. */
#include "tar_walk.h"

static stk_status walk_all(void *context, stk_error *error)
{
    (void)context;
    const stk__tar_input input = {read_ball, &ball.bytes, ball.bytes.size_bytes};
    stk__tar_walk w;
    stk__tar_member m;
    stk_status status = stk__tar_walk_open(&w, &input, error);
    while (status == STK_OK)
        status = stk__tar_walk_next(&w, &m, error);
    stk__tar_walk_close(&w);
    return status == STK_END ? STK_OK : status;
}

static void files_and_folders(void **state)
{
    (void)state;
    tarball_header(&ball, "a/", '5', 77); /* a size of folders means nothing */
    const size_t first = tarball_text(&ball, "a/1.jpg", "one");
    const size_t empty = tarball_text(&ball, "a/2.jpg", "");
    const size_t old = tarball_header(&ball, "old/", '\0', 0);
    const size_t v7 = tarball_header(&ball, "v7.jpg", '\0', 4);
    memset(ball.bytes.data + v7 + 257, 0, 8);
    tarball_sum(&ball, v7);
    tarball_data(&ball, "seve", 4);
    const size_t prefixed = tarball_header(&ball, "3.jpg", '7', 0);
    memcpy(ball.bytes.data + prefixed + 345, "far/away", 8);
    tarball_sum(&ball, prefixed);
    tarball_end(&ball);
    start();
    expect_next();
    assert_int_equal(member.kind, STK_TAR_FOLDER);
    expect_file("a/1.jpg", first, 3);
    char text[3];
    assert_true(stk__tar_walk_copy(&walk, member.offset + 512, text, 3));
    assert_memory_equal(text, "one", 3);
    assert_false(stk__tar_walk_copy(&walk, ball.bytes.size_bytes - 2, text, 3));
    expect_file("a/2.jpg", empty, 0);
    expect_next();
    assert_int_equal(member.kind, STK_TAR_FOLDER);
    assert_int_equal(member.offset, old);
    expect_file("v7.jpg", v7, 4);
    expect_file("far/away/3.jpg", prefixed, 0);
    expect_end();
}

static void names_of_full_fields(void **state)
{
    (void)state;
    char name[101], whole[300];
    memset(name, 'n', 100);
    name[100] = '\0';
    const size_t at = tarball_header(&ball, name, '0', 0);
    const size_t both = tarball_header(&ball, name, '0', 0);
    memset(ball.bytes.data + both + 345, 'p', 155);
    tarball_sum(&ball, both);
    const size_t gnu = tarball_header(&ball, "g", '0', 0);
    memcpy(ball.bytes.data + gnu + 257, "ustar  ", 8);
    memcpy(ball.bytes.data + gnu + 345, "12345", 5); /* a time */
    tarball_sum(&ball, gnu);
    start();
    expect_file(name, at, 0);
    memset(whole, 'p', 155);
    snprintf(whole + 155, sizeof whole - 155, "/%s", name);
    expect_file(whole, both, 0);
    expect_file("g", gnu, 0);
    expect_end();
}

/* The header of a member with a long name has its first 100 bytes, which may end where a folder's name would.
 */
static void cut_names_are_no_folders(void **state)
{
    (void)state;
    char cut[101];
    memset(cut, 'd', 99);
    strcpy(cut + 99, "/");
    tarball_record(&ball, 'x', "path", "far/away.jpg");
    const size_t pax = tarball_text(&ball, cut, "pax");
    tarball_long_name(&ball, 'L', "so/far.jpg");
    const size_t gnu = tarball_text(&ball, cut, "gnu");
    tarball_record(&ball, 'x', "path", "a/folder/");
    tarball_header(&ball, "cut", '0', 0);
    tarball_end(&ball);
    start();
    expect_file("far/away.jpg", pax, 3);
    expect_file("so/far.jpg", gnu, 3);
    expect_next();
    assert_int_equal(member.kind, STK_TAR_FOLDER);
    expect_end();
}

static void checksums_over_signed_bytes(void **state)
{
    (void)state;
    const size_t at = tarball_text(&ball, "\xC3\xBC.jpg", "u");
    uint8_t *block = ball.bytes.data + at;
    int sum = 0;
    memset(block + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (int8_t)block[i];
    snprintf((char *)block + 148, 8, "%6o", (unsigned)sum); /* blanks before it, as v7 wrote */
    start();
    expect_file("\xC3\xBC.jpg", at, 1);
    expect_end();
}

static void long_names(void **state)
{
    (void)state;
    char name[STK_TAR_NAME_BYTES + 2];
    memset(name, 'n', sizeof name);
    name[STK_TAR_NAME_BYTES] = '\0';
    tarball_long_name(&ball, 'L', name);
    tarball_long_name(&ball, 'K', "where a link leads");
    const size_t gnu = tarball_text(&ball, "short", "1");
    tarball_record(&ball, 'x', "path", name);
    const size_t pax = tarball_text(&ball, "short", "1");
    tarball_record(&ball, 'x', "path", "first");
    tarball_record(&ball, 'x', "path", "last");
    const size_t last = tarball_text(&ball, "short", "1");
    tarball_record(&ball, 'x', "path", "first");
    tarball_record(&ball, 'x', "path", "");
    const size_t own = tarball_text(&ball, "own", "1");
    start();
    expect_file(name, gnu, 1);
    expect_file(name, pax, 1);
    expect_file("last", last, 1);
    expect_file("own", own, 1);
    expect_end();
    name[STK_TAR_NAME_BYTES] = 'n';
    name[STK_TAR_NAME_BYTES + 1] = '\0';
    tarball_long_name(&ball, 'L', name);
    tarball_text(&ball, "short", "1");
    tarball_record(&ball, 'x', "path", name);
    tarball_text(&ball, "short", "1");
    start();
    for (int i = 0; i < 4; i++)
        expect_next();
    for (int i = 0; i < 2; i++)
        expect_damage("", STK_DAMAGE_BAD_NAME, "the maximum is 4095");
    expect_end();
}

static void sizes_of_pax_and_gnu(void **state)
{
    (void)state;
    tarball_record(&ball, 'x', "size", "3");
    const size_t pax = tarball_header(&ball, "a", '0', 0);
    tarball_data(&ball, "abc", 3);
    const size_t gnu = tarball_header(&ball, "b", '0', 0);
    memset(ball.bytes.data + gnu + 124, 0, 12);
    ball.bytes.data[gnu + 124] = 0x80;
    ball.bytes.data[gnu + 135] = 2;
    tarball_sum(&ball, gnu);
    tarball_data(&ball, "ab", 2);
    const size_t blanks = tarball_header(&ball, "c", '0', 0);
    memcpy(ball.bytes.data + blanks + 124, "         1 \0", 12);
    tarball_sum(&ball, blanks);
    tarball_data(&ball, "a", 1);
    tarball_end(&ball);
    start();
    expect_file("a", pax, 3);
    expect_file("b", gnu, 2);
    expect_file("c", blanks, 1);
    expect_end();
}

static void ends(void **state)
{
    (void)state;
    const size_t at = tarball_text(&ball, "a", "x");
    start(); /* without zeros */
    expect_file("a", at, 1);
    expect_end();
    ball.bytes.size_bytes = at + 512 + 1; /* without padding */
    start();
    expect_file("a", at, 1);
    expect_end();
    ball.bytes.size_bytes = at + 512; /* without data */
    start();
    expect_damage("a", STK_DAMAGE_TRUNCATED, "after 0 of 1 bytes");
    expect_end();
    ball.bytes.size_bytes = 100; /* within the header */
    start();
    expect_stretch(0, 100, STK_DAMAGE_TRUNCATED);
    expect_end();
    ball.bytes.size_bytes = 0;
    tarball_end(&ball);
    ball.bytes.size_bytes = 700; /* zeros only, cut */
    start();
    expect_end();
}

static void global_headers(void **state)
{
    (void)state;
    tarball_record(&ball, 'g', "STOKER.keys", "percent");
    tarball_text(&ball, "a", "");
    tarball_record(&ball, 'g', "path", "not for all");
    tarball_record(&ball, 'g', "STOKER.keys", "otherwise");
    tarball_text(&ball, "b", "");
    start();
    expect_next();
    assert_true(walk.keys_escaped);
    assert_string_equal(member.name, "a");
    expect_next();
    assert_false(walk.keys_escaped);
    assert_string_equal(member.name, "b");
    expect_end();
}

static void memory_runs_out(void **state)
{
    (void)state;
    tarball_record(&ball, 'x', "path", "name");
    tarball_text(&ball, "a", "");
    assert_int_equal(fail_alloc_each(walk_all, NULL), 3); /* window, records */
}

/* Any change of any byte: the walk ends, and nobody reads what is not there. */
static void every_flipped_bit(void **state)
{
    (void)state;
    tarball_record(&ball, 'x', "path", "name");
    tarball_text(&ball, "a", "one");
    tarball_long_name(&ball, 'L', "long");
    tarball_text(&ball, "b", "two");
    tarball_end(&ball);
    for (size_t i = 0; i < ball.bytes.size_bytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            ball.bytes.data[i] ^= (uint8_t)(1 << bit);
            assert_int_equal(walk_all(NULL, NULL), STK_OK);
            ball.bytes.data[i] ^= (uint8_t)(1 << bit);
        }
    for (size_t size = ball.bytes.size_bytes; size-- > 0;) {
        ball.bytes.size_bytes = size;
        assert_int_equal(walk_all(NULL, NULL), STK_OK);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_and_folders),
        TEST(names_of_full_fields),
        TEST(cut_names_are_no_folders),
        TEST(checksums_over_signed_bytes),
        TEST(long_names),
        TEST(sizes_of_pax_and_gnu),
        TEST(ends),
        TEST(global_headers),
        TEST(memory_runs_out),
        TEST(every_flipped_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
