/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that stkcheck holds to the reference: CPU levels and the GPU kernel text as C, each with the
 * reason why it cannot run here. Also checks that F16C rounds as the standard says (emulators may not). */
#include "check/contestants.h"

#if defined(__x86_64__)
#include <immintrin.h>

static const char *lacks_avx2(void)
{
    return stk__augment_at(STK_CPU_AVX2) ? NULL : "the CPU does not have it";
}

static const char *lacks_avx512(void)
{
    return stk__augment_at(STK_CPU_AVX512) ? NULL : "the CPU does not have it";
}

__attribute__((target("avx,f16c"))) static uint32_t convert_by_f16c(float value)
{
    return (uint32_t)_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT)) & 0xffff;
}

/* Exactly between two halves, of which the lower and then the upper one is even. */
bool check_f16c_is_right(void)
{
    volatile float low_even = 0x1.002p0f, high_even = 0x1.006p0f; /* not for the compiler to convert */
    if (lacks_avx2()) return true;                                /* nobody uses it */
    return convert_by_f16c(low_even) == 0x3c00 && convert_by_f16c(high_even) == 0x3c02;
}
#else
bool check_f16c_is_right(void)
{
    return true;
}
#endif

static const char *is_always_here(void)
{
    return NULL;
}

static const contestant contestants[] = {
    {"lanes16", is_always_here, check_augment_lanes16, .slow = true},
#if defined(__x86_64__)
    {"avx2", lacks_avx2, stk__augment_avx2, .converts_by_f16c = true},
    {"avx512", lacks_avx512, stk__augment_avx512, .converts_by_f16c = true},
#endif
    {"host_build", is_always_here, check_augment_host_build, .slow = true},
    {"opencl", check_opencl_why_not, check_augment_opencl, .slow = true},
    {"cuda", check_cuda_why_not, check_augment_cuda, .slow = true},
};

const contestant *check_contestants(size_t *count)
{
    *count = sizeof contestants / sizeof contestants[0];
    return contestants;
}

void check_contestants_close(void)
{
    check_devices_close();
}
