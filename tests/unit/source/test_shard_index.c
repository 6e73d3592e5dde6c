/* SPDX-License-Identifier: Apache-2.0 */
/* Building shard indexes: which members make a sample, what is wrong with it, and indexes that are damaged
 * or forged with a valid checksum. */
#include "source/extension.h"
#include "source/shards/shard.h"
#include "source/shards/shard_facts.h"
#include "source/shards/shard_name.h"

#include "support/fail_alloc.h"
#include "support/tarball.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static tarball ball;
static stk__buffer bytes;
static stk__shard_index idx;
static bool lasting;
static uint64_t broken_from; /* reads that reach beyond fail */

static int begin(void **state)
{
    (void)state;
    ball = (tarball){0};
    bytes = (stk__buffer){0};
    broken_from = UINT64_MAX;
    return 0;
}

static int end(void **state)
{
    (void)state;
    tarball_clear(&ball);
    stk__buffer_fini(&bytes);
    return 0;
}

static int64_t read_ball(void *context, void *data, size_t size, uint64_t offset)
{
    const stk__buffer *from = context;
    if (offset + size > broken_from) return -EIO;
    if (offset >= from->size_bytes) return 0;
    if (size > from->size_bytes - offset) size = from->size_bytes - (size_t)offset;
    memcpy(data, from->data + offset, size);
    return (int64_t)size;
}

static stk_status build_ball(stk_error *error)
{
    const stk__tar_input input = {read_ball, &ball.bytes, ball.bytes.size_bytes};
    const stk__shard_stamp stamp = {.size_bytes = ball.bytes.size_bytes, .time_s = 7, .time_ns = 8};
    return stk__shard_build(&input, stamp, &bytes, &lasting, error);
}

static void build(uint32_t count)
{
    assert_int_equal(build_ball(NULL), STK_OK);
    const char *fault = stk__shard_index_decode(&bytes, &idx);
    if (fault) print_error("%s\n", fault);
    assert_null(fault);
    assert_int_equal(idx.count, count);
    assert_int_equal(idx.stamp.time_s, 7);
}

static const char *key_of(uint32_t sample)
{
    const char *key = idx.keys;
    while (sample--)
        key += strlen(key) + 1;
    return key;
}

static void check_sample(uint32_t i, const char *key, size_t image, const char *extension)
{
    assert_string_equal(key_of(i), key);
    assert_int_equal(idx.codes[i].has & STK_SHARD_BAD, 0);
    assert_int_equal(idx.images[i].offset, image);
    assert_int_equal(idx.images[i].check, stk__tar_check(ball.bytes.data + image));
    assert_string_equal(stk__extension_name(idx.codes[i].image), extension);
}

static void check_flaw(uint32_t sample, const char *key, stk_damage damage, const char *words)
{
    assert_string_equal(key_of(sample), key);
    assert_true(idx.codes[sample].has & STK_SHARD_BAD);
    for (uint32_t i = 0; i < idx.flaw_count; i++) {
        const stk__shard_flaw *flaw = &idx.flaws[i];
        if (flaw->sample != sample) continue;
        assert_string_equal(idx.texts + flaw->word, stk_damage_name(damage));
        if (!strstr(idx.texts + flaw->detail, words))
            print_error("unexpected: %s\n", idx.texts + flaw->detail);
        assert_non_null(strstr(idx.texts + flaw->detail, words));
        return;
    }
    fail_msg("no flaw");
}

