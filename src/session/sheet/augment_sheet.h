/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as stored and as augmented in three epochs, side by side (stoker augment --sheet). */
#ifndef STK_SESSION_AUGMENT_SHEET_H
#define STK_SESSION_AUGMENT_SHEET_H

#include "session/loader_settings.h"
#include "session/sheet/sheet.h"

enum { STK_AUGMENT_MOST = 64, STK_AUGMENT_DRAWS = 3 }; /* samples on a sheet, epochs of each */

typedef struct stk__augment_sheet { /* zeroed; config, path, count, epoch set; then make, fini */
    stk__config *config;
    const char *path;
    int64_t count, epoch;
    void (*opened)(void *context, stk_loader *loader); /* each loader; NULL: it closes. May be NULL */
    void *context;

    stk__session_loading loading;
    stk_loader *loader;
    int hung; /* threads that were given up */
    stk__sheet sheet;
    stk__buffer levels;                   /* one picture as u8 */
    uint64_t positions[STK_AUGMENT_MOST]; /* of the samples in the part … */
    int64_t ids[STK_AUGMENT_MOST];        /* … and their ids */
    bool masks;
} stk__augment_sheet;

/* Opens the data set, chooses samples by data.seed, draws and writes the file. */
stk_status stk__augment_sheet_make(stk__augment_sheet *sheet, stk_error *error);
/* The number of threads that hang and were given up, as stk__session_close. */
int stk__augment_sheet_fini(stk__augment_sheet *sheet);

#endif
