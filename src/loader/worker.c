/* SPDX-License-Identifier: Apache-2.0 */
/* One sample from its source to its place in a slot: read, header, plan (sample_plan.h), decode or take from
 * the cache, then augment or copy. Bad samples are replaced or skipped by policy. A worker owns decoder,
 * buffers and clock; the watchdog reads only its atomic stage and time. */
#include "loader/sample_plan.h"

#include "core/clock.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SUBSTITUTES = 16 };

/* One sample to load. */
typedef struct sample_job {
    stk__slot *slot;
    uint64_t place, id;
} sample_job;

stk_status stk__worker_init(stk__worker *worker, const stk__recipe *recipe, stk_error *error)
{
    worker->recipe = recipe;
    atomic_store(&worker->stage, STK_STAGE_IDLE);
    atomic_store(&worker->since_ns, stk__clock_ns());
    return stk__decoder_create(&worker->decoder, &recipe->limits, error);
}

void stk__worker_fini(stk__worker *worker)
{
    stk__decoder_destroy(&worker->decoder);
    stk__buffer_fini(&worker->bytes);
    stk__buffer_fini(&worker->image);
    stk__buffer_fini(&worker->mask);
    stk__buffer_fini(&worker->scratch);
    stk__buffer_fini(&worker->facts);
}

static void add(_Atomic uint64_t *sum, uint64_t value) /* one writer: no locked instruction needed */
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + value, memory_order_relaxed);
}

void stk__worker_enter(stk__worker *worker, stk_stage stage)
{
    const uint64_t now = stk__clock_ns();
    const int before = atomic_load_explicit(&worker->stage, memory_order_relaxed);
    const uint64_t spent = now - atomic_load_explicit(&worker->since_ns, memory_order_relaxed);
    add(&worker->stage_ns[before], spent);
    if (before == STK_STAGE_READ) worker->read_average_ns += spent / 8 - worker->read_average_ns / 8;
    atomic_store_explicit(&worker->since_ns, now, memory_order_relaxed);
    atomic_store_explicit(&worker->stage, stage, memory_order_release); /* the watchdog reads it first */
}

stk__watch stk__watch_make(double timeout_s)
{
    const uint64_t quarter_s = STK_SECOND_NS / 4, eighth = stk__seconds_ns(timeout_s / 8);
    return (stk__watch){.pause_ns = eighth < quarter_s ? eighth : quarter_s, .last_ns = stk__clock_ns()};
}

void stk__watch_look(stk__watch *watch)
{
    const uint64_t now = stk__clock_ns();
    if (now - watch->last_ns > 4 * watch->pause_ns) watch->awake_ns = now;
    watch->last_ns = now;
}

uint64_t stk__watch_busy_ns(const stk__watch *watch, const stk__worker *worker)
{
    const int stage = atomic_load_explicit(&worker->stage, memory_order_acquire);
    const uint64_t entered = atomic_load_explicit(&worker->since_ns, memory_order_relaxed);
    const uint64_t since = entered > watch->awake_ns ? entered : watch->awake_ns;
    return stage == STK_STAGE_IDLE || since > watch->last_ns ? 0 : watch->last_ns - since;
}

static void set_place(stk__worker *worker, uint64_t id, stk__field field)
{
    if (worker->error.place[0]) return;
    char path[4096];
    worker->recipe->source->ops->where(worker->recipe->source, id, field, path, sizeof path);
    stk__error_place(&worker->error, "%s", path);
}

static void note_name(stk__worker *worker, stk__field field, const stk__picture *picture)
{
    const char **format = field == STK_FIELD_MASK ? &worker->note.mask_format : &worker->note.image_format;
    *format = picture->misnamed ? stk__format_name(picture->format) : NULL;
}

