/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a data set as JSON: what `stoker stats --json` prints, what its text and its page are made
 * from. Units in keys, shares 0 to 1, unknown is null. A value that finds no memory is left out by jansson;
 * the object itself is NULL then. Pure functions. */
#include "session/stats/data_scan.h"

#include "core/json_text.h"
#include "session/sheet/sheet.h"

#include <math.h>
#include <stdio.h>

enum { COMMON_SIZES = 8, BINS = 12 };

static json_t *count_json(uint64_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *text_json(const char *text)
{
    return text && *text ? stk__json_string(text) : json_null();
}

/* --- files and pixels -----------------------------------------------------------------------------------
 */

static json_t *files_json(const stk__data_files *files)
{
    if (!files->count) return json_null();
    json_t *formats = json_object();
    for (int i = 0; i < STK_DATA_FORMATS && files->formats[i].name; i++)
        json_object_set_new(formats, files->formats[i].name, count_json(files->formats[i].count));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "count", count_json(files->count), "formats",
                     formats, "gray", count_json(files->gray), "rgb", count_json(files->rgb), "palette",
                     count_json(files->palette), "over_8_bits", count_json(files->deep), "exif_turned",
                     count_json(files->turned), "misnamed", count_json(files->misnamed.count));
}

static void add_pixels(json_t *report, const stk__data_stats *s)
{
    json_t *means = json_array(), *stds = json_array();
    for (int c = 0; c < 3 && s->pixels[c]; c++) {
        const stk__data_moments channel = stk__data_stats_channel(s, c);
        json_array_append_new(means, json_real(channel.mean));
        json_array_append_new(stds, json_real(channel.std));
    }
    json_object_set_new(report, "mean", means);
    json_object_set_new(report, "std", stds);
}

static json_t *range_json(const uint32_t counts[STK_DATA_SIDES])
{
    const stk__data_range range = stk__data_range_of(counts);
    return json_pack("{s:i, s:i, s:i}", "min", range.least, "median", range.median, "max", range.most);
}

/* At most 12 bins of the same width from the least to the most. */
static json_t *histogram_json(const uint32_t counts[STK_DATA_SIDES])
{
    const stk__data_range range = stk__data_range_of(counts);
    const int32_t width = (range.most - range.least) / BINS + 1;
    json_t *bins = json_array();
    for (int32_t from = range.least; from <= range.most; from += width) {
        uint64_t count = 0;
        for (int32_t side = from; side < from + width && side < STK_DATA_SIDES; side++)
            count += counts[side];
        json_array_append_new(bins, json_pack("{s:i, s:i, s:o}", "from_px", from, "to_px", from + width - 1,
                                              "count", count_json(count)));
    }
    return bins;
}

static void add_sizes(json_t *report, const stk__data_sizes *sizes)
{
    stk__data_size common[COMMON_SIZES];
    const int count = stk__data_sizes_common(sizes, common, COMMON_SIZES);
    const uint64_t images = sizes->landscape + sizes->portrait + sizes->square;
    uint64_t listed = 0;
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        listed += common[i].count;
        json_array_append_new(list, json_pack("{s:i, s:i, s:o}", "w", common[i].w, "h", common[i].h, "count",
                                              count_json(common[i].count)));
    }
    json_object_set_new(report, "sizes", list);
    json_object_set_new(report, "other_sizes", count_json(images - listed));
    json_object_set_new(report, "different_sizes", count_json(sizes->different));
    json_object_set_new(report, "width_px", images ? range_json(sizes->w_counts) : json_null());
    json_object_set_new(report, "height_px", images ? range_json(sizes->h_counts) : json_null());
    json_object_set_new(report, "width_histogram", images ? histogram_json(sizes->w_counts) : json_array());
    json_object_set_new(report, "height_histogram", images ? histogram_json(sizes->h_counts) : json_array());
    json_object_set_new(report, "orientation",
                        json_pack("{s:o, s:o, s:o}", "landscape", count_json(sizes->landscape), "portrait",
                                  count_json(sizes->portrait), "square", count_json(sizes->square)));
}

