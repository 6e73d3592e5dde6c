/* SPDX-License-Identifier: Apache-2.0 */
/* Stands between the engine torch and PyTorch: counts what is handed out and who gives it back, refuses calls
 * and leaves releases out. The real library is behind.
 *
 * What it counts is its own book, not the engine's: every tensor handle, list, text and cell by its address.
 * What a call of an operator is given belongs to PyTorch from then on, also when the call is refused. */
#ifndef TESTS_ENGINE_TORCH_SHIM_H
#define TESTS_ENGINE_TORCH_SHIM_H

#include "engine/torch/torch_api.h"

typedef enum torch_shim_kind {
    TORCH_SHIM_TENSOR,
    TORCH_SHIM_LIST,
    TORCH_SHIM_TEXT,
    TORCH_SHIM_CELL,
    TORCH_SHIM_KINDS
} torch_shim_kind;

typedef struct torch_shim {
    const stk__torch_api *real;
    long refuse;                     /* this call from now on fails; 0: none does */
    long keep;                       /* this release from now on is left out; 0: none is */
    long calls, releases;            /* since the start */
    long dispatched;                 /* calls of operators among them */
    long released[TORCH_SHIM_KINDS]; /* by kind */
    torch_shim_kind kept;            /* kind of the last release that was left out */
} torch_shim;

extern torch_shim torch_shim_state;

/* In the table of calls, for all engines of this process, before any is opened. Fails where there is no
 * PyTorch. */
stk_status torch_shim_put(stk_error *error);
/* PyTorch's reason for a failure; NULL: as before 2.13. The shim's own has two sentences. */
void torch_shim_explain(const char *(*say)(void));
const char *torch_shim_reason(void);
/* What was handed out and neither released nor given to PyTorch. */
long torch_shim_alive(void);
/* Makes up for the releases that were left out, so that a sanitizer sees no leak of the tests' own making. */
void torch_shim_forget_kept(void);

/* The message and hint of a refused call: which call, the first sentence of the reason, what to do. */
void torch_shim_expect_told(const stk_error *error);

#endif
