/* SPDX-License-Identifier: Apache-2.0 */
/* Built kernels on disk, found by a hash of everything they depend on. Files can be deleted at any time; one
 * that is corrupt or of another user counts as absent. */
#ifndef STK_DEVICE_PROGRAM_CACHE_H
#define STK_DEVICE_PROGRAM_CACHE_H

#include "core/hash.h"
#include "core/memory.h"

/* Of texts: kernel text, options, device, driver. */
stk__digest stk__program_key(const char *const *texts, size_t count);

/* True: program holds the bytes that were saved under key. Never fails: an unreadable entry counts as absent.
 */
bool stk__program_load(stk__digest key, stk__buffer *program);

/* A folder that cannot be written or a full disk costs a warning and the next start some time. */
void stk__program_save(stk__digest key, const void *bytes, size_t size_bytes);

/* The most informative line of a compiler's log; logs are pages long. */
const char *stk__program_complaint(const char *log, int *length);

#endif
