/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that moves in the loader, under one lock: steps are opened in free slots, workers claim
 * places and fill them without the lock, the last one finishes the batch or leaves it to the device's
 * thread, and the consumer takes slots strictly in order. A watchdog thread fails the load when a worker
 * stays in one stage for longer than the time-out. */
#include "loader/pump.h"

#include "core/clock.h"
#include "core/logger.h"
#include "loader/batch_stage.h"
#include "loader/mixing.h"

#include <stdio.h>

enum { LOW_PRIORITY_NICE = 10 };

static const uint64_t nap_ns = STK_SECOND_NS; /* waits look around at least this often */
static const uint64_t poll_ns = 250000;       /* and while a device still uses slots that came back */

/* First step behind the last epoch; more than can be counted is without end. */
static uint64_t find_end(const stk_loader *loader, uint64_t epoch, uint64_t position)
{
    const stk__stream *stream = &loader->stream;
    if (!loader->epochs) return UINT64_MAX;
    if (epoch >= loader->epochs) return 0;
    const unsigned __int128 later = loader->epochs - epoch - 1,
                            end = stk__stream_steps(stream, position) + later * stk__stream_steps(stream, 0);
    return end < UINT64_MAX ? (uint64_t)end : UINT64_MAX;
}

void stk__pump_rewind(stk_loader *loader, uint64_t epoch, uint64_t position)
{
    stk__stream *stream = &loader->stream;
    stream->start_epoch = epoch;
    stream->start_position = position;
    loader->open_step = loader->deliver_step = 0;
    loader->epoch = epoch;
    loader->filling = NULL;
    loader->end_step = find_end(loader, epoch, position);
}

static stk__slot *find_free(stk_loader *loader)
{
    for (int i = 0; i < loader->slot_count; i++)
        if (loader->slots[i].state == STK_SLOT_FREE) return &loader->slots[i];
    return NULL;
}

static void make_ready(stk_loader *loader, stk__slot *slot)
{
    stk__slot_finish(slot, &loader->recipe.layout);
    slot->state = STK_SLOT_READY;
    pthread_cond_signal(&loader->ready);
}

/* Opens the next step if a slot is free. */
static void open_next(stk_loader *loader)
{
    if (loader->open_step >= loader->end_step) return;
    stk__slot *slot = find_free(loader);
    if (!slot) return;
    const stk__step step = stk__stream_step(&loader->stream, loader->open_step);
    if (slot->step.epoch != step.epoch || slot->order.count == 0)
        slot->order = stk__stream_order(&loader->stream, step.epoch);
    stk__slot_begin(slot, &loader->recipe.layout, &step);
    stk__mixing_begin(slot, &loader->recipe, &loader->stream);
    slot->state = STK_SLOT_FILLING;
    loader->in_flight[loader->open_step++ % (uint64_t)loader->slot_count] = slot;
    if (step.count == 0)
        make_ready(loader, slot); /* a rank without samples still takes part in the step */
    else
        loader->filling = slot;
}

typedef struct claim {
    stk__slot *slot;
    uint64_t first, count;
} claim;

static bool take_claim(stk_loader *loader, claim *out)
{
    if (loader->paused) return false;
    while (!loader->filling) {
        const uint64_t before = loader->open_step;
        open_next(loader);
        if (loader->open_step == before) return false;
    }
    stk__slot *slot = loader->filling;
    const uint64_t left = slot->places - slot->claimed;
    *out = (claim){slot, slot->claimed, left < loader->chunk ? left : loader->chunk};
    slot->claimed += out->count;
    if (slot->claimed == slot->places) loader->filling = NULL;
    return true;
}

/* Keeps the failure of the lowest place, so that the same one is named whatever the timing. */
static void note_failure(stk__slot *slot, uint64_t place, const stk_error *error)
{
    if (slot->error.code != STK_OK && slot->error_place <= place) return;
    slot->error = *error;
    slot->error_place = place;
}

