/* SPDX-License-Identifier: Apache-2.0 */
/* The page's charts: one curve per key of metrics.jsonl over the steps, training and validation of one
 * metric in one chart. */
#include "report/plot.h"
#include "report/report_sections.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_METRICS = 16, KEY_BYTES = 64, TRAIN = 0, VALIDATION = 1 };

/* A key of the lines against the steps; x and y lie in one piece of memory. */
typedef struct column {
    double *x, *y;
    size_t count;
} column;

static column read_column(stk__page *page, const stk__run_facts *f, const char *key, double scale)
{
    const size_t room = json_array_size(f->lines);
    column c = {.x = stk__alloc(2 * room * sizeof *c.x)};
    if (!c.x) {
        if (room && page->status == STK_OK)
            page->status = stk__fail_memory(page->error, 2 * room * sizeof *c.x, "a chart");
        return c;
    }
    c.y = c.x + room;
    for (size_t i = 0; i < room; i++) {
        const json_t *line = json_array_get(f->lines, i), *value = json_object_get(line, key);
        if (!value) continue;
        c.x[c.count] = (double)json_integer_value(json_object_get(line, "step"));
        c.y[c.count++] = json_is_number(value) ? json_number_value(value) * scale : NAN;
    }
    return c;
}

/* --- metrics ---------------------------------------------------------------------------------------------
 */

typedef struct keys {
    char names[MOST_METRICS][KEY_BYTES]; /* without "val_" */
    int count;
} keys;

static void note_key(keys *k, const char *key)
{
    static const char *const others[] = {"step", "epoch", "lr", "grad_norm", "samples_per_s", "wait_share"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(key, others[i]) == 0) return;
    if (strncmp(key, "val_", 4) == 0) key += 4;
    if (strlen(key) >= KEY_BYTES - 4) return;
    for (int i = 0; i < k->count; i++)
        if (strcmp(k->names[i], key) == 0) return;
    if (k->count < MOST_METRICS) strcpy(k->names[k->count++], key);
}

static void find_keys(const stk__run_facts *f, keys *k)
{
    note_key(k, "loss");
    for (size_t i = 0; i < json_array_size(f->lines); i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_array_get(f->lines, i), key, value) note_key(k, key);
    }
}

static bool draw_metric(stk__page *page, const stk__run_facts *f, const char *key)
{
    char val_key[KEY_BYTES + 4];
    const char *metric = stk__run_facts_text(f->run, STK_RUN_KEY_METRIC);
    snprintf(val_key, sizeof val_key, "val_%s", key);
    const column train = read_column(page, f, key, 1), val = read_column(page, f, val_key, 1);
    const stk__plot plot = {.title = key,
                            .x_name = "step",
                            .whole_x = true,
                            .may_log = strcmp(key, "loss") == 0,
                            .line_count = 2,
                            .lines = {{"training", TRAIN, train.x, train.y, train.count},
                                      {"validation", VALIDATION, val.x, val.y, val.count}},
                            .mark = metric && strcmp(metric, key) == 0 &&
                                    !isnan(stk__run_facts_number(f, STK_RUN_KEY_BEST_METRIC)),
                            .mark_x = stk__run_facts_number(f, STK_RUN_KEY_BEST_STEP),
                            .mark_name = "best"};
    const bool drawn = stk__plot_draw(page, &plot);
    stk__free(train.x);
    stk__free(val.x);
    return drawn;
}

static bool draw_one(stk__page *page, const stk__run_facts *f, const char *key, stk__plot plot, double scale)
{
    const column c = read_column(page, f, key, scale);
    plot.x_name = "step";
    plot.whole_x = true;
    plot.line_count = 1;
    plot.lines[0] = (stk__plot_line){plot.title, 0, c.x, c.y, c.count};
    const bool drawn = stk__plot_draw(page, &plot);
    stk__free(c.x);
    return drawn;
}

void stk__report_charts(stk__page *page, const stk__run_facts *f)
{
    keys k = {0};
    bool drawn = false;
    find_keys(f, &k);
    stk__page_html(page, "<section id=\"charts\"><h2>Training</h2>\n<div class=\"charts\">\n");
    for (int i = 0; i < k.count; i++)
        drawn |= draw_metric(page, f, k.names[i]);
    drawn |= draw_one(page, f, "lr", (stk__plot){.title = "learning rate"}, 1);
    drawn |= draw_one(page, f, "grad_norm", (stk__plot){.title = "gradient norm", .may_log = true}, 1);
    drawn |= draw_one(page, f, "samples_per_s", (stk__plot){.title = "samples per second"}, 1);
    drawn |=
        draw_one(page, f, "wait_share",
                 (stk__plot){.title = "data wait", .unit = "% of the time", .fixed = true, .most = 100}, 100);
    stk__page_html(page, "</div>\n");
    if (!drawn)
        stk__page_html(page,
                       "<p class=\"none\">Nothing was logged: the run ended before train.log_interval steps "
                       "and before its first epoch was over.</p>\n");
    stk__page_html(page, "</section>\n");
}
