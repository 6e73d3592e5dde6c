/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the members of a tar file (v7, ustar, pax, GNU) through a small window, reading headers only.
 * Damage becomes a member with a fault, and the walk continues at the next valid header. Input is
 * untrusted (fuzzed); one thread. */
#include "source/shards/tar.h"

#include "core/align.h"
#include "core/utf8.h"
#include "source/shards/tar_header.h"

#include <string.h>

enum { WINDOW_BYTES = 1 << 16, PAGE_BYTES = 4096, NEAR_BYTES = 3 * STK_TAR_BLOCK_BYTES };

stk_status stk__tar_walk_open(stk__tar_walk *walk, const stk__tar_input *input, stk_error *error)
{
    *walk = (stk__tar_walk){.input = *input};
    walk->window = stk__alloc(WINDOW_BYTES);
    return walk->window ? STK_OK : stk__fail_memory(error, WINDOW_BYTES, "a window on a shard");
}

void stk__tar_walk_close(stk__tar_walk *walk)
{
    stk__free(walk->window);
    walk->window = NULL;
    stk__buffer_fini(&walk->records);
}

static uint64_t left_from(const stk__tar_walk *walk, uint64_t offset)
{
    return offset < walk->input.size_bytes ? walk->input.size_bytes - offset : 0;
}

/* A header, the small field behind it and the next header come with one read, which ends where a page ends:
 * the data between headers is not touched. */
static size_t wish_near(uint64_t offset)
{
    return (size_t)((offset + NEAR_BYTES + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES - offset);
}

/* So many bytes at offset, or NULL: the input ends before, or the storage refuses. A new window has `wish`
 * bytes. */
static const uint8_t *look(stk__tar_walk *walk, uint64_t offset, size_t size, size_t wish)
{
    if (walk->failed || left_from(walk, offset) < size) return NULL;
    if (offset < walk->window_offset || offset - walk->window_offset + size > walk->window_bytes) {
        walk->window_offset = offset;
        walk->window_bytes = 0;
        const int64_t got = walk->input.read(walk->input.context, walk->window, wish, offset);
        if (got < 0) walk->failed = (int)-got;
        if (got > 0) walk->window_bytes = (size_t)got;
        if (walk->window_bytes < size) {
            if (got >= 0) walk->input.size_bytes = offset + walk->window_bytes; /* it has shrunk */
            return NULL;
        }
    }
    return walk->window + (offset - walk->window_offset);
}

bool stk__tar_walk_copy(stk__tar_walk *walk, uint64_t offset, void *data, size_t size)
{
    if (size <= NEAR_BYTES) {
        const uint8_t *bytes = look(walk, offset, size, wish_near(offset));
        if (bytes) memcpy(data, bytes, size);
        return bytes != NULL;
    }
    if (walk->failed || left_from(walk, offset) < size) return false;
    const int64_t got = walk->input.read(walk->input.context, data, size, offset);
    if (got < 0) walk->failed = (int)-got;
    return got == (int64_t)size;
}

/* Offset of the first good header at or behind `from`, or the end of the input. */
static uint64_t find_header(stk__tar_walk *walk, uint64_t from)
{
    for (uint64_t at = from;; at += STK_TAR_BLOCK_BYTES) {
        const uint8_t *block = look(walk, at, STK_TAR_BLOCK_BYTES, WINDOW_BYTES);
        if (!block) return walk->input.size_bytes;
        if (stk__tar_header_fits(block)) return at;
    }
}

/* Offset of the first byte that is not zero at or behind `from`, or the end of the input. */
static uint64_t find_content(stk__tar_walk *walk, uint64_t from)
{
    for (uint64_t at = from; left_from(walk, at);) {
        const uint64_t left = left_from(walk, at);
        const size_t size = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        const uint8_t *bytes = look(walk, at, size, size);
        for (size_t i = 0; bytes && i < size; i++)
            if (bytes[i]) return at + i;
        if (!bytes) break;
        at += size;
    }
    return walk->input.size_bytes;
}

/* Makes the bytes from offset to `end` one stretch. The rest of what the storage refuses is one too. */
static stk_status give_stretch(stk__tar_walk *walk, stk__tar_member *member, uint64_t offset, uint64_t end)
{
    member->kind = STK_TAR_STRETCH;
    member->name = "";
    member->name_length = 0;
    member->offset = offset;
    if (walk->failed) {
        char text[64];
        walk->unreadable = true;
        member->damage = STK_DAMAGE_NONE;
        stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_READ_ERROR, "cannot read: %s",
                       strerror_r(walk->failed, text, sizeof text));
        end = walk->input.size_bytes;
        walk->failed = 0;
    }
    member->size_bytes = end - offset;
    walk->next = end;
    return STK_OK;
}

