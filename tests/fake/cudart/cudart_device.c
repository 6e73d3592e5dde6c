/* What the runtime tells of a device: an A100's limits, as one table for attributes and properties. */
#include "cudart_device.h"

#include <stdio.h>
#include <string.h>

/* at13, at12: offset in the struct of properties of CUDA 13 and of CUDA 12, 0: not there. bytes: 4 or 8. */
typedef struct fact {
    int attribute; /* 0: only a property */
    int at13, at12, bytes;
    int64_t value;
} fact;

enum { NAME_AT = 0, PROPERTIES_13 = 1008, PROPERTIES_12 = 1032 };

static const fact facts[] = {
    {0, 288, 288, 8, INT64_C(8) << 30},   /* total memory */
    {8, 296, 296, 8, DRY_SHARED_PLAIN},   /* shared memory of a block */
    {12, 304, 304, 4, 65536},             /* registers of a block */
    {10, 308, 308, 4, 32},                /* warp */
    {1, 320, 320, 4, DRY_BLOCK_THREADS},  /* threads of a block */
    {2, 324, 324, 4, DRY_BLOCK_X},        /* block x */
    {3, 328, 328, 4, DRY_BLOCK_Y},        /* y */
    {4, 332, 332, 4, DRY_BLOCK_Z},        /* z */
    {5, 336, 336, 4, DRY_GRID_X},         /* grid x */
    {6, 340, 340, 4, DRY_GRID_YZ},        /* y */
    {7, 344, 344, 4, DRY_GRID_YZ},        /* z */
    {9, 352, 352, 8, 65536},              /* constant memory */
    {75, 360, 360, 4, 8},                 /* compute capability */
    {76, 364, 364, 4, 0},                 /* its minor part */
    {14, 368, 368, 8, 512},               /* alignment of textures */
    {16, 384, 388, 4, 108},               /* multiprocessors */
    {31, 560, 576, 4, 1},                 /* concurrent kernels */
    {41, 588, 604, 4, 1},                 /* one address space */
    {37, 592, 612, 4, 5120},              /* bus of the memory */
    {38, 596, 616, 4, 40 << 20},          /* L2 cache */
    {39, 604, 624, 4, DRY_MULTI_THREADS}, /* threads of a multiprocessor */
    {81, 624, 640, 8, 167936},            /* shared memory of a multiprocessor */
    {82, 632, 648, 4, 65536},             /* its registers */
    {95, 668, 688, 4, 1},                 /* cooperative launches */
    {97, 672, 696, 8, DRY_SHARED_MOST},   /* shared memory of a block that asks for it */
    {106, 688, 712, 4, 32},               /* blocks of a multiprocessor */
};

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = 0; /* has no such thing: memory pools, clusters, managed memory … */
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (facts[i].attribute == attribute && attribute) *value = (int)facts[i].value;
    return 0;
}

static int fill_properties(char *properties, size_t size, bool of13, int device)
{
    memset(properties, 0, size);
    snprintf(properties + NAME_AT, 256, "NVIDIA Dry %d", device);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const int at = of13 ? facts[i].at13 : facts[i].at12;
        const int32_t narrow = (int32_t)facts[i].value;
        if (facts[i].bytes == 4) memcpy(properties + at, &narrow, sizeof narrow);
        if (facts[i].bytes == 8) memcpy(properties + at, &facts[i].value, sizeof facts[i].value);
    }
    return 0;
}

int cudaGetDeviceProperties(void *properties, int device)
{
    return fill_properties(properties, PROPERTIES_13, true, device);
}

int cudaGetDeviceProperties_v2(void *properties, int device)
{
    return fill_properties(properties, PROPERTIES_12, false, device);
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return 0;
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    (void)device, (void)peer;
    *can = 0;
    return 0;
}

int cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "0000:%02x:00.0", (unsigned)device + 1);
    return 0;
}

/* A kernel that was built for this GPU, of 32 registers. */
int cudaFuncGetAttributes(cudart_function *attributes, const void *function)
{
    (void)function;
    *attributes = (cudart_function){.max_threads = DRY_BLOCK_THREADS,
                                    .registers = 32,
                                    .ptx = 80,
                                    .binary = 80,
                                    .max_dynamic_shared = DRY_SHARED_PLAIN};
    return 0;
}

int cudaFuncSetAttribute(const void *function, int attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return 0;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                           size_t shared_bytes, unsigned flags)
{
    (void)function, (void)shared_bytes, (void)flags;
    *blocks = threads > 0 ? DRY_MULTI_THREADS / threads : 1;
    return 0;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                  size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}
