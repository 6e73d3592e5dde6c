/* SPDX-License-Identifier: Apache-2.0 */
/* A batch that lies in a device's memory, copied to the host: for digests and for looking at it. Slow. */
#ifndef STK_LOADER_HOST_COPY_H
#define STK_LOADER_HOST_COPY_H

#include "core/memory.h"
#include "stoker/batch.h"

/* copy has the same tensors, those of the device in memory, which only grows. A batch of the host is not
 * copied: copy then points to its memory. */
stk_status stk__host_copy(const stk_batch *batch, stk__buffer *memory, stk_batch *copy, stk_error *error);

#endif
