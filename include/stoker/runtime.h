/* SPDX-License-Identifier: Apache-2.0 */
/* Process-wide hooks: where memory comes from and where messages go. Both are optional. */
#ifndef STOKER_RUNTIME_H
#define STOKER_RUNTIME_H

#include "stoker/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory hook. Set it before any other call; threads may allocate at once. alloc returns memory aligned to
 * 64 bytes or NULL; release accepts what alloc gave. map returns large, page-aligned, zeroed memory that
 * costs nothing until it is written (mmap). All of libstoker's own memory comes from here, the memory of the
 * codecs does not. */
typedef struct stk_allocator {
    void *(*alloc)(void *context, size_t size_bytes);
    void (*release)(void *context, void *memory, size_t size_bytes);
    void *(*map)(void *context, size_t size_bytes);                /* NULL: mmap */
    void (*unmap)(void *context, void *memory, size_t size_bytes); /* NULL: munmap */
    void *context;
} stk_allocator;

/* NULL: back to malloc. STK_ERROR_ARGUMENT, and nothing changes, without alloc or release. Threads: one,
 * before any other call of this library, or when all its objects are closed. */
STK_API stk_status stk_allocator_set(const stk_allocator *allocator);

typedef enum stk_log_level { STK_LOG_ERROR, STK_LOG_WARNING, STK_LOG_INFO, STK_LOG_DEBUG } stk_log_level;

/* Receives one line without newline. May be called from any thread; calls never overlap. */
typedef void (*stk_log_sink)(void *context, stk_log_level level, const char *line);

/* sink NULL: silent (default). context goes to every call of the sink and may be NULL. Returns when a call of
 * the sink before has ended. Threads: any, but not from inside a sink. */
STK_API void stk_log_set(stk_log_sink sink, void *context, stk_log_level most);

#ifdef __cplusplus
}
#endif

#endif
