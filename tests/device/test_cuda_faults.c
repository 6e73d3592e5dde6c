/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device whose calls fail, hang or lose the context: each call of the driver and of the compiler, at
 * each of its uses, with each of the codes that it documents. */
#include "core/clock.h"
#include "cuda_codes.h"
#include "cuda_scenes.h"
#include "fake_cuda_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_USES = 12 };

static const fake_driver *fake;
static long allocations; /* of the host that are not released */

static void *count_alloc(void *context, size_t bytes)
{
    (void)context;
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t bytes)
{
    (void)context, (void)bytes;
    __atomic_sub_fetch(&allocations, 1, __ATOMIC_RELAXED);
    free(memory);
}

static int begin(void **state)
{
    (void)state;
    fake = fake_driver_open();
    scenes_begin();
    stk_allocator_set(&(stk_allocator){.alloc = count_alloc, .release = count_release});
    return 0;
}

static int end(void **state)
{
    (void)state;
    stk_allocator_set(NULL);
    scenes_end();
    return 0;
}

/* Calls that give something back, and the one without which nothing can be given back: the program can do no
 * more than go on. */
static bool may_leave(const char *call)
{
    return strcmp(call, "cuCtxPushCurrent_v2") == 0;
}

/* What is wrong with the failure; NULL: nothing. */
static const char *find_fault(stk_status status, const stk_error *error)
{
    if (status != STK_ERROR_MEMORY && status != STK_ERROR_UNSUPPORTED && status != STK_ERROR_TIMEOUT)
        return "another status";
    if (!error->message[0]) return "no message";
    if (!error->hint[0]) return "no hint";
    return error->code == status ? NULL : "another code in the error";
}

static void expect_good_failure(const char *where, stk_status status, const stk_error *error)
{
    const char *fault = find_fault(status, error);
    if (fault) fail_msg("%s: %s (%d: '%s')", where, fault, (int)status, error->message);
}

