/* The end-to-end case of `stoker bench train`: JPEG files, the strong chain and a network so small that it
 * waits for data, by `stoker train` and by PyTorch with DataLoader and Albumentations. */
#ifndef STK_BENCH_FILES_H
#define STK_BENCH_FILES_H

#include "measurements.h"
#include "worker_process.h"

typedef struct stk__files_case {
    stk__bench *bench;
    const char *program; /* ourselves */
    const char *python;  /* NULL: no peer */
    const char *scratch; /* a folder: scripts are there, files are made there */
    uint64_t count;      /* pictures */
    int64_t rounds;
    uint64_t until_ns; /* a quick run ends about then; 0: takes its time */
    int cpus;

    stk__peer ours, peer; /* processes of the moment */
    char folder[1024];    /* of a folder for each class */
    double ratio;         /* our rate by theirs; NAN: not measured */
} stk__files_case;

/* Rows go to the bench. */
stk_status stk__files_run(stk__files_case *files, stk_error *error);
void stk__files_abandon(const stk__files_case *files); /* for Ctrl-C */

#endif
