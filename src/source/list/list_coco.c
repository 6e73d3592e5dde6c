/* SPDX-License-Identifier: Apache-2.0 */
/* Key points in COCO's JSON (person_keypoints_*.json): one object with "images", "annotations" and
 * "categories". Only the bytes of the file are in memory as a whole; images and annotations are parsed one by
 * one. An annotation counts when one of its points is labeled (visibility 1 or 2) and it is no crowd. An
 * image with one such annotation is a sample, one with none is left out, one with several is refused. One
 * thread, while a list opens. */
#include "source/list/list.h"

#include "core/file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MOST = 4096 };
static const uint64_t file_limit_bytes = (uint64_t)2 << 30;

typedef struct span {
    const char *start, *end;
} span;

typedef struct coco_image {
    int64_t id;
    size_t name;        /* in list->texts; 0: none */
    uint32_t instances; /* annotations with key points */
} coco_image;

typedef struct coco {
    stk__list *list;
    span images, annotations;
    const char *line_at; /* where the lines below were counted */
    uint64_t line;
    json_t *categories; /* array */
    stk__buffer sorted; /* of coco_image, by id */
    int64_t category;   /* of the points; valid when the list has points */
    size_t several, most;
    size_t several_name; /* the first image with several instances, and how many of them */
    uint64_t crowds;
} coco;

static stk_status refuse(const coco *file, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "the COCO annotation file cannot be used: %s", why);
    stk__error_place(error, "%s", file->list->path);
    stk__error_hint(error, "\"images\": [{\"id\", \"file_name\"}], \"annotations\": [{\"image_id\", "
                           "\"keypoints\": [x, y, v, …]}], \"categories\": [{\"keypoints\": [names]}]; or "
                           "points.csv (file,NAME_x,NAME_y)");
    return STK_ERROR_DATA;
}

/* --- JSON by pieces ------------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* Behind the string that begins at `at`; NULL: it does not end. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < end ? at + 1 : NULL;
}

/* Behind the value that begins at `at`, by its brackets and quotes alone; NULL: it does not end. */
static const char *skip_value(const char *at, const char *end)
{
    int64_t depth = 0;
    while (at && at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            if (depth == 0) return at;
            continue;
        }
        if (depth == 0 && (*at == ',' || *at == '}' || *at == ']')) return at;
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
        if (depth == 0 && (at[-1] == '}' || at[-1] == ']')) return at;
    }
    return NULL;
}

static bool is_key(span key, const char *name)
{
    const size_t length = strlen(name);
    return (size_t)(key.end - key.start) == length + 2 && memcmp(key.start + 1, name, length) == 0;
}

/* The arrays of the outermost object; NULL, or what is wrong with it. */
static const char *find_arrays(coco *file, span text, span *categories)
{
    const char *at = skip_blanks(text.start, text.end);
    if (at == text.end || *at != '{') return "it is not a JSON object";
    do {
        at = skip_blanks(at + 1, text.end);
        if (at < text.end && *at == '}') break;
        span key = {at, at < text.end && *at == '"' ? skip_string(at, text.end) : NULL};
        if (!key.end) return "invalid JSON: a name is missing";
        at = skip_blanks(key.end, text.end);
        if (at == text.end || *at != ':') return "invalid JSON: ':' is missing";
        at = skip_blanks(at + 1, text.end);
        const span value = {at, skip_value(at, text.end)};
        if (!value.end || value.end == value.start) return "invalid JSON: it ends in a value";
        span *kept = is_key(key, "images")        ? &file->images
                     : is_key(key, "annotations") ? &file->annotations
                     : is_key(key, "categories")  ? categories
                                                  : NULL;
        if (kept && kept->start) return "it has a key twice";
        if (kept) *kept = value;
        at = skip_blanks(value.end, text.end);
    } while (at < text.end && *at == ',');
    return at < text.end && *at == '}' ? NULL : "invalid JSON: it is cut off";
}