/* Bytes of a field into the worker's buffer, and what their header says. */
static stk_status open_picture(stk__worker *worker, uint64_t id, stk__field field, stk__picture *picture)
{
    const stk__source *source = worker->recipe->source;
    const char *extension = NULL;
    atomic_store_explicit(&worker->field, field, memory_order_relaxed);
    stk__worker_enter(worker, STK_STAGE_READ);
    stk_status status = source->ops->read(source, id, field, &worker->bytes, &extension, &worker->error);
    stk__worker_enter(worker, field == STK_FIELD_MASK ? STK_STAGE_MASK : STK_STAGE_DECODE);
    if (status == STK_OK) {
        add(&worker->bytes_read, worker->bytes.size_bytes);
        const stk__encoded encoded = {worker->bytes.data, worker->bytes.size_bytes};
        status = stk__decode_header(worker->decoder, encoded, extension, picture, &worker->error);
        const stk__file_observer *observer = worker->recipe->observer;
        if (observer && status == STK_OK)
            observer->see(observer->context, &(stk__observed_file){id, field, encoded, picture, extension});
    }
    if (!worker->recipe->exif) picture->orientation = 1;
    picture->coarse = worker->recipe->coarse && field == STK_FIELD_IMAGE;
    if (status != STK_OK) set_place(worker, id, field);
    if (status == STK_OK) note_name(worker, field, picture);
    return status;
}

typedef stk__extent upright;

static upright upright_size(const stk__picture *picture)
{
    const bool swap = stk__orientation_swaps(picture->orientation);
    return swap ? (upright){picture->h, picture->w} : (upright){picture->w, picture->h};
}

static stk_status reserve_pixels(stk__worker *worker, stk__pixels *pixels, stk__buffer *buffer)
{
    STK__TRY(stk__buffer_reserve(buffer, pixels->pitch_bytes * (size_t)pixels->h, &worker->error));
    pixels->data = buffer->data;
    return STK_OK;
}

static stk_status refuse_room(stk__worker *worker, const sample_job *job, upright size)
{
    const stk__layout *layout = &worker->recipe->layout;
    const bool crops = worker->recipe->crops;
    if (atomic_load(&job->slot->spare.refused)) {
        stk__fail_memory(&worker->error, (uint64_t)size.w * (uint64_t)size.h * (uint64_t)layout->channels,
                         "a decoded image");
        stk__error_hint(&worker->error,
                        "set data.image_size, or lower data.batch_size or data.prefetch_factor");
        set_place(worker, job->id, STK_FIELD_IMAGE);
        return STK_ERROR_MEMORY;
    }
    char what[64] = "images in full size, as augment.crop needs them,";
    if (!crops) snprintf(what, sizeof what, "images of other sizes than %dx%d", layout->w, layout->h);
    stk__fail(&worker->error, STK_ERROR_MEMORY, "%s take more memory than a batch may have (this one: %dx%d)",
              what, size.w, size.h);
    stk__error_hint(&worker->error,
                    crops ? "raise data.limits.memory, lower data.batch_size, or leave augment.crop out"
                          : "set data.image_size, or raise data.limits.memory");
    set_place(worker, job->id, STK_FIELD_IMAGE);
    return STK_ERROR_MEMORY;
}

/* The user did not allow to drop the colours. */
static stk_status refuse_colour(stk__worker *worker, uint64_t id)
{
    stk__damaged(&worker->error, STK_DAMAGE_UNSUPPORTED, "an RGB image in a data set detected as grayscale");
    stk__error_hint(&worker->error, "set data.channels=3, or data.channels=1 to convert to grayscale");
    set_place(worker, id, STK_FIELD_IMAGE);
    return STK_ERROR_SAMPLE;
}

/* Where the pixels of a field are decoded to: the slot, or the worker's own memory. */
static stk_status find_room(stk__worker *worker, const sample_job *job, stk__field field, upright size,
                            stk__pixels *room)
{
    const stk__recipe *recipe = worker->recipe;
    const stk__layout *layout = &recipe->layout;
    const bool mask = field == STK_FIELD_MASK;
    if (recipe->kernel) {
        *room = stk__pixels_dense(NULL, size.w, size.h, mask ? 1 : layout->channels);
        return reserve_pixels(worker, room, mask ? &worker->mask : &worker->image);
    }
    *room = mask ? stk__slot_mask(job->slot, layout, job->place, size.w, size.h)
                 : stk__slot_image(job->slot, layout, job->place, size.w, size.h);
    return room->data ? STK_OK : refuse_room(worker, job, size);
}

