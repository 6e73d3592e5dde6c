/* The ledger of a load or a run as lines of JSON: every bad sample, named. */
#ifndef STK_CLI_LEDGER_FILE_H
#define STK_CLI_LEDGER_FILE_H

#include "cli.h"
#include "stoker/loader.h"

typedef struct stk__ledger_file {
    const char *path; /* NULL: no file; bad samples are told on the screen */
    FILE *file;       /* made with the first line if `late` */
    bool late;
    stk__progress *progress; /* moved out of the way of a line; may be NULL */
} stk__ledger_file;

/* Path, late and progress are set. goes_on: adds to a file that is there. Watches the loader from now on. */
stk_status stk__ledger_file_open(stk__ledger_file *ledger, stk_loader *loader, bool goes_on,
                                 stk_error *error);

/* False, and the reason has been printed: not everything could be written. */
bool stk__ledger_file_close(stk__ledger_file *ledger);

#endif
