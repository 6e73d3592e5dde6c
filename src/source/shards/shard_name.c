/* SPDX-License-Identifier: Apache-2.0 */
/* Names of tar members taken apart as WebDataset does: everything up to the first dot of the base name is
 * the sample's key, the rest names the field ("a/b.seg.png" -> key "a/b", mask, PNG). Pure functions on
 * untrusted text. */
#include "source/shards/shard_name.h"

#include "core/path.h"
#include "source/extension.h"

#include <stdio.h>
#include <string.h>

static const char *const prefixes[] = {"", "mask.", "seg."};
enum { PREFIXES = sizeof prefixes / sizeof prefixes[0] };

static void classify_field(const char *text, stk__shard_name *split)
{
    static const struct {
        const char *name;
        stk__shard_field field;
    } others[] = {{"cls", STK_SHARD_CLASS}, {"value", STK_SHARD_VALUE}, {"points.json", STK_SHARD_POINTS}};
    split->field = STK_SHARD_OTHER;
    split->code = STK_EXTENSION_NONE;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcasecmp(text, others[i].name) == 0) split->field = others[i].field;
    for (unsigned i = 0; i < PREFIXES; i++) {
        const size_t length = strlen(prefixes[i]);
        if (strncasecmp(text, prefixes[i], length) != 0) continue;
        const uint8_t code = stk__extension_code(text + length, strlen(text + length));
        if (code == STK_EXTENSION_NONE) continue;
        split->field = i ? STK_SHARD_MASK : STK_SHARD_PLAIN;
        split->code = (uint8_t)(code | i << STK_SHARD_PREFIX_SHIFT);
    }
}

/* In place: the key only gets shorter. */
static void unescape_key(stk__shard_name *split)
{
    char *to = split->key;
    for (const char *at = split->key; *at; at++) {
        if (*at == '%' && strncmp(at, "%2E", 3) != 0 && strncmp(at, "%25", 3) != 0)
            split->fault = "the name has a '%' that is neither %2E nor %25";
        else if (*at == '%') {
            *to++ = at[2] == 'E' ? '.' : '%';
            at += 2;
            continue;
        }
        *to++ = *at;
    }
    *to = '\0';
    split->key_length = (size_t)(to - split->key);
}

bool stk__shard_name_split(const char *name, bool escaped, stk__shard_name *split)
{
    const stk__path_facts path = stk__path_clean(name, strlen(name), split->key);
    if (path.hidden) return false; /* as in a folder */
    split->fault = path.upwards ? "the name leaves the data set through '..'" : NULL;
    char *base = strrchr(split->key, '/'), *dot;
    base = base ? base + 1 : split->key;
    dot = strchr(base, '.');
    if (!dot || dot == base) return false;
    classify_field(dot + 1, split);
    *dot = '\0';
    split->key_length = (size_t)(dot - split->key);
    if (escaped) unescape_key(split);
    return true;
}

static void escape_key(const char *key, char *text, size_t size)
{
    size_t at = 0;
    for (; *key && at + 4 <= size; key++) {
        if (*key == '.' || *key == '%')
            at += (size_t)snprintf(text + at, size - at, "%%%02X", *key);
        else
            text[at++] = *key;
    }
    text[at] = '\0';
}

void stk__shard_name_join(const char *key, uint8_t code, bool escaped, char *text, size_t size)
{
    char extension[STK_EXTENSION_BYTES];
    const unsigned prefix = code >> STK_SHARD_PREFIX_SHIFT;
    stk__extension_text((uint8_t)(code & ((1 << STK_SHARD_PREFIX_SHIFT) - 1)), extension);
    if (size < 4) return;
    if (escaped)
        escape_key(key, text, size);
    else
        snprintf(text, size, "%s", key);
    const size_t length = strlen(text);
    snprintf(text + length, size - length, ".%s%s", prefix < PREFIXES ? prefixes[prefix] : "", extension);
}
