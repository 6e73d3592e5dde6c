/* Measurements of a benchmark: values of interleaved rounds, and ratios with goals. */
#ifndef STK_CLI_BENCH_H
#define STK_CLI_BENCH_H

#include "cli.h"

enum { STK_BENCH_ROUNDS = 64, STK_BENCH_ROWS = 24, STK_BENCH_RATIOS = 12 };

typedef struct stk__bench_row {
    const char *contestant, *test, *setting, *unit;
    double values[STK_BENCH_ROUNDS];
    int count;
} stk__bench_row;

typedef struct stk__bench_ratio {
    const char *name;
    double value, goal;
    bool at_least; /* else: at most */
    bool met;
} stk__bench_ratio;

typedef struct stk__bench {
    char machine[160];
    stk__bench_row rows[STK_BENCH_ROWS];
    int row_count;
    stk__bench_ratio ratios[STK_BENCH_RATIOS];
    int ratio_count;
} stk__bench;

stk__bench_row *stk__bench_begin(stk__bench *bench, const char *contestant, const char *test,
                                 const char *setting, const char *unit);
void stk__bench_add(stk__bench_row *row, double value);
double stk__bench_median(const stk__bench_row *row);
stk__bench_ratio *stk__bench_judge(stk__bench *bench, const char *name, double value, bool at_least,
                                   double goal);
int stk__bench_report(const stk__bench *bench); /* as a table or JSON; exit status */

int stk__bench_load(int argc, char **argv); /* bench_load.c */

#endif
