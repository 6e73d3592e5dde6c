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

static void put_picture(stk__page *page, const stk__run_facts *f)
{
    stk__page_html(page, "data:image/png;base64,");
    stk__page_base64(page, f->picture.data, f->picture.size_bytes);
}

/* --- masks and points: the sheet as it is ------------------------------------------------------------------
 */

static void put_sheet(stk__page *page, const stk__run_facts *f)
{
    static const char *const names[COLUMNS] = {"image", "truth", "prediction"};
    stk__page_html(page, "<figure class=\"card sheet\"><figcaption>");
    for (int i = 0; i < COLUMNS; i++)
        stk__page_print(page, "<span>%s</span>", names[i]);
    stk__page_html(page, "</figcaption><img alt=\"images, truths and predictions side by side\" src=\"");
    put_picture(page, f);
    stk__page_html(page, "\"></figure>\n");
}

/* --- classes: one column of pictures, cut by the style sheet -------------------------------------------
 */

/* Of the sheet, in pixels. */
typedef struct cells {
    double w, h, gap;
    int rows;
} cells;

static bool find_cells(const json_t *answers, cells *c)
{
    const json_t *cell = json_object_get(answers, "cell");
    *c = (cells){whole(cell, "width_px"), whole(cell, "height_px"), whole(cell, "gap_px"),
                 whole(answers, "rows")};
    return c->w > 0 && c->h > 0 && c->gap > 0 && c->rows > 0;
}

/* A share of what the sheet is larger than the cell: that is how style sheets count. */
static double down_percent(const cells *c, int i)
{
    const double all = c->rows * (c->h + c->gap) + c->gap;
    return 100 * (c->gap + i * (c->h + c->gap)) / (all - c->h);
}

static void put_class(stk__page *page, const json_t *sample, double down)
{
    const char *truth = stk__run_facts_text(sample, "truth"),
               *said = stk__run_facts_text(sample, "prediction");
    const bool right = truth && said && strcmp(truth, said) == 0;
    const json_t *share = json_object_get(sample, "probability");
    stk__page_print(page, "<figure><div class=\"cut\" style=\"background-position:50%% %.4f%%\"></div>",
                    down);
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

static void put_classes(stk__page *page, const stk__run_facts *f, const json_t *samples, const cells *c)
{
    stk__page_print(page,
                    "<style>.cut{aspect-ratio:%.0f/%.0f;background-size:%.4f%% auto;background-image:url(",
                    c->w, c->h, 100 * (c->w + 2 * c->gap) / c->w);
    put_picture(page, f);
    stk__page_html(page, ")}</style>\n<div class=\"card classes\">\n");
    for (size_t i = 0; i < json_array_size(samples) && (int)i < c->rows; i++)
        put_class(page, json_array_get(samples, i), down_percent(c, (int)i));
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
        .x_name = "window of the validation part",
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
    const bool pictures = f->picture.size_bytes > 0;
    if (!task || !json_array_size(samples)) return;
    const bool values = json_object_get(json_array_get(samples, 0), "probability") == NULL &&
                        json_object_get(json_array_get(samples, 0), "truth") != NULL;
    cells c;
    const bool sheet = pictures && whole(f->answers, "columns") == COLUMNS,
               classes = pictures && !sheet && find_cells(f->answers, &c);
    if (!values && !sheet && !classes) return;
    stk__page_html(
        page, "<section id=\"answers\"><h2>What it says</h2>\n<p class=\"note\">The first samples of the "
              "validation part, in the last evaluation.</p>\n");
    if (values)
        put_values(page, samples);
    else if (sheet)
        put_sheet(page, f);
    else
        put_classes(page, f, samples, &c);
    stk__page_html(page, "</section>\n");
}