static stk_status take_broken_header(stk__tar_walk *walk, stk__tar_member *member, const uint8_t *block)
{
    static const struct {
        uint8_t bytes[4];
        size_t size;
        const char *name;
    } packers[] = {{{0x1F, 0x8B}, 2, "gzip"},
                   {{0x28, 0xB5, 0x2F, 0xFD}, 4, "zstd"},
                   {{0xFD, '7', 'z', 'X'}, 4, "xz"},
                   {{'B', 'Z', 'h'}, 3, "bzip2"}};
    const uint64_t offset = walk->next;
    for (size_t i = 0; offset == 0 && i < sizeof packers / sizeof packers[0]; i++)
        if (memcmp(block, packers[i].bytes, packers[i].size) == 0)
            stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_UNSUPPORTED,
                           "the shard is compressed with %s: only uncompressed tar files allow random access",
                           packers[i].name);
    stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_BAD_CHECKSUM,
                   "wrong checksum of a tar header");
    return give_stretch(walk, member, offset, find_header(walk, offset + STK_TAR_BLOCK_BYTES));
}

/* Zeros end the archive, if nothing but zeros follows. */
static stk_status take_zeros(stk__tar_walk *walk, stk__tar_member *member)
{
    const uint64_t offset = walk->next, content = find_content(walk, offset);
    if (content == walk->input.size_bytes && !walk->failed) return STK_END;
    stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_BAD_HEADER,
                   "data after the tar end-of-archive marker: a hole, or concatenated shards");
    return give_stretch(walk, member, offset,
                        find_header(walk, content / STK_TAR_BLOCK_BYTES * STK_TAR_BLOCK_BYTES));
}

/* The last bytes are fewer than a header has, or there are none. */
static stk_status take_rest(stk__tar_walk *walk, stk__tar_member *member)
{
    const uint64_t offset = walk->next;
    const bool zeros = !walk->failed && find_content(walk, offset) == walk->input.size_bytes;
    walk->unmarked = left_from(walk, offset) == 0;
    if (zeros && !walk->failed) return STK_END;
    stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_TRUNCATED,
                   "the shard is truncated within a header");
    return give_stretch(walk, member, offset, walk->input.size_bytes);
}

/* Headers about a member, but no member: zeros, or fewer bytes than a header has. */
static stk_status take_forsaken(stk__tar_walk *walk, stk__tar_member *member)
{
    const uint64_t offset = walk->about.offset;
    const bool zeros = left_from(walk, walk->next) >= STK_TAR_BLOCK_BYTES;
    stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_TRUNCATED,
                   "the shard is truncated before the member that a header announces");
    return give_stretch(walk, member, offset, zeros ? walk->next : walk->input.size_bytes);
}

static const char *describe_kind(char type)
{
    switch (type) {
    case '1':
        return "a hard link";
    case '2':
        return "a symbolic link";
    case '3':
        return "a character device";
    case '4':
        return "a block device";
    case '6':
        return "a pipe";
    case 'S':
        return "a sparse file";
    case 'M':
        return "a continued file of another volume";
    default:
        return "a member of unknown type";
    }
}

/* Files are 0, folders 5; D and V are GNU's lists of folders and names of volumes. */
static void judge_kind(const stk__tar_walk *walk, const stk__tar_header *header, stk__tar_member *member)
{
    const char type = header->type;
    if (type == '5' || type == 'D' || type == 'V') {
        member->kind = STK_TAR_FOLDER;
        return;
    }
    member->kind = type == '0' && !walk->about.sparse ? STK_TAR_FILE : STK_TAR_OTHER;
    if (member->kind == STK_TAR_OTHER)
        stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_MEMBER_KIND, "%s",
                       describe_kind(walk->about.sparse ? 'S' : type));
}

static void judge_name(stk__tar_walk *walk, const stk__tar_header *header, stk__tar_member *member)
{
    if (walk->about.unnamed)
        walk->name[0] = '\0';
    else if (!walk->about.has_name)
        memcpy(walk->name, header->name, header->name_length + 1);
    member->name = walk->name;
    member->name_length = strlen(walk->name);
    if (member->name_length == 0)
        stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_BAD_NAME, "a member without a name");
    if (!stk__utf8_valid(walk->name))
        stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_BAD_NAME, "the name is not UTF-8");
}

