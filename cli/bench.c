/* stoker bench: rows of measurements, and ratios with the goals they have to meet. */
#include "bench.h"

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

/* Linear between the two nearest; 0 … 1. */
static double quantile(const stk__bench_row *row, double at)
{
    double sorted[STK_BENCH_ROUNDS];
    memcpy(sorted, row->values, (size_t)row->count * sizeof *sorted);
    qsort(sorted, (size_t)row->count, sizeof *sorted, compare_doubles);
    const double place = at * (row->count - 1);
    const int below = (int)place, above = below + 1 < row->count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

double stk__bench_median(const stk__bench_row *row)
{
    return quantile(row, 0.5);
}

stk__bench_ratio *stk__bench_judge(stk__bench *bench, const char *name, double value, bool at_least,
                                   double goal)
{
    stk__bench_ratio *ratio = &bench->ratios[bench->ratio_count++];
    *ratio = (stk__bench_ratio){.name = name,
                                .value = value,
                                .goal = goal,
                                .at_least = at_least,
                                .met = at_least ? value >= goal : value <= goal};
    return ratio;
}

stk__bench_row *stk__bench_begin(stk__bench *bench, const char *contestant, const char *test,
                                 const char *setting, const char *unit)
{
    stk__bench_row *row = &bench->rows[bench->row_count++];
    *row = (stk__bench_row){.contestant = contestant, .test = test, .setting = setting, .unit = unit};
    return row;
}

static json_t *bench_json(const stk__bench *bench)
{
    json_t *rows = json_array(), *ratios = json_array();
    for (int i = 0; i < bench->row_count; i++) {
        const stk__bench_row *row = &bench->rows[i];
        json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:s}", "contestant",
                                              row->contestant, "case", row->test, "setting", row->setting,
                                              "median", stk__bench_median(row), "p10", quantile(row, 0.1),
                                              "p90", quantile(row, 0.9), "unit", row->unit));
    }
    for (int i = 0; i < bench->ratio_count; i++) {
        const stk__bench_ratio *ratio = &bench->ratios[i];
        json_array_append_new(ratios, json_pack("{s:s, s:f, s:f, s:s, s:b}", "name", ratio->name, "value",
                                                ratio->value, "goal", ratio->goal, "direction",
                                                ratio->at_least ? "at least" : "at most", "met", ratio->met));
    }
    return json_pack("{s:i, s:s, s:o, s:o}", "schema", 1, "machine", bench->machine, "rows", rows, "ratios",
                     ratios);
}

static void print_bench(const stk__bench *bench)
{
    printf("%s\n\n  %-12s %-22s %-26s %10s %10s %10s\n", bench->machine, "who", "what", "setting", "median",
           "p10", "p90");
    for (int i = 0; i < bench->row_count; i++) {
        const stk__bench_row *row = &bench->rows[i];
        printf("  %-12s %-22s %-26s %10.4g %10.4g %10.4g %s\n", row->contestant, row->test, row->setting,
               stk__bench_median(row), quantile(row, 0.1), quantile(row, 0.9), row->unit);
    }
    printf("\n  %-66s %8s  %s\n", "ratio", "value", "goal");
    for (int i = 0; i < bench->ratio_count; i++) {
        const stk__bench_ratio *ratio = &bench->ratios[i];
        printf("  %-66s %8.3f  %s %g  %s\n", ratio->name, ratio->value,
               ratio->at_least ? ">=" : "<=", ratio->goal, ratio->met ? "met" : "MISSED");
    }
}

int stk__bench_report(const stk__bench *bench)
{
    if (stk__cli_json) return stk__cli_print_json(bench_json(bench));
    print_bench(bench);
    return STK_EXIT_GOOD;
}

int stk__cli_bench(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "load") == 0) return stk__bench_load(argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        printf("stoker bench load [DIR]\n\nMeasures Stoker beside a bare decoder loop; 'stoker bench load "
               "--help' tells more.\n");
        return STK_EXIT_GOOD;
    }
    return stk__cli_usage("bench", argc > 1 ? "there is no benchmark '%s'" : "name a benchmark: load",
                          argc > 1 ? argv[1] : "");
}
