/* SPDX-License-Identifier: Apache-2.0 */
/* The small fields of a shard's sample: class, value and points (JSON) as text, checked strictly. What is
 * wrong becomes the sample's fault; only a lack of memory fails. */
#include "source/shards/shard_facts.h"

#include "core/number.h"
#include "core/text.h"
#include "source/list/list.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static void set_fault(stk__shard_fault *fault, stk_damage damage, const char *format, ...) STK__PRINTF(3, 4);

static void set_fault(stk__shard_fault *fault, stk_damage damage, const char *format, ...)
{
    if (fault->damage != STK_DAMAGE_NONE) return;
    fault->damage = damage;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->detail, sizeof fault->detail, format, arguments);
    va_end(arguments);
}

static void trim(const char **text, size_t *length)
{
    while (*length && stk__is_space((*text)[*length - 1]))
        *length -= 1;
    while (*length && stk__is_space(**text)) {
        *text += 1;
        *length -= 1;
    }
}

void stk__shard_read_class(const char *text, size_t length, double *label, stk__shard_fault *fault)
{
    int64_t number;
    trim(&text, &length);
    if (!stk__number_whole(text, length, &number))
        set_fault(fault, STK_DAMAGE_BAD_FIELD, "cls is '%.*s', which is not an integer", (int)length, text);
    else if (number < 0 || number >= INT32_MAX)
        set_fault(fault, STK_DAMAGE_BAD_FIELD, "cls is %lld, which is not a class", (long long)number);
    else
        *label = (double)number;
}

void stk__shard_read_value(const char *text, size_t length, double *label, stk__shard_fault *fault)
{
    double number;
    trim(&text, &length);
    if (!stk__number_real(text, length, &number))
        set_fault(fault, STK_DAMAGE_BAD_FIELD, "value is '%.*s', which is not a number", (int)length, text);
    else if (!isfinite((float)number))
        set_fault(fault, STK_DAMAGE_BAD_VALUES, "value is '%.*s'", (int)length, text);
    else
        *label = number;
}

static stk_status take_points(const json_t *list, stk__buffer *points, stk__shard_fault *fault,
                              stk_error *error)
{
    if (!json_is_array(list) || json_array_size(list) == 0)
        set_fault(fault, STK_DAMAGE_BAD_FIELD, "points.json is not a list of points");
    for (size_t i = 0; i < json_array_size(list); i++) {
        float place[3] = {0};
        if (!stk__list_take_point(json_array_get(list, i), place))
            set_fault(fault, STK_DAMAGE_BAD_FIELD,
                      "point %zu in points.json is neither [x, y], [x, y, visible] nor null", i);
        STK__TRY(stk__buffer_append(points, place, sizeof place, error));
    }
    return STK_OK;
}

stk_status stk__shard_read_points(const char *text, size_t length, stk__buffer *points,
                                  stk__shard_fault *fault, stk_error *error)
{
    json_error_t why;
    json_t *list = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!list) {
        if (json_error_code(&why) == json_error_out_of_memory)
            return stk__fail_memory(error, length, "points of a sample");
        set_fault(fault, STK_DAMAGE_BAD_FIELD, "points.json is not valid JSON: %s", why.text);
        return STK_OK;
    }
    const stk_status status = take_points(list, points, fault, error);
    json_decref(list);
    return status;
}
