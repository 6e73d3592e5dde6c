/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA file of the engine torch, on the fake driver and the PyTorch in front of the real one
 * (on_fake_gpu.py starts it): maps, copies, order, waits, and every call of the driver failing. */
#include "engine/torch/torch_call.h"
#include "gpu_engine.h"

enum { COUNT = GPU_COUNT, TENSORS = STK_TORCH_STAGES + 1, KERNEL = TENSORS - 1 };

static stk__engine *engine;
static stk__torch_cuda *cuda;
static stk__arena *arena;
static stk__tensor *tensors[TENSORS];

static int set_up(void **state)
{
    (void)state;
    gpu_make(engine, &arena, tensors, TENSORS);
    tensors[KERNEL]->desc.shape = (stk__shape){4, {10, 4, 5, 5}};
    tensors[KERNEL]->desc.layout = STK_TORCH_KERNEL;
    return 0;
}

static int leave(void **state)
{
    (void)state;
    gpu_drop(&arena, tensors, TENSORS);
    stk__engine_close(&engine);
    return 0;
}

static int tear_down(void **state)
{
    leave(state);
    gpu_expect_nothing_left();
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
    assert_true(info->tf32);
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

/* Whoever else in this process has set which of PyTorch's switches: what is asked for is in force. The real
 * library is looked at. */
static void tf32_is_as_asked_for(void **state)
{
    (void)state;
    enum { GENERIC, CUDA, ALL = 0, CONV, RNN, MATMUL, TF32 = 2 };
    int (*precision)(const void *context, int backend, int op) = NULL;
    void (*set)(void *context, int backend, int op, int precision) = cuda->api.set_precision;
    gpu_find("STOKER_FAKE_TORCH_REAL", "/libtorch_cpu.so",
             "_ZNK2at7Context16float32PrecisionENS_14Float32BackendENS_9Float32OpE", &precision);
    void *context = cuda->api.context();
    for (int i = 0; i < 8; i++) {
        const bool wanted = i & 1;
        cuda->api.allow_products(context, i & 2);
        cuda->api.allow_convolutions(context, i & 2);
        set(context, GENERIC, ALL, i & 4 ? TF32 : 0);
        set(context, CUDA, MATMUL, i & 4 ? TF32 : 0); /* beside the old ones */
        assert_int_equal(stk__torch_cuda_set_tf32(cuda, wanted), wanted);
        for (int op = CONV; op <= MATMUL; op++)
            assert_int_equal(precision(context, CUDA, op) == TF32, wanted);
    }
    set(context, GENERIC, ALL, 0);
}

/* By options of the engine, in the real library. */
static void algorithms_are_as_asked_for(void **state)
{
    (void)state;
    static const char *const getters[] = {"_ZNK2at7Context14benchmarkCuDNNEv",
                                          "_ZNK2at7Context18deterministicCuDNNEv",
                                          "_ZNK2at7Context23deterministicAlgorithmsEv"};
    bool (*ask[3])(const void *context);
    for (int i = 0; i < 3; i++)
        gpu_find("STOKER_FAKE_TORCH_REAL", "/libtorch_cpu.so", getters[i], &ask[i]);
    for (int i = 3; i >= 0; i--) {
        stk__engine *other;
        const stk__engine_options options = {
            .name = "torch", .device = "cuda:0", .tune = i & 1, .deterministic = i & 2};
        assert_int_equal(stk__engine_open(&other, &options, NULL), STK_OK);
        const stk__engine_info *info = stk__engine_describe(other);
        assert_true(info->measures == options.tune && info->deterministic == options.deterministic);
        const void *context = cuda->api.context();
        assert_true(ask[0](context) == options.tune && ask[1](context) == options.deterministic &&
                    ask[2](context) == options.deterministic);
        stk__engine_close(&other);
    }
}

/* Written in a row without a wait, added up on the stream, read once. */
static void copies_are_in_order(void **state)
{
    (void)state;
    float numbers[COUNT], read[COUNT];
    const long waits = cuda->waits, fetches = cuda->fetches, syncs = gpu.torch("syncs");
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < COUNT; i++)
            numbers[i] = (float)(i + round);
        assert_int_equal(stk__tensor_write(tensors[1], numbers, sizeof numbers, NULL), STK_OK);
        assert_int_equal(stk__tensor_add(tensors[0], tensors[1], NULL), STK_OK);
    }
    assert_int_equal(cuda->waits, waits);
    assert_int_equal(cuda->fetches, fetches);
    assert_int_equal(gpu.torch("syncs"), syncs);
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

