/* SPDX-License-Identifier: Apache-2.0 */
/* The engine torch gives everything back that PyTorch hands out, also when calls fail. The real library
 * stands behind: calls of the table go through wrappers. Exit status 77: there is no PyTorch here. */
#include "engine/torch/torch_engine.h"
#include "op_rig.h"
#include "torch_shim.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum {
    SKIPPED = 77,
    RUNS = 1000,
    REPEATS = 8,
    PROBES = 12,
    REFUSALS = 30,
    WARM_UPS = 60,
    LEAST_LEAK_BYTES = 8
};

static stk__engine *tested;
static stk__torch *engine;
static torch_shim *const shim = &torch_shim_state;
static long constants; /* handles that live as long as the engine */

static op_trial trial;
static op_rig rig;

static void open_trial(int kind, uint64_t seed)
{
    op_trial_random(&trial, (stk__op_kind)kind, seed, false);
    trial.spec.relu = trial.spec.relu && stk__engine_describe(tested)->fuses;
    op_rig_open(&rig, tested, &trial);
    op_rig_load(&rig);
}

static stk_status run_both(stk_error *error)
{
    const stk__op_io io = op_rig_io(&rig);
    const bool back = !stk__op_is_loss(trial.spec.kind) && trial.form.has_gradient;
    STK__TRY(stk__op_forward(rig.op, &io, error));
    return back ? stk__op_backward(rig.op, &io, error) : STK_OK;
}

/* Two parameters, all that an update needs. */
typedef struct weights {
    stk__arena *arena;
    stk__tensor *part[4][2], *norm;
} weights;

static weights w;

static void open_weights(void)
{
    const stk__tensor_desc pair = {.shape = {1, {2}}, .dtype = STK_DTYPE_F64};
    const stk__tensor_desc few = {.shape = {2, {3, 2}}, .dtype = STK_DTYPE_F32};
    assert_int_equal(stk__arena_create(tested, 4096, &w.arena, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(tested, &pair, w.arena, 0, &w.norm, NULL), STK_OK);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(stk__tensor_create(tested, &few, w.arena, 64 * (i + 1), &w.part[i / 2][i % 2], NULL),
                         STK_OK);
}

static void close_weights(void)
{
    for (size_t i = 0; i < 8; i++)
        stk__tensor_destroy(&w.part[i / 2][i % 2]);
    stk__tensor_destroy(&w.norm);
    stk__arena_destroy(&w.arena);
}

static stk_status run_updates(stk_error *error)
{
    stk__update u = {.kind = STK_OPTIMIZER_ADAMW,
                     .param = {w.part[0], 2},
                     .grad = {w.part[1], 2},
                     .first = {w.part[2], 2},
                     .second = {w.part[3], 2},
                     .step = 1,
                     .lr = 0.1,
                     .beta1 = 0.9,
                     .beta2 = 0.99,
                     .eps = 1e-8,
                     .max_grad_norm = 1,
                     .norm = w.norm};
    STK__TRY(stk__engine_update(tested, &u, error));
    u.kind = STK_OPTIMIZER_SGD;
    u.momentum = 0.9;
    STK__TRY(stk__engine_update(tested, &u, error));
    STK__TRY(stk__engine_average(tested, &u.first, &u.param, 0.9, error));
    STK__TRY(stk__tensor_add(w.part[0][0], w.part[0][1], error));
    STK__TRY(stk__tensor_copy(w.part[1][0], w.part[0][1], error));
    return stk__tensor_zero(w.part[1][1], error);
}

/* By the engine's book and by the shim's; what tensors have taken, or are shown by, is theirs. */
static void expect_none_alive(void)
{
    assert_int_equal(engine->alive, 0);
    assert_int_equal(torch_shim_alive(), constants + engine->taken + engine->views);
}

static void nothing_stays_alive(void **state)
{
    (void)state;
    stk_error error = {0};
    for (int run = 0; run < RUNS; run++) {
        open_trial(run % STK_OP_COUNT, (uint64_t)run);
        assert_int_equal(run_both(&error), STK_OK);
        op_rig_close(&rig);
        assert_int_equal(engine->taken, 0);
        expect_none_alive();
    }
    open_weights();
    assert_int_equal(run_updates(&error), STK_OK);
    expect_none_alive();
    close_weights();
}

static long measure_growth(stk_status (*run)(stk_error *error), long left_out)
{
    const struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < REPEATS; i++) {
        shim->keep = left_out;
        assert_int_equal(run(NULL), STK_OK);
    }
    shim->keep = 0;
    const struct mallinfo2 after = mallinfo2();
    torch_shim_forget_kept();
    return ((long)after.uordblks - (long)before.uordblks) / REPEATS;
}

