/* SPDX-License-Identifier: Apache-2.0 */
/* Line charts as inline SVG: ranges, axes with round ticks, thinned lines with gaps where values are not
 * finite, and the values themselves as attributes for the page's script. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>

enum {
    WIDTH = 380,
    HEIGHT = 218,
    LEFT = 44,
    RIGHT = 12,
    TOP = 10,
    BOTTOM = 34,
    MOST_DOTS = 40,
    PER_BUNCH = 5
};

typedef struct canvas {
    stk__page *page;
    const stk__plot *plot;
    stk__scale x, y;
} canvas;

/* --- ranges ----------------------------------------------------------------------------------------------
 */

typedef struct range {
    double least, most;
    bool any;
} range;

static void widen(range *r, double value)
{
    if (!r->any || value < r->least) r->least = value;
    if (!r->any || value > r->most) r->most = value;
    r->any = true;
}

static bool find_ranges(const stk__plot *plot, range *x, range *y)
{
    *x = *y = (range){0};
    for (int i = 0; i < plot->line_count; i++) {
        const stk__plot_line *line = &plot->lines[i];
        for (size_t k = 0; k < line->count; k++) {
            if (!stk__plot_can(line->x[k])) continue;
            widen(x, line->x[k]);
            if (stk__plot_can(line->y[k])) widen(y, line->y[k]);
        }
    }
    return x->any && y->any;
}

static void make_scales(canvas *c, range x, range y)
{
    if (c->plot->fixed) y = (range){c->plot->least, c->plot->most, true};
    c->x = stk__scale_make(x.least, x.most, (stk__scale_form){.whole = c->plot->whole_x});
    c->x.from_px = LEFT;
    c->x.to_px = WIDTH - RIGHT;
    c->y = stk__scale_make(y.least, y.most, (stk__scale_form){.widen = true, .may_log = c->plot->may_log});
    c->y.from_px = HEIGHT - BOTTOM;
    c->y.to_px = TOP;
}

/* --- axes --------------------------------------------------------------------------------------------------
 */

static void draw_axes(const canvas *c)
{
    char text[24];
    double last_px = -100;
    for (int i = 0; i < c->y.tick_count; i++) {
        const double at = stk__scale_px(&c->y, c->y.ticks[i]);
        stk__scale_print(&c->y, c->y.ticks[i], text);
        stk__page_print(c->page,
                        "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                        "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                        LEFT, WIDTH - RIGHT, at, at, LEFT - 6, at + 4, text);
    }
    for (int i = 0; i < c->x.tick_count; i++) {
        const double at = stk__scale_px(&c->x, c->x.ticks[i]);
        if (at - last_px < 34) continue;
        last_px = at;
        stk__scale_print(&c->x, c->x.ticks[i], text);
        stk__page_print(c->page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", at,
                        HEIGHT - BOTTOM + 16, text);
    }
    stk__page_print(c->page,
                    "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
                    "<text class=\"name\" x=\"%d\" y=\"%d\" text-anchor=\"end\">",
                    LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - 4);
    stk__page_text(c->page, c->plot->x_name);
    stk__page_html(c->page, "</text>\n");
}

static void draw_band(const canvas *c)
{
    if (!c->plot->band) return;
    const double top = stk__scale_px(&c->y, c->plot->band_most),
                 bottom = stk__scale_px(&c->y, c->plot->band_least);
    stk__page_print(c->page, "<rect class=\"band\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n",
                    LEFT, top, WIDTH - LEFT - RIGHT, bottom - top);
}

static void draw_mark(const canvas *c)
{
    if (!c->plot->mark || c->plot->mark_x < c->x.least || c->plot->mark_x > c->x.most) return;
    const double at = stk__scale_px(&c->x, c->plot->mark_x);
    const bool right = at > WIDTH - 60;
    stk__page_print(c->page,
                    "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                    "<text class=\"name\" x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">",
                    at, at, TOP, HEIGHT - BOTTOM, right ? at - 4 : at + 4, TOP + 9, right ? "end" : "start");
    stk__page_text(c->page, c->plot->mark_name);
    stk__page_html(c->page, "</text>\n");
}

/* --- thinning --------------------------------------------------------------------------------------------
 */

bool stk__plot_can(double value)
{
    return isfinite(value) && fabs(value) < 1e300; /* so that differences are numbers too */
}

typedef struct bunch {
    size_t low, high, gap; /* indices; count: none */
} bunch;

static bunch look_at(const double *y, size_t from, size_t to)
{
    bunch b = {to, to, to};
    for (size_t i = from; i < to; i++) {
        if (!stk__plot_can(y[i]))
            b.gap = i;
        else {
            if (b.low == to || y[i] < y[b.low]) b.low = i;
            if (b.high == to || y[i] > y[b.high]) b.high = i;
        }
    }
    return b;
}

/* Spikes and holes stay visible at any length. */
size_t stk__plot_thin(const double *y, size_t count, uint32_t kept[STK_PLOT_KEPT])
{
    const size_t bunches = STK_PLOT_KEPT / PER_BUNCH, size = (count + bunches - 1) / bunches;
    size_t n = 0;
    if (count <= STK_PLOT_KEPT) {
        for (; n < count; n++)
            kept[n] = (uint32_t)n;
        return n;
    }
    for (size_t from = 0; from < count; from += size) {
        const size_t to = from + size < count ? from + size : count;
        const bunch b = look_at(y, from, to);
        for (size_t i = from; i < to; i++)
            if (i == from || i == to - 1 || i == b.low || i == b.high || i == b.gap) kept[n++] = (uint32_t)i;
    }
    return n;
}

