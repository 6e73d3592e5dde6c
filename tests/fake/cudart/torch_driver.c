/* SPDX-License-Identifier: Apache-2.0 */
/* The libcuda.so.1 that PyTorch's libcaffe2_nvrtc.so links: what it asks the driver directly. Everything else
 * that it wants is made by assemble.py. */
#include "dry.h"

DRY_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
DRY_EXPORT int cuCtxGetCurrent(void **context);
DRY_EXPORT int cuCtxSetCurrent(void *context);
DRY_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = 1;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    static char contexts[8];
    *context = &contexts[device & 7];
    return 0;
}

int cuCtxGetCurrent(void **context)
{
    return cuDevicePrimaryCtxRetain(context, 0);
}

int cuCtxSetCurrent(void *context)
{
    (void)context;
    return 0;
}
