/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for what PyTorch's operators allocate for themselves while they run on CPUs: copies of weights, rows
 * of a loss. One piece for the process, as large as the operation that needs most
 * (stk__op_needs.inside_bytes); all of it is free again when an operation has ended. In malloc's heap the
 * same would leave holes around the little things that stay. */
#ifndef STK_ENGINE_TORCH_ROOM_H
#define STK_ENGINE_TORCH_ROOM_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* An engine that uses it opens it; the last one to close gives the memory back. */
void stk__torch_room_open(void);
void stk__torch_room_close(void);

/* At least so many bytes from now on. Where some of it is in use, it stays as it is. */
stk_status stk__torch_room_grow(size_t size_bytes, stk_error *error);

/* The lowest place that is free; NULL: there is none. On any thread. */
void *stk__torch_room_take(size_t size_bytes);
bool stk__torch_room_has(const void *memory);
/* Returns its size; 0: the memory is not of this room. */
size_t stk__torch_room_give(const void *memory);

#endif
