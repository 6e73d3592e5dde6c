/* SPDX-License-Identifier: Apache-2.0 */
/* CelebAMask-HQ: masks that are stored as a file for each part of a face (part_masks.c). */
#ifndef STK_SOURCE_PART_MASKS_H
#define STK_SOURCE_PART_MASKS_H

enum { STK_PART_MASK_NAMES = 19 };

/* Names of the classes; those after the first are the parts, as their files are called. */
extern const char *const stk__part_mask_names[STK_PART_MASK_NAMES];

#endif
