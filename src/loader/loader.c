/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of a loader: open and close, batches out and back, where the stream stands. What moves
 * is in pump.c. Threads: next, seek and set_ledger belong to the consumer, one call at a time; release,
 * interrupt, tell and get_stats come from any thread, so all that changes is read and written under the lock.
 */
#include "loader/loader_open.h"

#include "core/clock.h"
#include "core/logger.h"
#include "core/sized.h"
#include "loader/loader_memory.h"
#include "loader/pump.h"
#include "source/kinds.h"

#include <stdio.h>
#include <string.h>

/* Of stk_loader_options in version 0.1. */
enum { FIRST_OPTIONS_BYTES = offsetof(stk_loader_options, dataset) + sizeof(stk_dataset *) };
_Static_assert((int)STK_STAGE_COUNT <= STK_STAGE_CAPACITY, "stk_loader_stats has no room for so many stages");

const char *stk_stage_name(stk_stage stage)
{
    static const char *const names[STK_STAGE_COUNT] = {"read",    "decode", "mask", "cache",
                                                       "augment", "other",  "idle"};
    return (unsigned)stage < STK_STAGE_COUNT ? names[stage] : "unknown";
}

static stk_status make_locks(stk_loader *loader, stk_error *error)
{
    STK__TRY(stk__cond_init(&loader->work, error));
    STK__TRY(stk__cond_init(&loader->full, error));
    STK__TRY(stk__cond_init(&loader->ready, error));
    STK__TRY(stk__cond_init(&loader->watch, error));
    pthread_mutex_init(&loader->lock, NULL);
    pthread_mutex_init(&loader->frame_lock, NULL);
    loader->locks_made = true;
    loader->recipe.lock = &loader->lock;
    return stk__inflate_gate_init(&loader->gate, error);
}

static stk_status make_workers(stk_loader *loader, stk_error *error)
{
    const int count = loader->thread_count ? loader->thread_count : 1;
    const size_t bytes = (size_t)count * sizeof *loader->workers;
    loader->workers = stk__alloc(bytes);
    if (!loader->workers) return stk__fail_memory(error, bytes, "the workers");
    loader->worker_count = count;
    for (int i = 0; i < loader->worker_count; i++) {
        stk__worker *worker = &loader->workers[i];
        worker->loader = loader;
        if (loader->thread_count)
            snprintf(worker->name, sizeof worker->name, "stk-load-%d", i & 0xfff);
        else
            snprintf(worker->name, sizeof worker->name, "caller");
        STK__TRY(stk__worker_init(worker, &loader->recipe, error));
    }
    return STK_OK;
}

static stk_status make_slots(stk_loader *loader, stk_error *error)
{
    const size_t count = (size_t)loader->slot_count;
    const stk__slot_memory memory = {stk__loader_partner(loader), loader->pinned,
                                     stk__loader_fills(loader, loader->info.batch_size)};
    loader->slots = stk__alloc(count * sizeof *loader->slots);
    loader->in_flight = stk__alloc(count * sizeof *loader->in_flight);
    if (!loader->slots || !loader->in_flight)
        return stk__fail_memory(error, count * sizeof *loader->slots, "the slots");
    for (size_t i = 0; i < count; i++) {
        loader->slots[i].loader = loader;
        const stk_status status = stk__slot_init(&loader->slots[i], &loader->recipe.layout, memory, error);
        if (status == STK_ERROR_MEMORY)
            stk__error_hint(
                error, "lower data.batch_size, data.image_size, data.prefetch_factor or data.limits.memory");
        STK__TRY(status);
    }
    return STK_OK;
}

/* Loaders with threads that hang keep their memory: such a thread may still come back and use it. */
static _Atomic(stk_loader *) left_behind;

