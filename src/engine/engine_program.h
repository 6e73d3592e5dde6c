/* SPDX-License-Identifier: Apache-2.0 */
/* What the program itself takes, by engine. */
#ifndef STK_ENGINE_PROGRAM_H
#define STK_ENGINE_PROGRAM_H

#include "engine/engine.h"

uint64_t stk__engine_program_bytes(const stk__engine *engine);

#endif
