/* SPDX-License-Identifier: Apache-2.0 */
/* One polling thread per GPU, with a deadline for every driver call: a thread that hangs is abandoned, the
 * GPU is reported as hung, and a new thread tries again at growing intervals. The lock guards what was
 * published; driver calls are made without it. */
#include "monitor/gpu_poller.h"

#include "core/thread.h"
#include "monitor/poll_merge.h"

#include <assert.h>
#include <stdio.h>

#define LOST_GRACE_NS (STK_SECOND_NS / 10) /* when closing: a hung thread may be about to return */

enum {
    MOST_LOST = 3,    /* hanging threads per GPU; then no more are started */
    MOST_DOUBLING = 6 /* of the time between two attempts to revive */
};

/* A thread and its private data. */
typedef struct member {
    stk__gpu_poller *poller;
    stk__thread *thread;
    stk__poller_context context;
    stk_gpu_frame frame;
    bool down;     /* not read before it was revived */
    bool left;     /* lock: hung and abandoned, its results are dropped */
    bool finished; /* lock: about to end */
} member;

struct stk__gpu_poller {
    stk__gpu_poller_options options;
    pthread_mutex_t lock;
    pthread_cond_t wake;      /* lock: for the thread */
    pthread_cond_t published; /* lock: for the owner */
    bool stopping, asked;     /* lock */
    uint64_t polled_ns;       /* lock: start of the last successful poll; 0: none */
    uint64_t revive_ns;       /* lock: not before */
    int failures;             /* lock: attempts since the last good state */
    stk__poll_merge merge;    /* lock: polls that the owner has not taken yet */
    member *current;          /* owner: NULL while too many hang */
    member *lost[MOST_LOST];  /* owner */
};

static uint64_t next_poll(const stk__gpu_poller *l, uint64_t now_ns)
{
    const stk__gpu_poller_options *o = &l->options;
    if (now_ns < o->start_ns) return o->start_ns;
    return o->start_ns + ((now_ns - o->start_ns) / o->gap_ns + 1) * o->gap_ns;
}

/* Half a deadline, one, two, four … */
static void put_off(stk__gpu_poller *l)
{
    const int doublings = l->failures < MOST_DOUBLING ? l->failures : MOST_DOUBLING;
    l->revive_ns = stk__clock_ns() + (l->options.deadline_ns / 2 << doublings);
    l->failures++;
}

static void end_call(member *m)
{
    atomic_store_explicit(&m->context.beat_ns, 0, memory_order_relaxed);
}

/* Without the lock. False: the GPU is down and the next attempt is not due, or the attempt failed. */
static bool poll_gpu(member *m, bool may_revive)
{
    const stk__reader_ops *ops = m->context.reader->ops;
    if (m->down) {
        if (!may_revive) return false;
        stk__poller_context_beat(&m->context);
        const bool there = ops->revive(&m->context);
        end_call(m);
        if (!there) return false;
    }
    stk__gpu_frame_clear(&m->frame);
    stk__poller_context_beat(&m->context);
    ops->read(&m->context, &m->frame);
    end_call(m);
    return true;
}

/* With the lock. */
static void publish(stk__gpu_poller *l, member *m, bool read, bool tried)
{
    if (read) {
        m->down = m->frame.state != STK_GPU_GOOD;
        stk__poll_merge_add(&l->merge, &m->frame);
        if (!m->down) l->failures = 0;
    }
    if (m->down && (read || tried)) put_off(l);
}

static void do_turn(stk__gpu_poller *l, member *m)
{
    const uint64_t now_ns = stk__clock_ns();
    const bool may_revive = now_ns >= l->revive_ns, tried = m->down && may_revive;
    l->asked = false;
    pthread_mutex_unlock(&l->lock);
    const bool read = poll_gpu(m, may_revive);
    pthread_mutex_lock(&l->lock);
    if (m->left) return;
    publish(l, m, read, tried);
    l->polled_ns = now_ns;
    pthread_cond_signal(&l->published);
}

static void watch(void *context)
{
    member *m = context;
    stk__gpu_poller *l = m->poller;
    pthread_mutex_lock(&l->lock);
    uint64_t next_ns = 0;
    while (!l->stopping && !m->left) {
        if (!l->asked && stk__clock_ns() < next_ns) {
            stk__cond_wait(&l->wake, &l->lock, next_ns);
            continue;
        }
        next_ns = next_poll(l, stk__clock_ns());
        do_turn(l, m);
    }
    pthread_mutex_unlock(&l->lock);
    if (m->context.reader->ops->leave) m->context.reader->ops->leave(&m->context);
    pthread_mutex_lock(&l->lock);
    m->finished = true;
    if (m->left) { /* the driver responds again: retry at once */
        l->revive_ns = 0;
        l->asked = true;
        pthread_cond_signal(&l->wake);
    }
    pthread_mutex_unlock(&l->lock);
}

static void free_member(member **m)
{
    if (!*m) return;
    stk__free((*m)->context.state);
    stk__free(*m);
    *m = NULL;
}

static stk_status start_member(stk__gpu_poller *l, bool down, stk_error *error)
{
    const size_t state_bytes = l->options.reader->ops->state_bytes;
    member *m = stk__alloc(sizeof *m);
    if (!m) return stk__fail_memory(error, sizeof *m, "a reader thread");
    m->poller = l;
    m->down = down;
    m->context.reader = l->options.reader;
    m->context.number = l->options.number;
    m->context.state = stk__alloc(state_bytes);
    stk__thread_options options = {.run = watch, .context = m};
    snprintf(options.name, sizeof options.name, "stk-gpu%d", l->options.number);
    const stk_status status = m->context.state ? stk__thread_start(&m->thread, &options, error)
                                               : stk__fail_memory(error, state_bytes, "a reader's state");
    if (status == STK_OK)
        l->current = m;
    else
        free_member(&m);
    return status;
}

