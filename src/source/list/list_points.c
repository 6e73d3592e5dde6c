/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a list that are coordinates of points: NAME_x and NAME_y; if there is no label also x and y, or
 * x1, y1, x2, y2 and so on; data.columns=points=a+b takes some of them, =all every pair, =none none. One
 * thread. */
#include "source/list/list.h"

#include "core/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 256 };

/* The axis of "NAME_x" or "x7" ('x' or 'y', 0: none), the other's name, and the point's. */
typedef struct coordinate {
    char axis, partner[NAME_BYTES], point[NAME_BYTES];
    bool suffix; /* NAME_x: the partner must be there */
} coordinate;

static coordinate read_name(const char *name)
{
    coordinate found = {0};
    const size_t length = strlen(name);
    size_t letter = length;
    if (stk__text_ends_with(name, length, "_x") || stk__text_ends_with(name, length, "_y")) {
        found.suffix = true;
        letter = length - 1;
    } else if ((*name | 0x20) == 'x' || (*name | 0x20) == 'y') {
        const char *digits = name + 1 + (name[1] == '_');
        if (digits[strspn(digits, "0123456789")] == '\0' && (name[1] != '_' || *digits)) letter = 0;
    }
    if (letter == length || length >= NAME_BYTES) return found;
    memcpy(found.partner, name, length + 1);
    found.partner[letter] ^= 'x' ^ 'y';
    found.axis = (char)(name[letter] | 0x20);
    if (found.suffix)
        snprintf(found.point, NAME_BYTES, "%.*s", (int)(length - 2), name);
    else
        snprintf(found.point, NAME_BYTES, "%s", name[1] ? name + 1 + (name[1] == '_') : "point");
    return found;
}

static int find_column(const stk__columns *columns, const char *name)
{
    for (size_t i = 0; i < stk__columns_count(columns); i++)
        if (strcasecmp(stk__columns_name(columns, i), name) == 0) return (int)i;
    return -1;
}

/* Is the point one of "a+b"? */
static bool is_wanted(const stk__column_wish *wish, const char *point)
{
    if (!wish->name || (wish->length == 3 && strncasecmp(wish->name, "all", 3) == 0)) return true;
    for (size_t at = 0; at < wish->length;) {
        const char *end = memchr(wish->name + at, '+', wish->length - at);
        const size_t length = end ? (size_t)(end - wish->name) - at : wish->length - at;
        if (strlen(point) == length && strncasecmp(wish->name + at, point, length) == 0) return true;
        at += length + 1;
    }
    return false;
}

static stk_status add_pair(stk__columns *columns, size_t x, size_t y, const char *point, stk_error *error)
{
    const stk__column_pair pair = {(int)x, (int)y};
    stk__columns_at(columns, x)->role = stk__columns_at(columns, y)->role = STK_ROLE_POINTS;
    STK__TRY(stk__buffer_append(&columns->pairs, &pair, sizeof pair, error));
    return stk__buffer_text(&columns->point_texts, point, strlen(point), NULL, error);
}

static stk_status take_column(stk__columns *columns, size_t index, stk_error *error)
{
    const char *name = stk__columns_name(columns, index);
    if (stk__columns_at(columns, index)->role != STK_ROLE_NONE) return STK_OK;
    const coordinate found = read_name(name);
    if (strlen(name) >= NAME_BYTES &&
        (stk__text_ends_with(name, strlen(name), "_x") || stk__text_ends_with(name, strlen(name), "_y")))
        return stk__columns_refuse(
            columns, index, error,
            "the header of the list cannot be used: column %zu '%.80s' has a name that "
            "is too long",
            index + 1, name);
    if (!found.axis) return STK_OK;
    const int other = find_column(columns, found.partner);
    const bool usable = other >= 0 && stk__columns_at(columns, (size_t)other)->role == STK_ROLE_NONE;
    if (!usable && found.suffix) {
        stk__columns_refuse(columns, index, error,
                            "the header of the list cannot be used: column %zu '%.80s' has no column for the "
                            "other coordinate",
                            index + 1, name);
        stk__error_hint(error, "add it, or ignore such columns: data.columns='points=none'");
        return STK_ERROR_DATA;
    }
    if (!found.suffix && !columns->wishes[STK_ROLE_POINTS].name && stk__columns_has_label(columns))
        return STK_OK; /* x and y of something else */
    if (!usable || found.axis != 'x' || !is_wanted(&columns->wishes[STK_ROLE_POINTS], found.point))
        return STK_OK;
    return add_pair(columns, index, (size_t)other, found.point, error);
}

stk_status stk__columns_find_points(stk__columns *columns, stk_error *error)
{
    const stk__column_wish *wish = &columns->wishes[STK_ROLE_POINTS];
    if (wish->none) return STK_OK;
    for (size_t i = 0; !columns->json && i < stk__columns_count(columns); i++)
        STK__TRY(take_column(columns, i, error));
    if (!wish->name || stk__columns_find(columns, STK_ROLE_POINTS) >= 0) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG,
              "data.columns takes points from '%.*s', but the list has no such columns",
              (int)(wish->length < 80 ? wish->length : 80), wish->name);
    stk__error_place(error, "%s:%llu", columns->path, (unsigned long long)columns->line);
    stk__error_hint(error,
                    "points are pairs of columns, NAME_x and NAME_y: points=NAME, points=A+B or points=all");
    return STK_ERROR_CONFIG;
}

/* Shares of the image's width and height: a pixel has no such coordinates in eight rows and more. */
stk_status stk__list_check_points(const stk__list *list, stk_error *error)
{
    enum { ROWS_LEAST = 8 };
    const float *point = (const float *)(const void *)list->points.data;
    const size_t rows = list->point_count ? list->rows.size_bytes / sizeof(stk__row) : 0;
    size_t seen_rows = 0;
    bool fraction = false;
    for (size_t row = 0; row < rows; row++) {
        bool seen = false;
        for (int32_t i = 0; i < list->point_count; i++, point += 3) {
            if (point[2] == 0) continue;
            seen = true;
            for (int axis = 0; axis < 2; axis++) {
                if (!(point[axis] >= 0 && point[axis] <= 1.0001F)) return STK_OK;
                fraction |= point[axis] != floorf(point[axis]);
            }
        }
        seen_rows += seen;
    }
    if (!fraction || seen_rows < ROWS_LEAST) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "all points of the list are between 0 and 1: shares of the image's size, not pixels");
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error, "multiply x by the width and y by the height of each image");
    return STK_ERROR_DATA;
}
