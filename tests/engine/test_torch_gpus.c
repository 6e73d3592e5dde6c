/* SPDX-License-Identifier: Apache-2.0 */
/* The engine torch on several GPUs of different kinds in one process, and calls of the driver that fail only
 * while an engine is new. Started by on_fake_gpu.py with GPUs of sm_80, sm_75 and sm_61. */
#include "gpu_engine.h"

enum { GPUS = 3, TENSORS = 2 };

static stk__engine *engines[GPUS];
static stk__arena *arenas[GPUS];
static stk__tensor *tensors[GPUS][TENSORS];
static float numbers[GPU_COUNT], back[GPU_COUNT];

static stk__engine *open_another(const char *device)
{
    int status;
    stk__engine *engine = gpu_engine_open(device, &status);
    assert_non_null(engine);
    return engine;
}

static void each_says_what_it_gains_by_16_bits(void **state)
{
    (void)state;
    static const struct {
        stk__half_support bf16, f16;
        const char *why;
    } right[GPUS] = {{STK_HALF_FAST, STK_HALF_FAST, NULL},
                     {STK_HALF_NATIVE, STK_HALF_FAST, "(sm_75) is fast in fp16"},
                     {STK_HALF_NATIVE, STK_HALF_NATIVE, "(sm_61) is not faster with fp16 or bf16"}};
    for (int i = 0; i < GPUS; i++) {
        const stk__engine_info *info = stk__engine_describe(engines[i]);
        assert_int_equal(info->device_index, i);
        assert_int_equal(info->bf16, right[i].bf16);
        assert_int_equal(info->f16, right[i].f16);
        assert_int_equal(info->tf32, i == 0); /* no sm below 80 has it */
        if (!right[i].why) assert_null(info->half_why);
        if (right[i].why) assert_non_null(strstr(info->half_why, right[i].why));
    }
}

/* Each in its own memory, on its own stream; what one does is not seen by the others. */
static void all_compute_side_by_side(void **state)
{
    (void)state;
    void *stream[GPUS];
    assert_null(gpu.add_lines("late 3000\n"));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < GPUS; i++) {
            for (int k = 0; k < GPU_COUNT; k++)
                numbers[k] = (float)(k * (i + 1) + round);
            assert_int_equal(stk__tensor_write(tensors[i][1], numbers, sizeof numbers, NULL), STK_OK);
            assert_int_equal(stk__tensor_add(tensors[i][0], tensors[i][1], NULL), STK_OK);
        }
    for (int i = 0; i < GPUS; i++) {
        assert_int_equal(stk__tensor_read(tensors[i][0], back, sizeof back, NULL), STK_OK);
        for (int k = 0; k < GPU_COUNT; k++)
            assert_true(back[k] == (float)(3 * k * (i + 1) + 3));
        assert_true(stk__engine_stream(engines[i], &stream[i]));
        assert_true(gpu.calls("cuMemAlloc_v2", i) > 0 && gpu.calls("copy_in", i) == 3);
        assert_true(gpu.calls("copy_out", i) == 1);
        for (int other = 0; other < i; other++)
            assert_true(stream[i] != stream[other]);
        assert_int_equal(stk__engine_sync(engines[i], NULL), STK_OK);
    }
    assert_null(gpu.add_lines("late 0\n"));
}

/* A second engine on the same GPU goes, and the first has all it had. */
static void one_may_be_closed(void **state)
{
    (void)state;
    stk__engine *more = open_another("cuda:1");
    stk__arena *arena;
    stk__tensor *tensor;
    gpu_make(more, &arena, &tensor, 1);
    assert_int_equal(stk__tensor_write(tensor, numbers, sizeof numbers, NULL), STK_OK);
    gpu_drop(&arena, &tensor, 1);
    stk__engine_close(&more);
    assert_int_equal(stk__tensor_copy(tensors[1][1], tensors[1][0], NULL), STK_OK);
    assert_int_equal(stk__tensor_read(tensors[1][1], back, sizeof back, NULL), STK_OK);
    assert_true(back[1] == 9);
}

static void memory_of_another_gpu_is_refused(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__tensor *wrapped;
    const stk_tensor memory = {.data = tensors[0][0]->memory,
                               .device = STK_DEVICE_CUDA,
                               .dtype = STK_DTYPE_F32,
                               .ndim = 1,
                               .shape = {GPU_COUNT}};
    assert_int_equal(stk__tensor_wrap(engines[1], &memory, &wrapped, NULL), STK_OK);
    assert_int_not_equal(stk__tensor_add(tensors[1][0], wrapped, &error), STK_OK);
    assert_non_null(strstr(error.message, "memory of another GPU"));
    stk__tensor_destroy(&wrapped);
}

