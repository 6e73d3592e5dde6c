/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about text, with the same answer in every locale. */
#ifndef STK_CORE_TEXT_H
#define STK_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Between words of a line. */
static inline bool stk__is_blank(char letter)
{
    return letter == ' ' || letter == '\t';
}

/* The same, or the end of a line. */
static inline bool stk__is_space(char letter)
{
    return stk__is_blank(letter) || letter == '\r' || letter == '\n';
}

/* Whether a text of `length` bytes has something before `end`, in any case: "a.TAR" ends with ".tar", ".tar"
 * does not. */
static inline bool stk__text_ends_with(const char *text, size_t length, const char *end)
{
    const size_t end_length = strlen(end);
    return length > end_length && strncasecmp(text + length - end_length, end, end_length) == 0;
}

#endif
