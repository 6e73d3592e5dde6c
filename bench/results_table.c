/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements of a benchmark as text: a line per row; contestants of a race side by side in a table,
 * best first; versions; ratios with their goals. */
#include "measurements.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_value(double value)
{
    printf(value < 10000 ? "%9.4g " : "%9.0f ", value);
}

static void print_row(const stk__bench_row *row)
{
    printf("  %-14s %-16s %-34s ", row->contestant, row->test, row->setting);
    if (row->count == 0) {
        printf("%9s  %s\n", "absent", row->why);
        return;
    }
    print_value(stk__bench_median(row));
    print_value(stk__bench_quantile(row, 0.1));
    print_value(stk__bench_quantile(row, 0.9));
    printf("%s", row->unit);
    if (row->copy_share > 0) printf("  %3.0f %% of copy", 100 * row->copy_share);
    printf("\n");
}

/* One row after the other, without those that stand side by side. */
static void print_rows(const stk__bench *bench)
{
    const char *test = NULL;
    for (int i = 0; i < bench->row_count; i++) {
        const stk__bench_row *row = &bench->rows[i];
        if (row->columns > 0) {
            i += row->columns - 1;
            continue;
        }
        if (!test)
            printf("\n  %-14s %-16s %-34s %9s %9s %9s\n", "contestant", "case", "setting", "median", "p10",
                   "p90");
        else if (bench->spaced && strcmp(row->test, test) != 0)
            printf("\n");
        test = row->test;
        print_row(row);
    }
}

/* Best first, absent last. */
static int compare_high(const void *left, const void *right)
{
    const stk__bench_row *a = *(const stk__bench_row *const *)left,
                         *b = *(const stk__bench_row *const *)right;
    if (a->count == 0 || b->count == 0) return (a->count == 0) - (b->count == 0);
    const double difference = stk__bench_median(b) - stk__bench_median(a);
    return (difference > 0) - (difference < 0);
}

static int compare_low(const void *left, const void *right)
{
    const stk__bench_row *a = *(const stk__bench_row *const *)left,
                         *b = *(const stk__bench_row *const *)right;
    return a->count == 0 || b->count == 0 ? compare_high(left, right) : compare_high(right, left);
}

static void print_cell(const stk__bench_row *row, int width, int digits)
{
    if (row->count == 0)
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, digits, stk__bench_median(row));
}

/* False: it has no numbers, and the line has ended with the reason. */
static bool print_contestant(const stk__bench_row *row)
{
    printf("%s %-12s %-30s", row->ours ? "*" : " ", row->contestant, row->setting);
    if (row->count == 0) printf(" %9s  %s\n", "absent", row->why);
    return row->count > 0;
}

/* Columns as they are entered: rate, CPU time, memory, first batch. */
static void print_load(const stk__bench_row *row)
{
    if (!print_contestant(row)) return;
    print_cell(row, 9, 0);
    printf(" %7.0f %7.0f", stk__bench_quantile(row, 0.1), stk__bench_quantile(row, 0.9));
    print_cell(row + 1, 10, 2);
    print_cell(row + 2, 8, 0);
    print_cell(row + 3, 9, 1);
    if (isnan(row->difference))
        printf("   %s\n", row->ours ? "-" : "not compared");
    else if (row->difference > 0)
        printf("   +- %.2f\n", row->difference);
    else
        printf("   equal\n");
}

/* Columns as they are entered: ms a step, CPU time, memory, first step. */
static void print_train(const stk__bench_row *row)
{
    if (!print_contestant(row)) return;
    print_cell(row, 9, 1);
    printf(" %8.1f %8.1f", stk__bench_quantile(row, 0.1), stk__bench_quantile(row, 0.9));
    print_cell(row + 1, 8, 0);
    print_cell(row + 2, 8, 0);
    print_cell(row + 3, 12, 2);
    if (isnan(row->difference))
        printf("   %s\n", row->ours ? "-" : "not compared");
    else
        printf("   %.1e\n", row->difference);
}

/* A table of contestants, by the unit of its first column. */
typedef struct table_form {
    const char *unit;
    bool low_is_best;
    const char *heads, *foot;
    void (*print)(const stk__bench_row *row);
} table_form;

