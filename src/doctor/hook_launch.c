/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the hook's Python files, and stoker_hook/layout.py: the format of its records as the C lists have
 * it, so that it stands once. No threads of its own. */
#include "doctor/hook_launch.h"

#include "core/file.h"
#include "doctor/hook_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static stk_status append_line(stk__buffer *text, stk_error *error, const char *name, uint64_t value)
{
    char line[96];
    const int length = snprintf(line, sizeof line, "%s = %" PRIu64 "\n", name, value);
    return stk__buffer_append(text, line, (size_t)length, error);
}

typedef struct number {
    const char *name;
    uint64_t value;
} number;

static const number numbers[] = {
    {"MAGIC_VALUE", STK_HOOK_SIGNATURE},
    {"VERSION_VALUE", STK_HOOK_FORMAT},
    {"FILE_SIZE", sizeof(stk__hook_file)},
    {"STEP_AT", offsetof(stk__hook_file, steps)},
    {"STEP_RECORDS", STK_HOOK_RING},
    {"STEP_SIZE", sizeof(stk__hook_step)},
    {"STEP_GPU_AT", offsetof(stk__hook_step, gpu_ns)},
    {"FACTS_AT", offsetof(stk__hook_file, facts)},
    {"FACTS_SIZE", sizeof((stk__hook_file *)0)->facts},
#define NUMBER(id) {#id, STK_HOOK_##id},
    STK_HOOK_WORD_LIST(NUMBER)
#undef NUMBER
#define NUMBER(id, rows) {#id "_ROWS", rows}, {#id "_WIDTH", STK_HOOK_##id##_WIDTH},
        STK_HOOK_TABLE_LIST(NUMBER)
#undef NUMBER
            {"SITE_AT", offsetof(stk__hook_file, site)},
    {"WORK_AT", offsetof(stk__hook_file, work)},
    {"LOADER_AT", offsetof(stk__hook_file, loader)},
    {"OPTIMIZER_AT", offsetof(stk__hook_file, optimizer)},
#define NUMBER(id) {"SITE_" #id, STK_HOOK_SITE_##id},
    STK_HOOK_SITE_COLUMNS(NUMBER)
#undef NUMBER
#define NUMBER(id) {"WORK_" #id, STK_HOOK_WORK_##id},
        STK_HOOK_WORK_COLUMNS(NUMBER)
#undef NUMBER
#define NUMBER(id) {"LOADER_" #id, STK_HOOK_LOADER_##id},
            STK_HOOK_LOADER_COLUMNS(NUMBER)
#undef NUMBER
#define NUMBER(id) {"OPTIMIZER_" #id, STK_HOOK_OPTIMIZER_##id},
                STK_HOOK_OPTIMIZER_COLUMNS(NUMBER)
#undef NUMBER
#define NUMBER(id, key, name) {"CAUSE_" #id, STK_CAUSE_##id},
                    STK_STEP_CAUSE_LIST(NUMBER)
#undef NUMBER
                        {"CAUSES", STK_STEP_CAUSES},
    {"KIND_READ", STK_WORK_READ},
    {"KIND_DECODE", STK_WORK_DECODE},
    {"KIND_TRANSFORM", STK_WORK_TRANSFORM},
    {"KIND_COLLATE", STK_WORK_COLLATE},
    {"KIND_DATASET", STK_WORK_DATASET},
};

static stk_status write_file(const char *folder, const char *name, stk__buffer text, stk_error *error)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return stk__fail(error, STK_ERROR_ARGUMENT, "path of folder '%s' is too long", folder);
    return stk__file_write(path, text, STK_FILE_QUICK, error);
}

static stk_status write_layout(const char *folder, stk__buffer *text, stk_error *error)
{
    static const char head[] = "# Made from the lists of hook_file.h.\nSUFFIX = \"" STK_HOOK_SUFFIX "\"\n";
    STK__TRY(stk__buffer_append(text, head, strlen(head), error));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        STK__TRY(append_line(text, error, numbers[i].name, numbers[i].value));
    return write_file(folder, "stoker_hook/layout.py", *text, error);
}

stk_status stk__hook_write(const char *folder, stk_error *error)
{
    char package[4096];
    const int length = snprintf(package, sizeof package, "%s/stoker_hook", folder);
    if (length < 0 || (size_t)length >= sizeof package)
        return stk__fail(error, STK_ERROR_ARGUMENT, "path of folder '%s' is too long", folder);
    STK__TRY(stk__folder_make(package, error));
    for (int64_t i = 0; i < stk__hook_file_count; i++) {
        const stk__hook_text *file = &stk__hook_files[i];
        const stk__buffer text = {.data = (uint8_t *)(uintptr_t)file->text, .size_bytes = strlen(file->text)};
        STK__TRY(write_file(folder, file->name, text, error));
    }
    stk__buffer text = {0};
    const stk_status status = write_layout(folder, &text, error);
    stk__buffer_fini(&text);
    return status;
}

stk_status stk__hook_environment(const char *folder, const char *python_path,
                                 stk__hook_variable variables[STK_HOOK_VARIABLES], stk_error *error)
{
    const bool more =
        python_path && *python_path; /* an empty part of PYTHONPATH would be the working folder */
    const size_t room = strlen(folder) + (more ? strlen(python_path) : 0) + 2;
    variables[0] = (stk__hook_variable){"STOKER_DOCTOR_DIR", stk__text_copy(folder)};
    variables[1] = (stk__hook_variable){"PYTHONPATH", stk__alloc(room)};
    if (!variables[0].value || !variables[1].value)
        return stk__fail_memory(error, room, "a variable of the environment");
    snprintf(variables[1].value, room, "%s%s%s", folder, more ? ":" : "", more ? python_path : "");
    return STK_OK;
}
