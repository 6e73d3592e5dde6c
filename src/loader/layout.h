/* SPDX-License-Identifier: Apache-2.0 */
/* Where everything of a batch lies in a slot's memory; the same for all slots of a loader. */
#ifndef STK_LOADER_LAYOUT_H
#define STK_LOADER_LAYOUT_H

#include "image/pixels.h"
#include "source/source.h"
#include "stoker/batch.h"

#include <stdbool.h>

enum { STK_LAYOUT_PARTNERS = 2 }; /* most samples of other batches that one needs for mixing */

/* How images and masks are kept. */
typedef struct stk__storage {
    stk_dtype image; /* U8: as decoded, each in its own size if need be; else finished, all in one size */
    stk_dtype mask;  /* U8, I64 */
    bool planar;     /* channel after channel */
    bool mixed;      /* second targets, lambda, and room for partners of other batches */
    bool staged;     /* decoded pixels and blocks are kept for a device that finishes the batch */
    bool resident;   /* the batch ends in a device's memory */
    bool remote;     /* … where the same device finishes it: the host has no room for finished pixels */
} stk__storage;

typedef struct stk__layout {
    int64_t batch_size, places; /* places: with partners of other batches */
    int32_t w, h, channels;     /* the common size; 0 without images */
    bool images, masks;
    stk__storage store;
    stk__label_kind label;
    int32_t label_count; /* values of a sample's label: 1, or the classes of a set */
    int32_t point_count, window_rows, window_columns;
    size_t image_bytes, mask_bytes; /* of one sample */
    size_t mask_offset, mask2_offset, view_offset, block_offset;
    size_t label_offset, label2_offset, lambda_offset, point_offset, window_offset, id_offset, weight_offset;
    size_t arena_offset; /* where views count from: the start, or that of the decoded pixels for a device */
    size_t spare_offset; /* from here to the end: decoded images that have no place of their own (spare.h) */
    size_t total_bytes;
    uint64_t spare_limit_bytes; /* that the spare memory may grow to */

    /* Resident: images and masks are as far from the start of the device's memory as of the host's; facts,
     * from label_offset to the weights' end, lie behind them. */
    size_t pixel_bytes, fact_bytes, device_fact_offset, device_bytes;
    size_t mix_offset; /* remote: stk__kernel_mix of the batch */
    size_t pin_bytes;  /* from the start, what is worth pinning, in whole pages: maybe beyond total_bytes */
} stk__layout;

typedef struct stk__layout_options {
    int64_t batch_size;
    stk__pixels common;
    stk__storage store;
    size_t spare_bytes, usual_spare_bytes; /* planned; what a batch of the common size takes of it */
    uint64_t spare_limit_bytes;
} stk__layout_options;

stk__layout stk__layout_make(const stk__source_info *info, const stk__layout_options *options);

#endif
