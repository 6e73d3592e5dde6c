/* SPDX-License-Identifier: Apache-2.0 */
/* How a folder is to be read: which folders below it hold images, masks and parts. Found by their names
 * (folder_words.h) and a short look into them (folder_look.h), or told by settings; where two readings are
 * possible both are named and opening stops. */
#ifndef STK_SOURCE_LAYOUT_FIND_H
#define STK_SOURCE_LAYOUT_FIND_H

#include "source/source.h"

#include <limits.h>

typedef struct stk__reading {
    uint32_t parts;             /* that folders or VOC's lists name; bits of STK_SOURCE_TRAIN … */
    uint32_t part;              /* that is to be opened; 0: everything, or there are none */
    bool told_parts;            /* data.layout=parts: a folder in a part may be a class called like masks */
    char root[PATH_MAX];        /* the folder of that part, or the whole data set's */
    char part_name[256];        /* its folder as it is spelled, "training"; empty: no folder of its own */
    char siblings[2][PATH_MAX]; /* folders of the other parts that can have classes; empty: none */
    bool pairs;                 /* images and masks */
    char images[PATH_MAX], masks[PATH_MAX]; /* their folders; both may be the same: masks lie beside. Not
                                               pairs: the only folder with images; empty: root itself */
    char skip[256];                         /* a folder in images that is not read: the masks */
    bool part_masks;      /* pairs, but masks has a file for each part of an image: part_masks.c */
    bool voc;             /* VOC's names; only listed images, those without mask left out */
    char lists[PATH_MAX]; /* its folder of lists, train.txt …; empty: none */
    uint64_t others;      /* folders that are not read */
    char other[256];      /* one of them */
    uint64_t strays;      /* images next to the folders that are read */
    char stray[256];
    char unread[256]; /* why what lies beside the images cannot be read, for a refusal; empty: nothing does */
    char unread_plain[256]; /* the same, where images turn out to have no labels */
    char how[160];          /* in words: "images in 'img', masks in 'ann'" */
    bool no_shards;         /* looked for, and there are none */
} stk__reading;

/* The options' root is a folder. Errors: two readings, masks without images, a part that is not there. */
stk_status stk__layout_find(stk__reading *reading, const stk__source_options *options, stk_error *error);

#endif
