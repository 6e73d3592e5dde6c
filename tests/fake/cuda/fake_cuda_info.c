/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver tells: versions, errors, which GPUs are there. */
#include "fake_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct code_row {
    int code;
    const char *name, *text;
} code_row;

static const code_row rows[] = {{0, "CUDA_SUCCESS", "no error"},
#define FAKE_ROW(name, code, text) {code, #name, text},
                                FAKE_CODES(FAKE_ROW)
#undef FAKE_ROW
};

static const code_row *find_row(int code)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == code) return &rows[i];
    return NULL;
}

int cuGetErrorName(int error, const char **name)
{
    const code_row *row = find_row(error);
    const int code = fake_enter(FAKE_cuGetErrorName, FAKE_ANY);
    *name = !code && row ? row->name : NULL;
    return code || row ? code : FAKE_CUDA_ERROR_INVALID_VALUE;
}

int cuGetErrorString(int error, const char **text)
{
    const code_row *row = find_row(error);
    const int code = fake_enter(FAKE_cuGetErrorString, FAKE_ANY);
    *text = !code && row ? row->text : NULL;
    return code || row ? code : FAKE_CUDA_ERROR_INVALID_VALUE;
}

/* One entry of CUDA_VISIBLE_DEVICES: a number, or the beginning of a name such as GPU-0000000f. -1: nothing.
 */
static int find_listed(const char *entry, size_t length)
{
    char text[64], *end;
    snprintf(text, sizeof text, "%.*s", (int)length, entry);
    unsigned id;
    const long number = sscanf(text, "GPU-%8x", &id) == 1 ? (long)id : strtol(text, &end, 10);
    const bool is_number = strncmp(text, "GPU-", 4) == 0 || (end != text && *end == '\0');
    return is_number && number >= 0 && number < fake.gpu_count ? (int)number : -1;
}

/* As the driver does: the list ends before the first entry that is none; an entry twice leaves nothing. */
static int read_visible(int visible[FAKE_GPUS])
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;
    for (int gpu = 0; !list && gpu < fake.gpu_count; gpu++)
        visible[count++] = gpu;
    for (const char *at = list; at && *at && count < FAKE_GPUS; at += strspn(at, ",")) {
        const size_t length = strcspn(at, ",");
        const int gpu = find_listed(at, length);
        if (gpu < 0) break;
        for (int i = 0; i < count; i++)
            if (visible[i] == gpu) return 0;
        visible[count++] = gpu;
        at += length;
    }
    return count;
}

int cuInit(unsigned flags)
{
    int visible[FAKE_GPUS];
    const int code = fake_enter(FAKE_cuInit, FAKE_ANY);
    if (code || flags) return code ? code : FAKE_CUDA_ERROR_INVALID_VALUE;
    const int count = read_visible(visible);
    if (count == 0) return FAKE_CUDA_ERROR_NO_DEVICE;
    pthread_mutex_lock(&fake_lock);
    if (fake_visible_count < 0) memcpy(fake_visible, visible, sizeof visible);
    if (fake_visible_count < 0) fake_visible_count = count;
    pthread_mutex_unlock(&fake_lock);
    return CUDA_SUCCESS;
}

int cuDriverGetVersion(int *version)
{
    const int code = fake_enter(FAKE_cuDriverGetVersion, FAKE_ANY);
    FAKE_SPOIL(version);
    if (!code) *version = fake.driver;
    return code;
}

int cuDeviceGetCount(int *count)
{
    const int code = fake_enter(FAKE_cuDeviceGetCount, FAKE_ANY);
    FAKE_SPOIL(count);
    if (!code) *count = fake_visible_count;
    return code;
}

/* Begins a call about a GPU of CUDA's list. */
static int enter_device(fake_function function, int device, int *gpu)
{
    *gpu = fake_listed(device);
    const int code = fake_enter(function, *gpu);
    return code || *gpu >= 0 ? code : FAKE_CUDA_ERROR_INVALID_DEVICE;
}

int cuDeviceGet(int *device, int ordinal)
{
    int gpu;
    const int code = enter_device(FAKE_cuDeviceGet, ordinal, &gpu);
    FAKE_SPOIL(device);
    if (!code) *device = ordinal;
    return code;
}

int cuDeviceGetName(char *name, int length, int device)
{
    int gpu;
    const int code = enter_device(FAKE_cuDeviceGetName, device, &gpu);
    if (length > 0) memset(name, 0xA5, (size_t)length);
    if (!code) snprintf(name, (size_t)length, "%s", fake.gpus[gpu].name);
    return code;
}

/* The same GPU in the fake NVML: GPU-00000001-fa4e-0000-0000-000000000000. */
int cuDeviceGetUuid(stk__cu_uuid *uuid, int device)
{
    int gpu;
    const int code = enter_device(FAKE_cuDeviceGetUuid, device, &gpu);
    FAKE_SPOIL(uuid);
    if (!code) *uuid = (stk__cu_uuid){{0, 0, 0, (unsigned char)gpu, 0xfa, 0x4e}};
    return code;
}

/* Of a MIG instance its own: MIG-00000001-fa4e-0000-0000-000000000002. */
FAKE_EXPORT int cuDeviceGetUuid_v2(stk__cu_uuid *uuid, int device);
int cuDeviceGetUuid_v2(stk__cu_uuid *uuid, int device)
{
    const int code = cuDeviceGetUuid(uuid, device), gpu = fake_listed(device);
    if (!code && fake.gpus[gpu].mig >= 0) uuid->bytes[15] = (unsigned char)fake.gpus[gpu].mig;
    return code;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    int gpu;
    const int code = enter_device(FAKE_cuDeviceTotalMem_v2, device, &gpu);
    FAKE_SPOIL(bytes);
    if (!code) *bytes = (size_t)fake.gpus[gpu].memory_bytes;
    return code;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int gpu;
    const int code = enter_device(FAKE_cuDeviceGetAttribute, device, &gpu);
    FAKE_SPOIL(value);
    if (code) return code;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        *value = (int)(fake.gpus[gpu].core_mhz * 1e3);
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = fake.gpus[gpu].units;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = fake.gpus[gpu].sm / 10;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = fake.gpus[gpu].sm % 10;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        *value = fake.gpus[gpu].clock_khz;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        *value = fake.gpus[gpu].bus_bits;
        return CUDA_SUCCESS;
    default:
        return FAKE_CUDA_ERROR_INVALID_VALUE;
    }
}
