/* SPDX-License-Identifier: Apache-2.0 */
/* Which algorithm a convolution of the engine onednn uses in each pass: oneDNN's direct one, or our own. */
#ifndef STK_ENGINE_ONEDNN_WINOGRAD_H
#define STK_ENGINE_ONEDNN_WINOGRAD_H

#include "core/hash.h"
#include "engine/onednn/onednn_engine.h"
#include "engine/winograd/winograd_run.h"

typedef struct stk__onednn_winograd {
    bool possible; /* 3x3, stride 1, padding 1, no groups: otherwise nothing below means anything */
    bool open;     /* shall be measured */
    bool uses[STK_WINOGRAD_PASSES];
    stk__winograd_layer layer;
} stk__onednn_winograd;

/* By the engine's option and the rule below; measures nothing. */
void stk__onednn_winograd_choose(const stk__op *op, stk__onednn_winograd *w);

/* The rule of STK_CONV_AUTO: what was faster where it was measured (docs/performance.md). */
bool stk__onednn_winograd_pays(const stk__winograd_layer *layer, stk__cpu_level level);

/* For the operation's method. */
const char *stk__onednn_winograd_word(const stk__onednn_winograd *w);
/* Sets uses by such a word; false: unknown word. */
bool stk__onednn_winograd_read(stk__onednn_winograd *w, const char *word);

/* Scratch of the passes that use it. */
size_t stk__onednn_winograd_bytes(const stk__onednn_winograd *w);

void stk__onednn_winograd_forward(const stk__op *op, const stk__onednn_winograd *w, const stk__op_io *io);
void stk__onednn_winograd_data(const stk__op *op, const stk__onednn_winograd *w, const stk__op_io *io);
void stk__onednn_winograd_weights(const stk__op *op, const stk__onednn_winograd *w, const stk__op_io *io);

/* --- measuring (STK_CONV_AUTO with tune) -----------------------------------------------------------------
 */

/* Where it is remembered (device/program_cache.h): CPU, versions, shape, threads. */
stk__digest stk__onednn_tune_key(const stk__op *op, const stk__winograd_layer *layer);

/* True: uses is what was measured on such a CPU before. */
bool stk__onednn_tune_recall(const stk__op *op, stk__onednn_winograd *w);

/* Runs the operation, which must be ready for either algorithm in each pass, both ways; sets uses to the
 * faster ones and remembers them. Where it cannot be measured (no memory), uses stays the rule's. */
void stk__onednn_tune(stk__op *op, stk__onednn_winograd *w);

#endif
