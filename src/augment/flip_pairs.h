/* SPDX-License-Identifier: Apache-2.0 */
/* Left and right: which classes and points change places when an image is mirrored. Names become pairs, pairs
 * become what a worker applies to a mirrored sample. Pure; nothing here knows the loader. */
#ifndef STK_AUGMENT_FLIP_PAIRS_H
#define STK_AUGMENT_FLIP_PAIRS_H

#include "core/memory.h"
#include "image/pixels.h"

#include <stdbool.h>

typedef struct stk__flip_pair {
    int32_t a, b; /* a < b */
} stk__flip_pair;

/* Each number stands in one pair at most. */
typedef struct stk__flip_pairs {
    stk__flip_pair *pairs; /* [count], owned */
    int32_t count;
} stk__flip_pairs;

void stk__flip_pairs_fini(stk__flip_pairs *pairs);

/* Numbered names; texts NULL: only their count is known. count 0: unknown, too. */
typedef struct stk__flip_names {
    const char *const *texts; /* [count] or NULL */
    int32_t count;
} stk__flip_names;

/* Pairs of names that differ in their side words alone: left_eye and right_eye, brow_l and brow_r, LHip and
 * RHip, 左眼 and 右眼. Every side word of a name changes: left_eye_right_corner belongs to
 * right_eye_left_corner. A name without its other side, or with two of them, is in no pair; the names "l" and
 * "r" are none among other names of one letter (an alphabet). */
stk_status stk__flip_pairs_find(stk__flip_pairs *out, stk__flip_names names, stk_error *error);

/* Room for so many pairs, before the first is added. */
stk_status stk__flip_pairs_reserve(stk__flip_pairs *pairs, int32_t most, stk_error *error);
/* False: the two are one, or one of them has a partner already. */
bool stk__flip_pairs_add(stk__flip_pairs *pairs, int32_t a, int32_t b);

/* "4:5,6:7", cut with "…" to size bytes. */
void stk__flip_pairs_print(const stk__flip_pairs *pairs, char *text, size_t size);

/* What is done to a mirrored sample. */
typedef struct stk__flip {
    bool on;       /* there are pairs, and images can be mirrored */
    bool by_names; /* … found by names, and no setting asked for them */
    stk__flip_pairs masks, labels, points;
    uint8_t ids[256];     /* of masks: id -> id */
    uint8_t lowest, span; /* ids that change are in lowest … lowest + span */
} stk__flip;

void stk__flip_fini(stk__flip *flip);
void stk__flip_make_ids(stk__flip *flip); /* from the pairs of masks, all of ids below 256 */

/* Ids of `from` with their sides changed into `to`, which has the same size or is the same; both dense. */
void stk__flip_mask(const stk__flip *flip, stk__pixels from, stk__pixels to);
void stk__flip_points(const stk__flip *flip, float *points); /* [][3]: pairs of rows change places */
/* Of several classes: [class count]. */
void stk__flip_set(const stk__flip *flip, float *set);
int64_t stk__flip_label(const stk__flip *flip, int64_t label);

#endif