static void destroy(stk_loader *loader)
{
    for (int i = 0; loader->workers && i < loader->worker_count; i++)
        stk__worker_fini(&loader->workers[i]);
    for (int i = 0; loader->slots && i < loader->slot_count; i++)
        stk__slot_fini(&loader->slots[i]);
    stk__free(loader->workers);
    stk__free(loader->slots);
    stk__free(loader->in_flight);
    if (loader->device != loader->target_device) stk__device_close(&loader->device);
    stk__device_close(&loader->target_device);
    stk__plan_destroy(&loader->plan);
    stk__free(loader->palette);
    stk__flip_fini(&loader->recipe.flip);
    if (loader->held) stk__cache_promise(-(int64_t)loader->cache_options.budget_bytes);
    stk__cache_destroy(&loader->recipe.cache);
    stk__file_notes_fini(&loader->file_notes);
    if (!loader->source_borrowed) stk__source_close(&loader->source);
    stk__inflate_gate_fini(&loader->gate);
    if (loader->locks_made) {
        pthread_mutex_destroy(&loader->lock);
        pthread_mutex_destroy(&loader->frame_lock);
        pthread_cond_destroy(&loader->work);
        pthread_cond_destroy(&loader->full);
        pthread_cond_destroy(&loader->ready);
        pthread_cond_destroy(&loader->watch);
    }
    stk__free(loader);
}

static stk_status start(stk_loader *loader, const stk_loader_options *options, stk_error *error)
{
    STK__TRY(make_workers(loader, error));
    STK__TRY(make_slots(loader, error));
    STK__TRY(stk__file_notes_init(&loader->file_notes, loader->source->info.count, error));
    loader->asked = options;
    stk__loader_note_pinned(loader, options);
    loader->asked = NULL;
    stk__pump_rewind(loader, 0, 0);
    return stk__pump_start(loader, error);
}

static stk_status open_all(stk_loader *loader, const stk__loader_setup *setup, stk_error *error)
{
    STK__TRY(make_locks(loader, error));
    loader->held = setup->held;
    STK__TRY(stk__loader_configure(loader, setup, error));
    loader->asked = NULL;
    const stk__file_observer *observer = setup->observer;
    if (observer && observer->begin)
        STK__TRY(observer->begin(observer->context, loader->stream.count, error));
    loader->recipe.observer = observer; /* not before: the probe has looked at some samples, too */
    return loader->held ? STK_OK : start(loader, setup->options, error);
}

stk_status stk__loader_start(stk_loader *loader, const stk_loader_options *options, stk_error *error)
{
    if (!loader || !loader->held) return STK_OK;
    loader->held = false;
    STK__TRY(stk__loader_make_cache(loader, error));
    return start(loader, options, error);
}

stk_status stk__loader_open(stk_loader **out, const stk__loader_setup *setup, stk_error *error)
{
    *out = NULL;
    stk_loader *loader = stk__alloc(sizeof *loader);
    if (!loader) return stk__fail_memory(error, sizeof *loader, "a loader");
    loader->source = setup->source;
    loader->source_borrowed = setup->source != NULL;
    const stk_status status = open_all(loader, setup, error);
    if (status == STK_OK) {
        if (!loader->source_borrowed && setup->options->dataset) stk__caller_own(loader->source);
        *out = loader;
    } else if (status == STK_ERROR_TIMEOUT) {
        atomic_store(&left_behind, loader); /* the probe hangs in it */
    } else {
        if (loader->locks_made) stk__pump_stop(loader);
        destroy(loader);
    }
    return status;
}

stk_status stk_loader_open(stk_loader **loader, const stk_loader_options *options, stk_error *error)
{
    if (!loader || !options)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_loader_open needs a loader and options");
    *loader = NULL;
    const stk__sized sized = {"stk_loader_options", FIRST_OPTIONS_BYTES, sizeof(stk_loader_options)};
    stk_loader_options given;
    STK__TRY(stk__sized_take(&given, options, &sized, error));
    return stk__loader_open(loader, &(stk__loader_setup){.options = &given}, error);
}

int stk_loader_close(stk_loader **pointer)
{
    if (!pointer || !*pointer) return 0;
    stk_loader *loader = *pointer;
    *pointer = NULL;
    const int given_up = stk__pump_stop(loader);
    if (given_up)
        atomic_store(&left_behind, loader);
    else
        destroy(loader);
    return given_up;
}

