/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a picture that `stoker pack` stores: what comes out decodes to the same pixels or ids, and
 * packed once more it stays as it is; whatever no decoder takes is refused. Any name and content as a member
 * of a shard: the walker finds the same again. */
#include "fuzz.h"
#include "fuzz_decode.h"

#include "core/utf8.h"
#include "pack/packer_picture.h"
#include "pack/tar_blocks.h"
#include "source/shards/tar.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static stk__source source = {.info = {.masks = true}};
static stk__packer packer;

static void fini_packer(void)
{
    stk__packer_fini(&packer);
}

static void make_packer(void)
{
    if (packer.decoder) return;
    fuzz_limit_memory(64 << 20);
    const stk_status status = stk__packer_init(&packer, &source, &fuzz_limits, NULL);
    assert(status == STK_OK);
    atexit(fini_packer);
}

/* The packer reads its bytes from a buffer with 64 bytes behind them. */
static void give(stk__encoded bytes)
{
    stk__buffer *to = &packer.bytes;
    const stk_status status = stk__buffer_reserve(to, bytes.size_bytes + 64, NULL);
    assert(status == STK_OK);
    if (bytes.size_bytes) memmove(to->data, bytes.data, bytes.size_bytes);
    memset(to->data + bytes.size_bytes, 0, 64);
    to->size_bytes = bytes.size_bytes;
}

typedef stk_status (*pack_function)(stk__packer *packer, const char *promised, stk__pack_picture *picture,
                                    stk_error *error);

/* Decodes as it is stored, by a decoder of its own; NULL: refused. */
static uint8_t *decode(stk__encoded bytes, bool mask, stk__picture *picture)
{
    stk__decoder *decoder = NULL;
    uint8_t *pixels = NULL;
    stk_status status = stk__decoder_create(&decoder, &fuzz_limits, NULL);
    assert(status == STK_OK);
    status = stk__decode_header(decoder, bytes, NULL, picture, NULL);
    if (status == STK_OK) {
        const int32_t channels = mask ? 1 : picture->channels;
        stk__picture stored = *picture;
        stored.orientation = 1;
        pixels = calloc((size_t)stored.w * (size_t)stored.h, (size_t)channels);
        assert(pixels);
        const stk__pixels target = stk__pixels_dense(pixels, stored.w, stored.h, channels);
        status = mask ? stk__decode_mask(decoder, bytes, &stored, &(stk__mask_options){.orientation = 1},
                                         target, NULL)
                      : stk__decode_image(decoder, bytes, &stored, target, NULL);
    }
    stk__decoder_destroy(&decoder);
    if (status == STK_OK) return pixels;
    free(pixels);
    return NULL;
}

/* A copy of what was stored: the packer's memory is used again. */
static stk__encoded keep(const stk__pack_picture *picture)
{
    return (stk__encoded){fuzz_copy(picture->bytes.data, picture->bytes.size_bytes, 64),
                          picture->bytes.size_bytes};
}

static void check_stored(stk__encoded original, stk__encoded stored, bool mask)
{
    stk__picture before, after;
    uint8_t *wanted = decode(original, mask, &before), *got = decode(stored, mask, &after);
    assert(wanted && got);
    const size_t size = (size_t)before.w * (size_t)before.h * (size_t)(mask ? 1 : before.channels);
    assert(before.w == after.w && before.h == after.h && (mask || before.channels == after.channels));
    assert(mask || before.orientation == after.orientation);
    assert(memcmp(wanted, got, size) == 0);
    free(wanted);
    free(got);
}

static void check_again(pack_function pack, stk__encoded stored)
{
    stk__pack_picture picture;
    give(stored);
    const stk_status status = pack(&packer, NULL, &picture, NULL);
    assert(status == STK_OK && picture.bytes.size_bytes == stored.size_bytes);
    assert(memcmp(picture.bytes.data, stored.data, stored.size_bytes) == 0);
}

static void pack_picture(pack_function pack, stk__encoded original, bool mask)
{
    stk__pack_picture picture;
    stk_error error = {0};
    give(original);
    const stk_status status = pack(&packer, NULL, &picture, &error);
    if (status == STK_OK) {
        const stk__encoded stored = keep(&picture);
        check_stored(original, stored, mask);
        if (!picture.kept) check_again(pack, stored);
        free((uint8_t *)(uintptr_t)stored.data);
        return;
    }
    stk__picture unused;
    uint8_t *pixels = decode(original, mask, &unused);
    if (pixels) fprintf(stderr, "refused: %s\n", error.message);
    assert(!pixels);
    fuzz_check_damage(status, &error);
}

/* --- members ------------------------------------------------------------------------------------------- */

static int64_t read_tar(void *context, void *data, size_t size, uint64_t offset)
{
    const stk__buffer *tar = context;
    const size_t left = offset < tar->size_bytes ? tar->size_bytes - (size_t)offset : 0;
    if (size > left) size = left;
    if (size) memcpy(data, tar->data + offset, size);
    return (int64_t)size;
}

static void check_member(stk__buffer *tar, const char *name, stk__encoded content)
{
    const stk__tar_input input = {.read = read_tar, .context = tar, .size_bytes = tar->size_bytes};
    stk__tar_walk walk;
    stk__tar_member member;
    stk_status status = stk__tar_walk_open(&walk, &input, NULL);
    if (status == STK_OK) status = stk__tar_walk_next(&walk, &member, NULL);
    assert(status == STK_OK && walk.keys_escaped);
    assert(member.kind == STK_TAR_FILE && member.damage == STK_DAMAGE_NONE && strcmp(member.name, name) == 0);
    assert(member.size_bytes == content.size_bytes);
    if (content.size_bytes)
        assert(memcmp(tar->data + member.offset + STK_TAR_BLOCK_BYTES, content.data, content.size_bytes) ==
               0);
    status = stk__tar_walk_next(&walk, &member, NULL);
    assert(status == STK_END);
    stk__tar_walk_close(&walk);
}

/* The first line is the name, as pack writes it with an extension; the rest is the content. */
static void store_member(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    const size_t length = end ? (size_t)(end - data) : 0;
    if (!length || length + 4 > STK_TAR_NAME_BYTES || memchr(data, '\0', length)) return;
    char *name = (char *)fuzz_copy(data, length, 5);
    memcpy(name + length, ".jpg", 4);
    const stk__encoded content = {end + 1, size - length - 1};
    stk__buffer tar = {0};
    stk_status status = stk__tar_blocks_begin(&tar, NULL);
    if (status == STK_OK) status = stk__tar_blocks_add(&tar, name, content.data, content.size_bytes, NULL);
    if (status == STK_OK) status = stk__tar_blocks_end(&tar, NULL);
    assert(status == STK_OK);
    if (stk__utf8_valid(name)) check_member(&tar, name, content);
    stk__buffer_fini(&tar);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size, 64);
    make_packer();
    pack_picture(stk__packer_image, (stk__encoded){bytes, size}, false);
    pack_picture(stk__packer_mask, (stk__encoded){bytes, size}, true);
    store_member(bytes, size);
    free(bytes);
    return 0;
}
