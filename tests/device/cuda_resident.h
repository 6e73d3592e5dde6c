/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders whose batches end in the fake GPU's memory, and a consumer of them. Everything stops the test when
 * it goes wrong. */
#ifndef TEST_CUDA_RESIDENT_H
#define TEST_CUDA_RESIDENT_H

#include "core/hash.h"
#include "device/cuda/cuda_api.h"
#include "stoker/loader.h"

#define RESIDENT_STRONG "preset: strong"
#define RESIDENT_MIXED  "preset: strong, mixup_alpha: 0.6, mixup_prob: 0.4, cutmix_alpha: 1, cutmix_prob: 0.4"

/* Of root in batches of 5, on two workers. */
stk_loader_options resident_options(const char *root);
stk_loader *resident_open(const stk_loader_options *options);

void resident_digest_add(stk__digest *digest, const stk_batch *batch);
stk__digest resident_epoch(stk_loader *loader); /* to its end */

/* A consumer as an engine is one: its stream waits, copies, and the slot is handed back at once. */
typedef struct reader {
    stk__cu_handle context, stream, end;
    uint8_t *bytes; /* [capacity] pinned */
    size_t capacity, used;
} reader;

void reader_start(reader *r);
void reader_take(reader *r, const stk_tensor *tensor);
void reader_wait(const reader *r); /* until all that was taken is there */
void reader_end(reader *r);

#endif
