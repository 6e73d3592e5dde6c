#include "device/augment.h"

static const stk__augment_kernel kernels[STK_CPU_LEVELS] = {
    [STK_CPU_C] = stk__augment_c,
};

stk__augment_kernel stk__augment_at(stk__cpu_level level)
{
    return level <= stk__cpu_level_found() ? kernels[level] : NULL;
}
