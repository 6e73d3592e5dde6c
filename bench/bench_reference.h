/* What our loader makes of a data set, for peers to compare with (bench/peers/load_check.py). */
#ifndef STK_BENCH_REFERENCE_H
#define STK_BENCH_REFERENCE_H

#include "cli.h"

typedef struct stk__reference {
    uint64_t count;
    int32_t h, w; /* of all images */
} stk__reference;

stk_status stk__reference_write(const char *root, const char *path, stk__reference *reference,
                                stk_error *error);

#endif
