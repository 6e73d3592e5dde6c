/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which the hook inside of a Python process (hook/stoker_hook) records what it sees: one per
 * process, mapped by it, read by the doctor at any time. It is complete whenever the process dies: a number
 * is one aligned store, a line of text is there before its length, a step's record before its number. What is
 * read is untrusted.
 *
 * The lists are the only place where the format stands: hook_launch.c writes them as the Python module
 * stoker_hook/layout.py. All numbers are uint64_t in the machine's order, times CLOCK_MONOTONIC in ns. What a
 * row of a table is about stands in a fact. */
#ifndef STK_DOCTOR_HOOK_FILE_H
#define STK_DOCTOR_HOOK_FILE_H

#include "doctor/evidence.h"

#define STK_HOOK_SUFFIX    ".hook"
#define STK_HOOK_SIGNATURE UINT64_C(0x4b4f4f484b4f5453) /* "STOKHOOK" */

enum { STK_HOOK_FORMAT = 1, STK_HOOK_RING = 2048 };

/* The header and counters. FACT_BYTES and STEPS (records ever written) are published last. WORKER: its id +
 * 1; 0 in other processes. WORKER_SEED: base seed, by which the loader is known. FETCH_NS: in the dataset and
 * collate function. GRAPHS: compiled by dynamo. */
#define STK_HOOK_WORD_LIST(X)                                                                                \
    X(MAGIC)                                                                                                 \
    X(VERSION)                                                                                               \
    X(PID)                                                                                                   \
    X(PARENT)                                                                                                \
    X(BEGIN_NS)                                                                                              \
    X(END_NS)                                                                                                \
    X(TORCH)                                                                                                 \
    X(FACT_BYTES)                                                                                            \
    X(STEPS)                                                                                                 \
    X(WORKER)                                                                                                \
    X(WORKER_SEED)                                                                                           \
    X(FETCH_NS)                                                                                              \
    X(BATCHES)                                                                                               \
    X(SAVES)                                                                                                 \
    X(PRINTS)                                                                                                \
    X(AUTOCASTS)                                                                                             \
    X(AUTOCASTS_OFF)                                                                                         \
    X(FORWARDS)                                                                                              \
    X(FORWARDS_AUTOCAST)                                                                                     \
    X(SCALER_SKIPS)                                                                                          \
    X(COMPILES)                                                                                              \
    X(GRAPHS)                                                                                                \
    X(GRAPH_BREAKS)                                                                                          \
    X(RECOMPILES)                                                                                            \
    X(COMPILE_FAILURES)                                                                                      \
    X(OUT_OF_MEMORY)

/* table, its rows. The last row is for what found no other. */
#define STK_HOOK_TABLE_LIST(X)                                                                               \
    X(SITE, 256)                                                                                             \
    X(WORK, 256)                                                                                             \
    X(LOADER, 64)                                                                                            \
    X(OPTIMIZER, 16)

/* SEED: of the newest iterator; TRAINED, EVALUATED: batches that were followed by a backward, or not. */
#define STK_HOOK_SITE_COLUMNS(X) X(COUNT) X(STEPS) X(ON_DEVICE) X(BYTES) X(TOTAL_NS) X(LAST_STEP)
#define STK_HOOK_WORK_COLUMNS(X) X(COUNT) X(TOTAL_NS) X(MAX_NS) X(CPU_NS)
#define STK_HOOK_LOADER_COLUMNS(X)                                                                           \
    X(EPOCHS)                                                                                                \
    X(BATCHES) X(WAIT_NS) X(FIRST_WAIT_NS) X(WAIT_MAX_NS) X(TRAINED) X(EVALUATED) X(SEED) X(SHAPE_CHANGES)
#define STK_HOOK_OPTIMIZER_COLUMNS(X) X(STEPS) X(ZERO_GRADS) X(ZERO_GRADS_KEPT)

typedef enum stk__hook_word {
#define STK_HOOK_ENUM(id) STK_HOOK_##id,
    STK_HOOK_WORD_LIST(STK_HOOK_ENUM)
#undef STK_HOOK_ENUM
        STK_HOOK_WORDS
} stk__hook_word;

#define STK_HOOK_ENUM(id) STK_HOOK_SITE_##id,
typedef enum stk__hook_site { STK_HOOK_SITE_COLUMNS(STK_HOOK_ENUM) STK_HOOK_SITE_WIDTH } stk__hook_site;
#undef STK_HOOK_ENUM
#define STK_HOOK_ENUM(id) STK_HOOK_WORK_##id,
typedef enum stk__hook_work { STK_HOOK_WORK_COLUMNS(STK_HOOK_ENUM) STK_HOOK_WORK_WIDTH } stk__hook_work;
#undef STK_HOOK_ENUM
#define STK_HOOK_ENUM(id) STK_HOOK_LOADER_##id,
typedef enum stk__hook_loader {
    STK_HOOK_LOADER_COLUMNS(STK_HOOK_ENUM) STK_HOOK_LOADER_WIDTH
} stk__hook_loader;
#undef STK_HOOK_ENUM
#define STK_HOOK_ENUM(id) STK_HOOK_OPTIMIZER_##id,
typedef enum stk__hook_optimizer {
    STK_HOOK_OPTIMIZER_COLUMNS(STK_HOOK_ENUM) STK_HOOK_OPTIMIZER_WIDTH
} stk__hook_optimizer;
#undef STK_HOOK_ENUM

enum {
#define STK_HOOK_ENUM(id, rows) STK_HOOK_##id##_ROWS = rows,
    STK_HOOK_TABLE_LIST(STK_HOOK_ENUM)
#undef STK_HOOK_ENUM
};

/* Record n is at n % STK_HOOK_RING; number is n + 1 when it is whole, 0 while it is written. */
typedef struct stk__hook_step {
    uint64_t number, begin_ns, end_ns, cause_ns[STK_STEP_CAUSES], batches, samples, gpu_ns;
} stk__hook_step;

typedef struct stk__hook_file {
    uint64_t words[STK_HOOK_WORDS];
    uint64_t site[STK_HOOK_SITE_ROWS][STK_HOOK_SITE_WIDTH];
    uint64_t work[STK_HOOK_WORK_ROWS][STK_HOOK_WORK_WIDTH];
    uint64_t loader[STK_HOOK_LOADER_ROWS][STK_HOOK_LOADER_WIDTH];
    uint64_t optimizer[STK_HOOK_OPTIMIZER_ROWS][STK_HOOK_OPTIMIZER_WIDTH];
    char facts[64 << 10];                /* JSON objects, one per line */
    stk__hook_step steps[STK_HOOK_RING]; /* in files of trainers only are there blocks for them */
} stk__hook_file;

/* Fills torch, steps, loaders, work, sites, optimizers, trainers, hook_started and hook_note of initialized
 * evidence from the files in a folder: those of the trainer with the most steps (the first one of several),
 * work of all workers. A file that is damaged, or still empty, is left out. */
stk_status stk__hook_file_read(const char *folder, stk__evidence *evidence, stk_error *error);

/* The facts of one file into evidence, joined with the numbers of its tables. `whole`: loaders, sites,
 * optimizers and settings, too; else work alone. hook_facts.c */
stk_status stk__hook_facts_read(const stk__hook_file *file, bool whole, stk__evidence *evidence,
                                stk_error *error);

#endif
