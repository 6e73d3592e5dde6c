/* SPDX-License-Identifier: Apache-2.0 */
/* Writes tar members to memory: ustar headers, a pax record where a name is too long. No owner, no time:
 * the same members always give the same bytes. */
#include "pack/tar_blocks.h"

#include "source/shards/shard.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The header of POSIX ustar: one block. */
typedef struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
    char type, linkname[100], magic[6], version[2], uname[32], gname[32], major[8], minor[8];
    char prefix[155], unused[12];
} header;

_Static_assert(sizeof(header) == STK_TAR_BLOCKS_EACH_BYTES, "a header is one block");

enum { TYPE_FILE = '0', TYPE_PAX = 'x', TYPE_GLOBAL = 'g' };

static void put_octal(char *field, size_t size, uint64_t value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

/* Six digits, a zero, a blank; summed up with blanks in its own place. */
static void put_checksum(header *head)
{
    unsigned sum = 0;
    memset(head->checksum, ' ', sizeof head->checksum);
    for (size_t i = 0; i < sizeof *head; i++)
        sum += ((const unsigned char *)head)[i];
    put_octal(head->checksum, sizeof head->checksum - 1, sum);
}

/* True when the path fits: into name, or cut at a '/' into prefix and name. Else name gets its beginning. */
static bool put_path(header *head, const char *path)
{
    const size_t length = strlen(path);
    if (length <= sizeof head->name) {
        memcpy(head->name, path, length);
        return true;
    }
    const size_t least = length - sizeof head->name - 1; /* where the cut may be at the earliest */
    for (size_t cut = least; cut <= sizeof head->prefix && cut + 1 < length; cut++) {
        if (path[cut] != '/' || cut == 0) continue;
        memcpy(head->prefix, path, cut);
        memcpy(head->name, path + cut + 1, length - cut - 1);
        return true;
    }
    memcpy(head->name, path, sizeof head->name);
    return false;
}

static header make_header(char type, uint64_t size_bytes)
{
    header head = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    put_octal(head.mode, sizeof head.mode, 0644);
    put_octal(head.uid, sizeof head.uid, 0);
    put_octal(head.gid, sizeof head.gid, 0);
    put_octal(head.size, sizeof head.size, size_bytes);
    put_octal(head.mtime, sizeof head.mtime, STK_SHARD_TIME_S);
    put_octal(head.major, sizeof head.major, 0);
    put_octal(head.minor, sizeof head.minor, 0);
    return head;
}

/* A header and its data, filled up to whole blocks. */
static stk_status append(stk__buffer *tar, header *head, const void *data, size_t size_bytes,
                         stk_error *error)
{
    static const uint8_t zeros[STK_TAR_BLOCKS_EACH_BYTES];
    put_checksum(head);
    STK__TRY(stk__buffer_append(tar, head, sizeof *head, error));
    STK__TRY(stk__buffer_append(tar, data, size_bytes, error));
    const size_t rest = size_bytes % STK_TAR_BLOCKS_EACH_BYTES;
    return rest ? stk__buffer_append(tar, zeros, sizeof zeros - rest, error) : STK_OK;
}

/* "LENGTH keyword=value\n": the length counts its own digits too. */
static size_t record_bytes(const char *keyword, const char *value)
{
    const size_t bare = strlen(keyword) + strlen(value) + 3;
    size_t digits = 1;
    for (size_t most = 10; bare + digits >= most; most *= 10)
        digits++;
    return bare + digits;
}

static stk_status append_record(stk__buffer *tar, char type, const char *keyword, const char *value,
                                stk_error *error)
{
    const size_t size = record_bytes(keyword, value);
    header head = make_header(type, size);
    put_path(&head, type == TYPE_GLOBAL ? "pax_global_header" : "pax_header");
    put_checksum(&head);
    STK__TRY(stk__buffer_append(tar, &head, sizeof head, error));
    const size_t whole =
        (size + STK_TAR_BLOCKS_EACH_BYTES - 1) / STK_TAR_BLOCKS_EACH_BYTES * STK_TAR_BLOCKS_EACH_BYTES;
    STK__TRY(stk__buffer_reserve(tar, tar->size_bytes + whole + 1, error)); /* snprintf ends with a zero */
    char *out = (char *)tar->data + tar->size_bytes;
    memset(out, 0, whole);
    snprintf(out, whole + 1, "%zu %s=%s\n", size, keyword, value);
    tar->size_bytes += whole;
    return STK_OK;
}

stk_status stk__tar_blocks_begin(stk__buffer *tar, stk_error *error)
{
    return append_record(tar, TYPE_GLOBAL, STK_SHARD_KEYS_RECORD, STK_SHARD_KEYS_ESCAPED, error);
}

stk_status stk__tar_blocks_add(stk__buffer *tar, const char *path, const void *data, size_t size_bytes,
                               stk_error *error)
{
    assert(size_bytes <= STK_TAR_BLOCKS_MEMBER_BYTES);
    header head = make_header(TYPE_FILE, size_bytes);
    if (!put_path(&head, path)) STK__TRY(append_record(tar, TYPE_PAX, "path", path, error));
    return append(tar, &head, data, size_bytes, error);
}

stk_status stk__tar_blocks_end(stk__buffer *tar, stk_error *error)
{
    static const uint8_t zeros[STK_TAR_BLOCKS_END_BYTES];
    return stk__buffer_append(tar, zeros, sizeof zeros, error);
}
