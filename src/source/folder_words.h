/* SPDX-License-Identifier: Apache-2.0 */
/* What the name of a folder says: images, masks, a part of the data set, or both ("train_masks"). */
#ifndef STK_SOURCE_FOLDER_WORDS_H
#define STK_SOURCE_FOLDER_WORDS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum stk__folder_kind {
    STK_FOLDER_PLAIN, /* nothing: a class, perhaps */
    STK_FOLDER_IMAGES,
    STK_FOLDER_MASKS,
    STK_FOLDER_ASIDE,     /* belongs to a known data set, and is read by nobody: SegmentationObject … */
    STK_FOLDER_PART_MASKS /* one mask file per part of a face: CelebAMask-HQ-mask-anno */
} stk__folder_kind;

typedef struct stk__folder_word {
    stk__folder_kind kind;
    uint32_t part; /* STK_SOURCE_TRAIN, _VAL, _TEST; 0: none */
    bool weak;     /* could as well be the name of a class: counts only beside its counterpart, and alone */
} stk__folder_word;

/* In any case, with '-', ' ' or '_' between words; PLAIN and part 0 for all others. */
stk__folder_word stk__folder_word_of(const char *name);

#endif
