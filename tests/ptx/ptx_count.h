/* SPDX-License-Identifier: Apache-2.0 */
/* test_ptx --count: what the kernels execute for a pixel. */
#ifndef PTX_COUNT_H
#define PTX_COUNT_H

/* A table for each of the chains, written as "KEY=VALUE KEY=VALUE"; without any, the presets standard and
 * strong. Returns an exit status. */
int ptx_count_print(const char *path, char *const chains[], int chain_count);

#endif
