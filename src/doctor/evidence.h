/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor knows about one training command, from three sources:
 *
 *   the hook inside of Python   hook_file.h      loaders, steps, call sites, settings in effect
 *   processes from outside      process_watch.h  workers, CPU, run delay, storage, cgroup (no hook needed)
 *   GPUs and the host           stoker/monitor.h utilization, throttling, link
 *
 * Sources fill it, the stall table (stall_split.h) and the rules (doctor_rules.h) read it, nothing else joins
 * them. Unknown is NAN for numbers, -1 for counts, STK_UNSURE for yes or no, "" for texts; it is never 0. All
 * arrays and texts belong to the evidence (stk__evidence_destroy). */
#ifndef STK_DOCTOR_EVIDENCE_H
#define STK_DOCTOR_EVIDENCE_H

#include "core/error.h"
#include "stoker/monitor.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum stk__tristate { STK_UNSURE = -1, STK_NO = 0, STK_YES = 1 } stk__tristate;

enum { STK_DOCTOR_TEXT = 96, STK_DOCTOR_PATH = 256 };

/* Causes of time in a step; one list for records of the hook, the stall table and JSON. Their sum is the wall
 * time of the steps. `identifier, key in JSON, name for people` */
#define STK_STEP_CAUSE_LIST(X)                                                                               \
    X(WAIT, "data_wait", "data wait")                                                                        \
    X(COPY, "copy", "copy to the device")                                                                    \
    X(SYNC, "sync", "synchronization (item, cpu, numpy, bool …)")                                            \
    X(FORWARD, "forward", "forward")                                                                         \
    X(BACKWARD, "backward", "backward")                                                                      \
    X(OPTIMIZER, "optimizer", "optimizer")                                                                   \
    X(EVALUATION, "evaluation", "evaluation")                                                                \
    X(CHECKPOINT, "checkpoint", "checkpoint")                                                                \
    X(LOGGING, "logging", "logging")                                                                         \
    X(OTHER, "unexplained", "unexplained")
typedef enum stk__step_cause {
#define STK_CAUSE_ENUM(id, key, name) STK_CAUSE_##id,
    STK_STEP_CAUSE_LIST(STK_CAUSE_ENUM)
#undef STK_CAUSE_ENUM
        STK_STEP_CAUSES
} stk__step_cause;

/* One optimizer step (or batch, where no optimizer steps), wall time by cause without OTHER. */
typedef struct stk__step_record {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; begin is the end of the step before */
    uint64_t cause_ns[STK_STEP_CAUSES];
    uint32_t batches; /* taken from loaders; more than 1: gradient accumulation */
    uint32_t samples; /* of these batches; 0: unknown */
    uint64_t gpu_ns;  /* from the first batch to the end on the device, by events; 0: not sampled */
} stk__step_record;

/* A DataLoader that was iterated. */
typedef struct stk__loader_evidence {
    char site[STK_DOCTOR_PATH]; /* file:line of its construction */
    char dataset[STK_DOCTOR_TEXT], sampler[STK_DOCTOR_TEXT], start_method[16];
    stk__tristate training; /* an optimizer stepped, gradients were on, while it was iterated */
    int64_t num_workers, batch_size, prefetch_factor, length, epochs, batches;
    stk__tristate persistent_workers, pin_memory, drop_last, shuffle, custom_collate;
    double wait_s, first_wait_s; /* all waits in next; those of the first batch of each epoch among them */
    double wait_max_s;           /* the longest but for first batches */
    double worker_max_share;     /* most busy worker's time / mean of workers; NAN: unknown */
    uint64_t worker_seed;        /* of its newest iterator: records of workers are joined by it */
} stk__loader_evidence;

/* Time by name inside of a dataset: in workers, or in the training process where num_workers is 0. */
typedef enum stk__work_kind {
    STK_WORK_READ,
    STK_WORK_DECODE,
    STK_WORK_TRANSFORM,
    STK_WORK_COLLATE,
    STK_WORK_DATASET
} stk__work_kind;
typedef struct stk__work_evidence {
    char name[STK_DOCTOR_TEXT]; /* "RandomRotation", "PIL.Image.open", "collate", "dataset code" */
    stk__work_kind kind;
    uint64_t count;
    double total_s, max_s;
    double cpu_s; /* CPU time of the thread meanwhile: much less than total_s is waiting */
} stk__work_evidence;

/* A line of the user's code that makes the host wait for the device, or copies. */
typedef struct stk__site_evidence {
    char call[32]; /* "item", "cpu", "numpy", "tolist", "bool", "float", "int", "format", "nonzero", "to",
                      "save", "print" */
    char site[STK_DOCTOR_PATH]; /* file:line */
    uint64_t count, steps;      /* calls; steps in which there was one */
    uint64_t on_device;         /* of tensors that were not in host memory */
    uint64_t bytes;
    double total_s;
} stk__site_evidence;

typedef struct stk__optimizer_evidence {
    char name[STK_DOCTOR_TEXT], site[STK_DOCTOR_PATH];
    uint64_t steps, zero_grads, zero_grads_kept; /* kept: set_to_none=False */
    stk__tristate fused, foreach, on_cuda;
    int64_t parameters; /* tensors */
    double lr;
} stk__optimizer_evidence;

