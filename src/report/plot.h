/* SPDX-License-Identifier: Apache-2.0 */
/* A chart of lines as SVG. NaN leaves a gap. */
#ifndef STK_REPORT_PLOT_H
#define STK_REPORT_PLOT_H

#include "report/page.h"

enum { STK_PLOT_LINES = 8, STK_PLOT_TICKS = 12 };

typedef struct stk__plot_line {
    const char *name;
    int colour;          /* 0 … 7, of the style sheet */
    const double *x, *y; /* [count]; x rises */
    size_t count;
} stk__plot_line;

typedef struct stk__plot {
    const char *title;  /* texts from anywhere */
    const char *unit;   /* behind the title; NULL: none */
    const char *x_name; /* "step" */
    bool whole_x;       /* no ticks between whole numbers */
    stk__plot_line lines[STK_PLOT_LINES];
    int line_count;
    bool fixed; /* y from least to most, else by the values */
    double least, most;
    bool may_log; /* where values lie far apart */
    bool band;    /* y from band_least to band_most is what one wants */
    double band_least, band_most;
    bool mark; /* a vertical line, with its name */
    double mark_x;
    const char *mark_name;
} stk__plot;

/* False: there is nothing to draw, and nothing was. */
bool stk__plot_draw(stk__page *page, const stk__plot *plot);

/* --- plot_scale.c ------------------------------------------------------------------------------------------
 */

typedef struct stk__scale {
    double least, most; /* values at both ends; least < most */
    double from_px, to_px;
    bool log;
    int tick_count;
    double ticks[STK_PLOT_TICKS];
    int decimals; /* that tell neighbouring ticks apart */
} stk__scale;

typedef struct stk__scale_form {
    bool widen;   /* to round numbers around both ends, and to 0 if that is near */
    bool may_log; /* where values lie far apart */
    bool whole;   /* ticks are whole numbers */
} stk__scale_form;

/* From least to most. */
stk__scale stk__scale_make(double least, double most, stk__scale_form form);
double stk__scale_px(const stk__scale *scale, double value);
void stk__scale_print(const stk__scale *scale, double tick, char text[24]); /* "12k", "0.05" */

/* --- points of a long line -------------------------------------------------------------------------------
 */

/* Indices of points that look like all of them: of each bunch first, last, lowest, highest and a gap. Returns
 * how many; kept has room for STK_PLOT_KEPT. Below that all points stay. */
enum { STK_PLOT_KEPT = 4000 };
size_t stk__plot_thin(const double *y, size_t count, uint32_t kept[STK_PLOT_KEPT]);

/* A value that can be drawn. */
bool stk__plot_can(double value);

#endif
