/* SPDX-License-Identifier: Apache-2.0 */
/* Typed values out of a JSON object of a recording; the first one that is missing or wrong is remembered
 * with its key, so that callers check once. */
#include "monitor/record/replay_value.h"

#include <stdio.h>
#include <string.h>

json_t *stk__replay_value(stk__getter *g, const json_t *object, const char *key, json_type type)
{
    json_t *value = json_object_get(object, key);
    const bool number = type == JSON_REAL && json_is_number(value);
    if ((!value || (!number && json_typeof(value) != type)) && !g->missing) g->missing = key;
    return value;
}

int64_t stk__replay_whole(stk__getter *g, const json_t *object, const char *key)
{
    return json_integer_value(stk__replay_value(g, object, key, JSON_INTEGER));
}

uint64_t stk__replay_moment(stk__getter *g, const json_t *object, const char *key)
{
    const int64_t value = stk__replay_whole(g, object, key);
    if (value < 0 && !g->missing) g->missing = key;
    return value < 0 ? 0 : (uint64_t)value;
}

void stk__replay_text(stk__getter *g, const json_t *object, const char *key, char *text, size_t room)
{
    const char *value = json_string_value(stk__replay_value(g, object, key, JSON_STRING));
    snprintf(text, room, "%s", value ? value : "");
}

stk_reading stk__replay_reading(stk__getter *g, const json_t *object, const char *key, uint64_t when_ns)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_number(value))
        return (stk_reading){.value = json_number_value(value), .when_ns = when_ns, .known = STK_KNOWN};
    if (!json_is_null(value) && !g->missing) g->missing = key;
    return (stk_reading){0};
}

void stk__replay_readings(stk__getter *g, const json_t *object, int count, const char *(*key)(int),
                          stk_reading *readings)
{
    const json_t *values = stk__replay_value(g, object, "readings", JSON_OBJECT);
    const json_t *unsupported = stk__replay_value(g, object, "unsupported", JSON_ARRAY);
    const json_t *when = stk__replay_value(g, object, "when_ns", JSON_OBJECT);
    const uint64_t moment_ns = stk__replay_moment(g, object, "read_ns");
    for (int i = 0; i < count; i++) {
        const int64_t other_ns = json_integer_value(json_object_get(when, key(i))); /* absent: 0 */
        if (other_ns < 0 && !g->missing) g->missing = "when_ns";
        readings[i] = stk__replay_reading(g, values, key(i), other_ns > 0 ? (uint64_t)other_ns : moment_ns);
        for (size_t k = 0; k < json_array_size(unsupported); k++) {
            const char *name = json_string_value(json_array_get(unsupported, k));
            if (name && strcmp(name, key(i)) == 0) readings[i].known = STK_UNSUPPORTED;
        }
    }
}
