/* SPDX-License-Identifier: Apache-2.0 */
/* Shards with one damaged sample: cut, wrong checksums and sizes, forbidden members, misleading names,
 * stale or foreign indexes. */
#include "loader/damage_tar.h"

#include "loader/damage_bytes.h"
#include "loader/damage_operators.h"
#include "source/shards/shard.h"
#include "support/tarball.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { GOOD = DAMAGE_SAMPLES - 1 };

static tarball ball;

static size_t add_jpeg(const char *name, uint32_t seed)
{
    stk__buffer bytes = {0};
    damage_good_jpeg(&bytes, seed);
    const size_t at = tarball_file(&ball, name, bytes.data, bytes.size_bytes);
    stk__buffer_fini(&bytes);
    return at;
}

static void add_good(int number)
{
    char name[32];
    snprintf(name, sizeof name, "%02d.jpg", number);
    add_jpeg(name, (uint32_t)number);
    snprintf(name, sizeof name, "%02d.cls", number);
    tarball_text(&ball, name, "1");
}

/* The jpeg of the damaged sample; returns the offset of its header. */
static size_t add_image(void)
{
    return add_jpeg("07x.jpg", GOOD);
}

static void add_class(void)
{
    tarball_text(&ball, "07x.cls", "1");
}

static void write_ball(const char *path)
{
    tarball_write(&ball, path);
    tarball_clear(&ball);
}

static void write_with_good(const char *path)
{
    add_good(GOOD - 1);
    tarball_end(&ball);
    write_ball(path);
}

/* b.tar as it is, the good sample into a shard of its own. */
static void write_alone(const char *path)
{
    char other[PATH_MAX];
    write_ball(path);
    snprintf(other, sizeof other, "%s", path);
    strcpy(strrchr(other, '/'), "/d.tar");
    write_with_good(other);
}

void tar_build(const char *folder)
{
    char path[PATH_MAX];
    for (int i = 0; i < GOOD - 1; i++)
        add_good(i);
    tarball_end(&ball);
    snprintf(path, sizeof path, "%s/a.tar", folder);
    write_ball(path);
}

void tar_clear(const char *folder)
{
    static const char *const names[] = {"b.tar", "d.tar", "a.tar.index", "b.tar.index", "d.tar.index"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path); /* may have vanished */
    }
    tarball_clear(&ball); /* of a test that was broken off */
}

void tar_cut_in_data(const char *path)
{
    ball.bytes.size_bytes = add_image() + 512 + 100;
    write_alone(path);
}

void tar_cut_in_header(const char *path)
{
    ball.bytes.size_bytes = add_image() + 100;
    write_alone(path);
}

void tar_cut_in_padding(const char *path)
{
    add_good(GOOD - 1);
    ball.bytes.size_bytes -= 100;
    write_ball(path);
}

void tar_cut_behind_member(const char *path)
{
    tarball_record(&ball, 'g', STK_SHARD_KEYS_RECORD, STK_SHARD_KEYS_ESCAPED);
    add_good(GOOD - 1);
    write_ball(path);
}

void tar_bad_checksum(const char *path)
{
    const size_t at = add_image();
    ball.bytes.data[at] ^= 1;
    write_with_good(path);
}

static void set_size_field(const char *path, const char *field)
{
    const size_t at = add_image();
    memcpy(ball.bytes.data + at + 124, field, 12);
    tarball_sum(&ball, at);
    write_with_good(path);
}

