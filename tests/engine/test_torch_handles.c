/* The engine torch gives everything back that PyTorch hands out, also when calls fail. The real library
 * stands behind: calls of the table go through wrappers. Exit status 77: there is no PyTorch here. */
#include "engine/torch_parts.h"
#include "op_rig.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { SKIPPED = 77, RUNS = 1000, REPEATS = 8, PROBES = 12, WARM_UPS = 60, LEAST_LEAK_BYTES = 8 };

static stk__engine *tested;
static stk__torch *engine;
static const stk__torch_api *real;
static stk__torch_api shim;
static long calls_left; /* until one fails; 0: none does */
static long keep_left;  /* until one release is left out; 0: none is */
static long releases;

static bool is_refused(void)
{
    return calls_left > 0 && --calls_left == 0;
}

static const char *say_why(void)
{
    return "The shim said no. This is its second sentence.\nframe #0: and a line behind it";
}

static int32_t call_dispatcher(const char *name, const char *overload, uint64_t *stack, uint64_t version)
{
    return is_refused() ? 1 : real->torch_call_dispatcher(name, overload, stack, version);
}

static int32_t new_list(size_t size, void **list)
{
    return is_refused() ? 1 : real->torch_new_list_reserve_size(size, list);
}

static int32_t push_back(void *list, uint64_t value)
{
    return is_refused() ? 1 : real->torch_list_push_back(list, value);
}

static int32_t new_string(const char *text, size_t length, void **string)
{
    return is_refused() ? 1 : real->torch_new_string_handle(text, length, string);
}

static int32_t from_blob(void *data, int64_t ndim, const int64_t *size, const int64_t *stride, int64_t offset,
                         int32_t dtype, int32_t device_type, int32_t device_index, stk__torch_handle *tensor)
{
    if (is_refused()) return 1;
    return real->aoti_torch_create_tensor_from_blob(data, ndim, size, stride, offset, dtype, device_type,
                                                    device_index, tensor);
}

static int32_t new_handle(stk__torch_handle tensor, stk__torch_handle *another)
{
    return is_refused() ? 1 : real->aoti_torch_new_tensor_handle(tensor, another);
}

static int32_t new_number(double value, stk__torch_handle *tensor)
{
    return is_refused() ? 1 : real->aoti_torch_scalar_to_tensor_float64(value, tensor);
}

static int32_t delete_tensor(stk__torch_handle tensor)
{
    releases++;
    if (keep_left > 0 && --keep_left == 0) return 0;
    return real->aoti_torch_delete_tensor_object(tensor);
}

static void put_shim(void)
{
    real = engine->api;
    shim = *real;
    shim.last_error = say_why;
    shim.torch_call_dispatcher = call_dispatcher;
    shim.torch_new_list_reserve_size = new_list;
    shim.torch_list_push_back = push_back;
    shim.torch_new_string_handle = new_string;
    shim.aoti_torch_create_tensor_from_blob = from_blob;
    shim.aoti_torch_new_tensor_handle = new_handle;
    shim.aoti_torch_scalar_to_tensor_float64 = new_number;
    shim.aoti_torch_delete_tensor_object = delete_tensor;
    engine->api = &shim;
}

static op_trial trial;
static op_rig rig;

static void open_trial(int kind, uint64_t seed)
{
    op_trial_random(&trial, (stk__op_kind)kind, seed, false);
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

static void nothing_stays_alive(void **state)
{
    (void)state;
    stk_error error = {0};
    for (int run = 0; run < RUNS; run++) {
        open_trial(run % STK_OP_COUNT, (uint64_t)run);
        assert_int_equal(run_both(&error), STK_OK);
        op_rig_close(&rig);
        assert_int_equal(engine->alive, 0);
    }
    open_weights();
    assert_int_equal(run_updates(&error), STK_OK);
    assert_int_equal(engine->alive, 0);
    close_weights();
}

static long measure_growth(stk_status (*run)(stk_error *error), long left_out)
{
    const struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < REPEATS; i++) {
        keep_left = left_out;
        assert_int_equal(run(NULL), STK_OK);
    }
    keep_left = 0;
    return ((long)mallinfo2().uordblks - (long)before.uordblks) / REPEATS;
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

/* Releases of a run left out in turn: all of them, or an even choice. */
static void expect_each_release(stk_status (*run)(stk_error *error), const char *what)
{
    long grown = LEAST_LEAK_BYTES;
    for (int i = 0; i < WARM_UPS && grown >= LEAST_LEAK_BYTES; i++)
        grown = measure_growth(run, 0); /* caches of PyTorch's fill at first; a leak never ends */
    if (grown >= LEAST_LEAK_BYTES) fail_msg("%s leaves something behind", what);
    releases = 0;
    assert_int_equal(run(NULL), STK_OK);
    const long count = releases;
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
        open_trial(kind, 7);
        expect_each_release(run_both, stk__op_word((stk__op_kind)kind));
        op_rig_close(&rig);
    }
    open_weights();
    expect_each_release(run_updates, "update");
    close_weights();
}

