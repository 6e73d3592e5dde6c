/* SPDX-License-Identifier: Apache-2.0 */
/* Interface of a vendor's driver. A reader finds its GPUs once, then fills one frame of one GPU at a time,
 * from the thread that belongs to that GPU: a driver call may hang, and then this thread is abandoned
 * (sampler.h).
 */
#ifndef STK_MONITOR_GPU_READER_H
#define STK_MONITOR_GPU_READER_H

#include "core/clock.h"
#include "core/memory.h"
#include "stoker/monitor.h"

#include <stdatomic.h>
#include <string.h>

typedef struct stk__gpu_reader stk__gpu_reader;

/* Context of a thread that polls one GPU. A thread that hangs keeps its context, and its successor gets a new
 * one: nothing here is shared but beat_ns. */
typedef struct stk__poller_context {
    stk__gpu_reader *reader;
    int number;               /* of the GPU, 0 to count - 1 */
    void *state;              /* [ops->state_bytes], zero at first */
    _Atomic uint64_t beat_ns; /* start of the current driver call */
} stk__poller_context;

typedef struct stk__reader_ops {
    const char *vendor; /* "nvidia" */
    size_t state_bytes; /* at least 1 */
    /* Finds the vendor's library or files and its GPUs. STK_ERROR_UNSUPPORTED with the reason when there are
     * none ("no NVIDIA driver: 'libnvidia-ml.so.1' not found"). May hang. */
    stk_status (*open)(stk__gpu_reader **reader, stk_error *error);
    int (*count)(const stk__gpu_reader *reader);
    void (*describe)(const stk__gpu_reader *reader, int number, stk_gpu *gpu);
    /* Fills all values that are available now into a cleared frame; others stay STK_UNKNOWN or become
     * STK_UNSUPPORTED. Counters are unwrapped. loads: only samples newer than those of the last call of this
     * context; none in the first. Allocates nothing. Calls stk__poller_context_beat before every call that
     * may hang. */
    void (*read)(stk__poller_context *context, stk_gpu_frame *frame);
    /* After a GPU was lost or hung: tries to find it again; true: read it. May hang. */
    bool (*revive)(stk__poller_context *context);
    void (*leave)(stk__poller_context *context); /* releases what state owns; NULL: nothing. May hang. */
    void (*close)(stk__gpu_reader **reader);
} stk__reader_ops;

struct stk__gpu_reader {
    const stk__reader_ops *ops;
};

static inline void stk__poller_context_beat(stk__poller_context *context)
{
    atomic_store_explicit(&context->beat_ns, stk__clock_ns(), memory_order_relaxed);
}

static inline void stk__gpu_frame_clear(stk_gpu_frame *frame)
{
    frame->state = STK_GPU_GOOD;
    frame->note[0] = '\0';
    memset(frame->readings, 0, sizeof frame->readings);
    frame->load_count = frame->process_count = 0;
    frame->processes_known = false;
}

static inline stk_reading stk__reading_known(double value, uint64_t when_ns)
{
    return (stk_reading){.value = value, .when_ns = when_ns, .known = STK_KNOWN};
}

/* The host beside simulated GPUs: a machine of 16 CPUs that does not exist. number: of the frame; the first
 * has no loads. */
void stk__host_demo(uint64_t number, double second, stk_host_frame *host);

/* In the order in which they are tried; NULL at the end. */
extern const stk__reader_ops *const stk__readers[];

extern const stk__reader_ops stk__reader_nvidia; /* NVML, opened at run time */
extern const stk__reader_ops stk__reader_amd;    /* files of amdgpu */
extern const stk__reader_ops stk__reader_intel;  /* files of i915 and xe */
extern const stk__reader_ops stk__reader_demo;   /* curves (curve.h): --demo; not in stk__readers */

#endif
