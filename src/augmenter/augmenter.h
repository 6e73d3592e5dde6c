/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of stk_augmenter, for the files of this room only. */
#ifndef STK_AUGMENTER_AUGMENTER_H
#define STK_AUGMENTER_AUGMENTER_H

#include "augment/flip_pairs.h"
#include "augment/normalization.h"
#include "augment/plan.h"
#include "augmenter/pixel_source.h"
#include "device/cpu/augment_batch.h"
#include "device/device.h"
#include "device/mix.h"
#include "stoker/augment.h"

#include <stdatomic.h>

enum { STK_AUGMENTER_EFFECTS = 8 };

/* Memory of one thread of the pool, which only grows. */
typedef struct stk__augmenter_worker {
    stk__buffer image, mask;             /* copies of the caller's */
    stk__buffer small_image, small_mask; /* resized */
    stk__buffer resizing;
    stk__buffer values; /* floats of a result that becomes bytes */
} stk__augmenter_worker;

struct stk_augmenter {
    stk__plan *plan;
    bool crops, mixes;   /* the plan does */
    stk__flip flip;      /* labels: of classes, whatever has them; masks: those below 256 */
    stk__extent size;    /* of results; 0: as the sources */
    int32_t point_count; /* 0: any */
    stk_dtype dtype;
    bool planar;
    stk__normalization normalization;
    const stk__pixel_rows *rows;
    stk__device *device;      /* NULL: the pool */
    stk__device_memory *kept; /* for results that stay on the device; NULL: none yet */
    uint64_t kept_places;
    bool lost;                  /* the device may still read the arena */
    stk_augmenter *left_before; /* in the list of those that were lost */
    atomic_bool busy;           /* a call is under way */
    stk__augment_crew crew;
    stk__augmenter_worker workers[STK_POOL_WORKERS];
    stk__buffer samples, blocks, mixes_made, views, sources, arena; /* of a call */
    stk_loader_effect effects[STK_AUGMENTER_EFFECTS];
    int effect_count;
};

/* augmenter_options.c: everything that is decided at open. */
stk_status stk__augmenter_configure(stk_augmenter *augmenter, const stk_augment_options *options,
                                    stk_error *error);

/* One sample of a call. */
typedef struct stk__augmenter_sample {
    stk__pixel_source image, mask;
    stk__extent resized; /* what they are resized to before the pass */
    uint32_t id;
    bool swaps;                       /* it is mirrored, and there are pairs of left and right */
    size_t image_offset, mask_offset; /* in the arena, for a device */
} stk__augmenter_sample;

/* A call: what the caller gave, checked. */
typedef struct stk__augmenter_call {
    stk_augmenter *augmenter;
    const stk_augment_io *io;
    size_t count;
    uint32_t epoch;
    bool masks;
    bool resident;                  /* images and masks lie in the memory of the device */
    stk__augment_target target;     /* of the first sample */
    void *mask2;                    /* of the first sample; NULL: none */
    stk__augmenter_sample *samples; /* [count] */
    stk__augment_block *blocks;     /* [count] */
    stk__kernel_mix *mixes;         /* [count] at most */
    size_t mix_count;
} stk__augmenter_call;

/* augmenter_io.c: checks every argument and fills call but for what is drawn. */
stk_status stk__augmenter_call_open(stk__augmenter_call *call, stk_augmenter *augmenter,
                                    const stk_augment_io *io, stk_error *error);

/* augmenter_facts.c: draws the numbers of all samples; moves points, swaps labels. */
void stk__augmenter_draw(stk__augmenter_call *call);
/* Decides what is mixed, and mixes labels. */
void stk__augmenter_mix(stk__augmenter_call *call);

/* augmenter_pixels.c: images and masks, mixing included. */
stk_status stk__augmenter_run(stk__augmenter_call *call, stk_error *error);

/* augmenter_resident.c, for calls that are resident: what a device reads instead of an arena of the host's,
 * [count], which belong to the augmenter. The call has been laid out. */
stk_status stk__augmenter_sources(stk__augmenter_call *call, const stk__kernel_gather **sources,
                                  stk_error *error);
/* When the batch is ready: STK_ERROR_SAMPLE if a value was no pixel. */
stk_status stk__augmenter_judge_sources(const stk__augmenter_call *call, stk_error *error);

#endif
