/* SPDX-License-Identifier: Apache-2.0 */
/* What was understood of a data set, as JSON. Any thread: the description of a loader never changes. */
#include "session/data_json.h"

#include "core/json_text.h"

static json_t *parts_json(const stk_loader_info *info)
{
    json_t *parts = json_array();
    if (info->train_part) json_array_append_new(parts, json_string("train"));
    if (info->val_part) json_array_append_new(parts, json_string("val"));
    if (info->test_part) json_array_append_new(parts, json_string("test"));
    return parts;
}

static json_t *formats_json(const stk_loader_info *info)
{
    json_t *rows = json_array();
    for (int32_t i = 0; i < info->format_count; i++)
        json_array_append_new(rows, json_pack("{s:s, s:I, s:I}", "extension", info->formats[i].what, "images",
                                              (json_int_t)info->formats[i].count, "masks",
                                              (json_int_t)info->formats[i].masks));
    return rows;
}

static json_t *left_out_json(const stk_loader_info *info)
{
    json_t *rows = json_array();
    for (int32_t i = 0; i < info->left_out_count; i++)
        json_array_append_new(rows,
                              json_pack("{s:o, s:I, s:o}", "what", stk__json_string(info->left_out[i].what),
                                        "count", (json_int_t)info->left_out[i].count, "example",
                                        stk__json_string(info->left_out[i].example)));
    return rows;
}

static json_t *names_json(const stk_loader_info *info)
{
    if (!info->class_names) return json_null();
    json_t *names = json_array();
    for (int32_t i = 0; i < info->class_count; i++)
        json_array_append_new(names, stk__json_string(info->class_names[i]));
    return names;
}

json_t *stk__data_json(const stk_loader_info *info)
{
    return json_pack("{s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:b, s:i, s:i, s:o}", "layout",
                     stk__json_string(info->layout), "count", (json_int_t)info->sample_count, "dataset_count",
                     (json_int_t)info->dataset_count, "found", stk__json_string(info->found), "parts",
                     parts_json(info), "formats", formats_json(info), "left_out", left_out_json(info),
                     "images_without_mask", (json_int_t)info->unmasked_count, "masks", info->masks, "points",
                     info->point_count, "class_count", info->class_count, "class_names", names_json(info));
}
