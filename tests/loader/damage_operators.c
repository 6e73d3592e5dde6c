/* SPDX-License-Identifier: Apache-2.0 */
/* The table of damages: for each one the data set it goes into, how it is made, and the class under which
 * the loader must report it. */
#include "loader/damage_operators.h"

#include "loader/damage_bytes.h"
#include "loader/damage_tar.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

static void plant_dangling_link(const char *path)
{
    assert_int_equal(symlink("nowhere.jpg", path), 0);
}

static void plant_link_to_itself(const char *path)
{
    assert_int_equal(symlink(strrchr(path, '/') + 1, path), 0);
}

static void plant_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

static void plant_pipe(const char *path)
{
    assert_int_equal(mkfifo(path, 0644), 0);
}

static void plant_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length = snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_true(length > 0 && (size_t)length < sizeof address.sun_path);
    const int socket_file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(socket_file >= 0);
    assert_int_equal(bind(socket_file, (const struct sockaddr *)&address, sizeof address), 0);
    close(socket_file);
}

static void plant_good(const char *path)
{
    stk__buffer bytes = {0};
    make_good_jpeg(&bytes, 0);
    damage_write(path, &bytes);
    stk__buffer_fini(&bytes);
}

static void plant_unreadable(const char *path)
{
    plant_good(path);
    assert_int_equal(chmod(path, 0), 0);
}

static void plant_too_large(const char *path)
{
    plant_good(path);
    assert_int_equal(truncate(path, DAMAGE_LIMIT_BYTES + 1), 0);
}

