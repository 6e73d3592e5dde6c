/* SPDX-License-Identifier: Apache-2.0 */
/* From a shard to its index: members are gathered to samples, one after the other. */
#include "source/shards/shard_build.h"

#include "source/extension.h"
#include "source/shards/shard_facts.h"

#include <stdio.h>
#include <string.h>

static stk_status spoil(stk__shard_builder *b, stk_damage damage, const stk__tar_member *member,
                        const char *detail, stk_error *error)
{
    const stk__shard_blame blame = {damage, member->offset, member->name, detail};
    return stk__shard_sample_spoil(b, &blame, error);
}

/* True when the field has come before. */
static bool see(stk__shard_builder *b)
{
    const unsigned bit = 1u << b->name.field;
    const bool before = b->now.seen & bit;
    b->now.seen |= bit;
    return before;
}

static stk__shard_place place_of(const stk__tar_member *member)
{
    return (stk__shard_place){member->offset, (uint32_t)member->size_bytes, member->check};
}

static stk_status refuse_twice(stk__shard_builder *b, const stk__tar_member *member, stk_error *error)
{
    return spoil(b, STK_DAMAGE_FIELD_TWICE, member, "the sample has a duplicate field", error);
}

static stk_status take_plain(stk__shard_builder *b, const stk__tar_member *member, stk_error *error)
{
    stk__shard_sample *now = &b->now;
    const char *name = stk__extension_name(b->name.code);
    bool twice = now->plain_count == 2;
    for (int i = 0; i < now->plain_count; i++)
        twice |= stk__extension_name(now->plain_codes[i]) == name;
    if (twice) return refuse_twice(b, member, error);
    now->plain[now->plain_count] = place_of(member);
    now->plain_codes[now->plain_count++] = b->name.code;
    return STK_OK;
}

static stk_status take_mask(stk__shard_builder *b, const stk__tar_member *member, stk_error *error)
{
    if (see(b)) return refuse_twice(b, member, error);
    b->now.mask = place_of(member);
    b->now.codes.mask = b->name.code;
    return STK_OK;
}

/* The bytes of a small field, in b->small. STK_END: they cannot be had, and the sample is bad. */
static stk_status read_small(stk__shard_builder *b, const stk__tar_member *member, uint64_t limit_bytes,
                             stk_error *error)
{
    char detail[80];
    if (member->size_bytes > limit_bytes) {
        snprintf(detail, sizeof detail, "a field of %llu bytes, the maximum is %llu",
                 (unsigned long long)member->size_bytes, (unsigned long long)limit_bytes);
        STK__TRY(spoil(b, STK_DAMAGE_BAD_FIELD, member, detail, error));
        return STK_END;
    }
    STK__TRY(stk__buffer_reserve(&b->small, STK_SHARD_POINTS_BYTES, error));
    b->small.size_bytes = (size_t)member->size_bytes;
    if (stk__tar_walk_copy(&b->walk, member->offset + STK_TAR_BLOCK_BYTES, b->small.data,
                           b->small.size_bytes))
        return STK_OK;
    STK__TRY(spoil(b, STK_DAMAGE_READ_ERROR, member, "the bytes of the field cannot be read", error));
    return STK_END;
}

static stk_status take_small(stk__shard_builder *b, const stk__tar_member *member, stk_error *error)
{
    const stk__shard_field field = b->name.field;
    stk__shard_sample *now = &b->now;
    stk__shard_fault fault = {0};
    if (see(b)) return refuse_twice(b, member, error);
    const stk_status status = read_small(
        b, member, field == STK_SHARD_POINTS ? STK_SHARD_POINTS_BYTES : STK_SHARD_NUMBER_BYTES, error);
    if (status != STK_OK) return status == STK_END ? STK_OK : status;
    const char *text = (const char *)b->small.data;
    if (field == STK_SHARD_POINTS)
        STK__TRY(stk__shard_read_points(text, b->small.size_bytes, &b->draft.points, &fault, error));
    if (field == STK_SHARD_CLASS) stk__shard_read_class(text, b->small.size_bytes, &now->label, &fault);
    if (field == STK_SHARD_VALUE) stk__shard_read_value(text, b->small.size_bytes, &now->label, &fault);
    if (field == STK_SHARD_CLASS) now->codes.has |= STK_SHARD_HAS_CLASS;
    if (field == STK_SHARD_VALUE) now->codes.has |= STK_SHARD_HAS_VALUE;
    if (fault.damage != STK_DAMAGE_NONE) return spoil(b, fault.damage, member, fault.detail, error);
    const unsigned both = 1u << STK_SHARD_CLASS | 1u << STK_SHARD_VALUE;
    if ((now->seen & both) == both)
        return spoil(b, STK_DAMAGE_BAD_FIELD, member, "a class and a value exclude each other", error);
    return STK_OK;
}

