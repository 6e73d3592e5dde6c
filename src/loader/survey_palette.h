/* SPDX-License-Identifier: Apache-2.0 */
/* What the palettes of masks say about an index: the smallest and the largest of its colors, over the masks
 * that use it. They differ if two masks mean different things by it; the order of the masks does not matter.
 */
#ifndef STK_LOADER_SURVEY_PALETTE_H
#define STK_LOADER_SURVEY_PALETTE_H

#include "decode/decode.h"

typedef struct stk__survey_palette {
    uint64_t masks[256];                    /* with a palette, that use the index */
    uint32_t low[256], high[256];           /* colors, 0xrrggbb */
    uint64_t low_mask[256], high_mask[256]; /* smallest id of the samples with this color */
} stk__survey_palette;

/* used[index]: pixels of that index in the mask. A file without palette changes nothing. */
void stk__survey_palette_note(stk__survey_palette *palette, stk__encoded bytes, const uint64_t used[256],
                              uint64_t sample);
void stk__survey_palette_add(stk__survey_palette *sum, const stk__survey_palette *more);

/* The first index with more than one color; -1: there is none. */
int stk__survey_palette_conflict(const stk__survey_palette *palette);

#endif
