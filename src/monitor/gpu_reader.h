/* A vendor's way to ask its GPUs. A reader finds its GPUs once, then fills one frame of one GPU at a time,
 * from the thread that belongs to that GPU: a call may hang, and then this thread is left behind (sampler.h).
 */
#ifndef STK_MONITOR_GPU_READER_H
#define STK_MONITOR_GPU_READER_H

#include "core/memory.h"
#include "stoker/monitor.h"

typedef struct stk__reader stk__reader;

typedef struct stk__reader_ops {
    const char *vendor; /* "nvidia" */
    /* Finds the vendor's library or files and its GPUs. STK_ERROR_UNSUPPORTED with a sentence why when there
     * are none ("no NVIDIA driver: libnvidia-ml.so.1 is not there"). */
    stk_status (*open)(stk__reader **reader, stk_error *error);
    int (*count)(const stk__reader *reader);
    void (*describe)(const stk__reader *reader, int number, stk_gpu *gpu);
    /* Fills everything that can be told now; what cannot stays STK_UNKNOWN or STK_UNSUPPORTED. Counters as
     * the driver counts them, unwrapped. loads: only samples newer than those of the last call. Never called
     * for one number from two threads at once. Allocates nothing. */
    void (*read)(stk__reader *reader, int number, stk_gpu_frame *frame);
    /* After a GPU was lost: tries to find it again; true when it is there. */
    bool (*revive)(stk__reader *reader, int number);
    void (*close)(stk__reader **reader);
} stk__reader_ops;

struct stk__reader {
    const stk__reader_ops *ops;
};

/* In the order in which they are tried; NULL at the end. */
extern const stk__reader_ops *const stk__readers[];

extern const stk__reader_ops stk__reader_nvidia; /* NVML, opened at run time */
extern const stk__reader_ops stk__reader_amd;    /* files of amdgpu */
extern const stk__reader_ops stk__reader_intel;  /* files of i915 and xe */
extern const stk__reader_ops stk__reader_demo;   /* curves (curve.h): --demo; not in stk__readers */

#endif
