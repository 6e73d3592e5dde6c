/* SPDX-License-Identifier: Apache-2.0 */
/* What the network answered in its last evaluation, beside the truth: samples from all of the part, and the
 * worst ones. Pictures are cut out of one sheet. */
#include "report/plot.h"
#include "report/report_sections.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 3 };

static int whole(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

/* Pictures on the sheet, in pixels; the style sheet cuts them out. */
typedef struct cells {
    double w, h, gap;
    int columns, rows;
} cells;

static bool find_cells(const json_t *answers, cells *c)
{
    const json_t *cell = json_object_get(answers, "cell");
    *c = (cells){whole(cell, "width_px"), whole(cell, "height_px"), whole(cell, "gap_px"),
                 whole(answers, "columns"), whole(answers, "rows")};
    return c->w > 0 && c->h > 0 && c->gap > 0 && c->columns > 0 && c->rows > 0;
}

static double sheet_px(double cell, double gap, int count)
{
    return count * (cell + gap) + gap;
}

/* Where a cell begins, as a share of what the sheet is larger than it: that is how style sheets count. */
static double place_percent(double cell, double gap, int count, int i)
{
    return 100 * (gap + i * (cell + gap)) / (sheet_px(cell, gap, count) - cell);
}

static void put_style(stk__page *page, const stk__run_facts *f, const cells *c)
{
    stk__page_print(page, "<style>.cut{aspect-ratio:%.0f/%.0f;background-size:%.4f%% auto;", c->w, c->h,
                    100 * sheet_px(c->w, c->gap, c->columns) / c->w);
    stk__page_html(page, "background-image:url(data:image/png;base64,");
    stk__page_base64(page, f->picture.data, f->picture.size_bytes);
    stk__page_html(page, ")}</style>\n");
}

static void put_cut(stk__page *page, const cells *c, int column, int row)
{
    stk__page_print(page, "<div class=\"cut\" style=\"background-position:%.4f%% %.4f%%\"></div>",
                    place_percent(c->w, c->gap, c->columns, column),
                    place_percent(c->h, c->gap, c->rows, row));
}

static const char *file_of(const json_t *sample)
{
    const char *path = stk__run_facts_text(sample, "file"), *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path;
}

static double value_of(const json_t *sample, const char *key)
{
    const json_t *value = key ? json_object_get(sample, key) : NULL;
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Where its picture is; older runs have them in the order of the samples. */
static int row_of(const json_t *sample, size_t i)
{
    const json_t *row = json_object_get(sample, "picture_row");
    return json_is_integer(row) ? (int)json_integer_value(row) : (int)i;
}

/* "000012.jpg · mIoU 0.031" */
static void put_name(stk__page *page, const json_t *answers, const json_t *sample)
{
    const double score = value_of(sample, stk__run_facts_text(answers, "score"));
    if (!file_of(sample)) return;
    stk__page_html(page, "<p class=\"sample\"><span class=\"file\" title=\"");
    stk__page_text(page, stk__run_facts_text(sample, "file"));
    stk__page_html(page, "\">");
    stk__page_text(page, file_of(sample));
    stk__page_html(page, "</span>");
    if (!isnan(score)) {
        stk__page_html(page, " · ");
        stk__page_text(page, stk__run_facts_text(answers, "score_words"));
        stk__page_print(page, " %.3g ", score);
        stk__page_text(page, stk__run_facts_text(answers, "score_unit"));
    }
    stk__page_html(page, "</p>");
}

/* --- masks and points --------------------------------------------------------------------------------------
 */

static void put_legend(stk__page *page, const json_t *answers)
{
    const json_t *rows = json_object_get(answers, "legend");
    if (!json_array_size(rows)) return;
    stk__page_html(page, "<p class=\"legend keys\">");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        stk__page_html(page, "<span>");
        stk__report_swatch(page, stk__run_facts_text(row, "colour"));
        stk__page_text(page, stk__run_facts_text(row, "name"));
        stk__page_html(page, "</span>\n");
    }
    if (strcmp(stk__run_facts_text(answers, "task"), "points") == 0)
        stk__page_html(page, "<span>○ truth</span> <span>+ prediction</span>");
    stk__page_html(page, "</p>\n");
}

static void put_trios(stk__page *page, const json_t *answers, const json_t *samples, const cells *c)
{
    static const char *const names[COLUMNS] = {"image", "truth", "prediction"};
    stk__page_html(page, "<div class=\"trios\">\n");
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        if (row_of(sample, i) >= c->rows) continue;
        stk__page_html(page, "<div class=\"card trio\">");
        for (int k = 0; k < COLUMNS; k++) {
            stk__page_html(page, "<figure>");
            put_cut(page, c, k, row_of(sample, i));
            stk__page_print(page, "<figcaption>%s</figcaption></figure>", names[k]);
        }
        put_name(page, answers, sample);
        stk__page_html(page, "</div>\n");
    }
    stk__page_html(page, "</div>\n");
}

/* --- classes -----------------------------------------------------------------------------------------------
 */

/* The end of a figure. */
static void put_file(stk__page *page, const json_t *sample)
{
    stk__page_html(page, "<br><span title=\"");
    stk__page_text(page, stk__run_facts_text(sample, "file"));
    stk__page_html(page, "\">");
    stk__page_text(page, file_of(sample));
    stk__page_html(page, "</span></figcaption></figure>\n");
}