/* --- targets --------------------------------------------------------------------------------------------
 */

/* Weight that balances the classes; unknown when the class never appears. */
static json_t *class_json(const stk__data_stats *s, const stk__data_classes *classes, int id)
{
    const uint64_t n = classes->counts[id];
    const double total = (double)classes->total;
    char colour[8] = "";
    if (s->info.masks && id) {
        uint8_t rgb[3];
        stk__sheet_colour((uint8_t)id, rgb);
        snprintf(colour, sizeof colour, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
    }
    return json_pack(
        "{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "id", id, "name",
        s->info.class_names ? stk__json_string(s->info.class_names[id]) : json_null(), "count", count_json(n),
        "share", classes->total ? json_real((double)n / total) : json_null(), "weight",
        n && !s->info.label_sets ? json_real(total / ((double)classes->count * (double)n)) : json_null(),
        "samples", count_json(classes->samples ? classes->samples[id] : n), "colour", text_json(colour));
}

static void add_classes(json_t *report, const stk__data_stats *s)
{
    const stk__data_classes classes = stk__data_classes_of(s);
    json_t *list = json_array();
    for (int id = 0; id < classes.count; id++)
        json_array_append_new(list, class_json(s, &classes, id));
    json_object_set_new(report, "classes", list);
    json_object_set_new(report, "class_unit",
                        classes.count ? json_string(s->info.masks ? "pixels" : "samples") : json_null());
    json_object_set_new(report, "ignored_pixels",
                        s->info.masks ? count_json(s->mask_pixels[STK_DATA_IGNORED]) : json_null());
}

static json_t *values_json(const stk__data_stats *s)
{
    if (!s->value_count) return json_null();
    const stk__data_moments values = stk__data_stats_values(s);
    return json_pack("{s:o, s:f, s:f, s:f, s:f}", "count", count_json(s->value_count), "mean", values.mean,
                     "std", values.std, "min", s->value_least, "max", s->value_most);
}

static json_t *points_json(const stk__data_stats *s)
{
    json_t *list = json_array();
    for (int32_t k = 0; s->points && k < s->info.point_count; k++) {
        const stk__data_point *p = &s->points[k];
        const bool any = p->visible > 0;
        json_array_append_new(
            list, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "number", k + 1, "name",
                            s->info.point_names ? stk__json_string(s->info.point_names[k]) : json_null(),
                            "visible", count_json(p->visible), "missing", count_json(p->missing), "outside",
                            count_json(p->outside), "x_min_px", stk__json_number(any ? p->x_least : NAN),
                            "x_max_px", stk__json_number(any ? p->x_most : NAN), "y_min_px",
                            stk__json_number(any ? p->y_least : NAN), "y_max_px",
                            stk__json_number(any ? p->y_most : NAN)));
    }
    return list;
}

static json_t *column_json(const stk__data_column *c, bool target)
{
    return json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", stk__json_string(c->name),
                     "target", target, "mean", stk__json_number(c->mean), "std", stk__json_number(c->std),
                     "min", stk__json_number(c->least), "max", stk__json_number(c->most), "not_numbers",
                     count_json(c->not_numbers), "step", c->step > 0 ? json_real(c->step) : json_null(),
                     "gaps", c->step > 0 ? count_json(c->gaps) : json_null(), "largest_gap",
                     c->gaps ? json_real(c->gap) : json_null());
}

static json_t *series_json(const stk__data_stats *s)
{
    if (!s->columns) return json_null();
    json_t *columns = json_array();
    for (int32_t i = 0; i < s->column_count; i++)
        json_array_append_new(columns, column_json(&s->columns[i], i + 1 == s->column_count));
    return json_pack("{s:o, s:o, s:i, s:o}", "rows", count_json(s->rows), "bad_rows", count_json(s->bad_rows),
                     "window_rows", s->info.window_rows, "columns", columns);
}

/* --- the data set as a whole ----------------------------------------------------------------------------
 */