/* Bytes that each run leaves behind. Other threads allocate at times: the least of some measurements. */
static long grown_bytes(stk_status (*run)(stk_error *error), long left_out)
{
    long least = measure_growth(run, left_out);
    for (int i = 0; i < 3 && least > 0; i++) {
        const long grown = measure_growth(run, left_out);
        if (grown < least) least = grown;
    }
    return least;
}

/* PyTorch 2.10 and 2.12 themselves keep some bytes of every text that they are given; 2.15 does not. */
static bool leaks_texts(void)
{
    return shim->real->major == 2 && shim->real->minor <= 12;
}

/* Releases of a run left out in turn: all of them, or an even choice. */
static void expect_each_release(stk_status (*run)(stk_error *error), const char *what)
{
    long grown = LEAST_LEAK_BYTES;
    for (int i = 0; i < WARM_UPS && grown >= LEAST_LEAK_BYTES; i++)
        grown = measure_growth(run, 0); /* caches of PyTorch's fill at first; a leak never ends */
    if (grown >= LEAST_LEAK_BYTES) fail_msg("%s leaves something behind", what);
    const long before = shim->releases;
    assert_int_equal(run(NULL), STK_OK);
    const long count = shim->releases - before;
    for (long i = 1; i <= count; i += 1 + count / PROBES)
        if (grown_bytes(run, i) < LEAST_LEAK_BYTES)
            fail_msg("%s: without release %ld of %ld nothing was missed", what, i, count);
}

static void every_release_is_needed(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* its allocator has no such sums */
#endif
    for (int kind = 0; kind < STK_OP_CONFUSION; kind++) {
        if (kind == STK_OP_GELU && leaks_texts()) continue;
        open_trial(kind, 7);
        expect_each_release(run_both, stk__op_word((stk__op_kind)kind));
        op_rig_close(&rig);
    }
    if (leaks_texts()) return; /* clipping names its norm */
    open_weights();
    expect_each_release(run_updates, "update");
    close_weights();
}

/* So that every run begins alike. */
static void drop_taken(void)
{
    for (int i = 0; i < rig.made_count; i++)
        if (rig.made[i]) stk__tensor_drop(rig.made[i]);
    assert_int_equal(engine->taken, 0);
}

/* One run whose n-th call fails and whose n-th release is left out; returns how many releases there were. */
static long run_refused(stk_status (*run)(stk_error *error), long refused, long kept, stk_status *status)
{
    stk_error error = {0};
    drop_taken();
    const long before = shim->releases;
    shim->refuse = refused;
    shim->keep = kept;
    *status = run(&error);
    shim->refuse = shim->keep = 0;
    assert_int_equal(engine->alive, 0);
    if (*status != STK_OK) {
        assert_int_equal(*status, STK_ERROR_UNSUPPORTED);
        torch_shim_expect_told(&error);
    }
    return shim->releases - before;
}

/* Fails call after call until nothing fails any more; every failure is told, and nothing stays alive. Returns
 * the number of calls. */
static long fail_each(stk_status (*run)(stk_error *error))
{
    stk_status status = STK_ERROR_UNSUPPORTED;
    long n = 0;
    while (status != STK_OK) {
        run_refused(run, ++n, 0, &status);
        expect_none_alive();
    }
    return n - 1;
}

static void failing_calls_are_told(void **state)
{
    (void)state;
    for (int kind = 0; kind < STK_OP_CONFUSION; kind++)
        for (uint64_t seed = 20; seed < 23; seed++) {
            open_trial(kind, seed);
            assert_true(fail_each(run_both) > 0);
            op_rig_close(&rig);
        }
    open_weights();
    assert_true(fail_each(run_updates) > 0);
    close_weights();
}

/* Lists, texts and cells are ours to release only when a call fails before PyTorch has taken them. Failing
 * calls in turn, and of each the releases in turn (an even choice of both): the shim's book has one more. */
