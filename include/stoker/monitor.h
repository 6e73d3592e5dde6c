/* SPDX-License-Identifier: Apache-2.0 */
/* Watching GPUs: what they really do, as their drivers tell it, and what it means.
 *
 *   stk_monitor *monitor;
 *   stk_monitor_frame *frame;
 *   stk_monitor_open(&monitor, &(stk_monitor_options){.interval_s = 1}, &error);
 *   while (stk_monitor_next(monitor, &frame, &error) == STK_OK) …   // one frame per interval
 *   stk_monitor_summarize(monitor, &summary);
 *   stk_monitor_close(&monitor);
 *
 * Every number may be unknown; unknown is never 0. */
#ifndef STOKER_MONITOR_H
#define STOKER_MONITOR_H

#include "stoker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a GPU: identifier, key (with its unit) in every output, meaning. Those that end in _j, _s
 * and …_bytes_total only ever grow; the others are as of now, util_percent and the like as of the last
 * interval. */
#define STK_METRIC_LIST(X)                                                                                   \
    X(UTIL, "util_percent", "share of time in which some kernel ran")                                        \
    X(MEMORY_BUSY, "memory_busy_percent", "share of time in which memory was read or written")               \
    X(SM_ACTIVE, "sm_active_percent", "share of multiprocessors with work, averaged over time")              \
    X(TENSOR_ACTIVE, "tensor_active_percent", "share of time in which tensor units worked")                  \
    X(DRAM_ACTIVE, "dram_active_percent", "share of the memory's bandwidth that was used")                   \
    X(POWER, "power_w", "power drawn")                                                                       \
    X(POWER_LIMIT, "power_limit_w", "the limit that is enforced")                                            \
    X(ENERGY, "energy_j", "energy since the driver was loaded")                                              \
    X(MEMORY_USED, "memory_used_bytes", "memory in use")                                                     \
    X(MEMORY_TOTAL, "memory_total_bytes", "memory there is")                                                 \
    X(TEMPERATURE, "temperature_c", "temperature of the GPU")                                                \
    X(TEMPERATURE_LIMIT, "temperature_limit_c", "temperature at which it slows down")                        \
    X(MEMORY_TEMPERATURE, "memory_temperature_c", "temperature of the memory")                               \
    X(FAN, "fan_percent", "speed of the fan")                                                                \
    X(SM_CLOCK, "sm_clock_mhz", "clock of the multiprocessors")                                              \
    X(SM_CLOCK_MAX, "sm_clock_max_mhz", "the most it can be")                                                \
    X(MEMORY_CLOCK, "memory_clock_mhz", "clock of the memory")                                               \
    X(MEMORY_CLOCK_MAX, "memory_clock_max_mhz", "the most it can be")                                        \
    X(THROTTLE, "throttle", "why clocks are held down now: bits of stk_throttle")                            \
    X(THROTTLED_POWER, "throttled_power_s", "time held down by the power limit")                             \
    X(THROTTLED_HEAT, "throttled_heat_s", "time held down by heat")                                          \
    X(PCIE_SENT, "pcie_sent_bytes_total", "bytes from the GPU over PCIe")                                    \
    X(PCIE_RECEIVED, "pcie_received_bytes_total", "bytes to the GPU over PCIe")                              \
    X(LINK_GENERATION, "link_generation", "PCIe generation now")                                             \
    X(LINK_GENERATION_MAX, "link_generation_max", "PCIe generation it could have here")                      \
    X(LINK_WIDTH, "link_width", "PCIe lanes now")                                                            \
    X(LINK_WIDTH_MAX, "link_width_max", "PCIe lanes it could have here")

typedef enum stk_metric {
#define STK_METRIC_ENUM(id, key, meaning) STK_METRIC_##id,
    STK_METRIC_LIST(STK_METRIC_ENUM)
#undef STK_METRIC_ENUM
        STK_METRIC_COUNT
} stk_metric;

/* Length of public arrays with a reading per metric; later metrics have room in it. */
enum { STK_METRIC_CAPACITY = 48 };

typedef enum stk_throttle {
    STK_THROTTLE_POWER = 1, /* the power limit */
    STK_THROTTLE_HEAT = 2,  /* temperature */
    STK_THROTTLE_BRAKE = 4, /* the board or the power supply pulled the brake */
    STK_THROTTLE_SYNC = 8,  /* kept in step with another GPU */
    STK_THROTTLE_USER = 16, /* clocks set by somebody */
    STK_THROTTLE_OTHER = 32
} stk_throttle; /* being idle is none of them */

typedef enum stk_known {
    STK_UNKNOWN,     /* not told (yet, or any more): why is in the device's note */
    STK_KNOWN,       /* value holds */
    STK_UNSUPPORTED, /* this device or driver does not have it */
} stk_known;

