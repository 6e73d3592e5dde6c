/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as programs give them (stoker/train.h). */
#ifndef STK_SESSION_FRONT_SETTINGS_H
#define STK_SESSION_FRONT_SETTINGS_H

#include "core/config.h"

typedef struct stk__front_settings {
    const char *config; /* a settings file; NULL: none */
    const char *const *list;
    size_t count;
    bool environment; /* variables STOKER_SECTION_KEY, too */
} stk__front_settings;

/* Creates the config of a session with them. After a failure, too, it is to be destroyed. */
stk_status stk__front_settings_read(stk__config **config, const stk__front_settings *settings,
                                    stk_error *error);

#endif
