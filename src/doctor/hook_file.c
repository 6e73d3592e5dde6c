/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the records of a command's Python processes, which may still be written: a copy of each file is
 * taken, then its header once more, so that step records that were overwritten meanwhile are known. Nothing
 * in a file is trusted; what is not plausible is left out. No threads of its own. */
#include "doctor/hook_file.h"

#include "core/memory.h"
#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All files of a folder being read. */
typedef struct reading {
    stk__evidence *evidence;
    stk__hook_file *file, *best; /* the one at hand; of the trainer with the most steps so far */
    uint64_t best_steps_after;   /* STEPS after its copy was taken */
    bool any, any_torch, found;
    stk__buffer workers; /* uint64_t pairs: seed, nanoseconds in the dataset */
} reading;

static bool read_bytes(int file, void *to, size_t at, size_t size_bytes)
{
    size_t got_bytes = 0;
    while (got_bytes < size_bytes) {
        const ssize_t got =
            pread(file, (char *)to + got_bytes, size_bytes - got_bytes, (off_t)(at + got_bytes));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        got_bytes += (size_t)got;
    }
    return true;
}

/* A copy of a record; false for what is none. */
static bool copy_file(int folder, const char *name, stk__hook_file *into, uint64_t *steps_after)
{
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    struct stat facts;
    uint64_t after[STK_HOOK_WORDS];
    bool whole = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == sizeof *into &&
                 read_bytes(file, into, 0, offsetof(stk__hook_file, steps)) &&
                 into->words[STK_HOOK_MAGIC] == STK_HOOK_SIGNATURE &&
                 into->words[STK_HOOK_VERSION] == STK_HOOK_FORMAT;
    if (whole && into->words[STK_HOOK_STEPS]) /* workers have none, and may be many */
        whole = read_bytes(file, into->steps, offsetof(stk__hook_file, steps), sizeof into->steps);
    whole = whole && read_bytes(file, after, 0, sizeof after);
    close(file);
    if (!whole) return false;
    *steps_after = after[STK_HOOK_STEPS];
    return true;
}

