/* SPDX-License-Identifier: Apache-2.0 */
/* What `stoker stats` prints for people, from the object that --json prints: nothing is in the text that is
 * not in the object. Main thread only. */
#include "output/stats_output.h"

#include "cli.h"

#include <math.h>
#include <string.h>

enum { LABEL = 14 }; /* columns of "  left out    " */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static uint64_t count_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? stk__cli_text(text) : "";
}

/* "-" for what is not known. */
static void print_number(FILE *to, int width, const char *format, double value)
{
    char text[32] = "-";
    if (isfinite(value)) snprintf(text, sizeof text, format, value);
    fprintf(to, " %*s", width, text);
}

/* --- files and sizes ------------------------------------------------------------------------------------
 */

/* "files       12 PNG (11 RGB, 1 gray)" */
static void print_files(FILE *to, const char *what, const json_t *files)
{
    static const struct {
        const char *key, *name;
    } kinds[] = {{"gray", "gray"},
                 {"rgb", "RGB"},
                 {"palette", "palette"},
                 {"over_8_bits", "over 8 bits a channel"},
                 {"exif_turned", "turned by EXIF"},
                 {"misnamed", "misnamed"}};
    const char *name, *between = "";
    json_t *count;
    if (!json_is_object(files)) return;
    fprintf(to, "  %-11s ", what);
    json_object_foreach(json_object_get(files, "formats"), name, count)
    {
        fprintf(to, "%s%s %s", between, stk__cli_grouped((uint64_t)json_integer_value(count)), name);
        between = ", ";
    }
    between = " (";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const uint64_t value = count_of(files, kinds[i].key);
        if (!value) continue;
        fprintf(to, "%s%s %s", between, stk__cli_grouped(value), kinds[i].name);
        between = ", ";
    }
    fprintf(to, ")\n");
}

static void print_shape(FILE *to, const json_t *report)
{
    const json_t *w = json_object_get(report, "width_px"), *h = json_object_get(report, "height_px"),
                 *shape = json_object_get(report, "orientation");
    static const char *const names[] = {"landscape", "portrait", "square"};
    const char *between = "";
    if (!json_is_object(w)) return;
    if (count_of(report, "different_sizes") > 1) {
        fprintf(to, "  width       %.0f to %.0f px, median %.0f\n", number_of(w, "min"), number_of(w, "max"),
                number_of(w, "median"));
        fprintf(to, "  height      %.0f to %.0f px, median %.0f\n", number_of(h, "min"), number_of(h, "max"),
                number_of(h, "median"));
    }
    fprintf(to, "  orientation ");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!count_of(shape, names[i])) continue;
        fprintf(to, "%s%s %s", between, stk__cli_grouped(count_of(shape, names[i])), names[i]);
        between = ", ";
    }
    fprintf(to, "\n");
}

/* How the data set was read. */
static void print_reading(FILE *to, const json_t *report)
{
    const json_t *parts = json_object_get(report, "parts");
    if (*text_of(report, "found")) fprintf(to, "  %-11s %s\n", "found", text_of(report, "found"));
    if (json_array_size(parts)) fprintf(to, "  %-11s named by the data set:", "parts");
    for (size_t i = 0; i < json_array_size(parts); i++)
        fprintf(to, " %s", stk__cli_text(json_string_value(json_array_get(parts, i))));
    if (json_array_size(parts)) fprintf(to, "\n");
}

static void print_left_out(FILE *to, const json_t *report)
{
    const json_t *rows = json_object_get(report, "left_out");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *example = text_of(row, "example");
        fprintf(to, "  %-11s %s %s%s%s\n", i ? "" : "left out", stk__cli_grouped(count_of(row, "count")),
                text_of(row, "what"), *example ? ", such as " : "", example);
    }
}

