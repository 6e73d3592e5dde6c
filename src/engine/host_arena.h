/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas in the memory of the host, for engines that compute there. */
#ifndef STK_ENGINE_HOST_ARENA_H
#define STK_ENGINE_HOST_ARENA_H

#include "engine/engine.h"

/* As stk__engine_ops has them. Pages cost nothing until they are written … */
stk_status stk__host_arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                  stk_error *error);
/* … or are there at once, for engines that will write all of them. */
stk_status stk__host_arena_create_backed(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                         stk_error *error);
void stk__host_arena_destroy(stk__arena *arena);

#endif