stk_status stk__gpu_poller_open(stk__gpu_poller **out, const stk__gpu_poller_options *options,
                                stk_error *error)
{
    *out = NULL;
    stk__gpu_poller *l = stk__alloc(sizeof *l);
    if (!l) return stk__fail_memory(error, sizeof *l, "a GPU poller");
    l->options = *options;
    snprintf(l->merge.frame.note, sizeof l->merge.frame.note, "no response yet");
    pthread_mutex_init(&l->lock, NULL);
    stk_status status = stk__cond_init(&l->wake, error);
    if (status == STK_OK) status = stk__cond_init(&l->published, error);
    if (status == STK_OK) status = start_member(l, false, error);
    if (status == STK_OK)
        *out = l;
    else
        stk__free(l);
    return status;
}

void stk__gpu_poller_ask(stk__gpu_poller *l)
{
    pthread_mutex_lock(&l->lock);
    l->asked = true;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

void stk__gpu_poller_wait(stk__gpu_poller *l, uint64_t since_ns, uint64_t until_ns)
{
    pthread_mutex_lock(&l->lock);
    while (l->current && !l->current->down && l->polled_ns < since_ns)
        if (!stk__cond_wait(&l->published, &l->lock, until_ns)) break;
    pthread_mutex_unlock(&l->lock);
}

static bool hangs(const stk__gpu_poller *l)
{
    const uint64_t beat_ns = atomic_load_explicit(&l->current->context.beat_ns, memory_order_relaxed);
    return beat_ns && stk__clock_ns() > beat_ns + l->options.deadline_ns;
}

/* Slot for a hanging thread; NULL: all are in use. Frees the slots of those that returned. */
static member **find_place(stk__gpu_poller *l)
{
    member **place = NULL;
    for (int i = 0; i < MOST_LOST; i++) {
        member *m = l->lost[i];
        pthread_mutex_lock(&l->lock);
        const bool finished = m && m->finished;
        pthread_mutex_unlock(&l->lock);
        if (finished && stk__thread_join(&m->thread, stk__clock_ns() + STK_SECOND_NS))
            free_member(&l->lost[i]);
        if (!l->lost[i]) place = &l->lost[i];
    }
    return place;
}

/* Marks the GPU as hung and abandons the thread. False: its call returned at the last moment. */
static bool leave_current(stk__gpu_poller *l)
{
    char note[sizeof l->merge.frame.note];
    snprintf(note, sizeof note, "driver call timed out after %g s", (double)l->options.deadline_ns / 1e9);
    pthread_mutex_lock(&l->lock);
    const bool left = l->current->left = hangs(l);
    if (left) {
        stk__poll_merge_down(&l->merge, STK_GPU_HUNG, note);
        put_off(l);
    }
    pthread_mutex_unlock(&l->lock);
    return left;
}

void stk__gpu_poller_check(stk__gpu_poller *l)
{
    if (l->current && !hangs(l)) return;
    member **place = find_place(l);
    if (l->current) {
        assert(place); /* a thread is started only if there is a slot for it */
        if (!leave_current(l)) return;
        *place = l->current;
        l->current = NULL;
        place = find_place(l);
    }
    if (place) start_member(l, true, NULL); /* failed: retried at the next check */
}

/* Not hung yet, but slow: averages over this interval become unknown. Instantaneous values stay, with their
 * age. */
static void mark_silent(const stk__gpu_poller *l, uint64_t now_ns, stk_gpu_frame *frame)
{
    const uint64_t some_ns = l->options.gap_ns * 3 / 2, more_ns = l->options.deadline_ns / 2;
    const uint64_t patience_ns = some_ns > more_ns ? some_ns : more_ns;
    if (frame->state != STK_GPU_GOOD || !l->polled_ns || now_ns < l->polled_ns + patience_ns) return;
    for (int i = STK_METRIC_UTIL; i <= STK_METRIC_DRAM_ACTIVE; i++)
        if (frame->readings[i].known == STK_KNOWN) frame->readings[i] = (stk_reading){0};
    snprintf(frame->note, sizeof frame->note, "no response for %.1f s",
             (double)(now_ns - l->polled_ns) / 1e9);
}

void stk__gpu_poller_take(stk__gpu_poller *l, stk_gpu_frame *frame)
{
    const uint64_t now_ns = stk__clock_ns();
    pthread_mutex_lock(&l->lock);
    stk__poll_merge_take(&l->merge, frame);
    if (!frame->load_count) mark_silent(l, now_ns, frame);
    pthread_mutex_unlock(&l->lock);
}

void stk__gpu_poller_stop(stk__gpu_poller *l)
{
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

static int end_member(member **m, uint64_t until_ns)
{
    if (!*m) return 0;
    if (stk__thread_join(&(*m)->thread, until_ns)) {
        free_member(m);
        return 0;
    }
    stk__thread_abandon(&(*m)->thread);
    return 1;
}

int stk__gpu_poller_close(stk__gpu_poller **poller, uint64_t until_ns)
{
    stk__gpu_poller *l = *poller;
    if (!l) return 0;
    stk__gpu_poller_stop(l);
    int left = end_member(&l->current, until_ns);
    const uint64_t soon_ns = stk__clock_ns() + LOST_GRACE_NS;
    for (int i = 0; i < MOST_LOST; i++)
        left += end_member(&l->lost[i], soon_ns);
    *poller = NULL;
    if (left) return left; /* they still use it */
    pthread_cond_destroy(&l->published);
    pthread_cond_destroy(&l->wake);
    pthread_mutex_destroy(&l->lock);
    stk__free(l);
    return 0;
}
