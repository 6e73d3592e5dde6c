/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPUs did, from the recordings beside the run. */
#include "monitor/verdict/gpu_targets.h"
#include "report/plot.h"
#include "report/report_sections.h"

#include <math.h>
#include <stddef.h>

typedef struct gpu_look {
    const char *title, *unit;
    size_t offset; /* in stk__gpu_moment */
    bool percent;
    bool band;
    double band_least, band_most;
} gpu_look;

static const gpu_look looks[] = {
    {"GPU utilization", "%", offsetof(stk__gpu_moment, util_percent), true, true, STK_GPU_UTIL_LEAST_PERCENT,
     STK_GPU_UTIL_MOST_PERCENT},
    {"GPU power", "W", offsetof(stk__gpu_moment, power_w), false, false, 0, 0},
    {"GPU memory", "% in use", offsetof(stk__gpu_moment, memory_percent), true, true,
     STK_GPU_MEMORY_LEAST_PERCENT, STK_GPU_MEMORY_MOST_PERCENT},
    {"GPU temperature", "°C", offsetof(stk__gpu_moment, temperature_c), false, false, 0, 0},
};

static double value_of(const stk__gpu_moment *moment, size_t offset)
{
    return *(const double *)((const char *)moment + offset);
}

/* Both lie in one piece of memory, which the caller frees: line->x. */
static void fill_line(stk__page *page, stk__plot_line *line, const stk__buffer *moments, size_t offset)
{
    const stk__gpu_moment *from = (const stk__gpu_moment *)(const void *)moments->data;
    const size_t count = moments->size_bytes / sizeof *from;
    double *x = stk__alloc(2 * count * sizeof *x);
    if (!x) {
        if (count && page->status == STK_OK)
            page->status = stk__fail_memory(page->error, 2 * count * sizeof *x, "a chart");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        x[i] = from[i].minute;
        x[count + i] = value_of(&from[i], offset);
    }
    line->x = x;
    line->y = x + count;
    line->count = count;
}

static bool draw(stk__page *page, const stk__run_facts *f, const gpu_look *look)
{
    stk__plot plot = {.title = look->title,
                      .unit = look->unit,
                      .x_name = "minutes",
                      .line_count = f->gpu_count,
                      .fixed = look->percent,
                      .most = 100,
                      .band = look->band,
                      .band_least = look->band_least,
                      .band_most = look->band_most};
    for (int i = 0; i < f->gpu_count; i++) {
        plot.lines[i] = (stk__plot_line){.name = f->gpu_names[i], .colour = i};
        fill_line(page, &plot.lines[i], &f->gpus[i], look->offset);
    }
    const bool drawn = stk__plot_draw(page, &plot);
    for (int i = 0; i < f->gpu_count; i++)
        stk__free((double *)(uintptr_t)plot.lines[i].x);
    return drawn;
}

/* --- judgement -------------------------------------------------------------------------------------------
 */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void put_cell(stk__page *page, double value, const char *unit)
{
    stk__page_html(page, "<td class=\"num\">");
    if (isfinite(value))
        stk__page_print(page, "%.0f%s", value, unit);
    else
        stk__page_html(page, "–");
    stk__page_html(page, "</td>");
}

static void put_gpu(stk__page *page, const json_t *gpu)
{
    stk__page_html(page, "<tr><td>");
    const json_t *part = json_object_get(gpu, "part_number");
    stk__page_print(page, "%lld", (long long)json_integer_value(json_object_get(gpu, "gpu")));
    if (json_is_integer(part)) stk__page_print(page, ".%lld", (long long)json_integer_value(part));
    stk__page_html(page, " ");
    stk__page_text(page, stk__run_facts_text(gpu, "name"));
    stk__page_html(page, "</td>");
    put_cell(page, number_of(gpu, "util_mean_percent"), " %");
    put_cell(page, number_of(gpu, "util_std_percent"), " %");
    put_cell(page, number_of(gpu, "power_mean_w"), " W");
    put_cell(page, 100 * number_of(gpu, "memory_peak_share"), " %");
    put_cell(page, number_of(gpu, "hottest_c"), " °C");
    stk__page_html(page, "<td>");
    stk__page_text(page, stk__run_facts_text(gpu, "verdict"));
    stk__page_html(page, "</td></tr>\n");
}

static void put_judgement(stk__page *page, const json_t *monitor)
{
    const json_t *gpus = json_object_get(monitor, "gpus");
    if (!json_is_object(monitor)) return;
    stk__page_html(page, "<p class=\"advice\"><b>Verdict</b> ");
    stk__page_text(page, stk__run_facts_text(monitor, "verdict"));
    stk__page_html(
        page,
        "</p>\n<div class=\"card wide\"><table><thead><tr><th>GPU</th><th class=\"num\">utilization</th><th "
        "class=\"num\">±</th><th class=\"num\">power</th><th class=\"num\">memory, peak</th><th "
        "class=\"num\">hottest</th><th></th></tr></thead><tbody>\n");
    for (size_t i = 0; i < json_array_size(gpus); i++)
        put_gpu(page, json_array_get(gpus, i));
    stk__page_html(page, "</tbody></table></div>\n");
}

static void put_charts(stk__page *page, const stk__run_facts *f)
{
    bool drawn = false;
    stk__page_html(page, "<div class=\"charts\">\n");
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        drawn |= draw(page, f, &looks[i]);
    stk__page_html(page, "</div>\n");
    if (drawn && f->watched_count > f->gpu_count)
        stk__page_print(page, "<p class=\"note\">The charts show the first %d of %d GPUs.</p>\n",
                        f->gpu_count, f->watched_count);
}

void stk__report_gpus(stk__page *page, const stk__run_facts *f)
{
    const json_t *monitor = json_object_get(f->run, STK_RUN_KEY_MONITOR);
    if (!f->gpu_count && !monitor && !f->recording_fault[0]) return;
    stk__page_html(page, "<section id=\"gpus\"><h2>GPUs</h2>\n");
    put_judgement(page, monitor);
    put_charts(page, f);
    if (f->recording_fault[0]) {
        stk__page_html(page, "<p class=\"none\">A recording is incomplete: ");
        stk__page_text(page, f->recording_fault);
        stk__page_html(page, "</p>\n");
    }
    stk__page_html(page, "</section>\n");
}