/* The first use of an engine makes its events. */
static void events_that_cannot_be_made_are_told(void **state)
{
    (void)state;
    stk__engine *new = open_another("cuda:1");
    stk__arena *arena;
    stk__tensor *tensor;
    stk_error error = {0};
    stk__fetch fetch = {0};
    gpu_make(new, &arena, &tensor, 1);
    gpu_fault("cuEventCreate", 0, "fail 2");
    assert_int_equal(stk__fetch_begin(&fetch, tensor, back, sizeof back, &error), STK_ERROR_MEMORY);
    assert_true(strstr(error.message, "cuEventCreate") && error.hint[0]);
    assert_null(fetch.tensor);
    assert_int_equal(stk__tensor_write(tensor, numbers, sizeof numbers, NULL), STK_OK);
    gpu_fault("cuEventCreate", 0, "fail 2");
    stk__engine_mark(new); /* tells nobody */
    assert_false(stk__engine_is_busy(new));
    stk__engine_mark(new);
    assert_int_equal(stk__engine_sync(new, NULL), STK_OK);
    assert_false(stk__engine_is_busy(new));
    gpu_drop(&arena, &tensor, 1);
    stk__engine_close(&new);
}

/* A larger tensor wants larger pinned memory: that the old one cannot be given back is told. At the end
 * nobody is left to tell. */
static void pinned_memory_that_cannot_be_given_back(void **state)
{
    (void)state;
    stk__engine *new = open_another("cuda:2");
    const stk__tensor_desc desc = {.shape = {1, {8 * GPU_COUNT}}, .dtype = STK_DTYPE_F32};
    static float many[8 * GPU_COUNT];
    const int64_t before = gpu.driver("pinned");
    stk__arena *arena, *wide_arena;
    stk__tensor *tensor, *wide;
    stk_error error = {0};
    gpu_make(new, &arena, &tensor, 1);
    assert_int_equal(stk__arena_create(new, stk__tensor_size(new, &desc), &wide_arena, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(new, &desc, wide_arena, 0, &wide, NULL), STK_OK);
    assert_int_equal(stk__tensor_read(tensor, back, sizeof back, NULL), STK_OK);
    gpu_fault("cuMemFreeHost", 0, "fail 1");
    assert_int_not_equal(stk__tensor_write(wide, many, sizeof many, &error), STK_OK);
    assert_true(strstr(error.message, "cuMemFreeHost") && error.hint[0]);
    assert_int_equal(stk__tensor_write(wide, many, sizeof many, NULL), STK_OK);
    assert_int_equal(stk__tensor_read(wide, many, sizeof many, NULL), STK_OK);
    stk__tensor_destroy(&wide);
    stk__arena_destroy(&wide_arena);
    gpu_drop(&arena, &tensor, 1);
    gpu_fault("cuMemFreeHost", 0, "fail 1");
    stk__engine_close(&new);
    assert_int_equal(gpu.driver("pinned"), before);
}

/* What had been in flight when it failed, or was never begun. */
static void a_copy_that_cannot_be_begun_is_told(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuMemcpyDtoHAsync_v2", "cuEventRecord", "cuCtxPushCurrent_v2"};
    for (int c = 0; c < 3; c++) {
        stk__fetch fetch = {0};
        stk_error error = {0};
        gpu_fault(calls[c], 0, "fail 1");
        assert_int_not_equal(stk__fetch_begin(&fetch, tensors[0][0], back, sizeof back, &error), STK_OK);
        assert_true(error.message[0] && error.hint[0]);
        assert_null(fetch.tensor);
    }
    for (int c = 0; c < 2; c++) { /* asked, and waited for */
        stk__fetch fetch = {0};
        stk_error error = {0};
        bool there;
        assert_int_equal(stk__fetch_begin(&fetch, tensors[0][0], back, sizeof back, NULL), STK_OK);
        gpu_fault("cuCtxPushCurrent_v2", 0, "fail 1");
        assert_int_not_equal(c ? stk__fetch_finish(&fetch, &error) : stk__fetch_ask(&fetch, &there, &error),
                             STK_OK);
        assert_non_null(strstr(error.message, "cuCtxPushCurrent"));
        assert_int_equal(stk__fetch_finish(&fetch, NULL), STK_OK);
        gpu_fault("cuCtxPushCurrent_v2", 0, "fail 1");
        stk__engine_mark(engines[0]);
        assert_false(stk__engine_is_busy(engines[0]));
    }
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < GPUS; i++)
        gpu_make(engines[i], &arenas[i], tensors[i], TENSORS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < GPUS; i++) {
        gpu_drop(&arenas[i], tensors[i], TENSORS);
        stk__engine_close(&engines[i]);
    }
    gpu_expect_nothing_left();
    return 0;
}

int main(void)
{
    static const char *const names[GPUS] = {"cuda:0", "cuda:1", "cuda:2"};
    setenv("STOKER_FAKE_TORCH_STREAM", "own", 1); /* a default stream has the same name everywhere */
    for (int i = 0; i < GPUS; i++) {
        int status;
        engines[i] = gpu_engine_open(names[i], &status);
        if (!engines[i]) return status;
    }
    gpu_find_all();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_says_what_it_gains_by_16_bits),
        cmocka_unit_test(all_compute_side_by_side),
        cmocka_unit_test(one_may_be_closed),
        cmocka_unit_test(memory_of_another_gpu_is_refused),
        cmocka_unit_test(events_that_cannot_be_made_are_told),
        cmocka_unit_test(a_copy_that_cannot_be_begun_is_told),
        cmocka_unit_test(pinned_memory_that_cannot_be_given_back),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
