/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a data set, from what `stoker stats --json` prints: first what is suspicious, then samples to
 * look at, then tables (data_page_tables.c). Pictures are inline; text from outside is escaped by page.c. One
 * thread. */
#include "report/data_page.h"

#include "core/file.h"
#include "report/plot.h"

#include <locale.h>
#include <math.h>
#include <string.h>

enum { SMALL_PX = 64 }; /* pictures below are shown with visible pixels */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* --- head -----------------------------------------------------------------------------------------------
 */

/* "faces" of "data/faces/" */
static void put_name(stk__page *page, const json_t *report)
{
    const char *root = text_of(report, "root");
    size_t end = root ? strlen(root) : 0, start;
    while (end > 1 && root[end - 1] == '/')
        end--;
    for (start = end; start > 0 && root[start - 1] != '/'; start--)
        ;
    if (root) stk__page_text_part(page, root + start, end - start);
}

static void put_tile(stk__page *page, const char *name, double value)
{
    if (isnan(value)) return;
    stk__page_html(page, "<div class=\"card tile\"><b>");
    stk__page_number(page, value);
    stk__page_print(page, "</b><span>%s</span></div>\n", name);
}

static void put_tiles(stk__page *page, const json_t *report)
{
    const json_t *content = json_object_get(report, "content"), *series = json_object_get(report, "series");
    const size_t classes = json_array_size(json_object_get(report, "classes"));
    const bool images = json_is_object(json_object_get(report, "image_files"));
    stk__page_html(page, "<div class=\"tiles\">\n");
    put_tile(page, "samples", number_of(report, "samples"));
    put_tile(page, "classes", classes ? (double)classes : NAN);
    put_tile(page, "rows", number_of(series, "rows"));
    put_tile(page, "image sizes", images ? number_of(report, "different_sizes") : NAN);
    put_tile(page, "duplicates", images ? number_of(content, "duplicates") : NAN);
    put_tile(page, "in train and val", number_of(content, "in_both"));
    put_tile(page, "bad samples", number_of(report, "bad_samples"));
    stk__page_html(page, "</div>\n");
}

static void put_head(stk__page *page, const json_t *report)
{
    const size_t findings = json_array_size(json_object_get(report, "findings"));
    stk__page_html(page, "<header><h1>");
    put_name(page, report);
    stk__page_html(page, "</h1>\n<p class=\"about\">");
    stk__page_text(page, text_of(report, "root"));
    stk__page_html(page, ": ");
    stk__page_text(page, text_of(report, "layout"));
    if (text_of(json_object_get(report, "content"), "compared_with")) {
        stk__page_html(page, ", part ");
        stk__page_text(page, text_of(report, "part"));
    }
    if (json_is_true(json_object_get(report, "limited")))
        stk__page_html(page, ", the first samples only (data.limit)");
    stk__page_html(page, "</p>\n<p>");
    if (findings)
        stk__page_print(page, "<span class=\"state found\">%zu finding%s</span>", findings,
                        stk__plural(findings));
    else
        stk__page_html(page, "<span class=\"state good\">no findings</span>");
    stk__page_html(page, "</p></header>\n");
    put_tiles(page, report);
}

/* --- findings -------------------------------------------------------------------------------------------
 */

static void put_paths(stk__page *page, const json_t *paths)
{
    if (!json_array_size(paths)) return;
    stk__page_html(page, "<p>such as ");
    for (size_t i = 0; i < json_array_size(paths); i++) {
        stk__page_html(page, i ? " and <code>" : "<code>");
        stk__page_text(page, json_string_value(json_array_get(paths, i)));
        stk__page_html(page, "</code>");
    }
    stk__page_html(page, "</p>");
}

static void put_findings(stk__page *page, const json_t *findings)
{
    if (!json_array_size(findings)) return;
    stk__page_html(page, "<section id=\"findings\"><h2>Findings</h2>\n");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        stk__page_html(page, "<div class=\"finding ");
        stk__page_text(page, text_of(finding, "severity"));
        stk__page_html(page, "\"><p><b>");
        stk__page_text(page, text_of(finding, "severity"));
        stk__page_html(page, "</b>");
        stk__page_text(page, text_of(finding, "text"));
        stk__page_html(page, " <span class=\"rule\">(");
        stk__page_text(page, text_of(finding, "id"));
        stk__page_html(page, ")</span></p>");
        put_paths(page, json_object_get(finding, "paths"));
        stk__page_html(page, "<p class=\"note\">");
        stk__page_text(page, text_of(finding, "hint"));
        stk__page_html(page, "</p></div>\n");
    }
    stk__page_html(page, "</section>\n");
}

