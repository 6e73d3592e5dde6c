/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events are the fake driver's, so that Stoker's own calls and PyTorch's meet on them. */
#include "cudart_api.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>

static void *bytes_at(const void *pointer)
{
    void *host = dry_driver_open()->host((uint64_t)(uintptr_t)pointer);
    return host ? host : (void *)(uintptr_t)pointer;
}

static void run_task(const void *given)
{
    const dry_task *task = given;
    dry_count(task->word);
    if (task->part != task->word) dry_count(task->part);
    if (task->word == DRY_launches)
        dry_trace("kernel %u,%u,%u %u,%u,%u %zu %.240s", task->grid[0], task->grid[1], task->grid[2],
                  task->block[0], task->block[1], task->block[2], task->bytes, task->name);
    else if (task->name)
        dry_trace("%s %zu", task->name, task->bytes);
    if (task->from) memcpy(bytes_at(task->to), bytes_at(task->from), task->bytes);
    if (task->fill >= 0) memset(bytes_at(task->to), task->fill, task->bytes);
}

/* Work that the driver was given before is waited for: it is done by threads. Where only counting is to be
 * done nothing has to be waited for. */
int dry_submit(void *stream, const dry_task *task)
{
    const bool moves = task->from || task->fill >= 0;
    const int captured = dry_driver_open()->capture(stream, dry_device(), run_task, task, sizeof *task);
    if (captured == 0) dry_count(DRY_captured);
    if (captured >= 0) return captured;
    const int code = moves ? dry_driver_open()->settle(stream, dry_device()) : 0;
    run_task(task);
    return code;
}

/* The code, if a stream is captured: nobody may wait then. */
static int wait(const char *call)
{
    dry_count(DRY_waits);
    dry_trace("wait %s", call);
    return dry_driver_open()->unsafe();
}

int cudaDeviceSynchronize(void)
{
    return wait("cudaDeviceSynchronize");
}

int cudaStreamSynchronize(void *stream)
{
    const int code = wait("cudaStreamSynchronize");
    return code ? code : dry_driver_open()->settle(stream, dry_device());
}

int cudaEventSynchronize(void *event)
{
    int code = wait("cudaEventSynchronize");
    const dry_driver *driver = dry_driver_enter();
    if (!code) code = driver->event_query(event);
    while (code == CUDART_NOT_READY) {
        sched_yield();
        code = driver->event_query(event);
    }
    return dry_driver_leave(code);
}

int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    (void)priority;
    return dry_driver_leave(dry_driver_enter()->stream_create(stream, flags));
}

int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

int cudaStreamCreate(void **stream)
{
    return cudaStreamCreateWithPriority(stream, 0, 0);
}

int cudaStreamDestroy(void *stream)
{
    return dry_driver_leave(dry_driver_enter()->stream_destroy(stream));
}

int cudaStreamQuery(void *stream)
{
    const int code = dry_driver_open()->unsafe();
    return code ? code : dry_driver_open()->settle(stream, dry_device());
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    return dry_driver_leave(dry_driver_enter()->stream_wait(stream, event, flags));
}

int cudaEventCreateWithFlags(void **event, unsigned flags)
{
    return dry_driver_leave(dry_driver_enter()->event_create(event, flags & 3));
}

int cudaEventCreate(void **event)
{
    return cudaEventCreateWithFlags(event, 0);
}

int cudaEventDestroy(void *event)
{
    return dry_driver_leave(dry_driver_enter()->event_destroy(event));
}

int cudaEventRecord(void *event, void *stream)
{
    return dry_driver_leave(dry_driver_enter()->event_record(event, stream));
}

int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    (void)flags;
    return cudaEventRecord(event, stream);
}

int cudaEventQuery(void *event)
{
    return dry_driver_leave(dry_driver_enter()->event_query(event));
}

int cudaEventElapsedTime(float *ms, void *start, void *end)
{
    return dry_driver_leave(dry_driver_enter()->event_elapsed(ms, start, end));
}
