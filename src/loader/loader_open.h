/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a loader with what only this tree has: a source that is already there, settings that are already
 * read. */
#ifndef STK_LOADER_LOADER_OPEN_H
#define STK_LOADER_LOADER_OPEN_H

#include "augment/settings.h"
#include "loader/file_observer.h"
#include "source/source.h"
#include "stoker/loader.h"

typedef struct stk__loader_setup {
    const stk_loader_options *options;
    const stk__augment_settings *augment; /* NULL: as options->augment says */
    stk__source *source; /* NULL: opened from options->root; else the caller's, and must outlive the loader */
    const stk__file_observer *observer; /* of every file of the stream; NULL: none. Outlives the loader */
    bool held; /* decides everything, but has no slots, cache and threads before stk__loader_start: for plans
                */
} stk__loader_setup;

stk_status stk__loader_open(stk_loader **loader, const stk__loader_setup *setup, stk_error *error);

/* A loader that was opened held begins to load; options are those it was opened with. Others: does nothing.
 */
stk_status stk__loader_start(stk_loader *loader, const stk_loader_options *options, stk_error *error);

/* What the loader reads from: another loader may borrow it while this one is open. */
stk__source *stk__loader_source(const stk_loader *loader);
/* Where a sample stands in the first epoch; false: it is not in this part. Takes time with the number of
 * samples. */
bool stk__loader_find(const stk_loader *loader, uint64_t id, uint64_t *position);

/* The section `data` of configurations: fields of stk_loader_options. */
extern const stk__option_table stk__loader_options;

#endif
