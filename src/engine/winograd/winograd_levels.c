/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiled Winograd kernels belong to which CPU level. */
#include "engine/winograd/winograd.h"

static const stk__winograd_kernel *const kernels[STK_CPU_LEVELS] = {
    [STK_CPU_C] = &stk__winograd_c,
#if defined(__x86_64__)
    [STK_CPU_AVX2] = &stk__winograd_avx2,
    [STK_CPU_AVX512] = &stk__winograd_avx512,
#endif
};

const stk__winograd_kernel *stk__winograd_at(stk__cpu_level level)
{
    return level <= stk__cpu_level_found() ? kernels[level] : NULL;
}