/* How many bad samples of a batch there are to tell of: none after the one that stops everything. (lock) */
static size_t count_bad(stk_loader *loader, stk__slot *slot, stk_status status)
{
    const stk__bad *bad = stk__ledger_sorted(&slot->ledger);
    const size_t count = stk__ledger_count(&slot->ledger);
    size_t told = 0;
    for (; told < count; told++) {
        if (status != STK_OK && bad[told].place > slot->error_place) break;
        loader->stats.damages[bad[told].damage]++;
    }
    loader->stats.bad_samples += told;
    return told;
}

/* Tells the ledger about the first bad samples of a batch, in order. */
static void report_bad(stk_loader *loader, stk__slot *slot, size_t count)
{
    static const char *const actions[] = {"failed", "replaced", "skipped"};
    const stk__bad *bad = stk__ledger_sorted(&slot->ledger);
    for (size_t i = 0; i < count; i++) {
        const stk_ledger_entry entry = {.epoch = slot->step.epoch,
                                        .position = stk__slot_position(slot, bad[i].place),
                                        .sample_id = (int64_t)bad[i].sample_id,
                                        .damage = bad[i].damage,
                                        .path = bad[i].path,
                                        .detail = bad[i].detail,
                                        .action = actions[loader->recipe.policy]};
        if (loader->sink) loader->sink(loader->sink_context, &entry);
    }
}

static void explain_policy(stk_error *error)
{
    static const char policy[] = "continue with data.on_bad_sample=replace or =skip";
    const stk_error before = *error;
    if (error->code != STK_ERROR_SAMPLE || strstr(before.hint, "on_bad_sample")) return;
    if (before.hint[0])
        stk__error_hint(error, "%.190s; or %s", before.hint, policy);
    else
        stk__error_hint(error, "fix or remove the file, or %s", policy);
}

/* What is odd about the files of a batch that is delivered. (lock) */
static void note_files(stk_loader *loader, const stk__slot *slot)
{
    const int64_t *ids = slot->batch.sample_ids.data;
    for (uint64_t i = 0; i < slot->step.count; i++) {
        const stk__file_note *note = &slot->file_notes[i];
        if (note->image_format || note->mask_format || note->warning || note->resized)
            stk__file_notes_add(&loader->file_notes, (uint64_t)ids[i], note);
        loader->stats.resized_images += note->image_resized;
    }
    loader->stats.misnamed_files = loader->file_notes.kinds[STK_FILE_MISNAMED].files;
    loader->stats.warning_files = loader->file_notes.kinds[STK_FILE_WARNING].files;
    loader->stats.resized_masks = loader->file_notes.kinds[STK_FILE_RESIZED].files;
}

static stk_status hand_out(stk_loader *loader, stk__slot *slot, stk_batch **batch, stk_error *error)
{
    if (slot->error.code != STK_OK) {
        loader->failure = slot->error;
        explain_policy(&loader->failure);
        if (error) *error = loader->failure;
        return loader->failure.code;
    }
    slot->state = STK_SLOT_LENT;
    loader->deliver_step++;
    slot->batch.owner = loader;
    loader->stats.batches++;
    loader->stats.samples += slot->step.count;
    note_files(loader, slot);
    *batch = &slot->batch;
    return STK_OK;
}

/* Is the epoch of the batch handed out last over, or all of them? *epoch: that of the next batch. (lock) */
static bool at_epoch_end(const stk_loader *loader, uint64_t *epoch)
{
    const bool over = loader->deliver_step >= loader->end_step;
    *epoch = over ? loader->epochs : stk__stream_step(&loader->stream, loader->deliver_step).epoch;
    return over || *epoch != loader->epoch;
}

