/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of work: how long they take, what they do to memory, and their trace. */
#include "fake_gpu.h"

#include "core/clock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t dice;      /* lock */
static int dice_age;       /* lock */
static FILE *trace;        /* lock */
static char trace_of[512]; /* lock: the file's name */

/* An engine does one thing at a time: copies in, copies out, kernels. */
enum { ENGINES = 3 };
static uint64_t busy_until_ns[FAKE_GPUS][ENGINES]; /* lock */

uint64_t fake_random(void)
{
    pthread_mutex_lock(&fake_lock);
    if (dice_age != fake_age) dice = fake.seed;
    dice_age = fake_age;
    dice += UINT64_C(0x9E3779B97F4A7C15); /* splitmix64 */
    uint64_t z = dice;
    pthread_mutex_unlock(&fake_lock);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void sleep_until(uint64_t until_ns)
{
    const struct timespec until = {(time_t)(until_ns / STK_SECOND_NS), (long)(until_ns % STK_SECOND_NS)};
    if (until_ns > stk__clock_ns()) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Half of all work comes at once or nearly so, the rest up to late_us later. */
static void be_late(void)
{
    const uint64_t drawn = fake_random();
    if (fake.late_us <= 0) return;
    if (drawn % 4 == 0) sched_yield();
    if (drawn % 4 < 2) return;
    const double share = (double)(drawn >> 40) / (double)(1 << 24);
    sleep_until(stk__clock_ns() + (uint64_t)(fake.late_us * share * 1e3));
}

static uint64_t duration_ns(const fake_work *work)
{
    if (work->function == FAKE_kernel) return (uint64_t)(fake.kernel_ms[work->kernel] * 1e6);
    return fake.copy_gb_per_s > 0 ? (uint64_t)((double)work->bytes / fake.copy_gb_per_s) : 0;
}

/* The engine's turn: from when it is free until it has taken its time. */
static uint64_t take_engine(const fake_work *work, int gpu, uint64_t *end_ns)
{
    const int engine = work->function == FAKE_copy_in ? 0 : work->function == FAKE_copy_out ? 1 : 2;
    uint64_t start_ns = stk__clock_ns();
    pthread_mutex_lock(&fake_lock);
    uint64_t *busy = &busy_until_ns[gpu][engine];
    if (*busy > start_ns) start_ns = *busy;
    *end_ns = start_ns + duration_ns(work);
    *busy = *end_ns;
    pthread_mutex_unlock(&fake_lock);
    sleep_until(start_ns);
    return start_ns;
}

void fake_trace(const fake_stream *stream, const fake_work *work, uint64_t start_ns, uint64_t end_ns)
{
    if (!fake.trace[0]) return;
    const char *what =
        work->function == FAKE_kernel ? fake_kernels[work->kernel] : fake_names[work->function];
    pthread_mutex_lock(&fake_lock);
    if (trace && strcmp(trace_of, fake.trace) != 0) {
        fclose(trace);
        trace = NULL;
    }
    if (!trace) trace = fopen(fake.trace, "ae");
    memcpy(trace_of, fake.trace, sizeof trace_of);
    if (trace) {
        fprintf(trace,
                "{\"gpu\": %d, \"stream\": %d, \"what\": \"%s\", \"bytes\": %zu, \"start_ns\": %llu, "
                "\"end_ns\": %llu}\n",
                stream->handle.gpu, stream->number, what, work->bytes, (unsigned long long)start_ns,
                (unsigned long long)end_ns);
        fflush(trace);
    }
    pthread_mutex_unlock(&fake_lock);
}

static void reach_event(fake_stream *stream, const fake_work *work)
{
    be_late();
    const bool failed = fake_enter(FAKE_record, stream->handle.gpu) != 0;
    pthread_mutex_lock(&fake_lock);
    if (!failed) work->event->reached = work->number;
    if (failed) work->event->recorded = work->number; /* never reached */
    work->event->reached_ns = stk__clock_ns();
    work->event->model_ns = stream->model_ns;
    pthread_mutex_unlock(&fake_lock);
}

/* What will be written is spoilt first, and the source is read at the end, so that neither can be used too
 * early. */
static int do_work(fake_stream *stream, fake_work *work, uint64_t end_ns)
{
    const int gpu = stream->handle.gpu;
    const bool idle = fake_is_idle(work);
    if (!idle && work->function == FAKE_kernel)
        fake_poison_output(work, gpu);
    else if (!idle)
        memset(work->to, FAKE_POISON, work->bytes);
    be_late();
    sleep_until(end_ns);
    const int code = fake_enter(work->function, gpu);
    if (code || idle) return code;
    if (work->function == FAKE_kernel) return fake_run_kernel(work, gpu);
    memcpy(work->to, work->from, work->bytes);
    return CUDA_SUCCESS;
}

void fake_run_work(fake_stream *stream, fake_work *work)
{
    uint64_t end_ns;
    const int gpu = stream->handle.gpu;
    if (work->function == FAKE_record) {
        reach_event(stream, work);
        return;
    }
    if (fake_lost(gpu)) return; /* nothing is done any more */
    be_late();
    const uint64_t start_ns = take_engine(work, gpu, &end_ns);
    const double model_ns = fake_model_ns(work, gpu);
    const int code = do_work(stream, work, end_ns);
    if (code) fake_lose(gpu, code);
    pthread_mutex_lock(&fake_lock);
    stream->model_ns += model_ns;
    pthread_mutex_unlock(&fake_lock);
    if (!code)
        fake_add(work->function == FAKE_copy_in    ? FAKE_COPIES_IN
                 : work->function == FAKE_copy_out ? FAKE_COPIES_OUT
                                                   : FAKE_KERNELS,
                 1);
    fake_trace(stream, work, start_ns, stk__clock_ns());
}

/* Pageable memory of the host: read at once, or written before the call comes back; both counted. */
static int copy(fake_stream *stream, fake_work *work, uint64_t device, const void *host)
{
    const bool in = work->function == FAKE_copy_in;
    pthread_mutex_lock(&fake_lock);
    work->uses[0] = fake_find(device, work->bytes, false, stream->handle.gpu);
    work->uses[1] = fake_find((uint64_t)(uintptr_t)host, work->bytes, true, FAKE_ANY);
    const bool pageable = work->pageable = !work->uses[1],
               half = pageable && fake_is_pinned(host, work->bytes);
    uint8_t *bytes = work->uses[0] && !half ? work->uses[0]->host + (device - work->uses[0]->address) : NULL;
    if (!bytes) fake_blame("a copy of %zu bytes leaves %s memory", work->bytes, half ? "pinned" : "device");
    fake_counts[FAKE_PAGEABLE_COPIES] += bytes && pageable;
    pthread_mutex_unlock(&fake_lock);
    const bool staged = in && pageable && !fake_is_idle(work);
    void *own = bytes && staged ? malloc(work->bytes) : NULL;
    if (!bytes || (staged && !own)) {
        free(work);
        return bytes ? CUDA_ERROR_OUT_OF_MEMORY : FAKE_CUDA_ERROR_INVALID_VALUE;
    }
    if (own) memcpy(own, host, work->bytes);
    work->own = own != NULL;
    work->from = !in ? bytes : own ? own : host;
    work->to = in ? (void *)bytes : (void *)(uintptr_t)host;
    const int code = fake_queue(stream, work);
    if (!code && !in && pageable) fake_drain(stream);
    return code;
}

static int begin_copy(fake_function call, fake_function kind, uint64_t device, const void *host, size_t bytes,
                      void *stream)
{
    int gpu;
    const int code = fake_enter_current(call, &gpu);
    if (code || bytes == 0) return code;
    fake_stream *s = fake_stream_of(stream, gpu);
    if (!s) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    fake_work *work = calloc(1, sizeof *work);
    if (!work) return CUDA_ERROR_OUT_OF_MEMORY;
    *work = (fake_work){.function = kind, .bytes = bytes};
    return copy(s, work, device, host);
}

int cuMemcpyHtoDAsync_v2(stk__cu_pointer to, const void *from, size_t bytes, stk__cu_handle stream)
{
    return begin_copy(FAKE_cuMemcpyHtoDAsync_v2, FAKE_copy_in, to, from, bytes, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, stk__cu_pointer from, size_t bytes, stk__cu_handle stream)
{
    return begin_copy(FAKE_cuMemcpyDtoHAsync_v2, FAKE_copy_out, from, to, bytes, stream);
}
