/* SPDX-License-Identifier: Apache-2.0 */
/* The row code with sixteen lanes, as AVX-512 has them, on a machine that may not have AVX-512. */
#include "check/simd_plain.h"
#include "device/cpu/augment_level.h"

#include "check/contestants.h"

stk_status check_augment_lanes16(const stk__augment_block *block, const stk__augment_source *source,
                                 const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    return run_level(block, source, target, scratch, error);
}
