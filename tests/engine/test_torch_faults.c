/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an engine on a GPU, with each call of the driver failing: at each of its uses, with each of the
 * codes that it documents; and with each allocation failing. */
#include "../device/cuda_codes.h"
#include "gpu_engine.h"
#include "support/fail_alloc.h"

enum { MOST_USES = 16 };

static float numbers[GPU_COUNT], back[GPU_COUNT];
static bool lost; /* in the last life */

static stk_status use(stk__engine *engine, stk__tensor *const tensors[2], stk_error *error)
{
    stk__fetch fetch = {0};
    bool there;
    STK__TRY(stk__tensor_write(tensors[0], numbers, sizeof numbers, error));
    STK__TRY(stk__fetch_begin(&fetch, tensors[0], back, sizeof back, error));
    stk_status status = stk__tensor_copy(tensors[1], tensors[0], error);
    if (status == STK_OK) status = stk__fetch_ask(&fetch, &there, error);
    const stk_status finished = stk__fetch_finish(&fetch, status == STK_OK ? error : NULL);
    STK__TRY(status == STK_OK ? finished : status);
    STK__TRY(stk__tensor_read(tensors[1], back, sizeof back, error));
    stk__engine_mark(engine);
    stk__engine_is_busy(engine);
    stk__engine_measure(engine);
    return stk__engine_sync(engine, error);
}

static stk_status use_tensors(stk__engine *engine, stk_error *error)
{
    const stk__tensor_desc desc = {.shape = {1, {GPU_COUNT}}, .dtype = STK_DTYPE_F32};
    const size_t each = stk__tensor_size(engine, &desc);
    stk__arena *arena;
    stk__tensor *tensors[2] = {0};
    STK__TRY(stk__arena_create(engine, 2 * each, &arena, error));
    stk_status status = stk__tensor_create(engine, &desc, arena, 0, &tensors[0], error);
    if (status == STK_OK) status = stk__tensor_create(engine, &desc, arena, each, &tensors[1], error);
    if (status == STK_OK) status = use(engine, tensors, error);
    gpu_drop(&arena, tensors, 2);
    return status;
}

static stk_status live(void *context, stk_error *error)
{
    (void)context;
    stk__engine *engine;
    const stk__engine_options options = {.name = "torch", .device = "cuda:0", .threads = 1};
    lost = false;
    STK__TRY(stk__engine_open(&engine, &options, error));
    const stk_status status = use_tensors(engine, error);
    lost = stk__cuda_has_lost(&gpu_of(engine)->driver);
    stk__engine_close(&engine);
    return status;
}

/* What a life left behind, if the GPU is not lost: nothing but what could not be given back. */
static void expect_nothing_left(const call_codes *row, int64_t pinned, int64_t events)
{
    const bool keeps = strcmp(row->call, "cuEventQuery") == 0 || /* it may be lost while it is closed */
                       strncmp(row->call, "cuCtxPush", 9) == 0;  /* the last one is that of closing */
    if (gpu.driver("misuses") || gpu.driver("current") || gpu.driver("work"))
        fail_msg("%s: a call that is wrong, a context or work is left", row->call);
    if (lost || keeps) return;
    if (gpu.driver("pinned") != pinned || gpu.driver("events") != events)
        fail_msg("%s: pinned memory or events are left", row->call);
}

static int fail_use(const call_codes *row, int code, long use_number)
{
    char what[32];
    stk_error error = {0};
    const int64_t pinned = gpu.driver("pinned"), events = gpu.driver("events");
    snprintf(what, sizeof what, "fail %d", code);
    gpu_fault(row->call, use_number, what);
    const stk_status status = live(NULL, &error);
    expect_nothing_left(row, pinned, events);
    assert_null(gpu.add_lines("calm\n"));
    if (status != STK_OK && !(error.message[0] && error.hint[0]))
        fail_msg("%s at %ld with %d: '%s' ('%s')", row->call, use_number, code, error.message, error.hint);
    return status != STK_OK;
}

static void every_call_fails_with_every_code(void **state)
{
    (void)state;
    long called[ROWS] = {0};
    int told = 0, all = 0;
    assert_int_equal(live(NULL, NULL), STK_OK);
    for (int r = 0; r < ROWS; r++)
        called[r] = -gpu.calls(rows[r].call, FAKE_ANY);
    assert_int_equal(live(NULL, NULL), STK_OK);
    for (int r = 0; r < ROWS; r++)
        called[r] += gpu.calls(rows[r].call, FAKE_ANY);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; rows[r].codes[c]; c++)
            for (long n = 0; n < called[r] && n < MOST_USES; n++, all++)
                told += fail_use(&rows[r], rows[r].codes[c], n);
    print_message("%d of %d failures were told\n", told, all);
    assert_true(all > 300 && told > all / 3);
    assert_int_equal(live(NULL, NULL), STK_OK);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(live, NULL) > 4);
    assert_int_equal(live(NULL, NULL), STK_OK);
}

int main(void)
{
    int status;
    if (!gpu_begin(&status)) return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_with_every_code),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
