/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a shard, as the index of one, and as its small fields. The walk always goes forward and comes
 * to an end, what it calls a file lies inside; the index of a shard is the same each time, can be read, and
 * every place in it is a header of the shard; an index that can be read points to nothing outside itself.
 * Storage that refuses a byte never ends in an index that is kept. */
#include "fuzz_tar.h"

#include "fuzz.h"

#include "source/extension.h"
#include "source/shards/shard.h"
#include "source/shards/shard_facts.h"
#include "source/shards/shard_name.h"
#include "source/shards/tar_header.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the walk ------------------------------------------------------------------------------------------ */

typedef struct memory {
    const uint8_t *data;
    uint64_t size;
    uint64_t refused; /* reads of this byte fail */
    bool refusing;    /* one has */
} memory;

static int64_t read_memory(void *context, void *data, size_t size, uint64_t offset)
{
    memory *m = context;
    if (offset >= m->size) return 0;
    if (size > m->size - offset) size = (size_t)(m->size - offset);
    if (m->refused >= offset && m->refused - offset < size) {
        m->refusing = true;
        return -EIO;
    }
    memcpy(data, m->data + offset, size);
    return (int64_t)size;
}

static stk__tar_input input_of(memory *m)
{
    return (stk__tar_input){.read = read_memory, .context = m, .size_bytes = m->size};
}

static void check_content(stk__tar_walk *walk, const memory *m, const stk__tar_member *member)
{
    uint8_t copy[STK_SHARD_NUMBER_BYTES];
    const uint64_t at = member->offset + STK_TAR_BLOCK_BYTES;
    assert(at <= m->size && member->size_bytes <= m->size - at);
    assert(member->name_length > 0 && member->name_length <= STK_TAR_NAME_BYTES);
    if (member->size_bytes > sizeof copy) return;
    const bool there = stk__tar_walk_copy(walk, at, copy, (size_t)member->size_bytes);
    assert(there && memcmp(copy, m->data + at, (size_t)member->size_bytes) == 0);
}

static void check_member(stk__tar_walk *walk, const memory *m, const stk__tar_member *member)
{
    assert(strlen(member->name) == member->name_length);
    assert((member->damage != STK_DAMAGE_NONE) == (member->detail[0] != '\0'));
    assert(member->damage != STK_DAMAGE_NONE || member->kind == STK_TAR_FILE ||
           member->kind == STK_TAR_FOLDER);
    if (member->kind == STK_TAR_STRETCH) {
        assert(member->name_length == 0 && member->offset + member->size_bytes <= m->size);
        return;
    }
    assert(member->offset % STK_TAR_BLOCK_BYTES == 0 && member->offset + STK_TAR_BLOCK_BYTES <= m->size);
    assert(stk__tar_header_fits(m->data + member->offset));
    assert(member->check == stk__tar_check(m->data + member->offset));
    if (member->kind == STK_TAR_FILE && member->damage == STK_DAMAGE_NONE) check_content(walk, m, member);
}

static void walk_along(memory *m)
{
    stk__tar_walk walk;
    stk__tar_member member;
    const stk__tar_input input = input_of(m);
    stk_status status = stk__tar_walk_open(&walk, &input, NULL);
    assert(status == STK_OK);
    for (uint64_t before = 0; (status = stk__tar_walk_next(&walk, &member, NULL)) == STK_OK;
         before = walk.next) {
        assert(member.offset >= before && walk.next > before && walk.next <= m->size);
        check_member(&walk, m, &member);
    }
    assert(status == STK_END);
    stk__tar_walk_close(&walk);
}

/* --- the index ----------------------------------------------------------------------------------------- */

/* Reads all of it, so that the sanitizer sees what it points to. */
static void check_parts(const stk__shard_index *index)
{
    const char *key = index->keys;
    const float *point = index->points;
    for (uint32_t i = 0; i < index->count; i++) {
        const uint8_t has = index->codes[i].has;
        assert(*key && strlen(key) <= STK_SHARD_KEY_BYTES);
        key += strlen(key) + 1;
        if (has & (STK_SHARD_HAS_CLASS | STK_SHARD_HAS_VALUE)) assert(isfinite(index->labels[i]));
        for (uint32_t k = 0; index->point_counts && k < 3 * index->point_counts[i]; k++)
            assert(isfinite(*point++));
    }
    assert(key == index->keys + index->keys_bytes);
    for (uint32_t i = 0; i < index->flaw_count; i++) {
        const stk__shard_flaw *flaw = &index->flaws[i];
        assert(flaw->sample < index->count && (index->codes[flaw->sample].has & STK_SHARD_BAD));
        assert(stk__shard_flaw_damage(index, flaw) != STK_DAMAGE_NONE);
        assert(strlen(index->texts + flaw->member) + strlen(index->texts + flaw->detail) < SIZE_MAX);
    }
}