static stk_status take_field(stk__shard_builder *b, const stk__tar_member *member, stk_error *error)
{
    const stk__shard_field field = b->name.field;
    if (field == STK_SHARD_OTHER) {
        const char *slash = strrchr(member->name, '/'), *dot = strchr(slash ? slash : member->name, '.');
        if (dot && !*b->now.stranger) snprintf(b->now.stranger, sizeof b->now.stranger, "%s", dot + 1);
        return STK_OK;
    }
    if (field != STK_SHARD_PLAIN && field != STK_SHARD_MASK) return take_small(b, member, error);
    if (member->size_bytes > UINT32_MAX)
        return spoil(b, STK_DAMAGE_TOO_MANY_BYTES, member, "the member has more than 4294967295 bytes",
                     error);
    return field == STK_SHARD_MASK ? take_mask(b, member, error) : take_plain(b, member, error);
}

/* Without a name that tells a sample: kinds that hold no data are passed over, what hides samples is not. */
static stk_status take_unnamed(stk__shard_builder *b, const stk__tar_member *member, stk_error *error)
{
    const bool harmless = member->damage == STK_DAMAGE_NONE || member->damage == STK_DAMAGE_MEMBER_KIND ||
                          (member->damage == STK_DAMAGE_BAD_NAME && member->name_length);
    if (harmless) return STK_OK;
    const stk__shard_blame blame = {member->damage, member->offset, member->name, member->detail};
    return stk__shard_sample_nameless(b, &blame, error);
}

static stk_status take_member(stk__shard_builder *b, const stk__tar_member *member, stk_error *error)
{
    stk__shard_sample *now = &b->now;
    if (member->kind == STK_TAR_FOLDER || member->kind == STK_TAR_STRETCH || !member->name_length ||
        !stk__shard_name_split(member->name, b->walk.keys_escaped, &b->name))
        return take_unnamed(b, member, error);
    if (!now->open || now->key_length != b->name.key_length ||
        memcmp(now->key, b->name.key, now->key_length) != 0) {
        STK__TRY(stk__shard_sample_close(b, error));
        stk__shard_sample_open(b, member->offset);
    }
    if (member->damage != STK_DAMAGE_NONE) return spoil(b, member->damage, member, member->detail, error);
    if (b->name.fault) return spoil(b, STK_DAMAGE_BAD_NAME, member, b->name.fault, error);
    return take_field(b, member, error);
}

/* The shard ended between two members, or within the zeros behind one. `stoker pack` always writes the mark
 * of the end, and all tar programs fill the last block of a member: what lacks that was cut off. Some foreign
 * programs leave the mark out: of these it is only noted. */
static stk_status judge_end(stk__shard_builder *b, stk_error *error)
{
    const uint64_t size_bytes = b->walk.input.size_bytes;
    const stk__shard_blame blame = {STK_DAMAGE_TRUNCATED, size_bytes, "",
                                    "the shard ends without the tar end-of-archive marker"};
    if (b->walk.keys_escaped || size_bytes % STK_TAR_BLOCK_BYTES)
        return stk__shard_sample_nameless(b, &blame, error);
    b->draft.unmarked = true;
    return STK_OK;
}

static stk_status take_all(stk__shard_builder *b, const stk__tar_input *input, stk_error *error)
{
    stk__tar_member member;
    stk_damage last = STK_DAMAGE_NONE; /* what explains the end */
    STK__TRY(stk__tar_walk_open(&b->walk, input, error));
    if (input->size_bytes == 0) {
        const stk__shard_blame blame = {STK_DAMAGE_EMPTY, 0, "", "the shard is empty"};
        return stk__shard_sample_nameless(b, &blame, error);
    }
    for (;;) {
        const stk_status status = stk__tar_walk_next(&b->walk, &member, error);
        if (status == STK_END) break;
        STK__TRY(status);
        STK__TRY(take_member(b, &member, error));
        last = member.damage;
    }
    STK__TRY(stk__shard_sample_close(b, error));
    if (b->walk.unmarked && last == STK_DAMAGE_NONE) STK__TRY(judge_end(b, error));
    return stk__shard_merge_duplicates(b, error);
}

static void clear(stk__shard_builder *b)
{
    stk__buffer *const parts[] = {&b->draft.images, &b->draft.masks,  &b->draft.labels,
                                  &b->draft.codes,  &b->draft.points, &b->draft.point_counts,
                                  &b->draft.keys,   &b->draft.flaws,  &b->draft.texts,
                                  &b->starts,       &b->small};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        stk__buffer_fini(parts[i]);
    stk__catalog_fini(&b->keys);
    stk__tar_walk_close(&b->walk);
}

stk_status stk__shard_build(const stk__tar_input *input, stk__shard_stamp stamp, stk__buffer *bytes,
                            bool *lasting, stk_error *error)
{
    stk__shard_builder *b = stk__alloc(sizeof *b);
    if (!b) return stk__fail_memory(error, sizeof *b, "the index of a shard");
    b->draft.stamp = stamp;
    stk_status status = take_all(b, input, error);
    b->draft.keys_escaped = b->walk.keys_escaped;
    if (status == STK_OK) status = stk__shard_index_encode(&b->draft, bytes, error);
    *lasting = !b->walk.unreadable;
    clear(b);
    stk__free(b);
    return status;
}
