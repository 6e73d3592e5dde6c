/* SPDX-License-Identifier: Apache-2.0 */
/* Parses values of a line of a recording. */
#ifndef STK_MONITOR_REPLAY_VALUE_H
#define STK_MONITOR_REPLAY_VALUE_H

#include "stoker/monitor.h"

#include <jansson.h>

/* Errors are sticky: the first missing or invalid key is kept, later calls return harmless values. */
typedef struct stk__getter {
    const char *missing; /* first key that is missing or invalid */
} stk__getter;

json_t *stk__replay_value(stk__getter *g, const json_t *object, const char *key, json_type type);
int64_t stk__replay_whole(stk__getter *g, const json_t *object, const char *key);
uint64_t stk__replay_moment(stk__getter *g, const json_t *object, const char *key);
void stk__replay_text(stk__getter *g, const json_t *object, const char *key, char *text, size_t room);
stk_reading stk__replay_reading(stk__getter *g, const json_t *object, const char *key, uint64_t when_ns);
/* All [count] readings of a GPU or of the host, as record.c wrote them. */
void stk__replay_readings(stk__getter *g, const json_t *object, int count, const char *(*key)(int),
                          stk_reading *readings);

/* One GPU's part of a frame (replay_gpu.c). */
void stk__replay_gpu(stk__getter *g, const json_t *object, stk_gpu_frame *seen);

#endif
