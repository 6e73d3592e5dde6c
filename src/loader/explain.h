/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to one sample in one epoch, for people. */
#ifndef STK_LOADER_EXPLAIN_H
#define STK_LOADER_EXPLAIN_H

#include "augment/plan.h"
#include "stoker/loader.h"

typedef struct stk__explanation {
    char path[4096];
    int32_t stored_w, stored_h; /* upright */
    stk__plan_at at;
    stk__plan_trace trace;
    stk__resolved resolved;
    bool swaps; /* mirrored: classes and points of left and right change places */
} stk__explanation;

/* Reads the header of the sample's image. Fails where nothing is augmented, or without such a sample. */
stk_status stk__loader_explain(stk_loader *loader, uint64_t epoch, uint64_t id, stk__explanation *out,
                               stk_error *error);

#endif
