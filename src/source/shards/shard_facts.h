/* SPDX-License-Identifier: Apache-2.0 */
/* The small fields of a sample: class, value, points. */
#ifndef STK_SOURCE_SHARD_FACTS_H
#define STK_SOURCE_SHARD_FACTS_H

#include "core/memory.h"

enum {
    STK_SHARD_NUMBER_BYTES = 64,     /* of the longest cls or value */
    STK_SHARD_POINTS_BYTES = 1 << 16 /* of the longest points.json */
};

/* What is wrong with a field. */
typedef struct stk__shard_fault {
    stk_damage damage; /* STK_DAMAGE_NONE: nothing */
    char detail[160];
} stk__shard_fault;

/* Blanks and line ends around the number do not matter. */
void stk__shard_read_class(const char *text, size_t length, double *label, stk__shard_fault *fault);
void stk__shard_read_value(const char *text, size_t length, double *label, stk__shard_fault *fault);

/* Appends x, y, visible of each point to points; each is [x, y], [x, y, visible] or null. Fails only without
 * memory. */
stk_status stk__shard_read_points(const char *text, size_t length, stk__buffer *points,
                                  stk__shard_fault *fault, stk_error *error);

#endif