static void fill_claim(stk__worker *worker, const claim *work)
{
    stk_loader *loader = worker->loader;
    for (uint64_t place = work->first; place < work->first + work->count; place++) {
        stk__read_ahead(worker, work->slot, place);
        const stk_status status = stk__worker_fill(worker, work->slot, &loader->stream, place);
        stk__worker_enter(worker, STK_STAGE_OTHER);
        if (status == STK_OK) continue;
        pthread_mutex_lock(&loader->lock);
        note_failure(work->slot, place, &worker->error);
        pthread_mutex_unlock(&loader->lock);
    }
}

static bool has_batch_stage(const stk_loader *loader)
{
    return loader->device || loader->target_device || loader->recipe.layout.store.mixed;
}

/* What the device says of the batch that it has just finished. (lock) */
static void note_times(stk_loader *loader, const stk__device *device)
{
    stk_loader_stats *stats = &loader->stats;
    stats->device_batches += device->last_copy_ns || device->last_kernel_ns;
    stats->device_copy_ns += device->last_copy_ns;
    stats->device_kernel_ns += device->last_kernel_ns;
}

/* Finishes a batch whose places are all filled. Unlocks meanwhile: a full slot that is filling belongs to who
 * filled its last place, or to the device's thread. */
static void finish_batch(stk_loader *loader, stk__slot *slot)
{
    if (has_batch_stage(loader) && slot->error.code == STK_OK) {
        stk_error error;
        pthread_mutex_unlock(&loader->lock);
        const stk_status status =
            stk__batch_stage_run(slot, &loader->recipe, &loader->stream, loader->device, &error);
        pthread_mutex_lock(&loader->lock);
        if (status != STK_OK) note_failure(slot, slot->step.count, &error);
        if (status == STK_OK && loader->device && loader->device != loader->target_device)
            note_times(loader, loader->device);
    }
    make_ready(loader, slot);
}

static void finish_claim(stk__worker *worker, const claim *work)
{
    stk_loader *loader = worker->loader;
    stk__slot *slot = work->slot;
    slot->finished += work->count;
    if (slot->finished == slot->places) {
        if (loader->device_thread) {
            pthread_cond_signal(&loader->full);
        } else {
            if (has_batch_stage(loader)) stk__worker_enter(worker, STK_STAGE_AUGMENT);
            finish_batch(loader, slot);
            stk__worker_enter(worker, STK_STAGE_OTHER);
        }
    }
    if (loader->paused) pthread_cond_signal(&loader->ready);
}

void stk__pump_return(stk_loader *loader, stk__slot *slot)
{
    const bool resident = loader->recipe.layout.store.resident;
    slot->state = resident ? STK_SLOT_RETURNED : STK_SLOT_FREE;
    slot->returned_ns = stk__clock_ns();
    if (resident) pthread_cond_signal(&loader->full);
    if (!resident) pthread_cond_broadcast(&loader->work);
}

static void fail_device(stk_loader *loader, const stk_error *error)
{
    loader->failure = *error;
    pthread_cond_broadcast(&loader->ready);
}

/* Is the device through with a slot that came back? Unlocks meanwhile: the slot is the caller's. */
static void reclaim_slot(stk_loader *loader, stk__slot *slot)
{
    stk_error error;
    bool free = false;
    pthread_mutex_unlock(&loader->lock);
    stk_status status = stk__device_ask(slot->device, &free, &error);
    pthread_mutex_lock(&loader->lock);
    if (status == STK_OK && !free &&
        stk__clock_ns() - slot->returned_ns > loader->target_device->timeout_ns) {
        status = stk__fail(&error, STK_ERROR_TIMEOUT, "'%s' still uses a batch %g s after its release",
                           loader->target_device->info.name, loader->timeout_s);
        stk__error_hint(&error, "the GPU hangs or a step takes longer than data.timeout");
    }
    if (status != STK_OK) {
        fail_device(loader, &error);
    } else if (free) {
        slot->state = STK_SLOT_FREE;
        note_times(loader, loader->target_device);
        pthread_cond_broadcast(&loader->work);
    }
}

