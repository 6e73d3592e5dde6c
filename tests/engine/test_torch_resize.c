/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of ours that PyTorch sees as a tensor on a GPU is not resized: an operator whose output has too few
 * values is refused, by PyTorch's own CUDA library (tests/fake/cudart) and by the fake one (tests/fake/torch)
 * alike. */
#include "engine/torch/torch_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SKIPPED = 77, VALUES = 12 };

static stk__engine *engine;

/* sigmoid of VALUES values into so many. */
static stk_status run_sigmoid(int64_t count, stk_error *error)
{
    const stk__tensor_desc x = {.shape = {1, {VALUES}}, .dtype = STK_DTYPE_F32},
                           y = {.shape = {1, {count}}, .dtype = STK_DTYPE_F32};
    const size_t behind = stk__tensor_size(engine, &x);
    stk__arena *arena;
    stk__tensor *from, *to;
    assert_int_equal(stk__arena_create(engine, behind + stk__tensor_size(engine, &y), &arena, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(engine, &x, arena, 0, &from, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(engine, &y, arena, behind, &to, NULL), STK_OK);
    stk__torch_scope s = stk__torch_begin(engine, error);
    STK_TORCH_RUN(&s, "aten::sigmoid", "out", STK_TORCH_T(stk__torch_dense(&s, from)),
                  STK_TORCH_T(stk__torch_dense(&s, to)));
    const stk_status status = stk__torch_end(&s);
    stk__tensor_destroy(&to);
    stk__tensor_destroy(&from);
    stk__arena_destroy(&arena);
    return status;
}

static void memory_of_ours_is_not_resized(void **state)
{
    stk_error error = {0};
    (void)state;
    assert_int_equal(run_sigmoid(VALUES, &error), STK_OK);
    assert_int_not_equal(run_sigmoid(VALUES - 1, &error), STK_OK);
    if (stk__torch_of(engine)->api->last_error) /* before 2.13 PyTorch tells nobody but standard error */
        assert_non_null(strstr(error.message, "not resizable"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_of_ours_is_not_resized)};
    stk_error error = {0};
    if (stk__engine_open(&engine, &(stk__engine_options){.name = "torch", .device = "cuda:0"}, &error) !=
        STK_OK) {
        fprintf(stderr, "skipped: %s\n", error.message);
        return SKIPPED;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__engine_close(&engine);
    return failed;
}
