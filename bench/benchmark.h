/* SPDX-License-Identifier: Apache-2.0 */
/* What bench/ offers the program: the four benchmarks of `stoker bench`, and the two worker processes that
 * they start of this program itself. The program lends them Ctrl-C and a progress line, and prints what they
 * have measured: nothing here knows cli/. */
#ifndef STK_BENCH_BENCHMARK_H
#define STK_BENCH_BENCHMARK_H

#include "measurements.h"

#include "core/error.h"

#include <stdatomic.h>
#include <stdint.h>

/* The progress line of something that runs. */
typedef struct stk__bench_progress {
    uint64_t start_ns;
    char note[96]; /* shown behind the rate */
} stk__bench_progress;

typedef struct stk__bench_host {
    const atomic_bool *stop; /* set by Ctrl-C */
    /* Called by Ctrl-C from another thread, because a turn may last longer than the program is given to end.
     * NULL: nothing; waits while a call is under way. */
    void (*on_stop)(void (*call)(void *context), void *context);
    void (*show)(const stk__bench_progress *progress, const char *what, uint64_t done, uint64_t total);
    void (*hide)(void);
} stk__bench_host;

typedef struct stk__bench_options {
    const stk__bench_host *host;
    int64_t rounds; /* interleaved; at most STK_BENCH_ROUNDS, of load a third of it */
    bool quick;
    const char *python; /* interpreter that has the other libraries; NULL: we run alone */

    const char *folder; /* load, python: a data set of images and masks; augment: of images; NULL: made */
    uint64_t samples;   /* augment, python: images in the batch */

    const char *const *cases; /* train: networks and "files" … */
    size_t case_count;        /* … or 0: all */
    bool capped;              /* train: to AVX2; else as the machine is, and capped where that is less */
    bool timed;               /* train: a quick run ends after 38 s, done or not */
    const char *engine;       /* train: "torch": its goals alone; NULL: the best there is, and all goals */
} stk__bench_options;

stk_status stk__bench_load(const stk__bench_options *options, stk__bench *bench, stk_error *error);
stk_status stk__bench_augment(const stk__bench_options *options, stk__bench *bench, stk_error *error);
stk_status stk__bench_train(const stk__bench_options *options, stk__bench *bench, stk_error *error);
stk_status stk__bench_python(const stk__bench_options *options, stk__bench *bench, stk_error *error);

/* The first word among the cases that names none; NULL: there is none. */
const char *stk__bench_train_unknown(const stk__bench_options *options);

/* Ourselves as a contestant, in a process of its own: answer requests on standard input until it ends. */
void stk__load_worker(const char *root, bool fast);             /* load_worker.c */
void stk__train_worker(const char *folder, const char *engine); /* train_worker.c; engine may be NULL */

/* --- for the benchmarks ------------------------------------------------------------------------------------
 */

static inline stk_status stk__bench_check_stop(const stk__bench_host *host, stk_error *error)
{
    return atomic_load(host->stop) ? stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted") : STK_OK;
}

#endif
