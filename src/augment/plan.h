/* SPDX-License-Identifier: Apache-2.0 */
/* What to do with samples, decided at open: settings become a plan, and a plan turns (epoch, sample) into
 * plain numbers. Immutable after create: any thread may resolve. */
#ifndef STK_AUGMENT_PLAN_H
#define STK_AUGMENT_PLAN_H

#include "augment/settings.h"
#include "device/augment_block.h"
#include "device/kernel/kernel_launch.h"

typedef struct stk__plan stk__plan;

/* settings NULL: nothing but resizing (validation). */
stk_status stk__plan_create(stk__plan **plan, const stk__augment_settings *settings, int64_t seed,
                            stk_error *error);
void stk__plan_destroy(stk__plan **plan);

/* The settings in effect in an epoch: with preset, schedule and defaults, as stk__augment_options describes
 * them. Texts in it are still those of the settings that the plan was made from. */
const stk__augment_settings *stk__plan_settings(const stk__plan *plan, uint32_t epoch);

typedef struct stk__extent {
    int32_t w, h;
} stk__extent;

/* What a sample is resized to before the fused pass: smaller than it is where the target is, by a better
 * filter; the pass makes it larger. Not if the plan crops, because then it cuts its part out of the full
 * size. target.w 0: as it is. */
stk__extent stk__plan_extent(bool crops, stk__extent source, stk__extent target);

/* Which sample, and from what size to what size it goes. */
typedef struct stk__plan_at {
    uint32_t epoch, sample;
    int32_t source_w, source_h;
    int32_t target_w, target_h, channels;
} stk__plan_at;

typedef struct stk__resolved {
    stk__augment_block block;
    double forward[6]; /* points of the source (pixels, centres at +0.5) to points of the target */
} stk__resolved;

/* One number that was drawn or decided, for people. */
typedef struct stk__plan_fact {
    const char *operation; /* "rotation" */
    const char *what;      /* "degrees" */
    double value;
} stk__plan_fact;

typedef struct stk__plan_trace {
    int count;
    stk__plan_fact facts[64];
} stk__plan_trace;

/* trace may be NULL. */
void stk__plan_resolve(const stk__plan *plan, const stk__plan_at *at, stk__resolved *out,
                       stk__plan_trace *trace);

/* Moves points (x, y, visible) in place; those that leave the target are no longer visible. */
void stk__plan_points(const stk__resolved *resolved, const stk__plan_at *at, float *points, int32_t count);

/* Points of an image that was resized, in place; those outside of it are not visible. */
void stk__points_scale(float *points, int32_t count, stk__extent from, stk__extent to);

/* Is the sample mirrored: does the matrix turn left hands into right ones? Two flips are a rotation. */
bool stk__resolved_mirrors(const stk__resolved *resolved);
bool stk__plan_mirrors(const stk__plan *plan); /* some samples, in any epoch */

/* Does the plan cut out parts of the source? Then the source must be there in its full size. */
bool stk__plan_crops(const stk__plan *plan);

/* How two partners are mixed. */
typedef enum stk__mix_kind { STK_MIX_NONE, STK_MIX_MIXUP, STK_MIX_CUTMIX } stk__mix_kind;

typedef struct stk__mix {
    stk__mix_kind kind;
    float lambda;       /* share of the own part, 1 without mixing; of CutMix from the clipped area */
    int32_t x, y, w, h; /* CutMix: the box that comes from the partner, inside the image */
} stk__mix;

bool stk__plan_mixes(const stk__plan *plan); /* in any epoch */
/* Of a pair of partners; sample is the id of the one at the even position. Both get the same. */
stk__mix stk__plan_mix(const stk__plan *plan, uint32_t epoch, uint32_t sample, int32_t w, int32_t h);
/* The same for those who mix pixels (device/mix.h, stk_mix), of the samples at these places of a batch. */
stk__kernel_mix stk__mix_entry(const stk__mix *mix, uint32_t a, uint32_t b);

#endif