typedef struct stk_reading {
    double value;
    uint64_t when_ns; /* CLOCK_MONOTONIC */
    stk_known known;
} stk_reading;

typedef enum stk_gpu_state {
    STK_GPU_GOOD,
    STK_GPU_HUNG,  /* a call of the driver did not come back in time */
    STK_GPU_LOST,  /* fell off the bus, or the driver went away */
    STK_GPU_RESET, /* works again only after a reset */
    STK_GPU_BARRED /* the driver refuses to tell (permissions, an exclusive owner) */
} stk_gpu_state;

/* Load between two moments, as the driver sampled it itself. */
typedef struct stk_load_sample {
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    double percent;
} stk_load_sample;

typedef struct stk_gpu_process {
    int32_t pid;
    char name[32];
    stk_reading memory_bytes, util_percent;
} stk_gpu_process;

enum { STK_GPU_LOADS = 256, STK_GPU_PROCESSES = 32, STK_GPUS = 64 };

typedef struct stk_gpu {
    int32_t index; /* as the driver counts (nvidia-smi) */
    char vendor[8], name[64], id[64];
    char part[32];       /* "MIG 1g.10gb" …; empty: a whole GPU */
    int32_t part_number; /* among the parts of this GPU, as the driver counts (nvidia-smi -L) */
} stk_gpu;

typedef struct stk_gpu_frame {
    stk_gpu_state state;
    char note[96];         /* of a state that is not good, or what is missing and why; else empty */
    int32_t reading_count; /* metrics that this library knows */
    stk_reading readings[STK_METRIC_CAPACITY]; /* by stk_metric; those from reading_count on are unknown */
    /* What the driver told of load since the last frame, oldest first, each beginning where another ended or
     * later. Polled where the driver keeps no samples: the note says so. Neighbours are merged when there are
     * too many. util_percent is their mean over time. */
    int32_t load_count;
    stk_load_sample loads[STK_GPU_LOADS];
    int32_t process_count;
    bool processes_known;
    stk_gpu_process processes[STK_GPU_PROCESSES];
} stk_gpu_frame;

/* The machine, and of it the job (stk_monitor_options.pid and its descendants). */
typedef struct stk_host_frame {
    stk_reading cpu_percent;     /* of all usable CPUs together: 0 to 100 */
    stk_reading cpu_max_percent; /* of the busiest CPU */
    stk_reading job_cpu_percent; /* 100 = one CPU */
    stk_reading job_memory_bytes;
    stk_reading memory_used_bytes, memory_total_bytes;
    stk_reading disk_read_bytes_total, disk_written_bytes_total;
    stk_reading cpu_pressure_percent, io_pressure_percent,
        memory_pressure_percent;   /* "some", this interval */
    stk_reading quota_throttled_s; /* the control group's CPU limit held us back so long, in all */
    int32_t core_count;            /* of the machine: the highest number + 1 */
    const float *core_percent;     /* [core_count], < 0: unknown; lives until the next frame */
    int32_t cpu_count;             /* usable: those we may run on; 0: unknown */
} stk_host_frame;

/* One interval. Belongs to the monitor and lives until the next call. The first one (number 0) comes at once
 * and has no length: what is true now, without loads. */
typedef struct stk_monitor_frame {
    uint64_t number;         /* from 0 */
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    double clock_s;          /* time of day at its end, seconds since 1970 */
    int32_t gpu_count;
    const stk_gpu *gpus;       /* [gpu_count] */
    stk_gpu_frame *gpu_frames; /* [gpu_count] */
    stk_host_frame host;
} stk_monitor_frame;

/* Zero means default everywhere. */
typedef struct stk_monitor_options {
    size_t struct_size; /* sizeof(stk_monitor_options): see STK_INIT (status.h) */
    double interval_s;  /* 1 */
    double duration_s;  /* 0: without end */
    uint64_t count;     /* frames; 0: without end */
    const char *gpus;   /* "0,2" or beginnings of ids; NULL: those CUDA_VISIBLE_DEVICES leaves, or all */
    int32_t pid;        /* the job; 0: none */
    double deadline_s;  /* for every call of a driver; 2. Opening, which may wake GPUs, has ten times that */
    bool demo;          /* generated GPUs instead of real ones */
    const char *replay; /* a recording instead of GPUs; as fast as it can be read */
    const char *record; /* file to write every frame to */
} stk_monitor_options;

#define STK_MONITOR_OPTIONS_INIT STK_INIT(stk_monitor_options)

typedef struct stk_monitor stk_monitor;

/* options may be NULL: all defaults. On failure *monitor is NULL and nothing is left behind. Texts in options
 * need to live only during the call. Threads: any. */
