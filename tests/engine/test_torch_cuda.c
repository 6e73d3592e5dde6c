/* The CUDA file of the engine torch, on the fake driver and the PyTorch in front of the real one
 * (on_fake_gpu.py starts it): maps, copies, order, waits, and every call of the driver failing. */
#include "engine/torch_parts.h"
#include "fake_cuda.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SKIPPED = 77, COUNT = 1000, TENSORS = STK_TORCH_STAGES + 1, KERNEL = TENSORS - 1 };

static stk__engine *engine;
static stk__torch_cuda *cuda;
static stk__arena *arena;
static stk__tensor *tensors[TENSORS];
static const char *(*add_lines)(const char *text);
static long (*count_calls)(const char *call, int gpu);
static int64_t (*count_driver)(const char *what);
static long (*count_torch)(const char *what);

static void find(const char *variable, const char *file, const char *name, void *member)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", getenv(variable), file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = library ? dlsym(library, name) : NULL;
    assert_non_null(symbol);
    memcpy(member, &symbol, sizeof symbol);
}

static int set_up(void **state)
{
    (void)state;
    const stk__tensor_desc desc = {.shape = {1, {COUNT}}, .dtype = STK_DTYPE_F32};
    const stk__tensor_desc kernel = {
        .shape = {4, {10, 4, 5, 5}}, .dtype = STK_DTYPE_F32, .layout = STK_TORCH_KERNEL};
    const size_t each = stk__tensor_size(engine, &desc);
    find("STOKER_CUDA_LIBRARY", "", "fake_cuda_add", &add_lines);
    find("STOKER_CUDA_LIBRARY", "", "fake_cuda_calls", &count_calls);
    find("STOKER_CUDA_LIBRARY", "", "fake_cuda_count", &count_driver);
    find("STOKER_TORCH", "/libtorch_cpu.so", "fake_torch_count", &count_torch);
    assert_int_equal(stk__arena_create(engine, TENSORS * each, &arena, NULL), STK_OK);
    for (size_t i = 0; i < TENSORS; i++)
        assert_int_equal(
            stk__tensor_create(engine, i == KERNEL ? &kernel : &desc, arena, i * each, &tensors[i], NULL),
            STK_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < TENSORS; i++)
        stk__tensor_destroy(&tensors[i]);
    stk__arena_destroy(&arena);
    stk__engine_close(&engine);
    assert_int_equal(count_driver("misuses"), 0);
    assert_int_equal(count_driver("pinned_bytes"), 0);
    assert_int_equal(count_driver("events"), 0);
    assert_int_equal(count_driver("pageable_copies"), 0);
    return 0;
}

static void it_says_where_it_is(void **state)
{
    (void)state;
    const stk__engine_info *info = stk__engine_describe(engine);
    void *stream;
    assert_int_equal(info->device, STK_DEVICE_CUDA);
    assert_int_equal(info->device_index, 0);
    assert_non_null(strstr(info->version, ", cuda:0"));
    assert_true(info->tf32); /* read back from PyTorch */
    assert_true(stk__engine_stream(engine, &stream));
    const stk__engine_memory memory = stk__engine_measure(engine);
    assert_true(memory.free_bytes > 0 && memory.free_bytes < memory.total_bytes);
    assert_true(memory.peak_bytes >= (int64_t)arena->size_bytes);
    assert_false(stk__torch_cuda_set_tf32(cuda, false));
    assert_true(stk__torch_cuda_set_tf32(cuda, true));
    const stk__torch_cuda_api kept = cuda->api;
    cuda->api.context = NULL; /* a PyTorch without it */
    assert_false(stk__torch_cuda_set_tf32(cuda, true));
    cuda->api = kept;
}

/* Written in a row without a wait, added up on the stream, read once. */
static void copies_are_in_order(void **state)
{
    (void)state;
    float numbers[COUNT], read[COUNT];
    const long waits = cuda->waits, fetches = cuda->fetches, syncs = count_torch("syncs");
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < COUNT; i++)
            numbers[i] = (float)(i + round);
        assert_int_equal(stk__tensor_write(tensors[1], numbers, sizeof numbers, NULL), STK_OK);
        assert_int_equal(stk__tensor_add(tensors[0], tensors[1], NULL), STK_OK);
    }
    assert_int_equal(cuda->waits, waits);
    assert_int_equal(cuda->fetches, fetches);
    assert_int_equal(count_torch("syncs"), syncs);
    assert_int_equal(stk__tensor_read(tensors[0], read, sizeof read, NULL), STK_OK);
    assert_int_equal(cuda->waits, waits + 1);
    for (int i = 0; i < COUNT; i++)
        assert_true(read[i] == (float)(8 * i + 28));
    assert_int_equal(stk__tensor_zero(tensors[0], NULL), STK_OK);
    assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
}