/* The map of an old sparse member may continue in blocks of its own. */
static uint64_t pass_sparse_map(stk__tar_walk *walk, uint64_t at)
{
    enum { EXTENDED_AT = 504 };
    for (;; at += STK_TAR_BLOCK_BYTES) {
        const uint8_t *block = look(walk, at, STK_TAR_BLOCK_BYTES, WINDOW_BYTES);
        if (!block || !block[EXTENDED_AT]) return at + STK_TAR_BLOCK_BYTES;
    }
}

/* Finds out where the next header is, and what is wrong with the size. */
static void judge_size(stk__tar_walk *walk, const stk__tar_header *header, stk__tar_member *member)
{
    const bool stored = header->type == '0' || header->type > '7';
    const bool known = walk->about.has_size || header->has_size;
    const uint64_t size = walk->about.has_size ? walk->about.size_bytes : header->size_bytes;
    uint64_t data = member->offset + STK_TAR_BLOCK_BYTES;
    walk->next = data;
    if (!stored) return; /* links, devices, folders and pipes have no data, whatever their size says */
    if (header->type == 'S' && header->extended) data = pass_sparse_map(walk, data);
    member->size_bytes = known ? size : 0;
    if (known && size <= left_from(walk, data)) {
        const uint64_t end = data + stk__align_up(size, STK_TAR_BLOCK_BYTES);
        walk->next = end < walk->input.size_bytes ? end : walk->input.size_bytes;
        return;
    }
    walk->next = find_header(walk, data);
    if (!known)
        stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_BAD_HEADER,
                       "the size is negative, too large or not a number");
    else if (walk->next < walk->input.size_bytes)
        stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_BAD_HEADER,
                       "a size of %llu bytes reaches beyond the end of the shard", (unsigned long long)size);
    else
        stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_TRUNCATED,
                       "the shard is truncated after %llu of %llu bytes",
                       (unsigned long long)left_from(walk, data), (unsigned long long)size);
}

/* A folder as v7 wrote it. The header's own name does not count where it is only the beginning of a longer
 * one. */
static bool is_old_folder(const stk__tar_walk *walk, const stk__tar_header *header)
{
    const char *name = walk->about.has_name ? walk->name : header->name;
    const size_t length = strlen(name);
    return header->type == '0' && !walk->about.unnamed && length && name[length - 1] == '/';
}

static stk_status take_member(stk__tar_walk *walk, const stk__tar_header *header, stk__tar_member *member)
{
    member->offset = walk->next;
    if (walk->about.damage != STK_DAMAGE_NONE)
        stk__tar_spoil(&member->damage, member->detail, walk->about.damage, "%s", walk->about.detail);
    judge_kind(walk, header, member);
    judge_name(walk, header, member);
    judge_size(walk, header, member);
    return STK_OK;
}

/* Takes a header about the next member. STK_END: it is broken, and came as a stretch. */
static stk_status take_extension(stk__tar_walk *walk, const stk__tar_header *header, stk__tar_member *member,
                                 stk_error *error)
{
    const uint64_t offset = walk->next, data = offset + STK_TAR_BLOCK_BYTES;
    if (!header->has_size || header->size_bytes > left_from(walk, data)) {
        stk__tar_spoil(&member->damage, member->detail, STK_DAMAGE_BAD_HEADER,
                       "a header about a member reaches beyond the end of the shard");
        give_stretch(walk, member, offset, find_header(walk, data));
        return STK_END;
    }
    STK__TRY(stk__tar_extend(walk, header, offset, error));
    const uint64_t end = data + stk__align_up(header->size_bytes, STK_TAR_BLOCK_BYTES);
    walk->next = end < walk->input.size_bytes ? end : walk->input.size_bytes;
    return STK_OK;
}

stk_status stk__tar_walk_next(stk__tar_walk *walk, stk__tar_member *member, stk_error *error)
{
    *member = (stk__tar_member){.name = ""};
    walk->about = (stk__tar_extension){0};
    for (;;) {
        const uint8_t *block = look(walk, walk->next, STK_TAR_BLOCK_BYTES, wish_near(walk->next));
        const bool zero = block && stk__tar_block_is_zero(block);
        if ((!block || zero) && walk->about.count && !walk->failed) return take_forsaken(walk, member);
        if (!block) return take_rest(walk, member);
        if (zero) return take_zeros(walk, member);
        if (!stk__tar_header_fits(block)) return take_broken_header(walk, member, block);
        stk__tar_header header;
        stk__tar_header_read(block, &header);
        member->check = stk__tar_check(block);
        if (is_old_folder(walk, &header)) header.type = '5';
        if (!stk__tar_extends(header.type)) return take_member(walk, &header, member);
        const stk_status status = take_extension(walk, &header, member, error);
        if (status == STK_END) return STK_OK;
        STK__TRY(status);
    }
}
