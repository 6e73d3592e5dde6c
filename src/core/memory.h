/* SPDX-License-Identifier: Apache-2.0 */
/* The only way libstoker gets memory: through the process-wide hook (stoker/runtime.h). */
#ifndef STK_CORE_MEMORY_H
#define STK_CORE_MEMORY_H

#include "core/error.h"
#include "stoker/runtime.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed, aligned to 64 bytes; NULL when there is none. size_bytes 0 gives NULL too. */
void *stk__alloc(size_t size_bytes);
void stk__free(void *memory);
/* What stk__alloc has handed out to this thread, less what this thread has given back: for plans, which look
 * at the difference that something makes. */
int64_t stk__alloc_held_bytes(void);

/* Large zeroed pages that cost nothing until they are written; NULL when refused. */
void *stk__map(size_t size_bytes);
void stk__unmap(void *memory, size_t size_bytes);

/* A byte buffer that only grows; what it holds is kept. Owner: whoever embeds it. */
typedef struct stk__buffer {
    uint8_t *data;
    size_t size_bytes; /* in use */
    size_t capacity_bytes;
} stk__buffer;

/* Makes capacity_bytes >= capacity (growing by halves); size_bytes stays. */
stk_status stk__buffer_reserve(stk__buffer *buffer, size_t capacity_bytes, stk_error *error);
stk_status stk__buffer_append(stk__buffer *buffer, const void *data, size_t size_bytes, stk_error *error);
void stk__buffer_fini(stk__buffer *buffer);

/* Appends a zero-terminated text to a buffer used as an arena of texts; *offset is where it starts. */
stk_status stk__buffer_text(stk__buffer *buffer, const char *text, size_t length, size_t *offset,
                            stk_error *error);

char *stk__text_copy(const char *text); /* NULL for NULL or without memory */

#endif
