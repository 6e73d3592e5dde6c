/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiled version of the fused pass belongs to which CPU level. All give the same bits; tests
 * compare each with the one in plain C. */
#include "device/cpu/augment_pass.h"

static const stk__augment_kernel kernels[STK_CPU_LEVELS] = {
    [STK_CPU_C] = stk__augment_c,
#if defined(__x86_64__)
    [STK_CPU_AVX2] = stk__augment_avx2,
    [STK_CPU_AVX512] = stk__augment_avx512,
#endif
};

stk__augment_kernel stk__augment_at(stk__cpu_level level)
{
    return level <= stk__cpu_level_found() ? kernels[level] : NULL;
}
