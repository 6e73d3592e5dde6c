/* From the command line to an open loader: what load, stats and bench share. */
#ifndef STK_CLI_OPEN_LOADER_H
#define STK_CLI_OPEN_LOADER_H

#include "augment/settings.h"
#include "cli.h"
#include "stoker/loader.h"

/* The settings these verbs take, for stk__arguments.tables: data, augment, and what of train belongs here. */
enum { STK_CLI_LOADER_TABLES = 3 };
const stk__option_table *const *stk__cli_loader_tables(void);

typedef enum stk__cli_images {
    STK_CLI_AS_ASKED,   /* augmented and stored as the settings say */
    STK_CLI_AS_DECODED, /* nothing of that */
    STK_CLI_AS_SHARES   /* augmented, f32 of 0 to 1 for people to look at: [n h w c], masks u8 */
} stk__cli_images;

/* What a verb wants of its loader. */
typedef struct stk__cli_loading {
    stk_loader_options options; /* the verb's own wishes, then the user's too */
    stk__cli_images images;
} stk__cli_loading;

/* Settings of sections that belong to other verbs are reported, not refused. Call before stk__arguments_read
 * has created the config's values: as stk__arguments.prepare. */
stk_status stk__cli_loader_foreign(stk__config *config, stk_error *error);

/* Opens the loader that the settings describe, on top of what the verb itself wants; tells the effects to the
 * config and makes Ctrl-C interrupt it. */
stk_status stk__cli_loader_open(stk__arguments *arguments, stk__cli_loading *loading, stk_loader **loader,
                                stk_error *error);
/* The parts of it, for verbs that open more than one loader. The reports' switch says where to augment, and
 * that it is done at all; the loader has the last word on what is in effect. */
stk_status stk__cli_obey_switch(stk__config *config, int use_gpu_augmentation, stk__augment_settings *augment,
                                stk_error *error);
stk_status stk__cli_tell_loading(stk__config *config, const stk_loader *loader,
                                 const stk_loader_options *options, const stk__augment_settings *augment,
                                 stk_error *error);
/* Leaves the program at once if threads had to be given up. */
void stk__cli_loader_close(stk_loader **loader, int status);

/* The rows of the effects that people should know: those that differ from what was asked for, or were left
 * open. */
void stk__cli_print_effects(const stk__config *config);
void stk__cli_print_all_effects(const stk__config *config); /* with -vv only: every row, and its origin */
json_t *
stk__cli_damages_json(const stk_loader_stats *stats); /* {"truncated": 3, …}: the classes that came up */
void stk__cli_print_dataset(const stk_loader_info *info, const stk_loader_options *options);

#endif