/* Are there slots that the device still uses? By the device's thread, or the caller's if there is none. */
static bool reclaim(stk_loader *loader)
{
    bool waiting = false;
    for (int i = 0; loader->target_device && i < loader->slot_count && loader->failure.code == STK_OK; i++) {
        if (loader->slots[i].state != STK_SLOT_RETURNED) continue;
        reclaim_slot(loader, &loader->slots[i]);
        waiting |= loader->slots[i].state == STK_SLOT_RETURNED;
    }
    return waiting;
}

/* The oldest slot that waits for the device. */
static stk__slot *find_full(stk_loader *loader)
{
    for (uint64_t step = loader->deliver_step; step < loader->open_step; step++) {
        stk__slot *slot = loader->in_flight[step % (uint64_t)loader->slot_count];
        if (slot->state == STK_SLOT_FILLING && slot->finished == slot->places) return slot;
    }
    return NULL;
}

void stk__pump_finish(void *argument)
{
    stk_loader *loader = argument;
    pthread_mutex_lock(&loader->lock);
    while (!loader->stopping) {
        stk__slot *slot = find_full(loader);
        loader->device_since_ns = stk__clock_ns();
        if (slot) finish_batch(loader, slot);
        if (slot && loader->paused) pthread_cond_signal(&loader->ready);
        const bool waiting = reclaim(loader);
        loader->device_since_ns = 0;
        if (!slot && !loader->stopping)
            stk__cond_wait(&loader->full, &loader->lock, stk__clock_ns() + (waiting ? poll_ns : nap_ns));
    }
    pthread_mutex_unlock(&loader->lock);
}

void stk__pump_work(void *argument)
{
    stk__worker *worker = argument;
    stk_loader *loader = worker->loader;
    claim work;
    stk__worker_enter(worker, STK_STAGE_OTHER);
    pthread_mutex_lock(&loader->lock);
    while (!loader->stopping) {
        if (!take_claim(loader, &work)) {
            stk__worker_enter(worker, STK_STAGE_IDLE);
            stk__cond_wait(&loader->work, &loader->lock, stk__clock_ns() + nap_ns);
            stk__worker_enter(worker, STK_STAGE_OTHER);
            continue;
        }
        pthread_mutex_unlock(&loader->lock);
        fill_claim(worker, &work);
        pthread_mutex_lock(&loader->lock);
        finish_claim(worker, &work);
    }
    pthread_mutex_unlock(&loader->lock);
    stk__worker_enter(worker, STK_STAGE_IDLE);
}

/* Fails the loader if a worker has not come out of its stage in time. (lock) */
static void check_worker(stk_loader *loader, const stk__worker *worker, const stk__watch *watch)
{
    const uint64_t busy_ns = stk__watch_busy_ns(watch, worker);
    if (busy_ns < stk__seconds_ns(loader->timeout_s)) return;
    const int stage = atomic_load_explicit(&worker->stage, memory_order_relaxed);
    if ((stage == STK_STAGE_DECODE || stage == STK_STAGE_MASK) &&
        stk__inflate_gate_moves(&loader->gate, stk__seconds_ns(loader->timeout_s)))
        return; /* it waits for memory that others use */
    char path[4096];
    const uint64_t id = atomic_load_explicit(&worker->sample_id, memory_order_relaxed);
    const int field = atomic_load_explicit(&worker->field, memory_order_relaxed);
    loader->source->ops->where(loader->source, id, (stk__field)field, path, sizeof path);
    stk__fail(&loader->failure, STK_ERROR_TIMEOUT,
              "thread '%s' hangs in stage '%s' of sample %llu for %.1f s", worker->name,
              stk_stage_name((stk_stage)stage), (unsigned long long)id, (double)busy_ns * 1e-9);
    stk__error_place(&loader->failure, "%s", path);
    stk__error_hint(&loader->failure, "check the storage below this file, or raise data.timeout (now %g s)",
                    loader->timeout_s);
    /* A caller that hangs itself gets no status: log it. */
    stk__log(loader->thread_count ? STK_LOG_INFO : STK_LOG_ERROR, "%s: %s", loader->failure.message,
             loader->failure.place);
    pthread_cond_broadcast(&loader->ready);
}

