/* SPDX-License-Identifier: Apache-2.0 */
/* Bad samples of one batch, in the order of its places. Grows only when there are bad samples. */
#ifndef STK_LOADER_LEDGER_H
#define STK_LOADER_LEDGER_H

#include "core/memory.h"

typedef struct stk__bad {
    uint64_t place;
    uint32_t attempt; /* 0: the sample itself, then its substitutes */
    stk_damage damage;
    uint64_t sample_id;
    char path[512];
    char detail[384];
} stk__bad;

typedef struct stk__ledger {
    stk__buffer entries; /* of stk__bad */
} stk__ledger;

static inline size_t stk__ledger_count(const stk__ledger *ledger)
{
    return ledger->entries.size_bytes / sizeof(stk__bad);
}

stk_status stk__ledger_add(stk__ledger *ledger, const stk__bad *bad, stk_error *error);
/* Sorted by place and attempt; valid until the next add. */
const stk__bad *stk__ledger_sorted(stk__ledger *ledger);
void stk__ledger_clear(stk__ledger *ledger);
void stk__ledger_fini(stk__ledger *ledger);

#endif
