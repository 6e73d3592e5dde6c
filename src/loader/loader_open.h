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
    bool held; /* decides everything, but has no slots, cache and threads before stk__loader_start: for plans
                */
} stk__loader_setup;

stk_status stk__loader_open(stk_loader **loader, const stk__loader_setup *setup, stk_error *error);

/* A loader that was opened held begins to load; options are those it was opened with. Others: does nothing.
 */
stk_status stk__loader_start(stk_loader *loader, const stk_loader_options *options, stk_error *error);

/* The section `data` of configurations: fields of stk_loader_options. */
extern const stk__option_table stk__loader_options;

#endif