static const table_form *form_of(const char *unit)
{
    static const table_form forms[] = {
        {"samples/s", false, "samples/s     p10     p90 CPU-s/1000  peak MB  first ms   pixels",
         "* ours. CPU-s, MB: of a contestant's process and all it started; MB: anonymous and shared memory,\n"
         "  each page once, without mapped files. first ms: a new loader to its first batch. pixels: mean\n"
         "  difference from ours over a whole epoch.",
         print_load},
        {"ms/step", true, "ms a step      p10      p90   CPU ms  peak MB first step s   loss",
         "* ours. CPU ms: of all threads, for a step. MB: anonymous and shared memory of a contestant's "
         "process and\n"
         "  all it started, without mapped files. first step: from the start of the process. loss: of the "
         "first\n"
         "  step, relative difference from ours. spin: threads wait for each other awake, as PyTorch does "
         "without\n"
         "  settings; all others sleep, as ours do after a twentieth of a millisecond.",
         print_train}};
    return &forms[strcmp(unit, forms[1].unit) == 0];
}

static void print_table(const stk__bench *bench, const char *test, const table_form *form)
{
    const stk__bench_row *listed[STK_BENCH_ROWS];
    size_t count = 0;
    for (int i = 0; i < bench->row_count; i++)
        if (bench->rows[i].columns > 0 && strcmp(bench->rows[i].test, test) == 0)
            listed[count++] = &bench->rows[i];
    qsort(listed, count, sizeof *listed, form->low_is_best ? compare_low : compare_high);
    printf("\n  %-43s %s\n", test, form->heads);
    for (size_t i = 0; i < count; i++)
        form->print(listed[i]);
}

static void print_tables(const stk__bench *bench)
{
    const stk__bench_row *last = NULL;
    for (int i = 0; i < bench->row_count; i++) {
        const stk__bench_row *row = &bench->rows[i];
        if (row->columns == 0 || (last && strcmp(row->test, last->test) == 0)) continue;
        last = row;
        print_table(bench, row->test, form_of(row->unit));
    }
    if (last) printf("\n  %s\n", form_of(last->unit)->foot);
}

static void print_versions(const stk__bench *bench)
{
    const char *shown[STK_BENCH_ROWS];
    int count = 0;
    for (int i = 0; i < bench->row_count; i++) {
        const char *versions = bench->rows[i].versions;
        bool known = !versions[0];
        for (int j = 0; j < count && !known; j++)
            known = strcmp(shown[j], versions) == 0;
        if (known) continue;
        shown[count++] = versions;
        printf("%s%s", count == 1 ? "\n  " : "; ", versions);
    }
    if (count > 0) printf("\n");
}

static void print_ratio(const stk__bench_ratio *ratio, bool goals)
{
    if (!goals) {
        if (isnan(ratio->value))
            printf("  %-64s %8s  not measured\n", ratio->name, "-");
        else
            printf("  %-64s %8.3f\n", ratio->name, ratio->value);
        return;
    }
    char goal[32], aim[32] = "";
    snprintf(goal, sizeof goal, "%s %g", ratio->at_least ? ">=" : "<=", ratio->goal);
    if (ratio->aim > 0) snprintf(aim, sizeof aim, " (%g)", ratio->aim);
    strncat(goal, aim, sizeof goal - strlen(goal) - 1);
    if (isnan(ratio->value))
        printf("  %-64s %8s  %-12s not measured\n", ratio->name, "-", goal);
    else
        printf("  %-64s %8.3f  %-12s %s\n", ratio->name, ratio->value, goal, ratio->met ? "met" : "MISSED");
}

void stk__bench_print(const stk__bench *bench, bool goals)
{
    printf("%s\n", bench->machine);
    print_rows(bench);
    print_tables(bench);
    print_versions(bench);
    printf("\n  %-64s %8s%s\n", "ratio", "value", goals ? "  goal" : "");
    for (int i = 0; i < bench->ratio_count; i++)
        print_ratio(&bench->ratios[i], goals);
}
