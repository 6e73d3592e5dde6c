/* SPDX-License-Identifier: Apache-2.0 */
/* The data set of a benchmark: the folder somebody named, or a temporary one that is made and removed again.
 */
#ifndef STK_BENCH_DATA_H
#define STK_BENCH_DATA_H

#include "benchmark.h"

typedef struct stk__bench_data {
    char folder[512];
    bool temporary;
} stk__bench_data;

/* An empty temporary folder below $TMPDIR. */
stk_status stk__bench_folder_make(stk__bench_data *data, stk_error *error);
stk_status stk__bench_faces_make(const char *folder, uint64_t count, const stk__bench_host *host,
                                 stk_error *error);
/* The folder that the options name, else `count` faces in a temporary one. */
stk_status stk__bench_data_open(stk__bench_data *data, const stk__bench_options *options, uint64_t count,
                                stk_error *error);
void stk__bench_data_close(stk__bench_data *data);
void stk__bench_data_remove(
    const stk__bench_data *data); /* its files, if temporary; close may still follow */

#endif
