/* SPDX-License-Identifier: Apache-2.0 */
/* Options described once, as data: a room writes one table for its options struct, and parser, range checks,
 * help, environment, YAML and JSON all come from it. In such a struct zero always means "default". */
#ifndef STK_CORE_OPTION_H
#define STK_CORE_OPTION_H

#include "core/error.h"
#include "stoker/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type fixes the C type of the field and what people may write (stoker/options.h). */
typedef stk_option_type stk__option_type;

typedef struct stk__option {
    const char *name;    /* "num_workers"; a dot nests: "limits.pixels" */
    const char *aliases; /* other names, "a b", or NULL */
    stk__option_type type;
    size_t offset;        /* of the field in the options struct */
    double least, most;   /* what numbers may be, as people write them; both 0: anything the type holds */
    const char *fallback; /* the default as text, read by the same parser; NULL: the field stays zero */
    const char *choices;  /* WORD: "fail|replace|skip"; synonyms with '=': "bf16|f32=off=false"; TEXT: what is
                             known, for help and completion; other texts are taken too */
    const char *unit;     /* for help, or NULL */
    const char *help;     /* one sentence, lower case, without full stop */
    bool tunable;         /* the tuner may change it */
    bool map;             /* TEXT: a YAML map may be given, {0: a, 5: b} arrives as "0:a,5:b" */
    bool bare;            /* its name alone means this option, whatever other sections have */
} stk__option;

typedef struct stk__option_table {
    const char *section;         /* "data", or nested: "data.val" */
    const char *section_aliases; /* other names of the section, "a b", or NULL */
    const char *also;            /* sections of other rooms that may carry these keys too, or NULL */
    const stk__option *options;
    size_t count;
    size_t struct_bytes;
} stk__option_table;

/* Longest text stk__option_print makes of anything but a TEXT. */
enum { STK_OPTION_TEXT_BYTES = 96 };

/* Reads text into the option's field. TEXT keeps the pointer: text must outlive the struct. On failure the
 * field is untouched, the message starts with the option's name, the hint says what is expected. */
stk_status stk__option_parse(const stk__option *option, const char *text, void *options, stk_error *error);

/* The field as text that stk__option_parse reads back to the same value. TEXT that is NULL prints "". */
void stk__option_print(const stk__option *option, const void *options, char *text, size_t size);

/* True when the field is zero, that is: default. */
bool stk__option_is_zero(const stk__option *option, const void *options);

/* What the option takes, for help and hints: "an integer, 1 to 65536", "fail, replace or skip". */
void stk__option_expects(const stk__option *option, char *text, size_t size);
void stk__option_choices(const stk__option *option, char *text, size_t size); /* "fail, replace or skip" */

/* "1 to 65536", "1 or more", or "" when anything goes. */
void stk__option_range(const stk__option *option, char *text, size_t size);

/* Name or alias of the option; '-' and '_' are alike, case does not matter. */
bool stk__option_is_named(const stk__option *option, const char *name, size_t length);

/* Every field that is zero gets its fallback. TEXT then points at the table's own text. */
stk_status stk__options_fill(const stk__option_table *table, void *options, stk_error *error);

/* Ranges of fields that were set by C code, not by the parser. Zero always passes: it means default. */
stk_status stk__options_check(const stk__option_table *table, const void *options, stk_error *error);

/* Is the table itself sound: fields inside the struct, fallbacks readable, and no option whose explicit 0
 * would silently turn into another default. For tests and stk__config_create. */
stk_status stk__option_table_check(const stk__option_table *table, stk_error *error);

/* Puts "section." before the message of a failed stk__option_parse. */
void stk__option_error_section(stk_error *error, const char *section);

/* The shortest text that reads back as value; '.' in every locale. */
void stk__option_print_number(double value, char *text, size_t size);
void stk__option_print_float(float value, char *text, size_t size); /* 9 digits at most */

/* Equal as names: '-' is '_', case does not matter; length counts both. */
bool stk__name_equal(const char *a, const char *b, size_t length);

/* Walks a list of words separated by spaces: the next word from *list on, its length, NULL at the end. */
const char *stk__name_next(const char **list, size_t *length);

#endif