/* Header, plan, pixels. */
static stk_status load_image(stk__worker *worker, const sample_job *job, stk__picture *picture,
                             stk__sample_plan *plan, stk__pixels *room)
{
    const stk__recipe *recipe = worker->recipe;
    STK__TRY(open_picture(worker, job->id, STK_FIELD_IMAGE, picture));
    if (recipe->must_be_grey && picture->channels != 1) return refuse_colour(worker, job->id);
    const upright size = upright_size(picture);
    worker->note.image_resized =
        recipe->target_is_found && (size.w != recipe->target_w || size.h != recipe->target_h);
    stk__sample_plan_make(plan, recipe, size, job->slot->step.epoch, job->id);
    STK__TRY(find_room(worker, job, STK_FIELD_IMAGE, plan->decoded, room));
    const stk__encoded encoded = {worker->bytes.data, worker->bytes.size_bytes};
    const stk_status status = stk__decode_image(worker->decoder, encoded, picture, *room, &worker->error);
    if (status != STK_OK) set_place(worker, job->id, STK_FIELD_IMAGE);
    worker->note.warning = stk__decode_warning(worker->decoder, picture);
    return status;
}

/* turn: by which the mask, and points with it, become upright. */
static stk_status load_mask(stk__worker *worker, const sample_job *job, const stk__picture *image,
                            stk__pixels *room, stk__orientation *turn)
{
    const stk__recipe *recipe = worker->recipe;
    stk__picture picture;
    STK__TRY(open_picture(worker, job->id, STK_FIELD_MASK, &picture));
    stk__mask_options options = recipe->mask;
    stk__mask_frame_rule rule = recipe->frame;
    stk_status status = STK_OK;
    if (rule.frame == STK_MASK_FRAME_AUTO && worker->loader &&
        stk__mask_frame_prove(image, &picture) == STK_FRAME_OPEN)
        status = stk__loader_ask_frame(worker->loader, &rule.frame, &worker->error);
    if (status == STK_OK)
        status = stk__mask_frame_choose(&rule, image, &picture, &options.orientation, &worker->error);
    *turn = options.orientation;
    worker->note.resized = stk__mask_frame_resizes(image, &picture, *turn) ? "image" : NULL;
    if (status == STK_OK) {
        STK__TRY(
            find_room(worker, job, STK_FIELD_MASK, stk__decoded_extent(recipe, upright_size(image)), room));
        const stk__encoded encoded = {worker->bytes.data, worker->bytes.size_bytes};
        status = stk__decode_mask(worker->decoder, encoded, &picture, &options, *room, &worker->error);
    }
    if (status != STK_OK) set_place(worker, job->id, STK_FIELD_MASK);
    return status;
}

/* The fused pass writes the sample's place, or a device will. */
static stk_status augment(stk__worker *worker, const sample_job *job, const stk__sample_plan *plan,
                          const stk__augment_source *source)
{
    const stk__recipe *recipe = worker->recipe;
    const stk__layout *layout = &recipe->layout;
    stk__worker_enter(worker, STK_STAGE_AUGMENT);
    if (!recipe->kernel) {
        *stk__slot_block(job->slot, layout, job->place) = plan->resolved.block;
        return STK_OK;
    }
    stk__augment_target target = stk__slot_target(job->slot, layout, job->place);
    memcpy(target.scale, recipe->scale, sizeof target.scale);
    memcpy(target.bias, recipe->bias, sizeof target.bias);
    return recipe->kernel(&plan->resolved.block, source, &target, &worker->scratch, &worker->error);
}

/* Points follow their mask; without one the frame must have been said. */
static stk_status choose_turn(stk__worker *worker, const sample_job *job, const stk__picture *picture,
                              stk__orientation *turn)
{
    const stk_status status = stk__points_frame_choose(&worker->recipe->frame, picture, turn, &worker->error);
    if (status != STK_OK) set_place(worker, job->id, STK_FIELD_IMAGE);
    return status;
}

/* Do ids of the mask change sides? */
static bool swaps_ids(const stk__recipe *recipe, const stk__sample_plan *plan)
{
    return plan->swaps && recipe->flip.masks.count;
}

