/* SPDX-License-Identifier: Apache-2.0 */
/* Small data sets on disk for tests of the loader, below a folder of the test's own. Everything stops the
 * test when it goes wrong. */
#ifndef SAMPLE_SET_H
#define SAMPLE_SET_H

#include "core/hash.h"
#include "stoker/loader.h"

#include <stddef.h>

typedef struct dataset {
    char root[256];
} dataset;

/* images/0000.jpg … and masks/0000.png …, of w x h, ids below 5. */
dataset dataset_pairs(int count, int w, int h);
/* The same as CelebAMask-HQ has it: CelebA-HQ-img/0.jpg …, and for each masks of three parts. */
dataset dataset_part_masks(int count, int w, int h);
/* Images of alternating sizes; no masks. */
dataset dataset_mixed_sizes(int count);
/* Series of rows with 3 features and a target. */
dataset dataset_series(int rows);
dataset dataset_empty(void);
void dataset_remove(dataset *set);

/* Reads until STK_END and returns the digest; *samples may be NULL. Fails the test on any error. */
stk__digest dataset_digest(stk_loader *loader, uint64_t *samples);

#endif
