/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a generated data set below a folder, in the layouts that source/ reads:
 *   faces    images/000000.jpg masks/000000.png classes.txt
 *   captcha  images/000000.jpg points.csv
 *   gray     CLASS/000000.png
 *   series   series.csv
 * and .stoker-make, which says what the folder was made with and whether it is complete. */
#ifndef STK_MAKE_MAKE_WRITE_H
#define STK_MAKE_MAKE_WRITE_H

#include "image/png_write.h"
#include "make/make.h"

#include <stdatomic.h>

typedef struct stk__make_progress {
    uint64_t samples, count, bytes;
    double seconds;
    int workers;
} stk__make_progress;

typedef struct stk__make_options {
    stk__make_kind kind;
    const char *folder;
    uint64_t seed;
    uint64_t count;          /* samples (rows of a series); 0: the kind's default */
    int workers;             /* threads; 0: the CPU budget */
    bool force;              /* write even if the folder holds something else; other files stay */
    const atomic_bool *stop; /* true: end soon with STK_ERROR_INTERRUPTED; may be NULL */
    /* Called by the caller's thread a few times a second; may be NULL. */
    void (*show)(void *context, const stk__make_progress *progress);
    void *context;
} stk__make_options;

enum { STK_MAKE_MOST = 10000000 }; /* samples of a data set */

stk_status stk__make_write(const stk__make_options *options, stk__make_progress *done, stk_error *error);

/* --- make_sample.c -----------------------------------------------------------------------------------------
 */

/* Memory for drawing and encoding one sample after the other. Zeroed at first; owner: one thread. */
typedef struct stk__make_bench {
    stk__buffer pixels, file;
    stk__png_writer *png;
} stk__make_bench;

typedef struct stk__make_sample {
    stk__make_kind kind;
    const char *folder;
    uint64_t seed, index, count;
} stk__make_sample;

/* Writes the files of one sample of a kind with pixels; adds their sizes to *bytes. */
stk_status stk__make_sample_write(stk__make_bench *bench, const stk__make_sample *sample, uint64_t *bytes,
                                  stk_error *error);
void stk__make_bench_fini(stk__make_bench *bench);

/* --- make_tables.c -----------------------------------------------------------------------------------------
 */

/* classes.txt, points.csv or series.csv, whatever the kind has. */
stk_status stk__make_tables_write(const stk__make_options *options, uint64_t *bytes, stk_error *error);

#endif
