/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a self-test: what was measured on a GPU beside what was expected of it, and the verdict. */
#ifndef STK_DOCTOR_SELFTEST_ROW_H
#define STK_DOCTOR_SELFTEST_ROW_H

#include "core/error.h"
#include "device/device.h"

typedef enum stk__verdict {
    STK_VERDICT_NONE, /* no expectation */
    STK_VERDICT_OK,
    STK_VERDICT_LOW, /* works, but slower than expected */
    STK_VERDICT_FAILED,
    STK_VERDICT_UNKNOWN
} stk__verdict;

typedef enum stk__limit { STK_LIMIT_NONE, STK_LIMIT_LEAST, STK_LIMIT_MOST } stk__limit;

typedef struct stk__selftest_row {
    const char *section; /* "copies" */
    char name[48];
    double value; /* NAN: text only, or not measured */
    const char *unit;
    char words[160]; /* instead of a number; empty: none */
    stk__limit kind;
    double limit;   /* NAN: no known expectation, basis has the reason */
    char basis[96]; /* derivation of the limit; empty: none */
    bool speed;     /* beyond the limit is LOW instead of FAILED; not judged when quick */
    stk__verdict verdict;
    char why[480]; /* of FAILED and UNKNOWN without a number */
} stk__selftest_row;

enum { STK_SELFTEST_ROWS = 96 };

/* Results of one GPU. */
typedef struct stk__selftest_gpu {
    stk__device_info info;
    char link[64]; /* "PCIe 4.0 x16"; empty: unknown */
    int row_count;
    stk__selftest_row rows[STK_SELFTEST_ROWS];
} stk__selftest_gpu;

/* Copies and judges the row, and removes machine-specific text. */
void stk__selftest_put(stk__selftest_gpu *gpu, const stk__selftest_row *row, bool quick);
/* One line instead of numbers. STK_ERROR_INTERRUPTED is unknown, everything else failed. */
void stk__selftest_fail(stk__selftest_gpu *gpu, const char *section, const char *name,
                        const stk_error *error);
void stk__selftest_unknown(stk__selftest_gpu *gpu, const char *section, const char *name, const char *why);

stk__verdict stk__selftest_judge(const stk__selftest_row *row, bool quick);
const char *stk__verdict_word(stk__verdict verdict); /* "ok", "LOW"; "" of NONE */

/* Removes private text in place: paths become file names, GPU UUIDs are removed. */
void stk__selftest_scrub(char *text);

typedef struct stk__selftest_tally {
    int ok, failed, unknown; /* failed: with the LOW ones, as exit status and JSON count them … */
    int low;                 /* … and how many those are */
} stk__selftest_tally;
void stk__selftest_count(const stk__selftest_gpu *gpu, stk__selftest_tally *tally); /* adds */

#endif
