/* SPDX-License-Identifier: Apache-2.0 */
/* stoker augment --sheet: samples as stored and as augmented, side by side. */
#ifndef STK_CLI_AUGMENT_SHEET_H
#define STK_CLI_AUGMENT_SHEET_H

#include "verb_loader.h"

#include "session/sheet.h"

enum { STK_AUGMENT_MOST = 64 }; /* samples on a sheet */

typedef struct stk__augment_sheet { /* arguments, path, count, epoch set; then make, fini */
    stk__arguments *arguments;
    const char *path;
    int64_t count, epoch;
    stk__session_loading loading;
    stk_loader *loader;
    stk__sheet sheet;
    stk__buffer levels;                   /* one picture as u8 */
    uint64_t positions[STK_AUGMENT_MOST]; /* of the samples in the part … */
    int64_t ids[STK_AUGMENT_MOST];        /* … and their ids */
    bool masks;
} stk__augment_sheet;

/* Opens the data set, chooses samples by data.seed, draws and writes the file, and says what is on it. */
stk_status stk__augment_sheet_make(stk__augment_sheet *sheet, stk_error *error);
/* status: of the program, should it have to leave at once. */
void stk__augment_sheet_fini(stk__augment_sheet *sheet, int status);

#endif
