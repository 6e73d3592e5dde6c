/* SPDX-License-Identifier: Apache-2.0 */
/* Headers about the next member: long names of GNU, records of pax. */
#include "source/shards/shard.h"
#include "source/shards/tar_header.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void stk__tar_spoil(stk_damage *damage, char detail[STK_TAR_DETAIL_BYTES], stk_damage found,
                    const char *format, ...)
{
    if (*damage != STK_DAMAGE_NONE) return;
    *damage = found;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, STK_TAR_DETAIL_BYTES, format, arguments);
    va_end(arguments);
}

static void spoil_next(stk__tar_walk *walk, stk_damage damage, const char *what, uint64_t number)
{
    stk__tar_spoil(&walk->about.damage, walk->about.detail, damage, what, (unsigned long long)number);
}

bool stk__tar_extends(char type)
{
    return type == 'x' || type == 'X' || type == 'g' || type == 'L' || type == 'K';
}

static void refuse_name(stk__tar_walk *walk, uint64_t length)
{
    stk__tar_spoil(&walk->about.damage, walk->about.detail, STK_DAMAGE_BAD_NAME,
                   "a name of %llu bytes, the maximum is %d", (unsigned long long)length, STK_TAR_NAME_BYTES);
    walk->about.has_name = false;
    walk->about.unnamed = true;
}

static void set_name(stk__tar_walk *walk, const char *text, size_t length)
{
    if (length > STK_TAR_NAME_BYTES) {
        refuse_name(walk, length);
        return;
    }
    walk->about.has_name = length > 0; /* an empty one takes back what was said before */
    if (memchr(text, '\0', length))
        stk__tar_spoil(&walk->about.damage, walk->about.detail, STK_DAMAGE_BAD_NAME,
                       "a NUL byte in the name");
    memcpy(walk->name, text, length);
    walk->name[length] = '\0';
}

static void set_size(stk__tar_walk *walk, const stk__tar_record *record)
{
    uint64_t size = 0;
    bool digits = record->value_length > 0 && record->value_length < 19;
    for (size_t i = 0; digits && i < record->value_length; i++) {
        digits = record->value[i] >= '0' && record->value[i] <= '9';
        size = size * 10 + (uint64_t)(record->value[i] - '0');
    }
    walk->about.has_size = digits;
    walk->about.size_bytes = size;
    if (!digits)
        stk__tar_spoil(&walk->about.damage, walk->about.detail, STK_DAMAGE_BAD_HEADER,
                       "the size '%.*s' in a pax record is invalid",
                       (int)(record->value_length < 40 ? record->value_length : 40), record->value);
}

static bool is_key(const stk__tar_record *record, const char *key)
{
    return record->key_length == strlen(key) && memcmp(record->key, key, record->key_length) == 0;
}

static void take_record(stk__tar_walk *walk, const stk__tar_record *record)
{
    static const char sparse[] = "GNU.sparse.";
    const bool of_sparse =
        record->key_length >= strlen(sparse) && memcmp(record->key, sparse, strlen(sparse)) == 0;
    stk__tar_extension *about = &walk->about;
    if (of_sparse) about->sparse = true;
    /* A sparse member's own path is made up; GNU.sparse.name has the real one. */
    if (is_key(record, "GNU.sparse.name") || (is_key(record, "path") && !(about->sparse && about->has_name)))
        set_name(walk, record->value, record->value_length);
    else if (is_key(record, "size"))
        set_size(walk, record);
}

static void take_global(stk__tar_walk *walk, const stk__tar_record *record)
{
    if (!is_key(record, STK_SHARD_KEYS_RECORD)) return;
    walk->keys_escaped = record->value_length == strlen(STK_SHARD_KEYS_ESCAPED) &&
                         memcmp(record->value, STK_SHARD_KEYS_ESCAPED, record->value_length) == 0;
}

static stk_status take_records(stk__tar_walk *walk, const stk__tar_header *header, uint64_t offset,
                               stk_error *error)
{
    if (header->size_bytes > STK_TAR_RECORDS_BYTES) {
        spoil_next(walk, STK_DAMAGE_BAD_HEADER, "a pax header of %llu bytes, the maximum is 1048576",
                   header->size_bytes);
        return STK_OK;
    }
    const size_t size = (size_t)header->size_bytes;
    STK__TRY(stk__buffer_reserve(&walk->records, size + 1, error));
    if (!stk__tar_walk_copy(walk, offset + STK_TAR_BLOCK_BYTES, walk->records.data, size)) return STK_OK;
    const char *at = (const char *)walk->records.data, *end = at + size;
    while (at < end) {
        stk__tar_record record;
        if (!stk__tar_record_take(&at, end, &record)) {
            spoil_next(walk, STK_DAMAGE_BAD_HEADER, "a pax record is malformed, at byte %llu of its header",
                       (uint64_t)(at - (const char *)walk->records.data));
            break;
        }
        if (header->type == 'g')
            take_global(walk, &record);
        else
            take_record(walk, &record);
    }
    return STK_OK;
}

static void take_long_name(stk__tar_walk *walk, const stk__tar_header *header, uint64_t offset)
{
    char name[STK_TAR_NAME_BYTES + 2];
    if (header->size_bytes >= sizeof name) { /* a zero byte at its end counts */
        refuse_name(walk, header->size_bytes);
        return;
    }
    size_t size = (size_t)header->size_bytes;
    if (!stk__tar_walk_copy(walk, offset + STK_TAR_BLOCK_BYTES, name, size)) return;
    while (size && name[size - 1] == '\0')
        size--;
    set_name(walk, name, size);
}

stk_status stk__tar_extend(stk__tar_walk *walk, const stk__tar_header *header, uint64_t offset,
                           stk_error *error)
{
    if (header->type == 'g') return take_records(walk, header, offset, error); /* about all that follow */
    walk->about.offset = offset;
    if (++walk->about.count > STK_TAR_EXTENSIONS) {
        spoil_next(walk, STK_DAMAGE_BAD_HEADER, "more than %llu headers about one member",
                   STK_TAR_EXTENSIONS);
        return STK_OK;
    }
    if (header->type == 'K') return STK_OK; /* where a link leads to does not matter */
    if (header->type == 'L') {
        take_long_name(walk, header, offset);
        return STK_OK;
    }
    return take_records(walk, header, offset, error);
}
