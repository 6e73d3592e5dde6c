/* SPDX-License-Identifier: Apache-2.0 */
/* A mask that is stored as several files, one for each part: their encoded bytes in one buffer, which travels
 * from a source to a decoder as the bytes of one file would. Lives in memory only. */
#ifndef STK_IMAGE_PART_BUNDLE_H
#define STK_IMAGE_PART_BUNDLE_H

#include "core/memory.h"

enum { STK_BUNDLE_PARTS = 32 };

/* What a source gives as the extension of a bundle. It is recognized by its address, not by its text: no file
 * can pretend to be one. */
extern const char stk__part_bundle_extension[];

/* Stands at the beginning of the buffer. Offsets count from there. */
typedef struct stk__part_bundle {
    uint32_t count;
    struct {
        uint64_t path;             /* offset of a zero-terminated text */
        uint64_t data, size_bytes; /* the file, followed by 64 zero bytes */
        uint8_t id;                /* class that it paints */
    } part[STK_BUNDLE_PARTS];      /* in the order of painting: later ones paint over earlier ones */
} stk__part_bundle;

/* Empties the buffer and begins a bundle; adds the file at path to it. Damages as of stk__file_read. */
stk_status stk__part_bundle_begin(stk__buffer *buffer, stk_error *error);
stk_status stk__part_bundle_add(stk__buffer *buffer, uint8_t id, const char *path, uint64_t limit_bytes,
                                stk_error *error);

static inline const stk__part_bundle *stk__part_bundle_at(const uint8_t *data)
{
    return (const stk__part_bundle *)(const void *)data; /* buffers are aligned */
}

#endif
