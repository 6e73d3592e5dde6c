/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the packer: samples in files of the test's own, packed one at a time. */
#ifndef TEST_PACKER_RIG_H
#define TEST_PACKER_RIG_H

#include "decode/png.h"
#include "pack/packer.h"
#include "source/shards/tar.h"
#include "support/pictures.h"
#include "../decode/decoding.h"
#include "../source/source_tree.h"

#include <string.h>

enum { NAME_BYTES = 1024 };

static stk__packer packer;
static stk__packed packed;
static stk__source *source;

static inline void open_packer(void)
{
    source = tree_open();
    assert_int_equal(stk__packer_init(&packer, source, &stk__limits_default, NULL), STK_OK);
}

static inline void close_packer(void)
{
    stk__packer_fini(&packer);
    stk__buffer_fini(&packed.tar);
    stk__source_close(&source);
    packer = (stk__packer){0};
    packed = (stk__packed){0};
}

static inline int64_t read_memory(void *context, void *data, size_t size, uint64_t offset)
{
    const stk__buffer *tar = context;
    const size_t left = offset < tar->size_bytes ? tar->size_bytes - (size_t)offset : 0;
    const size_t size_read = size < left ? size : left;
    if (size_read) memcpy(data, tar->data + offset, size_read);
    return (int64_t)size_read;
}

/* Member number n of the packed sample: its name and bytes. False when there are fewer. */
static inline bool find_member(int n, char name[NAME_BYTES], stk__buffer *bytes)
{
    const stk__tar_input input = {
        .read = read_memory, .context = &packed.tar, .size_bytes = packed.tar.size_bytes};
    stk__tar_walk walk;
    stk__tar_member member;
    assert_int_equal(stk__tar_walk_open(&walk, &input, NULL), STK_OK);
    stk_status status = STK_OK;
    for (int i = 0; status == STK_OK && i <= n; i++)
        status = stk__tar_walk_next(&walk, &member, NULL);
    if (status == STK_OK) {
        static const uint8_t zeros[64];
        assert_int_equal(member.damage, STK_DAMAGE_NONE);
        snprintf(name, NAME_BYTES, "%s", member.name);
        bytes->size_bytes = 0;
        assert_int_equal(
            stk__buffer_append(bytes, packed.tar.data + member.offset + 512, member.size_bytes, NULL),
            STK_OK);
        assert_int_equal(stk__buffer_append(bytes, zeros, sizeof zeros, NULL), STK_OK);
        bytes->size_bytes -= sizeof zeros;
    }
    stk__tar_walk_close(&walk);
    return status == STK_OK;
}

static inline void pack(uint64_t id)
{
    stk_error error = {0};
    const stk_status status = stk__packer_pack(&packer, id, &packed, &error);
    if (status != STK_OK) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(status, STK_OK);
}

/* Names of all members with blanks between them; the texts of the small ones behind '='. */
static inline const char *describe(void)
{
    static char text[16384];
    char name[NAME_BYTES];
    stk__buffer bytes = {0};
    size_t used = 0;
    text[0] = '\0';
    for (int n = 0; find_member(n, name, &bytes); n++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", n ? " " : "", name);
        if (bytes.size_bytes < 100 && !strstr(name, ".npy"))
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "=%.*s", (int)bytes.size_bytes, bytes.data);
    }
    stk__buffer_fini(&bytes);
    return text;
}

static inline void check_bad(uint64_t id, stk_damage damage, const char *message, const char *place)
{
    stk_error error = {0};
    assert_int_equal(stk__packer_pack(&packer, id, &packed, &error), STK_ERROR_SAMPLE);
    if (!strstr(error.message, message) || !strstr(error.place, place))
        print_error("unexpected: %s (%s)\n", error.message, error.place);
    assert_string_equal(stk_damage_name(error.damage), stk_damage_name(damage));
    assert_non_null(strstr(error.message, message));
    assert_non_null(strstr(error.place, place));
    assert_int_equal(stk__packer_pack(&packer, id, &packed, NULL), STK_ERROR_SAMPLE);
}

static inline void put(const char *name, stk__buffer *bytes)
{
    tree_bytes(name, bytes->data, bytes->size_bytes);
    stk__buffer_fini(bytes);
}

static inline void put_jpeg(const char *name, int32_t w, int32_t h, const pictures_jpeg_options *options)
{
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(w, h, options->space >= PICTURES_CMYK ? 4 : 3, 5);
    pictures_jpeg(&bytes, drawn, options);
    put(name, &bytes);
    stk__free(drawn.data);
}

static inline void put_png(const char *name, int32_t w, int32_t h, const pictures_png_options *options)
{
    stk__buffer bytes = {0};
    const int depth = options->depth ? options->depth : 8;
    static const int channels[] = {1, 0, 3, 1, 2, 0, 4};
    const size_t count = (size_t)w * (size_t)h * (size_t)channels[options->colour];
    uint16_t *samples = stk__alloc(count * sizeof *samples);
    for (size_t i = 0; i < count; i++)
        samples[i] = (uint16_t)((i / 3) % (depth < 3 ? 2 : 5));
    pictures_png(&bytes, samples, w, h, options);
    put(name, &bytes);
    stk__free(samples);
}

/* The file below the tree, with readable bytes behind it. */
static inline stk__buffer load(const char *name)
{
    stk__buffer bytes = {0};
    assert_int_equal(stk__file_read(tree_path(name), 0, &bytes, NULL), STK_OK);
    return bytes;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

#endif
