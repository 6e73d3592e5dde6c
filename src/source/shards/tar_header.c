/* SPDX-License-Identifier: Apache-2.0 */
/* One tar header block: checksum, octal and GNU base-256 numbers, name and prefix; and one pax record.
 * Pure functions on untrusted bytes. */
#include "source/shards/tar_header.h"

#include "core/hash.h"

#include <string.h>

/* Where the fields lie in a block. */
enum {
    NAME_AT = 0,
    NAME_BYTES = 100,
    SIZE_AT = 124,
    SIZE_BYTES = 12,
    SUM_AT = 148,
    SUM_BYTES = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_BYTES = 155,
    EXTENDED_AT = 482 /* GNU, sparse members only */
};

/* Spaces, octal digits, then nothing but spaces and zeros. */
static bool read_octal(const uint8_t *text, size_t length, uint64_t *number)
{
    size_t at = 0;
    while (at < length && text[at] == ' ')
        at++;
    const size_t first = at;
    uint64_t value = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '7'; at++) {
        if (value >> 60) return false;
        value = value << 3 | (uint64_t)(text[at] - '0');
    }
    if (at == first) return false;
    for (; at < length; at++)
        if (text[at] != ' ' && text[at] != '\0') return false;
    *number = value;
    return true;
}

/* Octal, or with the highest bit set a binary number of all other bits (GNU); negative ones make no sense. */
static bool read_number(const uint8_t *text, size_t length, uint64_t *number)
{
    if (!(text[0] & 0x80)) return read_octal(text, length, number);
    uint64_t value = text[0] & 0x7F;
    for (size_t i = 1; i < length; i++) {
        if (value >> 55) return false; /* also every negative one: its first bytes are 0xFF */
        value = value << 8 | text[i];
    }
    *number = value;
    return true;
}

bool stk__tar_header_fits(const uint8_t block[STK_TAR_BLOCK_BYTES])
{
    uint64_t expected;
    if (!read_octal(block + SUM_AT, SUM_BYTES, &expected)) return false;
    int64_t plain = 0, with_signs = 0;
    for (int i = 0; i < STK_TAR_BLOCK_BYTES; i++) {
        const uint8_t byte = i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : block[i];
        plain += byte;
        with_signs += (int8_t)byte;
    }
    return (int64_t)expected == plain || (int64_t)expected == with_signs;
}

bool stk__tar_block_is_zero(const uint8_t block[STK_TAR_BLOCK_BYTES])
{
    return block[0] == 0 && memcmp(block, block + 1, STK_TAR_BLOCK_BYTES - 1) == 0;
}

uint32_t stk__tar_check(const uint8_t block[STK_TAR_BLOCK_BYTES])
{
    return (uint32_t)stk__digest_of(block, STK_TAR_BLOCK_BYTES).low;
}

static void read_name(const uint8_t *block, stk__tar_header *header)
{
    /* GNU uses the room of the prefix for times, and has another magic. */
    const bool posix = memcmp(block + MAGIC_AT, "ustar", 6) == 0;
    const size_t prefix = posix ? strnlen((const char *)block + PREFIX_AT, PREFIX_BYTES) : 0;
    const size_t length = strnlen((const char *)block + NAME_AT, NAME_BYTES);
    char *at = header->name;
    if (prefix) {
        memcpy(at, block + PREFIX_AT, prefix);
        at += prefix;
        *at++ = '/';
    }
    memcpy(at, block + NAME_AT, length);
    at[length] = '\0';
    header->name_length = (size_t)(at - header->name) + length;
}

void stk__tar_header_read(const uint8_t block[STK_TAR_BLOCK_BYTES], stk__tar_header *header)
{
    header->type = (char)block[TYPE_AT];
    read_name(block, header);
    header->size_bytes = 0;
    header->has_size = read_number(block + SIZE_AT, SIZE_BYTES, &header->size_bytes);
    header->extended = block[EXTENDED_AT] != 0;
    if (header->type == '\0' || header->type == '7') header->type = '0';
}

bool stk__tar_record_take(const char **text, const char *end, stk__tar_record *record)
{
    const char *at = *text;
    uint64_t length = 0;
    for (; at < end && *at >= '0' && *at <= '9' && length <= STK_TAR_RECORDS_BYTES; at++)
        length = length * 10 + (uint64_t)(*at - '0');
    if (at == *text || at == end || *at != ' ' || length > (uint64_t)(end - *text)) return false;
    const char *last = *text + length - 1;
    if (last <= at || *last != '\n') return false;
    record->key = at + 1;
    const char *equals = memchr(record->key, '=', (size_t)(last - record->key));
    if (!equals || equals == record->key) return false;
    record->key_length = (size_t)(equals - record->key);
    record->value = equals + 1;
    record->value_length = (size_t)(last - record->value);
    *text = last + 1;
    return true;
}
