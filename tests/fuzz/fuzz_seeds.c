/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_seeds FOLDER STAMP [TARGET FILE...]...: writes the seeds of all targets, these files among them, and
 * then STAMP, an empty file. */
#include "fuzz_seeds.h"

#include "core/file.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;

static void stop(const stk_error *error)
{
    fprintf(stderr, "fuzz_seeds: %s\n", error->message);
    exit(1);
}

void fuzz_seed(const char *target, const char *name, const void *data, size_t size)
{
    char path[PATH_MAX];
    stk_error error = {0};
    const stk__buffer bytes = {.data = (uint8_t *)(uintptr_t)data, .size_bytes = size};
    snprintf(path, sizeof path, "%s/%s", folder, target);
    if (stk__folder_make(path, &error) != STK_OK) stop(&error);
    snprintf(path, sizeof path, "%s/%s/%s", folder, target, name);
    if (stk__file_write(path, bytes, STK_FILE_QUICK, &error) != STK_OK) stop(&error);
}

void fuzz_seed_text(const char *target, const char *name, const char *text)
{
    fuzz_seed(target, name, text, strlen(text));
}

/* A word without a dot is the target of the files behind it. */
static void copy_files(char **words, int count)
{
    stk__buffer text = {0};
    stk_error error = {0};
    const char *target = "";
    for (int i = 0; i < count; i++) {
        if (!strchr(words[i], '.')) {
            target = words[i];
            continue;
        }
        if (stk__file_read(words[i], 0, &text, &error) != STK_OK) stop(&error);
        fuzz_seed(target, basename(words[i]), text.data, text.size_bytes);
    }
    stk__buffer_fini(&text);
}

int main(int count, char **arguments)
{
    stk_error error = {0};
    if (count < 3) return fprintf(stderr, "usage: fuzz_seeds FOLDER STAMP [TARGET FILE...]...\n"), 2;
    folder = arguments[1];
    copy_files(arguments + 3, count - 3);
    fuzz_seed_pictures();
    fuzz_seed_tables();
    fuzz_seed_runs();
    fuzz_seed_shards();
    if (stk__file_write(arguments[2], (stk__buffer){0}, STK_FILE_QUICK, &error) != STK_OK) stop(&error);
    return 0;
}