/* Settings as the program has them, declared or not. */
typedef struct stk__torch_evidence {
    char python[16], torch[32], cuda[16]; /* cuda "": a build without it */
    char device[16];                      /* where the trained parameters are: "cpu", "cuda" */
    char gpu_name[STK_DOCTOR_TEXT];
    double compute_capability; /* 8.6; NAN */
    stk__tristate tf32_matmul, tf32_cudnn, cudnn_benchmark, deterministic, anomaly_detection;
    uint64_t autocasts,
        autocasts_off; /* entered; entered with enabled=False (or a value that is not a bool) */
    char autocast_dtype[16],
        autocast_value[STK_DOCTOR_TEXT]; /* value: what enabled= was, if it was no bool */
    double autocast_share;               /* of the forward calls of the model; NAN */
    double scale_first, scale_last;      /* GradScaler; NAN: none */
    uint64_t scaler_skips;
    uint64_t compiles, compiled_calls, graph_breaks, recompiles,
        compile_failures; /* compiled_calls: graphs */
    stk__tristate channels_last_model, channels_last_input, convolutions;
    stk__tristate fixed_shapes; /* every batch of the training loader has one shape */
    char parallel[32];          /* "DataParallel", "DistributedDataParallel", "" */
    int64_t world_size, rank, local_rank;
    int64_t threads, interop_threads; /* torch.get_num_threads() */
    uint64_t saves, evaluations;      /* torch.save; loaders that ran without gradients */
    uint64_t prints;
    double cuda_peak_bytes, cuda_total_bytes;
    uint64_t out_of_memory; /* torch.OutOfMemoryError raised */
} stk__torch_evidence;

/* What a process of the command did, seen from outside. */
typedef enum stk__process_kind {
    STK_PROCESS_TRAINER,
    STK_PROCESS_WORKER,
    STK_PROCESS_LAUNCHER,
    STK_PROCESS_ORPHAN,
    STK_PROCESS_HELPER
} stk__process_kind;
typedef struct stk__process_evidence {
    int32_t pid, parent;
    stk__process_kind kind;
    char name[STK_DOCTOR_TEXT]; /* command line, shortened */
    double seen_s;              /* it was watched so long */
    double cpu_share;           /* of one CPU */
    double run_delay_share;     /* its main thread was runnable without a CPU */
    double disk_wait_share;     /* looks in state D */
    double read_bytes_per_s, major_faults_per_s, rss_bytes, swap_bytes;
    int64_t threads;
    stk__tristate pin_thread;    /* PyTorch's thread of pinned memory */
    double main_thread_share;    /* CPU of its main thread, of one CPU */
    double read_all_bytes_per_s; /* all reads, also from the page cache and pipes; read_bytes_per_s is from
                                    disks */
    int32_t trainer;             /* of a worker: the process that it loads for; 0: unknown, or no worker */
    bool ended;                  /* while it was watched */
} stk__process_evidence;

typedef struct stk__machine_evidence {
    double cpus;                                       /* usable: affinity and quota */
    double quota_cpus;                                 /* NAN: none */
    double throttled_share;                            /* of the quota's periods */
    double cpu_pressure, io_pressure, memory_pressure; /* "some", shares */
    double cpu_share;                                  /* of all usable CPUs */
    double memory_used_share; /* the most, of the machine or the cgroup, without page cache */
    double swap_in_bytes_per_s, swap_used_bytes;
    double disk_read_bytes_per_s;
    char storage[STK_DOCTOR_TEXT]; /* of the data: "nfs4", "ext4 on a rotating disk"; "" */
    int64_t workers_started;       /* worker processes that began while it was watched */
    int64_t workers_at_once;       /* the most that lived at one time */
    double page_cache_share; /* of the bytes that workers (or the trainer) read, those that no disk read */
} stk__machine_evidence;

/* What the summary of the monitor does not have, of the GPU that the command uses (of several: the one that
 * is busy least). */
typedef struct stk__gpu_evidence {
    int32_t index;           /* in gpus.gpus; -1: unknown */
    stk__tristate used;      /* a process of the command is on it */
    int64_t other_processes; /* of others on it */
    double other_memory_bytes;
    double link_share; /* PCIe generation x lanes, now / best here, while it was busy */
} stk__gpu_evidence;

typedef struct stk__evidence {
    char command[STK_DOCTOR_PATH];
    double watched_s;
    stk__tristate hook_started;
    char hook_note[STK_DOCTOR_PATH]; /* why there is none, or why it stopped */
    bool died;                       /* the command ended by a signal or with another status than 0 */
    bool stopped;                    /* it was ended early: by --duration or Ctrl-C */
    int32_t exit_status;             /* -1: still running */

    stk__torch_evidence torch;
    stk__step_record *steps; /* in time order; the newest if there were too many */
    stk__loader_evidence *loaders;
    stk__work_evidence *work;
    stk__site_evidence *sites;
    stk__optimizer_evidence *optimizers;
    stk__process_evidence *processes;
    int64_t step_count, loader_count, work_count, site_count, optimizer_count, process_count;
    uint64_t steps_total; /* with those that are not in steps */
    int64_t trainers;     /* processes that took steps or batches; -1. What the hook saw is of one of them */

    stk__machine_evidence machine;
    bool gpus_known;
    stk_monitor_summary gpus;
    stk__gpu_evidence gpu;
} stk__evidence;

/* All unknown. */
void stk__evidence_init(stk__evidence *evidence);
void stk__evidence_fini(stk__evidence *evidence);

/* "data_wait"; "data wait". */
const char *stk__step_cause_key(stk__step_cause cause);
const char *stk__step_cause_name(stk__step_cause cause);

#endif
