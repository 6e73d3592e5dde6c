/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.jsonl: the samples that were left out, a line of JSON each. What was added after the last whole
 * shard is cut off at the next start. */
#ifndef STK_PACK_PACK_LEDGER_H
#define STK_PACK_PACK_LEDGER_H

#include "core/memory.h"

#include <limits.h>

#define STK_PACK_LEDGER "ledger.jsonl"

typedef struct stk__pack_ledger {
    char path[PATH_MAX];
    int file; /* -1: none yet, it is made with the first line */
    uint64_t bytes;
    stk__buffer line;
} stk__pack_ledger;

/* bytes: how long it was after the last whole shard. STK_ERROR_STATE when it is shorter than that. */
stk_status stk__pack_ledger_open(stk__pack_ledger *ledger, const char *folder, uint64_t bytes,
                                 stk_error *error);

/* bad says what is wrong with the sample: damage, message, place. */
stk_status stk__pack_ledger_add(stk__pack_ledger *ledger, uint64_t id, const stk_error *bad,
                                stk_error *error);
stk_status stk__pack_ledger_sync(stk__pack_ledger *ledger, stk_error *error);
void stk__pack_ledger_close(stk__pack_ledger *ledger); /* accepts one that failed to open */

#endif
