/* A source that has nothing: what is left of a loader on it is the loader's own cost. */
#ifndef STK_BENCH_NULL_H
#define STK_BENCH_NULL_H

#include "source/source.h"

stk__source stk__bench_null_source(uint64_t count);

#endif
