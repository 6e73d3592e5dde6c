/* stoker bench: rows of measurements, and ratios with the goals they have to meet. */
#include "measurements.h"
#include "train_worker.h"
#include "load_worker.h"

#include "core/cpu.h"
#include "core/json_text.h"

#include <math.h>
#include <stdarg.h>
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
    if (row->why[0]) json_object_set_new(json, "why", stk__cli_json_text(row->why));
    if (row->copy_share > 0) json_object_set_new(json, "copy_share", json_real(row->copy_share));
    if (row->versions[0]) json_object_set_new(json, "versions", stk__cli_json_text(row->versions));
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

static json_t *bench_json(const stk__bench *bench)
{
    json_t *rows = json_array(), *ratios = json_array();
    for (int i = 0; i < bench->row_count; i++)
        json_array_append_new(rows, row_json(&bench->rows[i]));
    for (int i = 0; i < bench->ratio_count; i++)
        json_array_append_new(ratios, ratio_json(&bench->ratios[i]));
    return json_pack("{s:i, s:s, s:o, s:o}", "schema", 1, "machine", bench->machine, "rows", rows, "ratios",
                     ratios);
}

int stk__bench_report(const stk__bench *bench)
{
    if (stk__cli_json) return stk__cli_print_json(bench_json(bench));
    stk__bench_print(bench);
    return STK_EXIT_GOOD;
}

int stk__cli_bench(int argc, char **argv)
{
    static const struct {
        const char *name, *about;
        int (*run)(int argc, char **argv);
    } benches[] = {
        {"load", "files to batches, beside a bare decoder loop and other libraries", stk__bench_load},
        {"augment", "a batch of images and masks, beside other libraries", stk__bench_augment},
        {"train", "steps of four networks, and training from files, beside PyTorch", stk__bench_train}};
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "load-turns") == 0) return stk__bench_turns(argc - 1, argv + 1); /* not for people */
    if (strcmp(name, "train-turns") == 0) return stk__bench_train_turns(argc - 1, argv + 1);
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
        if (strcmp(name, benches[i].name) == 0) return benches[i].run(argc - 1, argv + 1);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        printf(
            "stoker bench NAME [OPTION…]\n\nMeasures Stoker beside others, and prints every ratio with its "
            "goal.\n\n");
        for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
            printf("  %-9s %s\n", benches[i].name, benches[i].about);
        printf("\n'stoker bench NAME --help' tells more.\n");
        return STK_EXIT_GOOD;
    }
    return stk__cli_usage(
        "bench", argc > 1 ? "there is no benchmark '%s'" : "name a benchmark: load, augment, train", name);
}
