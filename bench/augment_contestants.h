/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in `stoker bench augment`, and what a turn of each is. */
#ifndef STK_BENCH_AUGMENT_CONTESTANTS_H
#define STK_BENCH_AUGMENT_CONTESTANTS_H

#include "bench_batch.h"
#include "bench_data.h"
#include "benchmark.h"
#include "contestant.h"

#include "device/device.h"

/* Which ratios a contestant counts for, and what its turn is. */
typedef enum stk__augment_kind {
    STK_BENCH_POOL,     /* our kernels over the pool */
    STK_BENCH_DEVICE,   /* our kernels on a device */
    STK_BENCH_PEER,     /* another library */
    STK_BENCH_COPY,     /* memcpy of as many bytes */
    STK_BENCH_SCALED,   /* our kernels over the pool again, next to: */
    STK_BENCH_BASELINE, /* our kernels in threads that share nothing */
    STK_BENCH_CALLER,   /* stk_augmenter_apply, next to: */
    STK_BENCH_KERNELS,  /* our kernels over the pool once more */
    STK_BENCH_RESOLVE,
    STK_BENCH_LOADER, /* files to augmented batches: ours */
    STK_BENCH_PEER_LOADER,
    STK_BENCH_KINDS
} stk__augment_kind;

enum { STK_BENCH_PEERS = 6, STK_BENCH_DEVICES = 4 };

typedef struct stk__augment_bench stk__augment_bench;

/* What a turn of a contestant is about: its context. */
typedef struct stk__augment_turn {
    stk__augment_bench *all;
    stk__bench_way way;
    stk__device *device; /* of STK_BENCH_DEVICE */
} stk__augment_turn;

struct stk__augment_bench {
    const stk__bench_options *options;
    stk__bench *bench;
    int cpus;
    stk__cpu_level best;
    stk__bench_batch batch;
    stk__bench_data folder, faces; /* scripts and pixels for the peers; files for end to end */
    bool files;                    /* from files to batches too: not quick, not on data of the user's own */
    /* One process for all cases of a peer; the last: of the loader. */
    stk__worker_process processes[STK_BENCH_PEERS + 1];
    stk__device_info infos[STK_DEVICE_MOST];
    stk__device *devices[STK_BENCH_DEVICES];
    int device_count;
    stk__contestant contestants[STK_BENCH_ROWS]; /* in one case each */
    stk__augment_turn turns[STK_BENCH_ROWS];
    int count;
};

/* Makes the batch, starts peers and devices, and enters all who take part. */
stk_status stk__augment_bench_open(stk__augment_bench *all, stk_error *error);
void stk__augment_bench_close(stk__augment_bench *all);

#endif
