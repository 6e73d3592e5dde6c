/* SPDX-License-Identifier: Apache-2.0 */
/* The loops with AVX2. Compiled with its own flags. */
#include "engine/onednn/onednn_loops.h"

#if defined(__x86_64__)
#include "engine/onednn/onednn_loops_level.h"

const stk__onednn_loops stk__onednn_loops_avx2 = STK__LOOPS_TABLE;
#endif
