/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a regular file one by one, through a window: lists may be larger than memory. */
#ifndef STK_SOURCE_READER_H
#define STK_SOURCE_READER_H

#include "core/memory.h"

typedef struct stk__byte_reader {
    int file;
    int failed;      /* errno of a failed read; the bytes end there */
    uint64_t offset; /* in the file, of the byte behind the window */
    size_t at, filled;
    uint8_t *window;
} stk__byte_reader;

enum { STK_BYTE_READER_END = -1 };

/* Opens path; a UTF-8 byte order mark at the start is passed over, UTF-16 is refused (STK_ERROR_DATA).
 * STK_ERROR_IO with place. */
stk_status stk__byte_reader_open(stk__byte_reader *reader, const char *path, stk_error *error);
void stk__byte_reader_close(stk__byte_reader *reader); /* accepts one that failed to open, or was closed */

int stk__byte_reader_refill(stk__byte_reader *reader); /* the slow half of next */

/* The next byte, or STK_BYTE_READER_END. */
static inline int stk__byte_reader_next(stk__byte_reader *reader)
{
    return reader->at < reader->filled ? reader->window[reader->at++] : stk__byte_reader_refill(reader);
}

static inline uint64_t stk__byte_reader_tell(const stk__byte_reader *reader)
{
    return reader->offset - (reader->filled - reader->at);
}

void stk__byte_reader_seek(stk__byte_reader *reader, uint64_t offset);

#endif
