/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker devices --selftest`: tests a GPU end to end. Parts measure and add rows; the result is one report
 * to paste into an issue, each value beside its expectation. */
#ifndef STK_CLI_SELFTEST_H
#define STK_CLI_SELFTEST_H

#include "cli.h"

#include "device/device.h"
#include "doctor/selftest_facts.h"

typedef struct stk__selftest_options {
    bool quick;       /* short trainings, whose speed is not judged; copies and kernels as in a full test */
    int64_t gpu;      /* -1: all that the driver lists */
    const char *part; /* of stk__selftest_part_name; NULL: all */
} stk__selftest_options;

int stk__cli_selftest(const stk__selftest_options *options); /* exit status */
const char *stk__selftest_part_name(int index);              /* "device", …; NULL at the end */

/* --- the parts: each adds rows of its section, up to its end or the first failure
 * ---------------
 */

typedef struct stk__selftest_watch stk__selftest_watch;

typedef struct stk__selftest { /* one GPU's turn */
    bool quick;
    stk__selftest_gpu *gpu;
    stk__selftest_watch *watch; /* NULL: NVML is not available, and … */
    char no_watch[160];         /* … why */
    stk__progress progress;
    int left_behind; /* threads that hang: leave by _exit */
} stk__selftest;

static inline bool stk__selftest_stopped(void)
{
    return atomic_load(stk__interrupt_flag());
}

void stk__selftest_device(stk__selftest *t);   /* selftest_device.c: device check, and … */
void stk__selftest_resident(stk__selftest *t); /* selftest_resident.c: batches kept in GPU memory */
void stk__selftest_engine(stk__selftest *t);   /* selftest_engine.c: conformance */
void stk__selftest_compare(stk__selftest *t);  /* selftest_train.c: training on the GPU and on the CPU */
void stk__selftest_load(stk__selftest *t);     /* selftest_load.c: training under load */

/* … selftest_speed.c: copies, augmentation. */
void stk__selftest_copies(stk__selftest *t, stk__device *device);
void stk__selftest_kernels(stk__selftest *t, stk__device *device);

/* Result of random batches on a device (also for `--check`). */
typedef struct stk__device_check {
    int batches;
    uint64_t values, differing;
    bool overrun;
    struct {
        int batches;
        uint64_t values, differing;
    } by[2][2]; /* [planar][16 bits] */
} stk__device_check;
/* progress NULL: no progress bar. */
stk_status stk__device_check_run(stk__device *device, int batches, stk__progress *progress,
                                 stk__device_check *check, stk_error *error);

/* --- selftest_watch.c: NVML beside it, by the monitor ------------------------------------------------------
 */

/* info: of the GPU or MIG instance, as CUDA reports it. NULL in *watch: why has the reason (at least 160
 * bytes). */
void stk__selftest_watch_open(stk__selftest_watch **watch, const stk__device_info *info, char *why);
int stk__selftest_watch_close(stk__selftest_watch **watch); /* threads that hang */
/* An idle PCIe link drops to generation 1: only the values during copies count. 0: unknown. */
typedef struct stk__selftest_link {
    int generation, width;           /* maximum in this slot */
    int seen_generation, seen_width; /* most since link_start */
    int frames;                      /* looks since then */
} stk__selftest_link;
void stk__selftest_watch_link_start(stk__selftest_watch *watch);
stk__selftest_link stk__selftest_watch_link(stk__selftest_watch *watch);
void stk__selftest_watch_start(stk__selftest_watch *watch);
/* Mean utilization since start, weighted by time. NAN: no samples. */
double stk__selftest_watch_stop(stk__selftest_watch *watch);

/* --- selftest_block.c --------------------------------------------------------------------------------------
 */

typedef struct stk__selftest_report {
    bool quick, interrupted;
    double seconds;
    stk__selftest_fact facts[STK_SELFTEST_FACTS];
    int gpu_count;
    const stk__selftest_gpu *gpus;
} stk__selftest_report;

void stk__selftest_print(const stk__selftest_report *report);
int stk__selftest_print_json(const stk__selftest_report *report); /* status of writing it */

#endif
