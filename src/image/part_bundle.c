/* SPDX-License-Identifier: Apache-2.0 */
/* Several files into one buffer: a table in front, then path and bytes of each. The buffer may move while it
 * grows, so the table has offsets. Re-entrant: no state. */
#include "image/part_bundle.h"

#include "core/file.h"

#include <assert.h>
#include <string.h>

enum { LOOKAHEAD_BYTES = 64 };

const char stk__part_bundle_extension[] = "parts";

stk_status stk__part_bundle_begin(stk__buffer *buffer, stk_error *error)
{
    const stk__part_bundle none = {0};
    buffer->size_bytes = 0;
    return stk__buffer_append(buffer, &none, sizeof none, error);
}

stk_status stk__part_bundle_add(stk__buffer *buffer, uint8_t id, const char *path, uint64_t limit_bytes,
                                stk_error *error)
{
    const size_t path_at = buffer->size_bytes;
    STK__TRY(stk__buffer_append(buffer, path, strlen(path) + 1, error));
    const size_t data_at = buffer->size_bytes;
    STK__TRY(stk__file_append(path, limit_bytes, buffer, error));
    const size_t size_bytes = buffer->size_bytes - data_at;
    buffer->size_bytes += LOOKAHEAD_BYTES; /* zeros that the reader has left behind the file */
    stk__part_bundle *bundle = (stk__part_bundle *)(void *)buffer->data;
    assert(bundle->count < STK_BUNDLE_PARTS);
    bundle->part[bundle->count].path = path_at;
    bundle->part[bundle->count].data = data_at;
    bundle->part[bundle->count].size_bytes = size_bytes;
    bundle->part[bundle->count++].id = id;
    return STK_OK;
}
