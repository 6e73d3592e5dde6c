/* SPDX-License-Identifier: Apache-2.0 */
/* A random batch and what the reference makes of it: for `stoker devices` and for tests. */
#ifndef STK_DEVICE_TRIAL_H
#define STK_DEVICE_TRIAL_H

#include "device/cpu/augment_pass.h"

typedef struct stk__trial {
    stk__augment_batch batch; /* its target holds garbage until it is augmented */
    size_t image_bytes, mask_bytes;
    uint8_t *expected_image, *expected_mask; /* by the reference */
    stk__buffer blocks, images, masks, arena, output, expected, scratch;
} stk__trial;

/* Everything is drawn from seed: sizes up to most_side, pitches, formats, layouts, samples with any choice of
 * operations. The memory of an earlier trial is used again; at first all zero. */
stk_status stk__trial_make(stk__trial *trial, uint64_t seed, int32_t most_side, stk_error *error);
void stk__trial_fini(stk__trial *trial);

typedef struct stk__trial_result {
    uint64_t values, differing; /* of images and masks */
    uint64_t first;             /* byte of the first difference, the mask behind the image */
    bool overrun;               /* something was written outside the output */
} stk__trial_result;

/* Compares the target with what is expected, bit by bit. */
stk__trial_result stk__trial_compare(const stk__trial *trial);

/* Rubbish into the target again. */
void stk__trial_spoil(stk__trial *trial);

#endif
