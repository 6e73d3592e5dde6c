/* SPDX-License-Identifier: Apache-2.0 */
/* The end-to-end case of `stoker bench train`: JPEG files, the strong chain and a network so small that it
 * waits for data, by `stoker train` and by PyTorch with DataLoader and Albumentations. */
#ifndef STK_BENCH_TRAIN_FILES_CASE_H
#define STK_BENCH_TRAIN_FILES_CASE_H

#include "benchmark.h"
#include "contestant.h"

typedef struct stk__train_files_case {
    const stk__bench_options *options;
    stk__bench *bench;
    const char *program; /* ourselves */
    const char *scratch; /* a folder: scripts are there, files are made there */
    uint64_t count;      /* pictures */
    uint64_t until_ns;   /* a quick run ends about then; 0: takes its time */
    int cpus;

    stk__worker_process our_process, peer_process; /* of the moment */
    char folder[1024];                             /* of a folder for each class */
    double ratio;                                  /* our rate by theirs; NAN: not measured */
} stk__train_files_case;

stk_status stk__train_files_run(stk__train_files_case *files, stk_error *error); /* rows go to the bench */
void stk__train_files_abandon(const stk__train_files_case *files);               /* for Ctrl-C */

#endif
