/* SPDX-License-Identifier: Apache-2.0 */
/* Points in a JSON file beside each image (x.png and x.json): {"left": [x, y], "right": [x, y]},
 * {"points": {…}} or {"points": [[x, y], …]}, and labelme's shapes of type point. The first image, bytewise,
 * decides the names; every other must have the same ones, or the data set is refused. One thread, while a
 * list opens. */
#include "source/list/list.h"

#include "core/file.h"
#include "source/scan.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES = 1 << 20 };

/* --- one file ------------------------------------------------------------------------------------------- */

static bool is_point(const json_t *value)
{
    float place[3] = {0};
    return json_is_array(value) && stk__list_take_point(value, place);
}

/* [640, 480] under such a name is not a point. */
static bool is_size(const char *key)
{
    static const char *const names[] = {"size",       "imagesize",    "shape",
                                        "resolution", "originalsize", "imgsize"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (stk__column_named(key, names[i])) return true;
    return false;
}

/* Adds name: point; false when the name is there already. */
static bool add_point(json_t *points, const char *name, json_t *point)
{
    return !json_object_get(points, name) && json_object_set(points, name, point) == 0;
}

/* labelme: NULL, or why its shapes are not one point for each label. */
static const char *take_shapes(const json_t *shapes, json_t *points)
{
    size_t at;
    json_t *shape;
    json_array_foreach((json_t *)(uintptr_t)shapes, at, shape)
    {
        const char *type = json_string_value(json_object_get(shape, "shape_type"));
        const char *label = json_string_value(json_object_get(shape, "label"));
        json_t *point = json_array_get(json_object_get(shape, "points"), 0);
        if (!type || strcmp(type, "point") != 0 || !label)
            return "has shapes that are not points: boxes and polygons are not supported";
        if (!is_point(point)) return "has a point without coordinates";
        if (!add_point(points, label, point)) return "has two points with the same label";
    }
    return NULL;
}

static const char *take_pairs(const json_t *object, json_t *points, bool strict)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!is_point(value) && strict) return "has a point that is not [x, y]";
        if (is_point(value) && (strict || !is_size(key)) && !add_point(points, key, value))
            return "cannot be kept in memory";
    }
    return NULL;
}

static const char *take_list(const json_t *list, json_t *points)
{
    size_t at;
    json_t *value;
    json_array_foreach((json_t *)(uintptr_t)list, at, value)
    {
        char name[24];
        snprintf(name, sizeof name, "%zu", at);
        if (!is_point(value)) return "has a point that is not [x, y]";
        if (!add_point(points, name, value)) return "cannot be kept in memory";
    }
    return NULL;
}

/* Points by name out of one file's JSON; NULL, or why not. Without any, points stays empty. */
static const char *take_points(const json_t *json, json_t *points)
{
    static const char *const names[] = {"points", "keypoints", "landmarks"};
    const json_t *shapes = json_object_get(json, "shapes");
    if (json_is_array(shapes)) return take_shapes(shapes, points);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const json_t *found = json_object_get(json, names[i]);
        if (json_is_object(found)) return take_pairs(found, points, true);
        if (json_is_array(found) && !is_point(found)) return take_list(found, points);
    }
    return take_pairs(json, points, false);
}

/* *points: a new object, to be released by the caller, or NULL and *why it has none. Fails without memory. */
static stk_status read_points(const char *path, json_t **points, const char **why, stk_error *error)
{
    stk__buffer bytes = {0};
    json_t *json = NULL;
    *points = NULL;
    *why = "cannot be read: every image needs one";
    const stk_status status = stk__file_read(path, FILE_BYTES, &bytes, error);
    if (status == STK_OK) {
        json = json_loadb((const char *)bytes.data, bytes.size_bytes, JSON_REJECT_DUPLICATES, NULL);
        *points = json_object();
        *why = json_is_object(json) ? take_points(json, *points) : "is not a JSON object";
    }
    stk__buffer_fini(&bytes);
    json_decref(json);
    if (*why) {
        json_decref(*points);
        *points = NULL;
    }
    return status == STK_ERROR_MEMORY ? status : STK_OK;
}

