/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of OpenCL: what is there, and opening one. */
#include "core/logger.h"
#include "device/opencl/opencl_device.h"

#include <stdio.h>
#include <string.h>

enum { MOST_PLATFORMS = 16 };

/* What the text needs so that it computes the reference's bits. */
#define NEEDED_FLOATS                                                                                        \
    (CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
enum { NEEDED_LOCAL_BYTES = 12 * 1024 };

typedef struct found_device {
    stk__cl_handle platform, id;
} found_device;

static uint64_t ask_number(const stk__opencl_api *api, stk__cl_handle id, uint32_t what, size_t bytes)
{
    union {
        uint32_t small;
        uint64_t large;
    } number = {.large = 0};
    if (api->clGetDeviceInfo(id, what, bytes, &number, NULL) != CL_SUCCESS) return 0;
    return bytes == sizeof number.small ? number.small : number.large;
}

static void ask_text(const stk__opencl_api *api, stk__cl_handle id, uint32_t what, char text[128])
{
    char answer[1024] = "";
    if (api->clGetDeviceInfo(id, what, sizeof answer - 1, answer, NULL) == CL_SUCCESS)
        snprintf(text, 128, "%.127s", answer + strspn(answer, " "));
}

/* What the device lacks; NULL: nothing. */
static const char *find_lack(const stk__opencl_api *api, stk__cl_handle id)
{
    const uint64_t floats = ask_number(api, id, CL_DEVICE_SINGLE_FP_CONFIG, 8);
    if (!ask_number(api, id, CL_DEVICE_AVAILABLE, 4)) return "the driver reports it as not available";
    if (!ask_number(api, id, CL_DEVICE_COMPILER_AVAILABLE, 4)) return "the driver has no compiler";
    if (!ask_number(api, id, CL_DEVICE_ENDIAN_LITTLE, 4)) return "it is not little-endian";
    if (!(floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT))
        return "no correctly rounded division (CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)";
    if ((floats & NEEDED_FLOATS) != NEEDED_FLOATS) return "no IEEE 754 single precision";
    if (ask_number(api, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)) < STK_KERNEL_GROUP)
        return "its work groups are too small";
    if (ask_number(api, id, CL_DEVICE_LOCAL_MEM_SIZE, 8) < NEEDED_LOCAL_BYTES)
        return "its local memory is too small";
    return NULL;
}

static void describe(const stk__opencl_api *api, found_device found, int index, stk__device_info *info)
{
    const char *lack = find_lack(api, found.id);
    char name[512] = "", version[512] = "";
    *info = (stk__device_info){
        .kind = STK_DEVICE_OPENCL,
        .available = !lack,
        .memory_bytes = (int64_t)ask_number(api, found.id, CL_DEVICE_GLOBAL_MEM_SIZE, 8),
        .largest_buffer_bytes = (int64_t)ask_number(api, found.id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8),
        .compute_units = (int32_t)ask_number(api, found.id, CL_DEVICE_MAX_COMPUTE_UNITS, 4)};
    if (info->memory_bytes <= 0) info->memory_bytes = -1;
    if (info->largest_buffer_bytes <= 0) info->largest_buffer_bytes = -1;
    if (info->compute_units <= 0) info->compute_units = -1;
    snprintf(info->name, sizeof info->name, "opencl:%d", index);
    if (lack) snprintf(info->why, sizeof info->why, "%s", lack);
    ask_text(api, found.id, CL_DEVICE_NAME, info->model);
    ask_text(api, found.id, CL_DRIVER_VERSION, info->driver);
    api->clGetPlatformInfo(found.platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    api->clGetPlatformInfo(found.platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL);
    snprintf(info->platform, sizeof info->platform, "%.60s, %.60s", name, version);
}

/* Devices of all platforms, in the order that the drivers give them. */
static stk_status find_devices(const stk__opencl_api *api, found_device found[STK_DEVICE_MOST], int *count,
                               stk_error *error)
{
    stk__cl_handle platforms[MOST_PLATFORMS], ids[STK_DEVICE_MOST];
    uint32_t platform_count = 0, id_count;
    *count = 0;
    const int32_t code = api->clGetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count);
    if (code == CL_PLATFORM_NOT_FOUND || (code == CL_SUCCESS && platform_count == 0)) {
        stk__fail(error, STK_ERROR_UNSUPPORTED, "the OpenCL library lists no platform");
        stk__error_hint(error, "install your GPU's OpenCL driver, or pocl-opencl-icd for the CPU");
        return STK_ERROR_UNSUPPORTED;
    }
    STK__TRY(stk__opencl_judge(code, "clGetPlatformIDs", error));
    for (uint32_t p = 0; p < platform_count && p < MOST_PLATFORMS; p++) {
        id_count = 0;
        if (api->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, STK_DEVICE_MOST, ids, &id_count) !=
            CL_SUCCESS)
            continue; /* a platform without devices answers CL_DEVICE_NOT_FOUND */
        for (uint32_t i = 0; i < id_count && *count < STK_DEVICE_MOST; i++)
            found[(*count)++] = (found_device){platforms[p], ids[i]};
    }
    if (*count) return STK_OK;
    return stk__fail(error, STK_ERROR_UNSUPPORTED,
                     "the OpenCL platforms list no device (PoCL needs a writable folder: POCL_CACHE_DIR)");
}

