/* SPDX-License-Identifier: Apache-2.0 */
/* Generated data sets: what `stoker make` writes and `make:…` serves from memory. A sample is a pure function
 * of (kind, seed, index). They are learnable: labels follow from the pixels, and a constant answer scores
 * low. */
#ifndef STK_MAKE_MAKE_H
#define STK_MAKE_MAKE_H

#include "core/memory.h"
#include "image/pixels.h"

#include <stdbool.h>

typedef enum stk__make_kind {
    STK_MAKE_FACES,   /* 512x512 RGB, mask of 19 classes */
    STK_MAKE_CAPTCHA, /* 320x160 RGB, two points: centre of the gap, centre of the slider */
    STK_MAKE_GRAY,    /* 128x128 grey, 10 classes */
    STK_MAKE_SERIES,  /* 16 features and a target per row; no pixels */
    STK_MAKE_COUNT
} stk__make_kind;

enum { STK_MAKE_FEATURES = 16 };

typedef struct stk__made {
    int32_t label;      /* class, -1: none */
    float points[2][3]; /* x, y, visible */
} stk__made;

typedef struct stk__make_info {
    const char *name;       /* "faces" */
    const char *about;      /* one line for help */
    int32_t w, h, channels; /* 0 for series */
    bool masks;
    int32_t class_count, point_count, feature_count;
    const char *const *class_names; /* [class_count] in bytewise order of a labelled kind, or NULL */
    const char *const *point_names; /* [point_count] or NULL */
    uint64_t default_count;
    size_t scratch_bytes; /* for stk__make_draw */
    uint32_t file_bytes;  /* on a disk, a sample, about and rather too much */
    /* See stk__make_draw and stk__make_facts. */
    void (*draw)(uint64_t seed, uint64_t index, stk__pixels image, stk__pixels mask, uint8_t *scratch);
    void (*facts)(uint64_t seed, uint64_t index, stk__made *made);
} stk__make_info;

const stk__make_info *stk__make_describe(stk__make_kind kind);

/* STK_MAKE_COUNT for an unknown word. */
stk__make_kind stk__make_find(const char *name);

/* Draws sample `index` of a kind with pixels. image and mask have the size of stk__make_info; each may have
 * data NULL and is then left out. scratch: stk__make_info.scratch_bytes of any content, aligned to 64. */
void stk__make_draw(stk__make_kind kind, uint64_t seed, uint64_t index, stk__pixels image, stk__pixels mask,
                    uint8_t *scratch);

/* Label and points of a sample, without drawing it. */
stk__made stk__make_facts(stk__make_kind kind, uint64_t seed, uint64_t index);

/* The key (path without extension) of sample `index` of `count`: "000017", "moon/000017". */
void stk__make_key(stk__make_kind kind, uint64_t index, uint64_t count, char *key, size_t size);

/* Rows first … end-1 of the series into values[end][STK_MAKE_FEATURES + 1], the target last; the rows before
 * first must be there already. */
void stk__make_series(uint64_t seed, uint64_t first, uint64_t end, float *values);

/* The kinds, for the table in make.c. */
extern const stk__make_info stk__make_faces, stk__make_captcha, stk__make_gray, stk__make_series_info;

#endif
