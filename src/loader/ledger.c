/* SPDX-License-Identifier: Apache-2.0 */
/* The bad samples of one batch: workers add under the loader's lock in any order, the consumer gets them
 * sorted by place and attempt, so that reports do not depend on timing. */
#include "loader/ledger.h"

#include <stdlib.h>

stk_status stk__ledger_add(stk__ledger *ledger, const stk__bad *bad, stk_error *error)
{
    return stk__buffer_append(&ledger->entries, bad, sizeof *bad, error);
}

static int compare_bad(const void *left, const void *right)
{
    const stk__bad *a = left, *b = right;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    return (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

const stk__bad *stk__ledger_sorted(stk__ledger *ledger)
{
    const size_t count = stk__ledger_count(ledger);
    if (count > 1) qsort(ledger->entries.data, count, sizeof(stk__bad), compare_bad);
    return (const stk__bad *)(const void *)ledger->entries.data;
}

void stk__ledger_clear(stk__ledger *ledger)
{
    ledger->entries.size_bytes = 0;
}

void stk__ledger_fini(stk__ledger *ledger)
{
    stk__buffer_fini(&ledger->entries);
}
