/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of what is not supported, told by their columns: boxes, polygons and run-length masks of object
 * detection. They are refused with the reason, never read as something else; data.columns picks what can be
 * trained. One thread. */
#include "source/list/list_columns.h"

#include <stdio.h>
#include <string.h>

static int find_named(const stk__columns *columns, const char *plain)
{
    for (size_t i = 0; i < stk__columns_count(columns); i++)
        if (stk__columns_at(columns, i)->role == STK_ROLE_NONE &&
            stk__column_named(stk__columns_name(columns, i), plain))
            return (int)i;
    return -1;
}

/* --- boxes ---------------------------------------------------------------------------------------------- */

static const char *const box_sets[][4] = {
    {"xmin", "ymin", "xmax", "ymax"},
    {"x1", "y1", "x2", "y2"},
    {"x0", "y0", "x1", "y1"},
    {"x", "y", "w", "h"},
    {"x", "y", "width", "height"},
    {"left", "top", "right", "bottom"},
    {"left", "top", "width", "height"},
    {"cx", "cy", "w", "h"},
    {"xcenter", "ycenter", "width", "height"},
    {"xmin", "ymin", "width", "height"},
};

static const struct {
    const char *plain, *what;
    bool only_nested; /* else also a column of numbers, bbox_x1 */
} box_names[] = {
    {"bbox", "bounding boxes", false},
    {"boundingbox", "bounding boxes", false},
    {"boxes", "bounding boxes", true},
    {"box", "bounding boxes", true},
    {"predictionstring", "bounding boxes", false},
    {"objects", "bounding boxes", true},
    {"annotations", "bounding boxes or polygons", true},
    {"polygon", "polygons", false},
    {"segmentation", "polygons", true},
    {"regionshapeattributes", "polygons (VIA)", false},
    {"encodedpixels", "run-length encoded masks", false},
    {"rle", "run-length encoded masks", false},
};

static bool starts_with(const char *name, const char *plain)
{
    char lower[64];
    const size_t length = strlen(plain);
    size_t size = 0;
    for (; *name && size < length; name++)
        if (!strchr(" _-.", *name)) lower[size++] = *name;
    lower[size] = '\0';
    return size == length && stk__column_named(lower, plain);
}

static const char *name_box(const stk__columns *columns, size_t index)
{
    const char *name = stk__columns_name(columns, index);
    for (size_t i = 0; i < sizeof box_names / sizeof box_names[0]; i++) {
        if (box_names[i].only_nested ? !stk__columns_at(columns, index)->nested : false) continue;
        if (box_names[i].only_nested ? stk__column_named(name, box_names[i].plain)
                                     : starts_with(name, box_names[i].plain))
            return box_names[i].what;
    }
    return NULL;
}

static stk_status refuse_boxes(const stk__columns *columns, size_t index, const char *what, const char *names,
                               stk_error *error)
{
    stk__columns_refuse(columns, index, error, "the list has %s (%s): object detection is not supported",
                        what, names);
    static const char *const labels[] = {"label", "class", "category", "species", "classname", "labelname"};
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        const int label = find_named(columns, labels[i]);
        if (label < 0) continue;
        stk__error_hint(error, "data.columns='label=%.80s' trains on that column alone, one label per image",
                        stk__columns_name(columns, (size_t)label));
        return STK_ERROR_DATA;
    }
    stk__error_hint(error,
                    "data.columns='label=COLUMN', 'value=COLUMN' or 'points=all' picks what can be trained; "
                    "masks must be PNG files");
    return STK_ERROR_DATA;
}

stk_status stk__columns_refuse_pictures(const stk__columns *columns, stk_error *error)
{
    if (stk__columns_is_wished(columns, STK_ROLE_LABEL)) return STK_OK;
    const bool learned =
        stk__columns_find(columns, STK_ROLE_LABEL) >= 0 || stk__columns_find(columns, STK_ROLE_VALUE) >= 0 ||
        stk__columns_find(columns, STK_ROLE_MASK) >= 0 || stk__columns_find(columns, STK_ROLE_POINTS) >= 0;
    for (size_t i = 0; i < stk__columns_count(columns); i++) {
        const stk__list_column *column = stk__columns_at(columns, i);
        const bool asked = column->role == STK_ROLE_LABEL || (column->role == STK_ROLE_NONE && !learned);
        if (!asked || !column->cells || column->pictures < column->cells) continue;
        const char *name = stk__columns_name(columns, i);
        stk__columns_refuse(columns, i, error,
                            "the column '%.80s' has names of image files, which are no labels", name);
        stk__error_hint(
            error, "data.columns='mask=%.80s', if they are masks; 'label=none' uses the images alone", name);
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

stk_status stk__columns_refuse_boxes(const stk__columns *columns, stk_error *error)
{
    char names[200];
    if (stk__columns_is_picked(columns)) return STK_OK;
    for (size_t i = 0; i < stk__columns_count(columns); i++) {
        const char *what = stk__columns_at(columns, i)->role == STK_ROLE_NONE ? name_box(columns, i) : NULL;
        if (!what) continue;
        snprintf(names, sizeof names, "column '%.80s'", stk__columns_name(columns, i));
        return refuse_boxes(columns, i, what, names, error);
    }
    for (size_t set = 0; set < sizeof box_sets / sizeof box_sets[0]; set++) {
        int at[4];
        bool all = true;
        for (int i = 0; i < 4; i++)
            all &= (at[i] = find_named(columns, box_sets[set][i])) >= 0;
        if (!all) continue;
        snprintf(names, sizeof names, "columns '%.30s', '%.30s', '%.30s', '%.30s'",
                 stk__columns_name(columns, (size_t)at[0]), stk__columns_name(columns, (size_t)at[1]),
                 stk__columns_name(columns, (size_t)at[2]), stk__columns_name(columns, (size_t)at[3]));
        return refuse_boxes(columns, (size_t)at[0], "bounding boxes", names, error);
    }
    return STK_OK;
}
