/* SPDX-License-Identifier: Apache-2.0 */
/* A process that computes with PyTorch on the CPU first and on a GPU later: PyTorch looks for its CUDA part
 * once, when it first needs to know, and never again. Runs on the fake GPU, and with PyTorch's own CUDA part
 * on a runtime that launches nothing. */
#include "gpu_engine.h"

static void compute(stk__engine *engine)
{
    const stk__op_spec spec = {.kind = STK_OP_CONV,
                               .inputs = 1,
                               .input = {{4, {1, 8, 8, 3}}},
                               .channels = 4,
                               .kernel = {3, 3},
                               .no_bias = true};
    stk__op *op;
    stk__arena *arena;
    stk__tensor *x, *y, *weight;
    assert_int_equal(stk__op_create(engine, &spec, &op, NULL), STK_OK);
    assert_int_equal(stk__arena_create(engine, 1 << 16, &arena, NULL), STK_OK);
    const stk__tensor_desc in = {.shape = spec.input[0], .dtype = STK_DTYPE_F32},
                           out = {.shape = op->form.output, .dtype = STK_DTYPE_F32},
                           learnt = stk__param_desc(engine, &op->form.param[0]);
    assert_int_equal(stk__tensor_create(engine, &in, arena, 0, &x, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(engine, &out, arena, 1 << 14, &y, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(engine, &learnt, arena, 1 << 15, &weight, NULL), STK_OK);
    const stk__op_io io = {.x = &x, .y = y, .param = &weight, .training = true};
    assert_int_equal(stk__op_forward(op, &io, NULL), STK_OK);
    assert_int_equal(stk__engine_sync(engine, NULL), STK_OK);
    stk__tensor_destroy(&weight);
    stk__tensor_destroy(&y);
    stk__tensor_destroy(&x);
    stk__arena_destroy(&arena);
    stk__op_destroy(&op);
}

static void a_gpu_after_the_cpu(void **state)
{
    (void)state;
    static const char *const devices[] = {"cpu", "cuda:0", "cpu", "cuda:0"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        stk_error error = {0};
        stk__engine *engine;
        const stk__engine_options options = {.name = "torch", .device = devices[i], .threads = 1};
        if (stk__engine_open(&engine, &options, &error) != STK_OK) fail_msg("%s", error.message);
        compute(engine);
        stk__engine_close(&engine);
    }
}

int main(void)
{
    stk__engine *engine;
    if (stk__engine_open(&engine, &(stk__engine_options){.name = "torch", .device = "cpu"}, NULL) != STK_OK)
        return GPU_SKIPPED;
    stk__engine_close(&engine);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_gpu_after_the_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
