/* SPDX-License-Identifier: Apache-2.0 */
/* The fake CUDA driver is as nasty as it says: what a program must not rely on does not work. */
#include "core/clock.h"
#include "device/kernel/launch.h"
#include "device/trial.h"
#include "fake_cuda_driver.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { BYTES = 5000, POISON = 0xDB };

static const fake_driver *fake;
static const stk__cuda_api *cuda;
static stk__cu_handle context, stream;

#define GOOD(call) assert_int_equal(call, CUDA_SUCCESS)

static void begin(const char *script)
{
    fake_driver_play("%s", script);
    GOOD(cuda->cuInit(0));
    GOOD(cuda->cuDevicePrimaryCtxRetain(&context, 0));
    GOOD(cuda->cuCtxPushCurrent_v2(context));
    GOOD(cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void end(const char *what)
{
    stk__cu_handle popped;
    GOOD(cuda->cuStreamDestroy_v2(stream));
    GOOD(cuda->cuCtxPopCurrent_v2(&popped));
    assert_ptr_equal(popped, context);
    GOOD(cuda->cuDevicePrimaryCtxRelease_v2(0));
    fake_driver_expect_nothing_left(what);
}

static int wait_for(stk__cu_handle event)
{
    int code;
    const uint64_t until_ns = stk__clock_ns() + 20 * STK_SECOND_NS;
    while ((code = cuda->cuEventQuery(event)) == CUDA_ERROR_NOT_READY && stk__clock_ns() < until_ns)
        usleep(50);
    return code;
}

static void drain(stk__cu_handle of)
{
    stk__cu_handle event;
    GOOD(cuda->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    GOOD(cuda->cuEventRecord(event, of));
    GOOD(wait_for(event));
    GOOD(cuda->cuEventDestroy_v2(event));
}

static bool is_all(const uint8_t *bytes, size_t count, int value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value) return false;
    return true;
}

/* True: the process was killed by a signal, or a sanitizer ended it. */
static bool dies(void (*act)(void *), void *argument)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) _exit(0);
        act(argument);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void write_byte(void *at)
{
    *(volatile uint8_t *)at = 1;
}

static void device_memory_is_out_of_reach(void **state)
{
    (void)state;
    stk__cu_pointer pointer;
    begin("late 0");
    GOOD(cuda->cuMemAlloc_v2(&pointer, BYTES));
    uint8_t *host = fake->host(pointer);
    assert_true(is_all(host, BYTES, POISON));
    assert_true(dies(write_byte, (void *)(uintptr_t)pointer));
    assert_true(dies(write_byte, host + BYTES + 256)); /* behind the alignment */
    assert_false(dies(write_byte, host + BYTES - 1));
    assert_null(fake->host(pointer + BYTES));
    assert_int_equal(fake->count("device_bytes"), BYTES);
    GOOD(cuda->cuMemFree_v2(pointer));
    assert_true(dies(write_byte, host));
    end("memory");
}

static void wrong_frees_are_found(void **state)
{
    (void)state;
    stk__cu_pointer pointer;
    void *pinned;
    begin("late 0");
    GOOD(cuda->cuMemAlloc_v2(&pointer, BYTES));
    assert_int_not_equal(cuda->cuMemFree_v2(pointer + 8), CUDA_SUCCESS);
    GOOD(cuda->cuMemFree_v2(pointer));
    assert_int_not_equal(cuda->cuMemFree_v2(pointer), CUDA_SUCCESS);
    assert_int_equal(fake->count("misuses"), 2);
    GOOD(cuda->cuMemHostAlloc(&pinned, BYTES, 0));
    assert_true(is_all(pinned, BYTES, POISON));
    ((uint8_t *)pinned)[BYTES] = 1; /* beside it */
    GOOD(cuda->cuMemFreeHost(pinned));
    assert_int_equal(fake->count("misuses"), 3);
    assert_int_not_equal(cuda->cuMemFreeHost(pinned), CUDA_SUCCESS);
    assert_int_equal(fake->count("misuses"), 4);
    assert_non_null(strstr(fake->misuse(), "freed that is not there"));
}

/* Source read late, destination poisoned until then; the order of a stream holds. */
static void copies_are_late(void **state)
{
    (void)state;
    stk__cu_pointer pointer;
    uint8_t *pinned;
    begin("late 0\nfault copy_in at 1 hang 60");
    GOOD(cuda->cuMemAlloc_v2(&pointer, BYTES));
    GOOD(cuda->cuMemHostAlloc((void **)&pinned, BYTES, 0));
    memset(pinned, 1, BYTES);
    GOOD(cuda->cuMemcpyHtoDAsync_v2(pointer, pinned, BYTES, stream));
    drain(stream);
    assert_true(is_all(fake->host(pointer), BYTES, 1));
    GOOD(cuda->cuMemcpyHtoDAsync_v2(pointer, pinned, BYTES, stream)); /* hangs */
    GOOD(cuda->cuMemcpyDtoHAsync_v2(pinned + 1, pointer, 1, stream)); /* behind it */
    pinned[0] = 2;                                                    /* too early, and it shows */
    usleep(20000);
    assert_int_equal(fake->count("work"), 2);
    fake->release();
    drain(stream);
    assert_int_equal(((uint8_t *)fake->host(pointer))[0], 2);
    assert_int_equal(pinned[1], 2);
    assert_int_equal(fake->count("pageable_copies"), 0);
    GOOD(cuda->cuMemFreeHost(pinned));
    GOOD(cuda->cuMemFree_v2(pointer));
    end("copies");
}

static void pageable_copies_are_counted(void **state)
{
    (void)state;
    stk__cu_pointer pointer;
    uint8_t here[BYTES], back[BYTES];
    begin("late 500");
    GOOD(cuda->cuMemAlloc_v2(&pointer, BYTES));
    memset(here, 7, sizeof here);
    GOOD(cuda->cuMemcpyHtoDAsync_v2(pointer, here, BYTES, stream));
    memset(here, 8, sizeof here); /* was read at once */
    GOOD(cuda->cuMemcpyDtoHAsync_v2(back, pointer, BYTES, stream));
    assert_true(is_all(back, BYTES, 7)); /* had to wait */
    assert_int_equal(fake->count("pageable_copies"), 2);
    assert_int_not_equal(cuda->cuMemcpyHtoDAsync_v2(pointer + 1, here, BYTES, stream), CUDA_SUCCESS);
    assert_int_equal(fake->count("misuses"), 1);
}

static void freed_while_in_use(void **state)
{
    (void)state;
    stk__cu_pointer pointer;
    void *pinned;
    begin("fault copy_in hang 60");
    GOOD(cuda->cuMemAlloc_v2(&pointer, BYTES));
    GOOD(cuda->cuMemHostAlloc(&pinned, BYTES, 0));
    GOOD(cuda->cuMemcpyHtoDAsync_v2(pointer, pinned, BYTES, stream));
    GOOD(cuda->cuMemFree_v2(pointer));
    GOOD(cuda->cuMemFreeHost(pinned));
    assert_int_equal(fake->count("misuses"), 2);
    fake->release();
}

/* Only an event orders two streams. */
static void events_order_streams(void **state)
{
    (void)state;
    stk__cu_handle other, event, start;
    stk__cu_pointer pointer;
    uint8_t *pinned;
    float ms = -1;
    begin("late 0\ncopy 0.0000125"); /* 400 ms for a copy: a crowded machine may not run us for a while */
    GOOD(cuda->cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    GOOD(cuda->cuEventCreate(&start, 0));
    GOOD(cuda->cuEventCreate(&event, 0));
    GOOD(cuda->cuEventQuery(event)); /* never recorded: nothing to wait for */
    GOOD(cuda->cuMemAlloc_v2(&pointer, BYTES));
    GOOD(cuda->cuMemHostAlloc((void **)&pinned, BYTES, 0));
    memset(pinned, 3, BYTES);
    GOOD(cuda->cuEventRecord(start, stream));
    GOOD(cuda->cuMemcpyHtoDAsync_v2(pointer, pinned, BYTES, stream));
    GOOD(cuda->cuEventRecord(event, stream));
    assert_int_equal(cuda->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    assert_int_equal(cuda->cuEventElapsedTime(&ms, start, event), CUDA_ERROR_NOT_READY);
    drain(other); /* empty, and so at once */
    assert_int_equal(cuda->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    GOOD(cuda->cuStreamWaitEvent(other, event, 0));
    drain(other);
    GOOD(cuda->cuEventQuery(event));
    GOOD(cuda->cuEventElapsedTime(&ms, start, event));
    assert_true(ms >= 4 && ms < 20000);
    assert_true(is_all(fake->host(pointer), BYTES, 3));
    GOOD(cuda->cuMemFreeHost(pinned));
    GOOD(cuda->cuMemFree_v2(pointer));
    GOOD(cuda->cuEventDestroy_v2(start));
    GOOD(cuda->cuEventDestroy_v2(event));
    assert_int_not_equal(cuda->cuEventDestroy_v2(event), CUDA_SUCCESS);
    assert_non_null(strstr(fake->misuse(), "after its end"));
    GOOD(cuda->cuStreamDestroy_v2(other));
}

static void contexts_are_needed(void **state)
{
    (void)state;
    stk__cu_pointer pointer;
    stk__cu_handle second, handle;
    int count;
    fake_driver_play("gpus 2");
    assert_int_equal(cuda->cuDeviceGetCount(&count), 3); /* CUDA_ERROR_NOT_INITIALIZED */
    begin("gpus 2");
    GOOD(cuda->cuDevicePrimaryCtxRetain(&second, 1));
    GOOD(cuda->cuCtxPushCurrent_v2(second));
    assert_int_equal(cuda->cuStreamDestroy_v2(stream), 400); /* CUDA_ERROR_INVALID_HANDLE: of the other GPU */
    GOOD(cuda->cuMemAlloc_v2(&pointer, 10));
    GOOD(cuda->cuCtxPopCurrent_v2(&handle));
    assert_int_not_equal(cuda->cuMemFree_v2(pointer), CUDA_SUCCESS);
    GOOD(cuda->cuCtxPopCurrent_v2(&handle));
    assert_int_equal(cuda->cuMemAlloc_v2(&pointer, 10), 201); /* CUDA_ERROR_INVALID_CONTEXT */
    assert_int_equal(cuda->cuCtxPopCurrent_v2(&handle), 201);
    assert_int_equal(fake->count("misuses"), 2);
    GOOD(cuda->cuDevicePrimaryCtxRelease_v2(1));
    assert_int_not_equal(cuda->cuDevicePrimaryCtxRelease_v2(1), CUDA_SUCCESS);
    assert_int_not_equal(cuda->cuCtxPushCurrent_v2(second), CUDA_SUCCESS);
    assert_int_equal(fake->count("misuses"), 4);
}

static void faults_come_as_told(void **state)
{
    (void)state;
    stk__cu_pointer pointer = 0, rubbish;
    size_t free_now, total;
    begin("fault cuMemAlloc_v2 at 1 fail 2\nfault cuMemGetInfo_v2 from 2 lose 719");
    memset(&rubbish, 0xA5, sizeof rubbish);
    GOOD(cuda->cuMemAlloc_v2(&pointer, 10));
    stk__cu_pointer other = 0;
    assert_int_equal(cuda->cuMemAlloc_v2(&other, 10), 2);
    assert_true(other == rubbish);
    GOOD(cuda->cuMemAlloc_v2(&other, 10));
    GOOD(cuda->cuMemGetInfo_v2(&free_now, &total));
    assert_int_equal(total - free_now, 20);
    GOOD(cuda->cuMemGetInfo_v2(&free_now, &total));
    assert_int_equal(cuda->cuMemGetInfo_v2(&free_now, &total), 719);
    assert_int_equal(cuda->cuMemAlloc_v2(&other, 10), 719); /* stays lost */
    assert_int_equal(cuda->cuMemFree_v2(pointer), 719);
    assert_int_equal(fake->count("device_bytes"), 10); /* and yet the program gave it back */
    assert_int_equal(fake->calls("cuMemAlloc_v2", 0), 4);
    assert_int_equal(fake->calls("cuMemAlloc_v2", 1), 0);
    assert_int_equal(fake->calls("cuNothing", 0), -1);
    assert_int_equal(fake->count("nothing"), -1);
}

static void work_that_fails_loses_the_context(void **state)
{
    (void)state;
    stk__cu_pointer pointer;
    stk__cu_handle event;
    uint8_t bytes[8] = {0};
    begin("fault copy_in at 0 fail 700");
    GOOD(cuda->cuMemAlloc_v2(&pointer, 8));
    GOOD(cuda->cuEventCreate(&event, 0));
    GOOD(cuda->cuMemcpyHtoDAsync_v2(pointer, bytes, 8, stream)); /* the call itself succeeds */
    const int recorded = cuda->cuEventRecord(event, stream);
    assert_true(recorded == CUDA_SUCCESS || recorded == 700);
    while (cuda->cuEventQuery(event) == CUDA_ERROR_NOT_READY || fake->count("work"))
        usleep(100);
    assert_int_equal(cuda->cuEventQuery(event), 700);
}

static void memory_has_an_end(void **state)
{
    (void)state;
    stk__cu_pointer pointer, more;
    void *pinned;
    begin("gpu 0 memory 1000\npinned 100");
    GOOD(cuda->cuMemAlloc_v2(&pointer, 600));
    assert_int_equal(cuda->cuMemAlloc_v2(&more, 600), CUDA_ERROR_OUT_OF_MEMORY);
    GOOD(cuda->cuMemFree_v2(pointer));
    GOOD(cuda->cuMemAlloc_v2(&more, 600));
    GOOD(cuda->cuMemFree_v2(more));
    assert_int_equal(cuda->cuMemHostAlloc(&pinned, 101, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(fake->count("peak_device_bytes"), 600);
    end("limits");
}

static void visible_devices(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int count;
        const char *first;
    } rows[] = {{"2,0", 2, "Third"},
                {"1", 1, "NVIDIA Fake 1"},
                {"GPU-00000002", 1, "Third"},
                {"0,7,1", 1, "NVIDIA Fake 0"},
                {"0,0", 0, NULL},
                {"", 0, NULL},
                {"-1", 0, NULL},
                {"none", 0, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int count = -1, major, minor;
        char name[64];
        size_t bytes;
        fake_driver_play("gpus 3\ngpu 2 name Third\ngpu 2 sm 120\ngpu 2 memory 77");
        setenv("CUDA_VISIBLE_DEVICES", rows[i].list, 1);
        assert_int_equal(cuda->cuInit(0), rows[i].count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
        unsetenv("CUDA_VISIBLE_DEVICES");
        if (!rows[i].count) continue;
        GOOD(cuda->cuDeviceGetCount(&count));
        assert_int_equal(count, rows[i].count);
        GOOD(cuda->cuDeviceGetName(name, sizeof name, 0));
        assert_string_equal(name, rows[i].first);
        if (strcmp(name, "Third") != 0) continue;
        GOOD(cuda->cuDeviceTotalMem_v2(&bytes, 0));
        assert_int_equal(bytes, 77);
        GOOD(cuda->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
        GOOD(cuda->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
        assert_int_equal(major * 10 + minor, 120);
    }
}

static char cubin[1 << 17];

/* The compiler's code; cubin and log are what it made. */
static int compile(const char *text, const char *architecture, const char *other, char log[256])
{
    const stk__nvrtc_api *nvrtc = &fake->nvrtc;
    const char *const options[] = {architecture, other};
    stk__nvrtc_program program;
    size_t bytes;
    GOOD(nvrtc->nvrtcCreateProgram(&program, text, "stoker.cu", 0, NULL, NULL));
    const int code = nvrtc->nvrtcCompileProgram(program, 2, options);
    GOOD(nvrtc->nvrtcGetProgramLogSize(program, &bytes));
    assert_true(bytes <= 256);
    GOOD(nvrtc->nvrtcGetProgramLog(program, log));
    if (code == CUDA_SUCCESS) {
        GOOD(nvrtc->nvrtcGetCUBINSize(program, &bytes));
        assert_true(bytes > strlen(text) && bytes < sizeof cubin);
        GOOD(nvrtc->nvrtcGetCUBIN(program, cubin));
    }
    GOOD(nvrtc->nvrtcDestroyProgram(&program));
    assert_null(program);
    return code;
}

static void programs_belong_to_text_and_architecture(void **state)
{
    (void)state;
    stk__cu_handle module, function;
    char log[256];
    begin("gpu 0 sm 86");
    assert_int_equal(compile("nonsense", "--gpu-architecture=sm_86", "--fmad=false", log), 6);
    assert_non_null(strstr(log, "error: identifier"));
    assert_int_equal(compile(stk__kernel_source, "--gpu-architecture=sm_101", "--fmad=false", log), 5);
    assert_int_equal(compile(stk__kernel_source, "--gpu-architecture=sm_86", "--nothing", log), 5);
    assert_non_null(strstr(log, "--nothing"));
    GOOD(compile(stk__kernel_source, "--gpu-architecture=sm_90", "--fmad=false", log));
    assert_int_equal(cuda->cuModuleLoadData(&module, cubin), 209); /* no binary for this GPU */
    GOOD(compile(stk__kernel_source, "--gpu-architecture=sm_80", "--fmad=false", log));
    GOOD(cuda->cuModuleLoadData(&module, cubin));
    assert_int_equal(cuda->cuModuleGetFunction(&function, module, "stk_nothing"), 500);
    GOOD(cuda->cuModuleGetFunction(&function, module, "stk_grey"));
    GOOD(cuda->cuModuleUnload(module));
    cubin[200] ^= 1;
    assert_int_equal(cuda->cuModuleLoadData(&module, cubin), 200); /* damaged */
    end("programs");
}

static void errors_have_names(void **state)
{
    (void)state;
    const char *text;
    GOOD(cuda->cuGetErrorName(2, &text));
    assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY");
    GOOD(cuda->cuGetErrorString(700, &text));
    assert_non_null(strstr(text, "illegal memory access"));
    assert_int_equal(cuda->cuGetErrorName(12345, &text), 1);
    assert_null(text);
}

static void scripts_that_are_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {"nothing",
                                        "gpus 99",
                                        "fault cuNothing fail 1",
                                        "fault cuInit",
                                        "fault cuInit at",
                                        "gpu 9 sm 80",
                                        "gpu 0 colour red",
                                        "kernel other 1",
                                        "late x",
                                        "fault cuInit at 1 melt 3",
                                        "nvrtc 12 4 a,b",
                                        "pinned"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *why = fake->play(wrong[i]);
        if (!why) fail_msg("'%s' was taken", wrong[i]);
        assert_non_null(strstr(why, wrong[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_memory_is_out_of_reach),
        cmocka_unit_test(wrong_frees_are_found),
        cmocka_unit_test(copies_are_late),
        cmocka_unit_test(pageable_copies_are_counted),
        cmocka_unit_test(freed_while_in_use),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(contexts_are_needed),
        cmocka_unit_test(faults_come_as_told),
        cmocka_unit_test(work_that_fails_loses_the_context),
        cmocka_unit_test(memory_has_an_end),
        cmocka_unit_test(visible_devices),
        cmocka_unit_test(programs_belong_to_text_and_architecture),
        cmocka_unit_test(errors_have_names),
        cmocka_unit_test(scripts_that_are_none),
    };
    fake = fake_driver_open();
    cuda = &fake->cuda;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