/* The element of an array that begins behind *at, a new reference; NULL at the end, or with *why set. */
static json_t *next_element(const char **at, const char *end, const char **why)
{
    json_error_t error;
    const char *start = skip_blanks(*at, end);
    if (start < end && *start == ']') return NULL;
    start = skip_blanks(start + 1, end); /* behind '[' or ',' */
    if (start < end && *start == ']' && **at == '[') return NULL;
    json_t *element = start < end ? json_loadb(start, (size_t)(end - start),
                                               JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error)
                                  : NULL;
    *why = element && json_is_object(element) ? NULL : "invalid JSON in an image or annotation";
    if (*why) {
        json_decref(element);
        return NULL;
    }
    *at = skip_blanks(start + error.position, end);
    if (*at == end || (**at != ',' && **at != ']')) *why = "invalid JSON: ',' is missing in an array";
    return element;
}

typedef stk_status (*taker)(coco *file, const json_t *element, stk_error *error);

/* Calls take for each element of an array. */
static stk_status take_all(coco *file, span array, taker take, stk_error *error)
{
    const char *why = NULL, *at = array.start;
    file->line_at = at;
    for (;;) {
        const char *before = at;
        json_t *element = next_element(&at, array.end, &why);
        if (!element) return why ? refuse(file, why, error) : STK_OK;
        for (; file->line_at < before || *file->line_at != '{'; file->line_at++)
            file->line += *file->line_at == '\n';
        const stk_status status = why ? refuse(file, why, error) : take(file, element, error);
        json_decref(element);
        STK__TRY(status);
    }
}

/* --- images --------------------------------------------------------------------------------------------- */

static stk_status take_image(coco *file, const json_t *element, stk_error *error)
{
    const json_t *id = json_object_get(element, "id"), *name = json_object_get(element, "file_name");
    coco_image image = {.id = json_integer_value(id)};
    if (!json_is_integer(id)) return refuse(file, "an image has no 'id' that is an integer", error);
    if (!json_is_string(name)) return refuse(file, "an image has no 'file_name'", error);
    STK__TRY(stk__buffer_text(&file->list->texts, json_string_value(name), json_string_length(name),
                              &image.name, error));
    return stk__buffer_append(&file->sorted, &image, sizeof image, error);
}

static int compare_images(const void *a, const void *b)
{
    const coco_image *first = a, *second = b;
    return (first->id > second->id) - (first->id < second->id);
}

static size_t count_images(const coco *file)
{
    return file->sorted.size_bytes / sizeof(coco_image);
}

static stk_status sort_images(coco *file, stk_error *error)
{
    coco_image *images = (coco_image *)(void *)file->sorted.data;
    const size_t count = count_images(file);
    if (count) qsort(images, count, sizeof *images, compare_images);
    for (size_t i = 1; i < count; i++)
        if (images[i].id == images[i - 1].id) return refuse(file, "two images have the same 'id'", error);
    return STK_OK;
}

/* --- points --------------------------------------------------------------------------------------------- */

static const json_t *find_names(const coco *file, int64_t category)
{
    size_t at;
    json_t *one;
    json_array_foreach(file->categories, at, one)
    {
        const json_t *names = json_object_get(one, "keypoints");
        if (json_integer_value(json_object_get(one, "id")) == category && json_array_size(names))
            return names;
    }
    return NULL;
}

/* The category of the first annotation that counts decides the points; later ones must have the same names.
 */
