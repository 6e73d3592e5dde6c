/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about codes of CUDA and NVRTC. Opening the libraries: tests/device. */
#include "device/cuda/cuda_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static int name_code(int code, const char **name)
{
    *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL;
    return code == 2 ? CUDA_SUCCESS : 1;
}

static int explain_code(int code, const char **text)
{
    *text = code == 2 ? "out of memory" : NULL;
    return CUDA_SUCCESS;
}

static const stk__cuda_api api = {.cuGetErrorName = name_code, .cuGetErrorString = explain_code};

static void codes_are_named_with_what_helps(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *hint;
    } rows[] = {
        {CUDA_ERROR_OUT_OF_MEMORY, "data.batch_size"},
        {CUDA_ERROR_NO_DEVICE, "CUDA_VISIBLE_DEVICES"},
        {CUDA_ERROR_DEVICE_UNAVAILABLE, "exclusive"},
        {CUDA_ERROR_STUB_LIBRARY, "stub"},
        {CUDA_ERROR_INVALID_IMAGE, "older than NVRTC"},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, "older than NVRTC"},
        {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "older than NVRTC"},
        {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "different versions"},
        {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "different versions"},
        {CUDA_ERROR_ILLEGAL_ADDRESS, "checkpoint"},
        {CUDA_ERROR_LAUNCH_FAILED, "checkpoint"},
        {1, "devices --check"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_error error = {0};
        const stk_status expected = rows[i].code == 2 ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED;
        assert_int_equal(stk__cuda_judge(&api, rows[i].code, "cuCall", &error), expected);
        assert_int_equal(error.code, expected);
        assert_non_null(strstr(error.hint, rows[i].hint));
        assert_memory_equal(error.message, "cuCall failed: ", 15);
    }
}

static void names_may_be_missing(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__cuda_judge(&api, 2, "cuMemAlloc", &error);
    assert_string_equal(error.message, "cuMemAlloc failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)");
    stk__cuda_judge(&api, 77, "cuInit", &error);
    assert_string_equal(error.message,
                        "cuInit failed: no description from the driver (unknown error code, 77)");
    assert_int_equal(stk__cuda_judge(&api, CUDA_SUCCESS, "cuInit", NULL), STK_OK);
}

static void some_codes_lose_the_context(void **state)
{
    (void)state;
    static const int lost[] = {4, 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999},
                     others[] = {0, 1, 2, 100, 200, 400, 600, 701, 712, 713, 720, 803};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        assert_true(stk__cuda_is_lost(lost[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(stk__cuda_is_lost(others[i]));
}

static void nvrtc_has_few_codes(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__nvrtc_judge(NVRTC_SUCCESS, "nvrtcVersion", NULL), STK_OK);
    assert_int_equal(stk__nvrtc_judge(1, "nvrtcCreateProgram", &error), STK_ERROR_MEMORY);
    assert_int_equal(stk__nvrtc_judge(5, "nvrtcCompileProgram", &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "nvrtcCompileProgram failed: invalid option (5)");
    assert_non_null(strstr(error.hint, "STOKER_NVRTC_LIBRARY"));
    stk__nvrtc_judge(12, "nvrtcVersion", &error);
    assert_non_null(strstr(error.message, "unknown error code (12)"));
    stk__nvrtc_judge(-1, "nvrtcVersion", &error);
    assert_non_null(strstr(error.message, "unknown error code (-1)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_named_with_what_helps),
        cmocka_unit_test(names_may_be_missing),
        cmocka_unit_test(some_codes_lose_the_context),
        cmocka_unit_test(nvrtc_has_few_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
