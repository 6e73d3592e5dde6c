/* SPDX-License-Identifier: Apache-2.0 */
/* What one wants to know first. */
#include "report/report_sections.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* "faces" of "make:faces?count=40" or "data/faces/". */
static void put_data_name(stk__page *page, const char *root)
{
    size_t end = strlen(root), start;
    while (end > 1 && root[end - 1] == '/')
        end--;
    for (start = end; start > 0 && root[start - 1] != '/'; start--)
        ;
    if (strncmp(root + start, "make:", 5) == 0) start += 5;
    const char *question = memchr(root + start, '?', end - start);
    if (question) end = (size_t)(question - root);
    stk__page_text_part(page, root + start, end - start);
}

static const char *root_of(const stk__run_facts *f)
{
    const char *root = json_string_value(stk__run_facts_setting(f, "data.root"));
    return root ? root
                : stk__run_facts_text(json_object_get(f->run, STK_RUN_KEY_DATA), STK_RUN_KEY_ROOT_OF_DATA);
}

static void put_name(stk__page *page, const stk__run_facts *f)
{
    const char *network = stk__run_facts_text(f->run, STK_RUN_KEY_NETWORK), *root = root_of(f);
    const char *slash = strrchr(f->folder, '/');
    if (!network) {
        stk__page_text(page, slash && slash[1] ? slash + 1 : f->folder);
        return;
    }
    stk__page_text(page, network);
    if (!root) return;
    stk__page_html(page, " on ");
    put_data_name(page, root);
}

/* "2026-11-16 17:58 UTC" */
static void put_date(stk__page *page, const stk__run_facts *f)
{
    char text[32] = "";
    const char *date = stk__run_facts_text(f->run, STK_RUN_KEY_DATE);
    if (date && strlen(date) >= 16)
        snprintf(text, sizeof text, "%.10s %.5s UTC", date, date + 11);
    else if (f->changed_s) {
        const time_t when = (time_t)f->changed_s;
        struct tm parts;
        if (gmtime_r(&when, &parts)) strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
    }
    stk__page_text(page, text);
}

static void put_best(stk__page *page, const stk__run_facts *f)
{
    const char *metric = stk__run_facts_text(f->run, STK_RUN_KEY_METRIC);
    const double best = stk__run_facts_number(f, STK_RUN_KEY_BEST_METRIC);
    if (!metric || isnan(best)) return;
    stk__page_text(page, metric);
    stk__page_html(page, " ");
    stk__page_number(page, best);
    stk__page_html(page, " · ");
}

void stk__report_title(stk__page *page, const stk__run_facts *f)
{
    put_name(page, f);
    stk__page_html(page, " · ");
    put_best(page, f);
    put_date(page, f);
}

/* --- state -----------------------------------------------------------------------------------------------
 */

/* It can be resumed: neither finished nor stopped early. */
static bool is_open(const stk__run_facts *f)
{
    const json_t *asked = stk__run_facts_setting(f, "train.epochs");
    const bool short_of = json_is_integer(asked) &&
                          stk__run_facts_number(f, STK_RUN_KEY_EPOCHS) < (double)json_integer_value(asked);
    return !f->run || stk__run_facts_is(f, STK_RUN_KEY_INTERRUPTED) ||
           (short_of && !stk__run_facts_is(f, STK_RUN_KEY_STOPPED_EARLY));
}

static void put_failure(stk__page *page, const stk__run_facts *f)
{
    const json_t *error = json_object_get(f->run, STK_RUN_KEY_ERROR);
    const char *message = stk__run_facts_text(error, STK_RUN_KEY_MESSAGE_OF_ERROR),
               *hint = stk__run_facts_text(error, STK_RUN_KEY_HINT_OF_ERROR);
    stk__page_print(page, "failed after step %.0f", stk__run_facts_number(f, STK_RUN_KEY_STEPS));
    if (message) {
        stk__page_html(page, ": ");
        stk__page_text(page, message);
    }
    if (hint && *hint) {
        stk__page_html(page, " (hint: ");
        stk__page_text(page, hint);
        stk__page_html(page, ")");
    }
}

static void put_state(stk__page *page, const stk__run_facts *f)
{
    const bool open = is_open(f);
    stk__page_print(page, "<span class=\"state %s\">", open ? "open" : "good");
    if (!f->run)
        stk__page_html(page, "unfinished: there is no run.json yet");
    else if (stk__run_facts_is(f, STK_RUN_KEY_INTERRUPTED))
        stk__page_print(page, "stopped on request after step %.0f",
                        stk__run_facts_number(f, STK_RUN_KEY_STEPS));
    else if (stk__run_facts_is(f, STK_RUN_KEY_FAILED))
        put_failure(page, f);
    else if (open)
        stk__page_print(page, "ended after step %.0f, before its last epoch",
                        stk__run_facts_number(f, STK_RUN_KEY_STEPS));
    else
        stk__page_html(page, stk__run_facts_is(f, STK_RUN_KEY_STOPPED_EARLY)
                                 ? "early stopping: the metric did not improve"
                                 : "finished");
    stk__page_html(page, "</span>");
    if (!open) return;
    stk__page_html(page, " <span class=\"go\">resume with <code>stoker train --run ");
    stk__page_text(page, f->folder);
    stk__page_html(page, " --resume</code></span>");
}

