/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a loader with what only this tree has: a source that is already there, settings that are already
 * read. */
#ifndef STK_LOADER_LOADER_OPEN_H
#define STK_LOADER_LOADER_OPEN_H

#include "augment/settings.h"
#include "loader/file_observer.h"
#include "source/source.h"
#include "stoker/loader.h"

struct stk__mask_survey;
struct stk__mask_decision;

/* Masks are looked at before anything is loaded (mask_survey.h), and what the settings leave open is decided
 * by them (mask_decision.h). */
typedef struct stk__mask_look {
    int64_t class_count;           /* model.num_classes; 0: not given */
    int64_t ignore_index;          /* loss.ignore_index; negative: none */
    struct stk__mask_survey *keep; /* gets what was found; NULL: nobody asks */
    bool verify; /* of a part that follows another's decisions: ids must be below data.num_classes, else it
                    is refused now and not after an epoch */
} stk__mask_look;

typedef struct stk__loader_setup {
    const stk_loader_options *options;
    const stk__augment_settings *augment; /* NULL: as options->augment says */
    const stk__mask_look *look;           /* NULL: only where a setting says auto */
    stk__source *source; /* NULL: opened from options->root; else the caller's, and must outlive the loader */
    const stk__file_observer *observer; /* of every file of the stream; NULL: none. Outlives the loader */
    bool held; /* decides everything, but has no slots, cache and threads before stk__loader_start: for plans
                */
} stk__loader_setup;

stk_status stk__loader_open(stk_loader **loader, const stk__loader_setup *setup, stk_error *error);

/* A loader that was opened held begins to load; options are those it was opened with. Others: does nothing.
 */
stk_status stk__loader_start(stk_loader *loader, const stk_loader_options *options, stk_error *error);

/* What a look at the masks came to; NULL: there was none. Belongs to the loader. */
const struct stk__mask_decision *stk__loader_masks(const stk_loader *loader);
/* STK_ERROR_CONFIG where something is resumed that knows nothing of data.flip_pairs, and classes or points
 * would change sides because of their names: the program that began it kept them as they were. */
stk_status stk__loader_refuse_new_pairs(const stk_loader *loader, const char *what, stk_error *error);
/* The class of a color (0xrrggbb) of RGB masks, 255: ignored; -1: it has none. */
int stk__loader_color_class(const stk_loader *loader, uint32_t color);
/* What the loader reads from: another loader may borrow it while this one is open. */
stk__source *stk__loader_source(const stk_loader *loader);
/* Where a sample stands in the first epoch; false: it is not in this part. Takes time with the number of
 * samples. */
bool stk__loader_find(const stk_loader *loader, uint64_t id, uint64_t *position);
/* Mean and standard deviation of the values (labels) of this part, by the source alone: no file is decoded.
 * Corrupt rows are left out; without a usable one both are NAN. */
void stk__loader_measure_values(const stk_loader *loader, double *mean, double *deviation);

/* The section `data` of configurations: fields of stk_loader_options. */
extern const stk__option_table stk__loader_options;

#endif
