/* SPDX-License-Identifier: Apache-2.0 */
/* A loader on a damaged data set, and everything that has come out of it. Every batch is checked when it
 * comes: size, position, kinds of tensors, good samples always the same, skipped places empty. */
#ifndef DAMAGE_RUN_H
#define DAMAGE_RUN_H

#include "loader/damage_operators.h"

#include "core/hash.h"
#include "source/source.h"
#include "stoker/loader.h"

#include <limits.h>

enum { DAMAGE_BATCH = 4, DAMAGE_EPOCHS = 2, DAMAGE_MOST_LINES = 64 };

typedef struct ledger_line {
    stk_ledger_entry entry; /* its texts are the following */
    char path[512], detail[384], action[16];
} ledger_line;

typedef struct damage_run {
    const damage_operator *one;
    const char *root;
    stk_bad_sample policy;
    int64_t workers;
    char folder[PATH_MAX];
    stk__source *source; /* only when something vanishes behind its back */
    stk_loader *loader;
    ledger_line lines[DAMAGE_MOST_LINES];
    int line_count;
    int times[DAMAGE_EPOCHS][DAMAGE_SAMPLES]; /* how often each sample came with weight 1 */
    stk__digest contents[DAMAGE_SAMPLES];     /* of each good sample … */
    bool known[DAMAGE_SAMPLES];               /* … that has been seen */
    uint64_t bad_position[DAMAGE_EPOCHS];     /* where a weight was 0 */
    int bad_count[DAMAGE_EPOCHS];
    stk__hash *hash;
    stk__digest digest; /* of the stream */
} damage_run;

/* Plants the damage and opens the loader; close takes both away. */
void damage_run_open(damage_run *run);
void damage_run_close(damage_run *run);

/* Reads one epoch until its end or a failure; *position is where it stopped. */
stk_status damage_run_epoch(damage_run *run, uint64_t epoch, uint64_t *position, stk_error *error);
void damage_run_all(damage_run *run); /* all epochs, to their ends */

/* Root may read everything: its rights are laid down for a while. False when that cannot be done here. */
bool damage_become_nobody(void);
void damage_become_root(void); /* again, if it was */

#endif
