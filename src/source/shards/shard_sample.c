/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a shard with one key made to a sample of the index: which field is the image and which the
 * mask, and what is wrong with it. A bad sample keeps its key and the reason only. */
#include "source/extension.h"
#include "source/shards/shard_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static stk_status add_text(stk__shard_builder *b, const char *text, uint32_t *offset, stk_error *error)
{
    size_t at;
    if (b->draft.texts.size_bytes > UINT32_MAX - 2 * STK_TAR_NAME_BYTES)
        return stk__fail(error, STK_ERROR_DATA, "a shard has too many bad samples to list");
    STK__TRY(stk__buffer_text(&b->draft.texts, text, strlen(text), &at, error));
    *offset = (uint32_t)at;
    return STK_OK;
}

stk_status stk__shard_blame_keep(stk__shard_builder *b, const stk__shard_blame *blame, stk__shard_flaw *flaw,
                                 stk_error *error)
{
    flaw->offset = blame->offset;
    STK__TRY(add_text(b, stk_damage_name(blame->damage), &flaw->word, error));
    STK__TRY(add_text(b, blame->member, &flaw->member, error));
    return add_text(b, blame->detail, &flaw->detail, error);
}

stk_status stk__shard_sample_spoil(stk__shard_builder *b, const stk__shard_blame *blame, stk_error *error)
{
    if (b->now.damaged) return STK_OK;
    b->now.damaged = true;
    return stk__shard_blame_keep(b, blame, &b->now.flaw, error);
}

static stk_status append_sample(stk__shard_builder *b, const char *key, size_t length, stk_error *error)
{
    stk__shard_draft *draft = &b->draft;
    const stk__shard_sample *now = &b->now;
    const uint32_t points = (uint32_t)((draft->points.size_bytes - now->points_bytes) / (3 * sizeof(float)));
    const uint64_t row = draft->codes.size_bytes / sizeof now->codes;
    if (row >= UINT32_MAX - 1) return stk__fail(error, STK_ERROR_DATA, "more than 4294967294 samples");
    STK__TRY(stk__buffer_text(&draft->keys, key, length, NULL, error));
    STK__TRY(stk__buffer_append(&draft->images, &now->image, sizeof now->image, error));
    STK__TRY(stk__buffer_append(&draft->masks, &now->mask, sizeof now->mask, error));
    STK__TRY(stk__buffer_append(&draft->labels, &now->label, sizeof now->label, error));
    STK__TRY(stk__buffer_append(&draft->point_counts, &points, sizeof points, error));
    STK__TRY(stk__buffer_append(&draft->codes, &now->codes, sizeof now->codes, error));
    STK__TRY(stk__buffer_append(&b->starts, &now->offset, sizeof now->offset, error));
    if (!(now->codes.has & STK_SHARD_NAMELESS))
        STK__TRY(stk__catalog_add(&b->keys, key, length, (uint32_t)row, error));
    if (!now->damaged) return STK_OK;
    stk__shard_flaw flaw = now->flaw;
    flaw.sample = (uint32_t)row;
    return stk__buffer_append(&draft->flaws, &flaw, sizeof flaw, error);
}

static bool is_jpeg(uint8_t code)
{
    return stk__extension_name(code)[0] == 'j';
}

/* Two plain fields: beside a JPEG the other one is the mask. */
static stk_status divide_plain(stk__shard_builder *b, stk_error *error)
{
    stk__shard_sample *now = &b->now;
    const bool pair = is_jpeg(now->plain_codes[0]) != is_jpeg(now->plain_codes[1]);
    const int image = is_jpeg(now->plain_codes[0]) ? 0 : 1;
    char detail[80], name[STK_TAR_NAME_BYTES + 16];
    if (pair && now->codes.mask == STK_EXTENSION_NONE) {
        now->image = now->plain[image];
        now->codes.image = now->plain_codes[image];
        now->mask = now->plain[1 - image];
        now->codes.mask = now->plain_codes[1 - image];
        return STK_OK;
    }
    const int extra = pair ? 1 - image : 1;
    snprintf(detail, sizeof detail, "two %s: '%s' and another field", pair ? "masks" : "images",
             stk__extension_name(now->plain_codes[extra]));
    stk__shard_name_join(now->key, now->plain_codes[extra], b->walk.keys_escaped, name, sizeof name);
    const stk__shard_blame blame = {STK_DAMAGE_FIELD_TWICE, now->plain[extra].offset, name, detail};
    return stk__shard_sample_spoil(b, &blame, error);
}

