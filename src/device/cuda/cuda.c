/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of CUDA: what is there, and opening one. */
#include "core/logger.h"
#include "device/cuda/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ARCHITECTURE = 50 };

static stk_status start_driver(const stk__cuda_api **api, int *count, stk_error *error)
{
    *count = 0;
    *api = stk__cuda_api_open(error);
    if (!*api) return STK_ERROR_UNSUPPORTED;
    int code = (*api)->cuInit(0);
    if (code == CUDA_SUCCESS)
        STK__TRY(stk__cuda_judge(*api, (*api)->cuDeviceGetCount(count), "cuDeviceGetCount", error));
    if (code == CUDA_SUCCESS && *count > 0) return STK_OK;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (code != CUDA_SUCCESS && code != CUDA_ERROR_NO_DEVICE)
        return stk__cuda_judge(*api, code, "cuInit", error);
    if (visible)
        stk__fail(error, STK_ERROR_UNSUPPORTED,
                  "the driver lists no GPU; CUDA_VISIBLE_DEVICES='%.60s' may hide them all", visible);
    else
        stk__fail(error, STK_ERROR_UNSUPPORTED, "the driver lists no GPU");
    stk__error_hint(error, "check the output of nvidia-smi%s",
                    visible ? ", or unset CUDA_VISIBLE_DEVICES" : "");
    return STK_ERROR_UNSUPPORTED;
}

static int ask_attribute(const stk__cuda_api *api, int what, int ordinal)
{
    int value = 0;
    return api->cuDeviceGetAttribute(&value, what, ordinal) == CUDA_SUCCESS ? value : -1;
}