static void vanish(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

#define JPEG(title, damage, ...)                                                                             \
    {                                                                                                        \
        .name = title, .set = DAMAGE_CLASSES, .file = "b/3x.jpg", .expected = STK_DAMAGE_##damage,           \
        __VA_ARGS__                                                                                          \
    }
#define PNG(title, damage, ...)                                                                              \
    {                                                                                                        \
        .name = title, .set = DAMAGE_CLASSES, .file = "b/3x.png", .expected = STK_DAMAGE_##damage,           \
        __VA_ARGS__                                                                                          \
    }
#define NPY(title, damage, ...)                                                                              \
    {                                                                                                        \
        .name = title, .set = DAMAGE_CLASSES, .file = "b/3x.npy", .expected = STK_DAMAGE_##damage,           \
        __VA_ARGS__                                                                                          \
    }
#define MASK(title, damage, ...)                                                                             \
    {                                                                                                        \
        .name = title, .set = DAMAGE_PAIRS, .file = "masks/07x.png", .expected = STK_DAMAGE_##damage,        \
        __VA_ARGS__                                                                                          \
    }
#define ROW(title, row, ...)                                                                                 \
    {                                                                                                        \
        .name = title, .set = DAMAGE_LIST, .file = "labels.csv", .place = "labels.csv:14",                   \
        .expected = STK_DAMAGE_BAD_ROW, .text = row, __VA_ARGS__                                             \
    }
#define MOMENT(title, damage, row)                                                                           \
    {                                                                                                        \
        .name = title, .set = DAMAGE_SERIES, .file = "series.csv", .place = "series.csv:17",                 \
        .expected = STK_DAMAGE_##damage, .text = row                                                         \
    }

#define SHARD(title, damage, how, where, ...)                                                                \
    {                                                                                                        \
        .name = title, .set = DAMAGE_SHARDS, .file = "b.tar", .place = where,                                \
        .expected = STK_DAMAGE_##damage, .plant = how, __VA_ARGS__                                           \
    }
#define MEMBER(title, damage, how, ...) SHARD(title, damage, how, "b.tar!07x.jpg@", __VA_ARGS__)
/* What has no name comes last. */
#define STRETCH(title, damage, how, where) SHARD(title, damage, how, where, .id = DAMAGE_SAMPLES - 1)

/* clang-format off */
const damage_operator damage_operators[] = {
    JPEG("empty file", EMPTY, .make = make_nothing),
    JPEG("text", NOT_AN_IMAGE, .make = make_text),
    JPEG("zeros", NOT_AN_IMAGE, .make = make_zeros, .amount = 1000),
    JPEG("png named jpg and cut", TRUNCATED, .make = make_png_cut, .amount = 50),
    PNG("jpeg named png and cut", TRUNCATED, .make = make_jpeg_cut, .amount = 50),
    JPEG("npy named jpg and cut", TRUNCATED, .make = make_npy_cut, .amount = 60),
    JPEG("jpeg of 1 byte", TRUNCATED, .make = make_jpeg_first_bytes, .amount = 1),
    JPEG("jpeg of 2 bytes", TRUNCATED, .make = make_jpeg_first_bytes, .amount = 2),
    JPEG("jpeg of 3 bytes", TRUNCATED, .make = make_jpeg_first_bytes, .amount = 3),
    JPEG("jpeg header up to its size", TRUNCATED, .make = make_jpeg_until, .amount = 0xC0),
    JPEG("jpeg header only", TRUNCATED, .make = make_jpeg_until, .amount = 0xDA),
    JPEG("jpeg cut at 10 %", TRUNCATED, .make = make_jpeg_cut, .amount = 10),
    JPEG("jpeg cut at 20 %", TRUNCATED, .make = make_jpeg_cut, .amount = 20),
    JPEG("jpeg cut at 35 %", TRUNCATED, .make = make_jpeg_cut, .amount = 35),
    JPEG("jpeg cut at 50 %", TRUNCATED, .make = make_jpeg_cut, .amount = 50),
    JPEG("jpeg cut at 65 %", TRUNCATED, .make = make_jpeg_cut, .amount = 65),
    JPEG("jpeg cut at 80 %", TRUNCATED, .make = make_jpeg_cut, .amount = 80),
    JPEG("jpeg cut at 90 %", TRUNCATED, .make = make_jpeg_cut, .amount = 90),
    JPEG("jpeg cut at 95 %", TRUNCATED, .make = make_jpeg_cut, .amount = 95),
    JPEG("jpeg without end", TRUNCATED, .make = make_jpeg_without_end),
    JPEG("progressive jpeg cut at 70 %", TRUNCATED, .make = make_jpeg_cut_progressive, .amount = 70),
    JPEG("jpeg of other size cut", TRUNCATED, .make = make_jpeg_cut_other_size, .amount = 60),
    JPEG("jpeg with zeros for its second half", TRUNCATED, .make = make_jpeg_zero_tail, .amount = 50),
    JPEG("bit flipped at 5 %", CORRUPT, .make = make_jpeg_flipped, .amount = 5),
    JPEG("bit flipped at 50 %", CORRUPT, .make = make_jpeg_flipped, .amount = 50),
    JPEG("bit flipped at 80 %", CORRUPT, .make = make_jpeg_flipped, .amount = 80),
    JPEG("wrong restart marker", CORRUPT, .make = make_jpeg_wrong_restart, .amount = 0xD5),
    JPEG("huffman table too long", BAD_HEADER, .make = make_jpeg_huffman_counts),
    JPEG("huffman codes impossible", CORRUPT, .make = make_jpeg_huffman_codes),
    JPEG("huffman tables missing", CORRUPT, .make = make_jpeg_without_segments, .amount = 0xC4),
    JPEG("quantisation missing", CORRUPT, .make = make_jpeg_without_segments, .amount = 0xDB),
    JPEG("frame missing", BAD_HEADER, .make = make_jpeg_without_segments, .amount = 0xC0),
    JPEG("segment of length 1", BAD_HEADER, .make = make_jpeg_segment_length, .amount = 1),
    JPEG("jpeg of width 0", ZERO_SIZE, .make = make_jpeg_width),
    JPEG("jpeg of height 0", ZERO_SIZE, .make = make_jpeg_height),
    JPEG("jpeg of 4 times its height", CORRUPT, .make = make_jpeg_height, .amount = 4 * DAMAGE_H),
    JPEG("jpeg bomb of 20000 x 20000", TOO_MANY_PIXELS, .make = make_jpeg_square, .amount = 20000),
    JPEG("jpeg bomb of 65535 x 65535", TOO_MANY_PIXELS, .make = make_jpeg_square, .amount = 65535),
    JPEG("bomb of scans", TOO_MANY_SCANS, .make = make_jpeg_scans, .amount = 300),
    JPEG("jpeg of 12 bits", UNSUPPORTED, .make = make_jpeg_precision, .amount = 12),
    JPEG("arithmetic jpeg cut at 60 %", TRUNCATED, .make = make_jpeg_arithmetic_cut, .amount = 60),
    JPEG("progressive jpeg without its last scan", TRUNCATED, .make = make_jpeg_last_scan),
    JPEG("bytes too many before a restart marker", CORRUPT, .make = make_jpeg_bytes_before_restart, .amount = 40),
    JPEG("hierarchical jpeg", UNSUPPORTED, .make = make_jpeg_frame, .amount = 0xC5),
    PNG("png cut at 1 %", TRUNCATED, .make = make_png_cut, .amount = 1),
    PNG("png cut at 50 %", TRUNCATED, .make = make_png_cut, .amount = 50),
    PNG("png cut at 99 %", TRUNCATED, .make = make_png_cut, .amount = 99),
    PNG("png without end", TRUNCATED, .make = make_png_without_end),
    PNG("png header checksum", BAD_CHECKSUM, .make = make_png_checksum, .amount = 0),
    PNG("png data checksum", BAD_CHECKSUM, .make = make_png_checksum, .amount = 1),
    PNG("png adler", BAD_CHECKSUM, .make = make_png_bad_adler),
    PNG("png deflate", CORRUPT, .make = make_png_bad_deflate),
    PNG("png with too few rows", CORRUPT, .make = make_png_short, .amount = 200),
    PNG("png of unknown colour type", BAD_HEADER, .make = make_png_colour_type, .amount = 5),
    PNG("png with an unknown chunk", UNSUPPORTED, .make = make_png_unknown_chunk),
    PNG("png without palette", BAD_HEADER, .make = make_png_without_palette),
    PNG("png beyond its palette", CORRUPT, .make = make_png_beyond_palette),
    PNG("png of size 0", ZERO_SIZE, .make = make_png_side, .amount = 0),
    PNG("png bomb", TOO_MANY_PIXELS, .make = make_png_side, .amount = 0x7FFFFFFF),
    NPY("npy of floats", UNSUPPORTED, .make = make_npy_f4),
    NPY("npy in fortran order", UNSUPPORTED, .make = make_npy_fortran),
    NPY("npy cut in its header", TRUNCATED, .make = make_npy_cut, .amount = 3),
    NPY("npy cut at 60 %", TRUNCATED, .make = make_npy_cut, .amount = 60),
    NPY("npy too long", CORRUPT, .make = make_npy_longer, .amount = 1),
    JPEG("dangling link", DANGLING_LINK, .plant = plant_dangling_link),
    JPEG("link to itself", DANGLING_LINK, .plant = plant_link_to_itself),
    JPEG("no permission", NO_PERMISSION, .plant = plant_unreadable, .as_nobody = true),
    JPEG("folder", NOT_A_FILE, .plant = plant_folder),
    JPEG("pipe", NOT_A_FILE, .plant = plant_pipe),
    JPEG("socket", NOT_A_FILE, .plant = plant_socket),
    JPEG("vanishing file", MISSING, .plant = plant_good, .vanish = vanish),
    JPEG("too many bytes", TOO_MANY_BYTES, .plant = plant_too_large),
    {.name = "image of a pair cut", .set = DAMAGE_PAIRS, .file = "images/07x.jpg", .expected = STK_DAMAGE_TRUNCATED, .make = make_jpeg_cut, .amount = 70},
    MASK("mask missing", MASK_MISSING),
    MASK("mask empty", EMPTY, .make = make_nothing),
    MASK("mask of other size", MASK_SIZE, .make = make_mask_other_size),
    MASK("mask with one id too high", MASK_IDS, .make = make_mask_ids, .amount = DAMAGE_CLASS_COUNT),
    MASK("mask with id 254", MASK_IDS, .make = make_mask_ids, .amount = 254),
    MASK("mask of 16 bits with id 300", MASK_IDS, .make = make_mask_wide_ids, .amount = 300),
    MASK("mask of colours", MASK_FORMAT, .make = make_good_png),
    {.name = "mask as jpeg", .set = DAMAGE_PAIRS, .file = "masks/07x.jpg", .expected = STK_DAMAGE_MASK_FORMAT, .make = make_good_jpeg},
    MASK("mask is a jpeg named png", MASK_FORMAT, .make = make_good_jpeg),
    MASK("mask cut at 3 %", TRUNCATED, .make = make_mask_cut, .amount = 3),
    MASK("mask cut at 10 %", TRUNCATED, .make = make_mask_cut, .amount = 10),
    MASK("mask cut at 50 %", TRUNCATED, .make = make_mask_cut, .amount = 50),
    MASK("mask cut at 95 %", TRUNCATED, .make = make_mask_cut, .amount = 95),
    MASK("mask header checksum", BAD_CHECKSUM, .make = make_mask_checksum, .amount = 0),
    MASK("mask data checksum", BAD_CHECKSUM, .make = make_mask_checksum, .amount = 1),
    MASK("mask adler", BAD_CHECKSUM, .make = make_mask_bad_adler),
    MASK("mask deflate", CORRUPT, .make = make_mask_bad_deflate),
    MASK("mask with an unknown filter", CORRUPT, .make = make_mask_filter, .amount = 9),
    MASK("mask is a dangling link", DANGLING_LINK, .plant = plant_dangling_link),
    MASK("mask is a folder", NOT_A_FILE, .plant = plant_folder),
    MASK("mask without permission", NO_PERMISSION, .plant = plant_unreadable, .as_nobody = true),
    ROW("row without label", "07x.jpg"),
    ROW("row with a label too many", "07x.jpg,1,2"),
    ROW("row with an empty label", "07x.jpg,"),
    ROW("row with a label that is no number", "07x.jpg,cat"),
    ROW("row with a negative label", "07x.jpg,-1"),
    ROW("row without file", ",1", .id = 12),
    ROW("row that leaves the folder", "../07x.jpg,1", .id = 12),
    ROW("row with an absolute path", "/07x.jpg,1", .id = 12),
    ROW("row of a file that was listed", "05.jpg,1", .id = 6),
    {.name = "row of a missing file", .set = DAMAGE_LIST, .file = "labels.csv", .place = "images/07y.jpg", .expected = STK_DAMAGE_MISSING, .text = "07y.jpg,1"},
    MOMENT("moment that is no number", BAD_VALUES, "nan,2,3"),
    MOMENT("moment that is infinite", BAD_VALUES, "1,inf,3"),
    MOMENT("moment without target", BAD_ROW, "1,2"),
    MOMENT("moment of words", BAD_ROW, "1,high,3"),
    MEMBER("shard cut in its last member", TRUNCATED, tar_cut_in_data),
    STRETCH("shard cut in a header", TRUNCATED, tar_cut_in_header, "b.tar@0"),
    STRETCH("shard cut in the zeros behind a member", TRUNCATED, tar_cut_in_padding, "b.tar@"),
    STRETCH("shard of a pack cut between members", TRUNCATED, tar_cut_behind_member, "b.tar@"),
    STRETCH("shard with a wrong checksum", BAD_CHECKSUM, tar_bad_checksum, "b.tar@0"),
    STRETCH("shard with a hole", BAD_HEADER, tar_hole, "b.tar@0"),
    STRETCH("shard with garbage behind", BAD_HEADER, tar_garbage_behind, "b.tar@0"),
    STRETCH("empty shard", EMPTY, tar_empty, "b.tar@0"),
    STRETCH("compressed shard", UNSUPPORTED, tar_compressed, "b.tar@0"),
    STRETCH("text as a shard", BAD_CHECKSUM, tar_text_file, "b.tar@0"),
    MEMBER("member of negative size", BAD_HEADER, tar_negative_size),
    MEMBER("member of absurd size", BAD_HEADER, tar_absurd_size),
    MEMBER("member whose size is no number", BAD_HEADER, tar_size_of_words),
    MEMBER("member is a symbolic link", MEMBER_KIND, tar_symbolic_link),
    MEMBER("member is a hard link", MEMBER_KIND, tar_hard_link),
    MEMBER("member is a device", MEMBER_KIND, tar_device),
    MEMBER("member is a pipe", MEMBER_KIND, tar_pipe),
    MEMBER("member is sparse", MEMBER_KIND, tar_sparse),
    MEMBER("member is sparse by pax", MEMBER_KIND, tar_sparse_pax),
    MEMBER("pax bomb", BAD_HEADER, tar_pax_bomb),
    MEMBER("pax record malformed", BAD_HEADER, tar_pax_malformed),
    MEMBER("pax size negative", BAD_HEADER, tar_pax_size),
    STRETCH("name too long", BAD_NAME, tar_long_name, "b.tar@"),
    SHARD("name not UTF-8", BAD_NAME, tar_not_utf8, "b.tar!07x\xFF.jpg@0"),
    SHARD("name that leads upwards", BAD_NAME, tar_upwards, "b.tar!07/../x.jpg@0"),
    SHARD("name with a wrong escape", BAD_NAME, tar_wrong_escape, "b.tar!07%2Fx.jpg@1024"),
    MEMBER("field twice", FIELD_TWICE, tar_twice),
    SHARD("two images", FIELD_TWICE, tar_two_images, "b.tar!07x.jpeg@"),
    SHARD("interleaved samples", SCATTERED, tar_interleaved, "b.tar!07x@"),
    SHARD("sample without image", NO_IMAGE, tar_without_image, "b.tar!07x@0"),
    SHARD("class of words", BAD_FIELD, tar_class_of_words, "b.tar!07x.cls@"),
    MEMBER("sample without class", BAD_FIELD, tar_without_class),
    MEMBER("empty image in a shard", EMPTY, tar_empty_image),
    MEMBER("cut image in a shard", TRUNCATED, tar_cut_image),
    MEMBER("too many bytes in a shard", TOO_MANY_BYTES, tar_large_image),
    MEMBER("stale index", FIELD_TWICE, tar_stale_index),
    MEMBER("damaged index", FIELD_TWICE, tar_damaged_index),
    MEMBER("index of another shard", SHARD_CHANGED, tar_foreign_index),
    MEMBER("shard replaced while open", SHARD_CHANGED, tar_good, .vanish = tar_replace),
    MEMBER("shard cut while open", SHARD_CHANGED, tar_good, .vanish = tar_shorten),
    MEMBER("shard written to while open", SHARD_CHANGED, tar_good, .vanish = tar_overwrite),
    MEMBER("shard gone while open", MISSING, tar_good, .vanish = vanish),
};
/* clang-format on */

const int damage_operator_count = sizeof damage_operators / sizeof damage_operators[0];
