/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and histograms of a data set's page: sizes, classes, points, columns of a series, files. Bars are
 * plain boxes, so that they fit any width. Everything comes from the object of `stoker stats --json`. */
#include "report/data_page.h"
#include "report/report_sections.h"

#include <math.h>
#include <string.h>

enum { MOST_OPEN = 24 }; /* rows of a table that is not folded */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void put_number(stk__page *page, double value)
{
    stk__page_html(page, "<td class=\"num\">");
    stk__page_number(page, value);
    stk__page_html(page, "</td>");
}

static void put_bar(stk__page *page, double value, double most)
{
    stk__page_html(page, "<td class=\"bar\">");
    if (value > 0 && most > 0) stk__page_print(page, "<i style=\"width:%.2f%%\"></i>", 100 * value / most);
    stk__page_html(page, "</td>");
}

static double most_of(const json_t *rows, const char *key)
{
    double most = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const double value = number_of(json_array_get(rows, i), key);
        if (value > most) most = value;
    }
    return most;
}

/* --- sizes ----------------------------------------------------------------------------------------------
 */

static void put_histogram(stk__page *page, const char *title, const json_t *bins)
{
    const double most = most_of(bins, "count");
    stk__page_print(page, "<div class=\"card\"><h3>%s</h3><table class=\"bars\"><tbody>\n", title);
    for (size_t i = 0; i < json_array_size(bins); i++) {
        const json_t *bin = json_array_get(bins, i);
        const double from = number_of(bin, "from_px"), to = number_of(bin, "to_px");
        stk__page_print(page,
                        from < to ? "<tr><td class=\"num\">%.0f–%.0f px</td>"
                                  : "<tr><td class=\"num\">%.0f px</td>",
                        from, to);
        put_bar(page, number_of(bin, "count"), most);
        put_number(page, number_of(bin, "count"));
        stk__page_html(page, "</tr>\n");
    }
    stk__page_html(page, "</tbody></table></div>\n");
}

static void put_common_sizes(stk__page *page, const json_t *report)
{
    const json_t *sizes = json_object_get(report, "sizes");
    const double others = number_of(report, "other_sizes"), most = most_of(sizes, "count");
    stk__page_html(page, "<div class=\"card\"><h3>Most frequent sizes</h3><table class=\"bars\"><tbody>\n");
    for (size_t i = 0; i < json_array_size(sizes); i++) {
        const json_t *size = json_array_get(sizes, i);
        stk__page_print(page, "<tr><td class=\"num\">%.0fx%.0f</td>", number_of(size, "w"),
                        number_of(size, "h"));
        put_bar(page, number_of(size, "count"), most);
        put_number(page, number_of(size, "count"));
        stk__page_html(page, "</tr>\n");
    }
    if (others > 0) {
        stk__page_html(page, "<tr class=\"nothing\"><td class=\"num\">others</td>");
        put_bar(page, others, others > most ? others : most);
        put_number(page, others);
        stk__page_html(page, "</tr>\n");
    }
    stk__page_html(page, "</tbody></table></div>\n");
}

void stk__data_page_sizes(stk__page *page, const json_t *report)
{
    const json_t *shape = json_object_get(report, "orientation");
    if (!json_array_size(json_object_get(report, "sizes"))) return;
    stk__page_html(page, "<section id=\"sizes\"><h2>Image sizes</h2>\n<p class=\"note\">");
    stk__page_print(page, "%.0f landscape, %.0f portrait, %.0f square.</p>\n<div class=\"pair\">\n",
                    number_of(shape, "landscape"), number_of(shape, "portrait"), number_of(shape, "square"));
    put_common_sizes(page, report);
    if (number_of(report, "different_sizes") > 1) {
        put_histogram(page, "Width", json_object_get(report, "width_histogram"));
        put_histogram(page, "Height", json_object_get(report, "height_histogram"));
    }
    stk__page_html(page, "</div></section>\n");
}

/* --- classes --------------------------------------------------------------------------------------------
 */

