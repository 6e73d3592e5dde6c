/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: what is a well-formed sequence. */
#ifndef STK_CORE_UTF8_H
#define STK_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the well-formed sequence at `at` in a zero-terminated text; 0: there is none. */
static inline size_t stk__utf8_length(const char *text)
{
    const uint8_t *at = (const uint8_t *)text;
    if (at[0] < 0x80) return 1;
    const size_t length = at[0] >= 0xC2 && at[0] <= 0xDF ? 2 : at[0] >= 0xE0 && at[0] <= 0xEF ? 3 : 4;
    if (at[0] < 0xC2 || at[0] > 0xF4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0; /* the zero at the end is none either */
    if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F)) return 0;
    if ((at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F)) return 0;
    return length;
}

static inline bool stk__utf8_valid(const char *text)
{
    for (size_t length; *text; text += length)
        if ((length = stk__utf8_length(text)) == 0) return false;
    return true;
}

#endif
