/* SPDX-License-Identifier: Apache-2.0 */
/* What a benchmark measures: rows of values from interleaved rounds, told by their median and the 10th and
 * 90th percentile, and ratios of medians with the goals they have to meet. Rows and ratios stand in fixed
 * arrays, so that pointers to rows stay. One thread. */
#include "measurements.h"

#include "core/cpu.h"
#include "core/json_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void stk__bench_add(stk__bench_row *row, double value)
{
    if (row->count < STK_BENCH_ROUNDS) row->values[row->count++] = value;
}

/* Linear between the two nearest. */
double stk__bench_quantile(const stk__bench_row *row, double at)
{
    double sorted[STK_BENCH_ROUNDS];
    if (row->count == 0) return NAN;
    memcpy(sorted, row->values, (size_t)row->count * sizeof *sorted);
    qsort(sorted, (size_t)row->count, sizeof *sorted, compare_doubles);
    const double place = at * (row->count - 1);
    const int below = (int)place, above = below + 1 < row->count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

double stk__bench_median(const stk__bench_row *row)
{
    return stk__bench_quantile(row, 0.5);
}

stk__bench_ratio *stk__bench_judge(stk__bench *bench, const char *name, double value, bool at_least,
                                   double goal)
{
    stk__bench_ratio *ratio = &bench->ratios[bench->ratio_count++];
    *ratio = (stk__bench_ratio){.name = name,
                                .value = value,
                                .goal = goal,
                                .at_least = at_least,
                                .met = at_least ? value >= goal : value <= goal}; /* NAN: no */
    return ratio;
}

stk__bench_row *stk__bench_begin(stk__bench *bench, const char *contestant, const char *test,
                                 const char *setting, const char *unit)
{
    stk__bench_row *row = &bench->rows[bench->row_count++];
    *row = (stk__bench_row){.contestant = contestant, .test = test, .unit = unit, .difference = NAN};
    snprintf(row->setting, sizeof row->setting, "%s", setting);
    return row;
}

void stk__bench_describe(stk__bench *bench, const char *format, ...)
{
    char line[256], model[100] = "unknown CPU", rest[128];
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!colon) continue;
        snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file) fclose(file);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    snprintf(bench->machine, sizeof bench->machine, "%s, %d CPUs; %s", model, stk__cpu_budget_read(NULL).cpus,
             rest);
}

static json_t *row_json(const stk__bench_row *row)
{
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s}", "contestant", row->contestant, "case", row->test,
                  "setting", row->setting, "median", stk__json_number(stk__bench_quantile(row, 0.5)), "p10",
                  stk__json_number(stk__bench_quantile(row, 0.1)), "p90",
                  stk__json_number(stk__bench_quantile(row, 0.9)), "unit", row->unit);
    if (row->why[0]) json_object_set_new(json, "why", stk__json_string(row->why));
    if (row->copy_share > 0) json_object_set_new(json, "copy_share", json_real(row->copy_share));
    if (row->versions[0]) json_object_set_new(json, "versions", stk__json_string(row->versions));
    const char *difference = strcmp(row->unit, "ms/step") == 0 ? "loss_difference" : "pixel_difference";
    if (row->versions[0]) json_object_set_new(json, difference, stk__json_number(row->difference));
    return json;
}

static json_t *ratio_json(const stk__bench_ratio *ratio)
{
    json_t *json =
        json_pack("{s:s, s:o, s:f, s:s, s:o}", "name", ratio->name, "value", stk__json_number(ratio->value),
                  "goal", ratio->goal, "direction", ratio->at_least ? "at least" : "at most", "met",
                  isnan(ratio->value) ? json_null() : json_boolean(ratio->met));
    if (ratio->aim > 0) json_object_set_new(json, "aim", json_real(ratio->aim));
    return json;
}

json_t *stk__bench_json(const stk__bench *bench)
{
    json_t *rows = json_array(), *ratios = json_array();
    for (int i = 0; i < bench->row_count; i++)
        json_array_append_new(rows, row_json(&bench->rows[i]));
    for (int i = 0; i < bench->ratio_count; i++)
        json_array_append_new(ratios, ratio_json(&bench->ratios[i]));
    return json_pack("{s:i, s:s, s:o, s:o}", "schema", 1, "machine", bench->machine, "rows", rows, "ratios",
                     ratios);
}
