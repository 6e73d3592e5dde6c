/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory for batch slots: pages that cost nothing until they are written. */
#ifndef STK_DEVICE_HOST_H
#define STK_DEVICE_HOST_H

#include "core/memory.h"

typedef struct stk__host_memory {
    uint8_t *data;
    size_t size_bytes;
} stk__host_memory;

size_t stk__host_pages(size_t size_bytes); /* rounded up to whole pages */

/* Reserves zeroed memory in whole pages of its own, which can be pinned as they are; the first touched_bytes
 * are expected to be used fully (large pages). */
stk_status stk__host_reserve(stk__host_memory *memory, size_t size_bytes, size_t touched_bytes,
                             stk_error *error);
void stk__host_release(stk__host_memory *memory);

#endif
