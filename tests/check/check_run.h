/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a case with the reference and a contestant, and compares all bits. */
#ifndef CHECK_RUN_H
#define CHECK_RUN_H

#include "check/check_case.h"
#include "check/check_memory.h"
#include "check/contestants.h"

/* Memory of all cases, made once. */
typedef struct check_room {
    check_fence image, mask;
    check_output images[2], masks[2]; /* of the reference, of the contestant */
    stk__buffer scratch[2];
    stk__augment_source source;
} check_room;

check_room check_room_create(void);
void check_room_destroy(check_room *room);

/* Draws the pixels and runs the reference. */
void check_room_prepare(check_room *room, const check_case *c);
/* NULL, or what is wrong (in `text`). */
const char *check_room_compare(check_room *room, const check_case *c, const contestant *who, char text[512]);

#endif