/* Waits for a device have deadlines, but a call of its driver may hang all the same. (lock) */
static void check_device(stk_loader *loader, const stk__watch *watch)
{
    const uint64_t began = loader->device_since_ns, since = began > watch->awake_ns ? began : watch->awake_ns,
                   busy_ns = began && since < watch->last_ns ? watch->last_ns - since : 0;
    if (busy_ns < 3 * stk__seconds_ns(loader->timeout_s)) return; /* a batch may wait three times in a row */
    const stk__device *device = loader->target_device ? loader->target_device : loader->device;
    stk__fail(&loader->failure, STK_ERROR_TIMEOUT, "the driver of '%s' has not responded for %.1f s",
              device->info.name, (double)busy_ns * 1e-9);
    stk__error_hint(&loader->failure, "the device hangs; check it with its own tools (nvidia-smi, dmesg)");
    stk__log(STK_LOG_INFO, "%s", loader->failure.message);
    pthread_cond_broadcast(&loader->ready);
}

void stk__pump_watch(void *argument)
{
    stk_loader *loader = argument;
    stk__watch watch = stk__watch_make(loader->timeout_s);
    pthread_mutex_lock(&loader->lock);
    while (!loader->stopping) {
        stk__cond_wait(&loader->watch, &loader->lock, stk__clock_ns() + watch.pause_ns);
        stk__watch_look(&watch);
        for (int i = 0; i < loader->worker_count && loader->failure.code == STK_OK; i++)
            check_worker(loader, &loader->workers[i], &watch);
        if (loader->failure.code == STK_OK) check_device(loader, &watch);
    }
    pthread_mutex_unlock(&loader->lock);
}

stk_status stk__pump_start(stk_loader *loader, stk_error *error)
{
    const stk__thread_options watch = {.name = "stk-watchdog", .run = stk__pump_watch, .context = loader};
    STK__TRY(stk__thread_start(&loader->watchdog, &watch, error));
    const stk__thread_options finish = {.name = "stk-device", .run = stk__pump_finish, .context = loader};
    if ((loader->device || loader->target_device) && loader->thread_count)
        STK__TRY(stk__thread_start(&loader->device_thread, &finish, error));
    for (int i = 0; i < loader->thread_count; i++) {
        stk__worker *worker = &loader->workers[i];
        stk__thread_options options = {
            .run = stk__pump_work, .context = worker, .nice = loader->low_priority ? LOW_PRIORITY_NICE : 0};
        snprintf(options.name, sizeof options.name, "%s", worker->name);
        STK__TRY(stk__thread_start(&worker->thread, &options, error));
    }
    return STK_OK;
}

/* False: it hangs, and is left behind with all that it uses. */
static bool end_thread(stk__thread **thread, const char *name, uint64_t deadline_ns)
{
    if (stk__thread_join(thread, deadline_ns)) return true;
    stk__log(STK_LOG_WARNING, "thread '%s' does not end and is abandoned", name);
    stk__thread_abandon(thread);
    return false;
}

