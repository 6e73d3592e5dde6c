/* Generated data sets: what `stoker make` writes and `make:…` serves from memory. A sample is a pure function
 * of (kind, seed, index). They are learnable: labels follow from the pixels, and a constant answer scores
 * low. */
#ifndef STK_SOURCE_MAKE_H
#define STK_SOURCE_MAKE_H

#include "core/memory.h"
#include "image/pixels.h"

typedef enum stk__make_kind {
    STK_MAKE_FACES,   /* 512x512 RGB, mask of 19 classes */
    STK_MAKE_CAPTCHA, /* 320x160 RGB, two points: centre of the gap, centre of the slider */
    STK_MAKE_GRAY,    /* 128x128 grey, 10 classes */
    STK_MAKE_SERIES,  /* 16 features and a target per row; no pixels */
    STK_MAKE_COUNT
} stk__make_kind;

typedef struct stk__make_info {
    const char *name;       /* "faces" */
    const char *about;      /* one line for help */
    int32_t w, h, channels; /* 0 for series */
    int32_t class_count, point_count, feature_count;
    const char *const *class_names; /* [class_count] or NULL */
    uint64_t default_count;
} stk__make_info;

const stk__make_info *stk__make_describe(stk__make_kind kind);

typedef struct stk__made {
    int32_t label;
    float points[4][3]; /* x, y, visible */
} stk__made;

/* Draws sample `index`. image and mask have the size of stk__make_info (mask may have data NULL). scratch
 * only grows. */
stk_status stk__make_draw(stk__make_kind kind, uint64_t seed, uint64_t index, stk__pixels image,
                          stk__pixels mask, stk__made *made, stk__buffer *scratch, stk_error *error);

/* Rows 0 … count-1 of the series: values[count][feature_count + 1], the target last. */
void stk__make_series(uint64_t seed, uint64_t count, float *values);

#endif
