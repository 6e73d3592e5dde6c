/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.jsonl of a pack: samples that were left out, one JSON line each, appended in the order of ids.
 * Its length at the last complete shard is in pack.json; what is behind it is cut off when packing
 * resumes. */
#include "pack/pack_ledger.h"

#include "core/durable.h"
#include "core/json_text.h"
#include "pack/pack_shard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static stk_status refuse_short(const stk__pack_ledger *ledger, stk_error *error)
{
    stk__fail(error, STK_ERROR_STATE, "'%s' is shorter than it was when the last shard was written",
              ledger->path);
    stk__error_hint(error, "choose another folder, or remove this one to pack again");
    return STK_ERROR_STATE;
}

static stk_status open_file(stk__pack_ledger *ledger, stk_error *error)
{
    if (ledger->file < 0)
        ledger->file = open(ledger->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    return ledger->file < 0 ? stk__pack_write_fail(error, errno, ledger->path) : STK_OK;
}

/* One without lines is not there at all, as if nothing had been added. */
static stk_status cut_file(stk__pack_ledger *ledger, stk_error *error)
{
    struct stat facts;
    if (stat(ledger->path, &facts) != 0) {
        if (errno != ENOENT)
            return stk__fail_errno(error, errno, "cannot read the size of '%s'", ledger->path);
        return ledger->bytes ? refuse_short(ledger, error) : STK_OK;
    }
    if ((uint64_t)facts.st_size < ledger->bytes) return refuse_short(ledger, error);
    if ((uint64_t)facts.st_size == ledger->bytes && ledger->bytes) return STK_OK;
    if (!ledger->bytes)
        return unlink(ledger->path) == 0 ? STK_OK : stk__pack_write_fail(error, errno, ledger->path);
    STK__TRY(open_file(ledger, error));
    if (ftruncate(ledger->file, (off_t)ledger->bytes) == 0) return STK_OK;
    return stk__pack_write_fail(error, errno, ledger->path);
}

stk_status stk__pack_ledger_open(stk__pack_ledger *ledger, const char *folder, uint64_t bytes,
                                 stk_error *error)
{
    ledger->file = -1;
    ledger->bytes = bytes;
    STK__TRY(stk__durable_join(ledger->path, sizeof ledger->path, folder, STK_PACK_LEDGER, error));
    return cut_file(ledger, error);
}

static stk_status write_line(stk__pack_ledger *ledger, stk_error *error)
{
    STK__TRY(open_file(ledger, error));
    for (size_t done = 0; done < ledger->line.size_bytes;) {
        const ssize_t put = pwrite(ledger->file, ledger->line.data + done, ledger->line.size_bytes - done,
                                   (off_t)(ledger->bytes + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return stk__pack_write_fail(error, errno, ledger->path);
        done += (size_t)put;
    }
    ledger->bytes += ledger->line.size_bytes;
    return STK_OK;
}

stk_status stk__pack_ledger_add(stk__pack_ledger *ledger, uint64_t id, const stk_error *bad, stk_error *error)
{
    json_t *line = json_pack("{s:I, s:s, s:s, s:o, s:o}", "sample_id", (json_int_t)id, "class",
                             stk_damage_name(bad->damage), "action", "left out", "path",
                             stk__json_string(bad->place), "detail", stk__json_string(bad->message));
    ledger->line.size_bytes = 0;
    STK__TRY(stk__json_text(&ledger->line, line, JSON_COMPACT, error));
    return write_line(ledger, error);
}

stk_status stk__pack_ledger_sync(stk__pack_ledger *ledger, stk_error *error)
{
    if (ledger->file < 0 || fsync(ledger->file) == 0) return STK_OK;
    return stk__pack_write_fail(error, errno, ledger->path);
}

void stk__pack_ledger_close(stk__pack_ledger *ledger)
{
    if (ledger->file >= 0) close(ledger->file);
    ledger->file = -1;
    stk__buffer_fini(&ledger->line);
}