/* Fails call after call until nothing fails any more; every failure is told, and nothing stays alive. */
static void fail_each(stk_status (*run)(stk_error *error))
{
    stk_error error = {0};
    stk_status status = STK_ERROR_UNSUPPORTED;
    for (long n = 1; status != STK_OK; n++) {
        calls_left = n;
        error = (stk_error){0};
        status = run(&error);
        assert_int_equal(engine->alive, 0);
        if (status == STK_OK) break;
        assert_int_equal(status, STK_ERROR_UNSUPPORTED);
        if (strncmp(error.message, "PyTorch failed in '", 19) != 0 ||
            strcmp(strchr(error.message, ':') ? strstr(error.message, "': ") : "", "': The shim said no") !=
                0)
            fail_msg("call %ld: '%s'", n, error.message);
        assert_string_equal(error.hint, "run.engine=onednn trains without PyTorch");
    }
    calls_left = 0;
}

/* What a call that was never made would have taken is lost: not a leak of ours. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void failing_calls_are_told(void **state)
{
    (void)state;
    if (__lsan_disable) __lsan_disable();
    for (int kind = 0; kind < STK_OP_CONFUSION; kind++)
        for (uint64_t seed = 20; seed < 23; seed++) {
            open_trial(kind, seed);
            fail_each(run_both);
            op_rig_close(&rig);
        }
    open_weights();
    fail_each(run_updates);
    close_weights();
    if (__lsan_enable) __lsan_enable();
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
    shim.last_error = say_memory;
    calls_left = 1;
    assert_int_equal(run_both(&error), STK_ERROR_MEMORY);
    assert_string_equal(error.hint, "a smaller data.batch_size needs less memory");
    shim.last_error = NULL; /* as before 2.13 */
    calls_left = 1;
    assert_int_equal(run_both(&error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "PyTorch failed in 'a view of memory': it does not say why");
    calls_left = 0;
    shim.last_error = say_why;
    op_rig_close(&rig);
}

/* What PyTorch itself says to nonsense. */
static void its_own_words_are_short(void **state)
{
    (void)state;
    stk_error error = {0};
    open_trial(STK_OP_LINEAR, 3);
    const int64_t kept = rig.param[0]->desc.shape.dim[1];
    shim.last_error = real->last_error;
    rig.param[0]->desc.shape.dim[1] = kept + 1;
    assert_int_equal(run_both(&error), STK_ERROR_UNSUPPORTED);
    assert_true(strncmp(error.message, "PyTorch failed in 'aten::linear': ", 34) == 0);
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(engine->alive, 0);
    rig.param[0]->desc.shape.dim[1] = kept;
    shim.last_error = say_why;
    op_rig_close(&rig);
}

static void other_devices_are_refused(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__engine *none;
    const stk__engine_options options = {.name = "torch", .device = "cuda:0"};
    assert_int_equal(stk__engine_open(&none, &options, &error), STK_ERROR_UNSUPPORTED);
    assert_null(none);
    assert_string_equal(error.message, "the engine 'torch' of this version cannot use 'cuda:0' yet");
    assert_string_equal(error.hint, "run.device=cpu trains on the CPU");
    assert_true(strncmp(stk__engine_describe(tested)->version, "PyTorch 2.", 10) == 0);
    assert_non_null(strstr(stk__engine_describe(tested)->version, ", CPU"));
}

int main(void)
{
    stk_error error = {0};
    rig_count_allocations();
    if (stk__engine_open(&tested, &(stk__engine_options){.name = "torch", .threads = 1}, &error) != STK_OK) {
        printf("skipped: %s\n", error.message);
        return SKIPPED;
    }
    engine = stk__torch_of(tested);
    put_shim();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stays_alive),     cmocka_unit_test(every_release_is_needed),
        cmocka_unit_test(failing_calls_are_told),  cmocka_unit_test(a_shortage_of_memory_is_named),
        cmocka_unit_test(its_own_words_are_short), cmocka_unit_test(other_devices_are_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    engine->api = real;
    stk__engine_close(&tested);
    return failed;
}
