/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker pack` from end to end: check everything that can be refused, then for each part (train, val)
 * take packed samples from the crew in order, append them to the open shard, and after each complete shard
 * commit pack.json. A stop or a crash loses the open shard only. Runs in the caller's thread; the crew has
 * its own. */
#include "pack/pack.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/durable.h"
#include "core/folder_lock.h"
#include "pack/pack_colors.h"
#include "pack/pack_crew.h"
#include "pack/pack_folder.h"
#include "pack/pack_ledger.h"
#include "pack/pack_probe.h"
#include "pack/pack_shard.h"
#include "pack/pack_verify.h"
#include "pack/tar_blocks.h"
#include "source/layout_options.h"

#include <stdio.h>
#include <string.h>

enum { SLACK_BYTES = 4 << 20 }; /* pack.json, folders, the file system's own */

typedef struct job {
    const stk__pack_request *request;
    stk__pack_settings settings; /* defaults filled in */
    stk__pack_report *report;
    uint64_t start_ns;
    int lock;
    stk__source *sources[STK_PACK_PARTS_MOST];
    stk__pack_probe probes[STK_PACK_PARTS_MOST];
    stk__mask_palette *palette; /* data.mask_colors; NULL: none */
    stk__pack_state state;      /* as in pack.json */
    uint64_t left_bytes;        /* what is still to be written, if it does not grow */

    /* The part that is being packed: */
    int part;           /* its number */
    stk__pack_part now; /* like state.parts[part], but with the open shard's samples */
    char folder[PATH_MAX];
    stk__pack_shard shard;
    stk__pack_ledger ledger;
    stk__pack_crew *crew;
} job;

/* --- the data set -------------------------------------------------------------------------------------- */

static stk_status refuse_series(const job *self, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' is a series: it has no images to pack", self->request->root);
    stk__error_hint(error, "series are read into memory as a whole; there is nothing to gain for them");
    return STK_ERROR_DATA;
}

static stk_status refuse_sets(const job *self, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "'%s' has several labels per image: shards hold one",
              self->request->root);
    stk__error_hint(error, "train from the list; pack.columns='label=none' packs the images alone");
    return STK_ERROR_CONFIG;
}

static stk_status open_part(job *self, int index, const char *name, stk_error *error)
{
    const stk__pack_settings *settings = &self->settings;
    const stk__source_options options = {.root = self->request->root,
                                         .part = name,
                                         .limit_bytes = settings->limit_bytes,
                                         STK_LAYOUT_FIELDS(settings)};
    STK__TRY(stk__source_open(&self->sources[index], &options, error));
    const stk__source *source = self->sources[index];
    if (!source->info.images) return refuse_series(self, error);
    STK__TRY(stk__pack_colors_check(self->palette, &source->info, error));
    if (source->info.label == STK_LABEL_SET) return refuse_sets(self, error);
    STK__TRY(stk__pack_probe_look(source, &self->probes[index], error));
    self->state.parts[index] = (stk__pack_part){.name = name,
                                                .fingerprint = source->info.fingerprint,
                                                .looks = self->probes[index].looks,
                                                .count = source->info.count};
    self->state.part_count = index + 1;
    return STK_OK;
}

static stk_status open_parts(job *self, stk_error *error)
{
    static const char *const names[STK_PACK_PARTS_MOST] = {"train", "val", "test"};
    const stk__pack_settings *settings = &self->settings;
    const stk__source_options options = {.root = self->request->root, STK_LAYOUT_FIELDS(settings)};
    const uint32_t parts = stk__source_find_parts(&options);
    if (!parts) return open_part(self, 0, NULL, error);
    for (int i = 0, index = 0; i < STK_PACK_PARTS_MOST; i++)
        if (parts & 1U << i) STK__TRY(open_part(self, index++, names[i], error));
    return STK_OK;
}

/* As much of the parts as pack.json tells of: is it what was packed? */
static stk_status go_on(job *self, const stk__pack_state *found, stk_error *error)
{
    for (int i = 0; i < self->state.part_count && i < found->part_count; i++) {
        stk__pack_part *part = &self->state.parts[i];
        const uint64_t end = found->parts[i].next < part->count ? found->parts[i].next : part->count;
        part->facts = stk__pack_probe_facts(self->sources[i], 0, end, (stk__digest){0});
        part->source_bytes =
            stk__pack_probe_sum(self->sources[i], &self->probes[i], end, self->request->stop);
    }
    return stk__pack_state_adopt(&self->state, found, self->request->folder, error);
}

/* --- how far it is ------------------------------------------------------------------------------------- */

static void add_part(stk__pack_report *report, const stk__pack_part *part)
{
    report->packed += part->packed;
    report->left_out += part->left_out;
    report->kept += part->kept;
    report->shards += part->shards;
    report->bytes += part->bytes;
    report->source_bytes += part->source_bytes;
    report->stored_bytes += part->stored_bytes;
}

static void tell(job *self)
{
    stk__pack_report *report = self->report;
    const stk__pack_report before = *report;
    *report = (stk__pack_report){
        .count = before.count, .found = before.found, .workers = before.workers, .hanging = before.hanging};
    for (int i = 0; i < self->state.part_count; i++)
        add_part(report, i == self->part ? &self->now : &self->state.parts[i]);
    if (self->shard.unfinished) report->bytes += self->shard.bytes;
    report->seconds = (double)(stk__clock_ns() - self->start_ns) * 1e-9;
}

static void show(void *context)
{
    job *self = context;
    tell(self);
    if (self->request->show) self->request->show(self->request->context, self->report);
}

/* --- shards -------------------------------------------------------------------------------------------- */

/* All samples up to now.next are on the disk, or in the ledger. */
static stk_status commit(job *self, stk_error *error)
{
    STK__TRY(stk__pack_ledger_sync(&self->ledger, error));
    const uint64_t before = self->state.parts[self->part].next;
    if (before == 0 || stk__pack_digest_known(self->now.facts))
        self->now.facts =
            stk__pack_probe_facts(self->sources[self->part], before, self->now.next, self->now.facts);
    self->now.ledger_bytes = self->ledger.bytes;
    self->state.parts[self->part] = self->now;
    return stk__pack_state_write(self->request->folder, &self->state, error);
}

static stk_status finish_shard(job *self, stk_error *error)
{
    stk__pack_part *now = &self->now;
    STK__TRY(stk__pack_shard_finish(&self->shard, error));
    if (now->shards == 0 || stk__pack_digest_known(now->stamps))
        now->stamps = stk__pack_stamps_add(now->stamps, self->shard.bytes, self->shard.time_s);
    now->shards++;
    now->bytes += self->shard.bytes;
    return commit(self, error);
}

static bool has_room(const job *self, const stk__packed *packed)
{
    const uint64_t bytes = self->shard.bytes + packed->tar.size_bytes + STK_TAR_BLOCKS_END_BYTES;
    return bytes <= self->settings.shard_bytes;
}

/* No further sample may come. */
static bool is_full(const job *self)
{
    const uint64_t most = (uint64_t)self->settings.shard_samples;
    return self->shard.unfinished && most && self->shard.samples >= most;
}

static stk_status begin_shard(job *self, stk_error *error)
{
    const uint64_t most = self->settings.shard_bytes;
    const uint64_t bytes = self->left_bytes < most ? self->left_bytes : most;
    const stk__pack_need need = {.least_bytes = bytes, .most_bytes = bytes};
    STK__TRY(stk__pack_folder_room(self->folder, need, "the next shard", error));
    return stk__pack_shard_open(&self->shard, self->now.shards, error);
}

static stk_status write_sample(job *self, const stk__packed *packed, stk_error *error)
{
    const uint64_t size = packed->tar.size_bytes;
    if (self->shard.unfinished && !has_room(self, packed)) STK__TRY(finish_shard(self, error));
    if (!self->shard.unfinished) STK__TRY(begin_shard(self, error));
    STK__TRY(stk__pack_shard_append(&self->shard, &packed->tar, error));
    self->left_bytes -= size < self->left_bytes ? size : self->left_bytes;
    self->now.packed++;
    self->now.kept += packed->kept;
    self->now.source_bytes += packed->source_bytes;
    self->now.stored_bytes += packed->stored_bytes;
    return STK_OK;
}

static stk_status leave_out(job *self, const stk__pack_outcome *bad, stk_error *error)
{
    if (self->settings.on_bad_sample == STK_PACK_SKIP) {
        self->now.left_out++;
        return stk__pack_ledger_add(&self->ledger, bad->id, &bad->error, error);
    }
    if (!error) return STK_ERROR_SAMPLE;
    *error = bad->error;
    stk__pack_colors_hint(error);
    char fix[sizeof error->hint];
    snprintf(fix, sizeof fix, "%s", error->hint);
    stk__error_hint(error,
                    "%.150s%spack.on_bad_sample=skip leaves such samples out; 'stoker stats' lists them all",
                    fix, fix[0] ? "; " : "");
    return STK_ERROR_SAMPLE;
}

static stk_status take_sample(job *self, stk_error *error)
{
    const stk__pack_outcome *outcome;
    STK__TRY(stk__pack_crew_take(self->crew, &outcome, error));
    if (outcome->status == STK_OK)
        STK__TRY(write_sample(self, &outcome->packed, error));
    else if (outcome->status == STK_ERROR_SAMPLE)
        STK__TRY(leave_out(self, outcome, error));
    else {
        if (error) *error = outcome->error;
        return outcome->status;
    }
    self->now.next = outcome->id + 1;
    if (is_full(self)) STK__TRY(finish_shard(self, error));
    show(self);
    return STK_OK;
}

/* --- parts --------------------------------------------------------------------------------------------- */

static stk_status refuse_all(const job *self, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "nothing was packed: every sample is bad (%llu)",
              (unsigned long long)self->now.count);
    stk__error_place(error, "%s", self->ledger.path);
    return STK_ERROR_DATA;
}

static stk_status run_samples(job *self, stk_error *error)
{
    stk_status status;
    while ((status = take_sample(self, error)) == STK_OK)
        continue;
    if (status != STK_END) return status;
    if (self->shard.unfinished) return finish_shard(self, error);
    return self->now.packed ? commit(self, error) : refuse_all(self, error);
}

static stk_status start_crew(job *self, stk_error *error)
{
    const stk__pack_settings *s = &self->settings;
    const stk__pack_crew_options options = {.source = self->sources[self->part],
                                            .limits = {.bytes = s->limit_bytes,
                                                       .pixels = s->limit_pixels,
                                                       .scans = s->limit_scans,
                                                       .warnings = s->limit_warnings,
                                                       .time_s = s->limit_time_s},
                                            .colors = self->palette ? &self->palette->colors : NULL,
                                            .first = self->now.next,
                                            .end = self->now.count,
                                            .workers = self->report->workers,
                                            .timeout_s = s->timeout_s,
                                            .stop = self->request->stop,
                                            .idle = show,
                                            .context = self};
    return stk__pack_crew_start(&self->crew, &options, error);
}

static stk_status prepare_part(job *self, stk_error *error)
{
    const stk__pack_part *part = &self->now;
    const stk__pack_verify_options verify = {
        .folder = self->folder, .part = part, .stop = self->request->stop};
    STK__TRY(stk__durable_folder(self->folder, error));
    STK__TRY(stk__pack_verify(&verify, error));
    if (part->next == part->count) return STK_OK; /* whatever else is there is not ours */
    STK__TRY(stk__pack_shard_tidy(self->folder, part->shards, error));
    STK__TRY(stk__pack_ledger_open(&self->ledger, self->folder, part->ledger_bytes, error));
    if (part->shards > 0) return STK_OK;
    const stk__source_info info = stk__pack_colors_names(self->palette, &self->sources[self->part]->info);
    STK__TRY(stk__pack_folder_classes(self->folder, &info, error));
    return stk__pack_folder_points(self->folder, &info, error);
}

/* Does nothing for a part that is whole but look whether it still is. */
static stk_status pack_part(job *self, int index, stk_error *error)
{
    self->part = index;
    self->now = self->state.parts[index];
    self->ledger.file = -1;
    stk__pack_shard_init(&self->shard, self->folder);
    stk_status status = prepare_part(self, error);
    if (status == STK_OK && self->now.next < self->now.count) {
        status = start_crew(self, error);
        if (status == STK_OK) status = run_samples(self, error);
        self->report->hanging += stk__pack_crew_stop(&self->crew);
    }
    stk__pack_shard_abandon(&self->shard);
    stk__pack_ledger_close(&self->ledger);
    self->now = self->state.parts[index]; /* what is not in a whole shard is lost */
    return status;
}

/* --- all ----------------------------------------------------------------------------------------------- */

static stk_status find_folder(job *self, int index, stk_error *error)
{
    const char *folder = self->request->folder, *part = self->state.parts[index].name;
    if (part) return stk__durable_join(self->folder, sizeof self->folder, folder, part, error);
    snprintf(self->folder, sizeof self->folder, "%s", folder); /* it fits: the folder has been made */
    return STK_OK;
}

static stk_status check_room(job *self, stk_error *error)
{
    stk__pack_need all = {0};
    for (int i = 0; i < self->state.part_count; i++) {
        const stk__pack_need need = stk__pack_probe_need(self->sources[i], &self->probes[i],
                                                         self->state.parts[i].next, self->request->stop);
        all.least_bytes += need.least_bytes;
        all.most_bytes += need.most_bytes;
    }
    self->left_bytes = all.least_bytes;
    if (!all.most_bytes) return STK_OK;
    all.most_bytes += SLACK_BYTES;
    return stk__pack_folder_room(self->request->folder, all, "the pack", error);
}

static int choose_workers(const stk__pack_settings *settings)
{
    if (settings->num_workers) return settings->num_workers < 0 ? 0 : (int)settings->num_workers;
    const int cpus = stk__cpu_budget_read(NULL).cpus;
    return cpus < STK_PACK_WORKERS_MOST ? cpus : STK_PACK_WORKERS_MOST;
}

/* Settings, data set and folder; everything that can be refused before anything is written. */
static stk_status prepare(job *self, stk_error *error)
{
    const stk__pack_request *request = self->request;
    stk__pack_settings *settings = &self->settings;
    bool found;
    STK__TRY(stk__options_check(&stk__pack_options, settings, error));
    STK__TRY(stk__options_fill(&stk__pack_options, settings, error));
    self->report->workers = choose_workers(settings);
    STK__TRY(stk__pack_folder_check(request->root, request->folder, error));
    STK__TRY(stk__pack_colors_read(&self->palette, settings->mask_colors, error));
    STK__TRY(open_parts(self, error));
    self->state.mask_colors = stk__pack_colors_digest(self->palette);
    self->state.shard_bytes = settings->shard_bytes;
    self->state.shard_samples = (uint64_t)settings->shard_samples;
    stk__pack_state before;
    STK__TRY(stk__pack_folder_open(request->folder, &self->lock, &before, &found, error));
    found = found && !stk__pack_state_restarts(&self->state, &before);
    if (found) STK__TRY(go_on(self, &before, error));
    if (!self->state.complete) STK__TRY(stk__pack_shard_tidy(request->folder, STK_PACK_SHARDS_MOST, error));
    STK__TRY(check_room(self, error));
    return found ? STK_OK : stk__pack_state_write(request->folder, &self->state, error);
}

static stk_status pack_all(job *self, stk_error *error)
{
    STK__TRY(prepare(self, error));
    for (int i = 0; i < self->state.part_count; i++) {
        self->report->count += self->state.parts[i].count;
        self->report->found += self->state.parts[i].next;
    }
    for (int i = 0; i < self->state.part_count; i++) {
        STK__TRY(find_folder(self, i, error));
        STK__TRY(pack_part(self, i, error));
    }
    if (self->state.complete) return STK_OK;
    self->state.complete = true;
    return stk__pack_state_write(self->request->folder, &self->state, error);
}

static void explain_stop(const job *self, stk_error *error)
{
    const stk__pack_report *report = self->report;
    stk__fail(error, STK_ERROR_INTERRUPTED, "stopped with %llu of %llu sample%s in %llu complete shard%s",
              (unsigned long long)(report->packed + report->left_out), (unsigned long long)report->count,
              stk__plural(report->count), (unsigned long long)report->shards, stk__plural(report->shards));
    stk__error_hint(error, "the same command resumes after the last complete shard");
}

stk_status stk__pack_run(const stk__pack_request *request, stk__pack_report *report, stk_error *error)
{
    job self = {.request = request,
                .settings = request->settings,
                .report = report,
                .start_ns = stk__clock_ns(),
                .lock = -1,
                .part = -1};
    *report = (stk__pack_report){0};
    const stk_status status = pack_all(&self, error);
    tell(&self);
    if (status == STK_ERROR_INTERRUPTED) explain_stop(&self, error);
    stk__folder_lock_release(&self.lock);
    for (int i = 0; i < STK_PACK_PARTS_MOST && !report->hanging; i++)
        stk__source_close(&self.sources[i]);
    if (!report->hanging) stk__free(self.palette);
    return status;
}