/* Tensors that lie one behind the other are one row for the average: one launch. */
static void all_tensors_take_one_operator(void **state)
{
    (void)state;
    enum { EACH = 8 };
    float values[COUNT], read[COUNT];
    stk__tensor *const *const from = tensors + EACH;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;
    for (int i = 0; i < EACH; i++) {
        assert_int_equal(stk__tensor_zero(tensors[i], NULL), STK_OK);
        assert_int_equal(stk__tensor_write(from[i], values, sizeof values, NULL), STK_OK);
    }
    const stk__tensor_list average = {tensors, EACH}, value = {from, EACH};
    const long before = gpu.torch("operators");
    assert_int_equal(stk__engine_average(engine, &average, &value, 0.75, NULL), STK_OK);
    assert_int_equal(gpu.torch("operators"), before + 1);
    for (int i = 0; i < EACH; i++) {
        assert_int_equal(stk__tensor_read(tensors[i], read, sizeof read, NULL), STK_OK);
        for (int k = 0; k < COUNT; k++)
            assert_true(read[k] == 0.25F * (float)k);
    }
}

/* All pinned memory is under way: the host waits for the first. */
static void all_stages_fly(void **state)
{
    (void)state;
    float numbers[COUNT] = {1}, read[COUNT];
    assert_null(gpu.add_lines("fault copy_in at 99999999 fail 1\nlate 20000\n"));
    const long waits = cuda->waits;
    for (int i = 0; i < 2 * TENSORS; i++) {
        numbers[0] = (float)i;
        assert_int_equal(stk__tensor_write(tensors[i % TENSORS], numbers, sizeof numbers, NULL), STK_OK);
    }
    assert_true(cuda->waits > waits);
    assert_int_equal(stk__tensor_read(tensors[0], read, sizeof read, NULL), STK_OK);
    assert_true(read[0] == (float)TENSORS);
    assert_null(gpu.add_lines("late 0\n"));
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
            stk_error error = {0};
            assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
            const long at = gpu_fault(calls[c], later, "fail 1");
            stk_status status = use(&error);
            while (status == STK_OK && gpu.calls(calls[c], FAKE_ANY) <= at)
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
    gpu_fault("cuMemGetInfo_v2", 0, "fail 1");
    assert_int_equal(stk__engine_measure(engine).free_bytes, -1);
    assert_true(stk__engine_measure(engine).free_bytes > 0);
}

static void engines_that_cannot_open(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__engine *none;
    const stk__engine_options options = {.name = "torch", .device = "cuda:0"};
    gpu_fault("cuInit", 0, "fail 100");
    assert_int_equal(stk__engine_open(&none, &options, &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "run.device = 'cuda:0' cannot be used: no NVIDIA GPU"));
    gpu_fault("cuDevicePrimaryCtxRetain", 0, "fail 2");
    assert_int_equal(stk__engine_open(&none, &options, &error), STK_ERROR_MEMORY);
    const stk__engine_options far = {.name = "torch", .device = "cuda:5"};
    assert_int_equal(stk__engine_open(&none, &far, &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "the driver lists only 1 GPU"));
}