static void put_class(stk__page *page, const json_t *row, bool masks, double most)
{
    const char *name = text_of(row, "name");
    const double share = number_of(row, "share");
    stk__page_print(page, "<tr%s><td class=\"num\">%.0f</td><td>",
                    number_of(row, "count") > 0 ? "" : " class=\"nothing\"", number_of(row, "id"));
    if (masks) stk__report_swatch(page, text_of(row, "colour"));
    if (name) stk__page_text(page, name);
    stk__page_html(page, "</td>");
    put_bar(page, share, most);
    stk__page_html(page, "<td class=\"num\">");
    stk__page_share(page, share);
    stk__page_html(page, "</td>");
    put_number(page, number_of(row, "samples"));
    put_number(page, number_of(row, "weight"));
    stk__page_html(page, "</tr>\n");
}

void stk__data_page_classes(stk__page *page, const json_t *report)
{
    const json_t *classes = json_object_get(report, "classes");
    const char *unit = text_of(report, "class_unit");
    const size_t count = json_array_size(classes);
    const bool masks = unit && strcmp(unit, "pixels") == 0;
    const double most = most_of(classes, "share");
    if (!count) return;
    stk__page_html(page, "<section id=\"classes\"><h2>Classes</h2>\n<p class=\"note\">Share of ");
    stk__page_text(page, unit);
    stk__page_html(page, "; weight: balances the classes (loss.class_weights).</p>\n");
    if (count > MOST_OPEN) stk__page_print(page, "<details><summary>all %zu classes</summary>\n", count);
    stk__page_html(page, "<div class=\"card wide fit\"><table class=\"scores shares\"><thead><tr><th "
                         "class=\"num\">id</th><th>class</th><th></th><th class=\"num\">share</th><th "
                         "class=\"num\">samples</th><th class=\"num\">weight</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; i++)
        put_class(page, json_array_get(classes, i), masks, most);
    stk__page_html(page, "</tbody></table></div>\n");
    if (count > MOST_OPEN) stk__page_html(page, "</details>\n");
    if (number_of(report, "ignored_pixels") > 0) {
        stk__page_html(page, "<p class=\"note\">Ignored (255): ");
        stk__page_number(page, number_of(report, "ignored_pixels"));
        stk__page_html(page, " pixels.</p>\n");
    }
    stk__page_html(page, "</section>\n");
}

/* --- points and columns ---------------------------------------------------------------------------------
 */

static void put_table_head(stk__page *page, const char *first, const char *const *names, size_t count)
{
    stk__page_print(page, "<div class=\"card wide fit\"><table class=\"facts\"><thead><tr><th>%s</th>",
                    first);
    for (size_t i = 0; i < count; i++)
        stk__page_print(page, "<th class=\"num\">%s</th>", names[i]);
    stk__page_html(page, "</tr></thead><tbody>\n");
}

void stk__data_page_points(stk__page *page, const json_t *report)
{
    static const char *const names[] = {"visible", "missing", "outside", "x min", "x max", "y min", "y max"};
    static const char *const keys[] = {"visible",  "missing",  "outside", "x_min_px",
                                       "x_max_px", "y_min_px", "y_max_px"};
    const json_t *points = json_object_get(report, "points");
    if (!json_array_size(points)) return;
    stk__page_html(page, "<section id=\"points\"><h2>Points</h2>\n<p class=\"note\">Samples; coordinates in "
                         "pixels.</p>\n");
    put_table_head(page, "point", names, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        const char *name = text_of(point, "name");
        stk__page_html(page, "<tr><td>");
        if (name)
            stk__page_text(page, name);
        else
            stk__page_print(page, "%zu", i + 1);
        stk__page_html(page, "</td>");
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            put_number(page, number_of(point, keys[k]));
        stk__page_html(page, "</tr>\n");
    }
    stk__page_html(page, "</tbody></table></div></section>\n");
}

void stk__data_page_series(stk__page *page, const json_t *report)
{
    static const char *const names[] = {"mean", "std", "min", "max", "not numbers", "gaps"};
    static const char *const keys[] = {"mean", "std", "min", "max", "not_numbers", "gaps"};
    const json_t *columns = json_object_get(json_object_get(report, "series"), "columns");
    if (!json_array_size(columns)) return;
    stk__page_html(page, "<section id=\"series\"><h2>Columns</h2>\n");
    put_table_head(page, "column", names, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const json_t *column = json_array_get(columns, i);
        stk__page_html(page, "<tr><td>");
        stk__page_text(page, text_of(column, "name"));
        if (json_is_true(json_object_get(column, "target")) && strcmp(text_of(column, "name"), "target") != 0)
            stk__page_html(page, " (target)");
        stk__page_html(page, "</td>");
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            put_number(page, number_of(column, keys[k]));
        stk__page_html(page, "</tr>\n");
    }
    stk__page_html(page, "</tbody></table></div></section>\n");
}

/* --- files ----------------------------------------------------------------------------------------------
 */

static void put_file_facts(stk__page *page, const char *what, const json_t *files)
{
    static const struct {
        const char *key, *name;
    } kinds[] = {{"gray", "gray"},
                 {"rgb", "RGB"},
                 {"palette", "palette"},
                 {"over_8_bits", "over 8 bits a channel"},
                 {"exif_turned", "turned by EXIF"},
                 {"misnamed", "misnamed"}};
    const char *name;
    json_t *count;
    bool first = true;
    if (!json_is_object(files)) return;
    stk__page_print(page, "<tr><td>%s</td><td>", what);
    json_object_foreach(json_object_get(files, "formats"), name, count)
    {
        stk__page_html(page, first ? "" : ", ");
        stk__page_number(page, json_number_value(count));
        stk__page_html(page, " ");
        stk__page_text(page, name);
        first = false;
    }
    stk__page_html(page, " (");
    first = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const double value = number_of(files, kinds[i].key);
        if (!(value > 0)) continue;
        stk__page_html(page, first ? "" : ", ");
        stk__page_number(page, value);
        stk__page_print(page, " %s", kinds[i].name);
        first = false;
    }
    stk__page_html(page, ")</td></tr>\n");
}

