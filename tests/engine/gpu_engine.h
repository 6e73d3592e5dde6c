/* SPDX-License-Identifier: Apache-2.0 */
/* The engine torch on GPUs that are made up (on_fake_gpu.py starts such tests): counters of the fake driver
 * and of the PyTorch before it, and what a test does with an engine. */
#ifndef TESTS_ENGINE_GPU_ENGINE_H
#define TESTS_ENGINE_GPU_ENGINE_H

#include "engine/torch/torch_engine.h"
#include "../fake/cuda/fake_cuda.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { GPU_SKIPPED = 77, GPU_COUNT = 1000 };

typedef struct gpu_counters {
    const char *(*add_lines)(const char *text);
    long (*calls)(const char *call, int gpu);
    int64_t (*driver)(const char *what);
    long (*torch)(const char *what);
} gpu_counters;

static gpu_counters gpu;

static inline void gpu_find(const char *variable, const char *file, const char *name, void *member)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", getenv(variable), file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = library ? dlsym(library, name) : NULL;
    assert_non_null(symbol);
    memcpy(member, &symbol, sizeof symbol);
}

static inline void gpu_find_all(void)
{
    gpu_find("STOKER_CUDA_LIBRARY", "", "fake_cuda_add", &gpu.add_lines);
    gpu_find("STOKER_CUDA_LIBRARY", "", "fake_cuda_calls", &gpu.calls);
    gpu_find("STOKER_CUDA_LIBRARY", "", "fake_cuda_count", &gpu.driver);
    gpu_find("STOKER_TORCH", "/libtorch_cpu.so", "fake_torch_count", &gpu.torch);
}

/* The next use of a call or kind of work, or one `later`. what: "fail 1", "hang 0.1" */
static inline long gpu_fault(const char *call, long later, const char *what)
{
    char line[128];
    while (gpu.driver("work") > 0) /* lines are added while nothing is under way */
        usleep(1000);
    const long at = gpu.calls(call, FAKE_ANY) + later;
    snprintf(line, sizeof line, "fault %s at %ld %s\n", call, at, what);
    assert_null(gpu.add_lines(line));
    return at;
}

/* NULL and the status for main: there is no PyTorch here, or something is wrong. */
static inline stk__engine *gpu_engine_open(const char *device, int *status)
{
    stk_error error = {0};
    stk__engine *engine;
    const stk__engine_options options = {.name = "torch", .device = device, .threads = 1};
    if (stk__engine_open(&engine, &options, &error) != STK_OK) fprintf(stderr, "%s\n", error.message);
    *status = getenv("STOKER_FAKE_TORCH_REAL") ? 1 : GPU_SKIPPED;
    return engine;
}

/* For tests that open engines of their own. false: there is none, and the status for main. */
static inline bool gpu_begin(int *status)
{
    stk__engine *engine = gpu_engine_open("cuda:0", status);
    if (!engine) return false;
    stk__engine_close(&engine);
    gpu_find_all();
    return true;
}

static inline stk__torch_cuda *gpu_of(const stk__engine *engine)
{
    return stk__torch_of(engine)->device.cuda;
}

/* `count` f32 tensors of GPU_COUNT values. */
static inline void gpu_make(stk__engine *engine, stk__arena **arena, stk__tensor **tensors, size_t count)
{
    const stk__tensor_desc desc = {.shape = {1, {GPU_COUNT}}, .dtype = STK_DTYPE_F32};
    const size_t each = stk__tensor_size(engine, &desc);
    assert_int_equal(stk__arena_create(engine, count * each, arena, NULL), STK_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(stk__tensor_create(engine, &desc, *arena, i * each, &tensors[i], NULL), STK_OK);
}

static inline void gpu_drop(stk__arena **arena, stk__tensor **tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        stk__tensor_destroy(&tensors[i]);
    stk__arena_destroy(arena);
}

static inline void gpu_expect_nothing_left(void)
{
    assert_int_equal(gpu.driver("misuses"), 0);
    assert_int_equal(gpu.driver("pinned_bytes"), 0);
    assert_int_equal(gpu.driver("events"), 0);
    assert_int_equal(gpu.driver("pageable_copies"), 0);
}

#endif
