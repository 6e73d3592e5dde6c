/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged tar files: impossible sizes, forbidden kinds, broken headers and records, bombs, and storage
 * that refuses. */
#include "tar_walk.h"

/* Sizes that cannot be: the walk goes on at the next header. */
static void sizes_that_make_no_sense(void **state)
{
    (void)state;
    static const char fields[][13] = {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", /* -1 */
                                      "\x80\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
                                      "-0000000005",
                                      "0000000008",
                                      "12345 67",
                                      "\0\0\0\0\0\0\0\0\0\0\0\0",
                                      "            "};
    enum { FIELDS = sizeof fields / sizeof fields[0] };
    for (int i = 0; i < FIELDS; i++) {
        const size_t at = tarball_text(&ball, "bad", "some data");
        memcpy(ball.bytes.data + at + 124, fields[i], 12);
        tarball_sum(&ball, at);
    }
    const size_t beyond = tarball_text(&ball, "beyond", "some data");
    memcpy(ball.bytes.data + beyond + 124, "77777777777", 12);
    tarball_sum(&ball, beyond);
    tarball_record(&ball, 'x', "size", "-3");
    const size_t negative = tarball_text(&ball, "negative", "abc");
    tarball_record(&ball, 'x', "size", "99999999999999999999");
    tarball_text(&ball, "huge", "abc");
    const size_t good = tarball_text(&ball, "good", "abc");
    start();
    for (int i = 0; i < FIELDS; i++)
        expect_damage("bad", STK_DAMAGE_BAD_HEADER, "negative, too large or not a number");
    expect_damage("beyond", STK_DAMAGE_BAD_HEADER, "8589934591 bytes reaches beyond");
    expect_damage("negative", STK_DAMAGE_BAD_HEADER, "'-3' in a pax record is invalid");
    assert_int_equal(member.offset, negative);
    expect_damage("huge", STK_DAMAGE_BAD_HEADER, "in a pax record is invalid");
    expect_file("good", good, 3);
    expect_end();
}

static void kinds_that_are_no_files(void **state)
{
    (void)state;
    const struct {
        char type;
        const char *words;
    } kinds[] = {{'1', "hard link"},    {'2', "symbolic link"}, {'3', "character device"},
                 {'4', "block device"}, {'6', "pipe"},          {'M', "another volume"},
                 {'Q', "unknown type"}};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    for (int i = 0; i < KINDS; i++)
        tarball_header(&ball, "x", kinds[i].type, 0);
    tarball_header(&ball, "volume", 'V', 0);
    const size_t good = tarball_text(&ball, "good", "");
    start();
    for (int i = 0; i < KINDS; i++) {
        expect_damage("x", STK_DAMAGE_MEMBER_KIND, kinds[i].words);
        assert_int_equal(member.kind, STK_TAR_OTHER);
    }
    expect_next();
    assert_int_equal(member.kind, STK_TAR_FOLDER);
    expect_file("good", good, 0);
    expect_end();
}

static void sparse_files(void **state)
{
    (void)state;
    static const uint8_t map[512], last[512];
    const size_t old = tarball_header(&ball, "old", 'S', 5);
    ball.bytes.data[old + 482] = 1; /* its map goes on */
    tarball_sum(&ball, old);
    tarball_data(&ball, map, 512);
    ball.bytes.data[ball.bytes.size_bytes - 8] = 1; /* and on */
    tarball_data(&ball, last, 512);
    tarball_data(&ball, "piece", 5);
    tarball_records(&ball, 'x', "22 GNU.sparse.major=1\n24 GNU.sparse.name=real\n");
    tarball_text(&ball, "GNUSparseFile.1/real", "1\n");
    tarball_records(&ball, 'x', "19 GNU.sparse.name=x\n");
    const size_t good = tarball_text(&ball, "good", "");
    start();
    expect_damage("old", STK_DAMAGE_MEMBER_KIND, "sparse");
    expect_damage("real", STK_DAMAGE_MEMBER_KIND, "sparse");
    expect_damage("good", STK_DAMAGE_BAD_HEADER, "malformed, at byte 0"); /* 21 would be its length */
    assert_int_equal(member.offset, good);
    expect_end();
}

