/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds for the fuzzers of tar files and shard indexes: plain ones, long names in every dialect, and
 * damaged ones. */
#include "fuzz_seeds.h"

#include "source/shards/shard.h"
#include "support/tarball.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int64_t read_ball(void *context, void *data, size_t size, uint64_t offset)
{
    const stk__buffer *bytes = context;
    if (offset >= bytes->size_bytes) return 0;
    if (size > bytes->size_bytes - offset) size = bytes->size_bytes - (size_t)offset;
    memcpy(data, bytes->data + offset, size);
    return (int64_t)size;
}

/* The shard, and its index. */
static void put(const char *name, tarball *ball)
{
    char index[64];
    bool lasting;
    stk__buffer bytes = {0};
    tarball_end(ball);
    const stk__tar_input input = {
        .read = read_ball, .context = &ball->bytes, .size_bytes = ball->bytes.size_bytes};
    const stk__shard_stamp stamp = {.size_bytes = ball->bytes.size_bytes, .time_s = STK_SHARD_TIME_S};
    assert_int_equal(stk__shard_build(&input, stamp, &bytes, &lasting, NULL), STK_OK);
    snprintf(index, sizeof index, "%s.index", name);
    fuzz_seed("tar", name, ball->bytes.data, ball->bytes.size_bytes);
    fuzz_seed("tar", index, bytes.data, bytes.size_bytes);
    stk__buffer_fini(&bytes);
    tarball_clear(ball);
}

static void make_plain(void)
{
    tarball ball = {0};
    tarball_text(&ball, "a.jpg", "jpeg");
    tarball_text(&ball, "a.mask.png", "png");
    tarball_text(&ball, "a.cls", "3\n");
    tarball_text(&ball, "a.points.json", "[[1.5, 2, 1], [3, 4]]");
    tarball_text(&ball, "b/c.JPG", "another");
    tarball_text(&ball, "b/c.png", "mask");
    tarball_text(&ball, "b/c.cls", "0");
    tarball_text(&ball, "b/c.points.json", "[null, [3, 4, 0]]");
    put("plain", &ball);
    tarball_text(&ball, "a.npy", "npy");
    tarball_text(&ball, "a.value", " -1.5e3 ");
    tarball_text(&ball, "b.npy", "npy");
    tarball_text(&ball, "b.value", "7");
    tarball_text(&ball, "readme", "no dot");
    tarball_header(&ball, "folder/", '5', 0);
    put("values", &ball);
}

static void make_long_names(void)
{
    tarball ball = {0};
    char name[201] = "";
    memset(name, 'n', 150);
    strcat(name, ".jpg");
    tarball_record(&ball, 'g', STK_SHARD_KEYS_RECORD, STK_SHARD_KEYS_ESCAPED);
    tarball_text(&ball, "x%2Ey%25.jpg", "escaped");
    tarball_record(&ball, 'x', "path", name);
    tarball_text(&ball, "short", "pax");
    tarball_record(&ball, 'x', "size", "4");
    tarball_text(&ball, "s.jpg", "size");
    tarball_long_name(&ball, 'L', "gnu/h\xc3\xa4.jpg");
    tarball_text(&ball, "short", "gnu");
    put("names", &ball);
}

static void make_damaged(void)
{
    tarball ball = {0};
    tarball_header(&ball, "link.jpg", '2', 0);
    tarball_header(&ball, "pipe.jpg", '6', 0);
    tarball_record(&ball, 'x', "GNU.sparse.major", "1");
    tarball_text(&ball, "sparse.jpg", "1\n0\n4\n");
    tarball_text(&ball, "a.jpg", "first");
    tarball_text(&ball, "b.jpg", "between");
    tarball_text(&ball, "a.jpg", "again");
    tarball_text(&ball, "b.cls", "-3");
    tarball_text(&ball, "../c.jpg", "up");
    put("damaged", &ball);
    tarball_text(&ball, "a.jpg", "good");
    const size_t header = tarball_text(&ball, "b.jpg", "bad sum");
    ball.bytes.data[header] ^= 1;
    tarball_text(&ball, "c.jpg", "good");
    tarball_records(&ball, 'x', "5 a=b\n7 wrong\n");
    tarball_text(&ball, "d.jpg", "bad record");
    tarball_header(&ball, "e.jpg", '0', 9999);
    put("broken", &ball);
}

void fuzz_seed_shards(void)
{
    make_plain();
    make_long_names();
    make_damaged();
}
