/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a data set (stoker stats --html): findings, samples to look at, sizes, classes, points,
 * columns; made from the object that `stoker stats --json` prints, and pictures. */
#ifndef STK_REPORT_DATA_PAGE_H
#define STK_REPORT_DATA_PAGE_H

#include "report/page.h"

#include <jansson.h>

/* One sample to look at. */
typedef struct stk__data_thumb {
    char path[1024];
    char label[128];              /* its class or value; empty: none */
    char why[128];                /* ids of the findings that name it; empty: none */
    bool bad;                     /* corrupt: it has no pictures */
    int32_t w, h;                 /* of the sample, in pixels */
    stk__buffer picture, overlay; /* JPEG; overlay: with its mask; empty: none */
} stk__data_thumb;

typedef struct stk__data_pictures {
    stk__data_thumb *thumbs; /* [count] */
    int count;
    const double *targets; /* [target_count] of a series, spread over its rows; NULL: none */
    const double *target_rows;
    size_t target_count;
} stk__data_pictures;

/* Written completely or not at all, to the path that the user named. */
stk_status stk__data_page_write(const json_t *report, const stk__data_pictures *pictures, const char *path,
                                stk_error *error);

/* --- data_page_tables.c: one function per section, nothing if there is nothing to say -------------------
 */

void stk__data_page_files(stk__page *page, const json_t *report);
void stk__data_page_sizes(stk__page *page, const json_t *report);
void stk__data_page_classes(stk__page *page, const json_t *report);
void stk__data_page_points(stk__page *page, const json_t *report);
void stk__data_page_series(stk__page *page, const json_t *report);

#endif
