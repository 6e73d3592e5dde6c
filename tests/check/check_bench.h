/* SPDX-License-Identifier: Apache-2.0 */
/* stkcheck --bench: time of each level beside the reference. */
#ifndef CHECK_BENCH_H
#define CHECK_BENCH_H

void check_bench(const char *only); /* a case's name; NULL: all */

#endif
