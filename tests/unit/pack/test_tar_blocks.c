/* SPDX-License-Identifier: Apache-2.0 */
/* Tar members written by pack: found again by the reader, names of every length, pax records, and headers
 * as POSIX has them. */
#include "pack/tar_blocks.h"
#include "source/shards/shard.h"
#include "source/shards/tar_header.h"
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCK = STK_TAR_BLOCKS_EACH_BYTES };

static char *name_of(size_t length, size_t slash)
{
    static char name[8192];
    for (size_t i = 0; i < length; i++)
        name[i] = (char)('a' + i % 26);
    name[length] = '\0';
    if (slash) name[slash] = '/';
    return name;
}

static int64_t read_memory(void *context, void *data, size_t size, uint64_t offset)
{
    const stk__buffer *tar = context;
    const size_t left = offset < tar->size_bytes ? tar->size_bytes - (size_t)offset : 0;
    const size_t size_read = size < left ? size : left;
    if (size_read) memcpy(data, tar->data + offset, size_read);
    return (int64_t)size_read;
}

/* The walker that reads shards finds the members as they were put in. */
static void check_member(const char *path, size_t size, size_t header_blocks)
{
    stk__buffer tar = {0};
    char *data = malloc(size + 1);
    memset(data, 'x', size + 1);
    assert_int_equal(stk__tar_blocks_begin(&tar, NULL), STK_OK);
    const size_t start = tar.size_bytes;
    assert_int_equal(start, 2 * BLOCK);
    assert_int_equal(stk__tar_blocks_add(&tar, path, data, size, NULL), STK_OK);
    assert_int_equal(tar.size_bytes, start + (header_blocks + (size + BLOCK - 1) / BLOCK) * BLOCK);
    assert_int_equal(stk__tar_blocks_end(&tar, NULL), STK_OK);
    const stk__tar_input input = {.read = read_memory, .context = &tar, .size_bytes = tar.size_bytes};
    stk__tar_walk walk;
    stk__tar_member member;
    assert_int_equal(stk__tar_walk_open(&walk, &input, NULL), STK_OK);
    assert_int_equal(stk__tar_walk_next(&walk, &member, NULL), STK_OK);
    assert_int_equal(member.damage, STK_DAMAGE_NONE);
    assert_int_equal(member.kind, STK_TAR_FILE);
    assert_string_equal(member.name, path);
    assert_int_equal(member.size_bytes, size);
    assert_true(walk.keys_escaped);
    assert_memory_equal(tar.data + member.offset + BLOCK, data, size);
    assert_int_equal(stk__tar_walk_next(&walk, &member, NULL), STK_END);
    stk__tar_walk_close(&walk);
    stk__buffer_fini(&tar);
    free(data);
}

static void members_are_found_again(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 511, 512, 513, 1024, 70000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check_member("cat/0001.jpg", sizes[i], 1);
}

/* Names that fit into a header, that fit when cut at a '/', and that need a record of pax. */
static void names_of_any_length(void **state)
{
    (void)state;
    check_member(name_of(1, 0), 5, 1);
    check_member(name_of(100, 0), 5, 1);
    check_member(name_of(101, 0), 5, 3);
    check_member(name_of(101, 1), 5, 1); /* prefix of one letter, name of 99 */
    check_member(name_of(101, 50), 5, 1);
    check_member(name_of(256, 155), 5, 1); /* both full */
    check_member(name_of(256, 156), 5, 3); /* prefix too long */
    check_member(name_of(256, 154), 5, 3); /* name too long */
    check_member(name_of(257, 155), 5, 3);
    check_member(name_of(300, 0), 5, 3);
    check_member(name_of(4000, 2000), 5, 2 + 8);
    check_member("\xC3\xBC/\xE2\x82\xAC.jpg", 5, 1);
}

/* The length of a record counts its own digits: all lengths around 100, 1000 and whole blocks. */
static void lengths_of_records(void **state)
{
    (void)state;
    for (size_t length = 101; length < 1100; length++) {
        const size_t record =
            length + 6 + (length + 6 + 3 > 999 ? 4 : 3); /* " path=" and "\n" are 7, less one */
        const size_t bytes = record + 1;
        check_member(name_of(length, 0), 3, 2 + (bytes + BLOCK - 1) / BLOCK);
    }
}

static void header_as_posix_has_it(void **state)
{
    (void)state;
    stk__buffer tar = {0};
    assert_int_equal(stk__tar_blocks_add(&tar, "a.cls", "7", 1, NULL), STK_OK);
    const char *head = (const char *)tar.data;
    char time[16];
    unsigned sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)head[i];
    snprintf(time, sizeof time, "%011o", STK_SHARD_TIME_S);
    assert_string_equal(head + 100, "0000644");
    assert_string_equal(head + 108, "0000000");
    assert_string_equal(head + 116, "0000000");
    assert_string_equal(head + 124, "00000000001");
    assert_string_equal(head + 136, time);
    assert_int_equal(strtoul(head + 148, NULL, 8), sum);
    assert_int_equal(head[154], '\0');
    assert_int_equal(head[155], ' ');
    assert_int_equal(head[156], '0');
    assert_memory_equal(head + 257,
                        "ustar\0"
                        "00",
                        8);
    assert_string_equal(head + 265, "");
    assert_string_equal(head + 297, "");
    assert_int_equal(head[BLOCK], '7');
    for (int i = BLOCK + 1; i < 2 * BLOCK; i++)
        assert_int_equal(head[i], 0);
    stk__buffer_fini(&tar);
}

static stk_status write_all(void *context, stk_error *error)
{
    (void)context;
    stk__buffer tar = {0};
    static const char data[3000];
    stk_status status = stk__tar_blocks_begin(&tar, error);
    if (status == STK_OK) status = stk__tar_blocks_add(&tar, name_of(300, 0), data, sizeof data, error);
    if (status == STK_OK) status = stk__tar_blocks_end(&tar, error);
    stk__buffer_fini(&tar);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(write_all, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_again), cmocka_unit_test(names_of_any_length),
        cmocka_unit_test(lengths_of_records),      cmocka_unit_test(header_as_posix_has_it),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
