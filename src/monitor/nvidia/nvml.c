/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libnvidia-ml at run time and finds its functions, each under one of several versioned names; a
 * missing optional one leaves a metric unknown. */
#include "monitor/nvidia/nvml.h"

#include "device/cuda/cuda_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    size_t offset;
    const char *names;
} symbols[] = {
#define NVML_SYMBOL(field, names, parameters) {offsetof(stk__nvml, field), names},
    STK_NVML_LIST(NVML_SYMBOL)
#undef NVML_SYMBOL
};

static void *open_library(void)
{
    static const char *const names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so",
                                        "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
    const char *given = getenv("STOKER_NVML");
    if (given && *given) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* The first of the names that exists. */
static void *find_symbol(void *library, const char *names)
{
    char name[128];
    void *found = NULL;
    while (!found && *names) {
        const size_t length = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        found = dlsym(library, name);
        names += length + strspn(names + length, " ");
    }
    return found;
}

/* A container gets only the driver libraries that NVIDIA_DRIVER_CAPABILITIES requests. */
static stk_status refuse(stk_error *error)
{
    const char *given = getenv("STOKER_NVML");
    const bool named = given && *given;
    if (!named && stk__cuda_api_open(NULL))
        return stk__fail(error, STK_ERROR_UNSUPPORTED,
                         "NVML not found: libnvidia-ml.so.1 is missing, but the driver's libcuda.so.1 is "
                         "present; start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "no NVIDIA driver: '%s' not found",
                     named ? given : "libnvidia-ml.so.1");
}

stk_status stk__nvml_open(stk__nvml *nvml, stk_error *error)
{
    *nvml = (stk__nvml){.library = open_library()};
    if (!nvml->library) return refuse(error);
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *found = find_symbol(nvml->library, symbols[i].names);
        memcpy((char *)nvml + symbols[i].offset, &found, sizeof found);
    }
    void *text = dlsym(nvml->library, "nvmlErrorString");
    memcpy(&nvml->error_text, &text, sizeof text);
    if (nvml->init && nvml->device_count && nvml->by_index) return STK_OK;
    return stk__fail(
        error, STK_ERROR_UNSUPPORTED,
        "unsupported NVIDIA driver: NVML lacks nvmlInit, nvmlDeviceGetCount or nvmlDeviceGetHandleByIndex");
}

const char *stk__nvml_result_text(const stk__nvml *nvml, int result)
{
    const char *text = nvml->error_text ? nvml->error_text(result) : NULL;
    return text && *text ? text : "unknown error";
}

bool stk__nvml_number(stk__nvml_value value, int type, double *number)
{
    switch ((stk__nvml_type)type) {
    case STK_NVML_DOUBLE:
        *number = value.as_double;
        return isfinite(*number);
    case STK_NVML_UINT:
        *number = value.as_uint;
        return value.as_uint != UINT_MAX;
    case STK_NVML_ULONG:
        *number = (double)value.as_ulong;
        return value.as_ulong != ULONG_MAX;
    case STK_NVML_ULONGLONG:
        *number = (double)value.as_ulonglong;
        return value.as_ulonglong != ULLONG_MAX;
    case STK_NVML_LONGLONG:
        *number = (double)value.as_longlong;
        return value.as_longlong >= 0;
    case STK_NVML_INT:
        *number = value.as_int;
        return value.as_int >= 0;
    case STK_NVML_USHORT:
        *number = value.as_ushort;
        return value.as_ushort != USHRT_MAX;
    }
    return false;
}
