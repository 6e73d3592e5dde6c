/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the walker: a tar file in memory, and what is expected of its members. */
#ifndef TEST_TAR_WALK_H
#define TEST_TAR_WALK_H

#include "source/shards/tar.h"

#include "support/fail_alloc.h"
#include "support/tarball.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static tarball ball;
static stk__tar_walk walk;
static stk__tar_member member;
static uint64_t broken_from; /* reads that reach beyond fail */

static int begin(void **state)
{
    (void)state;
    ball = (tarball){0};
    broken_from = UINT64_MAX;
    return 0;
}

static int end(void **state)
{
    (void)state;
    tarball_clear(&ball);
    stk__tar_walk_close(&walk);
    return 0;
}

static inline int64_t read_ball(void *context, void *data, size_t size, uint64_t offset)
{
    const stk__buffer *bytes = context;
    if (offset + size > broken_from) return -EIO;
    if (offset >= bytes->size_bytes) return 0;
    if (size > bytes->size_bytes - offset) size = bytes->size_bytes - (size_t)offset;
    memcpy(data, bytes->data + offset, size);
    return (int64_t)size;
}

static inline void start(void)
{
    const stk__tar_input input = {read_ball, &ball.bytes, ball.bytes.size_bytes};
    stk__tar_walk_close(&walk);
    assert_int_equal(stk__tar_walk_open(&walk, &input, NULL), STK_OK);
}

static inline void expect_next(void)
{
    assert_int_equal(stk__tar_walk_next(&walk, &member, NULL), STK_OK);
}

static inline void expect_file(const char *name, uint64_t offset, uint64_t size)
{
    expect_next();
    if (member.damage != STK_DAMAGE_NONE) print_error("%s\n", member.detail);
    assert_int_equal(member.damage, STK_DAMAGE_NONE);
    assert_int_equal(member.kind, STK_TAR_FILE);
    assert_string_equal(member.name, name);
    assert_int_equal(member.name_length, strlen(name));
    assert_int_equal(member.offset, offset);
    assert_int_equal(member.size_bytes, size);
    assert_int_equal(member.check, stk__tar_check(ball.bytes.data + offset));
}

static inline void expect_damage(const char *name, stk_damage damage, const char *words)
{
    expect_next();
    assert_string_equal(stk_damage_name(member.damage), stk_damage_name(damage));
    if (!strstr(member.detail, words)) print_error("unexpected: %s\n", member.detail);
    assert_non_null(strstr(member.detail, words));
    assert_string_equal(member.name, name);
    assert_int_equal(member.name_length, strlen(name));
}

static inline void expect_stretch(uint64_t offset, uint64_t size, stk_damage damage)
{
    expect_damage("", damage, "");
    assert_int_equal(member.kind, STK_TAR_STRETCH);
    assert_int_equal(member.offset, offset);
    assert_int_equal(member.size_bytes, size);
}

static inline void expect_end(void)
{
    assert_int_equal(stk__tar_walk_next(&walk, &member, NULL), STK_END);
    assert_int_equal(stk__tar_walk_next(&walk, &member, NULL), STK_END);
}

#endif
