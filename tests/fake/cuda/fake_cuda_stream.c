/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: queues with a thread each, and events, which alone order them. */
#include "fake_gpu.h"

#include "core/clock.h"

#include <stdlib.h>
#include <string.h>

static fake_stream *defaults[FAKE_GPUS]; /* lock: the default streams of this age */
static uint64_t records;                 /* lock: numbers of records of events */
static int streams;                      /* lock: numbers in the trace */
static fake_stream *all_streams;         /* lock: the newest, of any age */

static fake_stream *make_stream(int gpu)
{
    fake_stream *stream = fake_make(FAKE_STREAM, gpu, sizeof *stream);
    if (!stream) return NULL;
    pthread_mutex_lock(&fake_lock);
    stream->number = streams++;
    stream->last = &stream->first;
    stream->other = all_streams;
    all_streams = stream;
    pthread_mutex_unlock(&fake_lock);
    return stream;
}

fake_stream *fake_stream_of(void *handle, int gpu)
{
    if (handle && handle != STK_CU_STREAM_LEGACY) return fake_is(handle, FAKE_STREAM, gpu) ? handle : NULL;
    pthread_mutex_lock(&fake_lock);
    fake_stream *stream = defaults[gpu];
    const bool fresh = !stream || stream->handle.age != fake_age;
    pthread_mutex_unlock(&fake_lock);
    if (!fresh) return stream;
    stream = make_stream(gpu);
    pthread_mutex_lock(&fake_lock);
    if (stream) stream->legacy = true;
    defaults[gpu] = stream;
    fake_counts[FAKE_STREAMS] -= stream != NULL; /* nobody has to destroy it */
    pthread_mutex_unlock(&fake_lock);
    return stream;
}

void fake_release_streams(const struct fake_graph *graph)
{
    for (fake_stream *s = all_streams; s; s = s->other)
        if (s->capture == graph) s->capture = NULL;
}

/* Lock held. */
static void finish_work(fake_stream *stream)
{
    fake_work *work = stream->first;
    stream->first = work->next;
    if (!stream->first) stream->last = &stream->first;
    for (int i = 0; i < 5; i++)
        if (work->uses[i]) work->uses[i]->uses--;
    fake_counts[FAKE_WORK]--;
    pthread_cond_broadcast(&fake_changed);
    if (work->own) free((void *)(uintptr_t)work->from);
    free(work);
}

static void *run_stream(void *context)
{
    fake_stream *stream = context;
    pthread_mutex_lock(&fake_lock);
    while (stream->first || (!stream->handle.dead && stream->handle.age == fake_age)) {
        fake_work *work = stream->first;
        if (!work || (work->waits && work->event->reached < work->number)) {
            pthread_cond_wait(&fake_changed, &fake_lock);
            continue;
        }
        if (work->waits && stream->model_ns < work->event->model_ns) stream->model_ns = work->event->model_ns;
        if (!work->waits) {
            pthread_mutex_unlock(&fake_lock);
            fake_run_work(stream, work);
            pthread_mutex_lock(&fake_lock);
        }
        finish_work(stream);
    }
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

/* Lock held. Nobody joins it: a program may end while work hangs. */
static bool start_thread(fake_stream *stream)
{
    pthread_t thread;
    if (stream->started) return true;
    if (pthread_create(&thread, NULL, run_stream, stream) != 0) return false;
    pthread_detach(thread);
    return stream->started = true;
}

static void free_work(fake_work *work)
{
    if (work->own) free((void *)(uintptr_t)work->from);
    free(work);
}

int fake_queue(fake_stream *stream, fake_work *work)
{
    const int captured = fake_capture_work(stream, work);
    if (captured > 0) free_work(work);
    if (captured >= 0) return captured;
    pthread_mutex_lock(&fake_lock);
    const bool good = start_thread(stream);
    for (int i = 0; good && i < 5; i++)
        if (work->uses[i]) work->uses[i]->uses++;
    if (good) {
        *stream->last = work;
        stream->last = &work->next;
        fake_counts[FAKE_WORK]++;
        pthread_cond_broadcast(&fake_changed);
    }
    pthread_mutex_unlock(&fake_lock);
    if (good) return CUDA_SUCCESS;
    free_work(work);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void fake_drain(fake_stream *stream)
{
    pthread_mutex_lock(&fake_lock);
    while (stream->first)
        pthread_cond_wait(&fake_changed, &fake_lock);
    pthread_mutex_unlock(&fake_lock);
}

int cuStreamCreate(stk__cu_handle *stream, unsigned flags)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuStreamCreate, &gpu);
    FAKE_SPOIL(stream);
    if (code) return code;
    if (flags > CU_STREAM_NON_BLOCKING) return FAKE_CUDA_ERROR_INVALID_VALUE;
    fake_stream *made = make_stream(gpu);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    made->blocking = flags != CU_STREAM_NON_BLOCKING;
    *stream = made;
    return CUDA_SUCCESS;
}