static void print_content(FILE *to, const json_t *report)
{
    const json_t *content = json_object_get(report, "content");
    const char *other = text_of(content, "compared_with");
    if (!json_is_object(json_object_get(report, "image_files"))) return;
    fprintf(to, "  duplicates  %s\n",
            count_of(content, "duplicates") ? stk__cli_grouped(count_of(content, "duplicates")) : "none");
    if (!*other) return;
    fprintf(to, "  compared    with part %s: %s, %s in both", other,
            stk__cli_count(count_of(content, "compared_samples"), "sample"),
            count_of(content, "in_both") ? stk__cli_grouped(count_of(content, "in_both")) : "none");
    if (count_of(content, "compared_bad_samples"))
        fprintf(to, ", %s of them bad", stk__cli_grouped(count_of(content, "compared_bad_samples")));
    fprintf(to, "\n");
}

static void print_pixels(FILE *to, const json_t *report)
{
    static const char *const colors[] = {"red", "green", "blue"};
    const json_t *mean = json_object_get(report, "mean"), *std = json_object_get(report, "std"),
                 *sizes = json_object_get(report, "sizes");
    const size_t channels = json_array_size(mean);
    if (channels) fprintf(to, "\n  %-8s %8s %8s   (of 0 to 1)\n", "channel", "mean", "std");
    for (size_t c = 0; c < channels; c++)
        fprintf(to, "  %-8s %8.4f %8.4f\n", channels > 1 ? colors[c] : "gray",
                json_number_value(json_array_get(mean, c)), json_number_value(json_array_get(std, c)));
    if (!json_array_size(sizes)) return;
    fprintf(to, "\n  size\n");
    for (size_t i = 0; i < json_array_size(sizes); i++) {
        const json_t *size = json_array_get(sizes, i);
        fprintf(to, "  %5.0fx%-5.0f %12s\n", number_of(size, "w"), number_of(size, "h"),
                stk__cli_grouped(count_of(size, "count")));
    }
    if (count_of(report, "other_sizes"))
        fprintf(to, "  %-11s %12s\n", "others", stk__cli_grouped(count_of(report, "other_sizes")));
}

/* --- targets --------------------------------------------------------------------------------------------
 */

/* Images with several labels have none. */
static bool has_weights(const json_t *classes)
{
    for (size_t i = 0; i < json_array_size(classes); i++)
        if (!json_is_null(json_object_get(json_array_get(classes, i), "weight"))) return true;
    return false;
}

static void print_classes(FILE *to, const json_t *report)
{
    const json_t *classes = json_object_get(report, "classes");
    if (!json_array_size(classes)) return;
    const bool weights = has_weights(classes);
    fprintf(to, "\n  %3s %-18s %9s %9s %9s%s\n", "id", "class", "samples", "share", weights ? "weight" : "",
            weights ? "   (weight: balances the classes)" : " (of images, which have any number of classes)");
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *row = json_array_get(classes, i);
        fprintf(to, "  %3zu %-18s ", i, text_of(row, "name"));
        if (count_of(row, "count"))
            fprintf(to, weights ? "%9s %7.2f %% %9.3f\n" : "%9s %7.2f %%\n",
                    stk__cli_grouped(count_of(row, "samples")), 100 * number_of(row, "share"),
                    number_of(row, "weight"));
        else
            fprintf(to, "%9s %9s %9s\n", "none", "never", "-");
    }
    if (count_of(report, "ignored_pixels"))
        fprintf(to, "  255 %-18s %s\n", "(ignored)",
                stk__cli_count(count_of(report, "ignored_pixels"), "pixel"));
}

static void print_values(FILE *to, const json_t *report)
{
    const json_t *values = json_object_get(report, "values");
    if (json_is_object(values))
        fprintf(to, "\n  target: mean %.5g, std %.5g, %.5g to %.5g\n", number_of(values, "mean"),
                number_of(values, "std"), number_of(values, "min"), number_of(values, "max"));
}