static void many_maps(void **state)
{
    (void)state;
    stk_tensor views[TENSORS];
    stk_error error = {0};
    for (int i = 0; i < STK_TORCH_STAGES; i++) {
        assert_int_equal(stk__tensor_map_new(tensors[i], &views[i], NULL), STK_OK);
        memset(views[i].data, 0, COUNT * sizeof(float));
    }
    assert_int_equal(stk__tensor_map(tensors[0], &views[TENSORS - 1], &error), STK_ERROR_ARGUMENT);
    assert_string_equal(error.message, "more than 32 tensors are mapped at once");
    for (int i = 0; i < STK_TORCH_STAGES; i++)
        assert_int_equal(stk__tensor_unmap(tensors[i], &views[i], true, NULL), STK_OK);
    assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
}

/* All pinned memory is under way: the host waits for the first. */
static void all_stages_fly(void **state)
{
    (void)state;
    float numbers[COUNT] = {1}, read[COUNT];
    assert_null(add_lines("fault copy_in at 99999999 fail 1\nlate 20000\n"));
    const long waits = cuda->waits;
    for (int i = 0; i < 2 * TENSORS; i++) {
        numbers[0] = (float)i;
        assert_int_equal(stk__tensor_write(tensors[i % TENSORS], numbers, sizeof numbers, NULL), STK_OK);
    }
    assert_true(cuda->waits > waits);
    assert_int_equal(stk__tensor_read(tensors[0], read, sizeof read, NULL), STK_OK);
    assert_true(read[0] == (float)TENSORS);
    assert_null(add_lines("late 0\n"));
}

static stk_status use(stk_error *error)
{
    float numbers[2 * COUNT] = {2}, read[COUNT];
    const stk_tensor memory = {.data = numbers, .dtype = STK_DTYPE_F32, .ndim = 1, .shape = {COUNT}};
    stk__tensor *host;
    for (int i = 0; i < STK_TORCH_STAGES; i++)
        cuda->stages[i].memory.capacity_bytes = 0; /* all must grow */
    STK__TRY(stk__tensor_write(tensors[2], numbers, COUNT * sizeof(float), error));
    STK__TRY(stk__tensor_read(tensors[2], read, sizeof read, error));
    STK__TRY(stk__tensor_write(tensors[KERNEL], numbers, COUNT * sizeof(float), error));
    STK__TRY(stk__tensor_read(tensors[KERNEL], read, sizeof read, error));
    assert_true(read[0] == 2 && read[1] == 0);
    STK__TRY(stk__tensor_wrap(engine, &memory, &host, error));
    const stk_status status = stk__tensor_copy(tensors[3], host, error);
    stk__tensor_destroy(&host);
    STK__TRY(status);
    return stk__engine_sync(engine, error);
}

static void failing_calls_are_told(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuMemHostAlloc", "cuMemcpyDtoHAsync_v2", "cuEventRecord",
                                        "cuMemcpyHtoDAsync_v2", "cuCtxPushCurrent_v2"};
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        int failed = 0;
        for (long later = 0; later < 4; later++) {
            char line[128];
            stk_error error = {0};
            assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
            const long at = count_calls(calls[c], FAKE_ANY) + later;
            snprintf(line, sizeof line, "fault %s at %ld fail 1\n", calls[c], at);
            assert_null(add_lines(line));
            stk_status status = use(&error);
            while (status == STK_OK && count_calls(calls[c], FAKE_ANY) <= at)
                status = use(&error);
            if (status == STK_OK) continue; /* another's call */
            failed++;
            assert_true(error.hint[0] != 0);
            char word[32];
            snprintf(word, sizeof word, "%.*s", (int)strcspn(calls[c], "_"), calls[c]);
            if (!strstr(error.message, word)) fail_msg("%s: '%s'", calls[c], error.message);
        }
        if (!failed) fail_msg("%s never failed", calls[c]);
        assert_int_equal(use(NULL), STK_OK);
    }
}

static void memory_may_be_unknown(void **state)
{
    (void)state;
    char line[96];
    snprintf(line, sizeof line, "fault cuMemGetInfo_v2 at %ld fail 1\n",
             count_calls("cuMemGetInfo_v2", FAKE_ANY));
    assert_null(add_lines(line));
    assert_int_equal(stk__engine_measure(engine).free_bytes, -1);
    assert_true(stk__engine_measure(engine).free_bytes > 0);
}