/* Its work is still done; so says the driver's documentation. */
int cuStreamDestroy_v2(stk__cu_handle stream)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuStreamDestroy_v2, &gpu);
    if (gpu < 0) return code;
    if (!fake_is(stream, FAKE_STREAM, gpu)) return code ? code : FAKE_CUDA_ERROR_INVALID_HANDLE;
    fake_end(stream);
    return code;
}

int cuStreamWaitEvent(stk__cu_handle stream, stk__cu_handle event, unsigned flags)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuStreamWaitEvent, &gpu);
    if (code || flags) return code ? code : FAKE_CUDA_ERROR_INVALID_VALUE;
    fake_stream *s = fake_stream_of(stream, gpu);
    if (!s || !fake_is(event, FAKE_EVENT, FAKE_ANY)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    const int captured = fake_capture_wait(s, event);
    if (captured >= 0) return captured;
    fake_work *work = calloc(1, sizeof *work);
    if (!work) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake_lock);
    *work = (fake_work){.waits = true, .event = event, .number = ((fake_event *)event)->recorded};
    pthread_mutex_unlock(&fake_lock);
    return fake_queue(s, work);
}

int cuEventCreate(stk__cu_handle *event, unsigned flags)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuEventCreate, &gpu);
    FAKE_SPOIL(event);
    if (code) return code;
    if (flags > 7) return FAKE_CUDA_ERROR_INVALID_VALUE;
    fake_event *made = fake_make(FAKE_EVENT, gpu, sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    made->timed = !(flags & CU_EVENT_DISABLE_TIMING);
    *event = made;
    return CUDA_SUCCESS;
}

int cuEventDestroy_v2(stk__cu_handle event)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuEventDestroy_v2, &gpu);
    if (gpu < 0) return code;
    if (!fake_is(event, FAKE_EVENT, FAKE_ANY)) return code ? code : FAKE_CUDA_ERROR_INVALID_HANDLE;
    fake_end(event);
    return code;
}

int cuEventRecord(stk__cu_handle event, stk__cu_handle stream)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuEventRecord, &gpu);
    if (code) return code;
    fake_stream *s = fake_stream_of(stream, gpu);
    if (!s || !fake_is(event, FAKE_EVENT, gpu)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    const int captured = fake_capture_record(s, event);
    if (captured >= 0) return captured;
    fake_work *work = calloc(1, sizeof *work);
    if (!work) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake_lock);
    *work = (fake_work){.function = FAKE_record, .event = event, .number = ++records};
    work->event->recorded = work->number;
    pthread_mutex_unlock(&fake_lock);
    return fake_queue(s, work);
}

int cuEventQuery(stk__cu_handle event)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuEventQuery, &gpu);
    if (code) return code;
    if (!fake_is(event, FAKE_EVENT, FAKE_ANY)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    const fake_event *e = event;
    const int captured = fake_capture_ask(e);
    if (captured) return captured;
    pthread_mutex_lock(&fake_lock);
    const bool reached = e->reached >= e->recorded;
    pthread_mutex_unlock(&fake_lock);
    const int late = fake_lost(e->handle.gpu); /* the work before it may have failed meanwhile */
    return late ? late : reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

int cuEventElapsedTime(float *ms, stk__cu_handle start, stk__cu_handle end)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuEventElapsedTime, &gpu);
    FAKE_SPOIL(ms);
    if (code) return code;
    if (!fake_is(start, FAKE_EVENT, gpu) || !fake_is(end, FAKE_EVENT, gpu))
        return FAKE_CUDA_ERROR_INVALID_HANDLE;
    const fake_event *a = start, *b = end;
    pthread_mutex_lock(&fake_lock);
    const bool good = a->timed && b->timed && a->recorded && b->recorded;
    const bool reached = good && a->reached >= a->recorded && b->reached >= b->recorded;
    const bool modelled = fake.gpus[gpu].core_mhz > 0;
    if (reached && modelled) *ms = (float)((b->model_ns - a->model_ns) * 1e-6);
    if (reached && !modelled) *ms = (float)((double)((int64_t)b->reached_ns - (int64_t)a->reached_ns) * 1e-6);
    pthread_mutex_unlock(&fake_lock);
    return !good ? FAKE_CUDA_ERROR_INVALID_HANDLE : reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

int fake_cuda_settle(void *stream, int device)
{
    const int gpu = fake_listed(device);
    fake_stream *known = gpu == FAKE_ANY ? NULL : fake_stream_of(stream, gpu);
    if (known) fake_drain(known);
    return gpu == FAKE_ANY ? 0 : fake_lost(gpu);
}