static void records_that_are_none(void **state)
{
    (void)state;
    static const char *const records[] = {
        "x path=a\n",     "9path=a\n\n", "99 path=a\n", "9 path=ab\n", "9 path a\n",
        "6 =ab\n",        "11 path=a\n", "0 path=a\n",  "2 \n",        "99999999999999999999 path=a\n",
        "10 path=ab\n\n", "8 path=a\n"};
    enum { RECORDS = sizeof records / sizeof records[0] };
    for (int i = 0; i < RECORDS; i++) {
        tarball_records(&ball, 'x', records[i]);
        tarball_text(&ball, "name", "");
    }
    tarball_records(&ball, 'g', "nonsense");
    tarball_text(&ball, "name", "");
    start();
    for (int i = 0; i <= RECORDS; i++) {
        expect_next();
        if (member.damage != STK_DAMAGE_BAD_HEADER) print_error("taken: %s\n", records[i]);
        assert_int_equal(member.damage, STK_DAMAGE_BAD_HEADER);
        assert_non_null(strstr(member.detail, "malformed"));
    }
    expect_end();
}

static void bombs(void **state)
{
    (void)state;
    uint8_t *much = calloc(1, STK_TAR_RECORDS_BYTES + 1);
    assert_non_null(much);
    tarball_header(&ball, "bomb", 'x', STK_TAR_RECORDS_BYTES + 1);
    tarball_data(&ball, much, STK_TAR_RECORDS_BYTES + 1);
    tarball_text(&ball, "name", "");
    for (int i = 0; i <= STK_TAR_EXTENSIONS; i++)
        tarball_record(&ball, 'x', "comment", "again");
    tarball_text(&ball, "name", "");
    for (int i = 0; i < STK_TAR_EXTENSIONS; i++)
        tarball_record(&ball, 'x', "comment", "again");
    const size_t good = tarball_text(&ball, "good", "");
    start();
    expect_damage("name", STK_DAMAGE_BAD_HEADER, "a pax header of 1048577 bytes");
    expect_damage("name", STK_DAMAGE_BAD_HEADER, "more than 8 headers");
    expect_file("good", good, 0);
    expect_end();
    free(much);
}

static void names_that_are_none(void **state)
{
    (void)state;
    static const char *const names[] = {"\xFF.jpg",         "a\xC3.jpg",        "\xC0\xAF.jpg",
                                        "\xED\xA0\x80.jpg", "\xE0\x80\x80.jpg", "\xF5\x80.jpg",
                                        "\xF4\x90\x80\x80", "\xF0\x80\x80\x80", "\x80",
                                        "\xE2\x82"};
    enum { NAMES = sizeof names / sizeof names[0] };
    for (int i = 0; i < NAMES; i++)
        tarball_text(&ball, names[i], "");
    tarball_text(&ball, "", "");
    const size_t record = tarball_records(&ball, 'x', "12 path=a?b\n");
    ball.bytes.data[record + 512 + 9] = '\0';
    tarball_text(&ball, "name", "");
    const size_t good = tarball_text(&ball, "\xE2\x82\xAC\xF0\x9F\x98\x80", "");
    start();
    for (int i = 0; i < NAMES; i++)
        expect_damage(names[i], STK_DAMAGE_BAD_NAME, "not UTF-8");
    expect_damage("", STK_DAMAGE_BAD_NAME, "without a name");
    expect_damage("a", STK_DAMAGE_BAD_NAME, "NUL byte");
    expect_file("\xE2\x82\xAC\xF0\x9F\x98\x80", good, 0);
    expect_end();
}

static void broken_headers_are_stretches(void **state)
{
    (void)state;
    const size_t first = tarball_text(&ball, "first", "1"), broken = tarball_text(&ball, "broken", "222");
    const size_t good = tarball_text(&ball, "good", "3"), last = tarball_text(&ball, "last", "4");
    ball.bytes.data[broken] ^= 1;
    ball.bytes.data[last] ^= 1;
    tarball_end(&ball);
    start();
    expect_file("first", first, 1);
    expect_stretch(broken, good - broken, STK_DAMAGE_BAD_CHECKSUM);
    expect_file("good", good, 1);
    expect_stretch(last, ball.bytes.size_bytes - last, STK_DAMAGE_BAD_CHECKSUM);
    expect_end();
}

/* The next good header lies beyond the first window of the search. */
static void long_stretches(void **state)
{
    (void)state;
    uint8_t *much = calloc(1, 300000);
    assert_non_null(much);
    memset(much, 0x55, 300000);
    const size_t broken = tarball_file(&ball, "broken", much, 300000),
                 good = tarball_text(&ball, "good", "3");
    ball.bytes.data[broken] ^= 1;
    start();
    expect_stretch(broken, good - broken, STK_DAMAGE_BAD_CHECKSUM);
    expect_file("good", good, 1);
    expect_end();
    free(much);
}