static void check_place(const memory *m, const stk__shard_place *place)
{
    assert(place->offset % STK_TAR_BLOCK_BYTES == 0);
    assert(place->offset + STK_TAR_BLOCK_BYTES + place->size_bytes <= m->size);
    assert(place->check == stk__tar_check(m->data + place->offset));
}

/* A key and a code make a name that is taken apart into the same. */
static void check_name(const char *key, uint8_t code, bool escaped)
{
    static char name[4 * STK_SHARD_KEY_BYTES];
    static stk__shard_name split;
    stk__shard_name_join(key, code, escaped, name, sizeof name);
    const bool used = stk__shard_name_split(name, escaped, &split);
    assert(used && strcmp(split.key, key) == 0 && split.code == code);
}

static void check_samples(const stk__shard_index *index, const memory *m)
{
    const char *key = index->keys;
    for (uint32_t i = 0; i < index->count; i++, key += strlen(key) + 1) {
        const stk__shard_codes *codes = &index->codes[i];
        if (codes->image != STK_EXTENSION_NONE) check_place(m, &index->images[i]);
        if (codes->mask != STK_EXTENSION_NONE) check_place(m, &index->masks[i]);
        if (codes->image != STK_EXTENSION_NONE) check_name(key, codes->image, index->keys_escaped);
    }
    for (uint32_t i = 0; i < index->flaw_count; i++)
        assert(index->texts[index->flaws[i].detail] && index->flaws[i].offset <= m->size);
}

static bool build(memory *m, stk__buffer *bytes)
{
    bool lasting;
    stk_error error = {0};
    const stk__tar_input input = input_of(m);
    const stk_status status =
        stk__shard_build(&input, (stk__shard_stamp){.size_bytes = m->size}, bytes, &lasting, &error);
    assert(status == STK_OK);
    return lasting;
}

static void index_shard(memory *m)
{
    stk__buffer first = {0}, second = {0};
    stk__shard_index index;
    const bool lasting = build(m, &first) && build(m, &second);
    assert(lasting && first.size_bytes == second.size_bytes);
    assert(memcmp(first.data, second.data, first.size_bytes) == 0);
    const char *fault = stk__shard_index_decode(&first, &index);
    assert(!fault);
    check_parts(&index);
    check_samples(&index, m);
    m->refused = m->size ? first.data[88] * m->size / 256 : UINT64_MAX; /* a byte of its checksum */
    const bool kept = build(m, &second);
    assert(kept != m->refusing);
    fault = stk__shard_index_decode(&second, &index);
    assert(!fault);
    check_parts(&index);
    stk__buffer_fini(&first);
    stk__buffer_fini(&second);
}

static void read_index(const uint8_t *data, size_t size)
{
    stk__shard_index index;
    stk__buffer bytes = {.data = fuzz_copy(data, size, 0), .size_bytes = size};
    const char *fault = stk__shard_index_decode(&bytes, &index);
    assert(!fault || fault[0]);
    if (!fault) check_parts(&index);
    free(bytes.data);
}

/* --- small fields -------------------------------------------------------------------------------------- */

static void check_fault(const stk__shard_fault *fault)
{
    assert((fault->damage != STK_DAMAGE_NONE) == (fault->detail[0] != '\0'));
}

static void read_fields(const uint8_t *data, size_t size)
{
    char *text = (char *)fuzz_copy(data, size, 0);
    double label = 0;
    stk__buffer points = {0};
    stk__shard_fault fault = {0};
    stk__shard_read_class(text, size, &label, &fault);
    check_fault(&fault);
    assert(fault.damage != STK_DAMAGE_NONE || (label >= 0 && label < INT32_MAX && label == floor(label)));
    fault = (stk__shard_fault){0};
    stk__shard_read_value(text, size, &label, &fault);
    check_fault(&fault);
    assert(fault.damage != STK_DAMAGE_NONE || isfinite((float)label));
    fault = (stk__shard_fault){0};
    const stk_status status = stk__shard_read_points(text, size, &points, &fault, NULL);
    assert(status == STK_OK);
    check_fault(&fault);
    for (size_t i = 0; fault.damage == STK_DAMAGE_NONE && i < points.size_bytes / sizeof(float); i++)
        assert(isfinite(((const float *)(const void *)points.data)[i]));
    stk__buffer_fini(&points);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size, 0);
    memory m = {.data = bytes, .size = size, .refused = UINT64_MAX};
    fuzz_limit_memory(64 << 20);
    walk_along(&m);
    index_shard(&m);
    fuzz_tar_open((fuzz_shard){.data = bytes, .size = size});
    read_index(data, size);
    if (size <= STK_SHARD_POINTS_BYTES) read_fields(data, size);
    free(bytes);
    return 0;
}
