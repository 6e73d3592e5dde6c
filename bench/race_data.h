/* What the race of `stoker bench load` makes out of its data set: shards, and the same JPEGs as progressive
 * ones. */
#ifndef STK_BENCH_PACKED_H
#define STK_BENCH_PACKED_H

#include "source/source.h"

/* As `stoker pack root folder` does. */
stk_status stk__packed_make(const char *root, const char *folder, stk_error *error);
/* The first images of the source as progressive JPEGs of the same coefficients: folder/000000.jpg … */
stk_status stk__progressive_make(const stk__source *source, uint64_t count, const char *folder,
                                 stk_error *error);

#endif