/* The next batch, STK_END, or STK_AGAIN after the deadline; a step that was not taken is the next one's. */
static stk_status take_next(stk_loader *loader, stk_batch **batch, uint64_t deadline_ns, stk_error *error)
{
    *batch = NULL;
    stk__slot *slot = NULL;
    pthread_mutex_lock(&loader->lock);
    uint64_t epoch;
    stk_status status = at_epoch_end(loader, &epoch) ? STK_END : STK_OK;
    loader->epoch = epoch;
    const uint64_t start = stk__clock_ns();
    if (status == STK_OK) status = stk__pump_take(loader, &slot, deadline_ns, error);
    loader->stats.wait_ns += stk__clock_ns() - start;
    if (status == STK_OK) status = hand_out(loader, slot, batch, error);
    const size_t bad = slot ? count_bad(loader, slot, status) : 0;
    pthread_mutex_unlock(&loader->lock);
    if (bad) report_bad(loader, slot, bad);
    return status;
}

stk_status stk_loader_next(stk_loader *loader, stk_batch **batch, stk_error *error)
{
    if (!loader || !batch)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_loader_next needs a loader and a batch");
    return take_next(loader, batch, UINT64_MAX, error);
}

stk_status stk_loader_next_within(stk_loader *loader, stk_batch **batch, double timeout_s, stk_error *error)
{
    if (!loader || !batch)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_loader_next_within needs a loader and a batch");
    if (!(timeout_s >= 0)) {
        *batch = NULL;
        return stk__fail(error, STK_ERROR_ARGUMENT, "a timeout is at least 0 s, not %g", timeout_s);
    }
    const double most_s = 1e9; /* beyond that: without end */
    const uint64_t wait_ns = timeout_s < most_s ? stk__seconds_ns(timeout_s) : UINT64_MAX;
    return take_next(loader, batch, wait_ns == UINT64_MAX ? wait_ns : stk__clock_ns() + wait_ns, error);
}

void stk_batch_release(stk_batch *batch)
{
    if (!batch) return;
    stk__slot *slot = (stk__slot *)batch; /* batch is its first member */
    stk_loader *loader = slot->loader;
    pthread_mutex_lock(&loader->lock);
    stk__pump_return(loader, slot);
    pthread_mutex_unlock(&loader->lock);
}

/* Without its event it is unknown when the slot may be filled again: then the loader has failed. */
void stk_batch_release_after(stk_batch *batch, void *stream)
{
    stk_error error;
    if (!batch) return;
    stk_loader *loader = ((stk__slot *)batch)->loader;
    if (batch->ready && stk__device_release_on(batch->ready, stream, &error) != STK_OK) {
        pthread_mutex_lock(&loader->lock);
        if (loader->failure.code == STK_OK) loader->failure = error;
        pthread_mutex_unlock(&loader->lock);
    }
    stk_batch_release(batch);
}

