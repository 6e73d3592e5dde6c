/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads that pack samples in any order and one consumer that takes them in the order of ids, with
 * a ring of places between them: sample id lies at id % places, so the shards' bytes do not depend on
 * timing. One lock, two conditions; a worker that hangs is named and left behind with its memory. */
#include "pack/pack_crew.h"

#include "core/clock.h"
#include "core/thread.h"

#include <limits.h>
#include <stdio.h>

static const uint64_t tick_ns = STK_SECOND_NS / 10, patience_ns = STK_SECOND_NS / 2;

typedef enum place_state { PLACE_FREE, PLACE_FILLING, PLACE_READY } place_state;

/* state: under the lock. The outcome belongs to whoever the state says. */
typedef struct place {
    place_state state;
    stk__pack_outcome outcome;
} place;

typedef struct worker {
    struct stk__pack_crew *crew;
    stk__packer packer;
    stk__thread *thread;
} worker;

/* Heap memory: a worker that hangs is left behind together with it. */
struct stk__pack_crew {
    stk__pack_crew_options options;
    pthread_mutex_t lock;
    pthread_cond_t room, ready; /* a place became free; a sample became ready */
    /* Under the lock: */
    uint64_t next; /* id that no worker has taken yet */
    bool halt;

    uint64_t taken; /* the consumer's: id of the next sample it takes */
    bool lent;      /* the consumer's: the sample before it is still in its place */
    uint64_t place_count;
    place *places; /* [place_count]; sample id is at id % place_count */
    int worker_count;
    worker workers[]; /* one more than threads: without any, the consumer's own */
};

static place *place_of(const stk__pack_crew *crew, uint64_t id)
{
    return &crew->places[id % crew->place_count];
}

static void fill_place(worker *self, place *to, uint64_t id)
{
    stk__pack_outcome *outcome = &to->outcome;
    outcome->id = id;
    outcome->status = stk__packer_pack(&self->packer, id, &outcome->packed, &outcome->error);
}

/* Waits for a free place for the next sample; NULL when there is nothing left to do. Under the lock. */
static place *claim_place(stk__pack_crew *crew, uint64_t *id)
{
    while (!crew->halt && crew->next < crew->options.end) {
        place *to = place_of(crew, crew->next);
        if (to->state == PLACE_FREE) {
            *id = crew->next++;
            to->state = PLACE_FILLING;
            return to;
        }
        stk__cond_wait(&crew->room, &crew->lock, stk__clock_ns() + STK_SECOND_NS);
    }
    return NULL;
}

static void work(void *context)
{
    worker *self = context;
    stk__pack_crew *crew = self->crew;
    uint64_t id;
    pthread_mutex_lock(&crew->lock);
    for (place *to; (to = claim_place(crew, &id));) {
        pthread_mutex_unlock(&crew->lock);
        fill_place(self, to, id);
        pthread_mutex_lock(&crew->lock);
        to->state = PLACE_READY;
        pthread_cond_signal(&crew->ready);
    }
    pthread_mutex_unlock(&crew->lock);
}

/* --- life ---------------------------------------------------------------------------------------------- */

static void destroy_crew(stk__pack_crew *crew)
{
    for (int i = 0; i < crew->worker_count; i++)
        stk__packer_fini(&crew->workers[i].packer);
    for (uint64_t i = 0; crew->places && i < crew->place_count; i++)
        stk__buffer_fini(&crew->places[i].outcome.packed.tar);
    stk__free(crew->places);
    pthread_cond_destroy(&crew->room);
    pthread_cond_destroy(&crew->ready);
    pthread_mutex_destroy(&crew->lock);
    stk__free(crew);
}

int stk__pack_crew_stop(stk__pack_crew **pointer)
{
    stk__pack_crew *crew = *pointer;
    int hanging = 0;
    *pointer = NULL;
    if (!crew) return 0;
    pthread_mutex_lock(&crew->lock);
    crew->halt = true;
    pthread_cond_broadcast(&crew->room);
    pthread_mutex_unlock(&crew->lock);
    const uint64_t deadline_ns = stk__clock_ns() + patience_ns;
    for (int i = 0; i < crew->worker_count; i++) {
        if (stk__thread_join(&crew->workers[i].thread, deadline_ns)) continue;
        stk__thread_abandon(&crew->workers[i].thread);
        hanging++;
    }
    if (!hanging) destroy_crew(crew);
    return hanging;
}

static stk_status start_worker(stk__pack_crew *crew, int number, stk_error *error)
{
    worker *self = &crew->workers[number];
    self->crew = crew;
    STK__TRY(stk__packer_init(&self->packer, crew->options.source, &crew->options.limits, error));
    self->packer.colors = crew->options.colors;
    if (!crew->options.workers) return STK_OK;
    stk__thread_options options = {.run = work, .context = self};
    snprintf(options.name, sizeof options.name, "stk-pack-%u", (unsigned)number % 1000);
    const stk_status status = stk__thread_start(&self->thread, &options, error);
    if (status == STK_ERROR_THREAD)
        stk__error_hint(error,
                        "lower pack.num_workers, or raise the limit on threads (ulimit -u, cgroup pids.max)");
    return status;
}

