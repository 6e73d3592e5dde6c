/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime tells of a device: an A100's limits, as one table for attributes and properties. */
#include "cudart_device.h"

#include <stdio.h>
#include <string.h>

typedef struct fact {
    int attribute, at13, at12, bytes;
    int64_t value;
} fact;

static const fact facts[] = {
#define DRY_FACT_ROW(attribute, field, at13, at12, bytes, value) {attribute, at13, at12, bytes, value},
    DRY_FACTS(DRY_FACT_ROW)
#undef DRY_FACT_ROW
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
    snprintf(properties, 256, "NVIDIA Dry %d", device);
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
    return fill_properties(properties, DRY_PROPERTIES_13, true, device);
}

int cudaGetDeviceProperties_v2(void *properties, int device)
{
    return fill_properties(properties, DRY_PROPERTIES_12, false, device);
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
