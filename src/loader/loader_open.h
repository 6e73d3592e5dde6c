/* Opening a loader on a source that is already there: for benchmarks and tests. */
#ifndef STK_LOADER_LOADER_OPEN_H
#define STK_LOADER_LOADER_OPEN_H

#include "core/option.h"
#include "source/source.h"
#include "stoker/loader.h"

/* source NULL: opened from options->root. Otherwise it stays the caller's and must outlive the loader. */
stk_status stk__loader_open(stk_loader **loader, const stk_loader_options *options, stk__source *source,
                            stk_error *error);

/* The section `data` of configurations: fields of stk_loader_options. */
extern const stk__option_table stk__loader_options;

#endif
