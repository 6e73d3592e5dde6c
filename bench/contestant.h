/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever is measured in a benchmark: ourselves in one setting, a baseline, another library. It has a name
 * and a setting, a way to be asked for a turn (a worker process, or a function of this process), and rows of
 * what it has measured. The goals are ratios between contestants: `kind` says which of them it counts for. */
#ifndef STK_BENCH_CONTESTANT_H
#define STK_BENCH_CONTESTANT_H

#include "measurements.h"
#include "worker_process.h"

/* Rows of a contestant with a worker process, side by side in the table. */
typedef enum stk__column {
    STK_COLUMN_VALUE, /* a rate, or the time of a step */
    STK_COLUMN_CPU,
    STK_COLUMN_MEMORY,
    STK_COLUMN_FIRST, /* time to the first batch or step */
    STK_COLUMNS
} stk__column;

typedef struct stk__contestant stk__contestant;
struct stk__contestant {
    const char *name; /* "DataLoader" */
    char setting[64]; /* "OpenCV, 4 workers" */
    int kind;         /* of an enum of its benchmark */
    bool ours;

    stk__worker_process *process; /* is asked for turns; borrowed; NULL: … */
    stk_status (*run)(stk__contestant *c, double *value, stk_error *error); /* … a turn in this process */
    void *context;                                                          /* of run; borrowed */

    stk__bench_row *rows; /* [row_count], by column */
    int row_count;
};

/* Begins its rows in a case: side by side … */
void stk__contestant_enter(stk__contestant *c, stk__bench *bench, const char *test,
                           const char *const units[STK_COLUMNS]);
/* … or one below the other: a value and, if cpu_unit is not NULL, CPU time. */
void stk__contestant_enter_rows(stk__contestant *c, stk__bench *bench, const char *test, const char *unit,
                                const char *cpu_unit);
double stk__contestant_median(const stk__contestant *c, stk__column column); /* NAN: not measured */
void stk__contestant_tell_versions(stk__contestant *c);                      /* of its process, to its row */

/* No number at all is better than a few good ones of somebody who then failed: its rows say why instead, and
 * its process ends. */
void stk__contestant_give_up(stk__contestant *c, const char *why);
bool stk__contestant_gave_up(const stk__contestant *c);
/* Without further turns in this case: what it has counts, if it has values; else it gives up. */
void stk__contestant_dismiss(stk__contestant *c, const char *why);

/* A request to its process and the answer that begins with `word`; false: it has given up. */
bool stk__contestant_ask(stk__contestant *c, const char *request, const char *word,
                         char answer[STK_WORKER_ANSWER]);
/* The same, while the memory of its processes is watched: the most goes to its row. */
void stk__contestant_weigh(stk__contestant *c, const char *request, int most_s);

#endif