/* --- lines -------------------------------------------------------------------------------------------------
 */

/* The points that are drawn. */
typedef struct points {
    const stk__plot_line *line;
    uint32_t at[STK_PLOT_KEPT];
    size_t count;
} points;

static bool is_there(const points *p, size_t i)
{
    return i < p->count && stk__plot_can(p->line->x[p->at[i]]) && stk__plot_can(p->line->y[p->at[i]]);
}

static void put_path(const canvas *c, const points *p)
{
    bool pen = false;
    for (size_t i = 0; i < p->count; i++) {
        const bool there = is_there(p, i);
        if (there)
            stk__page_print(c->page, "%c%.1f %.1f", pen ? 'L' : 'M',
                            stk__scale_px(&c->x, p->line->x[p->at[i]]),
                            stk__scale_px(&c->y, p->line->y[p->at[i]]));
        pen = there;
    }
}

/* For the script and for tests. */
static void put_values(const canvas *c, const points *p, const double *values)
{
    const char *comma = "";
    for (size_t i = 0; i < p->count; i++) {
        if (!is_there(p, i)) continue;
        stk__page_print(c->page, "%s%.7g", comma, values[p->at[i]]);
        comma = " ";
    }
}

/* A point without neighbours would not be seen in a path; a few look better with dots. */
static void put_dots(const canvas *c, const points *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const bool alone = !(i && is_there(p, i - 1)) && !is_there(p, i + 1);
        if (!is_there(p, i) || (p->count > MOST_DOTS && !alone)) continue;
        stk__page_print(c->page, "<circle class=\"dot k%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\"/>",
                        p->line->colour, stk__scale_px(&c->x, p->line->x[p->at[i]]),
                        stk__scale_px(&c->y, p->line->y[p->at[i]]));
    }
    stk__page_html(c->page, "\n");
}

static void draw_line(const canvas *c, points *p)
{
    p->count = stk__plot_thin(p->line->y, p->line->count, p->at);
    stk__page_print(c->page, "<path class=\"line l%d\" data-name=\"", p->line->colour);
    stk__page_text(c->page, p->line->name);
    stk__page_html(c->page, "\" d=\"");
    put_path(c, p);
    stk__page_html(c->page, "\" data-x=\"");
    put_values(c, p, p->line->x);
    stk__page_html(c->page, "\" data-y=\"");
    put_values(c, p, p->line->y);
    stk__page_html(c->page, "\"/>\n");
    put_dots(c, p);
}

/* --- the whole ---------------------------------------------------------------------------------------------
 */

static bool has_points(const stk__plot_line *line)
{
    for (size_t i = 0; i < line->count; i++)
        if (stk__plot_can(line->x[i]) && stk__plot_can(line->y[i])) return true;
    return false;
}

static void draw_caption(const canvas *c)
{
    const stk__plot *plot = c->plot;
    stk__page_html(c->page, "<figcaption><b>");
    stk__page_text(c->page, plot->title);
    stk__page_html(c->page, "</b>");
    if (plot->unit || c->y.log) stk__page_html(c->page, " <span class=\"unit\">");
    stk__page_text(c->page, plot->unit);
    if (c->y.log) stk__page_html(c->page, plot->unit ? ", log scale" : "log scale");
    if (plot->unit || c->y.log) stk__page_html(c->page, "</span>");
    stk__page_html(c->page, "<span class=\"legend\">");
    for (int i = 0; i < plot->line_count && plot->line_count > 1; i++) {
        if (!has_points(&plot->lines[i])) continue;
        stk__page_print(c->page, "<span><i class=\"b%d\"></i>", plot->lines[i].colour);
        stk__page_text(c->page, plot->lines[i].name);
        stk__page_html(c->page, "</span>");
    }
    stk__page_html(c->page, "</span></figcaption>\n");
}

bool stk__plot_draw(stk__page *page, const stk__plot *plot)
{
    points *p = stk__alloc(sizeof *p);
    canvas c = {.page = page, .plot = plot};
    range x, y;
    if (!p && page->status == STK_OK) page->status = stk__fail_memory(page->error, sizeof *p, "a chart");
    const bool draws = p && find_ranges(plot, &x, &y);
    if (draws) {
        make_scales(&c, x, y);
        stk__page_html(page, "<figure class=\"card chart\">");
        draw_caption(&c);
        stk__page_print(page, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
        stk__page_text(page, plot->title);
        stk__page_print(page,
                        "\" data-left=\"%d\" data-right=\"%d\" data-least=\"%.9g\" data-most=\"%.9g\">\n",
                        LEFT, WIDTH - RIGHT, c.x.least, c.x.most);
        draw_band(&c);
        draw_axes(&c);
        draw_mark(&c);
        for (int i = 0; i < plot->line_count; i++) {
            p->line = &plot->lines[i];
            if (has_points(p->line)) draw_line(&c, p);
        }
        stk__page_html(page, "</svg></figure>\n");
    }
    stk__free(p);
    return draws;
}