/* --- samples --------------------------------------------------------------------------------------------
 */

static void put_picture(stk__page *page, const stk__data_thumb *thumb, const stk__buffer *jpeg,
                        const char *what)
{
    const bool small = thumb->w < SMALL_PX && thumb->h < SMALL_PX;
    if (!jpeg->size_bytes) return;
    stk__page_print(page, "<img class=\"%s\" alt=\"%s of ", small ? "small" : "shown", what);
    stk__page_text(page, thumb->path);
    stk__page_html(page, "\" src=\"data:image/jpeg;base64,");
    stk__page_base64(page, jpeg->data, jpeg->size_bytes);
    stk__page_html(page, "\">");
}

static void put_thumb(stk__page *page, const stk__data_thumb *thumb)
{
    const char *slash = strrchr(thumb->path, '/');
    stk__page_html(page, "<figure class=\"card thumb\"><div class=\"views\">");
    if (thumb->bad) stk__page_html(page, "<div class=\"broken\">cannot be loaded</div>");
    put_picture(page, thumb, &thumb->picture, "image");
    put_picture(page, thumb, &thumb->overlay, "mask");
    stk__page_html(page, "</div><figcaption><span class=\"file\" title=\"");
    stk__page_text(page, thumb->path);
    stk__page_html(page, "\">");
    stk__page_text(page, slash && slash[1] ? slash + 1 : thumb->path);
    stk__page_html(page, "</span>");
    if (thumb->label[0]) stk__page_html(page, " · ");
    stk__page_text(page, thumb->label);
    if (thumb->w) stk__page_print(page, " · %dx%d", thumb->w, thumb->h);
    if (thumb->why[0]) stk__page_html(page, "<br><span class=\"why\">");
    stk__page_text(page, thumb->why);
    if (thumb->why[0]) stk__page_html(page, "</span>");
    stk__page_html(page, "</figcaption></figure>\n");
}

static void put_thumbs(stk__page *page, const stk__data_pictures *pictures)
{
    bool masks = false, named = false;
    if (!pictures->count) return;
    for (int i = 0; i < pictures->count; i++) {
        masks |= pictures->thumbs[i].overlay.size_bytes > 0;
        named |= pictures->thumbs[i].why[0] != '\0';
    }
    stk__page_print(page, "<section id=\"samples\"><h2>Samples</h2>\n<p class=\"note\">%s%s.</p>\n",
                    named ? "Those that findings name, then others spread over the part"
                          : "Spread over the part",
                    masks ? "; beside each image its mask, in the colors of the classes below" : "");
    stk__page_print(page, "<div class=\"thumbs%s\">\n", masks ? " pairs" : "");
    for (int i = 0; i < pictures->count; i++)
        put_thumb(page, &pictures->thumbs[i]);
    stk__page_html(page, "</div></section>\n");
}

static void put_targets(stk__page *page, const stk__data_pictures *pictures)
{
    if (!pictures->target_count) return;
    const stk__plot plot = {
        .title = "target",
        .x_name = "row",
        .whole_x = true,
        .line_count = 1,
        .lines = {{"target", 0, pictures->target_rows, pictures->targets, pictures->target_count}}};
    stk__page_html(page, "<section id=\"target\"><h2>Target</h2><div class=\"charts one\">\n");
    stk__plot_draw(page, &plot);
    stk__page_html(page, "</div></section>\n");
}

/* --- all of it ------------------------------------------------------------------------------------------
 */

static void write_page(stk__page *page, const json_t *report, const stk__data_pictures *pictures)
{
    static void (*const tables[])(stk__page *, const json_t *) = {
        stk__data_page_classes, stk__data_page_sizes, stk__data_page_points, stk__data_page_series,
        stk__data_page_files};
    stk__page_begin(page);
    put_name(page, report);
    stk__page_html(page, " · data set");
    stk__page_body(page, stk__data_page_css);
    put_head(page, report);
    put_findings(page, json_object_get(report, "findings"));
    put_thumbs(page, pictures);
    put_targets(page, pictures);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        tables[i](page, report);
    stk__page_end(page);
}

stk_status stk__data_page_write(const json_t *report, const stk__data_pictures *pictures, const char *path,
                                stk_error *error)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); /* coordinates have no commas */
    if (!plain) return stk__fail_memory(error, 64, "a locale");
    const locale_t before = uselocale(plain);
    stk__page page = {.error = error};
    write_page(&page, report, pictures);
    stk_status status = page.status;
    if (status == STK_OK) status = stk__file_write(path, page.text, STK_FILE_QUICK | STK_FILE_NAMED, error);
    stk__buffer_fini(&page.text);
    uselocale(before);
    freelocale(plain);
    return status;
}