static void fields_make_samples(void **state)
{
    (void)state;
    tarball_header(&ball, "./", '5', 0);
    const size_t one = tarball_text(&ball, "./a/1.jpg", "x");
    const size_t mask = tarball_text(&ball, "./a/1.mask.png", "yy");
    tarball_text(&ball, "a//1.cls", " 7\n");
    tarball_text(&ball, "a/1.json", "{}");
    tarball_text(&ball, "a/README", "no dot, no field");
    tarball_text(&ball, "a/._1.jpg", "hidden");
    const size_t seg = tarball_text(&ball, "/b.d/2.Seg.NPY", "z");
    const size_t two = tarball_text(&ball, "b.d/2.JPEG", "");
    const size_t beside = tarball_text(&ball, "c.PNG", "m"), three = tarball_text(&ball, "c.Jpg", "x");
    const size_t four = tarball_text(&ball, "d.npy", "x");
    tarball_text(&ball, "d.points.json", "[[1, 2.5, 1], [3, 4], null, [5, 6, false], [7, 8, 0]]");
    tarball_end(&ball);
    build(4);
    assert_true(lasting);
    assert_false(idx.keys_escaped);
    assert_int_equal(idx.flaw_count, 0);
    check_sample(0, "a/1", one, "jpg");
    check_sample(1, "b.d/2", two, "jpeg");
    check_sample(2, "c", three, "jpg");
    check_sample(3, "d", four, "npy");
    assert_int_equal(idx.masks[0].offset, mask);
    assert_int_equal(idx.masks[0].size_bytes, 2);
    assert_int_equal(idx.masks[1].offset, seg);
    assert_int_equal(idx.masks[2].offset, beside);
    assert_int_equal(idx.codes[3].mask, STK_EXTENSION_NONE);
    assert_int_equal(idx.codes[0].has, STK_SHARD_HAS_CLASS);
    assert_true(idx.labels[0] == 7);
    assert_int_equal(idx.point_counts[2], 0);
    assert_int_equal(idx.point_counts[3], 5);
    const float points[] = {1, 2.5f, 1, 3, 4, 1, 0, 0, 0, 5, 6, 0, 7, 8, 0};
    assert_memory_equal(idx.points, points, sizeof points);
    char name[64];
    stk__shard_name_join("a/1", idx.codes[0].mask, false, name, sizeof name);
    assert_string_equal(name, "a/1.mask.png");
    stk__shard_name_join("b.d/2", idx.codes[1].mask, true, name, sizeof name);
    assert_string_equal(name, "b%2Ed/2.seg.NPY");
    stk__shard_name_join("c", idx.codes[2].mask, false, name, sizeof name);
    assert_string_equal(name, "c.PNG");
    stk__shard_name_join("a.long.name", idx.codes[2].mask, true, name, 8);
    assert_true(strlen(name) < 8);
}

static void parts_that_no_sample_has(void **state)
{
    (void)state;
    tarball_text(&ball, "a.png", "x");
    tarball_text(&ball, "b.png", "x");
    tarball_text(&ball, "b.value", "1e3");
    build(2);
    assert_null(idx.masks);
    assert_null(idx.point_counts);
    assert_int_equal(idx.codes[0].has, 0);
    assert_int_equal(idx.codes[1].has, STK_SHARD_HAS_VALUE);
    assert_true(idx.labels[1] == 1000);
    ball.bytes.size_bytes = 0;
    tarball_end(&ball);
    build(0);
}

static void escaped_keys(void **state)
{
    (void)state;
    tarball_record(&ball, 'g', STK_SHARD_KEYS_RECORD, STK_SHARD_KEYS_ESCAPED);
    tarball_text(&ball, "a%2Eb/c%25%2E.jpg", "x");
    tarball_text(&ball, "bad%2e.jpg", "x");
    tarball_text(&ball, "end%.jpg", "x");
    tarball_end(&ball);
    build(3);
    assert_true(idx.keys_escaped);
    check_sample(0, "a.b/c%.", 1024, "jpg");
    check_flaw(1, "bad%2e", STK_DAMAGE_BAD_NAME, "'%'");
    check_flaw(2, "end%", STK_DAMAGE_BAD_NAME, "'%'");
}