static int find_architecture(const stk__cuda_api *api, int ordinal)
{
    const int major = ask_attribute(api, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal),
              minor = ask_attribute(api, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
    return major < 0 || minor < 0 ? -1 : major * 10 + minor;
}

static stk__device_info blank_info(const char *name)
{
    stk__device_info info = {
        .kind = STK_DEVICE_CUDA, .memory_bytes = -1, .largest_buffer_bytes = -1, .compute_units = -1};
    snprintf(info.name, sizeof info.name, "%s", name);
    return info;
}

/* As NVML writes it; a MIG instance ("… MIG 1g.5gb") has an id of its own. Empty if the driver does not
 * report it.
 */
static void ask_id(const stk__cuda_api *api, int ordinal, stk__device_info *info)
{
    stk__cu_uuid uuid;
    if (api->cuDeviceGetUuid(&uuid, ordinal) != CUDA_SUCCESS) return;
    int used = snprintf(info->id, sizeof info->id, strstr(info->model, " MIG ") ? "MIG" : "GPU");
    for (int i = 0; i < 16; i++) { /* in groups of 4, 2, 2, 2 and 6 bytes */
        const bool begins = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        used += snprintf(info->id + used, sizeof info->id - (size_t)used, "%s%02x", begins ? "-" : "",
                         uuid.bytes[i]);
    }
}

static void describe(const stk__cuda_api *api, int index, int ordinal, stk__device_info *info)
{
    char name[16];
    size_t bytes = 0;
    int version = 0;
    snprintf(name, sizeof name, "cuda:%d", index);
    *info = blank_info(name);
    const int architecture = find_architecture(api, ordinal);
    info->compute_units = ask_attribute(api, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal);
    if (api->cuDeviceTotalMem_v2(&bytes, ordinal) == CUDA_SUCCESS && bytes)
        info->memory_bytes = info->largest_buffer_bytes = (int64_t)bytes;
    if (api->cuDeviceGetName(info->model, (int)sizeof info->model, ordinal) != CUDA_SUCCESS)
        info->model[0] = 0;
    info->model[sizeof info->model - 1] = 0;
    ask_id(api, ordinal, info);
    if (api->cuDriverGetVersion(&version) == CUDA_SUCCESS && version > 0)
        snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    if (architecture > 0) snprintf(info->platform, sizeof info->platform, "NVIDIA CUDA, sm_%d", architecture);
    info->available = architecture >= LEAST_ARCHITECTURE;
    if (architecture < 0)
        snprintf(info->why, sizeof info->why, "compute capability unknown: the driver does not report it");
    else if (!info->available)
        snprintf(info->why, sizeof info->why,
                 "compute capability sm_%d is unsupported: sm_%d or newer is needed", architecture,
                 LEAST_ARCHITECTURE);
}

static int list_cuda(stk__device_info *infos, int most)
{
    stk_error error = {0};
    const stk__cuda_api *api;
    int count, listed = 0;
    if (most < 1) return 0;
    if (start_driver(&api, &count, &error) != STK_OK) {
        infos[0] = blank_info("cuda");
        snprintf(infos[0].why, sizeof infos[0].why, "%.300s%s", error.message,
                 api ? "" : ": no NVIDIA driver");
        snprintf(infos[0].note, sizeof infos[0].note, "%s", error.hint);
        return 1;
    }
    for (int i = 0; i < count && listed < most && i < STK_DEVICE_MOST; i++) {
        int ordinal;
        if (api->cuDeviceGet(&ordinal, i) != CUDA_SUCCESS) {
            char name[16];
            snprintf(name, sizeof name, "cuda:%d", i);
            infos[listed] = blank_info(name);
            snprintf(infos[listed++].why, sizeof infos[0].why, "cuDeviceGet failed");
        } else {
            describe(api, i, ordinal, &infos[listed++]);
        }
    }
    return listed;
}

stk_status stk__cuda_enter(stk__cuda *cuda, stk_error *error)
{
    if (stk__cuda_has_lost(cuda)) {
        stk__fail(error, cuda->reason.code, "GPU '%s' is lost and no longer used: %.400s",
                  cuda->device.info.name, cuda->reason.message);
        stk__error_hint(error, "%s", cuda->reason.hint);
        return cuda->reason.code;
    }
    return stk__cuda_check(cuda, cuda->api->cuCtxPushCurrent_v2(cuda->context), "cuCtxPushCurrent", error);
}

void stk__cuda_leave(stk__cuda *cuda)
{
    stk__cu_handle popped;
    cuda->api->cuCtxPopCurrent_v2(&popped);
}

enum { EVENTS = (1 + STK_CUDA_PARTS) * STK_CUDA_MARKS };

static stk__cu_handle *event_of(stk__cuda *cuda, int i)
{
    const int part = i / STK_CUDA_MARKS - 1;
    return part < 0 ? &cuda->marks[i] : &cuda->parts[part][i % STK_CUDA_MARKS];
}

/* A call that failed may have written anything: its result is taken after that was seen. */
static stk_status create_all(stk__cuda *cuda, stk_error *error)
{
    const stk__cuda_api *api = cuda->api;
    stk__cu_handle made, *const streams[] = {&cuda->stream, &cuda->back};
    for (int i = 0; i < 2; i++) {
        STK__TRY(stk__cuda_check(cuda, api->cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
                                 error));
        *streams[i] = made;
    }
    for (int i = 0; i < EVENTS; i++) {
        STK__TRY(stk__cuda_check(cuda, api->cuEventCreate(&made, CU_EVENT_DEFAULT), "cuEventCreate", error));
        *event_of(cuda, i) = made;
    }
    return stk__cuda_build(cuda, stk__kernel_source, error);
}

static void release_all(stk__cuda *cuda)
{
    const stk__cuda_api *api = cuda->api;
    const stk__cuda_buffer *const buffers[] = {&cuda->arena, &cuda->numbers, &cuda->image, &cuda->mask};
    const stk__cuda_pinned *const stages[] = {&cuda->numbers_stage, &cuda->arena_stage, &cuda->output_stage};
    for (int i = 0; i < 4; i++)
        if (buffers[i]->at) api->cuMemFree_v2(buffers[i]->at);
    for (int i = 0; i < 3; i++)
        if (stages[i]->data) api->cuMemFreeHost(stages[i]->data);
    stk__cuda_unload(cuda);
    for (int i = 0; i < EVENTS; i++)
        if (*event_of(cuda, i)) api->cuEventDestroy_v2(*event_of(cuda, i));
    if (cuda->back) api->cuStreamDestroy_v2(cuda->back);
    if (cuda->stream) api->cuStreamDestroy_v2(cuda->stream);
}

/* What is still under way has been waited for by whom it belongs to. */
static void close_cuda(stk__device *device)
{
    stk__cuda *cuda = (stk__cuda *)device;
    if (cuda->context && stk__cuda_enter(cuda, NULL) == STK_OK) {
        release_all(cuda);
        stk__cuda_leave(cuda);
    }
    if (stk__cuda_has_lost(cuda))
        stk__log(STK_LOG_WARNING, "GPU '%s' is lost; its memory is not freed", device->info.name);
    else if (cuda->context)
        cuda->api->cuDevicePrimaryCtxRelease_v2(cuda->ordinal);
    stk__free(cuda);
}

static stk_status refuse(int index, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_UNSUPPORTED, "cuda:%d is not available: %s", index, why);
    stk__error_hint(error, "`stoker devices` lists the available devices");
    return STK_ERROR_UNSUPPORTED;
}