static stk_status take_category(coco *file, const json_t *element, size_t points, stk_error *error)
{
    stk__list *list = file->list;
    const int64_t category = json_integer_value(json_object_get(element, "category_id"));
    const json_t *names = find_names(file, category);
    if (list->point_count) {
        if (category == file->category) return STK_OK;
        const json_t *first = find_names(file, file->category);
        if (first ? names && json_equal(first, names) : !names) return STK_OK;
        return refuse(file, "annotations of two categories have different key points", error);
    }
    file->category = category;
    if (points == 0 || points > POINTS_MOST || json_array_size(names) > POINTS_MOST)
        return refuse(file, "it has more than 4,096 key points, or none", error);
    list->point_count = (int32_t)(names ? json_array_size(names) : points);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *name = json_array_get(names, i);
        if (!json_is_string(name) || !json_string_length(name))
            return refuse(file, "a name in 'keypoints' of a category is not a text", error);
        STK__TRY(stk__buffer_text(&list->columns.point_texts, json_string_value(name),
                                  json_string_length(name), NULL, error));
    }
    return STK_OK;
}

/* Points that are labeled: visibility 1 (occluded) or 2. */
static size_t count_labeled(const json_t *keypoints)
{
    size_t count = 0;
    for (size_t i = 2; i < json_array_size(keypoints); i += 3)
        count += json_number_value(json_array_get(keypoints, i)) > 0;
    return count;
}

static void take_points(const coco *file, const json_t *element, stk__draft *draft, float *places)
{
    const json_t *keypoints = json_object_get(element, "keypoints"),
                 *told = json_object_get(element, "num_keypoints");
    const size_t count = (size_t)file->list->point_count;
    if (json_array_size(keypoints) != count * 3)
        stk__draft_fault(draft, "'keypoints' has %zu numbers, not %zu (x, y, v of %zu point%s)",
                         json_array_size(keypoints), count * 3, count, stk__plural(count));
    else if (json_is_integer(told) && json_integer_value(told) == 0)
        stk__draft_fault(draft, "'num_keypoints' is 0, but %zu point%s labeled (v is not 0)",
                         count_labeled(keypoints), count_labeled(keypoints) == 1 ? " is" : "s are");
    for (size_t i = 0; i < count && !draft->fault[0]; i++) {
        const json_t *x = json_array_get(keypoints, i * 3), *y = json_array_get(keypoints, i * 3 + 1),
                     *seen = json_array_get(keypoints, i * 3 + 2);
        const float place[3] = {(float)json_number_value(x), (float)json_number_value(y),
                                json_number_value(seen) > 0};
        if (!json_is_number(x) || !json_is_number(y) || !json_is_number(seen) || !isfinite(place[0]) ||
            !isfinite(place[1]))
            stk__draft_fault(draft, "point %zu is not three numbers: x, y, v", i);
        else if (place[2] > 0)
            memcpy(places + i * 3, place, sizeof place);
    }
}

static bool is_crowd(const json_t *element)
{
    const json_t *crowd = json_object_get(element, "iscrowd");
    return json_is_true(crowd) || json_number_value(crowd) > 0;
}

static stk_status take_annotation(coco *file, const json_t *element, stk_error *error)
{
    stk__list *list = file->list;
    const json_t *keypoints = json_object_get(element, "keypoints");
    if (!json_is_array(keypoints) || count_labeled(keypoints) == 0) return STK_OK;
    if (is_crowd(element)) {
        file->crowds++;
        return STK_OK;
    }
    const json_t *id = json_object_get(element, "image_id");
    const coco_image wanted = {.id = json_integer_value(id)};
    coco_image *image =
        json_is_integer(id) && count_images(file)
            ? bsearch(&wanted, file->sorted.data, count_images(file), sizeof wanted, compare_images)
            : NULL;
    if (!image) return refuse(file, "an annotation has an 'image_id' that is not in 'images'", error);
    if (image->instances++) {
        if (image->instances == 2) file->several++;
        if (!file->several_name) file->several_name = image->name;
        if (image->name == file->several_name) file->most = image->instances;
        return STK_OK;
    }
    STK__TRY(take_category(file, element, json_array_size(keypoints) / 3, error));
    float *places;
    STK__TRY(stk__list_add_points(list, &places, error));
    char name[PATH_MAX + 1]; /* one that is too long stays too long */
    snprintf(name, sizeof name, "%s", (const char *)list->texts.data + image->name);
    stk__draft draft = {.line = file->line, .file = name, .file_length = strlen(name)};
    take_points(file, element, &draft, places);
    return stk__list_add_row(list, &draft, error);
}

