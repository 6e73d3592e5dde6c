/* From the command line to an open loader: what load, stats and bench share. */
#ifndef STK_CLI_OPEN_LOADER_H
#define STK_CLI_OPEN_LOADER_H

#include "cli.h"
#include "stoker/loader.h"

/* The settings these verbs take, for stk__arguments.tables. */
extern const stk__option_table *const stk__cli_loader_tables[1];

/* Settings of sections that belong to other verbs are reported, not refused. Call before stk__arguments_read
 * has created the config's values: as stk__arguments.prepare. */
stk_status stk__cli_loader_foreign(stk__config *config, stk_error *error);

/* Opens the loader that the settings describe, on top of what the verb itself wants in options; tells the
 * effects to the config and makes Ctrl-C interrupt it. */
stk_status stk__cli_loader_open(stk__arguments *arguments, stk_loader_options *options, stk_loader **loader,
                                stk_error *error);
/* Leaves the program at once if threads had to be given up. */
void stk__cli_loader_close(stk_loader **loader, int status);

/* The rows of the effects that people should know: those that differ from what was asked for, or were left
 * open. */
void stk__cli_print_effects(const stk__config *config);
json_t *
stk__cli_damages_json(const stk_loader_stats *stats); /* {"truncated": 3, …}: the classes that came up */
void stk__cli_print_dataset(const stk_loader_info *info, const char *root);

#endif