/* Image and mask into the slot or the worker's memory; then they are kept, if there is a cache with room. The
 * cache has ids as they are, whatever the plan of this epoch does to them. */
static stk_status decode_sample(stk__worker *worker, const sample_job *job, stk__sample_plan *plan,
                                stk__decoded *decoded)
{
    const stk__recipe *recipe = worker->recipe;
    stk__picture picture = {0};
    STK__TRY(load_image(worker, job, &picture, plan, &decoded->image));
    decoded->turn = 1;
    if (recipe->layout.masks)
        STK__TRY(load_mask(worker, job, &picture, &decoded->mask, &decoded->turn));
    else if (recipe->layout.point_count)
        STK__TRY(choose_turn(worker, job, &picture, &decoded->turn));
    decoded->upright_w = plan->upright.w;
    decoded->upright_h = plan->upright.h;
    decoded->note = worker->note;
    if (recipe->cache) {
        stk__worker_enter(worker, STK_STAGE_CACHE);
        stk__cache_keep(recipe->cache, job->id, decoded);
    }
    if (swaps_ids(recipe, plan)) stk__flip_mask(&recipe->flip, decoded->mask, decoded->mask);
    return STK_OK;
}

/* swaps: ids change sides on the way. */
static stk_status copy_cached(stk__worker *worker, const sample_job *job, stk__field field, bool swaps,
                              stk__pixels *pixels)
{
    stk__pixels room;
    STK__TRY(find_room(worker, job, field, (upright){pixels->w, pixels->h}, &room));
    if (swaps)
        stk__flip_mask(&worker->recipe->flip, *pixels, room);
    else
        memcpy(room.data, pixels->data, room.pitch_bytes * (size_t)room.h); /* both are dense */
    *pixels = room;
    return STK_OK;
}

/* The fused pass reads from the cache, unless ids change sides; for everything else pixels go to the slot. */
static stk_status take_cached(stk__worker *worker, const sample_job *job, stk__sample_plan *plan,
                              stk__decoded *decoded)
{
    const stk__recipe *recipe = worker->recipe;
    const upright size = {decoded->upright_w, decoded->upright_h};
    add(&worker->cache_hits, 1);
    stk__sample_plan_make(plan, recipe, size, job->slot->step.epoch, job->id);
    const bool swaps = swaps_ids(recipe, plan);
    if (recipe->kernel && !swaps) return STK_OK;
    stk__worker_enter(worker, STK_STAGE_CACHE);
    if (!recipe->kernel) STK__TRY(copy_cached(worker, job, STK_FIELD_IMAGE, false, &decoded->image));
    return decoded->mask.data ? copy_cached(worker, job, STK_FIELD_MASK, swaps, &decoded->mask) : STK_OK;
}

static stk_status load_sample(stk__worker *worker, const sample_job *job)
{
    const stk__recipe *recipe = worker->recipe;
    const stk__layout *layout = &recipe->layout;
    stk__sample_facts facts = {.room = &worker->facts};
    stk__decoded decoded = {0};
    stk__sample_plan plan;
    worker->error.place[0] = '\0';
    worker->note = job->slot->file_notes[job->place] = (stk__file_note){0};
    atomic_store_explicit(&worker->field, STK_FIELD_IMAGE, memory_order_relaxed);
    if (recipe->source->info.called) stk__worker_enter(worker, STK_STAGE_READ);
    STK__TRY(recipe->source->ops->facts(recipe->source, job->id, &facts, &worker->error));
    stk__slot_set_facts(job->slot, layout, job->place, &facts);
    stk__slot_set_id(job->slot, layout, job->place, job->id);
    if (!layout->images) return STK_OK;
    STK__TRY(stk__cache_find(recipe->cache, job->id, &decoded) ? take_cached(worker, job, &plan, &decoded)
                                                               : decode_sample(worker, job, &plan, &decoded));
    job->slot->file_notes[job->place] = decoded.note;
    const stk__file_observer *observer = recipe->observer;
    if (observer && observer->see_pixels)
        observer->see_pixels(observer->context, job->id, decoded.image, decoded.mask);
    if (layout->point_count)
        stk__points_turn(stk__slot_points(job->slot, layout, job->place), layout->point_count, decoded.turn,
                         plan.upright.w, plan.upright.h);
    stk__sample_plan_facts(&plan, recipe, job->slot, job->place);
    const stk__augment_source source = {.image = decoded.image, .mask = decoded.mask};
    return recipe->plan ? augment(worker, job, &plan, &source) : STK_OK;
}