static void put_subtitle(stk__page *page, const stk__run_facts *f)
{
    const json_t *data = json_object_get(f->run, STK_RUN_KEY_DATA);
    const char *root = root_of(f), *layout = stk__run_facts_text(data, STK_RUN_KEY_LAYOUT_OF_DATA);
    const json_t *samples = json_object_get(data, STK_RUN_KEY_SAMPLES_OF_DATA),
                 *val = json_object_get(data, STK_RUN_KEY_VAL_SAMPLES_OF_DATA);
    stk__page_html(page, "<p class=\"about\">");
    stk__page_text(page, root);
    if (layout) stk__page_html(page, ": ");
    stk__page_text(page, layout);
    if (json_is_integer(samples))
        stk__page_print(page, ", %lld training sample%s", (long long)json_integer_value(samples),
                        stk__plural((unsigned long long)json_integer_value(samples)));
    if (json_is_integer(val))
        stk__page_print(page, ", %lld validation sample%s", (long long)json_integer_value(val),
                        stk__plural((unsigned long long)json_integer_value(val)));
    if (root) stk__page_html(page, " · ");
    if (stk__run_facts_text(f->run, STK_RUN_KEY_ENGINE)) {
        stk__page_html(page, "engine ");
        stk__page_text(page, stk__run_facts_text(f->run, STK_RUN_KEY_ENGINE));
        const double threads = stk__run_facts_number(f, STK_RUN_KEY_THREADS);
        stk__page_print(page, ", %.0f thread%s · ", threads, threads == 1 ? "" : "s");
    }
    stk__page_html(page, "run ");
    stk__page_text(page, f->folder);
    stk__page_html(page, "</p>\n");
}

/* --- tiles -----------------------------------------------------------------------------------------------
 */

static void put_duration(stk__page *page, double seconds)
{
    if (seconds < 120)
        stk__page_print(page, "%.3g s", seconds);
    else if (seconds < 7200)
        stk__page_print(page, "%.0f min", seconds / 60);
    else
        stk__page_print(page, "%.1f h", seconds / 3600);
}

typedef enum tile_form { TILE_NUMBER, TILE_DURATION, TILE_MS, TILE_BYTES, TILE_COUNT } tile_form;

static void put_value(stk__page *page, tile_form form, double value)
{
    if (form == TILE_DURATION)
        put_duration(page, value);
    else if (form == TILE_BYTES)
        stk__page_bytes(page, value);
    else if (form == TILE_COUNT && value >= 1e6)
        stk__page_print(page, "%.2f M", value / 1e6);
    else if (form == TILE_MS)
        stk__page_print(page, "%.4g ms", value);
    else
        stk__page_number(page, value);
}

static void put_tile(stk__page *page, const char *name, tile_form form, double value, double step)
{
    if (isnan(value)) return;
    stk__page_html(page, "<div class=\"card tile\"><b>");
    put_value(page, form, value);
    stk__page_html(page, "</b><span>");
    stk__page_text(page, name);
    if (step > 0) stk__page_print(page, ", step %.0f", step);
    stk__page_html(page, "</span></div>\n");
}

static void put_tiles(stk__page *page, const stk__run_facts *f)
{
    static const struct {
        const char *name, *key;
        tile_form form;
    } tiles[] = {{"last training loss", STK_RUN_KEY_LOSS, TILE_NUMBER},
                 {"samples per second", STK_RUN_KEY_SAMPLES_PER_S, TILE_NUMBER},
                 {"a step", STK_RUN_KEY_STEP_MS, TILE_MS},
                 {"all steps", STK_RUN_KEY_WALL_S, TILE_DURATION},
                 {"to the first step", STK_RUN_KEY_FIRST_STEP_S, TILE_DURATION},
                 {"peak memory", STK_RUN_KEY_PEAK_MEMORY, TILE_BYTES},
                 {"parameters", STK_RUN_KEY_PARAMETERS, TILE_COUNT}};
    const char *metric = stk__run_facts_text(f->run, STK_RUN_KEY_METRIC);
    char name[96];
    snprintf(name, sizeof name, "best %s", metric ? metric : "");
    stk__page_html(page, "<div class=\"tiles\">\n");
    put_tile(page, name, TILE_NUMBER, stk__run_facts_number(f, STK_RUN_KEY_BEST_METRIC),
             stk__run_facts_number(f, STK_RUN_KEY_BEST_STEP));
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        put_tile(page, tiles[i].name, tiles[i].form, stk__run_facts_number(f, tiles[i].key), 0);
    stk__page_html(page, "</div>\n");
}

static void put_advice(stk__page *page, const char *title, const char *text)
{
    stk__page_html(page, "<p class=\"advice\"><b>");
    stk__page_html(page, title);
    stk__page_html(page, "</b> ");
    stk__page_text(page, text);
    stk__page_html(page, "</p>\n");
}

void stk__report_head(stk__page *page, const stk__run_facts *f)
{
    const char *advice = stk__run_facts_text(f->run, STK_RUN_KEY_ADVICE);
    stk__page_html(page, "<header><h1>");
    put_name(page, f);
    stk__page_html(page, "</h1><p class=\"line\">");
    put_state(page, f);
    stk__page_html(page, " <span class=\"date\">");
    put_date(page, f);
    stk__page_html(page, "</span></p>\n");
    put_subtitle(page, f);
    stk__page_html(page, "</header>\n");
    if (f->run) put_tiles(page, f);
    if (advice && *advice) put_advice(page, "What would help most", advice);
    const json_t *rules = json_object_get(f->run, STK_RUN_KEY_ADVICE_RULES);
    for (size_t i = 1; i < json_array_size(rules); i++) { /* the first is above */
        advice = stk__run_facts_text(json_array_get(rules, i), STK_RUN_KEY_TEXT_OF_ADVICE);
        if (advice) put_advice(page, "Also", advice);
    }
}