static void print_points(FILE *to, const json_t *report)
{
    static const char *const keys[] = {"x_min_px", "x_max_px", "y_min_px", "y_max_px"};
    const json_t *points = json_object_get(report, "points");
    if (!json_array_size(points)) return;
    fprintf(to, "\n  %-16s %9s %9s %9s %9s %9s %9s %9s   (px)\n", "point", "visible", "missing", "outside",
            "x min", "x max", "y min", "y max");
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        fprintf(to, "  %-16s %9s %9s %9s", *text_of(point, "name") ? text_of(point, "name") : number,
                stk__cli_grouped(count_of(point, "visible")), stk__cli_grouped(count_of(point, "missing")),
                stk__cli_grouped(count_of(point, "outside")));
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            print_number(to, 9, "%.1f", number_of(point, keys[k]));
        fprintf(to, "\n");
    }
}

static void print_columns(FILE *to, const json_t *report)
{
    static const char *const keys[] = {"mean", "std", "min", "max"};
    const json_t *series = json_object_get(report, "series"), *columns = json_object_get(series, "columns");
    if (!json_array_size(columns)) return;
    fprintf(to, "\n  %-18s %11s %11s %11s %11s %11s   (%s)\n", "column", "mean", "std", "min", "max",
            "not numbers", stk__cli_count(count_of(series, "rows"), "row"));
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const json_t *column = json_array_get(columns, i);
        fprintf(to, "  %-18s", text_of(column, "name"));
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            print_number(to, 11, "%.5g", number_of(column, keys[k]));
        fprintf(to, " %11s%s\n", stk__cli_grouped(count_of(column, "not_numbers")),
                json_is_true(json_object_get(column, "target")) ? "   target" : "");
    }
}

/* --- findings -------------------------------------------------------------------------------------------
 */

static void print_finding(stk__table *table, const json_t *finding)
{
    char text[4096];
    const json_t *paths = json_object_get(finding, "paths");
    snprintf(text, sizeof text, "%s (%s)", text_of(finding, "text"), text_of(finding, "id"));
    stk__table_row(table, (const char *const[]){text_of(finding, "severity"), text});
    if (json_array_size(paths)) {
        const char *second = json_string_value(json_array_get(paths, 1));
        snprintf(text, sizeof text, "such as %s%s%s",
                 stk__cli_text(json_string_value(json_array_get(paths, 0))), second ? " and " : "",
                 second ? stk__cli_text(second) : "");
        stk__table_row(table, (const char *const[]){"", text});
    }
    snprintf(text, sizeof text, "hint: %s", text_of(finding, "hint"));
    stk__table_row(table, (const char *const[]){"", text});
}

static void print_findings(const json_t *report)
{
    const json_t *findings = json_object_get(report, "findings");
    const uint64_t bad = count_of(report, "bad_samples");
    stk__table table;
    printf("\n  bad samples: %s\n", bad ? stk__cli_grouped(bad) : "none");
    printf("  findings: %s\n",
           json_array_size(findings) ? stk__cli_grouped(json_array_size(findings)) : "none");
    stk__table_init(&table, stdout, 2, 2);
    stk__table_fit(&table, 0, "warning");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        printf("\n");
        print_finding(&table, json_array_get(findings, i));
    }
}

void stk__stats_print(const json_t *report)
{
    FILE *to = stk__cli_wrap_begin(stdout);
    const bool images = json_is_object(json_object_get(report, "image_files"));
    if (images || json_array_size(json_object_get(report, "left_out"))) fprintf(to, "\n");
    print_files(to, "files", json_object_get(report, "image_files"));
    print_files(to, "masks", json_object_get(report, "mask_files"));
    print_shape(to, report);
    print_reading(to, report);
    print_left_out(to, report);
    print_content(to, report);
    print_pixels(to, report);
    print_classes(to, report);
    print_points(to, report);
    print_values(to, report);
    print_columns(to, report);
    stk__cli_wrap_end(to, stdout, LABEL);
    print_findings(report);
}
