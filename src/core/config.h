/* SPDX-License-Identifier: Apache-2.0 */
/* Layered settings and their effects. A config knows the option tables of the rooms; files, environment,
 * command line and presets write into it by name, each in its own layer; rooms take their options struct out
 * of it and tell what is really in effect. Not thread-safe: one owner, before and after the work. */
#ifndef STK_CORE_CONFIG_H
#define STK_CORE_CONFIG_H

#include "core/memory.h"
#include "core/option.h"

#include <jansson.h>

typedef struct stk__config stk__config; /* create/destroy */

/* A higher layer wins, whatever the order of calls; inside one layer the later call wins. */
typedef enum stk__origin {
    STK_ORIGIN_DEFAULT,
    STK_ORIGIN_PRESET,
    STK_ORIGIN_FILE,
    STK_ORIGIN_ENVIRONMENT,
    STK_ORIGIN_COMMAND
} stk__origin;
enum { STK_ORIGIN_COUNT = STK_ORIGIN_COMMAND + 1 };

/* The tables must outlive the config and are checked (stk__option_table_check). Register a table a second
 * time under a nested section ("data" and "data.val" with the same options) to let it be overridden there. */
stk_status stk__config_create(stk__config **config, const stk__option_table *const *tables, size_t count,
                              stk_error *error);
void stk__config_destroy(stk__config **config);

/* Names a section that other commands use ("train training": a name and its aliases): its keys are accepted
 * and become rows of the effects, "not used here: why". Keys that a table claims through `also` still go
 * there, and a key that nearly is one of those is refused as misspelt. */
stk_status stk__config_foreign(stk__config *config, const char *section_and_aliases, const char *why,
                               stk_error *error);

/* The options of such a section: they are then known by their names alone, too ("lr"). The table must outlive
 * the config. */
stk_status stk__config_foreign_options(stk__config *config, const stk__option_table *table, stk_error *error);

/* YAML: one document whose root is a map (or nothing), at most 1 MiB, 8 levels. Nested maps and dotted keys
 * mean the same. An empty value unsets the key. No anchors, aliases or tags. Or lines KEY = value, [section]
 * (config_pairs.c), by the name's ending or the first line. Errors have file:line:column as place. After a
 * failed reading the settings before the place of failure have been taken. */
stk_status stk__config_read_file(stk__config *config, const char *path, stk_error *error);
stk_status stk__config_read_text(stk__config *config, const char *text, const char *name, stk_error *error);

/* STOKER_SECTION_KEY of every known section, dots as '_'; empty values are ignored, and so is every other
 * variable. Where two names agree (data.val_root, data.val.root) the table registered first gets it. */
stk_status stk__config_read_environment(stk__config *config, char **environment, stk_error *error);

/* One setting: "data.num_workers", "data.val.batch_size", or without the first section where that is unique
 * ("num_workers", "val.batch_size"), or as another program calls it (foreign_name.h). value and place
 * ("command line") are copied. value NULL: unsets it in that layer. */
stk_status stk__config_set(stk__config *config, const char *key, const char *value, stk__origin origin,
                           const char *place, stk_error *error);

/* Is it the name of a setting, as stk__config_set takes it? */
bool stk__config_is_setting(const stk__config *config, const char *key);

/* Writes what was asked for into the section's options struct, which the caller has zeroed; the rest stays
 * zero. A nested section starts from what its parent got: data.val.* override data.*, whatever the layers.
 * Texts in the struct belong to the config. */
stk_status stk__config_apply(const stk__config *config, const char *section, void *options, stk_error *error);

/* The requested value, as text; NULL when there was no request (or no such option). origin may be NULL. */
const char *stk__config_requested(const stk__config *config, const char *name, stk__origin *origin);

/* The room that decided reports what is in effect (empty, with a reason: the setting has no effect here); why
 * is NULL when it is as requested. A second report replaces the first.
 */
stk_status stk__config_effect(stk__config *config, const char *name, const char *in_effect, const char *why,
                              stk_error *error);

/* The same for a whole section, from the struct the room really works with; rows already reported are kept.
 */
stk_status stk__config_effects_from(stk__config *config, const char *section, const void *options,
                                    stk_error *error);

/* One row per setting that was requested or reported, in the order of the tables, foreign ones last. */
typedef struct stk__effect {
    const char *name;
    const char *requested; /* NULL: not requested */
    const char *in_effect; /* NULL: not in effect at all */
    const char *why;       /* NULL: as requested */
    stk__origin origin;    /* of requested */
    bool differs;          /* in value, not in spelling: 'yes' in effect as 'true' is the same */
    const char *place;     /* where it was requested: "command line", "c.yaml:3:5", "preset best"; or NULL */
} stk__effect;

size_t stk__config_effect_count(const stk__config *config);
stk__effect stk__config_effect_at(const stk__config *config, size_t index); /* texts: until the next effect */

/* [{name, requested, in_effect, why}]: numbers as numbers, switches as booleans. NULL: out of memory. The
 * caller owns it (json_decref). */
json_t *stk__config_effects_json(const stk__config *config);

/* Appends what is in effect (reported, else requested) as YAML that can be read back. STK_ERROR_CONFIG: a
 * value is not UTF-8. */
stk_status stk__config_write_yaml(const stk__config *config, stk__buffer *text, stk_error *error);

/* "[default 2; 1 to 64 batches; also prefetch]", or "". A tie is a space at which no line should be broken.
 */
enum { STK_OPTION_TIE = '\x1f' };
void stk__option_facts(const stk__option *option, char *text, size_t size);

/* Appends the help of all keys, wrapped to columns (at least 40), every line ended. */
stk_status stk__config_help(const stk__option_table *const *tables, size_t count, int columns,
                            stk__buffer *text, stk_error *error);

#endif
