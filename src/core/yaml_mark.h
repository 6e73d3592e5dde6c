/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a YAML text a byte stands: libyaml gives the place of a wrong byte as an offset only. */
#ifndef STK_CORE_YAML_MARK_H
#define STK_CORE_YAML_MARK_H

#include <stddef.h>
#include <yaml.h>

/* Line and column from 0 on; a character of several bytes is one column. */
static inline yaml_mark_t stk__yaml_mark_at(const char *text, size_t size_bytes, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < size_bytes; i++) {
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if ((text[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

#endif
