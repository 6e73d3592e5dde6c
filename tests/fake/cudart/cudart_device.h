/* Limits of the device that the dry runtime has: an A100's. */
#ifndef DRY_CUDART_DEVICE_H
#define DRY_CUDART_DEVICE_H

#include "cudart_api.h"

#include <stdbool.h>

enum {
    DRY_BLOCK_THREADS = 1024,
    DRY_BLOCK_X = 1024,
    DRY_BLOCK_Y = 1024,
    DRY_BLOCK_Z = 64,
    DRY_GRID_X = 2147483647,
    DRY_GRID_YZ = 65535,
    DRY_MULTI_THREADS = 2048,
    DRY_SHARED_PLAIN = 49152, /* bytes; more only for a kernel that asked */
    DRY_SHARED_MOST = 166912
};

/* Structs of 13 and of 12 differ, and so do the names. */
DRY_EXPORT int cudaGetDeviceProperties(void *properties, int device);
DRY_EXPORT int cudaGetDeviceProperties_v2(void *properties, int device);

#endif
