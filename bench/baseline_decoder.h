/* The bar to measure against: threads that do nothing but read a file and decode it into one buffer each,
 * with libjpeg-turbo for images and libspng for masks. */
#ifndef STK_BENCH_BARE_H
#define STK_BENCH_BARE_H

#include "source/source.h"

typedef struct stk__bare {
    const stk__source *source;
    uint64_t count; /* samples 0 … count-1 */
    int threads;
    bool masks;
} stk__bare;

stk_status stk__bare_run(const stk__bare *bare, stk_error *error);

#endif
