/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom in the CUDA file of the engine torch. Each test needs one kind of wait.
 *
 *   test_torch_waits [--sites | --skip N]
 *
 * --sites prints the numbers of the places that wait, --skip leaves out one: then some test must fail. */
#include "gpu_engine.h"

enum { TENSORS = 3 };

static stk__engine *engine;
static stk__torch_cuda *cuda;
static stk__arena *arena;
static stk__tensor *tensors[TENSORS];
static float numbers[GPU_COUNT], back[GPU_COUNT];

static stk_status write_all(int tensor, float value)
{
    for (int i = 0; i < GPU_COUNT; i++)
        numbers[i] = value + (float)i;
    return stk__tensor_write(tensors[tensor], numbers, sizeof numbers, NULL);
}

static bool is_all(float value)
{
    for (int i = 0; i < GPU_COUNT; i++)
        if (back[i] != value + (float)i) return false;
    return true;
}

static void settle(void)
{
    assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
}

static void what_is_read_is_there(void **state)
{
    (void)state;
    assert_int_equal(write_all(0, 1), STK_OK);
    settle();
    gpu_fault("copy_out", 0, "hang 0.1");
    assert_int_equal(stk__tensor_read(tensors[0], back, sizeof back, NULL), STK_OK);
    assert_true(is_all(1));
}

/* Begun, overtaken by other work, asked, and only then waited for. */
static void what_was_begun_comes_later(void **state)
{
    (void)state;
    stk__fetch fetch = {0};
    bool there = true;
    assert_int_equal(write_all(0, 1), STK_OK);
    settle();
    gpu_fault("copy_out", 0, "hang 0.2");
    const long waits = cuda->waits;
    assert_int_equal(stk__fetch_begin(&fetch, tensors[0], back, sizeof back, NULL), STK_OK);
    assert_int_equal(stk__fetch_ask(&fetch, &there, NULL), STK_OK);
    assert_false(there);
    assert_int_equal(write_all(0, 2), STK_OK); /* it has been copied before */
    assert_int_equal(cuda->waits, waits);
    assert_int_equal(stk__fetch_finish(&fetch, NULL), STK_OK);
    assert_int_equal(cuda->waits, waits + 1);
    assert_true(is_all(1));
    assert_int_equal(stk__fetch_finish(&fetch, NULL), STK_OK); /* once more: nothing is on its way */
    assert_int_equal(stk__fetch_begin(&fetch, tensors[0], back, sizeof back, NULL), STK_OK);
    settle();
    assert_int_equal(stk__fetch_ask(&fetch, &there, NULL), STK_OK);
    assert_true(there);
    const long now = cuda->waits;
    assert_int_equal(stk__fetch_finish(&fetch, NULL), STK_OK); /* who was told does not wait */
    assert_int_equal(cuda->waits, now);
    assert_true(is_all(2));
}

/* Only after the copy that reads it. */
static void pinned_memory_is_written_again(void **state)
{
    (void)state;
    gpu_fault("copy_in", 0, "hang 0.1");
    assert_int_equal(write_all(0, 1), STK_OK);
    assert_int_equal(write_all(1, 5), STK_OK);
    settle();
    assert_int_equal(stk__tensor_read(tensors[0], back, sizeof back, NULL), STK_OK);
    assert_true(is_all(1));
    assert_int_equal(stk__tensor_read(tensors[1], back, sizeof back, NULL), STK_OK);
    assert_true(is_all(5));
}

static void a_sync_is_the_end_of_all(void **state)
{
    (void)state;
    gpu_fault("copy_in", 0, "hang 0.1");
    assert_int_equal(write_all(0, 1), STK_OK);
    stk__engine_mark(engine);
    assert_true(stk__engine_is_busy(engine));
    settle();
    assert_int_equal(gpu.driver("work"), 0);
    assert_false(stk__engine_is_busy(engine));
}

/* The copy was begun, and then something failed: it is over when that is told. */
static void a_failed_copy_leaves_nothing_under_way(void **state)
{
    (void)state;
    stk_error error = {0};
    settle();
    gpu_fault("copy_out", 0, "hang 0.1");
    gpu_fault("cuEventRecord", 0, "fail 1");
    assert_int_not_equal(stk__tensor_read(tensors[0], back, sizeof back, &error), STK_OK);
    assert_non_null(strstr(error.message, "cuEventRecord"));
    assert_int_equal(gpu.driver("work"), 0);
    gpu_fault("copy_in", 0, "hang 0.1");
    gpu_fault("cuEventRecord", 0, "fail 1");
    assert_int_not_equal(write_all(0, 1), STK_OK);
    assert_int_equal(gpu.driver("work"), 0);
}

/* By itself: PyTorch's tensors, which go before an engine does, would wait in its place. */
static void closing_waits_for_copies(void **state)
{
    (void)state;
    stk__torch_cuda *own;
    assert_int_equal(stk__torch_cuda_open(&own, stk__torch_of(engine)->api, 0, NULL), STK_OK);
    stk_tensor view = {.dtype = STK_DTYPE_F32, .ndim = 1, .shape = {GPU_COUNT}, .strides = {1}};
    assert_int_equal(stk__torch_cuda_map_new(own, &view, NULL), STK_OK);
    memset(view.data, 0, sizeof numbers);
    gpu_fault("copy_in", 0, "hang 0.1");
    assert_int_equal(stk__torch_cuda_unmap(own, tensors[2], &view, true, NULL), STK_OK);
    stk__torch_cuda_close(&own);
    assert_int_equal(gpu.driver("work"), 0);
    assert_int_equal(gpu.driver("misuses"), 0);
}

static int set_up(void **state)
{
    (void)state;
    gpu_make(engine, &arena, tensors, TENSORS);
    cuda = gpu_of(engine);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpu_drop(&arena, tensors, TENSORS);
    stk__engine_close(&engine);
    gpu_expect_nothing_left();
    return 0;
}

static bool lists_sites(int count, char **words)
{
    const bool lists = count == 2 && strcmp(words[1], "--sites") == 0;
    if (lists) printf("%d\n", STK_CUDA_WAIT_DRAIN); /* of the device's, the one that it shares */
    for (int site = STK_CUDA_ENGINE_SITES; lists && site < STK_CUDA_WAIT_SITES; site++)
        printf("%d\n", site);
    return lists;
}

int main(int count, char **words)
{
    int status;
    if (lists_sites(count, words)) return 0;
    engine = gpu_engine_open("cuda:0", &status);
    if (!engine) return status;
    gpu_find_all();
    if (count == 3 && strcmp(words[1], "--skip") == 0) stk__cuda_wait_skip = atoi(words[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_there),
        cmocka_unit_test(what_was_begun_comes_later),
        cmocka_unit_test(pinned_memory_is_written_again),
        cmocka_unit_test(a_sync_is_the_end_of_all),
        cmocka_unit_test(a_failed_copy_leaves_nothing_under_way),
        cmocka_unit_test(closing_waits_for_copies),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
