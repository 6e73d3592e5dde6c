/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding sizes up to whole blocks. */
#ifndef STK_CORE_ALIGN_H
#define STK_CORE_ALIGN_H

#include <stddef.h>

enum { STK_LINE_BYTES = 64 }; /* a line of the cache, and the width of AVX-512 */

/* The next multiple of `block_bytes`: 0 -> 0, 1 -> 64, 64 -> 64 for blocks of 64. */
static inline size_t stk__align_up(size_t bytes, size_t block_bytes)
{
    return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

#endif