void stk_loader_interrupt(stk_loader *loader)
{
    if (!loader) return;
    pthread_mutex_lock(&loader->lock);
    loader->interrupted = true;
    loader->paused = true;
    pthread_cond_broadcast(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
}

const stk_loader_info *stk_loader_describe(const stk_loader *loader)
{
    return loader ? &loader->info : NULL;
}

const stk_loader_effect *stk_loader_effects(const stk_loader *loader, int *count)
{
    if (count) *count = loader ? loader->effect_count : 0;
    return loader && count ? loader->effects : NULL;
}

void stk_loader_set_ledger(stk_loader *loader, stk_ledger_sink sink, void *context)
{
    if (!loader) return;
    loader->sink = sink;
    loader->sink_context = context;
}

/* (lock) */
static void tell_state(const stk_loader *loader, stk_loader_state *state)
{
    *state = (stk_loader_state){.sample_count = loader->stream.count, .seed = loader->seed};
    memcpy(state->fingerprint, loader->info.fingerprint, sizeof state->fingerprint);
    memcpy(state->order, loader->order, sizeof state->order);
    memcpy(state->part, loader->part, sizeof state->part);
    if (loader->deliver_step >= loader->end_step) {
        state->epoch =
            loader->epochs > loader->stream.start_epoch ? loader->epochs : loader->stream.start_epoch;
        return;
    }
    const stk__step step = stk__stream_step(&loader->stream, loader->deliver_step);
    state->epoch = step.epoch;
    state->position = step.global_position;
}

void stk_loader_tell(stk_loader *loader, stk_loader_state *state)
{
    if (!state) return;
    *state = (stk_loader_state){0};
    if (!loader) return;
    pthread_mutex_lock(&loader->lock);
    tell_state(loader, state);
    pthread_mutex_unlock(&loader->lock);
}

static stk_status check_state(const stk_loader *loader, const stk_loader_state *state, stk_error *error)
{
    const bool same_keys = strcmp(state->fingerprint, loader->info.fingerprint) == 0;
    if (same_keys && strcmp(state->part, loader->part) != 0) {
        stk__fail(error, STK_ERROR_STATE, "the state belongs to the part '%s', this is '%s'", state->part,
                  loader->part);
        stk__error_hint(error, "use the same data.part, data.val_split and data.split_seed");
        return STK_ERROR_STATE;
    }
    if (!same_keys || state->sample_count != loader->stream.count) {
        stk__fail(error, STK_ERROR_STATE, "the state belongs to another data set (%llu samples, keys %s)",
                  (unsigned long long)state->sample_count, state->fingerprint);
        stk__error_hint(
            error, "files were added, removed or renamed, or data.root, split or limit differ; states of "
                   "earlier versions: data.layout=classes (folders train, masks were classes), "
                   "data.layout=pairs (images/train was in it), data.columns=split=none (a list's split was "
                   "unused)");
        return STK_ERROR_STATE;
    }
    if (state->seed != loader->seed || strcmp(state->order, loader->order) != 0) {
        stk__fail(error, STK_ERROR_STATE,
                  "the state was made with seed %lld and order '%s', this is %lld and '%s'",
                  (long long)state->seed, state->order, (long long)loader->seed, loader->order);
        stk__error_hint(error, "use the same data.seed, data.shuffle and data.order");
        return STK_ERROR_STATE;
    }
    if (state->position > state->sample_count)
        return stk__fail(error, STK_ERROR_STATE, "position %llu is beyond the %llu samples of an epoch",
                         (unsigned long long)state->position, (unsigned long long)state->sample_count);
    return STK_OK;
}

stk_status stk_loader_seek(stk_loader *loader, const stk_loader_state *state, stk_error *error)
{
    if (!loader || !state)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_loader_seek needs a loader and a state");
    STK__TRY(check_state(loader, state, error));
    pthread_mutex_lock(&loader->lock);
    const stk_status status = stk__pump_pause(loader, error);
    if (status == STK_OK) {
        const bool at_end = stk__stream_steps(&loader->stream, state->position) == 0;
        stk__pump_rewind(loader, state->epoch + at_end, at_end ? 0 : state->position);
        loader->paused = loader->interrupted;
        pthread_cond_broadcast(&loader->work);
    }
    pthread_mutex_unlock(&loader->lock);
    return status;
}

void stk_loader_get_stats(stk_loader *loader, stk_loader_stats *stats)
{
    if (!stats) return;
    *stats = (stk_loader_stats){0};
    if (!loader) return;
    pthread_mutex_lock(&loader->lock);
    *stats = loader->stats;
    pthread_mutex_unlock(&loader->lock);
    stats->damage_count = STK_DAMAGE_COUNT;
    stats->stage_count = STK_STAGE_COUNT;
    const uint64_t now = stk__clock_ns();
    for (int i = 0; i < loader->worker_count; i++) {
        stk__worker *worker = &loader->workers[i];
        for (int stage = 0; stage < STK_STAGE_COUNT; stage++)
            stats->stage_ns[stage] += atomic_load_explicit(&worker->stage_ns[stage], memory_order_relaxed);
        const uint64_t since = atomic_load_explicit(&worker->since_ns, memory_order_relaxed);
        stats->stage_ns[atomic_load_explicit(&worker->stage, memory_order_relaxed)] +=
            now > since ? now - since : 0;
        stats->bytes_read += atomic_load_explicit(&worker->bytes_read, memory_order_relaxed);
        stats->cache_hits += atomic_load_explicit(&worker->cache_hits, memory_order_relaxed);
    }
    const stk__cache_use held = stk__cache_measure(loader->recipe.cache);
    stats->cache_samples = held.samples;
    stats->cache_bytes = held.bytes;
}
