/* SPDX-License-Identifier: Apache-2.0 */
/* What the program itself takes, by engine. */
#ifndef STK_ENGINE_PROGRAM_H
#define STK_ENGINE_PROGRAM_H

#include "engine/engine.h"

uint64_t stk__engine_program_bytes(const stk__engine *engine);

/* Tensors that an engine's library makes for itself while a network is trained on the host. */
typedef struct stk__engine_load {
    uint64_t inside_bytes; /* the most of stk__op_needs.inside_bytes, or adding_bytes */
    bool convolves;        /* there are convolutions */
    int generating_ops;    /* of a pass: stk__op_needs.generates */
    bool bf16;             /* mixed precision in bf16; fp16 is widened (torch.c) */
} stk__engine_load;
uint64_t stk__engine_temporary_bytes(const stk__engine_info *info, const stk__engine_load *load);

#endif