/* Two members of one sample: the second is what is wrong. */
static void flaws_of_fields(void **state)
{
    (void)state;
    static const struct {
        const char *first, *text, *second, *second_text;
        stk_damage damage;
        const char *words;
    } cases[] = {
        {"s.jpg", "x", "s.jpg", "y", STK_DAMAGE_FIELD_TWICE, "duplicate"},
        {"s.jpg", "x", "s.JPG", "y", STK_DAMAGE_FIELD_TWICE, "duplicate"},
        {"s.jpg", "x", "s.jpeg", "y", STK_DAMAGE_FIELD_TWICE, "two images"},
        {"s.npy", "x", "s.png", "y", STK_DAMAGE_FIELD_TWICE, "two images"},
        {"s.cls", "1", "s.cls", "1", STK_DAMAGE_FIELD_TWICE, "duplicate"},
        {"s.mask.png", "1", "s.seg.png", "1", STK_DAMAGE_FIELD_TWICE, "duplicate"},
        {"s.cls", "1", "s.value", "1", STK_DAMAGE_BAD_FIELD, "exclude each other"},
        {"s.jpg", "x", "s.cls", "", STK_DAMAGE_BAD_FIELD, "not an integer"},
        {"s.jpg", "x", "s.cls", "cat", STK_DAMAGE_BAD_FIELD, "'cat', which is not an integer"},
        {"s.jpg", "x", "s.cls", "-1", STK_DAMAGE_BAD_FIELD, "which is not a class"},
        {"s.jpg", "x", "s.cls", "2147483647", STK_DAMAGE_BAD_FIELD, "which is not a class"},
        {"s.jpg", "x", "s.cls", "                                                                 1",
         STK_DAMAGE_BAD_FIELD, "a field of 66 bytes, the maximum is 64"},
        {"s.jpg", "x", "s.value", "x", STK_DAMAGE_BAD_FIELD, "which is not a number"},
        {"s.jpg", "x", "s.value", "nan", STK_DAMAGE_BAD_VALUES, "'nan'"},
        {"s.jpg", "x", "s.value", "1e39", STK_DAMAGE_BAD_VALUES, "'1e39'"}, /* labels have 32 bits */
        {"s.jpg", "x", "s.points.json", "[[1,2]", STK_DAMAGE_BAD_FIELD, "not valid JSON"},
        {"s.jpg", "x", "s.points.json", "[]", STK_DAMAGE_BAD_FIELD, "not a list of points"},
        {"s.jpg", "x", "s.points.json", "{\"a\": 1}", STK_DAMAGE_BAD_FIELD, "not a list of points"},
        {"s.jpg", "x", "s.points.json", "[[1,2],[1]]", STK_DAMAGE_BAD_FIELD, "point 1 "},
        {"s.jpg", "x", "s.points.json", "[[1,2,3,4]]", STK_DAMAGE_BAD_FIELD, "point 0 "},
        {"s.jpg", "x", "s.points.json", "[[1,2,\"x\"]]", STK_DAMAGE_BAD_FIELD, "point 0 "},
        {"s.jpg", "x", "s.points.json", "[[1e300,2]]", STK_DAMAGE_BAD_FIELD, "point 0 "},
        {"s.txt", "x", "s.webp", "x", STK_DAMAGE_NO_IMAGE, "but one is 'txt'"},
        {"s.cls", "1", "s.mask.png", "x", STK_DAMAGE_NO_IMAGE, "no field is jpg"},
        {"../s.jpg", "1", "../s.cls", "1", STK_DAMAGE_BAD_NAME, "leaves the data set"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ball.bytes.size_bytes = 0;
        tarball_text(&ball, "a.jpg", "x");
        tarball_text(&ball, "a.points.json", "[[1,2]]");
        tarball_text(&ball, cases[i].first, cases[i].text);
        tarball_text(&ball, cases[i].second, cases[i].second_text);
        const size_t last = tarball_text(&ball, "z.jpg", "x");
        tarball_text(&ball, "z.points.json", "[[3,4]]");
        build(3);
        check_sample(0, "a", 0, "jpg");
        check_flaw(1, cases[i].first[0] == '.' ? "../s" : "s", cases[i].damage, cases[i].words);
        check_sample(2, "z", last, "jpg");
        assert_int_equal(idx.point_counts[2], 1);
        assert_true(idx.points[3] == 3); /* those of bad samples are gone */
    }
}

static void three_plain_fields(void **state)
{
    (void)state;
    tarball_text(&ball, "a.jpg", "x");
    tarball_text(&ball, "a.png", "x");
    tarball_text(&ball, "a.npy", "x");
    tarball_text(&ball, "b.png", "x");
    tarball_text(&ball, "b.mask.png", "x");
    tarball_text(&ball, "b.jpg", "x");
    build(2);
    check_flaw(0, "a", STK_DAMAGE_FIELD_TWICE, "duplicate");
    check_flaw(1, "b", STK_DAMAGE_FIELD_TWICE, "two masks: 'png'");
}

/* The sample goes on behind what cannot be read. */
static void stretches_are_samples(void **state)
{
    (void)state;
    tarball_text(&ball, "a.jpg", "x");
    tarball_text(&ball, "a.points.json", "[[1,2]]");
    const size_t broken = tarball_text(&ball, "a.json", "x");
    ball.bytes.data[broken] ^= 1;
    tarball_text(&ball, "a.cls", "3");
    const size_t other = tarball_text(&ball, "b.jpg", "x");
    build(3);
    char key[32];
    snprintf(key, sizeof key, "@%zu", broken);
    check_flaw(0, key, STK_DAMAGE_BAD_CHECKSUM, "checksum");
    assert_true(idx.codes[0].has & STK_SHARD_NAMELESS);
    check_sample(1, "a", 0, "jpg");
    assert_int_equal(idx.point_counts[1], 1);
    assert_true(idx.labels[1] == 3);
    check_sample(2, "b", other, "jpg");
}

static void damaged_members_spoil_their_samples(void **state)
{
    (void)state;
    tarball_text(&ball, "a.jpg", "x");
    tarball_header(&ball, "a.json", '2', 0); /* a link, be it of a field that is not used */
    tarball_header(&ball, "link", '2', 0);   /* of no sample */
    tarball_header(&ball, ".hidden.jpg", '2', 0);
    tarball_text(&ball, "\xFF", "no field, and no name for one");
    tarball_text(&ball, "b\xFF.jpg", "x");
    tarball_text(&ball, "b\xFF.cls", "1");
    tarball_text(&ball, "", "");
    const size_t cut = tarball_header(&ball, "README", '0', 10);
    build(4);
    check_flaw(0, "a", STK_DAMAGE_MEMBER_KIND, "symbolic link");
    check_flaw(1, "@5632", STK_DAMAGE_BAD_NAME, "without a name");
    check_flaw(3, "b\xFF", STK_DAMAGE_BAD_NAME, "UTF-8"); /* it was not over yet */
    char key[32];
    snprintf(key, sizeof key, "@%zu", cut);
    check_flaw(2, key, STK_DAMAGE_TRUNCATED, "after 0 of 10");
}

static void scattered_members(void **state)
{
    (void)state;
    tarball_text(&ball, "a.jpg", "x");
    tarball_text(&ball, "a.points.json", "[[1,2]]");
    tarball_text(&ball, "b.jpg", "x");
    tarball_text(&ball, "b.points.json", "[[3,4]]");
    tarball_text(&ball, "c.webp", "x");
    const size_t second = tarball_text(&ball, "a.cls", "1");
    const size_t d = tarball_text(&ball, "d.jpg", "x");
    tarball_text(&ball, "d.points.json", "[[5,6]]");
    tarball_text(&ball, "c.jpg", "x");
    tarball_text(&ball, "e.txt", "x");
    tarball_text(&ball, "a.txt", "1");
    build(5);
    check_flaw(0, "a", STK_DAMAGE_SCATTERED, "at offset 0 and again at");
    assert_int_equal(idx.flaws[0].offset, second);
    check_sample(1, "b", 2048, "jpg");
    check_flaw(2, "c", STK_DAMAGE_NO_IMAGE, "webp"); /* its own damage was there first */
    check_sample(3, "d", d, "jpg");
    check_flaw(4, "e", STK_DAMAGE_NO_IMAGE, "txt");
    const uint32_t counts[] = {0, 1, 0, 1, 0};
    assert_memory_equal(idx.point_counts, counts, sizeof counts);
    assert_true(idx.points[0] == 3 && idx.points[3] == 5);
}

static void members_of_4_gib(void **state)
{
    (void)state;
    const size_t at = tarball_header(&ball, "a.jpg", '0', UINT64_C(1) << 32);
    const stk__tar_input input = {read_ball, &ball.bytes, at + 512 + (UINT64_C(1) << 32)};
    const stk__shard_stamp stamp = {.size_bytes = input.size_bytes};
    assert_int_equal(stk__shard_build(&input, stamp, &bytes, &lasting, NULL), STK_OK);
    assert_null(stk__shard_index_decode(&bytes, &idx));
    assert_int_equal(idx.count, 1);
    check_flaw(0, "a", STK_DAMAGE_TOO_MANY_BYTES, "4294967295");
}

static void storage_that_refuses(void **state)
{
    (void)state;
    uint8_t much[20000] = {1};
    tarball_text(&ball, "a.jpg", "x");
    tarball_file(&ball, "b.jpg", much, sizeof much);
    const size_t last = tarball_text(&ball, "c.jpg", "x");
    broken_from = last;
    build(3);
    assert_false(lasting);
    char key[32];
    snprintf(key, sizeof key, "@%zu", last);
    check_flaw(1, key, STK_DAMAGE_READ_ERROR, "Input/output error");
    ball.bytes.size_bytes = 0;
    tarball_text(&ball, "a.jpg", "x");
    char points[9000];
    memset(points, ' ', sizeof points);
    points[0] = '[';
    tarball_file(&ball, "a.points.json", points, sizeof points);
    broken_from = 8000;
    build(2);
    assert_false(lasting);
    check_flaw(0, "@10752", STK_DAMAGE_READ_ERROR, "");
    check_flaw(1, "a", STK_DAMAGE_READ_ERROR, "cannot be read");
}

static void empty_shards(void **state)
{
    (void)state;
    build(1);
    check_flaw(0, "@0", STK_DAMAGE_EMPTY, "empty");
}

static void make_rich_ball(void)
{
    tarball_record(&ball, 'x', "path", "a.jpg");
    tarball_text(&ball, "short", "x");
    tarball_text(&ball, "a.png", "x");
    tarball_text(&ball, "a.cls", "1");
    tarball_text(&ball, "a.points.json", "[[1,2]]");
    tarball_text(&ball, "b.webp", "x");
    tarball_text(&ball, "c.jpg", "x");
    tarball_text(&ball, "a.json", "x");
    tarball_header(&ball, "", '0', 10);
}

static stk_status build_once(void *context, stk_error *error)
{
    (void)context;
    const stk_status status = build_ball(error);
    stk__buffer_fini(&bytes);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    make_rich_ball();
    stk__free(NULL);
    assert_true(fail_alloc_each(build_once, NULL) > 15);
}

static void damaged_indexes_are_refused(void **state)
{
    (void)state;
    make_rich_ball();
    build(4);
    stk__buffer copy = {0};
    assert_int_equal(stk__buffer_append(&copy, bytes.data, bytes.size_bytes, NULL), STK_OK);
    for (size_t i = 0; i < copy.size_bytes; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            copy.data[i] ^= (uint8_t)(1 << bit);
            assert_non_null(stk__shard_index_decode(&copy, &idx));
            copy.data[i] ^= (uint8_t)(1 << bit);
        }
    for (size_t size = copy.size_bytes; size-- > 0;) {
        copy.size_bytes = size;
        assert_non_null(stk__shard_index_decode(&copy, &idx));
    }
    stk__buffer_fini(&copy);
}

enum { HEAD_BYTES = 104, DIGEST_AT = HEAD_BYTES - 16 };

/* Makes the checksum right again, as an attacker would. */
static void seal(stk__buffer *index)
{
    uint8_t head[HEAD_BYTES];
    memcpy(head, index->data, sizeof head);
    memset(head + DIGEST_AT, 0, 16);
    const stk__digest parts[2] = {stk__digest_of(head, sizeof head),
                                  stk__digest_of(index->data + HEAD_BYTES, index->size_bytes - HEAD_BYTES)};
    const stk__digest whole = stk__digest_of(parts, sizeof parts);
    memcpy(index->data + DIGEST_AT, &whole, sizeof whole);
}

/* Every byte wrong in several ways, the checksum right: refused, or harmless. */
static void forged_indexes_do_no_harm(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};
    make_rich_ball();
    build(4);
    seal(&bytes);
    assert_null(stk__shard_index_decode(&bytes, &idx));
    stk__buffer copy = {0};
    int refused = 0, taken = 0;
    for (size_t i = 0; i < bytes.size_bytes; i++)
        for (size_t v = 0; v < sizeof values; v++) {
            copy.size_bytes = 0;
            assert_int_equal(stk__buffer_append(&copy, bytes.data, bytes.size_bytes, NULL), STK_OK);
            copy.data[i] = values[v];
            seal(&copy);
            const char *fault = stk__shard_index_decode(&copy, &idx);
            refused += fault != NULL;
            taken += fault == NULL;
            for (uint32_t s = 0; !fault && s < idx.count; s++) {
                assert_true(*key_of(s) != '\0');
                if (idx.codes[s].image == STK_EXTENSION_NONE) continue;
                assert_true(idx.images[s].offset + 512 + idx.images[s].size_bytes <= idx.stamp.size_bytes);
                stk__extension_name(idx.codes[s].image);
            }
            for (uint32_t f = 0; !fault && f < idx.flaw_count; f++)
                assert_true(strlen(idx.texts + idx.flaws[f].detail) < 200);
        }
    assert_true(refused > 500 && taken > 100);
    stk__buffer_fini(&copy);
}

static void forged_points_are_refused(void **state)
{
    (void)state;
    const float strange = NAN;
    tarball_text(&ball, "a.jpg", "x");
    tarball_text(&ball, "a.points.json", "[[1,2]]");
    build(1);
    memcpy(bytes.data + ((const uint8_t *)idx.points - bytes.data), &strange, sizeof strange);
    seal(&bytes);
    assert_non_null(stk__shard_index_decode(&bytes, &idx));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fields_make_samples),
        TEST(parts_that_no_sample_has),
        TEST(escaped_keys),
        TEST(flaws_of_fields),
        TEST(three_plain_fields),
        TEST(stretches_are_samples),
        TEST(damaged_members_spoil_their_samples),
        TEST(scattered_members),
        TEST(members_of_4_gib),
        TEST(storage_that_refuses),
        TEST(empty_shards),
        TEST(memory_runs_out),
        TEST(damaged_indexes_are_refused),
        TEST(forged_indexes_do_no_harm),
        TEST(forged_points_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
