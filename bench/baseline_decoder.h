/* SPDX-License-Identifier: Apache-2.0 */
/* The bar to measure against: threads that do nothing but read a file and decode it into one buffer each,
 * with libjpeg-turbo for images and libspng for masks. */
#ifndef STK_BENCH_BASELINE_DECODER_H
#define STK_BENCH_BASELINE_DECODER_H

#include "source/source.h"

typedef struct stk__baseline {
    const stk__source *source;
    uint64_t count; /* samples 0 … count-1 */
    int threads;
    bool masks;
} stk__baseline;

stk_status stk__baseline_run(const stk__baseline *baseline, stk_error *error);

#endif
