/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a loader with what only this tree has: a source that is already there, settings that are already
 * read. */
#ifndef STK_LOADER_LOADER_OPEN_H
#define STK_LOADER_LOADER_OPEN_H

#include "augment/settings.h"
#include "source/source.h"
#include "stoker/loader.h"

typedef struct stk__loader_setup {
    const stk_loader_options *options;
    const stk__augment_settings *augment; /* NULL: as options->augment says */
    stk__source *source; /* NULL: opened from options->root; else the caller's, and must outlive the loader */
} stk__loader_setup;

stk_status stk__loader_open(stk_loader **loader, const stk__loader_setup *setup, stk_error *error);

/* Memory of the slots that hold something now, or are being filled, and of the cache. Any thread. */
uint64_t stk__loader_filled_bytes(stk_loader *loader);

/* The section `data` of configurations: fields of stk_loader_options. */
extern const stk__option_table stk__loader_options;

#endif
