/* SPDX-License-Identifier: Apache-2.0 */
/* What a command needs so that the hook starts in every Python process of it: files in a folder, and
 * variables. */
#ifndef STK_DOCTOR_HOOK_LAUNCH_H
#define STK_DOCTOR_HOOK_LAUNCH_H

#include "core/error.h"

#include <stdint.h>

/* A file of the hook: "sitecustomize.py", "stoker_hook/steps.py". Embedded by tools/embed_text. */
typedef struct stk__hook_text {
    const char *name, *text;
} stk__hook_text;
extern const stk__hook_text stk__hook_files[];
extern const int64_t stk__hook_file_count;

typedef struct stk__hook_variable {
    const char *name;
    char *value; /* stk__free */
} stk__hook_variable;
enum { STK_HOOK_VARIABLES = 2 };

/* Writes the hook into folder, which exists and is private to the user; the processes' records will be there,
 * too. */
stk_status stk__hook_write(const char *folder, stk_error *error);

/* STOKER_DOCTOR_DIR, and PYTHONPATH with the folder in front of python_path (the one now in effect, or NULL).
 * folder is absolute. */
stk_status stk__hook_environment(const char *folder, const char *python_path,
                                 stk__hook_variable variables[STK_HOOK_VARIABLES], stk_error *error);

#endif
