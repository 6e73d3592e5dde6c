/* SPDX-License-Identifier: Apache-2.0 */
/* A table of numbers over time, cut into windows: sample i is rows i to i + L - 1 (L = window_rows), its
 * label the target of its last row, i + L - 1. series_csv.c and series_npy.c read the table. */
#ifndef STK_SOURCE_SERIES_H
#define STK_SOURCE_SERIES_H

#include "source/kinds.h"

/* A row that no window may contain. */
typedef struct stk__bad_row {
    uint64_t row, line; /* line of the file, or row + 1 */
    uint32_t column;    /* from 1; 0: the row as a whole */
    stk_damage damage;
} stk__bad_row;

typedef struct stk__series {
    stk__source source; /* first */
    char *path;
    stk__buffer features; /* float [row_count][column_count] */
    stk__buffer targets;  /* float [row_count] */
    stk__buffer bad;      /* of stk__bad_row, by row */
    uint32_t *next_bad;   /* [row_count]: which of bad is the first at or after a row; NULL: none is bad */
    stk__buffer names;    /* of all columns, zero-terminated, in their order */
    uint64_t row_count;
    int32_t column_count;  /* features */
    int32_t target_column; /* of all columns, from 0 */
    char layout[320];
} stk__series;

/* Fill features, targets, bad, names, row_count and column_count. */
stk_status stk__series_read_csv(stk__series *series, stk_error *error);
stk_status stk__series_read_npy(stk__series *series, stk_error *error);

/* Appends a row of column_count + 1 cells, the target at target_column. */
stk_status stk__series_add(stk__series *series, const float *cells, size_t target_column, stk_error *error);
stk_status stk__series_add_bad(stk__series *series, stk__bad_row bad, stk_error *error);

stk_status stk__series_refuse(const stk__series *series, const char *why, stk_error *error);

#endif
