/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis for people. */
#ifndef STK_CLI_DOCTOR_PRINT_H
#define STK_CLI_DOCTOR_PRINT_H

#include "cli.h"

#include "doctor/doctor_rules.h"

typedef struct stk__doctor_view {
    FILE *file;
    const char *what;            /* was examined: "Command" */
    const stk__symptom *symptom; /* only rules of it are printed; NULL: all */
    bool times;                  /* evidence of a training: with the stall table and what was not measured */
} stk__doctor_view;

/* What to measure next, and which rules belong to it. */
void stk__doctor_print_symptom(FILE *file, const stk__symptom *symptom);
void stk__doctor_print(const stk__doctor_view *view, const stk__diagnosis *diagnosis);

#endif
