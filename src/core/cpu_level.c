/* SPDX-License-Identifier: Apache-2.0 */
/* CPU feature detection: the highest SIMD level (C, AVX2, AVX-512) that both CPU and operating system
 * support, capped by the variable STOKER_CPU. No state; the variable is read at every call, so that tests
 * can change it. */
#include "core/cpu_level.h"

#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const names[STK_CPU_LEVELS] = {"c", "avx2", "avx512"};

#if defined(__x86_64__)
static bool has_f16c(void) /* clang's __builtin_cpu_supports does not know the name */
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

/* __builtin_cpu_supports asks the system too: registers it does not save are not there. */
stk__cpu_level stk__cpu_level_found(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) return STK_CPU_C;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx512 ? STK_CPU_AVX512 : STK_CPU_AVX2;
}
#else
stk__cpu_level stk__cpu_level_found(void)
{
    return STK_CPU_C;
}
#endif

stk__cpu_level stk__cpu_level_allowed(void)
{
    const stk__cpu_level found = stk__cpu_level_found();
    const char *cap = getenv("STOKER_CPU");
    for (int level = 0; cap && level < (int)found; level++)
        if (strcasecmp(cap, names[level]) == 0) return (stk__cpu_level)level;
    return found;
}

const char *stk__cpu_level_name(stk__cpu_level level)
{
    return names[level];
}