static uint32_t small(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Records in time order; those that were being written, or are not plausible, are left out. */
static stk_status take_steps(const stk__hook_file *file, uint64_t steps_after, stk__evidence *evidence,
                             stk_error *error)
{
    const uint64_t total = file->words[STK_HOOK_STEPS];
    evidence->steps_total = total;
    if (!total) return STK_OK;
    evidence->steps = stk__alloc(STK_HOOK_RING * sizeof *evidence->steps);
    if (!evidence->steps)
        return stk__fail_memory(error, STK_HOOK_RING * sizeof *evidence->steps, "records of steps");
    uint64_t last_ns = 0;
    for (uint64_t back = total < STK_HOOK_RING ? total : STK_HOOK_RING; back; back--) {
        const uint64_t number = total - back; /* from 0 */
        const stk__hook_step *from = &file->steps[number % STK_HOOK_RING];
        const bool overwritten = steps_after >= STK_HOOK_RING && number <= steps_after - STK_HOOK_RING;
        if (from->number != number + 1 || overwritten || from->begin_ns < last_ns ||
            from->end_ns < from->begin_ns)
            continue;
        stk__step_record *to = &evidence->steps[evidence->step_count++];
        *to = (stk__step_record){from->begin_ns,       from->end_ns,         {0},
                                 small(from->batches), small(from->samples), from->gpu_ns};
        for (int cause = 0; cause < STK_CAUSE_OTHER; cause++) {
            const uint64_t wall_ns = from->end_ns - from->begin_ns;
            to->cause_ns[cause] = from->cause_ns[cause] < wall_ns ? from->cause_ns[cause] : wall_ns;
        }
        last_ns = from->end_ns;
    }
    return STK_OK;
}

/* The trainer with more steps; of two with as many the one that began first. */
static bool is_better(const stk__hook_file *one, const stk__hook_file *than)
{
    const uint64_t steps = one->words[STK_HOOK_STEPS], others = than->words[STK_HOOK_STEPS];
    return steps > others ||
           (steps == others && one->words[STK_HOOK_BEGIN_NS] < than->words[STK_HOOK_BEGIN_NS]);
}

static stk_status take_file(reading *all, uint64_t steps_after, stk_error *error)
{
    const uint64_t *words = all->file->words;
    all->any = true;
    all->any_torch |= words[STK_HOOK_TORCH] != 0;
    if (words[STK_HOOK_WORKER]) {
        const uint64_t pair[2] = {words[STK_HOOK_WORKER_SEED], words[STK_HOOK_FETCH_NS]};
        STK__TRY(stk__buffer_append(&all->workers, pair, sizeof pair, error));
        return stk__hook_facts_read(all->file, false, all->evidence, error);
    }
    if (!words[STK_HOOK_STEPS] && !words[STK_HOOK_BATCHES]) {
        /* launchers and helpers; their note says why a trainer may be missing */
        return stk__hook_facts_read(all->file, false, all->evidence, error);
    }
    all->evidence->trainers++;
    if (all->found && !is_better(all->file, all->best)) return STK_OK;
    stk__hook_file *const swap = all->best;
    all->best = all->file;
    all->file = swap;
    all->best_steps_after = steps_after;
    all->found = true;
    return STK_OK;
}

/* Workers of a loader's newest iterator: the busiest one's time / their mean. */
static double max_share(const stk__buffer *workers, uint64_t seed)
{
    double sum = 0, most = 0;
    int count = 0;
    for (size_t at = 0; at < workers->size_bytes; at += 2 * sizeof(uint64_t)) {
        uint64_t pair[2];
        memcpy(pair, workers->data + at, sizeof pair);
        if (pair[0] != seed) continue;
        sum += (double)pair[1];
        most = fmax(most, (double)pair[1]);
        count++;
    }
    return count && sum > 0 ? most * count / sum : NAN;
}

static stk_status take_best(const reading *all, stk_error *error)
{
    stk__evidence *const evidence = all->evidence;
    STK__TRY(stk__hook_facts_read(all->best, true, evidence, error));
    for (int64_t i = 0; i < evidence->loader_count; i++) {
        stk__loader_evidence *const loader = &evidence->loaders[i];
        evidence->torch.evaluations += loader->training == STK_NO;
        if (loader->num_workers > 0) loader->worker_max_share = max_share(&all->workers, loader->worker_seed);
    }
    return take_steps(all->best, all->best_steps_after, evidence, error);
}

static stk_status take_folder(DIR *folder, reading *all, stk_error *error)
{
    for (const struct dirent *entry; (entry = readdir(folder));) {
        uint64_t steps_after;
        if (!stk__text_ends_with(entry->d_name, strlen(entry->d_name), STK_HOOK_SUFFIX)) continue;
        if (copy_file(dirfd(folder), entry->d_name, all->file, &steps_after))
            STK__TRY(take_file(all, steps_after, error));
    }
    stk__evidence *const evidence = all->evidence;
    if (all->found) STK__TRY(take_best(all, error));
    evidence->hook_started = all->any ? STK_YES : STK_NO;
    if (evidence->hook_note[0]) return STK_OK;
    const char *note = "";
    if (!all->any)
        note = "no Python process of the command read PYTHONPATH (python -I, -E or -S?)";
    else if (!all->any_torch)
        note = "no process of the command imported torch";
    snprintf(evidence->hook_note, sizeof evidence->hook_note, "%s", note);
    return STK_OK;
}

stk_status stk__hook_file_read(const char *folder, stk__evidence *evidence, stk_error *error)
{
    DIR *const open = opendir(folder);
    if (!open) return stk__fail_errno(error, errno, "cannot read the records of the hook in '%s'", folder);
    reading all = {
        .evidence = evidence, .file = stk__alloc(sizeof *all.file), .best = stk__alloc(sizeof *all.best)};
    evidence->trainers = 0;
    const stk_status status = all.file && all.best
                                  ? take_folder(open, &all, error)
                                  : stk__fail_memory(error, 2 * sizeof *all.file, "records of the hook");
    stk__free(all.file);
    stk__free(all.best);
    stk__buffer_fini(&all.workers);
    closedir(open);
    return status;
}
