/* SPDX-License-Identifier: Apache-2.0 */
/* The front of the devices: what it refuses, what happens for want of memory, where libraries are found. */
#include "core/memory.h"
#include "device/device.h"
#include "device/library.h"
#include "device/trial.h"
#include "support/workspace.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { SIDE_PX = 40 };

static stk__trial trial;
static int allowed, held; /* allocations that still succeed; that were not released */

static void *alloc_some(void *context, size_t size_bytes)
{
    (void)context;
    if (allowed-- <= 0) return NULL;
    held++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void release_any(void *context, void *memory, size_t size_bytes)
{
    (void)context, (void)size_bytes;
    held--;
    free(memory);
}

static int free_trial(void **state)
{
    (void)state;
    stk__trial_fini(&trial);
    return 0;
}

/* One that makes the kernel ask for memory. */
static void make_trial_with_blur(void)
{
    uint64_t seed = 0;
    do
        assert_int_equal(stk__trial_make(&trial, seed++, SIDE_PX, NULL), STK_OK);
    while (trial.batch.images[0].w == 0 || trial.batch.blocks[0].blur_radius == 0);
}

static void without_memory_nothing_is_opened(void **state)
{
    (void)state;
    static const char *const names[] = {"cpu", "null"};
    stk_allocator_set(&(stk_allocator){.alloc = alloc_some, .release = release_any});
    for (int i = 0; i < 2; i++) {
        stk_error error = {0};
        stk__device *device = (stk__device *)(void *)&error; /* whatever was in it */
        allowed = 0;
        assert_int_equal(stk__device_open(&device, names[i], &error), STK_ERROR_MEMORY);
        assert_null(device);
        assert_non_null(strstr(error.message, "a device"));
        stk__device_close(&device); /* nothing to close */
        allowed = 1;
        assert_int_equal(stk__device_open(&device, names[i], &error), STK_OK);
        stk__device_close(&device);
        assert_int_equal(held, 0);
    }
    stk_allocator_set(NULL);
}

static void a_batch_without_memory_fails_and_the_next_succeeds(void **state)
{
    (void)state;
    make_trial_with_blur();
    stk_error error = {0};
    stk__device *device;
    stk_allocator_set(&(stk_allocator){.alloc = alloc_some, .release = release_any});
    allowed = 1;
    assert_int_equal(stk__device_open(&device, "cpu", &error), STK_OK);
    assert_int_equal(stk__device_augment(device, &trial.batch, &error), STK_ERROR_MEMORY);
    assert_int_equal(error.code, STK_ERROR_MEMORY);
    assert_int_equal(device->last_kernel_ns, 0);
    allowed = 1000;
    assert_int_equal(stk__device_augment(device, &trial.batch, &error), STK_OK);
    const stk__trial_result result = stk__trial_compare(&trial);
    assert_true(result.values > 0 && result.differing == 0 && !result.overrun);
    stk__device_close(&device);
    assert_int_equal(held, 0);
    stk_allocator_set(NULL);
}

static void an_empty_batch_is_no_work(void **state)
{
    (void)state;
    make_trial_with_blur();
    stk__device *device;
    assert_int_equal(stk__device_open(&device, "cpu", NULL), STK_OK);
    assert_int_equal(stk__device_augment(device, &trial.batch, NULL), STK_OK);
    assert_true(device->last_kernel_ns > 0);
    stk__trial_spoil(&trial);
    stk__augment_batch batch = {.target = trial.batch.target};
    assert_int_equal(stk__device_augment(device, &batch, NULL), STK_OK);
    assert_int_equal(device->last_kernel_ns, 0);
    for (size_t i = 0; i < trial.output.size_bytes; i++)
        assert_int_equal(trial.output.data[i], 0xA5);
    batch.target.channels = 2; /* its target is looked at all the same */
    assert_int_equal(stk__device_augment(device, &batch, NULL), STK_ERROR_ARGUMENT);
    stk__device_close(&device);
}

static void lists_end_where_they_are_told(void **state)
{
    (void)state;
    stk__device_info infos[STK_DEVICE_MOST];
    const int all = stk__device_list(infos, STK_DEVICE_MOST);
    for (int most = 0; most <= all; most++) {
        memset(infos, 0x77, sizeof infos);
        assert_int_equal(stk__device_list(infos, most), most);
        for (size_t i = 0; i < sizeof infos[0]; i++)
            assert_int_equal(((const uint8_t *)&infos[most])[i], 0x77);
    }
}

static void cuda_says_why_it_is_not_there(void **state)
{
    (void)state;
    stk__device *device;
    stk_error error = {0};
    setenv("STOKER_CUDA_LIBRARY", "./none.so", 1);
    assert_int_equal(stk__device_open(&device, "cuda:1", &error), STK_ERROR_UNSUPPORTED);
    assert_null(device);
    assert_non_null(strstr(error.message, "cuda:1 is not available: STOKER_CUDA_LIBRARY=./none.so"));
    assert_true(error.hint[0]);
    setenv("STOKER_CUDA_LIBRARY", "libm.so.6", 1);
    assert_int_equal(stk__device_open(&device, "cuda", &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "lacks 'cuInit'"));
    assert_true(error.hint[0]);
    unsetenv("STOKER_CUDA_LIBRARY");
}

/* The file of this process's libm, under a name that no loader's path has. */
static void link_math(const workspace *home, const char *name)
{
    Dl_info info;
    char path[512];
    assert_true(dladdr(dlsym(dlopen("libm.so.6", RTLD_NOW), "cos"), &info));
    char *real = realpath(info.dli_fname, NULL);
    assert_non_null(real);
    snprintf(path, sizeof path, "%s/%s", home->path, name);
    assert_int_equal(symlink(real, path), 0);
    free(real);
}

static void libraries_are_found_below_cuda_home_and_path(void **state)
{
    (void)state;
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"}, *const folders[] = {"lib64", "lib"};
    stk_error error = {0};
    for (int v = 0; v < 2; v++)
        for (int f = 0; f < 2; f++) {
            workspace home = workspace_make();
            char file[64], name[128];
            snprintf(file, sizeof file, "libstk-none-%d%d.so.1", v, f);
            snprintf(name, sizeof name, "%s/other", folders[f]);
            workspace_put(&home, name, "");
            snprintf(name, sizeof name, "%s/%s", folders[f], file);
            link_math(&home, name);
            assert_null(stk__library_open(file, "STOKER_NO_LIBRARY", &error));
            assert_non_null(strstr(error.message, file));
            assert_non_null(strstr(error.hint, "STOKER_NO_LIBRARY"));
            setenv(variables[v], home.path, 1);
            void *library = stk__library_open(file, "STOKER_NO_LIBRARY", &error);
            assert_non_null(library);
            assert_non_null(dlsym(library, "cos"));
            unsetenv(variables[v]);
            workspace_remove(&home);
        }
}

typedef struct catch
{
    int count, most;
}
catch;

static bool count_library(void *context, void *library)
{
    catch *c = context;
    assert_non_null(dlsym(library, "cos"));
    return ++c->count == c->most;
}

/* Wheels of an environment, and a library of several versions: all that can be opened, until it is enough. */
static void libraries_of_wheels_are_found(void **state)
{
    (void)state;
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    static const char *const files[] = {"libstk-wheel.so.13", "libstk-wheel.so.12", "libstk-wheel.so.11.2",
                                        NULL};
    stk_error error = {0};
    for (int v = 0; v < 2; v++) {
        workspace home = workspace_make();
        const char *const below = "lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib";
        char name[256];
        catch all = {.most = 9}, one = {.most = 1};
        const stk__library_search search = {files, "STOKER_NO_LIBRARY", count_library, &all},
                                  first = {files, "STOKER_NO_LIBRARY", count_library, &one};
        snprintf(name, sizeof name, "%s/libstk-wheel.so.13", below);
        workspace_put(&home, name, "this is no library");
        for (int i = 1; i < 3; i++) {
            snprintf(name, sizeof name, "%s/%s", below, files[i]);
            link_math(&home, name);
        }
        assert_int_equal(stk__library_visit(&search, &error), STK_OK);
        assert_int_equal(all.count, 0);
        stk__library_refuse(&search, &error);
        assert_non_null(strstr(error.message, "libstk-wheel.so.13 not found"));
        assert_non_null(strstr(error.message, "wheels"));
        setenv(variables[v], home.path, 1);
        assert_int_equal(stk__library_visit(&search, &error), STK_OK);
        assert_int_equal(all.count, 2); /* the broken one is left out */
        assert_int_equal(stk__library_visit(&first, &error), STK_OK);
        assert_int_equal(one.count, 1);
        unsetenv(variables[v]);
        workspace_remove(&home);
    }
}

int main(void)
{
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_nothing_is_opened),
        cmocka_unit_test(a_batch_without_memory_fails_and_the_next_succeeds),
        cmocka_unit_test(an_empty_batch_is_no_work),
        cmocka_unit_test(lists_end_where_they_are_told),
        cmocka_unit_test(cuda_says_why_it_is_not_there),
        cmocka_unit_test(libraries_are_found_below_cuda_home_and_path),
        cmocka_unit_test(libraries_of_wheels_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, free_trial);
}
