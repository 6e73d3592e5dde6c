/* SPDX-License-Identifier: Apache-2.0 */
/* Cleans and judges relative paths part by part, without asking the file system. Pure functions on untrusted
 * text; no part is ever resolved: "a/../b" is not made "b", because a may be a link. */
#include "core/path.h"

#include <string.h>

static bool is_dots(const char *part, size_t length, size_t dots)
{
    return length == dots && memcmp(part, "..", dots) == 0;
}

stk__path_facts stk__path_clean(const char *name, size_t length, char *clean)
{
    stk__path_facts facts = {.absolute = length > 0 && name[0] == '/'};
    const bool ends_with_slash = length > 0 && name[length - 1] == '/';
    for (size_t at = 0; at < length;) {
        const char *part = name + at, *slash = memchr(part, '/', length - at);
        const size_t size = slash ? (size_t)(slash - part) : length - at;
        at += size + 1;
        if (size == 0 || is_dots(part, size, 1)) continue;
        if (is_dots(part, size, 2))
            facts.upwards = true;
        else if (part[0] == '.')
            facts.hidden = true;
        if (facts.length > 0) clean[facts.length++] = '/';
        memmove(clean + facts.length, part, size);
        facts.length += size;
    }
    clean[facts.length] = '\0';
    facts.names_folder = ends_with_slash || facts.length == 0;
    return facts;
}
