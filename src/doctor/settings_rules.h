/* SPDX-License-Identifier: Apache-2.0 */
/* A settings file of any training program, looked at without running it: keys by their usual names. */
#ifndef STK_DOCTOR_SETTINGS_RULES_H
#define STK_DOCTOR_SETTINGS_RULES_H

#include "doctor/doctor_rules.h"

typedef struct stk__settings_row {
    char key[STK_DOCTOR_TEXT]; /* "train.num_workers" */
    char value[STK_DOCTOR_TEXT];
    int32_t line;
    bool quoted;
} stk__settings_row;

typedef struct stk__settings_file {
    stk__settings_row *rows;
    int64_t count;
} stk__settings_file;

/* YAML; any keys. Lists are left out. STK_ERROR_CONFIG with the place: it is none. */
stk_status stk__settings_file_read(const char *path, stk__settings_file *file, stk_error *error);
void stk__settings_file_fini(stk__settings_file *file);

/* What the rules look at, as stk__doctor_facts.other. */
typedef struct stk__settings_facts {
    const stk__settings_file *now, *before; /* before: what it was changed from; NULL: unknown */
    double cpus;                            /* of this machine; NAN: unknown */
    char unknown[STK_DOCTOR_SAY];           /* keys that no known program reads, with what was meant */
    int64_t unknown_count;
} stk__settings_facts;

/* Sets the unknown keys: those that neither Stoker nor the names of other programs have. */
stk_status stk__settings_facts_look_up(stk__settings_facts *facts, stk_error *error);

extern const stk__doctor_rule stk__rules_settings[]; /* ends with one without an id */

#endif
