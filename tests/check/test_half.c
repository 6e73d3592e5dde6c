/* SPDX-License-Identifier: Apache-2.0 */
/* Float to half, by the reference, its loops, and the CPU's instruction at every width it has, against
 * arithmetic in double: every value between two halves and its neighbours, and millions of random ones.
 * Kernels are held to the reference's bits, so an instruction that rounds differently (as that of bochs 2.7)
 * shows here first. */
#include "core/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { GROUP = 16, RANDOM_GROUPS = 1 << 18 };

/* Of |value|: in steps of the half's last place, rounded to even by the current mode of the C library. */
static uint16_t half_by_double(float value)
{
    const double size = fabs((double)value);
    const int exponent = size < 0x1p-14 ? -14 : ilogb(size);
    const double steps = rint(ldexp(size, 10 - exponent));
    const int bits = exponent > 15 ? 0x7c00 : ((exponent + 14) * 1024 + (int)steps);
    return (uint16_t)((signbit(value) ? 0x8000 : 0) | (bits < 0x7c00 ? bits : 0x7c00));
}

static void convert_by_c(const float *in, uint16_t *out)
{
    for (int i = 0; i < GROUP; i++)
        out[i] = stk__half_from_float(in[i]);
}

static void convert_by_loops_c(const float *in, uint16_t *out)
{
    stk__half_loops_at(STK_DTYPE_F16, STK_CPU_C)->narrow(in, out, GROUP);
}

static void convert_by_loops_avx2(const float *in, uint16_t *out)
{
    stk__half_loops_at(STK_DTYPE_F16, STK_CPU_AVX2)->narrow(in, out, GROUP);
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx,f16c"))) static void convert_by_128(const float *in, uint16_t *out)
{
    for (int i = 0; i < GROUP; i += 4)
        _mm_storel_epi64((__m128i *)(void *)(out + i),
                         _mm_cvtps_ph(_mm_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
}

__attribute__((target("avx,f16c"))) static void convert_by_256(const float *in, uint16_t *out)
{
    for (int i = 0; i < GROUP; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
}

__attribute__((target("avx512f"))) static void convert_by_512(const float *in, uint16_t *out)
{
    _mm256_storeu_si256((__m256i *)(void *)out,
                        _mm512_cvtps_ph(_mm512_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#endif

static const struct {
    const char *name;
    stk__cpu_level needs;
    void (*convert)(const float *in, uint16_t *out);
} converters[] = {
    {"stk__half_from_float", STK_CPU_C, convert_by_c},
    {"the loop in C", STK_CPU_C, convert_by_loops_c},
    {"the loop of AVX2", STK_CPU_AVX2, convert_by_loops_avx2},
#if defined(__x86_64__)
    {"VCVTPS2PH of 128 bits", STK_CPU_AVX2, convert_by_128},
    {"VCVTPS2PH of 256 bits", STK_CPU_AVX2, convert_by_256},
    {"VCVTPS2PH of 512 bits", STK_CPU_AVX512, convert_by_512},
#endif
};
enum { CONVERTERS = sizeof converters / sizeof converters[0] };

static stk__cpu_level found; /* asked once: to ask is slow on a virtual machine */

static void check_group(const float in[GROUP])
{
    for (size_t k = 0; k < CONVERTERS; k++) {
        uint16_t out[GROUP];
        if (converters[k].needs > found) continue;
        converters[k].convert(in, out);
        for (int i = 0; i < GROUP; i++)
            if (out[i] != half_by_double(in[i]))
                fail_msg("%s of %a is 0x%04x, not 0x%04x", converters[k].name, (double)in[i], out[i],
                         half_by_double(in[i]));
    }
}

static float value_of(int half) /* 0 … 0x7c00, the last one as if halves went on */
{
    const int exponent = half >> 10, fraction = half & 1023;
    return exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
}

/* The halves themselves, what lies between two of them, and what lies next to that. */
static void every_tie_goes_to_the_even_half(void **state)
{
    (void)state;
    for (int half = 0; half < 0x7c00; half++) {
        const float tie = (value_of(half) + value_of(half + 1)) / 2;
        const float near[GROUP / 2] = {
            value_of(half), tie,     nextafterf(tie, 0), nextafterf(tie, INFINITY), 0x1p-25f, 65519.996f,
            65520,          INFINITY};
        float group[GROUP];
        for (int i = 0; i < GROUP / 2; i++) {
            group[i] = near[i];
            group[GROUP / 2 + i] = -near[i];
        }
        check_group(group);
    }
}

static void random_floats_go_to_the_nearest_half(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int g = 0; g < RANDOM_GROUPS; g++) {
        float group[GROUP];
        for (int i = 0; i < GROUP; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            /* Exponents of halves and some beyond: of all floats most would be zero or infinite. */
            const uint32_t exponent = 90 + (uint32_t)(seed >> 58), rest = (uint32_t)(seed >> 26) & 0x807fffff;
            const uint32_t bits = exponent << 23 | rest;
            memcpy(&group[i], &bits, sizeof bits);
        }
        check_group(group);
    }
}

/* Every number of 16 bits becomes a float and comes back; loops have the same bits at every length. */
static void widened_numbers_come_back(void **state)
{
    (void)state;
    enum { ALL = 1 << 16 };
    static uint16_t in[ALL], back[ALL];
    static float wide[2][ALL];
    for (int i = 0; i < ALL; i++)
        in[i] = (uint16_t)i;
    for (stk_dtype dtype = STK_DTYPE_F16; dtype <= STK_DTYPE_BF16; dtype++)
        for (stk__cpu_level level = STK_CPU_C; level <= found && level <= STK_CPU_AVX2; level++) {
            const stk__half_loops *loops = stk__half_loops_at(dtype, level);
            for (int i = 0; i < ALL; i++)
                wide[0][i] = dtype == STK_DTYPE_F16 ? stk__half_to_float(in[i]) : stk__bfloat_to_float(in[i]);
            loops->widen(in, wide[1], ALL);
            assert_memory_equal(wide[0], wide[1], sizeof wide[0]);
            for (int part = 0, at = 0; at < ALL; at += part++)
                loops->narrow(wide[0] + at, back + at, at + part < ALL ? part : ALL - at);
            for (int i = 0; i < ALL; i++) {
                const uint16_t quiet = isnan(wide[0][i]) ? (dtype == STK_DTYPE_F16 ? 0x200 : 0x40) : 0;
                if (back[i] != (in[i] | quiet)) fail_msg("0x%04x came back as 0x%04x", in[i], back[i]);
            }
        }
    for (int half = 0; half < 0x7c00; half++)
        assert_true(stk__half_to_float((uint16_t)half) == value_of(half));
}

static void bfloats_are_rounded_to_even(void **state)
{
    (void)state;
    for (uint32_t upper = 0; upper < 0x7f80; upper++)
        for (uint32_t k = 0; k < 4; k++) {
            static const uint32_t lower[] = {0, 0x7fff, 0x8000, 0x8001};
            const uint32_t bits = upper << 16 | lower[k],
                           up = lower[k] > 0x8000 || (lower[k] == 0x8000 && upper & 1);
            float value;
            memcpy(&value, &bits, sizeof value);
            assert_int_equal(stk__bfloat_from_float(value), upper + up);
            assert_int_equal(stk__bfloat_from_float(-value), 0x8000 + upper + up);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tie_goes_to_the_even_half),
        cmocka_unit_test(random_floats_go_to_the_nearest_half),
        cmocka_unit_test(widened_numbers_come_back),
        cmocka_unit_test(bfloats_are_rounded_to_even),
    };
    found = stk__cpu_level_found();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
