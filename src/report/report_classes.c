/* SPDX-License-Identifier: Apache-2.0 */
/* How the last evaluation went class by class: a table of scores, and what was taken for what, as a matrix
 * or, where that would not fit on a page, as the largest confusions. Everything comes from run.json. */
#include "report/report_sections.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_IN_MATRIX = 20, MOST_OPEN = 24 }; /* classes of a matrix; rows of a table that is not folded */

void stk__report_swatch(stk__page *page, const char *colour)
{
    bool whole = colour && colour[0] == '#' && strlen(colour) == 7;
    for (int i = 1; whole && i < 7; i++)
        whole = isxdigit((unsigned char)colour[i]) != 0;
    if (whole)
        stk__page_print(page, "<i style=\"background:%s\"></i>", colour);
    else
        stk__page_html(page, "<i class=\"plain\"></i>");
}

static double value_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* --- scores ------------------------------------------------------------------------------------------------
 */

static void put_number(stk__page *page, double value, bool share)
{
    stk__page_html(page, "<td class=\"num\">");
    if (isnan(value))
        stk__page_html(page, "–");
    else if (share)
        stk__page_print(page, "%.3f", value);
    else
        stk__page_number(page, value);
    stk__page_html(page, "</td>");
}

static void put_class(stk__page *page, const json_t *row, bool pixels)
{
    static const char *const shares[] = {STK_RUN_KEY_PRECISION_OF_CLASS, STK_RUN_KEY_RECALL_OF_CLASS,
                                         STK_RUN_KEY_IOU_OF_CLASS, STK_RUN_KEY_F_SCORE_OF_CLASS};
    stk__page_html(page, "<tr><td>");
    if (pixels) stk__report_swatch(page, stk__run_facts_text(row, STK_RUN_KEY_COLOUR_OF_CLASS));
    stk__page_text(page, stk__run_facts_text(row, STK_RUN_KEY_NAME_OF_CLASS));
    stk__page_html(page, "</td>");
    put_number(page, value_of(row, STK_RUN_KEY_COUNT_OF_CLASS), false);
    put_number(page, value_of(row, STK_RUN_KEY_PREDICTED_OF_CLASS), false);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        if (pixels || shares[i] != shares[2]) put_number(page, value_of(row, shares[i]), true);
    stk__page_html(page, "</tr>\n");
}

