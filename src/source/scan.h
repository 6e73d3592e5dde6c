/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a tree of folders and collects its samples. Hidden names and folders of the system are passed over;
 * links are followed, but no folder is entered twice; whatever is called like an image is a sample, even a
 * folder or a pipe: reading it will say what it is. */
#ifndef STK_SOURCE_SCAN_H
#define STK_SOURCE_SCAN_H

#include "source/catalog.h"

#include <limits.h>

/* Folders that operating systems and NAS make by themselves: @eaDir, __MACOSX, … */
bool stk__scan_is_system(const char *name);

/* Passed over: hidden, or of the system. */
static inline bool stk__scan_skips(const char *name)
{
    return *name == '.' || stk__scan_is_system(name);
}

enum { STK_SCAN_STRANGERS = 16, STK_SCAN_STRANGER_BYTES = 12 };

typedef struct stk__scan {
    stk__catalog samples; /* keys below the folder, extensions set; unsorted */
    uint64_t stop_after;  /* samples that are enough; 0: all */
    const char *skip;     /* a folder at the top that is not entered; NULL: none */
    uint64_t runs;        /* folders of `stoker train`, which are not entered: pictures in them are its own */
    char run[256];        /* one of them, below the folder */
    uint64_t tables;      /* .csv files at the top */
    char table[NAME_MAX + 1]; /* name of one of them */
    struct {
        char extension[STK_SCAN_STRANGER_BYTES]; /* in lower case; empty: none, or a long one */
        char example[160];                       /* one of them, below the folder */
        uint64_t count;
    } strangers[STK_SCAN_STRANGERS]; /* extensions other than images; the last row has all further ones */
} stk__scan;

/* scan: zeroed, or with stop_after set. Folders that cannot be read are errors. */
stk_status stk__scan_folder(stk__scan *scan, const char *folder, stk_error *error);

/* STK_ERROR_DATA for a folder without samples, saying what is there instead. */
stk_status stk__scan_nothing(const stk__scan *scan, const char *folder, stk_error *error);

void stk__scan_fini(stk__scan *scan);

/* Is the open folder that of a training run? */
bool stk__scan_is_run(int folder);

#endif
