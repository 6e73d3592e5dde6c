/* SPDX-License-Identifier: Apache-2.0 */
/* The page's stall table: where the wall time of the run went, as a bar and a table with time per step. The
 * words for its rows are those of the program, too. Pure but for the page it is written to. */
#include "report/report.h"
#include "report/report_sections.h"

#include <math.h>
#include <string.h>

enum { BAR = 1000 };

/* How a row is called for people; its index is its color in the style sheet. */
static const struct row_look {
    const char *name, *words;
} looks[] = {{"read", "data wait: read"},
             {"decode", "data wait: decode"},
             {"augment", "data wait: augment"},
             {"copy", "copy to the device"},
             {"device_augment", "augment on the device"},
             {"forward", "forward"},
             {"backward", "backward"},
             {"optimiser", "optimizer"},
             {"sync", "read results back"},
             {"eval", "evaluation"},
             {"checkpoint", "checkpoints"},
             {"other", "other"}};

/* Index in looks; what is unknown is other. */
static int look_of(const char *name)
{
    const int last = (int)(sizeof looks / sizeof looks[0]) - 1;
    for (int i = 0; i < last; i++)
        if (name && strcmp(looks[i].name, name) == 0) return i;
    return last;
}

const char *stk__report_stall_words(const char *name)
{
    return looks[look_of(name)].words;
}

static double share_of(const json_t *row)
{
    const json_t *share = json_object_get(row, STK_RUN_KEY_SHARE_OF_STALL);
    return json_is_number(share) ? json_number_value(share) : NAN;
}

static void draw_bar(stk__page *page, const json_t *rows)
{
    double at = 0;
    stk__page_print(page,
                    "<svg class=\"bar\" viewBox=\"0 0 %d 36\" preserveAspectRatio=\"none\" role=\"img\" "
                    "aria-label=\"where the time went\">\n",
                    BAR);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const double share = share_of(row);
        if (!(share > 0)) continue;
        const double width = fmin(share * BAR, BAR - at);
        const int look = look_of(stk__run_facts_text(row, STK_RUN_KEY_NAME_OF_STALL));
        stk__page_print(page,
                        "<rect class=\"s%d\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"36\"><title>%s %.1f "
                        "%%</title></rect>\n",
                        look, at, width, looks[look].words, 100 * share);
        at += width;
    }
    stk__page_html(page, "</svg>\n");
}

static void put_time(stk__page *page, double value)
{
    if (isfinite(value))
        stk__page_print(page, "%.*f", fabs(value) < 10 ? 3 : 1, value);
    else
        stk__page_html(page, "–");
}

static void put_row(stk__page *page, const json_t *row, double wall_s, double steps)
{
    const double share = share_of(row);
    const int look = look_of(stk__run_facts_text(row, STK_RUN_KEY_NAME_OF_STALL));
    stk__page_print(page, "<tr%s><td><i class=\"s%d\"></i>%s</td><td class=\"num\">",
                    fabs(share) < 0.0005 ? " class=\"nothing\"" : "", look, looks[look].words);
    stk__page_share(page, share);
    stk__page_html(page, "</td><td class=\"num\">");
    put_time(page, share * wall_s);
    stk__page_html(page, "</td><td class=\"num\">");
    put_time(page, steps > 0 ? share * wall_s / steps * 1e3 : NAN);
    stk__page_html(page, "</td></tr>\n");
}

void stk__report_stall(stk__page *page, const stk__run_facts *f)
{
    const json_t *rows = json_object_get(f->run, STK_RUN_KEY_STALL);
    const double wall_s = stk__run_facts_number(f, STK_RUN_KEY_WALL_S),
                 steps = stk__run_facts_number(f, STK_RUN_KEY_STEPS_RUN);
    if (!json_array_size(rows)) return;
    stk__page_html(page, "<section id=\"stall\"><h2>Where the time went</h2>\n<div class=\"card\">");
    draw_bar(page, rows);
    stk__page_html(
        page,
        "<div class=\"wide\"><table class=\"stall\"><thead><tr><th></th><th class=\"num\">share</th><th "
        "class=\"num\">seconds</th><th class=\"num\">ms per step</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < json_array_size(rows); i++)
        put_row(page, json_array_get(rows, i), wall_s, steps);
    stk__page_html(page, "</tbody></table></div></div></section>\n");
}
