/* SPDX-License-Identifier: Apache-2.0 */
/* What the load race makes out of its data set. */
#ifndef STK_BENCH_RACE_DATA_H
#define STK_BENCH_RACE_DATA_H

#include "source/source.h"

#include <stdatomic.h>

/* As `stoker pack root folder` does. */
stk_status stk__packed_make(const char *root, const char *folder, const atomic_bool *stop, stk_error *error);

typedef struct stk__progressive {
    const stk__source *source;
    uint64_t count; /* its first samples */
    const atomic_bool *stop;
} stk__progressive;

/* Images of the source as progressive JPEGs of the same coefficients: folder/000000.jpg … */
stk_status stk__progressive_make(const stk__progressive *progressive, const char *folder, stk_error *error);

typedef struct stk__reference {
    uint64_t count;
    int32_t h, w; /* of all images */
} stk__reference;

/* What our loader makes of the data set, for others to compare with. */
stk_status stk__reference_write(const char *root, const char *path, stk__reference *reference,
                                stk_error *error);

#endif