STK_API stk_status stk_monitor_open(stk_monitor **monitor, const stk_monitor_options *options,
                                    stk_error *error);
/* Waits for the end of the interval. STK_END after duration or count, or at the end of a recording. Threads:
 * one at a time. */
STK_API stk_status stk_monitor_next(stk_monitor *monitor, stk_monitor_frame **frame, stk_error *error);
/* Ends the watch: a waiting next returns the interval as far as it came, the next one STK_END. Does nothing
 * with NULL. Threads: any, and signal handlers. */
STK_API void stk_monitor_interrupt(stk_monitor *monitor);
/* Number of threads that hang in a driver and had to be left behind (leave by _exit then). Sets *monitor to
 * NULL; does nothing, and returns 0, with NULL or NULL inside. Threads: one, with no other call under way. */
STK_API int stk_monitor_close(stk_monitor **monitor);

/* Why there is no GPU to watch: one sentence per vendor that was tried; "" when there are some, and for NULL.
 * Belongs to the monitor. Threads: one at a time. */
STK_API const char *stk_monitor_missing_reason(const stk_monitor *monitor);

/* Static texts: "power_w"; "power drawn"; "hung". "unknown" for numbers that this version does not have.
 * Threads: any. */
STK_API const char *stk_metric_key(stk_metric metric);
STK_API const char *stk_metric_meaning(stk_metric metric);
STK_API const char *stk_gpu_state_name(stk_gpu_state state);

/* How a number stands to its target. */
typedef enum stk_grade { STK_GRADE_NONE, STK_GRADE_GOOD, STK_GRADE_LOW, STK_GRADE_HIGH } stk_grade;

/* A row of the table at the end: a number of the steady part, against its target. */
typedef struct stk_judged {
    const char *name;   /* "utilization", "peak memory" */
    const char *unit;   /* "%" */
    stk_reading value;  /* mean, or peak where the name says so; unknown stays unknown */
    double least, most; /* the target; NAN: open on that side */
    stk_grade grade;
    const char *note; /* more to say ("near the limit"); "" */
} stk_judged;

enum { STK_JUDGED_ROWS = 8 };

/* Of the steady part, except: energy, the hottest, the memory's peak, good_share and the states are of all.
 */
typedef struct stk_gpu_summary {
    const stk_gpu *gpu;
    stk_reading util_mean_percent; /* over time, by the driver's own samples where it has them */
    stk_reading util_std_percent;  /* fluctuation: standard deviation of means of 1 s */
    stk_reading util_p5_percent, util_p95_percent; /* of raw samples */
    stk_reading util_median_percent;
    stk_reading below_half;                          /* share of time with less than 50 % */
    stk_reading power_share, power_mean_w, energy_j; /* share: of the limit */
    stk_reading memory_peak_share;
    stk_reading hottest_c;
    stk_reading throttled_power_s, throttled_heat_s, throttled_brake_s; /* by counters, or else by bits */
    stk_reading pcie_received_bytes_per_s, pcie_sent_bytes_per_s;
    stk_reading sm_active_mean_percent;
    stk_reading dip_period_s; /* of regular dips; unknown: none found */
    double good_share;        /* of time in which the GPU could be read */
    stk_gpu_state last_state; /* at the end */
    stk_gpu_state bad_state;  /* the last that was not good */
    char bad_note[96];        /* what was said of it */
    int32_t row_count;
    stk_judged rows[STK_JUDGED_ROWS];
    const char *finding; /* of the rule that spoke: "starved_dips" (docs/monitor.md) */
    char verdict[256];   /* its sentence, and what to look at next */
} stk_gpu_summary;

typedef struct stk_monitor_summary {
    double seconds;                    /* watched */
    double steady_from_s, steady_to_s; /* the part that was judged */
    uint64_t frame_count;
    stk_reading util_mean_percent, util_std_percent; /* means over the GPUs that tell */
    stk_reading cpu_mean_percent, cpu_max_mean_percent, job_cpu_mean_percent; /* as in stk_host_frame */
    stk_reading io_pressure_mean_percent, quota_throttled_s, job_memory_peak_bytes;
    int32_t cpu_count; /* usable; 0: unknown */
    int32_t gpu_count;
    const stk_gpu_summary *gpus; /* [gpu_count]; belongs to the monitor */
    const char *finding;         /* that of the GPU whose verdict weighs most */
    char verdict[320];           /* of all together */
} stk_monitor_summary;

/* Of everything seen so far; may be asked at any time. All zero for a monitor that is NULL. Threads: one at a
 * time. */
STK_API void stk_monitor_summarize(stk_monitor *monitor, stk_monitor_summary *summary);

#ifdef __cplusplus
}
#endif

#endif
