/* SPDX-License-Identifier: Apache-2.0 */
/* Files of settings: YAML, or lines KEY = value as in INI, TOML and Python files. The ending of the name says
 * which, else the first line that says something. Not thread-safe, as all of a config. */
#include "core/config_layers.h"

#include "core/file.h"
#include "core/text.h"

#include <stdio.h>
#include <string.h>

static stk_status read_any(stk__config *config, const char *text, size_t size_bytes, const char *name,
                           stk_error *error)
{
    if (size_bytes > STK_CONFIG_FILE_BYTES) {
        stk__fail(error, STK_ERROR_CONFIG, "the settings are larger than 1 MiB");
        stk__error_place(error, "%s", name);
        return STK_ERROR_CONFIG;
    }
    return stk__config_is_pairs(text, size_bytes, name)
               ? stk__config_read_pairs(config, text, size_bytes, name, error)
               : stk__config_read_yaml(config, text, size_bytes, name, error);
}

stk_status stk__config_read_text(stk__config *config, const char *text, const char *name, stk_error *error)
{
    return read_any(config, text, strlen(text), name, error);
}

static stk_status refuse_file(stk_error *failure, const char *path, stk_error *error)
{
    const bool large = failure->damage == STK_DAMAGE_TOO_MANY_BYTES;
    const bool yaml = stk__text_ends_with(path, strlen(path), ".yaml");
    const stk_status status =
        stk__fail(error, large ? STK_ERROR_CONFIG : STK_ERROR_IO, "cannot read the settings: %s",
                  large ? "the file is larger than 1 MiB" : failure->message);
    stk__error_place(error, "%s", path);
    if (!large) stk__error_hint(error, "check the path of the %s", yaml ? "YAML file" : "file");
    return status;
}

stk_status stk__config_read_file(stk__config *config, const char *path, stk_error *error)
{
    stk__buffer content = {0};
    stk_error failure = {0};
    stk_status status = stk__file_read(path, STK_CONFIG_FILE_BYTES, &content, &failure);
    if (status == STK_OK)
        status = read_any(config, (const char *)content.data, content.size_bytes, path, error);
    else if (status == STK_ERROR_SAMPLE)
        status = refuse_file(&failure, path, error);
    else if (error)
        *error = failure;
    stk__buffer_fini(&content);
    return status;
}
