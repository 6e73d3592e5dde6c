/* SPDX-License-Identifier: Apache-2.0 */
/* Lines are written as bad samples come up, by the thread that takes the batch they stand in. A line that
 * cannot be written does not end the run; close reports it. */
#include "session/ledger_file.h"

#include "core/error.h"
#include "core/json_text.h"

#include <errno.h>

static void write_line(stk__ledger_file *ledger, const stk_ledger_entry *entry)
{
    if (!ledger->file) ledger->file = fopen(ledger->path, "ae");
    if (!ledger->file) {
        ledger->failed = true; /* reported by close */
        return;
    }
    setvbuf(ledger->file, NULL, _IOLBF, 0); /* lines are rare, and must be there whatever happens next */
    json_t *line =
        json_pack("{s:I, s:I, s:I, s:s, s:s, s:o, s:o}", "epoch", (json_int_t)entry->epoch, "position",
                  (json_int_t)entry->position, "sample_id", (json_int_t)entry->sample_id, "class",
                  stk_damage_name(entry->damage), "action", entry->action, "path",
                  stk__json_string(entry->path), "detail", stk__json_string(entry->detail));
    if (line && json_dumpf(line, ledger->file, JSON_COMPACT) == 0) fputc('\n', ledger->file);
    json_decref(line);
}

static void note_sample(void *context, const stk_ledger_entry *entry)
{
    stk__ledger_file *ledger = context;
    if (ledger->path) write_line(ledger, entry);
    if (ledger->tell) ledger->tell(ledger->context, entry);
}

stk_status stk__ledger_file_open(stk__ledger_file *ledger, stk_loader *loader, bool goes_on, stk_error *error)
{
    stk_loader_set_ledger(loader, note_sample, ledger);
    if (!ledger->path || ledger->late) return STK_OK;
    ledger->file = fopen(ledger->path, goes_on ? "ae" : "we");
    if (!ledger->file) return stk__fail_errno(error, errno, "cannot write the ledger '%s'", ledger->path);
    return STK_OK;
}

bool stk__ledger_file_close(stk__ledger_file *ledger)
{
    if (!ledger->file) return !ledger->failed;
    bool whole = !ledger->failed && !ferror(ledger->file);
    if (fclose(ledger->file) != 0) whole = false;
    ledger->file = NULL;
    return whole;
}