static stk_status start_all(stk__pack_crew *crew, stk_error *error)
{
    crew->places = stk__alloc((size_t)crew->place_count * sizeof *crew->places);
    if (!crew->places)
        return stk__fail_memory(error, crew->place_count * sizeof *crew->places, "samples on their way");
    for (int i = 0; i < crew->worker_count; i++)
        STK__TRY(start_worker(crew, i, error));
    return STK_OK;
}

static stk_status make_conditions(stk__pack_crew *crew, stk_error *error)
{
    STK__TRY(stk__cond_init(&crew->room, error));
    const stk_status status = stk__cond_init(&crew->ready, error);
    if (status == STK_OK)
        pthread_mutex_init(&crew->lock, NULL);
    else
        pthread_cond_destroy(&crew->room);
    return status;
}

stk_status stk__pack_crew_start(stk__pack_crew **out, const stk__pack_crew_options *options, stk_error *error)
{
    const int workers = options->workers > 1 ? options->workers : 1;
    const size_t size = sizeof(stk__pack_crew) + (size_t)workers * sizeof(worker);
    stk__pack_crew *crew = *out = stk__alloc(size);
    if (!crew) return stk__fail_memory(error, size, "the workers");
    crew->options = *options;
    crew->next = crew->taken = options->first;
    crew->worker_count = workers;
    crew->place_count = (uint64_t)options->workers * 2 + 2;
    stk_status status = make_conditions(crew, error);
    if (status != STK_OK) {
        stk__free(crew);
        *out = NULL;
        return status;
    }
    status = start_all(crew, error);
    if (status != STK_OK) stk__pack_crew_stop(out);
    return status;
}

/* --- the consumer -------------------------------------------------------------------------------------- */

static stk_status refuse_hang(const stk__pack_crew *crew, stk_error *error)
{
    char path[PATH_MAX];
    const stk__source *source = crew->options.source;
    source->ops->where(source, crew->taken, STK_FIELD_IMAGE, path, sizeof path);
    stk__fail(error, STK_ERROR_TIMEOUT, "no sample was read for %g s: reading hangs",
              crew->options.timeout_s);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "check the disk or network it is on; the same command resumes");
    return STK_ERROR_TIMEOUT;
}

static bool is_stopped(const stk__pack_crew *crew)
{
    return crew->options.stop && atomic_load(crew->options.stop);
}

/* The state of the place; when it is not ready, that is after a tick. */
static place_state await_place(stk__pack_crew *crew, const place *from)
{
    pthread_mutex_lock(&crew->lock);
    if (from->state != PLACE_READY) stk__cond_wait(&crew->ready, &crew->lock, stk__clock_ns() + tick_ns);
    const place_state state = from->state;
    pthread_mutex_unlock(&crew->lock);
    return state;
}

/* A tick counts as one however long it took: while the whole process was stopped, nothing hung. */
static stk_status await_sample(stk__pack_crew *crew, const place *from, stk_error *error)
{
    const uint64_t timeout_ns = stk__seconds_ns(crew->options.timeout_s);
    uint64_t waited_ns = 0, last_ns = stk__clock_ns();
    for (place_state state; (state = await_place(crew, from)) != PLACE_READY;) {
        const uint64_t now_ns = stk__clock_ns(), tick = now_ns - last_ns;
        last_ns = now_ns;
        if (state == PLACE_FILLING) waited_ns += tick < 2 * tick_ns ? tick : tick_ns;
        if (is_stopped(crew)) return stk__fail(error, STK_ERROR_INTERRUPTED, "stopped");
        if (waited_ns > timeout_ns) return refuse_hang(crew, error);
        if (crew->options.idle) crew->options.idle(crew->options.context);
    }
    return STK_OK;
}

static void give_back(stk__pack_crew *crew)
{
    if (!crew->lent) return;
    crew->lent = false;
    pthread_mutex_lock(&crew->lock);
    place_of(crew, crew->taken - 1)->state = PLACE_FREE;
    pthread_cond_broadcast(&crew->room);
    pthread_mutex_unlock(&crew->lock);
}

stk_status stk__pack_crew_take(stk__pack_crew *crew, const stk__pack_outcome **outcome, stk_error *error)
{
    give_back(crew);
    if (crew->taken == crew->options.end) return STK_END;
    if (is_stopped(crew)) return stk__fail(error, STK_ERROR_INTERRUPTED, "stopped");
    place *from = place_of(crew, crew->taken);
    if (crew->options.workers)
        STK__TRY(await_sample(crew, from, error));
    else
        fill_place(&crew->workers[0], from, crew->taken);
    crew->taken++;
    crew->lent = true;
    *outcome = &from->outcome;
    return STK_OK;
}
