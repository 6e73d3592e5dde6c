/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device from inside: what cuda*.c share. */
#ifndef STK_DEVICE_CUDA_DEVICE_H
#define STK_DEVICE_CUDA_DEVICE_H

#include "device/cuda/cuda_api.h"
#include "device/device.h"
#include "device/kernel/launch.h"

#include <stdatomic.h>

/* Every place where the host or a stream waits for the GPU. Tests leave out one after the other, and
 * something must break each time. */
typedef enum stk__cuda_site {
    STK_CUDA_WAIT_NONE,
    STK_CUDA_WAIT_BATCH, /* results are in host memory before they are handed out */
    STK_CUDA_WAIT_DRAIN, /* a batch failed half-way: what was begun is over before its memory is given back */
    STK_CUDA_WAIT_GROW,  /* a buffer that is replaced by a larger one is not in use */
    STK_CUDA_WAIT_READY, /* the consumer's thread: the batch is there */
    STK_CUDA_WAIT_STREAM, /* the consumer's stream: the batch is there */
    STK_CUDA_WAIT_FILLED, /* a slot is used again: what filled it has ended */
    STK_CUDA_WAIT_REUSE,  /* a slot is used again: the consumer's stream is through with it */
    STK_CUDA_WAIT_FETCH,  /* a copy to the host is there */
    STK_CUDA_WAIT_PART,   /* the stream of copies: a part of a batch to the host is made */
    STK_CUDA_WAIT_CLOSE,  /* nothing runs when memory is given back */
    /* Those of the engine torch: */
    STK_CUDA_WAIT_STAGE,  /* pinned memory is used again: the copy that used it has ended */
    STK_CUDA_WAIT_READ,   /* a tensor that the host looks at is there */
    STK_CUDA_WAIT_LATE,   /* one whose copy was begun before, too */
    STK_CUDA_WAIT_SYNC,   /* everything that was queued is over */
    STK_CUDA_WAIT_STAGES, /* no copy runs when pinned memory is given back */
    STK_CUDA_WAIT_SITES
} stk__cuda_site;

enum { STK_CUDA_ENGINE_SITES = STK_CUDA_WAIT_STAGE }; /* the first that the device does not have */

extern int stk__cuda_wait_skip; /* a site that does not wait; 0: all do. For tests alone */

/* Memory of the device, or pinned memory of the host, that only grows. */
typedef struct stk__cuda_buffer {
    stk__cu_pointer at; /* 0: none yet */
    size_t capacity_bytes;
} stk__cuda_buffer;
typedef struct stk__cuda_pinned {
    uint8_t *data; /* NULL: none yet */
    size_t capacity_bytes;
} stk__cuda_pinned;

/* When a batch began, was copied in, was made, and was all done. */
enum { STK_CUDA_BEGUN, STK_CUDA_COPIED, STK_CUDA_MADE, STK_CUDA_DONE, STK_CUDA_MARKS };

/* A batch to the host goes in so many parts: the copies of one overlap the kernels and copies of the next. */
enum { STK_CUDA_PARTS = 4 };

typedef struct stk__cuda {
    stk__device device;
    const stk__cuda_api *api;
    int ordinal, architecture;                                 /* 86: sm_86 */
    stk__cu_handle context, stream, module;                    /* the context is the primary one */
    stk__cu_handle grey, augment, mix, dropout, gather, round; /* kernels of the module */
    stk__cu_handle back;                                       /* the stream of copies to the host */
    stk__cu_handle marks[STK_CUDA_MARKS];                      /* events for short waits */
    stk__cu_handle parts[STK_CUDA_PARTS][STK_CUDA_MARKS];      /* events of a batch to the host */
    stk__cu_handle newest; /* the event after everything that was enqueued; NULL: nothing is */
    stk__cuda_buffer arena, numbers, image, mask; /* in use by what is under way, in the stream's order */
    stk__cuda_pinned numbers_stage, arena_stage, output_stage;
    atomic_int lost;  /* 0: no; 1: reason is being written; 2: yes, and nothing is released any more */
    stk_error reason; /* why; constant after lost is 2 */
} stk__cuda;

