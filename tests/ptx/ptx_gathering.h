/* SPDX-License-Identifier: Apache-2.0 */
/* Random images and masks in memory, in any layout, and the bytes that the reference makes of them. */
#ifndef PTX_GATHERING_H
#define PTX_GATHERING_H

#include "ptx/ptx_rig.h"

enum { PTX_MOST_GATHERED = 3 };

/* All zero at first. */
typedef struct ptx_gather_trial {
    ptx_gathering gathering;
    stk__kernel_gather sources[PTX_MOST_GATHERED];
    stk__buffer images, masks, arena, expected;
    size_t arena_bytes;
    uint32_t wrong[2 * PTX_MOST_GATHERED], expected_wrong[2 * PTX_MOST_GATHERED];
    uint8_t table[256];
} ptx_gather_trial;

/* Every fourth seed has values that are no pixels. */
stk_status ptx_gather_trial_make(ptx_gather_trial *trial, uint64_t seed, uint32_t side_px, stk_error *error);
void ptx_gather_trial_fini(ptx_gather_trial *trial);

/* Are the bytes and the wrong values as expected, and nothing between them written? */
bool ptx_gather_trial_matches(const ptx_gather_trial *trial);

#endif
