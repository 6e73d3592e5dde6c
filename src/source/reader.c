/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a file one by one through a 64 KiB window, with seek: lists may be larger than memory. Only
 * regular files; one thread. */
#include "source/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 1 << 16 };

int stk__byte_reader_refill(stk__byte_reader *reader)
{
    ssize_t got;
    do
        got = pread(reader->file, reader->window, WINDOW_BYTES, (off_t)reader->offset);
    while (got < 0 && errno == EINTR);
    if (got < 0) reader->failed = errno;
    reader->at = reader->filled = 0;
    if (got <= 0) return STK_BYTE_READER_END;
    reader->filled = (size_t)got;
    reader->offset += (uint64_t)got;
    return reader->window[reader->at++];
}

void stk__byte_reader_seek(stk__byte_reader *reader, uint64_t offset)
{
    if (offset <= reader->offset && reader->offset - offset <= reader->filled) {
        reader->at = reader->filled - (size_t)(reader->offset - offset);
        return;
    }
    reader->offset = offset;
    reader->at = reader->filled = 0;
}

static stk_status refuse_file(const char *path, int error_number, stk_error *error)
{
    const stk_status status = stk__fail_errno(error, error_number, "cannot read '%s'", path);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "a list or series must be a readable regular file");
    return status;
}

/* Spreadsheets save it when asked for "Unicode text". */
static stk_status refuse_utf16(const char *path, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' is UTF-16 text; lists and series must be UTF-8", path);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "iconv -f UTF-16 -t UTF-8 FILE > NEW, or save it as \"CSV UTF-8\"");
    return STK_ERROR_DATA;
}

static bool starts_with(const stk__byte_reader *reader, const char *mark)
{
    return reader->filled >= strlen(mark) && memcmp(reader->window, mark, strlen(mark)) == 0;
}

static stk_status open_regular(stk__byte_reader *reader, const char *path, stk_error *error)
{
    struct stat facts;
    if (reader->file < 0 || fstat(reader->file, &facts) != 0) return refuse_file(path, errno, error);
    if (!S_ISREG(facts.st_mode)) return refuse_file(path, S_ISDIR(facts.st_mode) ? EISDIR : EINVAL, error);
    reader->window = stk__alloc(WINDOW_BYTES);
    if (!reader->window) return stk__fail_memory(error, WINDOW_BYTES, "a window on a file");
    stk__byte_reader_refill(reader);
    if (starts_with(reader, "\xFF\xFE") || starts_with(reader, "\xFE\xFF")) return refuse_utf16(path, error);
    stk__byte_reader_seek(reader, starts_with(reader, "\xEF\xBB\xBF") ? 3 : 0);
    return reader->failed ? refuse_file(path, reader->failed, error) : STK_OK;
}

stk_status stk__byte_reader_open(stk__byte_reader *reader, const char *path, stk_error *error)
{
    /* Without O_NONBLOCK a pipe of that name would hold us up for ever. */
    *reader = (stk__byte_reader){.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    const stk_status status = open_regular(reader, path, error);
    if (status != STK_OK) stk__byte_reader_close(reader);
    return status;
}

void stk__byte_reader_close(stk__byte_reader *reader)
{
    if (!reader->window && reader->file <= 0) return;
    if (reader->file >= 0) close(reader->file);
    stk__free(reader->window);
    *reader = (stk__byte_reader){.file = -1};
}