static stk_status choose_image(stk__shard_builder *b, stk_error *error)
{
    stk__shard_sample *now = &b->now;
    if (now->plain_count == 2) return divide_plain(b, error);
    if (now->plain_count == 1) {
        now->image = now->plain[0];
        now->codes.image = now->plain_codes[0];
        return STK_OK;
    }
    char detail[STK_TAR_DETAIL_BYTES] = "no field is jpg, jpeg, png or npy";
    if (*now->stranger)
        snprintf(detail, sizeof detail,
                 "no field is jpg, jpeg, png or npy, but one is '%s' (fields begin at the first dot)",
                 now->stranger);
    const stk__shard_blame blame = {STK_DAMAGE_NO_IMAGE, now->offset, now->key, detail};
    return stk__shard_sample_spoil(b, &blame, error);
}

/* Of a bad sample nothing is kept but what is wrong. */
static void empty_sample(stk__shard_builder *b)
{
    stk__shard_sample *now = &b->now;
    const unsigned nameless = now->codes.has & STK_SHARD_NAMELESS;
    now->image = now->mask = (stk__shard_place){0};
    now->codes = (stk__shard_codes){
        .image = STK_EXTENSION_NONE, .mask = STK_EXTENSION_NONE, .has = (uint8_t)(STK_SHARD_BAD | nameless)};
    now->label = 0;
    b->draft.points.size_bytes = now->points_bytes;
}

void stk__shard_sample_open(stk__shard_builder *b, uint64_t offset)
{
    b->now = (stk__shard_sample){.open = true,
                                 .offset = offset,
                                 .key_length = b->name.key_length,
                                 .codes = {.image = STK_EXTENSION_NONE, .mask = STK_EXTENSION_NONE},
                                 .points_bytes = b->draft.points.size_bytes};
    memcpy(b->now.key, b->name.key, b->name.key_length + 1);
}

/* Which parts of the index are of use. */
static void note_parts(stk__shard_builder *b)
{
    const stk__shard_sample *now = &b->now;
    b->draft.has_masks |= now->codes.mask != STK_EXTENSION_NONE;
    b->draft.has_labels |= (now->codes.has & (STK_SHARD_HAS_CLASS | STK_SHARD_HAS_VALUE)) != 0;
    b->draft.has_points |= b->draft.points.size_bytes > now->points_bytes;
}

stk_status stk__shard_sample_close(stk__shard_builder *b, stk_error *error)
{
    stk__shard_sample *now = &b->now;
    if (!now->open) return STK_OK;
    now->open = false;
    STK__TRY(choose_image(b, error));
    if (now->damaged)
        empty_sample(b);
    else
        note_parts(b);
    return append_sample(b, now->key, now->key_length, error);
}

stk_status stk__shard_sample_nameless(stk__shard_builder *b, const stk__shard_blame *blame, stk_error *error)
{
    char key[32];
    const int length = snprintf(key, sizeof key, "@%" PRIu64, blame->offset);
    memcpy(&b->kept, &b->now, sizeof b->kept);
    b->now = (stk__shard_sample){
        .offset = blame->offset, .codes.has = STK_SHARD_NAMELESS, .points_bytes = b->draft.points.size_bytes};
    STK__TRY(stk__shard_sample_spoil(b, blame, error));
    empty_sample(b);
    STK__TRY(append_sample(b, key, (size_t)length, error));
    memcpy(&b->now, &b->kept, sizeof b->now);
    return STK_OK;
}
