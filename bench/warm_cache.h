/* SPDX-License-Identifier: Apache-2.0 */
/* Batches from a warm cache, beside a plain copy of as many bytes. */
#ifndef STK_BENCH_WARM_CACHE_H
#define STK_BENCH_WARM_CACHE_H

#include "measurements.h"

typedef struct stk__warm_cache {
    stk__bench *bench;
    const char *folder; /* of images and masks */
    int64_t rounds, batch_size;
    int threads; /* that copy: as many as the loader has workers */
} stk__warm_cache;

stk_status stk__warm_cache_run(const stk__warm_cache *cache, stk_error *error);

#endif
