/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of a load or a run as lines of JSON: every bad sample, named. */
#ifndef STK_SESSION_LEDGER_FILE_H
#define STK_SESSION_LEDGER_FILE_H

#include "stoker/loader.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct stk__ledger_file {
    const char *path; /* NULL: no file */
    FILE *file;       /* made with the first line if `late` */
    bool late;
    bool failed;                                                /* a line was lost */
    void (*tell)(void *context, const stk_ledger_entry *entry); /* called with each bad sample; may be NULL */
    void *context;
} stk__ledger_file;

/* Path, late and tell are set. goes_on: adds to a file that is there. Watches the loader from now on. */
stk_status stk__ledger_file_open(stk__ledger_file *ledger, stk_loader *loader, bool goes_on,
                                 stk_error *error);

/* False: not everything could be written. */
bool stk__ledger_file_close(stk__ledger_file *ledger);

#endif
