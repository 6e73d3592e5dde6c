/* SPDX-License-Identifier: Apache-2.0 */
/* The section `augment` of configurations. Its rows come from the operations' own tables, so its struct has
 * no fixed fields: a block of bytes that the table describes. All zero: default. */
#ifndef STK_AUGMENT_SETTINGS_H
#define STK_AUGMENT_SETTINGS_H

#include "core/option.h"

#include <stddef.h>

enum { STK_AUGMENT_SETTINGS_BYTES = 2048 };

typedef struct stk__augment_settings {
    _Alignas(max_align_t) unsigned char bytes[STK_AUGMENT_SETTINGS_BYTES];
} stk__augment_settings;

/* Section "augment", alias "gpu_augmentation". The same table each time; any thread. */
const stk__option_table *stk__augment_options(void);

/* One setting by name, as text ("rotation_degrees", "15"): for C callers and tests. value must outlive
 * settings. */
stk_status stk__augment_set(stk__augment_settings *settings, const char *name, const char *value,
                            stk_error *error);

/* options.augment of the public interface: a preset ("strong"), or the section as YAML. The config, which the
 * caller destroys also after a failure, owns the texts in settings. */
struct stk__config;
stk_status stk__augment_read_text(const char *text, struct stk__config **config,
                                  stk__augment_settings *settings, stk_error *error);

/* augment.device as requested; "" when it is not set. */
const char *stk__augment_device(const stk__augment_settings *settings);

#endif