/* --- all files ------------------------------------------------------------------------------------------ */

static void name_json(const stk__catalog *images, uint64_t index, const char *folder, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s.json", folder, stk__catalog_key(images, stk__catalog_at(images, index)));
}

stk_status stk__list_fits_beside(const stk__catalog *images, uint64_t json_count, const char *folder,
                                 bool *fits, stk_error *error)
{
    char path[PATH_MAX];
    const char *why;
    json_t *points;
    *fits = false;
    if (stk__catalog_count(images) == 0 || 2 * json_count < stk__catalog_count(images)) return STK_OK;
    name_json(images, 0, folder, path);
    if (!stk__path_is_file(path)) return STK_OK;
    STK__TRY(read_points(path, &points, &why, error));
    *fits = points ? json_object_size(points) > 0 : strstr(why, "shapes") != NULL;
    json_decref(points);
    return STK_OK;
}

static stk_status refuse(const char *path, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' %s", path, why);
    stk__error_place(error, "%s", path);
    stk__error_hint(error,
                    "each image needs a JSON file with the same names of points, \"name\": [x, y]; or put "
                    "the points into points.csv (file,NAME_x,NAME_y)");
    return STK_ERROR_DATA;
}

static stk_status take_names(stk__list *list, const json_t *points, stk_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)points, key, value)
        STK__TRY(stk__buffer_text(&list->columns.point_texts, key, strlen(key), NULL, error));
    list->point_count = (int32_t)json_object_size(points);
    return STK_OK;
}

/* The points of one image in the order of the names. */
static stk_status add_image(stk__list *list, const json_t *points, const char *json, const stk__draft *image,
                            stk_error *error)
{
    float *places;
    stk__draft draft = *image;
    if (json_object_size(points) != (size_t)list->point_count)
        return refuse(json, "has not as many points as that of the first image", error);
    STK__TRY(stk__list_add_points(list, &places, error));
    const char *name = (const char *)list->columns.point_texts.data;
    for (int32_t i = 0; i < list->point_count; i++, name += strlen(name) + 1) {
        const json_t *point = json_object_get(points, name);
        if (!point || !stk__list_take_point(point, places + (size_t)i * 3))
            return refuse(json, "has other names of points than that of the first image", error);
    }
    return stk__list_add_row(list, &draft, error);
}

static stk_status read_image(stk__list *list, const stk__catalog *images, uint64_t index, stk_error *error)
{
    char path[PATH_MAX], file[PATH_MAX];
    const char *why;
    name_json(images, index, list->files.images, path);
    stk__files_path(images, stk__catalog_at(images, index), "", file, sizeof file);
    json_t *points;
    STK__TRY(read_points(path, &points, &why, error));
    if (!points) return refuse(path, why ? why : "cannot be kept in memory", error);
    const stk__draft draft = {.line = index + 1, .file = file + 1, .file_length = strlen(file + 1)};
    stk_status status = index ? STK_OK : take_names(list, points, error);
    if (status == STK_OK) status = add_image(list, points, path, &draft, error);
    json_decref(points);
    return status;
}

stk_status stk__list_read_beside(stk__list *list, stk_error *error)
{
    stk__scan scan = {0};
    stk_status status = stk__scan_folder(&scan, list->files.images, error);
    stk__catalog_sort(&scan.samples);
    if (status == STK_OK) status = stk__files_refuse_duplicates(&scan.samples, list->files.images, error);
    for (uint64_t i = 0; status == STK_OK && i < stk__catalog_count(&scan.samples); i++)
        status = read_image(list, &scan.samples, i, error);
    stk__scan_fini(&scan);
    return status;
}
