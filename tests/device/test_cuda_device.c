/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA devices: what is listed and why not, opening several, kernels kept on disk. */
#include "core/clock.h"
#include "core/logger.h"
#include "cuda_scenes.h"
#include "device/cuda/cuda_device.h"
#include "device/trial.h"
#include "fake_cuda_driver.h"
#include "support/workspace.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const fake_driver *fake;
static stk__device_info infos[STK_DEVICE_MOST];
static char logged[4096];

static void keep_line(void *context, stk_log_level level, const char *line)
{
    (void)context, (void)level;
    const size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s\n", line);
}

static int begin(void **state)
{
    (void)state;
    fake = fake_driver_open();
    scenes_begin();
    return 0;
}

static int end(void **state)
{
    (void)state;
    stk_log_set(NULL, NULL, STK_LOG_INFO);
    scenes_end();
    return 0;
}

static stk__device *open_device(const char *name)
{
    stk__device *device;
    stk_error error = {0};
    if (stk__device_open(&device, name, &error) != STK_OK) fail_msg("%s: %s", name, error.message);
    return device;
}

static void gpus_are_listed(void **state)
{
    (void)state;
    fake_driver_play("gpus 3\ngpu 1 name NVIDIA H100 80GB HBM3\ngpu 1 sm 90\ngpu 1 memory 85899345920\ngpu 1 "
                     "units 132\ngpu 2 sm 37\ndriver 13010");
    assert_int_equal(stk__device_cuda.list(infos, STK_DEVICE_MOST), 3);
    assert_string_equal(infos[1].name, "cuda:1");
    assert_string_equal(infos[1].model, "NVIDIA H100 80GB HBM3");
    assert_string_equal(infos[1].id, "GPU-00000001-fa4e-0000-0000-000000000000");
    assert_non_null(strstr(infos[1].platform, "sm_90"));
    assert_non_null(strstr(infos[1].driver, "13.1"));
    assert_int_equal(infos[1].memory_bytes, 85899345920);
    assert_int_equal(infos[1].compute_units, 132);
    assert_true(infos[0].available && infos[1].available && !infos[2].available);
    assert_non_null(strstr(infos[2].why, "sm_37"));
    assert_int_equal(stk__device_cuda.list(infos, 2), 2);
    assert_int_equal(stk__device_cuda.list(infos, 0), 0);
    fake_driver_expect_nothing_left("listing");
}

/* What cannot be asked is unknown, never 0; a GPU that tells nothing at all is not available. */
static void what_the_driver_does_not_tell(void **state)
{
    (void)state;
    fake_driver_play(
        "fault cuDeviceGetName fail 1\nfault cuDeviceTotalMem_v2 fail 1\nfault "
        "cuDriverGetVersion fail 1\nfault cuDeviceGetAttribute fail 1\nfault cuDeviceGetUuid fail 1");
    assert_int_equal(stk__device_cuda.list(infos, STK_DEVICE_MOST), 1);
    assert_false(infos[0].available);
    assert_true(infos[0].why[0]);
    assert_int_equal(infos[0].memory_bytes, -1);
    assert_int_equal(infos[0].compute_units, -1);
    assert_string_equal(infos[0].model, "");
    assert_string_equal(infos[0].id, "");
    assert_string_equal(infos[0].driver, "");
    fake_driver_play("gpus 2\nfault cuDeviceGet at 0 fail 999");
    assert_int_equal(stk__device_cuda.list(infos, STK_DEVICE_MOST), 2);
    assert_true(!infos[0].available && infos[0].why[0] && infos[1].available);
}

static void expect_refusal(const char *name, const char *word)
{
    stk_error error = {0};
    stk__device *device;
    assert_int_equal(stk__device_open(&device, name, &error), STK_ERROR_UNSUPPORTED);
    assert_null(device);
    if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
    assert_true(error.hint[0]);
    fake_driver_expect_nothing_left(word);
}

static void gpus_that_cannot_be_opened(void **state)
{
    (void)state;
    fake_driver_play("gpus 2\ngpu 1 sm 37");
    expect_refusal("cuda:2", "2 GPUs");
    expect_refusal("cuda:1", "sm_37");
    fake_driver_play("gpus 1");
    expect_refusal("cuda:1", "1 GPU");
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    fake_driver_play("gpus 1");
    expect_refusal("cuda:0", "CUDA_VISIBLE_DEVICES='-1'");
    assert_int_equal(stk__device_cuda.list(infos, STK_DEVICE_MOST), 1);
    assert_string_equal(infos[0].name, "cuda");
    assert_non_null(strstr(infos[0].why, "CUDA_VISIBLE_DEVICES"));
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_driver_play("gpus 0");
    expect_refusal("cuda:0", "lists no GPU");
    fake_driver_play("fault cuInit fail 803");
    expect_refusal("cuda:0", "cuInit");
    fake_driver_play("gpu 0 sm 52\ndriver 11040");
    expect_refusal("cuda:0", "it supports sm_75 and newer");
    fake_driver_play("nvrtc 12 8 \ndriver 11040");
    expect_refusal("cuda:0", "does not support sm_80");
}

