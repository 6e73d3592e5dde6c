/* SPDX-License-Identifier: Apache-2.0 */
/* The front of the engines: names, what fails when memory or an engine fails, and that nothing is lost then.
 */
#include "engine/engine.h"

#include "stoker/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

/* --- memory that runs out ------------------------------------------------------------------------------- */

typedef struct counter {
    long left; /* allocations that still succeed; negative: all */
    long alive;
} counter;

static bool take(counter *c)
{
    if (c->left == 0) return false;
    if (c->left > 0) c->left--;
    c->alive++;
    return true;
}

static void *count_alloc(void *context, size_t size_bytes)
{
    return take(context) ? aligned_alloc(64, (size_bytes + 63) / 64 * 64) : NULL;
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((counter *)context)->alive--;
    free(memory);
}

static void *count_map(void *context, size_t size_bytes)
{
    if (!take(context)) return NULL;
    return mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void count_unmap(void *context, void *memory, size_t size_bytes)
{
    ((counter *)context)->alive--;
    munmap(memory, size_bytes);
}

typedef struct things {
    stk__engine *engine;
    stk__arena *arena;
    stk__tensor *tensor, *wrapped;
    stk__op *op, *half;
} things;

static stk_status make_things(things *t, stk_error *error)
{
    static float memory[4];
    const stk__engine_options options = {.name = "reference"};
    const stk__tensor_desc desc = {.shape = {1, {4}}, .dtype = STK_DTYPE_F32};
    const stk_tensor foreign = {
        .data = memory, .dtype = STK_DTYPE_F32, .ndim = 1, .shape = {4}, .strides = {1}};
    const stk__op_spec spec = {.kind = STK_OP_RELU, .input = {{1, {4}}}};
    STK__TRY(stk__engine_open(&t->engine, &options, error));
    STK__TRY(stk__arena_create(t->engine, 0, &t->arena, error)); /* nothing to hold: still an arena */
    STK__TRY(stk__tensor_create(t->engine, &desc, t->arena, 0, &t->tensor, error));
    STK__TRY(stk__tensor_wrap(t->engine, &foreign, &t->wrapped, error));
    STK__TRY(stk__op_create(t->engine, &spec, &t->op, error));
    const stk__op_spec half = {.kind = STK_OP_RELU, .input = {{1, {4}}}, .half = STK_DTYPE_BF16};
    return stk__op_create(t->engine, &half, &t->half, error);
}

static void destroy_things(things *t)
{
    stk__op_destroy(&t->half);
    stk__op_destroy(&t->op);
    stk__tensor_destroy(&t->wrapped);
    stk__tensor_destroy(&t->tensor);
    stk__arena_destroy(&t->arena);
    stk__engine_close(&t->engine);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    counter c = {0};
    const stk_allocator hook = {count_alloc, count_release, count_map, count_unmap, &c};
    stk_status status = STK_ERROR_MEMORY;
    long n = 0;
    stk_allocator_set(&hook);
    for (; status != STK_OK && n < 100; n++) {
        stk_error error = {0};
        things t = {0};
        c.left = n;
        status = make_things(&t, n % 2 ? &error : NULL);
        destroy_things(&t);
        assert_int_equal(c.alive, 0);
        if (status == STK_OK) continue;
        assert_int_equal(status, STK_ERROR_MEMORY);
        if (n % 2) assert_true(error.code == STK_ERROR_MEMORY && error.message[0]);
    }
    stk_allocator_set(NULL);
    assert_int_equal(n,
                     10); /* engine, arena twice, two tensors, operation, widened operation: nine that fail */
}

/* --- names ------------------------------------------------------------------------------------------------
 */

static void unknown_names_are_refused(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__engine *engine = (stk__engine *)&error;
    assert_int_equal(stk__engine_open(&engine, &(stk__engine_options){.name = "onedn"}, &error),
                     STK_ERROR_CONFIG);
    assert_null(engine);
    assert_string_equal(error.message, "unknown engine 'onedn'");
    assert_non_null(strstr(error.hint, "reference"));
    assert_int_equal(stk__engine_open(&engine, &(stk__engine_options){.name = ""}, NULL), STK_ERROR_CONFIG);
}

static void names_are_listed_once(void **state)
{
    (void)state;
    int references = 0, count = 0;
    for (; stk__engine_names(count); count++)
        references += strcmp(stk__engine_names(count), "reference") == 0;
    assert_int_equal(references, 1);
    assert_null(stk__engine_names(-1));
    assert_null(stk__engine_names(count + 1));
}

/* Without a library for the best engine, "auto" takes the reference and says why. */
static void auto_takes_what_is_there(void **state)
{
    (void)state;
    stk_error why = {0}, error = {.code = STK_ERROR_IO};
    stk__engine *engine;
    assert_int_equal(setenv("STOKER_ONEDNN", "/nowhere/libdnnl.so", 1), 0);
    assert_int_equal(stk__engine_open(&engine, &(stk__engine_options){.name = "onednn"}, &why),
                     STK_ERROR_UNSUPPORTED);
    for (int i = 0; i < 3; i++) {
        const stk__engine_options options = {.name = i ? "auto" : NULL, .threads = 100000};
        assert_int_equal(stk__engine_open(&engine, &options, i == 2 ? NULL : &error), STK_OK);
        assert_int_equal(error.code, STK_OK);
        assert_string_equal(stk__engine_describe(engine)->name, "reference");
        assert_int_equal(strncmp(stk__engine_describe(engine)->note, why.message, 150), 0);
        assert_true(stk__engine_describe(engine)->note[0]);
        stk__engine_close(&engine);
        assert_null(engine);
    }
    stk__engine_close(&engine); /* accepts none */
    unsetenv("STOKER_ONEDNN");
}

/* --- an engine that fails ----------------------------------------------------------------------------------
 */

static stk_status fail_tensor(stk__tensor *tensor, stk_error *error)
{
    (void)tensor;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "no such tensor");
}