/* cuda.c. Around all calls that need a context; the caller's own, if there is one, comes back. */
stk_status stk__cuda_enter(stk__cuda *cuda, stk_error *error); /* fails at once when the device is lost */
void stk__cuda_leave(stk__cuda *cuda);

/* cuda_wait.c. Judges a code; one after which the context does not come back makes the device lost. */
stk_status stk__cuda_check(stk__cuda *cuda, int code, const char *call, stk_error *error);
void stk__cuda_lose(stk__cuda *cuda, const stk_error *reason); /* any thread; the first reason counts */
bool stk__cuda_has_lost(const stk__cuda *cuda);
/* Is the event over? A question that fails makes the device lost. */
stk_status stk__cuda_ask(stk__cuda *cuda, stk__cuda_site site, stk__cu_handle event, bool *over,
                         stk_error *error);
/* Until it is, or the device's timeout, after which it is lost. */
stk_status stk__cuda_wait(stk__cuda *cuda, stk__cuda_site site, stk__cu_handle event, stk_error *error);
uint64_t stk__cuda_time_ns(const stk__cuda *cuda, stk__cu_handle from, stk__cu_handle to); /* 0: unknown */

/* PTX of the kernel source, embedded at build: tools/make_ptx. Empty when it is not of the present text. */
extern const char stk__device_ptx[];
extern const size_t stk__device_ptx_bytes;

/* cuda_program.c. From the cache on disk, or built and put there by the first NVRTC that does it, or the
 * shipped PTX, which the note of the device says. text: the embedded one, or a test's. */
stk_status stk__cuda_build(stk__cuda *cuda, const char *text, stk_error *error);
void stk__cuda_unload(stk__cuda *cuda);
/* The note of a device that is listed, not opened, as far as the versions of driver and NVRTC tell. */
void stk__cuda_foretell_note(stk__device_info *info);

/* cuda_run.c. A checked batch with at least one sample, into host memory. */
stk_status stk__cuda_run(stk__cuda *cuda, const stk__augment_batch *batch, stk_error *error);
/* Out of memory: the message says how much is free. */
stk_status stk__cuda_alloc(stk__cuda *cuda, stk__cu_pointer *at, size_t bytes, stk_error *error);
stk_status stk__cuda_grow(stk__cuda *cuda, stk__cuda_buffer *buffer, size_t bytes, stk_error *error);
stk_status stk__cuda_grow_pinned(stk__cuda *cuda, stk__cuda_pinned *pinned, size_t bytes, stk_error *error);
stk_status stk__cuda_copy_in(stk__cuda *cuda, stk__cu_pointer to, const void *from, size_t bytes,
                             stk_error *error);
stk_status stk__cuda_launch(stk__cuda *cuda, stk__cu_handle kernel, const uint32_t groups[3],
                            const void *work, stk_error *error);
stk_status stk__cuda_launch_augment(stk__cuda *cuda, const stk__launch *launch, const stk__kernel_work *work,
                                    stk_error *error);
stk_status stk__cuda_mark(stk__cuda *cuda, stk__cu_handle event, stk_error *error);
/* After a failure: what was begun comes to its end, or the device is lost. event: any of the caller's. */
void stk__cuda_drain(stk__cuda *cuda, stk__cu_handle event);

/* cuda_memory.c: batches that stay on the device. */
stk_status stk__cuda_memory_create(stk__device *device, const stk__device_room *room,
                                   stk__device_memory **memory, stk_error *error);
bool stk__cuda_memory_destroy(stk__device_memory *memory); /* false: the device is lost */
stk_status stk__cuda_memory_submit(stk__device_memory *memory, const stk__device_task *task,
                                   stk_error *error);
stk_status stk__cuda_memory_ready(stk__device_memory *memory, stk_error *error);
stk_status stk__cuda_memory_ready_on(stk__device_memory *memory, void *stream, stk_error *error);
stk_status stk__cuda_memory_release_on(stk__device_memory *memory, void *stream, stk_error *error);
stk_status stk__cuda_memory_ask(stk__device_memory *memory, bool *free, stk_error *error);
stk_status stk__cuda_memory_fetch(stk__device_memory *memory, const stk__device_copy *copy, stk_error *error);

#endif
