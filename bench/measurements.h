/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements of a benchmark: values of interleaved rounds, and ratios with goals. */
#ifndef STK_BENCH_MEASUREMENTS_H
#define STK_BENCH_MEASUREMENTS_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>

enum { STK_BENCH_ROUNDS = 64, STK_BENCH_ROWS = 256, STK_BENCH_RATIOS = 24 };

typedef struct stk__bench_row {
    const char *contestant, *test, *unit;
    char setting[40];
    double values[STK_BENCH_ROUNDS];
    int count;         /* 0: not measured, */
    char why[200];     /* for this reason */
    double copy_share; /* of the bandwidth of a plain copy in the same run; 0: unknown */

    int columns;        /* > 0: so many rows from this one on stand side by side in a table of their own */
    bool ours;          /* marked there */
    double difference;  /* of its pixels from ours, mean, or of its first loss, relative; NAN: unknown */
    char versions[160]; /* of another library */
} stk__bench_row;

typedef struct stk__bench_ratio {
    const char *name;
    double value;     /* NAN: not measured */
    double goal, aim; /* aim: what would be better still; 0: none */
    bool at_least;    /* else: at most */
    bool met;
} stk__bench_ratio;

typedef struct stk__bench {
    char machine[256];
    bool spaced; /* an empty line between one case and the next */
    stk__bench_row rows[STK_BENCH_ROWS];
    int row_count;
    stk__bench_ratio ratios[STK_BENCH_RATIOS];
    int ratio_count;
} stk__bench;

stk__bench_row *stk__bench_begin(stk__bench *bench, const char *contestant, const char *test,
                                 const char *setting, const char *unit);
void stk__bench_add(stk__bench_row *row, double value);
double stk__bench_median(const stk__bench_row *row);              /* NAN when it was not measured */
double stk__bench_quantile(const stk__bench_row *row, double at); /* the same; at 0 … 1 */
stk__bench_ratio *stk__bench_judge(stk__bench *bench, const char *name, double value, bool at_least,
                                   double goal);
void stk__bench_describe(stk__bench *bench, const char *format, ...) STK__PRINTF(2, 3); /* CPUs, then this */

json_t *stk__bench_json(const stk__bench *bench);
/* results_table.c: on standard output. goals: what developers aim at beside each ratio. */
void stk__bench_print(const stk__bench *bench, bool goals);

#endif
