/* SPDX-License-Identifier: Apache-2.0 */
/* The section `augment` as a text of the public interface: one word is a preset, all else is YAML. */
#include "augment/settings.h"

#include "core/config.h"

#include <stdio.h>
#include <string.h>

stk_status stk__augment_read_text(const char *text, stk__config **config, stk__augment_settings *settings,
                                  stk_error *error)
{
    char yaml[2048];
    const stk__option_table *table = stk__augment_options();
    const bool word = !strchr(text, ':');
    const int length = snprintf(yaml, sizeof yaml, word ? "augment: {preset: %s}" : "augment: {%s}", text);
    if (length >= (int)sizeof yaml)
        return stk__fail(error, STK_ERROR_CONFIG, "the text of options.augment is longer than 2 kB");
    STK__TRY(stk__config_create(config, &table, 1, error));
    STK__TRY(stk__config_read_text(*config, yaml, "options.augment", error));
    return stk__config_apply(*config, "augment", settings, error);
}
