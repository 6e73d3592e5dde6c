/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options between text and struct; shared by option.c and option_text.c only. */
#ifndef STK_CORE_OPTION_VALUE_H
#define STK_CORE_OPTION_VALUE_H

#include "core/option.h"

typedef union stk__option_value {
    double triple[3]; /* the largest comes first: {0} clears all */
    const char *text;
    int64_t whole;
    double number;
    int flag;
    uint64_t bytes;
    int32_t size[2]; /* h, w */
    double range[2]; /* PAIR too */
} stk__option_value;

size_t stk__option_value_bytes(stk__option_type type);
stk__option_value stk__option_load(const stk__option *option, const void *options);

/* False when text is not of the option's type at all; ranges are not looked at. */
bool stk__option_value_read(const stk__option *option, const char *text, stk__option_value *value);

/* Of PAIR and TRIPLE; 0 of every other type. */
int stk__option_tuple_count(stk__option_type type);

/* The number of choices, and the words of choice number index: "f32=off=false" with its length. */
int stk__option_choice_count(const stk__option *option);
const char *stk__option_choice(const stk__option *option, int index, size_t *length);
/* Its first word alone. Returns the word's length, printed whole or not. */
size_t stk__option_choice_print(const stk__option *option, int index, char *text, size_t size);

#endif