static stk_status note_bad(stk__worker *worker, stk__slot *slot, const stk__bad *about)
{
    stk__bad bad = *about;
    bad.damage = worker->error.damage;
    stk__place_copy(bad.path, sizeof bad.path, worker->error.place);
    snprintf(bad.detail, sizeof bad.detail, "%s", worker->error.message);
    stk_error refused;
    pthread_mutex_lock(worker->recipe->lock);
    const stk_status status = stk__ledger_add(&slot->ledger, &bad, &refused);
    pthread_mutex_unlock(worker->recipe->lock);
    if (status != STK_OK) worker->error = refused;
    return status;
}

static stk_status give_up(stk__worker *worker)
{
    stk_error *error = &worker->error;
    stk__fail(error, STK_ERROR_DATA, "%d replacements of a bad sample in a row are bad, too",
              MOST_SUBSTITUTES);
    stk__error_hint(error, "too much of this data set is corrupt: 'stoker stats' lists it");
    return STK_ERROR_DATA;
}

/* An empty place. A device that finishes the batch gets one black pixel for it. */
static stk_status leave_out(stk__worker *worker, const sample_job *job)
{
    const stk__layout *layout = &worker->recipe->layout;
    const upright pixel = {1, 1};
    stk__slot_set_id(job->slot, layout, job->place, job->id);
    stk__slot_skip(job->slot, layout, job->place);
    if (!layout->store.staged) return STK_OK;
    *stk__slot_block(job->slot, layout, job->place) = (stk__augment_block){0};
    for (int field = STK_FIELD_IMAGE; field <= (layout->masks ? STK_FIELD_MASK : STK_FIELD_IMAGE); field++) {
        stk__pixels room;
        STK__TRY(find_room(worker, job, (stk__field)field, pixel, &room));
        memset(room.data, 0, room.pitch_bytes);
    }
    return STK_OK;
}

/* Partners of other batches stand in the ledger there, unless those will never come. */
static stk_status refuse_sample(stk__worker *worker, const sample_job *job, uint32_t attempt)
{
    if (job->place >= job->slot->step.count && worker->recipe->policy != STK_BAD_FAIL) return STK_OK;
    return note_bad(worker, job->slot,
                    &(stk__bad){.place = job->place, .attempt = attempt, .sample_id = job->id});
}

stk_status stk__worker_fill(stk__worker *worker, stk__slot *slot, const stk__stream *stream, uint64_t place)
{
    const stk__recipe *recipe = worker->recipe;
    const uint64_t position = stk__slot_position(slot, place);
    sample_job job = {slot, place, stk__stream_id(stream, &slot->order, position)};
    for (uint32_t attempt = 0;; attempt++) {
        atomic_store_explicit(&worker->sample_id, job.id, memory_order_relaxed);
        const stk_status status = load_sample(worker, &job);
        if (status != STK_ERROR_SAMPLE) return status;
        STK__TRY(refuse_sample(worker, &job, attempt));
        if (recipe->policy == STK_BAD_FAIL) return STK_ERROR_SAMPLE;
        if (recipe->policy == STK_BAD_SKIP) return leave_out(worker, &job);
        if (attempt == MOST_SUBSTITUTES) return give_up(worker);
        job.id = stk__stream_substitute(stream, slot->step.epoch, position, attempt);
    }
}

stk_status stk__worker_peek(stk__worker *worker, uint64_t id, stk__picture *picture)
{
    atomic_store_explicit(&worker->sample_id, id, memory_order_relaxed);
    worker->error.place[0] = '\0';
    const stk_status status = open_picture(worker, id, STK_FIELD_IMAGE, picture);
    if (status == STK_OK) {
        const upright size = upright_size(picture);
        picture->w = size.w;
        picture->h = size.h;
    }
    stk__worker_enter(worker, STK_STAGE_IDLE);
    return status;
}
