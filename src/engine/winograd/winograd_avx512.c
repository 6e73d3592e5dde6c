/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution in the vectors of winograd_simd_avx512.h. Compiled with its own flags. */
#include "engine/winograd/winograd.h"

#if defined(__x86_64__)
#include "engine/winograd/winograd_simd_avx512.h"
#include "engine/winograd/winograd_level.h"

const stk__winograd_kernel stk__winograd_avx512 = WINOGRAD_LEVEL;
#endif