static void put_channels(stk__page *page, const json_t *report, const char *key)
{
    const json_t *values = json_object_get(report, key);
    if (!json_array_size(values)) return;
    stk__page_print(page, "<tr><td>%s</td><td>", key);
    for (size_t i = 0; i < json_array_size(values); i++)
        stk__page_print(page, "%s%.4f", i ? ", " : "", json_number_value(json_array_get(values, i)));
    stk__page_html(page, " (of 0 to 1)</td></tr>\n");
}

void stk__data_page_files(stk__page *page, const json_t *report)
{
    const json_t *out = json_object_get(report, "left_out");
    stk__page_html(page, "<section id=\"files\"><h2>Files</h2>\n<div class=\"card wide fit\"><table "
                         "class=\"facts\"><tbody>\n");
    put_file_facts(page, "images", json_object_get(report, "image_files"));
    put_file_facts(page, "masks", json_object_get(report, "mask_files"));
    if (text_of(report, "found")) {
        stk__page_html(page, "<tr><td>found</td><td>");
        stk__page_text(page, text_of(report, "found"));
        stk__page_html(page, "</td></tr>\n");
    }
    put_channels(page, report, "mean");
    put_channels(page, report, "std");
    for (size_t i = 0; i < json_array_size(out); i++) {
        const json_t *row = json_array_get(out, i);
        stk__page_html(page, "<tr><td>left out</td><td>");
        stk__page_number(page, number_of(row, "count"));
        stk__page_html(page, " ");
        stk__page_text(page, text_of(row, "what"));
        stk__page_html(page, "</td></tr>\n");
    }
    stk__page_html(page, "<tr><td>fingerprint</td><td><code>");
    stk__page_text(page, text_of(report, "fingerprint"));
    stk__page_html(page, "</code></td></tr>\n</tbody></table></div></section>\n");
}
