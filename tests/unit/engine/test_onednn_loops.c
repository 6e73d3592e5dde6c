/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of our own loops: the same bits with any number of threads and any set of instructions. */
#include "onednn_rig.h"

#include "core/cpu_level.h"

#include <math.h>
#include <stdio.h>

enum { BYTES_MOST = 1 << 20 };

/* Larger than their chunks, with channels behind the last full vector. */
static const stk__op_spec specs[] = {
    {.kind = STK_OP_BATCH_NORM, .input = {{4, {1, 40, 35, 13}}}},
    {.kind = STK_OP_BATCH_NORM, .input = {{4, {1, 40, 35, 13}}}, .relu = true},
    {.kind = STK_OP_BATCH_NORM, .input = {{2, {37, 700}}}, .relu = true},
    {.kind = STK_OP_ADD, .inputs = 2, .input = {{2, {131, 133}}, {2, {131, 133}}}, .relu = true},
    {.kind = STK_OP_MAX_POOL,
     .input = {{4, {2, 33, 31, 19}}},
     .kernel = {3, 3},
     .stride = {2, 2},
     .pad = {1, 1}},
    {.kind = STK_OP_MAX_POOL, .input = {{4, {1, 20, 22, 8}}}, .kernel = {2, 2}},
    {.kind = STK_OP_CROSS_ENTROPY, .input = {{4, {1, 50, 60, 5}}}},
    {.kind = STK_OP_CONV_TRANSPOSE,
     .input = {{4, {1, 20, 25, 70}}},
     .channels = 5,
     .kernel = {2, 2},
     .stride = {2, 2}},
};

/* Everything that the operation has written, one after the other. */
typedef struct traces {
    uint8_t data[BYTES_MOST];
    size_t size_bytes;
} traces;

static void keep(traces *t, const stk__tensor *tensor)
{
    if (!tensor) return;
    const size_t size = (size_t)(stk__shape_count(&tensor->desc.shape) * stk_dtype_bytes(tensor->desc.dtype));
    assert_true(t->size_bytes + size <= BYTES_MOST);
    memcpy(t->data + t->size_bytes, tensor->memory, size);
    t->size_bytes += size;
}

static void run(const stk__op_spec *spec, const char *level, int threads, traces *t)
{
    stk_error error = {0};
    stk__engine *engine;
    rig r;
    setenv("STOKER_CPU", level, 1);
    const stk__engine_options options = {.name = "onednn", .threads = threads};
    if (stk__engine_open(&engine, &options, &error) != STK_OK) fail_msg("%s", error.message);
    if (rig_open(&r, engine, spec, &error) != STK_OK) fail_msg("%s", error.message);
    rig_fill_all(&r);
    if (rig_run(&r, &error) != STK_OK) fail_msg("%s", error.message);
    t->size_bytes = 0;
    keep(t, r.y);
    for (int i = 0; i < 2; i++)
        keep(t, r.dx[i]), keep(t, r.dparam[i]), keep(t, r.buffer[i]);
    rig_close(&r);
    stk__engine_close(&engine);
    unsetenv("STOKER_CPU");
}

static void bits_are_always_the_same(void **state)
{
    (void)state;
    static const char *const levels[] = {"c", "avx2", "avx512"};
    static traces first, other;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        run(&specs[i], "c", 1, &first);
        for (int level = 0; level < 3; level++)
            for (int threads = 1; threads <= 3; threads++) {
                run(&specs[i], levels[level], threads, &other);
                assert_int_equal(first.size_bytes, other.size_bytes);
                if (memcmp(first.data, other.data, first.size_bytes) != 0)
                    fail_msg("%s (%zu): %d threads, %s: other bits", stk__op_word(specs[i].kind), i, threads,
                             levels[level]);
            }
    }
}

/* A NaN wins over everything and keeps its gradient; the first of equals wins. */
static void max_pool_takes_nan_and_the_first_of_equals(void **state)
{
    (void)state;
    static const char *const levels[] = {"c", "avx2"};
    enum { C = 9 }; /* a vector and one more */
    for (int level = 0; level < 2; level++) {
        stk_error error = {0};
        stk__engine *engine;
        rig r;
        setenv("STOKER_CPU", levels[level], 1);
        assert_int_equal(
            stk__engine_open(&engine, &(stk__engine_options){.name = "onednn", .threads = 1}, &error),
            STK_OK);
        const stk__op_spec spec = {.kind = STK_OP_MAX_POOL, .input = {{4, {1, 2, 2, C}}}, .kernel = {2, 2}};
        assert_int_equal(rig_open(&r, engine, &spec, &error), STK_OK);
        float *x = r.x[0]->memory, *dy = r.dy->memory;
        for (int i = 0; i < 4 * C; i++)
            x[i] = 1;
        for (int c = 0; c < C; c++)
            dy[c] = (float)(c + 1);
        x[2 * C + 1] = x[2 * C + 8] = NAN; /* channels 1 and 8: the third place */
        assert_int_equal(rig_run(&r, &error), STK_OK);
        const float *y = r.y->memory, *dx = r.dx[0]->memory;
        for (int c = 0; c < C; c++) {
            const bool nan = c == 1 || c == 8;
            assert_true(nan ? isnan(y[c]) : y[c] == 1);
            for (int place = 0; place < 4; place++)
                assert_true(dx[place * C + c] == (place == (nan ? 2 : 0) ? dy[c] : 0));
        }
        rig_close(&r);
        stk__engine_close(&engine);
        unsetenv("STOKER_CPU");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_always_the_same),
        cmocka_unit_test(max_pool_takes_nan_and_the_first_of_equals),
    };
    return cmocka_run_group_tests_name("onednn_loops", tests, NULL, NULL);
}
