/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a data set, and the words that people use for them: in names of folders (train/,
 * train_masks/), of lists (val.csv) and in the cells of a column (split). The one table of them. */
#ifndef STK_SOURCE_PART_WORDS_H
#define STK_SOURCE_PART_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stk__part_word {
    const char *name; /* small letters */
    uint32_t part;    /* STK_SOURCE_TRAIN, _VAL, _TEST */
    bool folder;      /* in names of folders, too */
} stk__part_word;

enum { STK_PART_WORDS = 8 };
extern const stk__part_word stk__part_words[STK_PART_WORDS];

/* The part of a word, in any case; 0: of none. */
uint32_t stk__part_of_word(const char *text, size_t length);
uint32_t stk__part_of_folder(const char *text, size_t length);

/* "train", "val", "test", as settings and messages have them; NULL for 0. */
const char *stk__part_name(uint32_t part);
uint32_t stk__part_bit(const char *name); /* 0 for NULL and others */

/* The part whose name begins a text ("train_labels.csv", "validation"), or is in it
 * ("instances_val2017.json"); in any case; 0: none, or two are in it. */
uint32_t stk__part_at_start(const char *text);
uint32_t stk__part_inside(const char *text);

/* 0, 1, 2 for STK_SOURCE_TRAIN, _VAL, _TEST. */
static inline uint32_t stk__part_index(uint32_t part)
{
    return part >> 1;
}

#endif