/* The same calls on the host. */
static void expect_host(stk__engine *host)
{
    stk__arena *memory;
    stk__tensor *tensor;
    stk_tensor view;
    void *stream;
    gpu_make(host, &memory, &tensor, 1);
    assert_int_equal(stk__tensor_map(tensor, &view, NULL), STK_OK);
    assert_ptr_equal(view.data, tensor->memory);
    assert_int_equal(stk__tensor_unmap(tensor, &view, true, NULL), STK_OK);
    assert_int_equal(stk__tensor_map_new(tensor, &view, NULL), STK_OK);
    assert_int_equal(stk__engine_sync(host, NULL), STK_OK);
    stk__engine_mark(host);
    assert_false(stk__engine_is_busy(host) || stk__engine_stream(host, &stream));
    assert_int_equal(stk__engine_measure(host).free_bytes, -1);
    gpu_drop(&memory, &tensor, 1);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in && out);
    for (size_t size; (size = fread(bytes, 1, sizeof bytes, in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, size, out), size);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Libraries of the right names that are no PyTorch. */
static void a_pytorch_without_our_calls(void **state)
{
    (void)state;
    char folder[] = "/tmp/stoker-torch-XXXXXX", paths[2][64];
    stk__torch_api elsewhere = *stk__torch_of(engine)->api;
    stk__torch_cuda_api calls;
    stk_error error = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(paths[0], sizeof paths[0], "%s/libtorch_cpu.so", folder);
    snprintf(paths[1], sizeof paths[1], "%s/libtorch_cuda.so", folder);
    for (int i = 0; i < 2; i++)
        copy_file(getenv("STOKER_CUDA_LIBRARY"), paths[i]);
    void *library = dlopen(paths[0], RTLD_NOW | RTLD_LOCAL), *symbol = dlsym(library, "fake_cuda_count");
    assert_non_null(symbol);
    memcpy(&elsewhere.aoti_torch_abi_version, &symbol, sizeof symbol);
    assert_true(stk__torch_cuda_is_built(&elsewhere));
    assert_int_equal(stk__torch_cuda_api_open(&calls, &elsewhere, &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "lacks 'aoti_torch_get_current_cuda_stream'"));
    assert_true(error.hint[0] != 0);
    for (int i = 0; i < 2; i++)
        unlink(paths[i]);
    rmdir(folder);
}

static char warning[400];

static void keep_warning(void *context, stk_log_level level, const char *line)
{
    (void)context;
    if (level == STK_LOG_WARNING) snprintf(warning, sizeof warning, "%s", line);
}

/* Nobody asked for the GPU, but it is here: it is told why the CPU computes. */
static void expect_passed_over(const char *name, const char *why)
{
    stk__engine *none;
    warning[0] = '\0';
    stk_log_set(keep_warning, NULL, STK_LOG_WARNING);
    assert_int_equal(stk__engine_open(&none, &(stk__engine_options){.name = name}, NULL), STK_OK);
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    assert_int_equal(none->info.device, STK_DEVICE_CPU);
    assert_non_null(strstr(none->info.gpu_why, why));
    assert_non_null(strstr(warning, "training on the CPU, not on the GPU: "));
    assert_non_null(strstr(warning, why));
    stk__engine_close(&none);
}

/* With "auto": PyTorch cannot use it, its driver does not start; or there is none, of which nobody speaks. */
static void gpus_that_are_passed_over_are_told(void **state)
{
    (void)state;
    stk__engine *none;
    const char *stream = getenv("STOKER_FAKE_TORCH_STREAM");
    setenv("STOKER_FAKE_TORCH_STREAM", "none", 1);
    expect_passed_over("torch", "PyTorch cannot use the GPU: there is no stream");
    expect_passed_over("auto", "PyTorch cannot use the GPU: there is no stream");
    setenv("STOKER_FAKE_TORCH_STREAM", stream ? stream : "default", 1);
    gpu_fault("cuInit", 1, "fail 803");
    gpu_fault("cuInit", 2, "fail 803");
    expect_passed_over("auto", "cuInit failed");
    warning[0] = '\0';
    stk_log_set(keep_warning, NULL, STK_LOG_WARNING);
    gpu_fault("cuInit", 1, "fail 100");
    gpu_fault("cuInit", 2, "fail 100");
    assert_int_equal(stk__engine_open(&none, &(stk__engine_options){.name = "auto"}, NULL), STK_OK);
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    assert_int_equal(none->info.device, STK_DEVICE_CPU);
    assert_string_equal(none->info.gpu_why, "");
    assert_string_equal(warning, "");
    stk__engine_close(&none);
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
    assert_non_null(strstr(none->info.gpu_why, "PyTorch cannot use the GPU"));
    expect_host(none);
    stk__engine_close(&none);
    setenv("STOKER_FAKE_TORCH_STREAM", stream ? stream : "default", 1);
    assert_int_equal(stk__engine_open(&none, &(stk__engine_options){.name = "auto"}, &error), STK_OK);
    assert_int_equal(none->info.device, STK_DEVICE_CUDA);
    stk__engine_close(&none);
    assert_int_equal(
        stk__engine_open(&none, &(stk__engine_options){.name = "torch", .device = "tpu"}, &error),
        STK_ERROR_CONFIG);
    memcpy(&elsewhere.aoti_torch_abi_version, &symbol, sizeof symbol);
    stk__torch_device device;
    assert_int_equal(stk__torch_device_open(&elsewhere, "cuda:0", &device, &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "was built without CUDA"));
    assert_int_equal(stk__torch_cuda_api_open(&calls, &elsewhere, &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "cannot load libtorch_cuda.so of PyTorch: "));
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

static int tell_little(size_t *there, size_t *total)
{
    *there = 1 << 20;
    *total = 1 << 30;
    return CUDA_SUCCESS;
}

/* Before 2.13 PyTorch fails without a text: what the GPU has left is looked at. */
static void memory_runs_out_in_old_versions(void **state)
{
    (void)state;
    stk__torch_api *api = (stk__torch_api *)stk__torch_of(engine)->api; /* nobody else has an engine */
    const char *(*const kept)(void) = api->last_error;
    stk__arena *large = NULL;
    stk_error error = {0};
    api->last_error = NULL;
    assert_int_equal(stk__arena_create(engine, (size_t)1 << 40, &large, &error), STK_ERROR_MEMORY);
    stk__torch_scope s = stk__torch_begin(engine, &error);
    assert_false(stk__torch_went_well(&s, 1, "aten::convolution"));
    assert_int_equal(stk__torch_end(&s), STK_ERROR_UNSUPPORTED); /* there is room */
    stk__cuda_api full = *cuda->driver.api;
    const stk__cuda_api *driver = cuda->driver.api;
    full.cuMemGetInfo_v2 = tell_little;
    cuda->driver.api = &full;
    s = stk__torch_begin(engine, &error);
    assert_false(stk__torch_went_well(&s, 1, "aten::convolution"));
    assert_int_equal(stk__torch_end(&s), STK_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "out of memory"));
    cuda->driver.api = driver;
    api->last_error = kept;
}

/* The last test: nothing works after it. */
static void a_lost_context_is_told(void **state)
{
    (void)state;
    stk_error error = {0};
    float numbers[COUNT] = {0};
    assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
    gpu_fault("cuEventQuery", 0, "lose 719");
    assert_int_not_equal(stk__tensor_read(tensors[0], numbers, sizeof numbers, &error), STK_OK);
    assert_non_null(strstr(error.hint, "newest checkpoint"));
    assert_int_not_equal(stk__tensor_write(tensors[0], numbers, sizeof numbers, &error), STK_OK);
    assert_int_not_equal(stk__tensor_zero(tensors[0], &error), STK_OK);
    assert_int_equal(stk__engine_measure(engine).free_bytes, -1);
}

int main(int argc, char **argv)
{
    int status;
    engine = gpu_engine_open("cuda:0", &status);
    if (!engine) return status;
    gpu_find_all();
    cuda = gpu_of(engine);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_ends),
        cmocka_unit_test(a_pytorch_without_our_calls),
        cmocka_unit_test(gpus_that_are_passed_over_are_told),
        cmocka_unit_test(it_says_where_it_is),
        cmocka_unit_test(tf32_is_as_asked_for),
        cmocka_unit_test(algorithms_are_as_asked_for),
        cmocka_unit_test(copies_are_in_order),
        cmocka_unit_test(all_tensors_take_one_operator),
        cmocka_unit_test(many_maps),
        cmocka_unit_test(all_stages_fly),
        cmocka_unit_test(failing_calls_are_told),
        cmocka_unit_test(memory_may_be_unknown),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(memory_runs_out_in_old_versions),
        cmocka_unit_test(engines_that_cannot_open),
    };
    const struct CMUnitTest last[] = {cmocka_unit_test(a_lost_context_is_told)};
    if (argc > 1 && strcmp(argv[1], "lost") == 0) return cmocka_run_group_tests(last, set_up, leave);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