static stk_status refuse_several(const coco *file, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA,
              "%zu of %zu images have several annotated instances ('%.80s' has %zu): points of several "
              "objects per image are not supported",
              file->several, count_images(file), (const char *)file->list->texts.data + file->several_name,
              file->most);
    stk__error_place(error, "%s", file->list->path);
    stk__error_hint(error, "crop each instance by its 'bbox' to an image of its own, and subtract the box's "
                           "corner from its points");
    return STK_ERROR_DATA;
}

/* Images without key points are left out, and counted. */
static void count_without(coco *file)
{
    stk__list *list = file->list;
    const coco_image *images = (const coco_image *)(const void *)file->sorted.data;
    for (size_t i = 0; i < count_images(file); i++)
        if (!images[i].instances)
            stk__left_out_add(&list->files.source.info, "images without key points", 1,
                              (const char *)list->texts.data + images[i].name);
    stk__left_out_add(&list->files.source.info, "annotations of crowds (iscrowd)", file->crowds, "");
}

/* COCO's integers are indices of pixels, whose centers are at +0.5 in Stoker; fractions are positions
 * already. One decision for the file. */
static void center_points(stk__list *list)
{
    float *points = (float *)(void *)list->points.data;
    const size_t count = list->points.size_bytes / sizeof(float) / 3;
    bool whole = true;
    for (size_t i = 0; i < count * 3; i++)
        whole &= i % 3 == 2 || points[i] == floorf(points[i]);
    for (size_t i = 0; whole && i < count; i++)
        if (points[i * 3 + 2] > 0) {
            points[i * 3] += 0.5F;
            points[i * 3 + 1] += 0.5F;
        }
    snprintf(list->files.source.info.how, sizeof list->files.source.info.how, "COCO key points: %s",
             whole ? "integers are pixel indices, so +0.5 gives pixel centers" : "coordinates as they are");
}

static stk_status read_file(coco *file, span text, stk_error *error)
{
    span categories = {0};
    const char *why = find_arrays(file, text, &categories);
    if (why) return refuse(file, why, error);
    if (!file->images.start || !file->annotations.start || *file->images.start != '[' ||
        *file->annotations.start != '[')
        return refuse(file, "it has no arrays 'images' and 'annotations'", error);
    if (categories.start)
        file->categories = json_loadb(categories.start, (size_t)(categories.end - categories.start),
                                      JSON_REJECT_DUPLICATES, NULL);
    if (categories.start && !json_is_array(file->categories))
        return refuse(file, "its 'categories' are not an array", error);
    STK__TRY(take_all(file, file->images, take_image, error));
    STK__TRY(sort_images(file, error));
    file->line = 1;
    for (const char *at = text.start; at < file->annotations.start; at++)
        file->line += *at == '\n';
    STK__TRY(take_all(file, file->annotations, take_annotation, error));
    if (file->several) return refuse_several(file, error);
    if (file->list->rows.size_bytes == 0) return refuse(file, "no annotation has key points", error);
    count_without(file);
    center_points(file->list);
    return STK_OK;
}

stk_status stk__list_read_coco(stk__list *list, stk_error *error)
{
    coco file = {.list = list, .line = 1};
    stk__buffer bytes = {0};
    stk_status status = stk__file_read(list->path, file_limit_bytes, &bytes, error);
    if (status == STK_ERROR_SAMPLE && error) error->code = STK_ERROR_DATA; /* not a sample here */
    if (status == STK_ERROR_SAMPLE) status = STK_ERROR_DATA;
    const span text = {(const char *)bytes.data, (const char *)bytes.data + bytes.size_bytes};
    if (status == STK_OK) status = read_file(&file, text, error);
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&file.sorted);
    json_decref(file.categories);
    return status;
}
