/* SPDX-License-Identifier: Apache-2.0 */
/* The report of the self-test: one block of text to paste into an issue, or JSON. */
#include "selftest.h"

#include "core/json_text.h"

#include <math.h>
#include <string.h>

enum { CELL = 160 };

static stk__selftest_tally count_all(const stk__selftest_report *report)
{
    stk__selftest_tally tally = {0};
    for (int i = 0; i < report->gpu_count; i++)
        stk__selftest_count(&report->gpus[i], &tally);
    return tally;
}

static const char *number(char *cell, size_t size, double value, const char *unit)
{
    const bool tiny = value != 0 && fabs(value) < 1e-3;
    if (tiny && *unit)
        snprintf(cell, size, "< 0.001 %s", unit);
    else
        snprintf(cell, size,
                 tiny                ? "%.1e%s%s"
                 : fabs(value) < 1e4 ? "%.4g%s%s"
                                     : "%.0f%s%s",
                 value, *unit ? " " : "", unit);
    return cell;
}

static const char *measured(char cell[CELL], const stk__selftest_row *row)
{
    if (row->words[0]) return row->words;
    return number(cell, CELL, row->value, row->unit ? row->unit : "");
}

static const char *expected(char cell[CELL], const stk__selftest_row *row)
{
    char limit[CELL / 2];
    const bool known = row->kind != STK_LIMIT_NONE && !isnan(row->limit);
    const char *words = row->basis[0] ? row->basis : "";
    if (!known)
        snprintf(cell, CELL, "%s", words);
    else if (row->limit == 0 && row->kind == STK_LIMIT_MOST)
        snprintf(cell, CELL, "0%s%s%s", *words ? " (" : "", words, *words ? ")" : "");
    else
        snprintf(cell, CELL, "%s %.48s%s%.96s%s", row->kind == STK_LIMIT_LEAST ? ">=" : "<=",
                 number(limit, sizeof limit, row->limit, row->unit ? row->unit : ""), *words ? " (" : "",
                 words, *words ? ")" : "");
    return cell;
}

static void print_row(const stk__selftest_row *row)
{
    char cells[2][CELL];
    if (row->why[0])
        printf("  %-36s %s: %s\n", row->name, stk__verdict_word(row->verdict), row->why);
    else if (row->kind == STK_LIMIT_NONE && !row->basis[0])
        printf("  %-36s %s\n", row->name, measured(cells[0], row));
    else
        printf("  %-36s %-12s %-52s %s\n", row->name, measured(cells[0], row), expected(cells[1], row),
               row->kind != STK_LIMIT_NONE && row->verdict == STK_VERDICT_NONE
                   ? "not judged"
                   : stk__verdict_word(row->verdict));
}

static void print_gpu(const stk__selftest_gpu *gpu)
{
    const stk__device_info *info = &gpu->info;
    const char *section = "";
    printf("\n%s: %s, %s", info->name, info->model[0] ? info->model : "name unknown",
           info->platform[0] ? info->platform : "architecture unknown");
    if (info->compute_units >= 0) printf(", %d SMs", info->compute_units);
    if (info->memory_bytes >= 0) printf(", %s", stk__cli_bytes((double)info->memory_bytes));
    printf(", %s\n", gpu->link[0] ? gpu->link : "PCIe link unknown");
    for (int i = 0; i < gpu->row_count; i++) {
        if (strcmp(section, gpu->rows[i].section) != 0) printf("%s\n", gpu->rows[i].section);
        section = gpu->rows[i].section;
        print_row(&gpu->rows[i]);
    }
}

void stk__selftest_print(const stk__selftest_report *report)
{
    const stk__selftest_tally tally = count_all(report);
    printf("----- stoker selftest: begin -----\n");
    for (int i = 0; i < STK_SELFTEST_FACTS; i++)
        printf("%-8s %s\n", report->facts[i].name, report->facts[i].text);
    for (int i = 0; i < report->gpu_count; i++)
        print_gpu(&report->gpus[i]);
    printf("\n%.0f s%s%s\n", report->seconds, report->quick ? ", --quick: speed of trainings not judged" : "",
           report->interrupted ? ", interrupted" : "");
    printf("%d ok, %d low, %d failed, %d unknown\n", tally.ok, tally.low, tally.failed - tally.low,
           tally.unknown);
    printf("----- stoker selftest: end -----\n");
}

static json_t *json_words(const char *text)
{
    return text[0] ? stk__json_string(text) : json_null();
}

static json_t *json_row(const stk__selftest_row *row)
{
    static const char *const limits[] = {NULL, "least", "most"};
    const char *verdict = stk__verdict_word(row->verdict);
    return json_pack("{s:s, s:s, s:o, s:s?, s:o, s:s?, s:o, s:o, s:s?, s:o}", "section", row->section, "name",
                     row->name, "value",
                     row->words[0] ? json_words(row->words) : stk__json_number(row->value), "unit",
                     row->unit && *row->unit ? row->unit : NULL, "expected",
                     row->kind == STK_LIMIT_NONE ? json_null() : stk__json_number(row->limit), "limit",
                     limits[row->kind], "basis", json_words(row->basis), "speed", json_boolean(row->speed),
                     "verdict", *verdict ? verdict : NULL, "why", json_words(row->why));
}

static json_t *json_gpu(const stk__selftest_gpu *gpu)
{
    const stk__device_info *info = &gpu->info;
    json_t *rows = json_array();
    for (int i = 0; i < gpu->row_count; i++)
        json_array_append_new(rows, json_row(&gpu->rows[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", info->name, "model",
                     json_words(info->model), "platform", json_words(info->platform), "compute_units",
                     info->compute_units < 0 ? json_null() : json_integer(info->compute_units),
                     "memory_bytes", info->memory_bytes < 0 ? json_null() : json_integer(info->memory_bytes),
                     "link", json_words(gpu->link), "rows", rows);
}

int stk__selftest_print_json(const stk__selftest_report *report)
{
    const stk__selftest_tally tally = count_all(report);
    json_t *versions = json_object(), *gpus = json_array();
    for (int i = 0; i < STK_SELFTEST_FACTS; i++)
        json_object_set_new(versions, report->facts[i].name, json_words(report->facts[i].text));
    for (int i = 0; i < report->gpu_count; i++)
        json_array_append_new(gpus, json_gpu(&report->gpus[i]));
    return stk__cli_print_json(json_pack("{s:i, s:o, s:o, s:b, s:b, s:f, s:i, s:i, s:i}", "schema", 1,
                                         "versions", versions, "gpus", gpus, "quick", report->quick,
                                         "interrupted", report->interrupted, "wall_s", report->seconds, "ok",
                                         tally.ok, "failed", tally.failed, "unknown", tally.unknown));
}