/* What a driver that is used well would not have seen; NULL: nothing. */
static const char *find_left(void)
{
    static const char *const words[] = {"device_bytes", "pinned_bytes", "memories", "pinned",   "streams",
                                        "events",       "modules",      "contexts", "programs", "current"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (fake->count(words[i])) return words[i];
    return NULL;
}

typedef struct tally {
    int runs, failures, wrong;
} tally;

/* False: the call is not made so often. */
static bool run_one(const scene *s, const char *call, int use, int code, tally *t)
{
    char where[160];
    stk_error error = {0};
    snprintf(where, sizeof where, "%s: fault %s at %d fail %d", s->name, call, use, code);
    fake_driver_play("late 0\n%s\nfault %s at %d fail %d", s->script, call, use, code);
    if (s->cold) scenes_forget_programs();
    const long before = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
    scenes_spoil();
    const stk_status status = s->play(&error);
    const bool reached = fake->calls(call, -1) > use;
    t->runs += reached;
    t->failures += status != STK_OK;
    const char *wrong = status != STK_OK     ? find_fault(status, &error)
                        : scenes_are_right() ? NULL
                                             : "other bits";
    if (!wrong && fake->count("misuses")) wrong = fake->misuse();
    if (!wrong && !scenes_lost() && !stk__cuda_is_lost(code) && !may_leave(call)) wrong = find_left();
    if (!wrong && __atomic_load_n(&allocations, __ATOMIC_RELAXED) != before) wrong = "allocations left";
    if (wrong) print_error("%s: %s ('%s')\n", where, wrong, error.message);
    t->wrong += wrong != NULL;
    return reached;
}

static void every_call_fails_with_every_code(void **state)
{
    (void)state;
    int wrong = 0;
    for (const scene *s = scenes; s->name; s++) {
        tally t = {0};
        for (int r = 0; r < ROWS; r++)
            for (const int *code = rows[r].codes; *code; code++) {
                int use = 0;
                while (use < MOST_USES && run_one(s, rows[r].call, use, *code, &t))
                    use++;
            }
        printf("%s: %d failures of calls, %d reached the caller\n", s->name, t.runs, t.failures);
        assert_true(t.runs > 200 && t.failures > 100);
        wrong += t.wrong;
    }
    assert_int_equal(wrong, 0);
}

/* Every call that a scene makes is one of the table's, so that the test above left none out. */
static void the_table_has_every_call(void **state)
{
    (void)state;
#define CHECK(name, parameters)                                                                              \
    {                                                                                                        \
        bool listed = false;                                                                                 \
        for (int r = 0; r < ROWS; r++)                                                                       \
            listed |= strcmp(rows[r].call, #name) == 0;                                                      \
        if (!listed) fail_msg("%s is not in cuda_codes.h", #name);                                           \
    }
    STK_CUDA_CALLS(CHECK)
    STK_NVRTC_CALLS(CHECK)
#undef CHECK
}

/* Calls that are made only because another one failed. */
static const struct {
    const char *call, *before; /* what makes it be made */
} seconds[] = {
    {"cuGetErrorName", "fault cuStreamCreate fail 2"},
    {"cuGetErrorString", "fault cuStreamCreate fail 2"},
    {"cuMemGetInfo_v2", "gpu 0 memory 1000"},
    {"nvrtcGetProgramLogSize", "fault nvrtcCompileProgram fail 6\nfault cuModuleLoadData fail 200"},
    {"nvrtcGetProgramLog", "fault nvrtcCompileProgram fail 6\nfault cuModuleLoadData fail 200"}};
enum { SECONDS = sizeof seconds / sizeof seconds[0] };

/* All calls are made by some scene: one that is not would be tested by nobody. */
static void scenes_make_every_call(void **state)
{
    (void)state;
    long made[ROWS] = {0};
    stk_error error;
    for (const scene *s = scenes; s->name; s++) {
        fake_driver_play("late 0\n%s", s->script);
        if (s->cold) scenes_forget_programs();
        assert_int_equal(s->play(&error), STK_OK);
        for (int r = 0; r < ROWS; r++)
            made[r] += fake->calls(rows[r].call, -1);
    }
    for (int r = 0; r < ROWS; r++) {
        bool second = false;
        for (int i = 0; i < SECONDS; i++)
            second |= strcmp(seconds[i].call, rows[r].call) == 0;
        if (!made[r] && !second) fail_msg("nobody calls %s", rows[r].call);
    }
}

/* A second failure on top of the first: the first is still told. */
static void calls_after_a_failure_fail_too(void **state)
{
    (void)state;
    for (int i = 0; i < SECONDS; i++)
        for (int r = 0; r < ROWS; r++)
            for (const int *code = rows[r].codes; *code && strcmp(rows[r].call, seconds[i].call) == 0;
                 code++) {
                stk_error error = {0};
                fake_driver_play("late 0\n%s\nfault %s fail %d", seconds[i].before, seconds[i].call, *code);
                scenes_forget_programs();
                const stk_status status = scenes[0].play(&error);
                expect_good_failure(seconds[i].call, status, &error);
                if (fake->calls(seconds[i].call, -1) < 1) fail_msg("nobody calls %s", seconds[i].call);
                fake_driver_expect_nothing_left(seconds[i].call);
            }
}

/* Work that fails on the device, and calls after which the context is lost: nothing comes back, at once. */
static void a_lost_context_stays_lost(void **state)
{
    (void)state;
    static const char *const wheres[] = {
        "copy_in",        "copy_out",      "kernel",      "cuMemcpyHtoDAsync_v2",
        "cuLaunchKernel", "cuEventRecord", "cuEventQuery"};
    static const int codes[] = {214, 700, 702, 710, 714, 719, 999};
    for (size_t w = 0; w < sizeof wheres / sizeof wheres[0]; w++)
        for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++) {
            stk_error error = {0};
            stk__device *device = NULL;
            fake_driver_play("late 50\nseed %zu\nfault %s at 1 lose %d", c, wheres[w], codes[c]);
            assert_int_equal(stk__device_open(&device, "cuda:0", &error), STK_OK);
            stk_status status = STK_OK;
            for (int i = 0; i < 4 && status == STK_OK; i++)
                status = stk__device_augment(device, scenes_batch(), &error);
            if (status == STK_OK) fail_msg("%s lost with %d goes by unnoticed", wheres[w], codes[c]);
            expect_good_failure(wheres[w], status, &error);
            const uint64_t start_ns = stk__clock_ns();
            for (int i = 0; i < 3; i++) {
                error = (stk_error){0};
                assert_int_not_equal(stk__device_augment(device, scenes_batch(), &error), STK_OK);
                assert_true(error.message[0] && error.hint[0]);
            }
            assert_true(stk__clock_ns() - start_ns < 5 * STK_SECOND_NS);
            stk__device_close(&device);
            assert_int_equal(fake->count("misuses"), 0);
        }
}

/* Whatever never ends, the batch ends with a time-out, and so does every later one, at once. */
static void what_hangs_ends_in_a_time_out(void **state)
{
    (void)state;
    static const char *const wheres[] = {"copy_in", "copy_out", "kernel", "record"};
    for (size_t w = 0; w < sizeof wheres / sizeof wheres[0]; w++) {
        stk_error error = {0};
        stk__device *device = NULL;
        fake_driver_play("late 0\nfault %s at 1 hang 3600", wheres[w]);
        assert_int_equal(stk__device_open(&device, "cuda:0", &error), STK_OK);
        device->timeout_ns = STK_SECOND_NS / 20;
        stk_status status = STK_OK;
        for (int i = 0; i < 4 && status == STK_OK; i++)
            status = stk__device_augment(device, scenes_batch(), &error);
        assert_int_equal(status, STK_ERROR_TIMEOUT);
        assert_non_null(strstr(error.message, "cuda:0"));
        assert_true(error.hint[0]);
        assert_int_equal(stk__device_augment(device, scenes_batch(), &error), STK_ERROR_TIMEOUT);
        stk__device_close(&device);
        assert_null(device);
        assert_int_equal(fake->count("misuses"), 0); /* nothing was freed that the GPU may still use */
        fake->release();
    }
}

/* Less and less memory: a clear message, and nothing is left; then enough. */
static void out_of_memory(void **state)
{
    (void)state;
    static const char *const limits[] = {"gpu 0 memory %d", "pinned %d"};
    for (int l = 0; l < 2; l++) {
        int refused = 0;
        for (int bytes = 0; bytes < 1 << 24; bytes = bytes * 2 + 100) {
            char script[64];
            stk_error error = {0};
            snprintf(script, sizeof script, l ? "pinned %d" : "gpu 0 memory %d", bytes);
            fake_driver_play("late 0\n%s", script);
            scenes_spoil();
            const stk_status status = scenes[0].play(&error);
            if (status == STK_OK) assert_true(scenes_are_right());
            refused += status != STK_OK;
            if (status != STK_OK) expect_good_failure(limits[l], status, &error);
            if (status != STK_OK) assert_int_equal(status, STK_ERROR_MEMORY);
            fake_driver_expect_nothing_left(script);
        }
        assert_true(refused > 2 && refused < 17);
    }
}

static int allocations_left = -1;

static void *refuse_one(void *context, size_t bytes)
{
    if (allocations_left > 0 && --allocations_left == 0) return NULL;
    return count_alloc(context, bytes);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    for (const scene *s = scenes; s->name; s++) {
        int failed = 0;
        bool refused = true;
        stk_allocator_set(&(stk_allocator){.alloc = refuse_one, .release = count_release});
        for (int n = 1; refused; n++) {
            stk_error error = {0};
            fake_driver_play("late 0\n%s", s->script);
            if (s->cold) scenes_forget_programs();
            const long before = allocations;
            allocations_left = n;
            const stk_status status = s->play(&error);
            refused = allocations_left == 0;
            failed += status != STK_OK;
            if (status != STK_OK) assert_int_equal(status, STK_ERROR_MEMORY);
            assert_int_equal(allocations, before);
            fake_driver_expect_nothing_left(s->name);
        }
        allocations_left = -1;
        stk_allocator_set(&(stk_allocator){.alloc = count_alloc, .release = count_release});
        assert_true(failed >= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_every_call),
        cmocka_unit_test(scenes_make_every_call),
        cmocka_unit_test(every_call_fails_with_every_code),
        cmocka_unit_test(calls_after_a_failure_fail_too),
        cmocka_unit_test(a_lost_context_stays_lost),
        cmocka_unit_test(what_hangs_ends_in_a_time_out),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
