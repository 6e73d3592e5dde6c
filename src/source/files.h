/* SPDX-License-Identifier: Apache-2.0 */
/* What folder, pairs and list share: a catalog of image files below a folder. */
#ifndef STK_SOURCE_FILES_H
#define STK_SOURCE_FILES_H

#include "source/classes.h"
#include "source/pair_rules.h"
#include "source/scan.h"

typedef struct stk__files {
    stk__source source;   /* first: ops hand out its address */
    stk__catalog catalog; /* sorted: the index of an entry is the id of the sample */
    stk__classes classes;
    char *images, *masks; /* folders; masks NULL without */
    uint64_t limit_bytes;
    stk__pair_rule rule; /* from an image's name to its mask's */
    char layout[320];
} stk__files;

static inline const stk__files *stk__files_of(const stk__source *source)
{
    return (const stk__files *)(const void *)source;
}

/* Folders and layout; images and masks are names below the site's root or absolute paths, "" is the root,
 * NULL none. */
stk_status stk__files_init(stk__files *files, const stk__site *site, const char *images, const char *masks,
                           stk_error *error);
void stk__files_describe(stk__files *files, const stk__site *site, const char *layout);

/* Tells files by extension, how they were found, and what of the scanned folders is not used. */
void stk__files_tell(stk__files *files, const stk__site *site);
void stk__files_leave_out(stk__source_info *info, const stk__scan *scan);

/* Sorts the catalog, fills count and fingerprint. An empty catalog is the caller's to refuse. */
stk_status stk__files_finish(stk__files *files, stk_error *error);

/* The same of a catalog that is sorted. */
stk_status stk__files_count(stk__files *files, stk_error *error);

/* STK_ERROR_DATA when two files have the same key, naming both. */
stk_status stk__files_refuse_duplicates(const stk__catalog *catalog, const char *folder, stk_error *error);

/* "folder/key.extension", cut to size. */
void stk__files_path(const stk__catalog *catalog, const stk__entry *entry, const char *folder, char *text,
                     size_t size);
const char *stk__files_extension(const stk__catalog *catalog, const stk__entry *entry);

/* Operations; facts gives the class number in the entry's row. */
stk_status stk__files_read_image(const stk__source *source, uint64_t id, stk__buffer *buffer,
                                 const char **extension, stk_error *error);
void stk__files_key(const stk__source *source, uint64_t id, char *text, size_t size);
/* Of sources whose `where` names a file. */
bool stk__files_stamp(const stk__source *source, uint64_t id, stk__field field, stk__file_stamp *stamp);
void stk__files_fini(stk__files *files); /* all but the struct itself */

#endif
