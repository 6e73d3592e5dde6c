/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's results on CPUs lie where they are expected, and what operators take beside them is at most what
 * they say (stk__op_needs.inside_bytes). Exit status 77: there is no PyTorch here. */
#include "engine/torch/torch_engine.h"
#include "engine/torch/torch_place.h"
#include "op_rig.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { SKIPPED = 77, RUNS = 40, PLACE_BYTES = 4096 };

static stk__engine *tested;

/* Of operations whose results PyTorch allocates. */
static void results_lie_where_they_are_expected(void **state)
{
    (void)state;
    static const stk__op_kind kinds[] = {STK_OP_CONV, STK_OP_CONV_TRANSPOSE, STK_OP_BATCH_NORM,
                                         STK_OP_LINEAR};
    int out = 0;
    for (int run = 0; run < RUNS * 4; run++) {
        op_trial trial;
        op_rig rig;
        op_trial_random(&trial, kinds[run % 4], (uint64_t)run, false);
        trial.spec.relu = false;
        op_rig_open(&rig, tested, &trial);
        op_rig_load(&rig);
        op_rig_forward(&rig);
        op_rig_backward(&rig);
        out += (int)stk__torch_of(tested)->taken;
        op_rig_close(&rig);
    }
    print_message("%d results lie elsewhere\n", out);
    assert_true(out < RUNS);
}

/* A place is handed out to the size that is expected, once, and again when it has come back. */
static void a_place_is_given_once(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    const stk__torch_api *api = stk__torch_of(tested)->api;
    const int64_t size = COUNT, stride = 1, other = COUNT + 1;
    const int32_t f32 = api->aoti_torch_dtype_float32(), cpu = api->aoti_torch_device_type_cpu();
    stk__arena *arena;
    stk__torch_handle made[3];
    void *data[3];
    assert_int_equal(stk__arena_create(tested, PLACE_BYTES, &arena, NULL), STK_OK);
    for (int round = 0; round < 2; round++) {
        stk__torch_place_expect(arena->memory, COUNT * sizeof(float), 0);
        for (int i = 0; i < 3; i++) {
            const int64_t *sizes = i == 0 ? &other : &size;
            assert_int_equal(api->aoti_torch_empty_strided(1, sizes, &stride, f32, cpu, 0, &made[i]), 0);
            assert_int_equal(api->aoti_torch_get_data_ptr(made[i], &data[i]), 0);
        }
        assert_ptr_not_equal(data[0], arena->memory);
        assert_ptr_equal(data[1], arena->memory);
        assert_ptr_not_equal(data[2], arena->memory);
        for (int i = 0; i < 3; i++)
            api->aoti_torch_delete_tensor_object(made[i]);
        assert_int_equal(api->aoti_torch_empty_strided(1, &size, &stride, f32, cpu, 0, &made[0]), 0);
        assert_int_equal(api->aoti_torch_get_data_ptr(made[0], &data[0]), 0);
        assert_ptr_equal(data[0], arena->memory); /* it was given back */
        stk__torch_place_end();
        assert_int_equal(api->aoti_torch_empty_strided(1, &size, &stride, f32, cpu, 0, &made[1]), 0);
        assert_int_equal(api->aoti_torch_get_data_ptr(made[1], &data[1]), 0);
        assert_ptr_not_equal(data[1], arena->memory);
        api->aoti_torch_delete_tensor_object(made[0]);
        api->aoti_torch_delete_tensor_object(made[1]);
    }
    stk__arena_destroy(&arena);
}

/* Memory that is in no arena of ours is never handed out. */
static void other_memory_is_no_place(void **state)
{
    (void)state;
    static _Alignas(64) float memory[16];
    const stk__torch_api *api = stk__torch_of(tested)->api;
    const int64_t size = 16, stride = 1;
    stk__torch_handle made;
    void *data;
    stk__torch_place_expect(memory, sizeof memory, 0);
    assert_int_equal(api->aoti_torch_empty_strided(1, &size, &stride, api->aoti_torch_dtype_float32(),
                                                   api->aoti_torch_device_type_cpu(), 0, &made),
                     0);
    assert_int_equal(api->aoti_torch_get_data_ptr(made, &data), 0);
    assert_ptr_not_equal(data, memory);
    api->aoti_torch_delete_tensor_object(made);
    stk__torch_place_end();
}

int main(void)
{
    stk_error error = {0};
    const stk__engine_options options = {.name = "torch", .device = "cpu", .threads = 2};
    rig_count_allocations();
    if (stk__torch_place_open(dlopen(NULL, RTLD_NOW), 15)) return 1; /* no PyTorch in this program so far */
    if (stk__engine_open(&tested, &options, &error) != STK_OK) {
        printf("skipped: %s\n", error.message);
        return SKIPPED;
    }
    if (!stk__torch_of(tested)->places) {
        printf("skipped: %s is not one whose allocator is known\n", stk__engine_describe(tested)->version);
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_lie_where_they_are_expected),
        cmocka_unit_test(a_place_is_given_once),
        cmocka_unit_test(other_memory_is_no_place),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__engine_close(&tested);
    return failed;
}
