/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for, what came of it, and what was computed. */
#include "report/report_sections.h"

#include <math.h>
#include <stdlib.h>

static void put_json(stk__page *page, const json_t *value)
{
    if (!value || json_is_null(value)) {
        stk__page_html(page, "–");
        return;
    }
    if (json_is_string(value)) {
        stk__page_text(page, *json_string_value(value) ? json_string_value(value) : "–");
        return;
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    stk__page_text(page, text ? text : "");
    free(text);
}

/* --- effects -----------------------------------------------------------------------------------------------
 */

/* Asked for, and something else came of it. */
static bool differs(const json_t *row)
{
    const json_t *requested = json_object_get(row, STK_RUN_KEY_REQUESTED_OF_EFFECT);
    return requested && !json_is_null(requested) &&
           json_is_string(json_object_get(row, STK_RUN_KEY_WHY_OF_EFFECT)) &&
           !json_equal(requested, json_object_get(row, STK_RUN_KEY_IN_EFFECT_OF_EFFECT));
}

static void put_effect(stk__page *page, const json_t *row)
{
    stk__page_html(page, "<tr><td><code>");
    stk__page_text(page, stk__run_facts_text(row, STK_RUN_KEY_NAME_OF_EFFECT));
    stk__page_html(page, "</code></td><td>");
    put_json(page, json_object_get(row, STK_RUN_KEY_REQUESTED_OF_EFFECT));
    stk__page_html(page, "</td><td>");
    put_json(page, json_object_get(row, STK_RUN_KEY_IN_EFFECT_OF_EFFECT));
    stk__page_html(page, "</td><td class=\"why\">");
    stk__page_text(page, stk__run_facts_text(row, STK_RUN_KEY_WHY_OF_EFFECT));
    stk__page_html(page, "</td></tr>\n");
}

static const char effects_head[] =
    "<div class=\"card wide\"><table class=\"effects\"><thead><tr><th>setting</th><th>requested</th>"
    "<th>in effect</th><th>why</th></tr></thead><tbody>\n";

void stk__report_effects(stk__page *page, const stk__run_facts *f)
{
    const json_t *rows = json_object_get(f->run, STK_RUN_KEY_EFFECTS);
    int different = 0;
    if (!json_array_size(rows)) return;
    for (size_t i = 0; i < json_array_size(rows); i++)
        different += differs(json_array_get(rows, i));
    stk__page_html(page, "<section id=\"effects\"><h2>Settings</h2>\n");
    if (different) {
        stk__page_html(page, "<p class=\"note\">In effect, different from what was requested:</p>\n");
        stk__page_html(page, effects_head);
        for (size_t i = 0; i < json_array_size(rows); i++)
            if (differs(json_array_get(rows, i))) put_effect(page, json_array_get(rows, i));
        stk__page_html(page, "</tbody></table></div>\n");
    } else
        stk__page_html(page, "<p class=\"note\">All requested settings are in effect.</p>\n");
    stk__page_print(page, "<details><summary>all %zu settings</summary>\n", json_array_size(rows));
    stk__page_html(page, effects_head);
    for (size_t i = 0; i < json_array_size(rows); i++)
        put_effect(page, json_array_get(rows, i));
    stk__page_html(page, "</tbody></table></div></details></section>\n");
}

/* --- layers ------------------------------------------------------------------------------------------------
 */

static void put_number(stk__page *page, const json_t *row, const char *key)
{
    const double value = json_number_value(json_object_get(row, key));
    stk__page_html(page, "<td class=\"num\">");
    if (value > 0) stk__page_number(page, value);
    stk__page_html(page, "</td>");
}

static void put_layer(stk__page *page, const json_t *row)
{
    static const char *const texts[] = {STK_RUN_KEY_NAME_OF_LAYER, STK_RUN_KEY_OP_OF_LAYER,
                                        STK_RUN_KEY_OUTPUT_OF_LAYER};
    const double flops = json_number_value(json_object_get(row, STK_RUN_KEY_FORWARD_FLOPS)),
                 bytes = json_number_value(json_object_get(row, STK_RUN_KEY_MEMORY_OF_LAYER));
    stk__page_html(page, "<tr>");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk__page_html(page, "<td>");
        stk__page_text(page, stk__run_facts_text(row, texts[i]));
        stk__page_html(page, "</td>");
    }
    put_number(page, row, STK_RUN_KEY_PARAMETERS);
    stk__page_html(page, "<td class=\"num\">");
    if (flops > 0) stk__page_print(page, flops < 5e4 ? "&lt; 0.1" : "%.1f", flops / 1e6);
    stk__page_html(page, "</td><td class=\"num\">");
    if (bytes > 0) stk__page_bytes(page, bytes);
    if (json_is_true(json_object_get(row, STK_RUN_KEY_RECOMPUTED_OF_LAYER)))
        stk__page_html(page, ", recomputed");
    stk__page_html(page, "</td></tr>\n");
}

static void put_memory(stk__page *page, const stk__run_facts *f)
{
    static const struct {
        const char *words, *key;
    } parts[] = {{"weights, gradients, optimizer", STK_RUN_KEY_MODEL},
                 {"activations", STK_RUN_KEY_ACTIVATION},
                 {"planned, total", STK_RUN_KEY_PLANNED_MEMORY},
                 {"peak", STK_RUN_KEY_PEAK_MEMORY}};
    const char *comma = "";
    stk__page_html(page, "<p class=\"note\">Memory: ");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const double bytes = stk__run_facts_number(f, parts[i].key);
        if (!isfinite(bytes)) continue;
        stk__page_print(page, "%s%s ", comma, parts[i].words);
        stk__page_bytes(page, bytes);
        comma = " · ";
    }
    stk__page_html(page, "</p>\n");
}

void stk__report_layers(stk__page *page, const stk__run_facts *f)
{
    const json_t *layers = json_object_get(f->run, STK_RUN_KEY_LAYERS);
    if (!json_array_size(layers)) return;
    stk__page_html(page, "<section id=\"plan\"><h2>Plan</h2>\n");
    put_memory(page, f);
    stk__page_print(page,
                    "<details><summary>all %zu layers</summary>\n<div class=\"card wide\"><table "
                    "class=\"layers\"><thead><tr>"
                    "<th>layer</th><th>op</th><th>output</th><th class=\"num\">parameters</th><th "
                    "class=\"num\">MFLOP</th><th class=\"num\">memory</th></tr></thead><tbody>\n",
                    json_array_size(layers));
    for (size_t i = 0; i < json_array_size(layers); i++)
        put_layer(page, json_array_get(layers, i));
    stk__page_html(page, "</tbody></table></div></details></section>\n");
}

void stk__report_config(stk__page *page, const stk__run_facts *f)
{
    if (!f->config.size_bytes) return;
    stk__page_html(page,
                   "<section id=\"config\"><h2>Configuration</h2>\n<details><summary>config.yaml</summary>\n"
                   "<div class=\"card wide\"><pre>");
    stk__page_text_part(page, (const char *)f->config.data, f->config.size_bytes);
    stk__page_html(page, "</pre></div></details></section>\n");
}