/* The GPU works by the shipped PTX, has the right bits, and its note says why. */
static void expect_shipped(const char *why)
{
    logged[0] = 0;
    stk_log_set(keep_line, NULL, STK_LOG_INFO);
    stk__device *device = open_device("cuda:0");
    stk_log_set(NULL, NULL, STK_LOG_INFO);
    if (!strstr(device->info.note, "the driver JIT-compiles the shipped PTX"))
        fail_msg("'%s' says nothing of shipped PTX", device->info.note);
    if (!strstr(logged, why)) fail_msg("'%s' does not say '%s'", logged, why);
    scenes_spoil();
    assert_int_equal(stk__device_augment(device, scenes_batch(), NULL), STK_OK);
    assert_true(scenes_are_right());
    stk__device_close(&device);
    fake_driver_expect_nothing_left("shipped PTX");
}

/* Each code has a hint that fits; one without a name is told as well. */
static void codes_have_hints(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *word;
    } rows[] = {{2, "batch_size"},           {3, "spawn"},        {34, "stub"},
                {46, "exclusive"},           {100, "nvidia-smi"}, {218, "ptxjitcompiler"},
                {221, "compute,utility"},    {222, "NVRTC"},      {223, "CUDA_DISABLE_PTX_JIT"},
                {304, "/dev/nvidia"},        {719, "checkpoint"}, {802, "fabricmanager"},
                {803, "different versions"}, {999, "checkpoint"}, {12345, "devices --check"}};
    stk_error error;
    const stk__cuda_api *api = stk__cuda_api_open(&error);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const stk_status status = stk__cuda_judge(api, rows[i].code, "cuSomething", &error);
        assert_int_equal(status, rows[i].code == 2 ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED);
        if (!strstr(error.hint, rows[i].word))
            fail_msg("%d: '%s' does not say '%s'", rows[i].code, error.hint, rows[i].word);
        assert_non_null(strstr(error.message, "cuSomething"));
    }
    assert_int_equal(stk__cuda_judge(api, 999, "cuInit", &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.hint, "nvidia_uvm"));
    static const int fatal[] = {4, 214, 220, 226, 700, 702, 709, 710, 714, 718, 719, 721, 911, 999},
                     others[] = {0, 1, 2, 3, 200, 218, 221, 222, 304, 600, 712, 720, 802, 910, 912};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        if (!stk__cuda_is_lost(fatal[i])) fail_msg("a context comes back after %d", fatal[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (stk__cuda_is_lost(others[i])) fail_msg("a context is lost by %d", others[i]);
    assert_int_equal(stk__cuda_judge(api, 0, "", &error), STK_OK);
    assert_int_equal(stk__nvrtc_judge(0, "", &error), STK_OK);
    assert_int_equal(stk__nvrtc_judge(1, "nvrtcX", &error), STK_ERROR_MEMORY);
    assert_int_equal(stk__nvrtc_judge(99, "nvrtcX", &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "99"));
}

/* Two GPUs in one process, used in turns: each has its own memory and its own bits. */
static void two_devices(void **state)
{
    (void)state;
    fake_driver_play("gpus 2\nlate 200\nseed 5");
    stk__device *devices[2] = {open_device("cuda:0"), open_device("cuda:1")};
    stk_error error = {0};
    for (int i = 0; i < 20; i++) {
        scenes_spoil();
        if (stk__device_augment(devices[i % 2], scenes_batch(), &error) != STK_OK)
            fail_msg("%s", error.message);
        assert_true(scenes_are_right());
    }
    assert_int_equal(fake->calls("cuLaunchKernel", 0), fake->calls("cuLaunchKernel", 1));
    assert_true(fake->calls("cuMemAlloc_v2", 0) > 0 && fake->calls("cuMemAlloc_v2", 1) > 0);
    stk__device_close(&devices[0]);
    if (stk__device_augment(devices[1], scenes_batch(), &error) != STK_OK) fail_msg("%s", error.message);
    stk__device_close(&devices[1]);
    fake_driver_expect_nothing_left("two devices");
}

/* One is lost; the other goes on. */
static void the_other_device_goes_on(void **state)
{
    (void)state;
    fake_driver_play("gpus 2\nfault kernel gpu 0 at 0 fail 700");
    stk__device *devices[2] = {open_device("cuda:0"), open_device("cuda:1")};
    stk_error error = {0};
    assert_int_not_equal(stk__device_augment(devices[0], scenes_batch(), &error), STK_OK);
    assert_int_not_equal(stk__device_augment(devices[0], scenes_batch(), &error), STK_OK);
    assert_non_null(strstr(error.message, "lost"));
    scenes_spoil();
    assert_int_equal(stk__device_augment(devices[1], scenes_batch(), &error), STK_OK);
    assert_true(scenes_are_right());
    stk__device_close(&devices[0]);
    stk__device_close(&devices[1]);
    assert_int_equal(fake->count("misuses"), 0);
}

/* A caller with a context of its own, as PyTorch has: it is still current afterwards. */
static void the_callers_context_comes_back(void **state)
{
    (void)state;
    stk__cu_handle context, popped;
    fake_driver_play("gpus 2");
    assert_int_equal(fake->cuda.cuInit(0), 0);
    assert_int_equal(fake->cuda.cuDevicePrimaryCtxRetain(&context, 1), 0);
    assert_int_equal(fake->cuda.cuCtxPushCurrent_v2(context), 0);
    stk__device *device = open_device("cuda:0");
    assert_int_equal(stk__device_augment(device, scenes_batch(), NULL), STK_OK);
    stk__device_close(&device);
    assert_int_equal(fake->count("current"), 1);
    assert_int_equal(fake->cuda.cuCtxPopCurrent_v2(&popped), 0);
    assert_ptr_equal(popped, context);
    assert_int_equal(fake->cuda.cuDevicePrimaryCtxRelease_v2(1), 0);
    fake_driver_expect_nothing_left("contexts");
}

static void other_devices_keep_no_batches(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__device_memory *memory = NULL;
    stk__device *device = open_device("cpu");
    assert_false(stk__device_keeps(device));
    assert_int_equal(stk__device_memory_create(device, &(stk__device_room){.size_bytes = 100, .places = 1},
                                               &memory, &error),
                     STK_ERROR_UNSUPPORTED);
    assert_null(memory);
    assert_non_null(strstr(error.message, "'cpu'"));
    assert_true(error.hint[0]);
    assert_true(stk__device_memory_destroy(&memory)); /* nothing to destroy */
    stk__device_close(&device);
}

/* After the largest batch nothing is allocated on the device or pinned, and no event is left. */
static void nothing_is_allocated_after_warm_up(void **state)
{
    (void)state;
    fake_driver_play("late 20");
    stk__device *device = open_device("cuda:0");
    assert_int_equal(stk__device_augment(device, scenes_batch(), NULL), STK_OK);
    const long made =
        fake->calls("cuMemAlloc_v2", 0) + fake->calls("cuMemHostAlloc", 0) + fake->calls("cuEventCreate", 0);
    const int64_t device_bytes = fake->count("device_bytes");
    for (int i = 0; i < 10; i++)
        assert_int_equal(stk__device_augment(device, scenes_batch(), NULL), STK_OK);
    assert_int_equal(fake->calls("cuMemAlloc_v2", 0) + fake->calls("cuMemHostAlloc", 0) +
                         fake->calls("cuEventCreate", 0),
                     made);
    assert_int_equal(fake->count("device_bytes"), device_bytes);
    assert_int_equal(fake->count("pageable_copies"), 0);
    stk__device_close(&device);
    fake_driver_expect_nothing_left("warm-up");
}

/* How often the compiler ran while cuda:0 was opened on a GPU of this architecture. */
static long compilations(int sm)
{
    fake_driver_play("late 0\ngpu 0 sm %d", sm);
    stk__device *device = open_device("cuda:0");
    scenes_spoil();
    assert_int_equal(stk__device_augment(device, scenes_batch(), NULL), STK_OK);
    assert_true(scenes_are_right());
    stk__device_close(&device);
    fake_driver_expect_nothing_left("programs");
    return fake->calls("nvrtcCompileProgram", -1);
}

static void run_in_cache(const char *format)
{
    char command[700];
    snprintf(command, sizeof command, format, getenv("STOKER_CACHE_DIR"));
    assert_int_equal(system(command), 0);
}

static void programs_are_kept_on_disk(void **state)
{
    (void)state;
    scenes_forget_programs();
    assert_int_equal(compilations(80), 1);
    assert_int_equal(compilations(80), 0);
    assert_int_equal(compilations(90), 1); /* another architecture */
    assert_int_equal(compilations(80), 0);
    run_in_cache("for f in '%s'/*; do printf x | dd of=$f bs=1 seek=300 conv=notrunc status=none; done");
    assert_int_equal(compilations(80), 1); /* damaged */
    assert_int_equal(compilations(80), 0);
    run_in_cache("for f in '%s'/*; do : >$f; done");
    assert_int_equal(compilations(90), 1); /* empty */
}

/* A file that is whole, but that the driver does not take: built again. */
static void programs_that_the_driver_refuses(void **state)
{
    (void)state;
    static const int codes[] = {200, 209, 218, 222};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        scenes_forget_programs();
        assert_int_equal(compilations(80), 1);
        logged[0] = 0;
        stk_log_set(keep_line, NULL, STK_LOG_INFO);
        fake_driver_play("late 0\nfault cuModuleLoadData at 0 fail %d", codes[i]);
        stk__device *device = open_device("cuda:0");
        assert_int_equal(fake->calls("nvrtcCompileProgram", -1), 1);
        stk__device_close(&device);
        stk_log_set(NULL, NULL, STK_LOG_INFO);
        assert_non_null(strstr(logged, "compiled again"));
        fake_driver_expect_nothing_left("refused programs");
    }
}

