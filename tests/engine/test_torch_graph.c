/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs of the engine torch: on the fake PyTorch, which computes (on_fake_gpu.py starts it), and with
 * the argument "dry" on PyTorch's own CUDA library, whose exceptions must come back as errors. */
#include "gpu_engine.h"

enum { X, Y, TENSORS };

static bool dry;
static stk__engine *engine;
static stk__arena *arena;
static stk__tensor *tensors[TENSORS];

static stk__engine *open_engine(bool graphs)
{
    stk_error error = {0};
    stk__engine *made;
    const stk__engine_options options = {.name = "torch", .device = "cuda:0", .threads = 1, .graphs = graphs};
    if (stk__engine_open(&made, &options, &error) != STK_OK) fprintf(stderr, "%s\n", error.message);
    return made;
}

static void fill(stk__tensor *tensor, float value)
{
    stk_tensor view;
    assert_int_equal(stk__tensor_map_new(tensor, &view, NULL), STK_OK);
    for (int i = 0; i < GPU_COUNT; i++)
        ((float *)view.data)[i] = value;
    assert_int_equal(stk__tensor_unmap(tensor, &view, true, NULL), STK_OK);
}

static void expect(stk__tensor *tensor, float value)
{
    stk_tensor view;
    assert_int_equal(stk__tensor_map(tensor, &view, NULL), STK_OK);
    for (int i = 0; i < GPU_COUNT && !dry; i++)
        assert_float_equal(((const float *)view.data)[i], value, 0);
    assert_int_equal(stk__tensor_unmap(tensor, &view, false, NULL), STK_OK);
}

static int set_up(void **state)
{
    (void)state;
    engine = open_engine(true);
    if (!engine) return 1;
    gpu_make(engine, &arena, tensors, TENSORS);
    fill(tensors[X], 1);
    fill(tensors[Y], 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpu_drop(&arena, tensors, TENSORS);
    stk__engine_close(&engine);
    if (!dry) gpu_expect_nothing_left();
    if (!dry) assert_int_equal(gpu.torch("graphs"), 0);
    return 0;
}

static void work_is_done_when_it_is_launched(void **state)
{
    (void)state;
    stk__graph *graph, *other;
    void *stream;
    assert_true(stk__engine_describe(engine)->graphs);
    assert_true(stk__engine_stream(engine, &stream) && stream); /* the default one cannot be captured */
    assert_int_equal(stk__graph_begin(engine, NULL), STK_OK);
    assert_int_equal(stk__tensor_add(tensors[Y], tensors[X], NULL), STK_OK);
    assert_int_equal(stk__graph_end(engine, &graph, NULL), STK_OK);
    expect(tensors[Y], 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(stk__graph_launch(graph, NULL), STK_OK);
    expect(tensors[Y], 3);
    fill(tensors[X], 10); /* what is there at the launch counts */
    assert_int_equal(stk__graph_begin(engine, NULL), STK_OK);
    assert_int_equal(stk__tensor_copy(tensors[X], tensors[Y], NULL), STK_OK);
    assert_int_equal(stk__graph_end(engine, &other, NULL), STK_OK);
    assert_int_equal(stk__graph_launch(graph, NULL), STK_OK);
    assert_int_equal(stk__graph_launch(other, NULL), STK_OK);
    expect(tensors[Y], 13);
    expect(tensors[X], 13);
    assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
    stk__graph_destroy(&graph);
    stk__graph_destroy(&other);
    assert_int_equal(stk__graph_begin(engine, NULL),
                     STK_OK); /* their memory pool went with the last of them */
    assert_int_equal(stk__graph_end(engine, &graph, NULL), STK_OK);
    stk__graph_destroy(&graph);
    assert_null(graph);
}

/* Its memory would be read and written at every launch, whatever it holds then. */
static void the_host_takes_no_part(void **state)
{
    (void)state;
    stk_error error = {0};
    stk_tensor view;
    stk__graph *graph;
    assert_int_equal(stk__graph_begin(engine, NULL), STK_OK);
    assert_int_equal(stk__tensor_map(tensors[X], &view, &error), STK_ERROR_UNSUPPORTED);
    assert_int_equal(stk__tensor_map_new(tensors[X], &view, &error), STK_ERROR_UNSUPPORTED);
    assert_int_equal(stk__engine_sync(engine, &error), STK_ERROR_UNSUPPORTED);
    stk__engine_mark(engine);
    assert_false(stk__engine_is_busy(engine));
    assert_int_equal(stk__graph_end(engine, &graph, NULL), STK_OK);
    stk__graph_destroy(&graph);
    expect(tensors[X], 1); /* and it does again */
}

static void exceptions_are_errors(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__torch_cuda *cuda = gpu_of(engine);
    void *stream = cuda->driver.stream;
    assert_int_equal(cuda->api.graphs.set_stream(NULL, 0), 0); /* behind the engine's back */
    assert_int_equal(stk__graph_begin(engine, &error), STK_ERROR_UNSUPPORTED);
    if (stk__torch_of(engine)->api->last_error) /* since 2.13 */
        assert_non_null(strstr(error.message, "non-default stream"));
    assert_null(cuda->capturing);
    assert_int_equal(cuda->api.graphs.set_stream(stream, 0), 0);
    expect(tensors[X], 1);
}

static void an_engine_says_what_is_missing(void **state)
{
    (void)state;
    stk__engine_info info = {0};
    stk__engine *plain = open_engine(false);
    void *stream;
    assert_false(stk__engine_describe(plain)->graphs);
    stk__torch_cuda *cuda = gpu_of(plain);
    cuda->api.graphs.missing = "_ZN2at4cuda9CUDAGraph6replayEv";
    stk__torch_cuda_use_graphs(cuda, &info);
    assert_false(info.graphs);
    assert_string_equal(info.graphs_why, "this PyTorch lacks '_ZN2at4cuda9CUDAGraph6replayEv'");
    stk__engine_close(&plain);
    stk__engine_close(&engine); /* with graphs: who comes next finds PyTorch's default stream */
    plain = open_engine(false);
    assert_true(stk__engine_stream(plain, &stream) && !stream);
    stk__engine_close(&plain);
    engine = open_engine(true);
}

static int close_before(void **state)
{
    const int failed = set_up(state);
    if (!failed) gpu_drop(&arena, tensors, TENSORS);
    return failed;
}

static int close_after(void **state)
{
    (void)state;
    stk__engine_close(&engine);
    return 0;
}

int main(int argc, char **argv)
{
    dry = argc > 1 && strcmp(argv[1], "dry") == 0;
    engine = open_engine(true);
    if (!engine) return getenv("STOKER_FAKE_TORCH_REAL") || dry ? 1 : GPU_SKIPPED;
    stk__engine_close(&engine);
    if (!dry) gpu_find_all();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(work_is_done_when_it_is_launched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_host_takes_no_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exceptions_are_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_engine_says_what_is_missing, close_before, close_after),
    };
    return cmocka_run_group_tests_name("torch_graph", tests, NULL, NULL);
}
