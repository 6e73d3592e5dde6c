/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to an open loader alone, without a network. */
#ifndef STK_SESSION_LOADER_SETTINGS_H
#define STK_SESSION_LOADER_SETTINGS_H

#include "augment/settings.h"
#include "core/config.h"
#include "loader/file_observer.h"
#include "stoker/loader.h"

/* The settings of a loader alone, for stk__config_create: data, augment, and what of train belongs here. */
enum { STK_SESSION_LOADER_TABLES = 3 };
const stk__option_table *const *stk__session_loader_tables(void);

typedef enum stk__session_images {
    STK_SESSION_AS_ASKED,   /* augmented and stored as the settings say */
    STK_SESSION_AS_DECODED, /* nothing of that */
    STK_SESSION_AS_SHARES   /* augmented, f32 of 0 to 1 for people to look at: [n h w c], masks u8 */
} stk__session_images;

/* What the caller wants of its loader. */
typedef struct stk__session_loading {
    stk_loader_options options; /* the caller's own wishes, then the user's too */
    stk__session_images images;
    const stk__file_observer *observer; /* of every file that is read; NULL: none */
    bool single;                        /* in sequential order, one sample a batch: for who seeks samples */
} stk__session_loading;

/* Settings of sections that belong to training are reported, not refused. Before anything is read into the
 * config. */
stk_status stk__session_loader_foreign(stk__config *config, stk_error *error);

/* Opens the loader that the settings describe, on top of what the caller itself wants; tells the effects to
 * the config. After a failure *loader may be open: it is the caller's to close. */
stk_status stk__session_loader_open(stk__config *config, stk__session_loading *loading, stk_loader **loader,
                                    stk_error *error);

/* The parts of it, for a session, which opens two loaders. train.use_gpu_augmentation says where to augment,
 * and that it is done at all; the loader has the last word on what is in effect. */
stk_status stk__session_obey_switch(stk__config *config, int use_gpu_augmentation,
                                    stk__augment_settings *augment, stk_error *error);
stk_status stk__session_tell_loading(stk__config *config, const stk_loader *loader,
                                     const stk_loader_options *options, const stk__augment_settings *augment,
                                     stk_error *error);

#endif
