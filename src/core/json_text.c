/* SPDX-License-Identifier: Apache-2.0 */
/* Jansson values into a stk__buffer, and values that Jansson would refuse: bytes of text that is not UTF-8
 * become \xNN, numbers that are not finite null. */
#include "core/json_text.h"

#include <math.h>
#include <stdio.h>

static stk_status dump(stk__buffer *text, const json_t *json, size_t flags, stk_error *error)
{
    const size_t start = text->size_bytes;
    const size_t size = json ? json_dumpb(json, NULL, 0, flags) : 0;
    if (size == 0) return stk__fail_memory(error, size, "a text of JSON");
    STK__TRY(stk__buffer_reserve(text, start + size + 1, error));
    if (json_dumpb(json, (char *)text->data + start, size, flags) != size) /* it needs memory of its own */
        return stk__fail_memory(error, size, "a text of JSON");
    text->size_bytes = start + size;
    return stk__buffer_append(text, "\n", 1, error);
}

stk_status stk__json_text(stk__buffer *text, json_t *json, size_t flags, stk_error *error)
{
    const stk_status status = dump(text, json, flags, error);
    json_decref(json);
    return status;
}

json_t *stk__json_string(const char *text)
{
    json_t *string = json_string(text);
    if (string) return string;
    char escaped[4 * 1024], *out = escaped;
    for (; *text && out < escaped + sizeof escaped - 8; text++) {
        const unsigned char byte = (unsigned char)*text;
        out += snprintf(out, 8, byte < 0x80 ? "%c" : "\\x%02x", byte);
    }
    *out = '\0';
    return json_string(escaped);
}

json_t *stk__json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
