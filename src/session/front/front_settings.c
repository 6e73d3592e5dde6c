/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a program's settings: its file, the environment if it wants that, and on top its list, each
 * named by its index ("settings[2]"). One thread. */
#include "session/front/front_settings.h"

#include "session/session.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128 };

extern char **environ;

static stk_status set_one(stk__config *config, const char *text, size_t index, stk_error *error)
{
    char name[NAME_BYTES], place[48];
    const char *equals = text ? strchr(text, '=') : NULL;
    snprintf(place, sizeof place, "settings[%zu]", index);
    if (!text) return stk__fail(error, STK_ERROR_ARGUMENT, "%s is NULL", place);
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
        stk__fail(error, STK_ERROR_CONFIG, "the setting '%.80s' is not key=value", text);
        stk__error_place(error, "%s", place);
        stk__error_hint(error, "write it like \"train.epochs=2\"");
        return STK_ERROR_CONFIG;
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    return stk__config_set(config, name, equals + 1, STK_ORIGIN_COMMAND, place, error);
}

stk_status stk__front_settings_read(stk__config **config, const stk__front_settings *s, stk_error *error)
{
    if (s->count && !s->list)
        return stk__fail(error, STK_ERROR_ARGUMENT, "setting_count is %zu, and settings is NULL", s->count);
    STK__TRY(stk__config_create(config, stk__session_tables(), STK_SESSION_TABLES, error));
    if (s->config) STK__TRY(stk__config_read_file(*config, s->config, error));
    if (s->environment) STK__TRY(stk__config_read_environment(*config, environ, error));
    for (size_t i = 0; i < s->count; i++)
        STK__TRY(set_one(*config, s->list[i], i, error));
    return STK_OK;
}