/* A folder that cannot be written, or is none, costs a warning and the compiler's time. */
static void programs_without_a_place(void **state)
{
    (void)state;
    char before[512];
    snprintf(before, sizeof before, "%s", getenv("STOKER_CACHE_DIR"));
    workspace folder = workspace_make();
    char below[300];
    workspace_put(&folder, "file", "not a folder");
    snprintf(below, sizeof below, "%s/file/programs", folder.path);
    setenv("STOKER_CACHE_DIR", below, 1);
    logged[0] = 0;
    stk_log_set(keep_line, NULL, STK_LOG_WARNING);
    assert_int_equal(compilations(80), 1);
    assert_int_equal(compilations(80), 1);
    assert_non_null(strstr(logged, "not cached"));
    stk_log_set(NULL, NULL, STK_LOG_INFO);
    if (geteuid() != 0) { /* root may write everywhere */
        assert_int_equal(chmod(folder.path, 0500), 0);
        setenv("STOKER_CACHE_DIR", folder.path, 1);
        assert_int_equal(compilations(80), 1);
        assert_int_equal(compilations(80), 1);
        assert_int_equal(chmod(folder.path, 0700), 0);
    }
    setenv("STOKER_CACHE_DIR", before, 1);
    workspace_remove(&folder);
}

/* A compiler that does not know the GPU yet: PTX, which the driver translates; unless it is too old for that,
 * then the shipped PTX. */
