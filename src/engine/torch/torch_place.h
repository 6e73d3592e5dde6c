/* SPDX-License-Identifier: Apache-2.0 */
/* Where PyTorch's operators on CPUs write what they return: into the tensor that waits for it.
 *
 *     stk__torch_expect(&s, io->y);         // the next result of its size belongs there
 *     y = STK_TORCH_RUN(&s, "aten::convolution", …);
 *     stk__torch_take_picture(&s, io->y, …);   // nothing is left to do where it lies there already
 *
 * Many operators have no output argument. They allocate through an object that PyTorch lets programs replace
 * (c10::SetCPUAllocator); ours hands out places of our arenas where a result is expected and passes
 * everything else on. So that what a network takes is known before it runs: the arena, and what operators
 * need for themselves for the length of a call. Without it results are allocated as PyTorch likes, and taken
 * over. */
#ifndef STK_ENGINE_TORCH_PLACE_H
#define STK_ENGINE_TORCH_PLACE_H

#include "engine/engine.h"
#include "engine/torch/torch_api.h"

/* Once per process, after PyTorch was opened. false: this PyTorch is not one that it is known to work with,
 * and nothing was changed. library: what dlopen returned. */
bool stk__torch_place_open(void *library, int minor);
/* For plans, which do not open PyTorch: is it a version that this was seen with? */
bool stk__torch_place_knows(stk__torch_version version);

/* Arenas whose places may be handed out; of the host. */
void stk__torch_place_add(const stk__arena *arena);
void stk__torch_place_remove(const stk__arena *arena);

/* This thread expects a result for `place`, an address in an arena. An operator may make copies for itself
 * that have the size of its result: turn is how many of them come before it. Expectations last until
 * `end`. Between `begin` and `end`, a scope, larger pieces of memory come from the room (torch_room.h). */
void stk__torch_place_expect(void *place, size_t size_bytes, int turn);
/* The result is there, at data: nothing more is expected for the place. Returns which turn was its own, if it
 * lies elsewhere; -1: it is not known. */
int stk__torch_place_arrive(const void *place, const void *data);
void stk__torch_place_begin(void);
void stk__torch_place_end(void);

/* For tests: the most that PyTorch had for itself since the last call, beside what it has now. */
int64_t stk__torch_place_most(void);

#endif
