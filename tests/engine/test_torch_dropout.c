/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of the engine torch on a GPU (on_fake_gpu.py starts it): drawn there by the formula of all engines,
 * with nothing copied, in graphs too; and by the host where there are no kernels. */
#include "engine/dropout.h"
#include "gpu_engine.h"

enum { X, Y, IDS, SCRATCH, TENSORS, MOST_SAMPLES = 70000, LAYER = 3 };

typedef struct rig {
    stk__engine *engine;
    stk__op *op;
    stk__arena *arena;
    stk__tensor *tensors[TENSORS];
    int64_t samples, length;
    stk__op_io io;
} rig;

static int64_t ids[MOST_SAMPLES];

static void open_rig(rig *r, int64_t samples, int64_t length)
{
    const stk__engine_options options = {.name = "torch", .device = "cuda:0", .threads = 1, .graphs = true};
    const stk__op_spec spec = {
        .kind = STK_OP_DROPOUT, .input = {{2, {samples, length}}}, .drop = 0.3, .random_layer = LAYER};
    const stk__tensor_desc desc[TENSORS] = {[X] = {.shape = spec.input[0], .dtype = STK_DTYPE_F32},
                                            [Y] = {.shape = spec.input[0], .dtype = STK_DTYPE_F32},
                                            [IDS] = {.shape = {1, {samples}}, .dtype = STK_DTYPE_I64},
                                            [SCRATCH] = {.shape = spec.input[0], .dtype = STK_DTYPE_F32}};
    size_t at = 0, size = 0;
    *r = (rig){.samples = samples, .length = length};
    assert_int_equal(stk__engine_open(&r->engine, &options, NULL), STK_OK);
    assert_int_equal(stk__op_create(r->engine, &spec, &r->op, NULL), STK_OK);
    for (int i = 0; i < TENSORS; i++)
        size += stk__tensor_size(r->engine, &desc[i]);
    assert_int_equal(stk__arena_create(r->engine, size, &r->arena, NULL), STK_OK);
    for (int i = 0; i < TENSORS; i++) {
        assert_int_equal(stk__tensor_create(r->engine, &desc[i], r->arena, at, &r->tensors[i], NULL), STK_OK);
        at += stk__tensor_size(r->engine, &desc[i]);
    }
    r->io = (stk__op_io){.x = &r->tensors[X],
                         .y = r->tensors[Y],
                         .dx = &r->tensors[Y],
                         .dy = r->tensors[X],
                         .scratch = r->tensors[SCRATCH],
                         .training = true,
                         .seed = UINT64_C(0xfedcba9876543210),
                         .epoch = 7,
                         .sample_ids = r->tensors[IDS]};
    stk_tensor view;
    assert_int_equal(stk__tensor_map_new(r->tensors[X], &view, NULL), STK_OK);
    for (int64_t i = 0; i < samples * length; i++)
        ((float *)view.data)[i] = 1;
    assert_int_equal(stk__tensor_unmap(r->tensors[X], &view, true, NULL), STK_OK);
}

static void close_rig(rig *r)
{
    for (int i = 0; i < TENSORS; i++)
        stk__tensor_destroy(&r->tensors[i]);
    stk__op_destroy(&r->op);
    stk__arena_destroy(&r->arena);
    stk__engine_close(&r->engine);
    gpu_expect_nothing_left();
    assert_int_equal(gpu.driver("modules"), 0);
}

static void put_ids(const rig *r, int64_t first)
{
    for (int64_t i = 0; i < r->samples; i++)
        ids[i] = first + 5 * i;
    assert_int_equal(stk__tensor_write(r->tensors[IDS], ids, (size_t)r->samples * sizeof ids[0], NULL),
                     STK_OK);
}

/* y as the formula has it for the ids that were put last, and for this epoch. */
static void expect_draws(const rig *r, uint32_t epoch)
{
    const stk__dropout dropout = stk__dropout_make(0.3, r->io.seed, epoch, LAYER);
    stk_tensor view;
    assert_int_equal(stk__tensor_map(r->tensors[Y], &view, NULL), STK_OK);
    for (int64_t i = 0; i < r->samples * r->length; i++) {
        const int64_t element = i % r->length;
        const stk__random draw = stk__dropout_draw(&dropout, ids[i / r->length], (uint32_t)(element / 4));
        assert_float_equal(((const float *)view.data)[i],
                           stk__dropout_factor(&dropout, draw.word[element % 4]), 0);
    }
    assert_int_equal(stk__tensor_unmap(r->tensors[Y], &view, false, NULL), STK_OK);
}