static void gpus_newer_than_the_compiler(void **state)
{
    (void)state;
    scenes_forget_programs();
    for (int start = 0; start < 2; start++) {
        fake_driver_play("late 0\ngpu 0 sm 120\nnvrtc 12 4 75,80,90");
        stk__device *device = open_device("cuda:0");
        assert_non_null(strstr(device->info.note, "compute_90"));
        scenes_spoil();
        assert_int_equal(stk__device_augment(device, scenes_batch(), NULL), STK_OK);
        assert_true(scenes_are_right());
        assert_int_equal(fake->calls("nvrtcGetPTX", -1), start == 0);
        assert_int_equal(fake->calls("nvrtcGetCUBIN", -1), 0);
        stk__device_close(&device);
    }
    scenes_forget_programs();
    fake_driver_play("late 0\ngpu 0 sm 120\nnvrtc 13 0 75,80,90\ndriver 12040");
    expect_shipped("222");
    fake_driver_play("late 0\ngpu 0 sm 120\nnvrtc 13 0 75,80,90\ndriver 11040");
    expect_refusal("cuda:0", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION");
}

/* Each code of an image that does not fit leads to the next way; others do not. */
static void images_that_do_not_fit(void **state)
{
    (void)state;
    static const int codes[] = {200, 209, 218, 221, 222, 223};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char word[32];
        snprintf(word, sizeof word, ", %d)", codes[i]);
        scenes_forget_programs();
        fake_driver_play("late 0\nfault cuModuleLoadData at 0 fail %d", codes[i]);
        expect_shipped(word);
        scenes_forget_programs();
        fake_driver_play("late 0\nfault cuModuleLoadData fail %d", codes[i]);
        expect_refusal("cuda:0", "NVRTC 12.8: cuModuleLoadData failed");
        fake_driver_play("late 0\nfault cuModuleLoadData fail %d", codes[i]);
        expect_refusal("cuda:0", "; shipped PTX: cuModuleLoadData failed");
    }
    scenes_forget_programs();
    fake_driver_play("late 0\nfault cuModuleLoadData at 0 fail 303");
    expect_refusal("cuda:0", "303");
    fake_driver_play("late 0\nfault nvrtcCompileProgram fail 7");
    expect_shipped("builtin operation failure");
    fake_driver_play("late 0\ngpu 0 sm 52");
    expect_shipped("it supports sm_75 and newer");
}