static json_t *left_out_json(const stk__data_stats *s)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < s->left_out_count; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o}", "what", stk__json_string(s->left_out[i].what), "count",
                            count_json(s->left_out[i].count), "example", text_json(s->left_out[i].example)));
    if (!s->left_out_count && s->orphans)
        json_array_append_new(list, json_pack("{s:s, s:o, s:n}", "what", "masks without an image", "count",
                                              count_json(s->orphans), "example"));
    return list;
}

static json_t *parts_json(uint32_t parts)
{
    static const char *const names[] = {"train", "val", "test"};
    json_t *list = json_array();
    for (int i = 0; i < 3; i++)
        if (parts >> i & 1) json_array_append_new(list, json_string(names[i]));
    return list;
}

static json_t *damages_json(const stk_loader_stats *loaded)
{
    json_t *object = json_object();
    for (int d = 0; d < loaded->damage_count; d++)
        if (loaded->damages[d])
            json_object_set_new(object, stk_damage_name((stk_damage)d), count_json(loaded->damages[d]));
    return object;
}

static json_t *content_json(const stk__data_stats *s)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "duplicates", count_json(s->duplicates.samples),
                     "groups", count_json(s->duplicates.groups), "compared_with", text_json(s->other_part),
                     "compared_samples", s->other_part ? count_json(s->other_samples) : json_null(),
                     "compared_bad_samples", s->other_part ? count_json(s->other_bad) : json_null(),
                     "in_both", s->other_part ? count_json(s->overlap.samples) : json_null());
}

static json_t *findings_json(const stk__data_scan *scan)
{
    json_t *list = json_array();
    for (int i = 0; i < scan->finding_count; i++) {
        const stk__finding *f = &scan->findings[i];
        json_t *ids = json_array(), *paths = json_array();
        for (int k = 0; k < 2; k++) {
            if (f->sample_ids[k] >= 0) json_array_append_new(ids, json_integer(f->sample_ids[k]));
            if (f->paths[k]) json_array_append_new(paths, stk__json_string(f->paths[k]));
        }
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "id", f->id, "severity",
                                        stk__severity_name(f->severity), "text", stk__json_string(f->text),
                                        "hint", text_json(f->hint), "count", count_json(f->count), "total",
                                        f->total ? count_json(f->total) : json_null(), "sample_ids", ids,
                                        "paths", paths));
    }
    return list;
}

json_t *stk__data_scan_json(const stk__data_scan *scan)
{
    static const char *const parts[] = {"train", "val", "all", "test"};
    const stk__data_stats *s = scan->stats;
    const stk_loader_options *options = &scan->loading.options;
    const bool elsewhere = options->part == STK_PART_VAL && options->val_root;
    json_t *report = json_pack(
        "{s:i, s:o, s:s, s:s, s:s, s:o, s:o, s:b, s:o, s:o}", "schema", 1, "root",
        text_json(elsewhere ? options->val_root : options->root), "layout", s->info.layout, "part",
        (unsigned)options->part < 4 ? parts[options->part] : "other", "fingerprint", s->info.fingerprint,
        "samples", count_json(s->samples), "dataset_samples", count_json(s->info.dataset_count), "limited",
        s->limited, "parts", parts_json(s->parts), "left_out", left_out_json(s));
    if (!report) return NULL;
    json_object_set_new(report, "found", text_json(s->info.found));
    json_object_set_new(report, "image_files", files_json(&s->files[STK_FIELD_IMAGE]));
    json_object_set_new(report, "mask_files", files_json(&s->files[STK_FIELD_MASK]));
    add_pixels(report, s);
    add_sizes(report, &s->sizes);
    add_classes(report, s);
    json_object_set_new(report, "values", values_json(s));
    json_object_set_new(report, "points", points_json(s));
    json_object_set_new(report, "series", series_json(s));
    json_object_set_new(report, "content", content_json(s));
    json_object_set_new(report, "bad_samples", count_json(s->loaded.bad_samples));
    json_object_set_new(report, "damages", damages_json(&s->loaded));
    json_object_set_new(report, "findings", findings_json(scan));
    return report;
}
