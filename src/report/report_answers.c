/* SPDX-License-Identifier: Apache-2.0 */
/* What the network answered in its last evaluation, beside the truth. */
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

/* --- masks and points --------------------------------------------------------------------------------------
 */

static void put_trios(stk__page *page, const json_t *samples, const cells *c)
{
    static const char *const names[COLUMNS] = {"image", "truth", "prediction"};
    stk__page_html(page, "<div class=\"trios\">\n");
    for (int i = 0; i < (int)json_array_size(samples) && i < c->rows; i++) {
        stk__page_html(page, "<div class=\"card trio\">");
        for (int k = 0; k < COLUMNS; k++) {
            stk__page_html(page, "<figure>");
            put_cut(page, c, k, i);
            stk__page_print(page, "<figcaption>%s</figcaption></figure>", names[k]);
        }
        stk__page_html(page, "</div>\n");
    }
    stk__page_html(page, "</div>\n");
}

/* --- classes
 * -------------------------------------------------------------------------------------------------
 */

static void put_class(stk__page *page, const json_t *sample, const cells *c, int row)
{
    const char *truth = stk__run_facts_text(sample, "truth"),
               *said = stk__run_facts_text(sample, "prediction");
    const bool right = truth && said && strcmp(truth, said) == 0;
    const json_t *share = json_object_get(sample, "probability");
    stk__page_html(page, "<figure>");
    put_cut(page, c, 0, row);
    stk__page_print(page, "<figcaption><b class=\"%s\">%s ", right ? "right" : "wrong", right ? "✓" : "✗");
    stk__page_text(page, said);
    stk__page_html(page, "</b>");
    if (json_is_number(share)) stk__page_print(page, " %.0f %%", 100 * json_number_value(share));
    if (!right && truth) {
        stk__page_html(page, "<br>is ");
        stk__page_text(page, truth);
    }
    stk__page_html(page, "</figcaption></figure>\n");
}

static void put_classes(stk__page *page, const json_t *samples, const cells *c)
{
    stk__page_html(page, "<div class=\"card classes\">\n");
    for (int i = 0; i < (int)json_array_size(samples) && i < c->rows; i++)
        put_class(page, json_array_get(samples, (size_t)i), c, i);
    stk__page_html(page, "</div>\n");
}

/* --- values
 * ----------------------------------------------------------------------------------------------------
 */

static double value_of(const json_t *sample, const char *key)
{
    const json_t *value = json_object_get(sample, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

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

void stk__report_answers(stk__page *page, const stk__run_facts *f)
{
    const char *task = stk__run_facts_text(f->answers, "task");
    const json_t *samples = json_object_get(f->answers, "samples");
    if (!task || !json_array_size(samples)) return;
    const bool values = json_object_get(json_array_get(samples, 0), "probability") == NULL &&
                        json_object_get(json_array_get(samples, 0), "truth") != NULL;
    cells c;
    const bool pictures = !values && f->picture.size_bytes && find_cells(f->answers, &c);
    if (!values && !pictures) return;
    stk__page_html(page, "<section id=\"answers\"><h2>Predictions</h2>\n<p class=\"note\">");
    stk__page_html(page, pictures && c.columns != COLUMNS ? "Samples from all of" : "The first samples of");
    stk__page_html(page, " the validation set, in the last evaluation.</p>\n");
    if (pictures) put_style(page, f, &c);
    if (values)
        put_values(page, samples);
    else if (c.columns == COLUMNS)
        put_trios(page, samples, &c);
    else
        put_classes(page, samples, &c);
    stk__page_html(page, "</section>\n");
}
