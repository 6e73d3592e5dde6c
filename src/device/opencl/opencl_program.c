/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel source becomes a program of an OpenCL device. */
#include "core/logger.h"
#include "device/opencl/opencl_device.h"
#include "device/program_cache.h"

/* Division must round correctly, as everywhere else. No -cl-mad-enable, no fast or unsafe mathematics. */
static const char options[] = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";

static void release_program(stk__opencl *cl)
{
    if (cl->grey) cl->api->clReleaseKernel(cl->grey);
    if (cl->augment) cl->api->clReleaseKernel(cl->augment);
    if (cl->program) cl->api->clReleaseProgram(cl->program);
    cl->grey = cl->augment = cl->program = NULL;
}

static void explain_build(stk__opencl *cl, stk_error *error)
{
    stk__buffer log = {0};
    size_t bytes = 0;
    cl->api->clGetProgramBuildInfo(cl->program, cl->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    if (bytes == 0 || stk__buffer_reserve(&log, bytes + 1, NULL) != STK_OK) return;
    cl->api->clGetProgramBuildInfo(cl->program, cl->id, CL_PROGRAM_BUILD_LOG, bytes, log.data, NULL);
    int length;
    const char *text = (const char *)log.data, *line = stk__program_complaint(text, &length);
    stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot compile the kernels for '%.100s': %.*s",
              cl->device.info.model, length, line);
    stk__error_hint(error, "please report this with the device's name and driver; augment.device=cpu works");
    stk__log(STK_LOG_INFO, "%s", text);
    stk__buffer_fini(&log);
}

static stk_status create_kernels(stk__opencl *cl, stk_error *error)
{
    int32_t code;
    cl->grey = cl->api->clCreateKernel(cl->program, "stk_grey", &code);
    STK__TRY(stk__opencl_judge(code, "clCreateKernel", error));
    cl->augment = cl->api->clCreateKernel(cl->program, "stk_augment", &code);
    return stk__opencl_judge(code, "clCreateKernel", error);
}

static stk_status build_program(stk__opencl *cl, stk_error *error)
{
    const int32_t code = cl->api->clBuildProgram(cl->program, 1, &cl->id, options, NULL, NULL);
    if (stk__opencl_judge(code, "clBuildProgram", error) == STK_OK) return create_kernels(cl, error);
    if (code == CL_BUILD_PROGRAM_FAILURE) explain_build(cl, error);
    return code == CL_BUILD_PROGRAM_FAILURE ? STK_ERROR_UNSUPPORTED
                                            : stk__opencl_judge(code, "clBuildProgram", error);
}

static bool build_cached(stk__opencl *cl, stk__digest key)
{
    stk__buffer file = {0};
    stk_error error;
    bool built = false;
    if (stk__program_load(key, &file)) {
        const unsigned char *bytes = file.data;
        int32_t state = CL_SUCCESS, code;
        cl->program = cl->api->clCreateProgramWithBinary(cl->context, 1, &cl->id, &file.size_bytes, &bytes,
                                                         &state, &code);
        built = code == CL_SUCCESS && state == CL_SUCCESS && build_program(cl, &error) == STK_OK;
        if (!built) release_program(cl);
    }
    stk__buffer_fini(&file);
    return built;
}

static void save_program(stk__opencl *cl, stk__digest key)
{
    size_t bytes = 0;
    stk__buffer binary = {0};
    const stk__opencl_api *api = cl->api;
    if (api->clGetProgramInfo(cl->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) ==
            CL_SUCCESS &&
        bytes > 0 && stk__buffer_reserve(&binary, bytes, NULL) == STK_OK &&
        api->clGetProgramInfo(cl->program, CL_PROGRAM_BINARIES, sizeof binary.data, &binary.data, NULL) ==
            CL_SUCCESS)
        stk__program_save(key, binary.data, bytes);
    stk__buffer_fini(&binary);
}

static stk_status build_text(stk__opencl *cl, const char *text, stk_error *error)
{
    int32_t code;
    cl->program = cl->api->clCreateProgramWithSource(cl->context, 1, &text, NULL, &code);
    STK__TRY(stk__opencl_judge(code, "clCreateProgramWithSource", error));
    return build_program(cl, error);
}

stk_status stk__opencl_build(stk__opencl *cl, const char *text, stk_error *error)
{
    const stk__device_info *info = &cl->device.info;
    const char *const parts[] = {text, options, info->platform, info->model, info->driver};
    const stk__digest key = stk__program_key(parts, sizeof parts / sizeof parts[0]);
    if (build_cached(cl, key)) return STK_OK;
    const stk_status status = build_text(cl, text, error);
    if (status == STK_OK) save_program(cl, key);
    if (status != STK_OK) release_program(cl);
    return status;
}
