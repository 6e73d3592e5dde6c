/* SPDX-License-Identifier: Apache-2.0 */
/* The loops in plain C, and which ones are taken. Wider vectors than AVX2's gain nothing: memory is the
 * limit.
 */
#include "engine/onednn/onednn_loops_level.h"

const stk__onednn_loops stk__onednn_loops_c = STK__LOOPS_TABLE;

const stk__onednn_loops *stk__onednn_loops_at(stk__cpu_level level)
{
#if defined(__x86_64__)
    if (level >= STK_CPU_AVX2) return &stk__onednn_loops_avx2;
#endif
    (void)level;
    return &stk__onednn_loops_c;
}