static void it_is_drawn_on_the_gpu(void **state)
{
    (void)state;
    rig r;
    open_rig(&r, 3, 1021);
    assert_true(stk__engine_describe(r.engine)->draws);
    put_ids(&r, 40);
    assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
    expect_draws(&r, 7);
    const stk__torch_cuda *cuda = gpu_of(r.engine);
    const int64_t copies = gpu.driver("copies_in"), kernels = gpu.driver("kernels");
    const long waits = cuda->waits, fetches = cuda->fetches;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
        assert_int_equal(stk__op_backward(r.op, &r.io, NULL), STK_OK);
    }
    assert_int_equal(cuda->waits, waits);
    assert_int_equal(cuda->fetches, fetches);
    assert_int_equal(stk__engine_sync(r.engine, NULL), STK_OK);
    assert_int_equal(gpu.driver("copies_in"), copies);
    assert_int_equal(gpu.driver("kernels"), kernels + 8);
    expect_draws(&r, 7);
    r.io.epoch = 8; /* numbers are copied when they change */
    assert_int_equal(stk__op_backward(r.op, &r.io, NULL), STK_OK);
    expect_draws(&r, 8);
    assert_int_equal(gpu.driver("copies_in"), copies + 1);
    close_rig(&r);
}

static void what_fails_is_told_and_done_again(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuCtxPushCurrent_v2"};
    rig r;
    open_rig(&r, 3, 33);
    put_ids(&r, 2);
    for (uint32_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        stk_error error = {0};
        r.io.epoch = 20 + i;
        gpu_fault(calls[i], 0, "fail 1");
        assert_int_not_equal(stk__op_forward(r.op, &r.io, &error), STK_OK);
        assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
        expect_draws(&r, 20 + i);
    }
    close_rig(&r);
}

/* More samples than a launch has rows, and less than a draw each. */
static void all_samples_are_drawn(void **state)
{
    (void)state;
    rig r;
    open_rig(&r, MOST_SAMPLES, 3);
    put_ids(&r, INT64_C(0xfffffffe));
    assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
    expect_draws(&r, 7);
    close_rig(&r);
}

/* In graphs: with the ids of the launch, and with the epoch of the last pass without one. */
static void a_graph_draws_anew(void **state)
{
    (void)state;
    rig r;
    stk__graph *graph;
    open_rig(&r, 5, 77);
    assert_true(stk__engine_describe(r.engine)->graphs);
    put_ids(&r, 1);
    assert_int_equal(stk__graph_begin(r.engine, NULL), STK_OK); /* its numbers are not there yet */
    assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_ERROR_UNSUPPORTED);
    stk__graph_end(r.engine, &graph, NULL);
    stk__graph_destroy(&graph);
    assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
    assert_int_equal(stk__graph_begin(r.engine, NULL), STK_OK);
    assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
    assert_int_equal(stk__graph_end(r.engine, &graph, NULL), STK_OK);
    for (uint32_t epoch = 7; epoch < 10; epoch++) {
        r.io.epoch = epoch;
        assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
        put_ids(&r, 100 * epoch);
        assert_int_equal(stk__graph_launch(graph, NULL), STK_OK);
        expect_draws(&r, epoch);
    }
    assert_int_equal(stk__engine_sync(r.engine, NULL), STK_OK);
    stk__graph_destroy(&graph);
    close_rig(&r);
}

static void ids_may_lie_on_the_host(void **state)
{
    (void)state;
    rig r;
    stk__tensor *host;
    open_rig(&r, 4, 50);
    put_ids(&r, 9);
    const stk_tensor memory = {.data = ids, .dtype = STK_DTYPE_I64, .ndim = 1, .shape = {4}, .strides = {1}};
    assert_int_equal(stk__tensor_wrap(r.engine, &memory, &host, NULL), STK_OK);
    r.io.sample_ids = host;
    assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
    expect_draws(&r, 7);
    stk__tensor_destroy(&host);
    close_rig(&r);
}

static void without_kernels_the_host_draws(void **state)
{
    (void)state;
    rig r;
    while (gpu.driver("work") > 0)
        usleep(1000);
    assert_null(gpu.add_lines("fault cuModuleLoadData from 0 fail 218\n"));
    open_rig(&r, 3, 1021);
    assert_false(stk__engine_describe(r.engine)->draws);
    put_ids(&r, 40);
    assert_int_equal(stk__op_forward(r.op, &r.io, NULL), STK_OK);
    expect_draws(&r, 7);
    stk__graph *graph;
    stk_error error = {0};
    assert_int_equal(stk__graph_begin(r.engine, NULL), STK_OK);
    assert_int_equal(stk__op_forward(r.op, &r.io, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "the host takes part in it");
    stk__graph_end(r.engine, &graph, NULL);
    stk__graph_destroy(&graph);
    close_rig(&r);
}

int main(void)
{
    int status;
    if (!gpu_begin(&status)) return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_drawn_on_the_gpu),  cmocka_unit_test(all_samples_are_drawn),
        cmocka_unit_test(a_graph_draws_anew),      cmocka_unit_test(what_fails_is_told_and_done_again),
        cmocka_unit_test(ids_may_lie_on_the_host), cmocka_unit_test(without_kernels_the_host_draws),
    };
    return cmocka_run_group_tests_name("torch_dropout", tests, NULL, NULL);
}
