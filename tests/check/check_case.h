/* SPDX-License-Identifier: Apache-2.0 */
/* One case of stkcheck: a block, a source and a target, all drawn from (family, round, seed). */
#ifndef CHECK_CASE_H
#define CHECK_CASE_H

#include "device/cpu/augment_pass.h"

typedef enum check_pixels {
    CHECK_RANDOM,
    CHECK_ZERO,
    CHECK_MAX,
    CHECK_RAMP,
    CHECK_POINT, /* one bright pixel */
    CHECK_PIXEL_KINDS
} check_pixels;

typedef struct check_case {
    uint64_t draws; /* state of the generator: the source's bytes come from it too */
    stk__augment_block block;
    int32_t source_w, source_h;
    int32_t pitch_slack, mask_slack; /* bytes between rows */
    check_pixels pixels;
    bool source_first; /* right behind a page that cannot be read, instead of right before one */
    bool has_mask;
    stk__augment_target target; /* image, mask: NULL */
    size_t image_offset;        /* of the output from an address divisible by 64, in values */
} check_case;

typedef struct check_family {
    const char *name;
    void (*change)(check_case *c); /* what is special about it, on top of a plain copy */
    int rounds;
} check_family;

const check_family *check_families(size_t *count);

check_case check_case_draw(const check_family *family, uint64_t seed, int round);

/* A reproducible number of `bits` bits; one in [low, high]; one in [low, high). */
uint32_t check_draw(check_case *c);
int32_t check_draw_int(check_case *c, int32_t low, int32_t high);
float check_draw_float(check_case *c, float low, float high);

#endif
