#include "check/contestants.h"

static bool is_always_there(void)
{
    return true;
}

#if defined(__x86_64__)
static bool has_avx2(void)
{
    return stk__augment_at(STK_CPU_AVX2) != NULL;
}

static bool has_avx512(void)
{
    return stk__augment_at(STK_CPU_AVX512) != NULL;
}
#endif

static const contestant contestants[] = {
    {"lanes16", is_always_there, check_augment_lanes16, true},
#if defined(__x86_64__)
    {"avx2", has_avx2, stk__augment_avx2, false},
    {"avx512", has_avx512, stk__augment_avx512, false},
#endif
};

const contestant *check_contestants(size_t *count)
{
    *count = sizeof contestants / sizeof contestants[0];
    return contestants;
}
