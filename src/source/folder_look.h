/* SPDX-License-Identifier: Apache-2.0 */
/* A short look at one folder: which of the folders in it have telling names, and what lies in one of them.
 * Reads a bounded number of names, so that a folder of a million files costs no second scan. */
#ifndef STK_SOURCE_FOLDER_LOOK_H
#define STK_SOURCE_FOLDER_LOOK_H

#include "source/folder_words.h"

#include <limits.h>
#include <stdbool.h>

enum {
    STK_LOOK_WORDS = 24, /* folders with telling names */
    STK_LOOK_PLAIN = 8,  /* other folders, the first by name */
    STK_LOOK_NAMES = 16384
};

typedef struct stk__looked_folder {
    char name[NAME_MAX + 1];
    stk__folder_word word;
} stk__looked_folder;

typedef struct stk__folder_look {
    stk__looked_folder words[STK_LOOK_WORDS], plain[STK_LOOK_PLAIN]; /* by name */
    int word_count, plain_count;
    uint64_t plain_total; /* all other folders */
    bool images;          /* image files lie in the folder itself */
    uint64_t image_count;
    char image[NAME_MAX + 1]; /* one of them */
    bool shards;              /* .tar files do */
    bool whole;               /* all names were seen */
} stk__folder_look;

/* False: the folder cannot be read, and the look is empty. */
bool stk__folder_look_at(stk__folder_look *look, const char *folder);

/* What the first files below a folder are. A folder that cannot be read counts as one with images: whoever
 * reads it will say why not. */
typedef struct stk__folder_content {
    bool images, tables, shards; /* .jpg .jpeg .png .npy; .csv .jsonl; .tar */
    char other[12];              /* an extension that was met instead: "txt"; empty: none */
    char image[512];             /* the image that was met, below the folder, without extension */
} stk__folder_content;

stk__folder_content stk__folder_content_of(const char *folder);

#endif
