/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX-512 level: the row code of augment_level.h in the vectors of simd_avx512.h. Compiled with its own
 * flags. */
#include "device/cpu/augment_pass.h"

#if defined(__x86_64__)
#include "device/cpu/simd_avx512.h"
#include "device/cpu/augment_level.h"

stk_status stk__augment_avx512(const stk__augment_block *block, const stk__augment_source *source,
                               const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    return run_level(block, source, target, scratch, error);
}
#endif
