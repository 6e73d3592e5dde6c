/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at a few samples when a loader opens: which image size is common, and are there colours? In a
 * thread of its own with a deadline, because a read can hang; a thread that does is left behind with its
 * memory. */
#include "loader/pump.h"

#include "core/clock.h"

/* A few samples spread over the part are enough to know a size that images have, and whether there are any
 * with colours. It runs in a thread of its own, because a read can hang. */
enum { GOOD_ENOUGH = 8, MOST_TRIES = 64 };

typedef struct probe {
    stk_loader *loader;
    stk__worker worker;
    stk__picture common;
    int good;
    stk_error first_error;
} probe;

static void look_at_samples(void *argument)
{
    probe *p = argument;
    stk__stream training = p->loader->stream;
    if (training.take_held) { /* of a split: both parts have the size that the training part has */
        training.take_held = false;
        training.count = training.split.count - training.split.held;
    }
    const stk__stream *stream = &training;
    const stk__order order = {.kind = STK_ORDER_SEQUENTIAL, .count = stream->count};
    const uint64_t tries = stream->count < MOST_TRIES ? stream->count : MOST_TRIES;
    for (uint64_t i = 0; i < tries && p->good < GOOD_ENOUGH; i++) {
        /* 0, 9, 18, … modulo the number of tries: spread even when the first eight are good */
        const uint64_t index = tries == MOST_TRIES ? i * 9 % MOST_TRIES : i;
        stk__picture picture = {0};
        const stk_status status = stk__worker_peek(
            &p->worker, stk__stream_id(stream, &order, index * stream->count / tries), &picture);
        if (status != STK_OK) {
            if (p->first_error.code == STK_OK) p->first_error = p->worker.error;
            if (status != STK_ERROR_SAMPLE) return;
            continue;
        }
        if (p->good++ == 0) p->common = picture;
        if (picture.channels > p->common.channels) p->common.channels = picture.channels;
    }
}

static stk_status judge(const probe *p, stk_error *error)
{
    if (p->good) return STK_OK;
    if (p->first_error.code != STK_ERROR_SAMPLE) {
        if (error) *error = p->first_error;
        return p->first_error.code;
    }
    stk__fail(error, STK_ERROR_DATA, "none of the samples that were checked is usable; the first: %s",
              p->first_error.message);
    stk__error_place(error, "%s", p->first_error.place);
    if (p->first_error.hint[0]) stk__error_hint(error, "%s", p->first_error.hint);
    return STK_ERROR_DATA;
}

static stk_status name_hanging_file(const probe *p, stk_error *error)
{
    char path[4096];
    const uint64_t id = atomic_load(&p->worker.sample_id);
    p->loader->source->ops->where(p->loader->source, id, STK_FIELD_IMAGE, path, sizeof path);
    stk__fail(error, STK_ERROR_TIMEOUT, "thread 'stk-probe' hangs in stage '%s' of sample %llu for %g s",
              stk_stage_name((stk_stage)atomic_load(&p->worker.stage)), (unsigned long long)id,
              p->loader->timeout_s);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "%s, or raise data.timeout", stk__source_hang_hint(p->loader->source));
    return STK_ERROR_TIMEOUT;
}

/* False when one read or one header takes longer than the time-out. */
static bool wait_for_probe(const probe *p, stk__thread **thread)
{
    stk__watch watch = stk__watch_make(p->loader->timeout_s);
    while (!stk__thread_join(thread, stk__clock_ns() + watch.pause_ns)) {
        stk__watch_look(&watch);
        if (stk__watch_busy_ns(&watch, &p->worker) >= stk__seconds_ns(p->loader->timeout_s)) return false;
    }
    return true;
}

/* Memory of probes whose thread hangs: it may still come back and write there. */
static _Atomic(probe *) left_behind;

stk_status stk__loader_probe(stk_loader *loader, stk__picture *common, stk_error *error)
{
    probe *p = stk__alloc(sizeof *p);
    if (!p) return stk__fail_memory(error, sizeof *p, "a look at the data set");
    p->loader = loader;
    stk__thread *thread = NULL;
    const stk__thread_options options = {.name = "stk-probe", .run = look_at_samples, .context = p};
    stk_status status = stk__worker_init(&p->worker, &loader->recipe, error);
    if (status == STK_OK) status = stk__thread_start(&thread, &options, error);
    if (status == STK_OK && !wait_for_probe(p, &thread)) {
        status = name_hanging_file(p, error);
        stk__thread_abandon(&thread);
        atomic_store(&left_behind, p);
        return status;
    }
    if (status == STK_OK) status = judge(p, error);
    *common = p->common;
    loader->read_bytes = p->worker.bytes.capacity_bytes;
    stk__worker_fini(&p->worker);
    stk__free(p);
    return status;
}