static stk_status fail_op(stk__op *op, stk_error *error)
{
    (void)op;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "no such operation");
}

static stk_status fail_map(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    (void)tensor, (void)view;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot be seen");
}

static stk_status fail_sync(stk__engine *engine, stk_error *error)
{
    (void)engine;
    return stk__fail(error, STK_ERROR_TIMEOUT, "never done");
}

/* The reference with one function in place of its own. */
static stk__engine_ops broken;
static stk__engine engine = {.ops = &broken};
static stk__arena *arena;
static const stk__tensor_desc four = {.shape = {1, {4}}, .dtype = STK_DTYPE_F32};

static int begin_whole(void **state)
{
    (void)state;
    broken = stk__engine_reference;
    return stk__arena_create(&engine, 4096, &arena, NULL) == STK_OK ? 0 : 1;
}

static int end_whole(void **state)
{
    (void)state;
    stk__arena_destroy(&arena);
    return 0;
}

static void failed_tensors_and_operations_leave_nothing(void **state)
{
    (void)state;
    stk__tensor *tensor = (stk__tensor *)&engine;
    stk__op *op = (stk__op *)&engine;
    stk_error error = {0};
    const stk__op_spec relu = {.kind = STK_OP_RELU, .input = {{1, {4}}}}, nonsense = {.kind = STK_OP_RELU};
    broken.tensor_create = fail_tensor;
    broken.op_create = fail_op;
    assert_int_equal(stk__tensor_create(&engine, &four, arena, 0, &tensor, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "no such tensor");
    assert_null(tensor);
    assert_int_equal(stk__op_create(&engine, &relu, &op, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "no such operation");
    assert_null(op);
    assert_int_equal(stk__op_create(&engine, &nonsense, &op, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, "its input is empty");
    stk__tensor_destroy(&tensor); /* both accept none */
    stk__op_destroy(&op);
}

/* Neither native nor widened: a clean word, whatever else the engine could do. */
static void tensors_of_16_bits_may_be_refused(void **state)
{
    (void)state;
    stk__op *op = (stk__op *)&engine;
    stk_error error = {0};
    stk__op_spec relu = {.kind = STK_OP_RELU, .input = {{1, {4}}}, .half = STK_DTYPE_F16};
    engine.info.name = "broken";
    assert_int_equal(stk__op_create(&engine, &relu, &op, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "engine broken does not support fp16 tensors");
    assert_non_null(strstr(error.hint, "train.amp=false"));
    assert_null(op);
    engine.info.f16 = STK_HALF_WIDENED; /* … of which the operation inside fails */
    broken.op_create = fail_op;
    assert_int_equal(stk__op_create(&engine, &relu, &op, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "no such operation");
    assert_null(op);
    relu.half = STK_DTYPE_BF16; /* the other type is another matter */
    assert_int_equal(stk__op_create(&engine, &relu, &op, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "engine broken does not support bf16 tensors");
    relu.half = STK_DTYPE_U8;
    assert_int_equal(stk__op_create(&engine, &relu, &op, &error), STK_ERROR_CONFIG);
    engine.info.f16 = STK_HALF_NONE;
}

static void failed_waits_are_forwarded(void **state)
{
    (void)state;
    stk__tensor *tensor;
    stk_tensor view;
    float values[4] = {0};
    assert_int_equal(stk__tensor_create(&engine, &four, arena, 0, &tensor, NULL), STK_OK);
    assert_int_equal(stk__engine_sync(&engine, NULL), STK_OK);
    broken.sync = fail_sync;
    assert_int_equal(stk__engine_sync(&engine, NULL), STK_ERROR_TIMEOUT);
    assert_int_equal(stk__tensor_map(tensor, &view, NULL), STK_ERROR_TIMEOUT);
    broken.tensor_map = fail_map;
    assert_int_equal(stk__tensor_map(tensor, &view, NULL), STK_ERROR_UNSUPPORTED);
    assert_int_equal(stk__tensor_write(tensor, values, sizeof values, NULL), STK_ERROR_UNSUPPORTED);
    assert_int_equal(stk__tensor_read(tensor, values, sizeof values, NULL), STK_ERROR_UNSUPPORTED);
    stk__tensor_destroy(&tensor);
}

static void views_are_dense(void **state)
{
    (void)state;
    stk__tensor *tensor;
    stk_tensor view;
    const stk__tensor_desc desc = {.shape = {3, {2, 3, 5}}, .dtype = STK_DTYPE_I64};
    assert_int_equal(stk__tensor_size(&engine, &desc), 256); /* 240 bytes, in steps of 64 */
    assert_int_equal(stk__tensor_create(&engine, &desc, arena, 128, &tensor, NULL), STK_OK);
    assert_int_equal(stk__tensor_map(tensor, &view, NULL), STK_OK);
    assert_ptr_equal(view.data, (char *)arena->memory + 128);
    assert_true(view.dtype == STK_DTYPE_I64 && view.ndim == 3 && view.shape[2] == 5);
    assert_true(view.strides[0] == 15 && view.strides[1] == 5 && view.strides[2] == 1);
    assert_int_equal(stk__tensor_unmap(tensor, &view, true, NULL), STK_OK);
    stk__tensor_destroy(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_takes_what_is_there), /* first: nothing may have been loaded before */
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(names_are_listed_once),
        cmocka_unit_test_setup_teardown(failed_tensors_and_operations_leave_nothing, begin_whole, end_whole),
        cmocka_unit_test_setup_teardown(tensors_of_16_bits_may_be_refused, begin_whole, end_whole),
        cmocka_unit_test_setup_teardown(failed_waits_are_forwarded, begin_whole, end_whole),
        cmocka_unit_test_setup_teardown(views_are_dense, begin_whole, end_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
