/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs with a loader share: Ctrl-C, and what is printed of it. */
#ifndef STK_CLI_VERB_LOADER_H
#define STK_CLI_VERB_LOADER_H

#include "cli.h"

#include "session/ledger_file.h"
#include "session/loader_settings.h"
#include "session/session.h"

/* Ctrl-C interrupts this loader from now on, until it is closed here. */
void stk__cli_loader_target(stk_loader *loader);
/* stk__session_loader_open, and Ctrl-C interrupts the loader. */
stk_status stk__cli_loader_open(stk__arguments *arguments, stk__session_loading *loading, stk_loader **loader,
                                stk_error *error);
/* Both leave the program at once if threads had to be given up. */
void stk__cli_loader_close(stk_loader **loader, int status);
void stk__cli_session_close(stk__session *session, int status);

/* A bad sample as a line on the screen, for stk__ledger_file.tell; progress: moved out of the way, or NULL.
 */
void stk__cli_tell_sample(void *progress, const stk_ledger_entry *entry);
/* False: not everything could be written, and that has been printed. */
bool stk__cli_ledger_close(stk__ledger_file *ledger);

/* The rows of the effects that people should know: those that differ from what was asked for, or were left
 * open. */
void stk__cli_print_effects(const stk__config *config);
void stk__cli_print_all_effects(const stk__config *config); /* with -vv only: every row, and its origin */
json_t *
stk__cli_damages_json(const stk_loader_stats *stats); /* {"truncated": 3, …}: the classes that came up */
void stk__cli_print_dataset(const stk_loader_info *info, const stk_loader_options *options);

#endif
