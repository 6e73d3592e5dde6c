/* SPDX-License-Identifier: Apache-2.0 */
/* Random mixing of a trial's batch, and what the reference makes of it. */
#ifndef PTX_MIXING_H
#define PTX_MIXING_H

#include "device/trial.h"
#include "ptx/ptx_rig.h"

enum { PTX_MOST_MIXES = 4 };

/* All zero at first. */
typedef struct ptx_mix_trial {
    ptx_mixing mixing; /* its batch is the trial's, whose target holds finished samples */
    stk__kernel_mix mixes[PTX_MOST_MIXES];
    stk__buffer mask2, expected_mask2; /* with guards around them */
} ptx_mix_trial;

/* The trial's expectation becomes the one after mixing. */
stk_status ptx_mix_trial_make(ptx_mix_trial *mix, stk__trial *trial, uint64_t seed, stk_error *error);
void ptx_mix_trial_fini(ptx_mix_trial *mix);

/* Is mask2 as expected, and nothing around it written? */
bool ptx_mix_trial_matches(const ptx_mix_trial *mix);

#endif
