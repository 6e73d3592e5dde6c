/* SPDX-License-Identifier: Apache-2.0 */
/* The load race of `stoker bench load`: everybody loads the same files to uint8 batches of 32, each
 * contestant in a worker process, in turns, case after case. */
#ifndef STK_BENCH_LOAD_RACE_H
#define STK_BENCH_LOAD_RACE_H

#include "bench_data.h"
#include "benchmark.h"
#include "contestant.h"
#include "race_data.h"

/* Which ratios a contestant counts for. */
typedef enum stk__load_kind {
    STK_LOAD_OURS,
    STK_LOAD_COARSE, /* ours, JPEGs decoded as coarsely as FFCV and TurboLoader do (data.jpeg=fast) */
    STK_LOAD_PACKED, /* ours, on shards that `stoker pack` made; the last of ours */
    STK_LOAD_DATALOADER,
    STK_LOAD_OTHER,
    STK_LOAD_CONVERTED /* reads a file of its own, masks raw */
} stk__load_kind;

typedef enum stk__load_files { STK_LOAD_JPEG, STK_LOAD_PAIRS, STK_LOAD_PROGRESSIVE } stk__load_files;

enum { STK_LOAD_CONTESTANTS = 24 };

typedef struct stk__load_race {
    const stk__bench_options *options;
    const char *data;          /* a folder of images/ and masks/ … */
    const stk__source *source; /* … of it */
    uint64_t until_ns;         /* a quick race ends about then; 0: takes its time */
    int cpus;
    stk__bench *bench;

    stk__bench_data scratch; /* scripts, the reference, and what peers convert */
    stk__reference reference;
    /* Of the case that runs: what one has left in memory must not count in the next. */
    stk__contestant contestants[STK_LOAD_CONTESTANTS];
    stk__worker_process processes[STK_LOAD_CONTESTANTS];
    int count;
    stk__bench_progress progress;
    uint64_t turns_done, turns; /* of everybody in this case */
} stk__load_race;

/* load_contestants.c: starts everybody who takes part in a case. */
stk_status stk__load_contestants_start(stk__load_race *race, stk__load_files files, stk_error *error);
uint64_t
stk__load_progressive_count(const stk__load_race *race); /* load_contestants.c: samples of that case */
stk_status stk__load_race_run(stk__load_race *race, stk_error *error); /* rows and ratios go to race->bench */
void stk__load_race_abandon(const stk__load_race *race); /* for Ctrl-C: ends processes, removes files */
void stk__load_race_close(stk__load_race *race);

#endif
