/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of a root with telling names, by part and kind, and which part of it is to be opened. Used by
 * layout_find.c alone. */
#ifndef STK_SOURCE_LAYOUT_TABLE_H
#define STK_SOURCE_LAYOUT_TABLE_H

#include "source/folder_look.h"
#include "source/kinds.h"
#include "source/layout_find.h"

enum { STK_CELL_ALL, STK_CELL_TRAIN, STK_CELL_VAL, STK_CELL_TEST, STK_CELL_PARTS };

typedef struct stk__layout_table {
    char root[PATH_MAX];
    stk__folder_look look;
    const stk__looked_folder *cell[STK_CELL_PARTS][STK_FOLDER_MASKS + 1]; /* into look.words */
    const stk__looked_folder *rival[2];   /* two folders for the same cell, both with images */
    const stk__looked_folder *aside;      /* called like masks, but it holds other files: */
    char aside_extension[12];             /* "txt" */
    const stk__looked_folder *part_masks; /* CelebAMask-HQ's */
    bool in_part;                         /* root is the folder of a part: hints must name it */
    uint32_t parts;                       /* that have data; bits of STK_SOURCE_TRAIN … */
} stk__layout_table;

void stk__layout_table_fill(stk__layout_table *table, const char *root);

/* Counts the folders that a reading does not use: all but those of parts, or but these two. */
void stk__layout_count_others(stk__reading *reading, const stk__layout_table *table,
                              const stk__looked_folder *images, const stk__looked_folder *masks);

int stk__layout_cell(uint32_t part);
bool stk__layout_table_has_pair(const stk__layout_table *table);
bool stk__layout_table_has_classes(const stk__layout_table *table); /* folders of images without such names */
bool stk__layout_table_has_named(const stk__layout_table *table, const stk__source_options *options);

/* "parts of a data set in 'train' and 'val'" */
void stk__layout_print_parts(const stk__layout_table *table, char text[160]);

/* Sets reading->parts and the part to open; 0: everything. */
stk_status stk__layout_choose_part(stk__reading *reading, const stk__source_options *options,
                                   const stk__layout_table *table, stk_error *error);
/* Everything was asked for, but parts in folders of their own are opened one by one. */
stk_status stk__layout_refuse_all(const stk__layout_table *table, stk_error *error);
/* train/ that holds nothing but train/ again, as archives unpack. */
stk_status stk__layout_enter_again(stk__reading *reading, const stk__layout_table *table, stk_error *error);

/* A folder that holds nothing but one folder, which looks like a data set. */
stk_status stk__layout_refuse_wrapped(const stk__layout_table *table, stk_error *error);

/* VOC: parts are files of names in ImageSets/Segmentation. */
stk_status stk__layout_find_voc(stk__reading *reading, const stk__source_options *options, const char *root,
                                stk_error *error);

#endif
