/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of reader_nvidia.c. A read calls them one after the other; all of them wrap NVML calls in
 * stk__nvidia_may and stk__nvidia_heard, which remember what a GPU does not support and when it is lost. */
#ifndef STK_MONITOR_NVIDIA_STATE_H
#define STK_MONITOR_NVIDIA_STATE_H

#include "monitor/gpu_reader.h"
#include "monitor/counter_unwrap.h"
#include "monitor/load_feed.h"
#include "monitor/nvidia/nvml.h"

/* All NVML queries: one that is unsupported is repeated rarely. */
typedef enum stk__nvidia_ask {
    STK_ASK_SAMPLES,
    STK_ASK_MEMORY_SAMPLES,
    STK_ASK_RATES,
    STK_ASK_FIELDS,
    STK_ASK_ENERGY,
    STK_ASK_MEMORY2,
    STK_ASK_MEMORY,
    STK_ASK_TEMPERATURE1,
    STK_ASK_REASONS,
    STK_ASK_VIOLATION_POWER,
    STK_ASK_VIOLATION_HEAT,
    STK_ASK_PCIE_SENT,
    STK_ASK_PCIE_RECEIVED,
    STK_ASK_COMPUTE2,
    STK_ASK_COMPUTE1,
    STK_ASK_GRAPHICS2,
    STK_ASK_GRAPHICS1,
    STK_ASK_PROCESS_LOADS,
    STK_ASK_GPM_SUPPORT,
    STK_ASK_GPM,
    STK_ASK_GAUGES, /* rows of nvidia_gauges.c */
    STK_ASK_COUNT = STK_ASK_GAUGES + 16
} stk__nvidia_ask;

typedef struct stk__nvidia_gpu {
    void *device; /* as found at open; NULL: no access */
    void *parent; /* of a MIG device; NULL: a whole GPU */
    unsigned instance;
    bool divided; /* has MIG devices */
    stk_gpu facts;
} stk__nvidia_gpu;

typedef struct stk__nvidia {
    stk__gpu_reader reader;
    stk__nvml nvml;
    int count;
    stk__nvidia_gpu gpus[STK_GPUS];
} stk__nvidia;

enum {
    STK_NVIDIA_SAMPLES = 1024,       /* a driver keeps 100 to 120 */
    STK_NVIDIA_PROCESSES = 256,      /* on one GPU */
    STK_NVIDIA_PROCESS_LOADS = 8192, /* drivers want room for 100, or for 4096 */
};

/* Buffers that a driver writes into: mapped, so that only what is written costs memory. */
typedef struct stk__nvidia_desk {
    union {
        stk__nvml_sample samples[STK_NVIDIA_SAMPLES];
        stk__nvml_process
            processes[STK_NVIDIA_PROCESSES + STK_NVIDIA_PROCESSES / 2]; /* some drivers' are longer */
        stk__nvml_process1 processes1[STK_NVIDIA_PROCESSES];
        stk__nvml_gpm_list gpm;
        stk__nvml_process_load loads[STK_NVIDIA_PROCESS_LOADS];
    };
    stk__load_raw raw[STK_NVIDIA_SAMPLES];
} stk__nvidia_desk;

/* What is remembered of a process, for its name and its load. */
typedef struct stk__nvidia_known {
    unsigned pid;
    char name[32];
    stk_reading util;
    bool seen; /* in this read */
} stk__nvidia_known;

typedef struct stk__nvidia_state {
    /* of the read that is under way */
    stk__poller_context *context;
    const stk__nvidia_gpu *gpu;
    const stk__nvml *nvml;
    stk_gpu_frame *frame;
    uint64_t now_ns;
    int answers;          /* successful calls */
    int refused, overdue; /* calls without permission; calls that timed out in the driver */
    int silent;           /* other errors */

    /* of the GPU */
    bool begun;
    void *device;
    stk__nvidia_desk *desk;
    uint64_t again_ns[STK_ASK_COUNT];                 /* unsupported: next query; 0: may be queried */
    stk_reading slow[STK_ASK_COUNT - STK_ASK_GAUGES]; /* slowly changing values, some seconds old */
    stk__load_feed feed;
    uint64_t memory_stamp_us, process_stamp_us;
    stk__counter_unwrap energy, throttled_power, throttled_heat, pcie_sent, pcie_received;
    bool pcie_known[2];                 /* estimated, sent and received: */
    double pcie_rates[2], pcie_sums[2]; /* bytes/s and bytes */
    uint64_t pcie_asked_ns, pcie_summed_ns;
    void *gpm_samples[2]; /* the older one first */
    uint64_t gpm_ns;      /* when the newer one was taken; 0: never */
    stk_reading gpm[3];
    stk__nvidia_known known[STK_GPU_PROCESSES];
} stk__nvidia_state;

/* May this be queried now? there: the driver has the function. Marks the start of a call. */
bool stk__nvidia_may(stk__nvidia_state *s, int ask, bool there);
/* Evaluates a call's result. True: success. Else remembers unsupported queries, and changes the frame's state
 * when the GPU is lost; then no more queries are made. what: for the note, "fan speed". */
bool stk__nvidia_heard(stk__nvidia_state *s, int ask, int result, const char *what);
/* For a metric that stays unknown: not supported, if ask is known not to be, or the driver lacks it. */
void stk__nvidia_missing(stk__nvidia_state *s, stk_metric metric, int ask, bool there);
void stk__nvidia_told(stk__nvidia_state *s, stk_metric metric, double value);
/* Adds to the frame's note, as long as there is room and it does not say so already. */
void stk__nvidia_note(stk__nvidia_state *s, const char *text);

/* The list of GPUs; index, name, id, part and handle of each. */
stk_status stk__nvidia_find(stk__nvidia *nvidia, stk_error *error);

void stk__nvidia_read_load(stk__nvidia_state *s);
void stk__nvidia_read_gauges(stk__nvidia_state *s);
void stk__nvidia_read_fields(stk__nvidia_state *s);
void stk__nvidia_read_memory(stk__nvidia_state *s);
void stk__nvidia_read_pcie(stk__nvidia_state *s); /* after fields */
void stk__nvidia_read_gpm(stk__nvidia_state *s);
void stk__nvidia_leave_gpm(stk__nvidia_state *s);
void stk__nvidia_read_processes(stk__nvidia_state *s); /* after memory */

#endif
