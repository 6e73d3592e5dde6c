/* SPDX-License-Identifier: Apache-2.0 */
/* The image that a network has seen in its own size: masks and points are predicted in terms of it. */
#ifndef STK_SESSION_PREDICT_ORIGINAL_H
#define STK_SESSION_PREDICT_ORIGINAL_H

#include "decode/decode.h"
#include "source/source.h"

typedef struct stk__original { /* init/fini; zeroed: nothing to free */
    const stk__source *source;
    bool upright; /* the network sees images as EXIF says */
    stk__decoder *decoder;
    stk__buffer bytes, picture;
} stk__original;

stk_status stk__original_init(stk__original *original, const stk__source *source, const stk__limits *limits,
                              stk_error *error);
void stk__original_fini(stk__original *original);

/* The size of a sample, upright if the network saw it so; with `pixels` itself, RGB, until the next call. */
stk_status stk__original_open(stk__original *original, uint64_t id, bool pixels, stk__pixels *view,
                              stk_error *error);

#endif