static int list_opencl(stk__device_info *infos, int most)
{
    stk_error error;
    found_device found[STK_DEVICE_MOST];
    int count = 0;
    if (most < 1) return 0;
    const stk__opencl_api *api = stk__opencl_api_open(&error);
    if (!api || find_devices(api, found, &count, &error) != STK_OK) {
        infos[0] = (stk__device_info){.kind = STK_DEVICE_OPENCL,
                                      .name = "opencl",
                                      .memory_bytes = -1,
                                      .largest_buffer_bytes = -1,
                                      .compute_units = -1};
        snprintf(infos[0].why, sizeof infos[0].why, "%.319s", error.message);
        return 1;
    }
    for (int i = 0; i < count && i < most; i++)
        describe(api, found[i], i, &infos[i]);
    return count < most ? count : most;
}

static stk_status create_queue(stk__opencl *cl, stk_error *error)
{
    int32_t code;
    cl->context = cl->api->clCreateContext(NULL, 1, &cl->id, NULL, NULL, &code);
    STK__TRY(stk__opencl_judge(code, "clCreateContext", error));
    cl->queue = cl->api->clCreateCommandQueue(cl->context, cl->id, CL_QUEUE_PROFILING_ENABLE, &code);
    STK__TRY(stk__opencl_judge(code, "clCreateCommandQueue", error));
    return stk__opencl_build(cl, stk__kernel_source, error);
}

static void close_opencl(stk__device *device)
{
    stk__opencl *cl = (stk__opencl *)device;
    if (cl->lost) {
        stk__log(STK_LOG_WARNING, "'%s' hangs; its memory is not freed", device->info.name);
        return; /* a kernel may still use all of it */
    }
    const stk__opencl_buffer *const buffers[] = {&cl->arena, &cl->samples, &cl->image, &cl->mask};
    for (int i = 0; i < 4; i++)
        if (buffers[i]->handle) cl->api->clReleaseMemObject(buffers[i]->handle);
    if (cl->grey) cl->api->clReleaseKernel(cl->grey);
    if (cl->augment) cl->api->clReleaseKernel(cl->augment);
    if (cl->program) cl->api->clReleaseProgram(cl->program);
    if (cl->queue) cl->api->clReleaseCommandQueue(cl->queue);
    if (cl->context) cl->api->clReleaseContext(cl->context);
    stk__buffer_fini(&cl->staged);
    stk__free(cl);
}

static stk_status refuse_index(int index, int count, const char *why, stk_error *error)
{
    if (why)
        stk__fail(error, STK_ERROR_UNSUPPORTED, "opencl:%d is not available: %s", index, why);
    else
        stk__fail(error, STK_ERROR_UNSUPPORTED, "no device opencl:%d: OpenCL lists %d device%s", index, count,
                  count == 1 ? "" : "s");
    stk__error_hint(error, "`stoker devices` lists the available devices");
    return STK_ERROR_UNSUPPORTED;
}

static stk_status open_opencl(stk__device **device, int index, stk_error *error)
{
    found_device found[STK_DEVICE_MOST];
    int count;
    const stk__opencl_api *api = stk__opencl_api_open(error);
    if (!api) return STK_ERROR_UNSUPPORTED;
    STK__TRY(find_devices(api, found, &count, error));
    if (index >= count) return refuse_index(index, count, NULL, error);
    stk__opencl *cl = stk__alloc(sizeof *cl);
    if (!cl) return stk__fail_memory(error, sizeof *cl, "a device");
    cl->api = api;
    cl->id = found[index].id;
    describe(api, found[index], index, &cl->device.info);
    const stk_status status = cl->device.info.available
                                  ? create_queue(cl, error)
                                  : refuse_index(index, count, cl->device.info.why, error);
    if (status == STK_OK)
        *device = &cl->device;
    else
        close_opencl(&cl->device);
    return status;
}

static stk_status augment_opencl(stk__device *device, const stk__augment_batch *batch, stk_error *error)
{
    return stk__opencl_run((stk__opencl *)device, batch, error);
}

const stk__device_ops stk__device_opencl = {.kind = STK_DEVICE_OPENCL,
                                            .word = "opencl",
                                            .list = list_opencl,
                                            .open = open_opencl,
                                            .augment = augment_opencl,
                                            .close = close_opencl};