static void probe_refused(stk_status (*run)(stk_error *error), long seen[TORCH_SHIM_KINDS])
{
    const long calls = fail_each(run);
    stk_status status;
    for (long n = 1; n <= calls; n += 1 + calls / REFUSALS) {
        const long releases = run_refused(run, n, 0, &status);
        for (long i = 1; i <= releases; i += 1 + releases / PROBES) {
            run_refused(run, n, i, &status);
            assert_int_equal(torch_shim_alive(), constants + engine->taken + engine->views + 1);
            seen[shim->kept]++;
            torch_shim_forget_kept();
        }
    }
}

static void every_release_after_a_failure_is_needed(void **state)
{
    (void)state;
    long seen[TORCH_SHIM_KINDS] = {0};
    for (int kind = 0; kind < STK_OP_CONFUSION; kind++) {
        open_trial(kind, 7);
        probe_refused(run_both, seen);
        op_rig_close(&rig);
    }
    open_weights();
    probe_refused(run_updates, seen);
    close_weights();
    for (int kind = 0; kind < TORCH_SHIM_KINDS; kind++)
        assert_true(seen[kind] > 0);
}

static const char *say_memory(void)
{
    return "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory";
}

static void a_shortage_of_memory_is_named(void **state)
{
    (void)state;
    stk_error error = {0};
    open_trial(STK_OP_RELU, 1);
    torch_shim_explain(say_memory);
    shim->refuse = 1;
    assert_int_equal(run_both(&error), STK_ERROR_MEMORY);
    assert_string_equal(error.hint, "lower data.batch_size");
    torch_shim_explain(NULL); /* as before 2.13 */
    shim->refuse = 1;
    assert_int_equal(run_both(&error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "PyTorch failed in 'a view of memory': no error message");
    torch_shim_explain(torch_shim_reason);
    op_rig_close(&rig);
}

/* What PyTorch itself says to nonsense. */
static void its_own_words_are_short(void **state)
{
    (void)state;
    stk_error error = {0};
    open_trial(STK_OP_LINEAR, 3);
    const int64_t kept = rig.param[0]->desc.shape.dim[1];
    torch_shim_explain(shim->real->last_error);
    rig.param[0]->desc.shape.dim[1] = kept + 1;
    assert_int_equal(run_both(&error), STK_ERROR_UNSUPPORTED);
    assert_true(strncmp(error.message, "PyTorch failed in 'aten::linear': ", 34) == 0);
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(engine->alive, 0);
    rig.param[0]->desc.shape.dim[1] = kept;
    torch_shim_explain(torch_shim_reason);
    op_rig_close(&rig);
}

/* Refused, for whatever is missing on this machine; every reason in turn: tests/unit/engine/test_torch_api.c.
 */
static void other_devices_are_refused(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__engine *none;
    static const char *const words[] = {"cuda:0", "cuda", "tpu", "cuda:", "cuda:-1"};
    for (int i = 0; i < 5; i++) {
        const stk__engine_options options = {.name = "torch", .device = words[i]};
        const bool known = i < 2;
        assert_int_equal(stk__engine_open(&none, &options, &error),
                         known ? STK_ERROR_UNSUPPORTED : STK_ERROR_CONFIG);
        assert_null(none);
        assert_true(strncmp(error.message, "run.device = '", 14) == 0);
        assert_non_null(strstr(error.message, known ? "' cannot be used: " : "unknown device"));
        assert_non_null(strstr(error.hint, "cpu"));
    }
    assert_true(strncmp(stk__engine_describe(tested)->version, "PyTorch 2.", 10) == 0);
    assert_non_null(strstr(stk__engine_describe(tested)->version, ", CPU"));
}

int main(void)
{
    stk_error error = {0};
    rig_count_allocations();
    if (torch_shim_put(&error) != STK_OK) {
        printf("skipped: %s\n", error.message);
        return SKIPPED;
    }
    const stk__engine_options options = {.name = "torch", .threads = 1};
    if (stk__engine_open(&tested, &options, &error) != STK_OK) return 1;
    engine = stk__torch_of(tested);
    constants = torch_shim_alive();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stays_alive),
        cmocka_unit_test(every_release_is_needed),
        cmocka_unit_test(failing_calls_are_told),
        cmocka_unit_test(every_release_after_a_failure_is_needed),
        cmocka_unit_test(a_shortage_of_memory_is_named),
        cmocka_unit_test(its_own_words_are_short),
        cmocka_unit_test(other_devices_are_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__engine_close(&tested);
    return failed;
}