static void put_table(stk__page *page, const json_t *classes, const char *unit)
{
    const bool pixels = strcmp(unit, "pixels") == 0;
    stk__page_html(
        page,
        "<div class=\"card wide fit\"><table class=\"scores\"><thead><tr><th>class</th><th class=\"num\">");
    stk__page_text(page, unit);
    stk__page_html(page, "</th><th class=\"num\">predicted</th><th class=\"num\">precision</th><th "
                         "class=\"num\">recall</th>");
    if (pixels) stk__page_html(page, "<th class=\"num\">IoU</th>");
    stk__page_html(page, "<th class=\"num\">F-score</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < json_array_size(classes); i++)
        put_class(page, json_array_get(classes, i), pixels);
    stk__page_html(page, "</tbody></table></div>\n");
}

/* --- confusions --------------------------------------------------------------------------------------------
 */

static void put_cell(stk__page *page, double count, double all, bool hit)
{
    const double share = all > 0 ? count / all : 0;
    if (!(count > 0)) {
        stk__page_html(page, "<td></td>");
        return;
    }
    stk__page_print(page, "<td class=\"%s%s\" style=\"--v:%.3f\" title=\"%.0f\">", hit ? "hit" : "miss",
                    share > 0.7 ? " full" : "", share, count);
    stk__page_print(page, 100 * share < 0.5 ? "·" : "%.0f", 100 * share);
    stk__page_html(page, "</td>");
}

static void put_matrix_row(stk__page *page, const json_t *classes, const json_t *row, size_t truth)
{
    const json_t *about = json_array_get(classes, truth);
    stk__page_print(page, "<tr><th><b>%zu</b> ", truth);
    stk__page_text(page, stk__run_facts_text(about, STK_RUN_KEY_NAME_OF_CLASS));
    stk__page_html(page, "</th>");
    for (size_t said = 0; said < json_array_size(classes); said++)
        put_cell(page, json_number_value(json_array_get(row, said)),
                 value_of(about, STK_RUN_KEY_COUNT_OF_CLASS), said == truth);
    stk__page_html(page, "</tr>\n");
}

static void put_matrix(stk__page *page, const json_t *classes, const json_t *matrix)
{
    stk__page_html(page,
                   "<h3>Confusion matrix</h3>\n<p class=\"note\">Rows: truth; columns: prediction. Percent "
                   "of the row; a dot is less than half a percent.</p>\n"
                   "<div class=\"card wide fit\"><table class=\"confusion\"><thead><tr><th></th>");
    for (size_t i = 0; i < json_array_size(classes); i++) {
        stk__page_html(page, "<th title=\"");
        stk__page_text(page, stk__run_facts_text(json_array_get(classes, i), STK_RUN_KEY_NAME_OF_CLASS));
        stk__page_print(page, "\">%zu</th>", i);
    }
    stk__page_html(page, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < json_array_size(classes); i++)
        put_matrix_row(page, classes, json_array_get(matrix, i), i);
    stk__page_html(page, "</tbody></table></div>\n");
}

static void put_largest(stk__page *page, const json_t *rows, const char *unit)
{
    if (!json_array_size(rows)) return;
    stk__page_html(
        page,
        "<h3>Largest confusions</h3>\n<div class=\"card wide fit\"><table class=\"confusions\"><thead><tr>"
        "<th>truth</th><th>prediction</th><th class=\"num\">");
    stk__page_text(page, unit);
    stk__page_html(page, "</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        stk__page_html(page, "<tr><td>");
        stk__page_text(page, stk__run_facts_text(row, STK_RUN_KEY_TRUTH_OF_CONFUSION));
        stk__page_html(page, "</td><td>");
        stk__page_text(page, stk__run_facts_text(row, STK_RUN_KEY_PREDICTION_OF_CONFUSION));
        stk__page_html(page, "</td>");
        put_number(page, value_of(row, STK_RUN_KEY_COUNT_OF_CONFUSION), false);
        stk__page_html(page, "</tr>\n");
    }
    stk__page_html(page, "</tbody></table></div>\n");
}

/* The step of the last line with an evaluation; -1: none. */
static json_int_t last_evaluated(const stk__run_facts *f)
{
    for (size_t i = json_array_size(f->lines); i-- > 0;) {
        const json_t *line = json_array_get(f->lines, i);
        if (json_object_get(line, "val_loss")) return json_integer_value(json_object_get(line, "step"));
    }
    return -1;
}

/* The best evaluation's classes are not kept: the reader must not take these for them. */
static void put_which(stk__page *page, const stk__run_facts *f)
{
    const json_int_t last = last_evaluated(f);
    const double best = stk__run_facts_number(f, STK_RUN_KEY_BEST_STEP);
    stk__page_html(page, "<p class=\"note\">The validation set, in the last evaluation");
    if (last >= 0) stk__page_print(page, ", after step %lld", (long long)last);
    if (last >= 0 && best >= 0 && (json_int_t)best == last)
        stk__page_html(page, ", which is the best one");
    else if (last >= 0 && best >= 0)
        stk__page_print(page,
                        ". The best one was after step %lld: <code>stoker eval RUN</code> prints its numbers",
                        (long long)best);
    stk__page_html(page, ". –: nothing was counted.</p>\n");
}

void stk__report_classes(stk__page *page, const stk__run_facts *f)
{
    const json_t *evaluation = json_object_get(f->run, STK_RUN_KEY_EVALUATION),
                 *classes = json_object_get(evaluation, STK_RUN_KEY_CLASSES_OF_EVALUATION),
                 *matrix = json_object_get(evaluation, STK_RUN_KEY_CONFUSION_OF_EVALUATION);
    const char *unit = stk__run_facts_text(evaluation, STK_RUN_KEY_UNIT_OF_EVALUATION);
    const size_t count = json_array_size(classes);
    if (!count || !unit) return;
    stk__page_html(page, "<section id=\"classes\"><h2>Classes</h2>\n");
    put_which(page, f);
    if (count > MOST_OPEN) stk__page_print(page, "<details><summary>all %zu classes</summary>\n", count);
    put_table(page, classes, unit);
    if (count > MOST_OPEN) stk__page_html(page, "</details>\n");
    if (count <= MOST_IN_MATRIX && json_array_size(matrix) == count)
        put_matrix(page, classes, matrix);
    else
        put_largest(page, json_object_get(evaluation, STK_RUN_KEY_CONFUSIONS_OF_EVALUATION), unit);
    stk__page_html(page, "</section>\n");
}
