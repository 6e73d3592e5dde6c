/* SPDX-License-Identifier: Apache-2.0 */
/* The batch that contestants of `stoker bench augment` share: faces and their masks, and our ways to augment
 * them.
 */
#ifndef STK_BENCH_BATCH_H
#define STK_BENCH_BATCH_H

#include "augment/plan.h"
#include "device/cpu/augment_batch.h"
#include "device/host.h"
#include "stoker/augment.h"

/* A turn of a contestant lasts so long at least, peers' too (bench/peers/serve.py). If it has several
 * batches, the first is not counted: who had the turn before has left the caches full of other things. */
enum { STK_BENCH_SAMPLES = 32, STK_BENCH_TURN_MS = 200, STK_BENCH_PARTS = 4 };

typedef enum stk__chain {
    STK_CHAIN_STANDARD, /* the preset */
    STK_CHAIN_STRONG,   /* the preset */
    STK_CHAIN_NO_WARP,  /* standard without rotation: flip, brightness, contrast, normalise */
    STK_CHAINS
} stk__chain;

const char *stk__chain_name(stk__chain chain); /* "standard" */

typedef struct stk__bench_batch {
    uint64_t count;
    uint8_t *arena; /* images u8 [n h w 3], then masks u8 [n h w] */
    size_t arena_bytes, image_bytes, out_bytes;
    uint8_t *out; /* images f32 [n 3 h w], then masks u8 [n h w] */
    int32_t w, h;
    stk_view images[STK_BENCH_SAMPLES], masks[STK_BENCH_SAMPLES];
    stk__augment_block blocks[STK_BENCH_SAMPLES];
    stk__plan *plans[STK_CHAINS];
    stk__augment_crew crew;
    stk_augmenter *augmenter;     /* preset standard, on all CPUs; made when it is first needed */
    uint8_t *copy_from, *copy_to; /* each half of the bytes that augmenting reads and writes */
    size_t copy_bytes;
    stk__host_memory parts[STK_BENCH_PARTS]; /* arena, out, copy_from, copy_to */
} stk__bench_batch;

stk_status stk__bench_batch_open(stk__bench_batch *batch, uint64_t count, stk_error *error);
/* Images and masks of a data set instead of the faces, resized to their size; again from the start where it
 * has too few, masks of class 0 where it has none. */
stk_status stk__bench_batch_fill(stk__bench_batch *batch, const char *root, stk_error *error);
void stk__bench_batch_close(stk__bench_batch *batch);

/* One way to do it. The numbers drawn depend on chain and epoch only. */
typedef struct stk__bench_way {
    stk__chain chain;
    stk__cpu_level level;
    int workers;
    uint32_t epoch;
} stk__bench_way;

/* The batch with blocks of this chain and epoch, for devices. */
stk__augment_batch stk__bench_batch_resolve(stk__bench_batch *batch, const stk__bench_way *way);

/* All of these tell the milliseconds they took, drawing and resolving included. */
stk_status stk__bench_batch_pool(stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                                 stk_error *error);
/* The same kernel in threads that share nothing: each has its part of the batch. What the machine scales. */
stk_status stk__bench_batch_baseline(stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                                     stk_error *error);
/* The same work on all CPUs by way of stk_augmenter_apply; chain, level and workers of way are not used. */
stk_status stk__bench_batch_augmenter(stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                                      stk_error *error);
/* The same with the bytes of the images read as u8 [n 3 h w], as a batch of PyTorch lies in memory. */
stk_status stk__bench_batch_planes(stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                                   stk_error *error);
/* As many bytes read and written by memcpy on all CPUs. */
double stk__bench_batch_copy(stk__bench_batch *batch);

#endif
