/* SPDX-License-Identifier: Apache-2.0 */
/* Where PyTorch is looked for, and what is said when it is of no use:
 *
 *     test_torch_api OLD BARE        two libraries that stand in for it (fake_torch.c) */
#include "engine/engine.h"
#include "engine/torch/torch_device.h"
#include "support/workspace.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const char *old_library, *bare_library;
static workspace folder;

/* Nothing of this machine is seen but what a test puts there. */
static int set_up(void **state)
{
    (void)state;
    folder = workspace_make();
    workspace_put(&folder, "bin/.keep", "");
    char path[512];
    snprintf(path, sizeof path, "%s/bin", folder.path);
    setenv("PATH", path, 1);
    unsetenv("STOKER_TORCH");
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workspace_remove(&folder);
    return 0;
}

/* A library appears as `name` below the folder. */
static void put_library(const char *name, const char *library)
{
    char path[512];
    workspace_put(&folder, name, "");
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(library, path), 0);
}

static void expect_refusal(const char *message, const char *hint)
{
    stk_error error = {0};
    stk__engine *engine;
    assert_int_equal(stk__engine_open(&engine, &(stk__engine_options){.name = "torch"}, &error),
                     STK_ERROR_UNSUPPORTED);
    assert_null(engine);
    if (!strstr(error.message, message)) fail_msg("'%s' is not '%s'", error.message, message);
    if (!strstr(error.hint, hint)) fail_msg("the hint '%s' is not '%s'", error.hint, hint);
}

static const char too_old[] = "unsupported PyTorch 2.9: 2.10 or newer is needed";

static void nothing_is_found(void **state)
{
    (void)state;
    expect_refusal("PyTorch (libtorch_cpu.so) not found", "STOKER_TORCH");
}

static void the_variable_comes_first(void **state)
{
    (void)state;
    setenv("VIRTUAL_ENV", folder.path, 1);
    put_library("lib/python3.99/site-packages/torch/lib/libtorch_cpu.so", bare_library);
    put_library("named/libtorch_cpu.so", old_library);
    char path[512];
    snprintf(path, sizeof path, "%s/named", folder.path);
    setenv("STOKER_TORCH", path, 1);
    expect_refusal(too_old, "newer PyTorch");
    setenv("STOKER_TORCH", "/nowhere", 1);
    expect_refusal("cannot load PyTorch: /nowhere/libtorch_cpu.so", "STOKER_TORCH");
}

static void environments_are_looked_into(void **state)
{
    (void)state;
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    put_library("lib/python3.99/site-packages/torch/lib/libtorch_cpu.so", old_library);
    for (int i = 0; i < 2; i++) {
        setenv(variables[i], folder.path, 1);
        expect_refusal(too_old, "newer PyTorch");
        unsetenv(variables[i]);
    }
}

/* A python3 that knows a torch, and one that knows none. */
static void python_is_asked(void **state)
{
    (void)state;
    char script[512], path[512];
    put_library("torch/lib/libtorch_cpu.so", old_library);
    snprintf(script, sizeof script, "#!/bin/sh\necho %s/torch\n", folder.path);
    workspace_put(&folder, "bin/python3", script);
    snprintf(path, sizeof path, "%s/bin/python3", folder.path);
    assert_int_equal(chmod(path, 0755), 0);
    expect_refusal(too_old, "newer PyTorch");
    workspace_put(&folder, "bin/python3", "#!/bin/sh\necho\n");
    assert_int_equal(chmod(path, 0755), 0);
    expect_refusal("not found", "STOKER_TORCH");
}

static void missing_calls_are_named(void **state)
{
    (void)state;
    setenv("VIRTUAL_ENV", folder.path, 1);
    put_library("lib/python3.99/site-packages/torch/lib/libtorch_cpu.so", bare_library);
    expect_refusal("unsupported PyTorch: it lacks 'torch_call_dispatcher'", "version 2.10 or newer");
}

static int32_t type_of_cpus(void)
{
    return 0;
}

/* A PyTorch whose library lies in the workspace, where another one may lie beside it. */
static stk__torch_api open_copy(void)
{
    char command[9000], path[512];
    stk__torch_api api = {.aoti_torch_device_type_cpu = type_of_cpus, .major = 2, .minor = 12};
    snprintf(path, sizeof path, "%s/libtorch_cpu.so", folder.path);
    snprintf(command, sizeof command, "/bin/cp '%s' '%s'", bare_library, path);
    assert_int_equal(system(command), 0);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbol = dlsym(library, "aoti_torch_abi_version");
    memcpy(&api.aoti_torch_abi_version, &symbol, sizeof symbol);
    return api;
}

static void expect_no_gpu(const stk__torch_api *api, const char *message, const char *hint)
{
    stk_error error = {0};
    stk__torch_device device;
    assert_int_equal(stk__torch_device_open(api, "cuda:0", &device, &error), STK_ERROR_UNSUPPORTED);
    if (strncmp(error.message, message, strlen(message)) != 0)
        fail_msg("'%s' is not '%s'", error.message, message);
    if (!strstr(error.hint, hint)) fail_msg("the hint '%s' is not '%s'", error.hint, hint);
}

/* Each thing that a GPU needs is missing in turn, the GPU itself first; one sentence says which. */
static void why_there_is_no_gpu(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__engine *engine;
    const stk__engine_options options = {.name = "torch", .device = "cuda:0"};
    static const char start[] = "run.device = 'cuda:0' cannot be used: no NVIDIA GPU (";
    setenv("STOKER_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
    assert_int_equal(stk__engine_open(&engine, &options, &error), STK_ERROR_UNSUPPORTED);
    assert_memory_equal(error.message, start, sizeof start - 1);
    assert_non_null(strstr(error.hint, "run.device=cpu trains on the CPU"));
    const stk__torch_api api = open_copy();
    expect_no_gpu(&api, "run.device = 'cuda:0' cannot be used: this PyTorch (2.12.0) was built without CUDA",
                  "install a PyTorch build with CUDA; run.device=cpu trains on the CPU");
    workspace_put(&folder, "libtorch_cuda.so", "");
    expect_no_gpu(&api, "run.device = 'cuda:0' cannot be used: cannot load libtorch_cuda.so of PyTorch: ",
                  "run.device=cpu trains on the CPU");
    stk__torch_device device = {.type = 7};
    assert_int_equal(stk__torch_device_open(&api, NULL, &device, NULL), STK_OK);
    assert_int_equal(device.type, 0);
}

int main(int argc, char **argv)
{
    char paths[2][4096];
    if (argc < 3 || !realpath(argv[1], paths[0]) || !realpath(argv[2], paths[1])) return 1;
    old_library = strstr(paths[0], "old") ? paths[0] : paths[1];
    bare_library = strstr(paths[0], "old") ? paths[1] : paths[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_variable_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(environments_are_looked_into, set_up, tear_down),
        cmocka_unit_test_setup_teardown(python_is_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_calls_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(why_there_is_no_gpu, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