int stk__pump_stop(stk_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->stopping = true;
    const bool hurry = loader->interrupted || loader->failure.code == STK_ERROR_TIMEOUT;
    pthread_cond_broadcast(&loader->work);
    pthread_cond_broadcast(&loader->full);
    pthread_cond_broadcast(&loader->watch);
    pthread_mutex_unlock(&loader->lock);
    const uint64_t deadline = stk__clock_ns() + stk__seconds_ns(hurry ? 0.5 : loader->timeout_s);
    int given_up = 0;
    for (int i = 0; i < loader->worker_count; i++)
        given_up += !end_thread(&loader->workers[i].thread, loader->workers[i].name, deadline);
    given_up += !end_thread(&loader->device_thread, "stk-device", deadline + STK_SECOND_NS);
    given_up += !end_thread(&loader->watchdog, "stk-watchdog", deadline + STK_SECOND_NS);
    return given_up;
}

static bool workers_busy(const stk_loader *loader)
{
    for (int i = 0; i < loader->slot_count; i++) {
        const stk__slot *slot = &loader->slots[i];
        const bool full = slot->finished == slot->places; /* but not ready: it is being finished */
        if (slot->state == STK_SLOT_FILLING && (full || slot->claimed != slot->finished)) return true;
    }
    return false;
}

stk_status stk__pump_pause(stk_loader *loader, stk_error *error)
{
    const uint64_t deadline = stk__clock_ns() + stk__seconds_ns(loader->timeout_s);
    loader->paused = true;
    while (workers_busy(loader) && stk__cond_wait(&loader->ready, &loader->lock, deadline))
        continue;
    if (workers_busy(loader)) {
        loader->paused = false;
        return stk__fail(error, STK_ERROR_TIMEOUT, "the workers did not stop within %g s", loader->timeout_s);
    }
    for (int i = 0; i < loader->slot_count; i++)
        if (loader->slots[i].state != STK_SLOT_LENT) stk__pump_return(loader, &loader->slots[i]);
    return STK_OK;
}

static bool all_lent(const stk_loader *loader)
{
    for (int i = 0; i < loader->slot_count; i++)
        if (loader->slots[i].state != STK_SLOT_LENT) return false;
    return true;
}

/* The caller's thread does the work of a worker. Unlocks meanwhile, so that an interrupt can come in. */
static void fill_here(stk_loader *loader)
{
    claim work;
    stk__worker *worker = &loader->workers[0];
    const bool waiting = reclaim(loader);
    if (!take_claim(loader, &work)) {
        if (waiting) stk__cond_wait(&loader->full, &loader->lock, stk__clock_ns() + poll_ns);
        return;
    }
    pthread_mutex_unlock(&loader->lock);
    stk__worker_enter(worker, STK_STAGE_OTHER);
    fill_claim(worker, &work);
    pthread_mutex_lock(&loader->lock);
    finish_claim(worker, &work);
    stk__worker_enter(worker, STK_STAGE_IDLE);
}

stk_status stk__pump_take(stk_loader *loader, stk__slot **out, uint64_t deadline_ns, stk_error *error)
{
    for (;;) {
        if (loader->interrupted) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        if (loader->failure.code != STK_OK) {
            if (error) *error = loader->failure;
            return loader->failure.code;
        }
        const bool opened = loader->deliver_step < loader->open_step;
        stk__slot *slot =
            opened ? loader->in_flight[loader->deliver_step % (uint64_t)loader->slot_count] : NULL;
        if (opened && slot->state == STK_SLOT_READY) {
            *out = slot; /* only now: until then it is the workers' */
            return STK_OK;
        }
        if (!opened && all_lent(loader)) {
            stk__fail(error, STK_ERROR_ARGUMENT, "all %d batches are in use", loader->slot_count);
            stk__error_hint(error, "call stk_batch_release on one, or raise data.prefetch_factor");
            return STK_ERROR_ARGUMENT;
        }
        const uint64_t now = stk__clock_ns(), nap_end = now + nap_ns;
        if (now >= deadline_ns) return STK_END;
        if (loader->thread_count == 0)
            fill_here(loader);
        else
            stk__cond_wait(&loader->ready, &loader->lock, nap_end < deadline_ns ? nap_end : deadline_ns);
    }
}