static void engines_that_cannot_open(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuDeviceGet", "cuDevicePrimaryCtxRetain"};
    const stk__engine_options options = {.name = "torch", .device = "cuda:0"};
    for (int c = 0; c < 2; c++)
        for (long later = 0; later < 3; later++) {
            stk__engine *none = NULL;
            stk_error error = {0};
            char line[96];
            snprintf(line, sizeof line, "fault %s at %ld fail 1\n", calls[c],
                     count_calls(calls[c], FAKE_ANY) + later);
            assert_null(add_lines(line));
            if (stk__engine_open(&none, &options, &error) != STK_OK)
                assert_non_null(strstr(error.message, "cannot be used"));
            stk__engine_close(&none);
        }
    stk_error error = {0};
    stk__engine *none;
    const stk__engine_options far = {.name = "torch", .device = "cuda:5"};
    assert_int_equal(stk__engine_open(&none, &far, &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "there is only 1 GPU"));
}

/* PyTorch has no stream; its folder has no CUDA part; no such word; and "auto". */
static void other_ends(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__engine *none;
    stk__torch_api elsewhere = *stk__torch_of(engine)->api;
    stk__torch_cuda_api calls;
    void *symbol = dlsym(RTLD_DEFAULT, "strlen");
    const char *stream = getenv("STOKER_FAKE_TORCH_STREAM");
    setenv("STOKER_FAKE_TORCH_STREAM", "none", 1);
    assert_int_equal(
        stk__engine_open(&none, &(stk__engine_options){.name = "torch", .device = "cuda:0"}, &error),
        STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "PyTorch cannot use the GPU: there is no stream"));
    assert_int_equal(stk__engine_open(&none, &(stk__engine_options){.name = "torch"}, &error), STK_OK);
    assert_int_equal(none->info.device, STK_DEVICE_CPU); /* and says why */
    assert_non_null(strstr(none->info.note, "PyTorch cannot use the GPU"));
    stk__engine_close(&none);
    setenv("STOKER_FAKE_TORCH_STREAM", stream ? stream : "default", 1);
    assert_int_equal(stk__engine_open(&none, &(stk__engine_options){.name = "auto"}, &error), STK_OK);
    assert_int_equal(none->info.device, STK_DEVICE_CUDA);
    stk__engine_close(&none);
    assert_int_equal(
        stk__engine_open(&none, &(stk__engine_options){.name = "torch", .device = "tpu"}, &error),
        STK_ERROR_UNSUPPORTED);
    memcpy(&elsewhere.aoti_torch_abi_version, &symbol, sizeof symbol);
    assert_int_equal(stk__torch_cuda_api_open(&calls, &elsewhere, &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "PyTorch's CUDA part cannot be opened: "));
}

static void memory_runs_out(void **state)
{
    (void)state;
    stk__arena *large = NULL;
    stk_error error = {0};
    assert_int_equal(stk__arena_create(engine, (size_t)1 << 40, &large, &error), STK_ERROR_MEMORY);
    assert_null(large);
    assert_non_null(strstr(error.message, "out of memory"));
}

/* The last test: nothing works after it. */
static void a_lost_context_is_told(void **state)
{
    (void)state;
    stk_error error = {0};
    float numbers[COUNT] = {0};
    char line[96];
    assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
    snprintf(line, sizeof line, "fault cuEventQuery at %ld lose 719\n",
             count_calls("cuEventQuery", FAKE_ANY));
    assert_null(add_lines(line));
    assert_int_not_equal(stk__tensor_read(tensors[0], numbers, sizeof numbers, &error), STK_OK);
    assert_non_null(strstr(error.hint, "newest checkpoint"));
    assert_int_not_equal(stk__tensor_write(tensors[0], numbers, sizeof numbers, &error), STK_OK);
    assert_int_not_equal(stk__tensor_zero(tensors[0], &error), STK_OK);
    assert_int_equal(stk__engine_measure(engine).free_bytes, -1);
}

static int leave(void **state)
{
    (void)state;
    for (int i = 0; i < TENSORS; i++)
        stk__tensor_destroy(&tensors[i]);
    stk__arena_destroy(&arena);
    stk__engine_close(&engine);
    return 0;
}

int main(int argc, char **argv)
{
    stk_error error = {0};
    const stk__engine_options options = {.name = "torch", .device = "cuda:0", .threads = 1};
    if (stk__engine_open(&engine, &options, &error) != STK_OK) {
        fprintf(stderr, "%s\n", error.message);
        return getenv("STOKER_FAKE_TORCH_REAL") ? 1 : SKIPPED;
    }
    cuda = stk__torch_of(engine)->device.cuda;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_ends),
        cmocka_unit_test(it_says_where_it_is),
        cmocka_unit_test(copies_are_in_order),
        cmocka_unit_test(many_maps),
        cmocka_unit_test(all_stages_fly),
        cmocka_unit_test(failing_calls_are_told),
        cmocka_unit_test(memory_may_be_unknown),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(engines_that_cannot_open),
    };
    const struct CMUnitTest last[] = {cmocka_unit_test(a_lost_context_is_told)};
    if (argc > 1 && strcmp(argv[1], "lost") == 0) return cmocka_run_group_tests(last, set_up, leave);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
