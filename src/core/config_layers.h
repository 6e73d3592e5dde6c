/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of stk__config, shared by the config*.c files only. */
#ifndef STK_CORE_CONFIG_LAYERS_H
#define STK_CORE_CONFIG_LAYERS_H

#include "core/config.h"
#include "core/foreign_name.h"

typedef struct stk__config_slot {
    const char *value; /* NULL: unset */
    const char *place;
    const char *note; /* how a value of another program was read, for the effects; or NULL */
    bool denial;      /* stk__config_is_denial: another name of the same setting may still say more */
    uint32_t reading; /* which reading wrote it, to find keys that one file has twice; 0: none */
} stk__config_slot;

typedef struct stk__config_setting {
    const char *name; /* "data.num_workers" */
    const stk__option_table *table;
    const stk__option *option;
    stk__config_slot slots[STK_ORIGIN_COUNT];
    const char *in_effect, *why;
} stk__config_setting;

typedef struct stk__config_foreign_section {
    const char *names; /* "train training" */
    const char *why;
} stk__config_foreign_section;

typedef struct stk__config_foreign_row {
    const char *name, *value, *why;
    stk__origin origin;
    uint32_t reading;
} stk__config_foreign_row;

typedef struct stk__config_text {
    struct stk__config_text *next;
    char bytes[];
} stk__config_text;

struct stk__config {
    const stk__option_table **tables;
    size_t table_count;
    stk__config_setting *settings; /* all options of all tables, in order */
    size_t setting_count;
    stk__buffer foreign_sections; /* of stk__config_foreign_section */
    stk__buffer foreign_tables;   /* of const stk__option_table *: options of these sections */
    stk__buffer foreign_rows;     /* of stk__config_foreign_row */
    stk__config_text *texts;      /* every text, kept until destroy: options structs point at them */
    uint32_t readings;
};

/* A value on its way in. */
typedef struct stk__config_input {
    const char *value; /* NULL: unset the key */
    const char *place;
    stk__origin origin;
    uint32_t reading;
} stk__config_input;

/* What a key means: a setting, or else a foreign section and the rest of the key. */
typedef struct stk__config_target {
    stk__config_setting *setting;
    const stk__config_foreign_section *foreign;
    const char *rest;
    const stk__foreign_name *row; /* by which it was found; NULL: its name is ours */
} stk__config_target;

static inline size_t stk__config_foreign_count(const stk__config *config)
{
    return config->foreign_sections.size_bytes / sizeof(stk__config_foreign_section);
}

static inline const stk__config_foreign_section *stk__config_foreign_at(const stk__config *config, size_t i)
{
    return (const stk__config_foreign_section *)config->foreign_sections.data + i;
}

static inline size_t stk__config_row_count(const stk__config *config)
{
    return config->foreign_rows.size_bytes / sizeof(stk__config_foreign_row);
}

static inline stk__config_foreign_row *stk__config_row_at(const stk__config *config, size_t i)
{
    return (stk__config_foreign_row *)config->foreign_rows.data + i;
}

/* A copy that lives as long as the config; NULL: out of memory. */
const char *stk__config_keep(stk__config *config, const char *text, size_t length);

/* The winning slot and its origin; NULL: not requested. */
const stk__config_slot *stk__config_winner(const stk__config_setting *setting, stk__origin *origin);

stk_status stk__config_take(stk__config *config, stk__config_target target, stk__config_input input,
                            stk_error *error);

/* config_find.c: names. A failed find explains itself, with the nearest name. */
stk_status stk__config_find(const stk__config *config, const char *key, stk__config_target *target,
                            stk_error *error);
/* Does something lie below it? */
bool stk__config_is_group(const stk__config *config, const char *key);
/* The part of key below the longest section that some table has; NULL: none. */
const char *stk__config_skip_section(const stk__config *config, const char *key);

/* config_foreign.c: names of other programs. */
enum { STK_CONFIG_KEY_BYTES = 256 };
/* The key with its section as we call it (trainer.x -> train.x), in renamed if that differs. */
const char *stk__config_rename(const stk__config *config, const char *key,
                               char renamed[STK_CONFIG_KEY_BYTES]);
/* The row that key names, with or without a section; NULL: none that could mean something in this config. */
const stk__foreign_name *stk__config_row_of(const stk__config *config, const char *key);
/* False: no row of that name is taken, or its setting does not belong to the section that key has. */
bool stk__config_find_row(const stk__config *config, const char *key, stk__config_target *target);
/* A value as its row means it; *input then refers to out. */
stk_status stk__config_translate(stk__config_target target, stk__config_input *input, stk__foreign_value *out,
                                 stk_error *error);

/* fp16: false denies one word of train.amp only; bf16: true beside it is no contradiction. *word: "fp16". */
bool stk__config_is_denial(const stk__foreign_name *row, const char *value, const char **word,
                           size_t *length);

/* config_suggest.c: what was probably meant. */
stk_status stk__config_unknown(const stk__config *config, const char *key, stk_error *error);
stk_status stk__config_unknown_section(const stk__config *config, const char *key, stk_error *error);

/* What follows "section." in key; NULL when key does not start so. */
const char *stk__config_below(const char *key, const char *section, size_t length);
/* The setting that a key with or without its section means, without a word if it means none or several: NULL.
 */
stk__config_setting *stk__config_look_up(const stk__config *config, const char *key);
/* A setting by its full name, NULL: there is none. */
stk__config_setting *stk__config_find_full(const stk__config *config, const char *key);
/* The section of another room that key is below, *rest what follows it; NULL: none. */
const stk__config_foreign_section *stk__config_find_foreign(const stk__config *config, const char *key,
                                                            const char **rest);
/* The section as a key without its first part has it: "val" of "data.val", NULL of "data". */
const char *stk__config_inner_section(const stk__option_table *table);

/* The k-th spelling of a table's section: its name, aliases, then `also`; NULL at the end. */
const char *stk__config_spelling(const stk__option_table *table, size_t k, size_t *length);

/* config_yaml.c, config_pairs.c: a whole text, of a file of that name. */
stk_status stk__config_read_yaml(stk__config *config, const char *text, size_t size_bytes, const char *name,
                                 stk_error *error);
stk_status stk__config_read_pairs(stk__config *config, const char *text, size_t size_bytes, const char *name,
                                  stk_error *error);
bool stk__config_is_pairs(const char *text, size_t size_bytes, const char *name);
enum { STK_CONFIG_FILE_BYTES = 1 << 20, STK_CONFIG_FILE_KEYS = 4096 };

/* All values of an option share this room when only one is looked at. */
typedef union stk__config_scratch {
    double triple[3]; /* the largest comes first: {0} clears all */
    int64_t whole;
    double number;
    const char *text;
    int flag;
    uint64_t bytes;
    int32_t size[2];
    double range[2];
} stk__config_scratch;

/* Reads text as a value of the option by itself. */
stk_status stk__config_read_value(const stk__option *option, const char *text, stk__config_scratch *value,
                                  stk_error *error);

#endif
