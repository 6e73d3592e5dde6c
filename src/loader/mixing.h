/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix: what happens to pairs of finished samples. Partner = position XOR 1 in the epoch, so the
 * result does not depend on batch size, workers or ranks. */
#ifndef STK_LOADER_MIXING_H
#define STK_LOADER_MIXING_H

#include "loader/worker.h"

/* Adds places for the partners that stand in other batches and are needed here. */
void stk__mixing_begin(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream);

/* Mixes all pairs of a slot whose places are all filled. */
void stk__mixing_run(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream);

/* The same for a device that has the pixels: facts are mixed here, and list [places of the slot] tells what
 * is to be done to pixels, blanking those of samples that were left out. How many entries there are. */
uint64_t stk__mixing_list(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream,
                          stk__kernel_mix *list);

#endif