static stk_status start_device(stk__cuda *cuda, int index, stk_error *error)
{
    const stk__cuda_api *api = cuda->api;
    stk__cu_handle context;
    STK__TRY(stk__cuda_check(cuda, api->cuDeviceGet(&cuda->ordinal, index), "cuDeviceGet", error));
    describe(api, index, cuda->ordinal, &cuda->device.info);
    if (!cuda->device.info.available) return refuse(index, cuda->device.info.why, error);
    cuda->architecture = find_architecture(api, cuda->ordinal);
    STK__TRY(stk__cuda_check(cuda, api->cuDevicePrimaryCtxRetain(&context, cuda->ordinal),
                             "cuDevicePrimaryCtxRetain", error));
    cuda->context = context;
    STK__TRY(stk__cuda_enter(cuda, error));
    const stk_status status = create_all(cuda, error);
    stk__cuda_leave(cuda);
    return status;
}

static stk_status open_cuda(stk__device **device, int index, stk_error *error)
{
    const stk__cuda_api *api;
    int count;
    stk_error own = {0};
    if (start_driver(&api, &count, &own) != STK_OK) {
        stk__fail(error, own.code, "cuda:%d is not available: %.400s", index, own.message);
        stk__error_hint(error, "%s", own.hint);
        return own.code;
    }
    if (index >= count) {
        char why[64];
        snprintf(why, sizeof why, "the driver lists %d GPU%s", count, count == 1 ? "" : "s");
        return refuse(index, why, error);
    }
    stk__cuda *cuda = stk__alloc(sizeof *cuda);
    if (!cuda) return stk__fail_memory(error, sizeof *cuda, "a device");
    cuda->api = api;
    const stk_status status = start_device(cuda, index, error);
    if (status == STK_OK)
        *device = &cuda->device;
    else
        close_cuda(&cuda->device);
    return status;
}

static stk_status augment_cuda(stk__device *device, const stk__augment_batch *batch, stk_error *error)
{
    return stk__cuda_run((stk__cuda *)device, batch, error);
}

const stk__device_ops stk__device_cuda = {.kind = STK_DEVICE_CUDA,
                                          .word = "cuda",
                                          .list = list_cuda,
                                          .open = open_cuda,
                                          .augment = augment_cuda,
                                          .close = close_cuda,
                                          .memory_create = stk__cuda_memory_create,
                                          .memory_destroy = stk__cuda_memory_destroy,
                                          .submit = stk__cuda_memory_submit,
                                          .ready = stk__cuda_memory_ready,
                                          .ready_on = stk__cuda_memory_ready_on,
                                          .release_on = stk__cuda_memory_release_on,
                                          .ask = stk__cuda_memory_ask,
                                          .fetch = stk__cuda_memory_fetch};
