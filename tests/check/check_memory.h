/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that catches who reads or writes beside it. Functions stop the program when there is none. */
#ifndef CHECK_MEMORY_H
#define CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pages between two that cannot be touched. */
typedef struct check_fence {
    uint8_t *pages; /* the first readable one */
    size_t size_bytes;
} check_fence;

check_fence check_fence_create(size_t size_bytes); /* rounded up to pages */
void check_fence_destroy(check_fence *fence);
/* size_bytes in it, touching the page before (first) or the page behind. */
uint8_t *check_fence_place(const check_fence *fence, size_t size_bytes, bool first);

/* Room for an output, with bytes on both sides that must stay as they are. */
typedef struct check_output {
    uint8_t *memory;
    uint8_t *data;
    size_t size_bytes, memory_bytes;
    uint8_t untouched; /* the value of every byte that nobody wrote */
} check_output;

check_output check_output_create(size_t memory_bytes, uint8_t untouched);
void check_output_destroy(check_output *output);
void check_output_place(check_output *output, size_t size_bytes, size_t offset_bytes);
bool check_output_kept(const check_output *output); /* are both sides as they were? */

#endif
