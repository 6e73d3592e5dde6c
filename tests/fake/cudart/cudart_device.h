/* SPDX-License-Identifier: Apache-2.0 */
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

enum {
    DRY_PROPERTIES_13 = 1008,
    DRY_PROPERTIES_12 = 1032
}; /* bytes of all properties; the name comes first */

/* Number of the attribute (0: there is none), name among the properties, its offset there in CUDA 13 and in
 * CUDA 12, bytes, value. tests/device/test_cudart_headers compares them with the toolkit's headers. */
#define DRY_FACTS(X)                                                                                         \
    X(0, totalGlobalMem, 288, 288, 8, INT64_C(8) << 30)                                                      \
    X(8, sharedMemPerBlock, 296, 296, 8, DRY_SHARED_PLAIN)                                                   \
    X(12, regsPerBlock, 304, 304, 4, 65536)                                                                  \
    X(10, warpSize, 308, 308, 4, 32)                                                                         \
    X(1, maxThreadsPerBlock, 320, 320, 4, DRY_BLOCK_THREADS)                                                 \
    X(2, maxThreadsDim[0], 324, 324, 4, DRY_BLOCK_X)                                                         \
    X(3, maxThreadsDim[1], 328, 328, 4, DRY_BLOCK_Y)                                                         \
    X(4, maxThreadsDim[2], 332, 332, 4, DRY_BLOCK_Z)                                                         \
    X(5, maxGridSize[0], 336, 336, 4, DRY_GRID_X)                                                            \
    X(6, maxGridSize[1], 340, 340, 4, DRY_GRID_YZ)                                                           \
    X(7, maxGridSize[2], 344, 344, 4, DRY_GRID_YZ)                                                           \
    X(9, totalConstMem, 352, 352, 8, 65536)                                                                  \
    X(75, major, 360, 360, 4, 8)                                                                             \
    X(76, minor, 364, 364, 4, 0)                                                                             \
    X(14, textureAlignment, 368, 368, 8, 512)                                                                \
    X(16, multiProcessorCount, 384, 388, 4, 108)                                                             \
    X(31, concurrentKernels, 560, 576, 4, 1)                                                                 \
    X(41, unifiedAddressing, 588, 604, 4, 1)                                                                 \
    X(37, memoryBusWidth, 592, 612, 4, 5120)                                                                 \
    X(38, l2CacheSize, 596, 616, 4, 40 << 20)                                                                \
    X(39, maxThreadsPerMultiProcessor, 604, 624, 4, DRY_MULTI_THREADS)                                       \
    X(81, sharedMemPerMultiprocessor, 624, 640, 8, 167936)                                                   \
    X(82, regsPerMultiprocessor, 632, 648, 4, 65536)                                                         \
    X(95, cooperativeLaunch, 668, 688, 4, 1)                                                                 \
    X(97, sharedMemPerBlockOptin, 672, 696, 8, DRY_SHARED_MOST)                                              \
    X(106, maxBlocksPerMultiProcessor, 688, 712, 4, 32)

/* Structs of 13 and of 12 differ, and so do the names. */
DRY_EXPORT int cudaGetDeviceProperties(void *properties, int device);
DRY_EXPORT int cudaGetDeviceProperties_v2(void *properties, int device);

#endif