/* Texts that do not compile, and one without our kernels. */
static void text_that_cannot_be_built(void **state)
{
    (void)state;
    stk_error error = {0};
    fake_driver_play("late 0");
    stk__device *device = open_device("cuda:0");
    stk__cuda *cuda = (stk__cuda *)device;
    assert_int_equal(stk__cuda_enter(cuda, &error), STK_OK);
    stk__cuda_unload(cuda);
    assert_int_equal(stk__cuda_build(cuda, "nonsense", &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "cannot compile the kernels"));
    assert_non_null(strstr(error.message, "identifier \"nonsense\""));
    assert_true(error.hint[0]);
    assert_int_equal(stk__cuda_build(cuda, "__global__ void another() {}", &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "CUDA_ERROR_NOT_FOUND"));
    fake_driver_add("fault nvrtcGetProgramLogSize fail 4"); /* a log that cannot be had */
    assert_int_equal(stk__cuda_build(cuda, "nonsense", &error), STK_ERROR_UNSUPPORTED);
    assert_true(error.message[0] && error.hint[0]);
    assert_int_equal(stk__cuda_build(cuda, stk__kernel_source, &error), STK_OK);
    stk__cuda_leave(cuda);
    scenes_spoil();
    assert_int_equal(stk__device_augment(device, scenes_batch(), &error), STK_OK);
    assert_true(scenes_are_right());
    stk__device_close(&device);
    fake_driver_expect_nothing_left("texts");
}

/* Work that is over within microseconds is met by polling: a dozen of the shortest sleeps would take more
 * than half a millisecond. Other programs may take the CPU at any time, so the best of several tries counts.
 */
static void short_waits_do_not_sleep(void **state)
{
    (void)state;
    enum { POLLS = 12, TRIES = 50, ALLOWED_NS = 300 * 1000 };
    stk_error error = {0};
    uint64_t best_ns = UINT64_MAX;
    fake_driver_play("late 0");
    stk__device *device = open_device("cuda:0");
    stk__cuda *cuda = (stk__cuda *)device;
    assert_int_equal(stk__device_augment(device, scenes_batch(), &error), STK_OK);
    assert_int_equal(stk__cuda_enter(cuda, &error), STK_OK);
    for (int i = 0; i < TRIES && best_ns > ALLOWED_NS; i++) {
        char fault[64];
        const long polls = fake->calls("cuEventQuery", -1);
        snprintf(fault, sizeof fault, "calm\nfault cuEventQuery below %ld fail 600", polls + POLLS);
        fake_driver_add(fault);
        const uint64_t start_ns = stk__clock_ns();
        assert_int_equal(stk__cuda_wait(cuda, STK_CUDA_WAIT_BATCH, cuda->marks[STK_CUDA_DONE], &error),
                         STK_OK);
        const uint64_t took_ns = stk__clock_ns() - start_ns;
        assert_true(fake->calls("cuEventQuery", -1) > polls + POLLS);
        if (took_ns < best_ns) best_ns = took_ns;
    }
    stk__cuda_leave(cuda);
    assert_true(best_ns <= ALLOWED_NS);
    stk__device_close(&device);
    fake_driver_expect_nothing_left("short waits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_listed),
        cmocka_unit_test(what_the_driver_does_not_tell),
        cmocka_unit_test(gpus_that_cannot_be_opened),
        cmocka_unit_test(codes_have_hints),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(the_other_device_goes_on),
        cmocka_unit_test(the_callers_context_comes_back),
        cmocka_unit_test(other_devices_keep_no_batches),
        cmocka_unit_test(nothing_is_allocated_after_warm_up),
        cmocka_unit_test(programs_are_kept_on_disk),
        cmocka_unit_test(programs_that_the_driver_refuses),
        cmocka_unit_test(programs_without_a_place),
        cmocka_unit_test(gpus_newer_than_the_compiler),
        cmocka_unit_test(images_that_do_not_fit),
        cmocka_unit_test(text_that_cannot_be_built),
        cmocka_unit_test(short_waits_do_not_sleep),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