void tar_negative_size(const char *path)
{
    set_size_field(path, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00");
}

void tar_absurd_size(const char *path)
{
    set_size_field(path, "77777777777");
}

void tar_size_of_words(const char *path)
{
    set_size_field(path, "hundred\0\0\0\0");
}

void tar_hole(const char *path)
{
    add_image();
    memset(ball.bytes.data, 0, ball.bytes.size_bytes);
    write_with_good(path);
}

void tar_garbage_behind(const char *path)
{
    tarball_end(&ball);
    tarball_data(&ball, "something else", 14);
    write_alone(path);
}

void tar_empty(const char *path)
{
    write_alone(path);
}

void tar_compressed(const char *path)
{
    tarball_data(&ball, "\x1F\x8B\x08", 3);
    write_alone(path);
}

void tar_text_file(const char *path)
{
    tarball_data(&ball, "this is no shard", 16);
    write_alone(path);
}

static void write_kind(const char *path, char type)
{
    tarball_header(&ball, "07x.jpg", type, 0);
    add_class();
    write_with_good(path);
}

void tar_symbolic_link(const char *path)
{
    write_kind(path, '2');
}

void tar_hard_link(const char *path)
{
    write_kind(path, '1');
}

void tar_device(const char *path)
{
    write_kind(path, '3');
}

void tar_pipe(const char *path)
{
    write_kind(path, '6');
}

void tar_sparse(const char *path)
{
    write_kind(path, 'S');
}

void tar_sparse_pax(const char *path)
{
    tarball_record(&ball, 'x', "GNU.sparse.name", "07x.jpg");
    add_jpeg("GNUSparseFile.1/07x.jpg", 1);
    write_with_good(path);
}

void tar_pax_bomb(const char *path)
{
    static const uint8_t block[512];
    const size_t size = (1 << 20) + 512;
    tarball_header(&ball, "PaxHeaders/07x.jpg", 'x', size);
    for (size_t i = 0; i < size; i += sizeof block)
        tarball_data(&ball, block, sizeof block);
    add_image();
    add_class();
    write_with_good(path);
}

void tar_pax_malformed(const char *path)
{
    tarball_records(&ball, 'x', "11 path=07x");
    add_image();
    write_with_good(path);
}

void tar_pax_size(const char *path)
{
    tarball_record(&ball, 'x', "size", "-1");
    add_image();
    write_with_good(path);
}

void tar_long_name(const char *path)
{
    char name[STK_TAR_NAME_BYTES + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    tarball_long_name(&ball, 'L', name);
    add_image();
    write_with_good(path);
}

void tar_not_utf8(const char *path)
{
    add_jpeg("07x\xFF.jpg", 1);
    write_with_good(path);
}

void tar_upwards(const char *path)
{
    add_jpeg("07/../x.jpg", 1);
    write_with_good(path);
}

void tar_wrong_escape(const char *path)
{
    tarball_record(&ball, 'g', STK_SHARD_KEYS_RECORD, STK_SHARD_KEYS_ESCAPED);
    add_jpeg("07%2Fx.jpg", 1);
    write_with_good(path);
}

void tar_twice(const char *path)
{
    add_image();
    add_class();
    add_image();
    write_with_good(path);
}

void tar_two_images(const char *path)
{
    add_image();
    add_jpeg("07x.jpeg", 1);
    write_with_good(path);
}

void tar_interleaved(const char *path)
{
    add_image();
    add_good(GOOD - 1);
    add_class();
    tarball_end(&ball);
    write_ball(path);
}

void tar_without_image(const char *path)
{
    tarball_text(&ball, "07x.webp", "RIFF");
    add_class();
    write_with_good(path);
}

void tar_class_of_words(const char *path)
{
    add_image();
    tarball_text(&ball, "07x.cls", "cat");
    write_with_good(path);
}

void tar_without_class(const char *path)
{
    add_image();
    write_with_good(path);
}

void tar_empty_image(const char *path)
{
    tarball_text(&ball, "07x.jpg", "");
    add_class();
    write_with_good(path);
}

void tar_cut_image(const char *path)
{
    stk__buffer bytes = {0};
    make_jpeg_cut(&bytes, 50);
    tarball_file(&ball, "07x.jpg", bytes.data, bytes.size_bytes);
    stk__buffer_fini(&bytes);
    add_class();
    write_with_good(path);
}

void tar_large_image(const char *path)
{
    static const uint8_t zeros[DAMAGE_LIMIT_BYTES + 1];
    tarball_file(&ball, "07x.jpg", zeros, sizeof zeros);
    add_class();
    write_with_good(path);
}

/* As a loader does that finds none. */
static void store_index(const char *path)
{
    stk__buffer bytes = {0};
    stk__shard_index index;
    stk__shard_origin origin;
    assert_int_equal(stk__shard_index_get(path, &bytes, &index, &origin, NULL), STK_OK);
    assert_int_not_equal(origin, STK_SHARD_UNSTORED);
    stk__buffer_fini(&bytes);
}

/* An index of what was there before. */
void tar_stale_index(const char *path)
{
    add_good(7);
    write_with_good(path);
    store_index(path);
    tar_twice(path);
}

void tar_damaged_index(const char *path)
{
    char index[PATH_MAX];
    tar_twice(path);
    store_index(path);
    snprintf(index, sizeof index, "%s.index", path);
    const int file = open(index, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, "?", 1, 120), 1);
    close(file);
}

static void set_time(const char *path, time_t time_s)
{
    const struct timespec times[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The index of another shard that has the same size and the same time. */
void tar_foreign_index(const char *path)
{
    char other[PATH_MAX];
    add_image();
    add_class();
    write_ball(path);
    set_time(path, 1000);
    store_index(path);
    add_jpeg("07y.jpg", GOOD);
    tarball_text(&ball, "07y.cls", "1");
    snprintf(other, sizeof other, "%s", path);
    write_alone(other);
    set_time(path, 1000);
}

void tar_good(const char *path)
{
    add_image();
    add_class();
    write_alone(path);
    set_time(path, 1000);
}

void tar_replace(const char *path)
{
    assert_int_equal(unlink(path), 0);
    add_jpeg("07x.jpg", 1);
    add_class();
    write_ball(path);
}

void tar_shorten(const char *path)
{
    assert_int_equal(truncate(path, 600), 0);
}

void tar_overwrite(const char *path)
{
    const int file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, "?", 1, 600), 1);
    close(file);
}
