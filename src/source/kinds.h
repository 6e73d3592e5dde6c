/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of sources, each opened by its own file, and what source.c found out about a root for them. */
#ifndef STK_SOURCE_KINDS_H
#define STK_SOURCE_KINDS_H

#include "source/layout_find.h"
#include "source/part_words.h"

typedef struct stk__site {
    const stk__source_options *options;
    const stk__reading *reading;  /* of a folder; NULL for files */
    char root[PATH_MAX];          /* the folder that holds everything; of a part, the part's */
    char file[PATH_MAX];          /* list, series, shard or range of shards; empty for folders */
    char sibling[PATH_MAX];       /* the other part's folder; empty without parts */
    uint32_t list_parts;          /* parts that have lists of their own; 0: none, or one list for all */
    char part_files[3][PATH_MAX]; /* these lists, by stk__part_index */
} stk__site;

/* Bits of the parts that have folders or lists of their own; 0 for files. */
static inline uint32_t stk__site_parts(const stk__site *site)
{
    return site->reading ? site->reading->parts : 0;
}

/* The images lie in one folder, called like that: keys begin there, and folders in it are not classes. */
static inline bool stk__site_only_images(const stk__site *site)
{
    return site->reading && !site->reading->pairs && *site->reading->images;
}

stk_status stk__pairs_open(stk__source **source, const stk__site *site, stk_error *error);
stk_status stk__part_masks_open(stk__source **source, const stk__site *site, stk_error *error);
stk_status stk__folder_open(stk__source **source, const stk__site *site, stk_error *error);
stk_status stk__list_open(stk__source **source, const stk__site *site, stk_error *error);
stk_status stk__series_open(stk__source **source, const stk__site *site, stk_error *error);
/* site->file: one shard or a range; empty: all that lie in the root. */
stk_status stk__shards_open(stk__source **source, const stk__site *site, stk_error *error);

/* make:KIND or make:KIND?count=N&seed=S. A series is cut into windows of options->window_rows (0: 60). */
stk_status stk__made_open(stk__source **source, const stk__source_options *options, stk_error *error);

/* The functions of a program (caller.c), copied. The context is closed by stk__source_close only after
 * stk__caller_own. */
stk_status stk__caller_open(stk__source **source, const stk_dataset *dataset, uint64_t limit_bytes,
                            stk_error *error);
void stk__caller_own(stk__source *source);

/* True when the first rows of site->file (.csv, .tsv, .txt) name files; else it may be a series. */
stk_status stk__list_fits(const stk__site *site, bool *fits, stk_error *error);

/* Whether images (sorted, of a scan of folder) have JSON files with points beside them: then
 * stk__list_open without site->file reads them. */
struct stk__catalog;
stk_status stk__list_fits_beside(const struct stk__catalog *images, uint64_t json_count, const char *folder,
                                 bool *fits, stk_error *error);

/* Which list a folder has, by a table of names, into site->file; two that fit are refused. */
stk_status stk__list_find(stk__site *site, bool *found, stk_error *error);

/* Lists for the parts of a data set (list_files.c): of part_files the one that the options ask for into
 * site->file, and list_parts; "'train.csv' and 'val.csv'". */
stk_status stk__site_choose_list(stk__site *site, stk_error *error);
void stk__site_print_lists(const stk__site *site, char *text, size_t size);

/* COCO's JSON with key points (coco_find.c): a file; the one of a folder into site->file; a name of the
 * folders that such files lie in. */
stk_status stk__coco_has_points(const char *path, bool *found, stk_error *error);
stk_status stk__coco_find(stk__site *site, bool *found, stk_error *error);
bool stk__coco_is_folder(const char *name);

/* Formats of other programs (unsupported_formats.c): STK_ERROR_DATA with what it is and how to convert it; a
 * file always, a folder only when it has such annotations and nothing else that could be read. */
stk_status stk__unsupported_refuse_file(const char *path, stk_error *error);
stk_status stk__unsupported_refuse_folder(const char *root, stk_error *error);
const char *stk__unsupported_hint(const char *extension); /* how to convert such files; NULL: unknown */

/* Shards: called like one; at the top of a folder; the brace where the first range begins in a path such as
 * x-{000..012}.tar, or NULL. */
bool stk__shards_named(const char *name);
bool stk__shards_fit(const char *folder);
const char *stk__shards_range(const char *path);

/* "folder/name" in a buffer of PATH_MAX; false when it does not fit. */
bool stk__path_join(char path[PATH_MAX], const char *folder, const char *name);
bool stk__path_is_folder(const char *path);
bool stk__path_is_file(const char *path); /* there, and not a folder */

#endif
