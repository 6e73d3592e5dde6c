/* MixUp and CutMix: what happens to pairs of finished samples. Partner = position XOR 1 in the epoch, so the
 * result does not depend on batch size, workers or ranks. */
#ifndef STK_LOADER_MIXING_H
#define STK_LOADER_MIXING_H

#include "loader/worker.h"

/* Adds places for the partners that stand in other batches and are needed here. */
void stk__mixing_begin(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream);

/* Mixes all pairs of a slot whose places are all filled. */
void stk__mixing_run(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream);

#endif