static void no_tar_at_all(void **state)
{
    (void)state;
    const struct {
        const char *bytes;
        stk_damage damage;
        const char *words;
    } files[] = {{"\x1F\x8B", STK_DAMAGE_UNSUPPORTED, "gzip"},
                 {"\x28\xB5\x2F\xFD", STK_DAMAGE_UNSUPPORTED, "zstd"},
                 {"\xFD"
                  "7zX",
                  STK_DAMAGE_UNSUPPORTED, "xz"},
                 {"BZh", STK_DAMAGE_UNSUPPORTED, "bzip2"},
                 {"plain text", STK_DAMAGE_BAD_CHECKSUM, "checksum"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        ball.bytes.size_bytes = 0;
        tarball_data(&ball, files[i].bytes, strlen(files[i].bytes));
        tarball_data(&ball, files[i].bytes, strlen(files[i].bytes));
        start();
        expect_damage("", files[i].damage, files[i].words);
        assert_int_equal(member.size_bytes, 1024);
        expect_end();
    }
    ball.bytes.size_bytes = 0;
    start();
    expect_end();
}

static void ends_after_headers_about_members(void **state)
{
    (void)state;
    const size_t first = tarball_record(&ball, 'x', "path", "never");
    start();
    expect_stretch(first, ball.bytes.size_bytes - first, STK_DAMAGE_TRUNCATED);
    expect_end();
    tarball_end(&ball);
    start();
    expect_stretch(first, 1024, STK_DAMAGE_TRUNCATED);
    expect_end();
    ball.bytes.size_bytes = 1024;
    tarball_text(&ball, "short", "");
    ball.bytes.size_bytes -= 12; /* within the member's header */
    start();
    expect_stretch(first, 1524, STK_DAMAGE_TRUNCATED);
    expect_end();
    ball.bytes.size_bytes = 515; /* within its records */
    start();
    expect_stretch(first, 515, STK_DAMAGE_BAD_HEADER);
    expect_end();
    ball.bytes.size_bytes = 0;
    const size_t reaching = tarball_header(&ball, "x", 'x', 100000);
    const size_t good = tarball_text(&ball, "good", "");
    start();
    expect_stretch(reaching, good - reaching, STK_DAMAGE_BAD_HEADER);
    expect_file("good", good, 0);
    expect_end();
    ball.bytes.size_bytes = 0;
    tarball_record(&ball, 'g', "comment", "about all, and there are none");
    tarball_end(&ball);
    start();
    expect_end();
}

static void zeros_before_the_end(void **state)
{
    (void)state;
    const size_t first = tarball_text(&ball, "first", "1"), hole = ball.bytes.size_bytes;
    tarball_end(&ball);
    tarball_end(&ball);
    const size_t second = tarball_text(&ball, "second", "2"), end_at = ball.bytes.size_bytes;
    tarball_end(&ball);
    const uint8_t garbage[512] = {[500] = 1};
    tarball_data(&ball, garbage, 512);
    start();
    expect_file("first", first, 1);
    expect_stretch(hole, second - hole, STK_DAMAGE_BAD_HEADER);
    expect_file("second", second, 1);
    expect_stretch(end_at, ball.bytes.size_bytes - end_at, STK_DAMAGE_BAD_HEADER);
    expect_end();
}

static void storage_that_refuses(void **state)
{
    (void)state;
    const size_t first = tarball_text(&ball, "first", "1");
    uint8_t much[10000] = {1};
    tarball_file(&ball, "much", much, sizeof much);
    const size_t last = tarball_text(&ball, "last", "1");
    broken_from = last + 100;
    start();
    expect_file("first", first, 1);
    expect_next();
    assert_false(walk.unreadable);
    expect_stretch(last, ball.bytes.size_bytes - last, STK_DAMAGE_READ_ERROR);
    assert_true(walk.unreadable);
    expect_end();
    broken_from = 0;
    start();
    expect_stretch(0, ball.bytes.size_bytes, STK_DAMAGE_READ_ERROR);
    expect_end();
}

/* Input that is shorter than it said. */
static void input_that_shrinks(void **state)
{
    (void)state;
    const size_t first = tarball_text(&ball, "first", "1");
    const stk__tar_input input = {read_ball, &ball.bytes, 1 << 20};
    stk__tar_walk_close(&walk);
    assert_int_equal(stk__tar_walk_open(&walk, &input, NULL), STK_OK);
    expect_file("first", first, 1);
    expect_end();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sizes_that_make_no_sense),
        TEST(kinds_that_are_no_files),
        TEST(sparse_files),
        TEST(records_that_are_none),
        TEST(bombs),
        TEST(names_that_are_none),
        TEST(broken_headers_are_stretches),
        TEST(long_stretches),
        TEST(no_tar_at_all),
        TEST(ends_after_headers_about_members),
        TEST(zeros_before_the_end),
        TEST(storage_that_refuses),
        TEST(input_that_shrinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