static void put_class(stk__page *page, const json_t *sample, const cells *c, int row)
{
    const char *truth = stk__run_facts_text(sample, "truth"),
               *said = stk__run_facts_text(sample, "prediction");
    const bool right = truth && said && strcmp(truth, said) == 0;
    const double probability = value_of(sample, "probability");
    stk__page_html(page, "<figure>");
    put_cut(page, c, 0, row);
    stk__page_print(page, "<figcaption><b class=\"%s\">%s ", right ? "right" : "wrong", right ? "✓" : "✗");
    stk__page_text(page, said);
    stk__page_html(page, "</b>");
    if (!isnan(probability)) stk__page_print(page, " %.0f %%", 100 * probability);
    if (!right && truth) {
        stk__page_html(page, "<br>is ");
        stk__page_text(page, truth);
    }
    put_file(page, sample);
}

/* The value of an image, predicted and true. */
static void put_value(stk__page *page, const json_t *sample, const cells *c, int row)
{
    stk__page_html(page, "<figure>");
    put_cut(page, c, 0, row);
    stk__page_html(page, "<figcaption><b>");
    stk__page_number(page, value_of(sample, "prediction"));
    stk__page_html(page, "</b><br>is ");
    stk__page_number(page, value_of(sample, "truth"));
    put_file(page, sample);
}

static void put_classes(stk__page *page, const json_t *samples, const cells *c)
{
    stk__page_html(page, "<div class=\"card classes\">\n");
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        const bool value = json_is_number(json_object_get(sample, "prediction"));
        if (row_of(sample, i) < c->rows) (value ? put_value : put_class)(page, sample, c, row_of(sample, i));
    }
    stk__page_html(page, "</div>\n");
}

/* --- values ------------------------------------------------------------------------------------------------
 */

static void put_values(stk__page *page, const json_t *samples)
{
    const size_t count = json_array_size(samples);
    double *memory = stk__alloc(3 * count * sizeof *memory), *truth = memory + count,
           *said = memory + 2 * count;
    if (!memory) {
        if (page->status == STK_OK)
            page->status = stk__fail_memory(page->error, 3 * count * sizeof *memory, "a chart");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memory[i] = (double)i;
        truth[i] = value_of(json_array_get(samples, i), "truth");
        said[i] = value_of(json_array_get(samples, i), "prediction");
    }
    const stk__plot plot = {
        .title = "predictions",
        .x_name = "window of the validation set",
        .whole_x = true,
        .line_count = 2,
        .lines = {{"truth", 2, memory, truth, count}, {"prediction", 1, memory, said, count}}};
    stk__page_html(page, "<div class=\"charts one\">\n");
    stk__plot_draw(page, &plot);
    stk__page_html(page, "</div>\n");
    stk__free(memory);
}

static void put_worst_values(stk__page *page, const json_t *samples)
{
    static const char *const keys[] = {"row", "truth", "prediction", "abs_error"};
    stk__page_html(page, "<div class=\"card wide fit\"><table class=\"worst\"><thead><tr><th>file</th><th "
                         "class=\"num\">row</th><th class=\"num\">truth</th><th class=\"num\">prediction</th>"
                         "<th class=\"num\">error</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        stk__page_html(page, "<tr><td>");
        stk__page_text(page, file_of(sample));
        stk__page_html(page, "</td>");
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            stk__page_html(page, "<td class=\"num\">");
            stk__page_number(page, value_of(sample, keys[k]));
            stk__page_html(page, "</td>");
        }
        stk__page_html(page, "</tr>\n");
    }
    stk__page_html(page, "</tbody></table></div>\n");
}

/* --- the section -------------------------------------------------------------------------------------------
 */

static void put_samples(stk__page *page, const json_t *answers, const json_t *samples, const cells *c)
{
    if (c->columns == COLUMNS)
        put_trios(page, answers, samples, c);
    else
        put_classes(page, samples, c);
}

/* c: NULL without pictures. */
static void put_worst(stk__page *page, const json_t *answers, const cells *c)
{
    const json_t *worst = json_object_get(answers, "worst");
    const char *words = stk__run_facts_text(answers, "score_words");
    if (!json_array_size(worst) || !words) return;
    stk__page_html(page, "<h3>Worst samples</h3>\n<p class=\"note\">By ");
    stk__page_text(page, words);
    stk__page_html(page, ", the worst first.</p>\n");
    if (c)
        put_samples(page, answers, worst, c);
    else
        put_worst_values(page, worst);
}

void stk__report_answers(stk__page *page, const stk__run_facts *f)
{
    const json_t *samples = json_object_get(f->answers, "samples");
    if (!stk__run_facts_text(f->answers, "task") || !json_array_size(samples)) return;
    const bool values = !json_object_get(f->answers, "cell") && /* those of windows have no pictures */
                        json_object_get(json_array_get(samples, 0), "truth") != NULL;
    cells c;
    const bool pictures = !values && f->picture.size_bytes && find_cells(f->answers, &c);
    if (!values && !pictures) return;
    stk__page_html(page, "<section id=\"answers\"><h2>Predictions</h2>\n<p class=\"note\">");
    stk__page_html(page, pictures ? "Samples from all of" : "The first samples of");
    stk__page_html(page, " the validation set, in the last evaluation.</p>\n");
    if (pictures) {
        put_style(page, f, &c);
        put_legend(page, f->answers);
        put_samples(page, f->answers, samples, &c);
    } else
        put_values(page, samples);
    put_worst(page, f->answers, pictures ? &c : NULL);
    stk__page_html(page, "</section>\n");
}
