/* SPDX-License-Identifier: Apache-2.0 */
/* libOpenCL, opened at run time: the table of functions is filled once per process (pthread_once) and is
 * constant afterwards. Codes of OpenCL become names and statuses. */
#include "device/opencl/opencl_api.h"

#include "device/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static stk__opencl_api api;
static stk_error api_error;
static bool api_there;
static stk__opencl_probe api_probe;
static pthread_once_t api_once = PTHREAD_ONCE_INIT;

static bool take_call(void *library, const char *name, void *member)
{
    void *symbol = dlsym(library, name);
    if (symbol) {
        memcpy(member, &symbol, sizeof symbol); /* C has no cast from void * to a function */
        return true;
    }
    stk__fail(&api_error, STK_ERROR_UNSUPPORTED, "the OpenCL library lacks '%s'", name);
    stk__error_hint(&api_error, "OpenCL 1.2 or newer is needed");
    return false;
}

void stk__opencl_probe_set(stk__opencl_probe probe)
{
    api_probe = probe;
}

static void open_api(void)
{
    if (api_probe && api_probe(&api_error) != STK_OK) return;
    void *library = stk__library_open("libOpenCL.so.1", "STOKER_OPENCL_LIBRARY", &api_error);
    if (!library) return;
#define TAKE_CALL(result, name, parameters)                                                                  \
    if (!take_call(library, #name, &api.name)) return;
    STK_OPENCL_CALLS(TAKE_CALL)
#undef TAKE_CALL
    api_there = true;
}

const stk__opencl_api *stk__opencl_api_open(stk_error *error)
{
    pthread_once(&api_once, open_api);
    if (api_there) return &api;
    if (error) *error = api_error;
    return NULL;
}

typedef struct code_name {
    int32_t code;
    const char *name;
} code_name;

static const code_name code_names[] = {
    {0, "CL_SUCCESS"},
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-31, "CL_INVALID_DEVICE_TYPE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-35, "CL_INVALID_QUEUE_PROPERTIES"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-47, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

const char *stk__opencl_code_name(int32_t code)
{
    for (size_t i = 0; i < sizeof code_names / sizeof code_names[0]; i++)
        if (code_names[i].code == code) return code_names[i].name;
    return "unknown error code";
}

stk_status stk__opencl_judge(int32_t code, const char *call, stk_error *error)
{
    if (code == CL_SUCCESS) return STK_OK;
    const bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                        code == CL_OUT_OF_HOST_MEMORY;
    stk__fail(error, memory ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED, "%s failed: %s (%d)", call,
              stk__opencl_code_name(code), (int)code);
    stk__error_hint(error, memory
                               ? "use a smaller batch, or another device"
                               : "check that `stoker devices --check` passes; else use augment.device=cpu");
    return memory ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED;
}
