/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL device when calls fail, never finish, or there is no memory. The real driver stands behind: each
 * call of the table goes through a wrapper that counts and can refuse. */
#include "core/clock.h"
#include "device/opencl/opencl_device.h"
#include "device/program_cache.h"
#include "device/trial.h"
#include "support/workspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static stk__opencl_api real, *api;
static int calls_left = -1; /* until one is refused; -1: none is */
static int live;            /* contexts, queues, programs, kernels, buffers, events that are not released */
static int buffers_made, builds_of_text;
static bool hangs; /* kernels never finish */
static stk__trial trial;

static bool is_refused(void)
{
    return calls_left > 0 && --calls_left == 0;
}

static int32_t made(int32_t code)
{
    live += code == CL_SUCCESS;
    return code;
}

static int32_t get_platforms(uint32_t most, stk__cl_handle *platforms, uint32_t *count)
{
    return is_refused() ? CL_OUT_OF_HOST_MEMORY : real.clGetPlatformIDs(most, platforms, count);
}

static stk__cl_handle refuse(int32_t *code)
{
    *code = CL_OUT_OF_RESOURCES;
    return NULL;
}

static stk__cl_handle create_context(const intptr_t *properties, uint32_t count, const stk__cl_handle *ids,
                                     stk__cl_complaint complaint, void *data, int32_t *code)
{
    if (is_refused()) return refuse(code);
    stk__cl_handle handle = real.clCreateContext(properties, count, ids, complaint, data, code);
    made(*code);
    return handle;
}

static stk__cl_handle create_queue(stk__cl_handle context, stk__cl_handle id, uint64_t properties,
                                   int32_t *code)
{
    if (is_refused()) return refuse(code);
    stk__cl_handle handle = real.clCreateCommandQueue(context, id, properties, code);
    made(*code);
    return handle;
}

static stk__cl_handle create_from_text(stk__cl_handle context, uint32_t count, const char **texts,
                                       const size_t *lengths, int32_t *code)
{
    if (is_refused()) return refuse(code);
    builds_of_text++;
    stk__cl_handle handle = real.clCreateProgramWithSource(context, count, texts, lengths, code);
    made(*code);
    return handle;
}

static stk__cl_handle create_from_binary(stk__cl_handle context, uint32_t count, const stk__cl_handle *ids,
                                         const size_t *sizes, const unsigned char **binaries, int32_t *states,
                                         int32_t *code)
{
    if (is_refused()) return refuse(code);
    stk__cl_handle handle =
        real.clCreateProgramWithBinary(context, count, ids, sizes, binaries, states, code);
    made(*code);
    return handle;
}

static int32_t build(stk__cl_handle program, uint32_t count, const stk__cl_handle *ids, const char *options,
                     stk__cl_notify notify, void *data)
{
    return is_refused() ? CL_OUT_OF_HOST_MEMORY
                        : real.clBuildProgram(program, count, ids, options, notify, data);
}

static stk__cl_handle create_kernel(stk__cl_handle program, const char *name, int32_t *code)
{
    if (is_refused()) return refuse(code);
    stk__cl_handle handle = real.clCreateKernel(program, name, code);
    made(*code);
    return handle;
}

static stk__cl_handle create_buffer(stk__cl_handle context, uint64_t use, size_t bytes, void *host,
                                    int32_t *code)
{
    if (is_refused()) return refuse(code);
    buffers_made++;
    stk__cl_handle handle = real.clCreateBuffer(context, use, bytes, host, code);
    made(*code);
    return handle;
}

static int32_t set_argument(stk__cl_handle kernel, uint32_t index, size_t bytes, const void *value)
{
    return is_refused() ? -50 : real.clSetKernelArg(kernel, index, bytes, value);
}

static int32_t write_buffer(stk__cl_handle queue, stk__cl_handle buffer, uint32_t blocking, size_t offset,
                            size_t bytes, const void *from, uint32_t count, const stk__cl_handle *list,
                            stk__cl_handle *event)
{
    if (is_refused()) return CL_OUT_OF_RESOURCES;
    return made(real.clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, from, count, list, event));
}

static int32_t read_buffer(stk__cl_handle queue, stk__cl_handle buffer, uint32_t blocking, size_t offset,
                           size_t bytes, void *to, uint32_t count, const stk__cl_handle *list,
                           stk__cl_handle *event)
{
    if (is_refused()) return CL_OUT_OF_RESOURCES;
    return made(real.clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to, count, list, event));
}

static int32_t launch(stk__cl_handle queue, stk__cl_handle kernel, uint32_t dimensions, const size_t *offset,
                      const size_t *items, const size_t *group, uint32_t count, const stk__cl_handle *list,
                      stk__cl_handle *event)
{
    if (is_refused()) return CL_OUT_OF_RESOURCES;
    return made(
        real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, items, group, count, list, event));
}

/* Refused: the command itself failed on the device. */
static int32_t event_info(stk__cl_handle event, uint32_t what, size_t bytes, void *value, size_t *size)
{
    const int32_t failed = CL_OUT_OF_RESOURCES, running = 1;
    const int32_t code = real.clGetEventInfo(event, what, bytes, value, size);
    const bool finished = code == CL_SUCCESS && memcmp(value, &(int32_t){CL_COMPLETE}, 4) == 0;
    if (finished && is_refused()) memcpy(value, &failed, sizeof failed);
    if (hangs) memcpy(value, &running, sizeof running);
    return code;
}

#define RELEASES(name, call)                                                                                 \
    static int32_t name(stk__cl_handle handle)                                                               \
    {                                                                                                        \
        live--;                                                                                              \
        return real.call(handle);                                                                            \
    }
RELEASES(release_context, clReleaseContext)
RELEASES(release_queue, clReleaseCommandQueue)
RELEASES(release_program, clReleaseProgram)
RELEASES(release_kernel, clReleaseKernel)
RELEASES(release_buffer, clReleaseMemObject)
RELEASES(release_event, clReleaseEvent)

static void wrap_calls(void)
{
    real = *api;
    api->clGetPlatformIDs = get_platforms;
    api->clCreateContext = create_context;
    api->clCreateCommandQueue = create_queue;
    api->clCreateProgramWithSource = create_from_text;
    api->clCreateProgramWithBinary = create_from_binary;
    api->clBuildProgram = build;
    api->clCreateKernel = create_kernel;
    api->clCreateBuffer = create_buffer;
    api->clSetKernelArg = set_argument;
    api->clEnqueueWriteBuffer = write_buffer;
    api->clEnqueueReadBuffer = read_buffer;
    api->clEnqueueNDRangeKernel = launch;
    api->clGetEventInfo = event_info;
    api->clReleaseContext = release_context;
    api->clReleaseCommandQueue = release_queue;
    api->clReleaseProgram = release_program;
    api->clReleaseKernel = release_kernel;
    api->clReleaseMemObject = release_buffer;
    api->clReleaseEvent = release_event;
}

/* A batch with contrast and masks, so that every call is made. */
static int prepare(void **state)
{
    (void)state;
    stk_error error;
    uint64_t seed = 0;
    api = (stk__opencl_api *)stk__opencl_api_open(&error); /* its memory is not const, only our view of it */
    if (!api) return 0;
    wrap_calls();
    do
        assert_int_equal(stk__trial_make(&trial, seed++, 40, &error), STK_OK);
    while (trial.batch.blocks[0].step_kind[0] != STK_COLOUR_CONTRAST || !trial.batch.blocks[0].step_count ||
           !trial.mask_bytes);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    stk__trial_fini(&trial);
    return 0;
}

static void need_device(void)
{
    stk__device_info info = {0};
    stk__device_opencl.list(&info, 1);
    if (info.available) return;
    printf("skipped: no OpenCL device here: %s\n", info.why);
    skip();
}

static stk__device *open_device(void)
{
    stk__device *device;
    stk_error error = {0};
    if (stk__device_open(&device, "opencl:0", &error) != STK_OK) fail_msg("%s", error.message);
    return device;
}

static stk_status open_and_augment(stk_error *error)
{
    stk__device *device;
    stk_status status = stk__device_open(&device, "opencl", error);
    if (status == STK_OK) status = stk__device_augment(device, &trial.batch, error);
    stk__device_close(&device);
    return status;
}

/* From the n-th on is enough to see each call refused once. Programs that cannot be taken from the cache are
 * built from the text, so those refusals pass. */
static void every_call_fails_once(void **state)
{
    (void)state;
    need_device();
    stk_error error;
    int failed = 0, n = 1;
    for (bool refused = true; refused; n++) {
        calls_left = n;
        error = (stk_error){0};
        stk__trial_spoil(&trial);
        const stk_status status = open_and_augment(&error);
        refused = calls_left == 0;
        failed += status != STK_OK;
        if (status != STK_OK) {
            assert_true(status == STK_ERROR_MEMORY || status == STK_ERROR_UNSUPPORTED);
            assert_true(error.message[0] && error.hint[0]);
        } else {
            assert_int_equal(stk__trial_compare(&trial).differing, 0);
        }
        assert_int_equal(live, 0);
    }
    calls_left = -1;
    printf("%d calls, %d refusals reached the caller\n", n - 2, failed);
    assert_true(n > 30 && failed > 25);
}

static int allocations_left = -1, allocations;

static void *count_alloc(void *context, size_t bytes)
{
    (void)context;
    allocations++;
    if (allocations_left > 0 && --allocations_left == 0) return NULL;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t bytes)
{
    (void)context, (void)bytes;
    allocations--;
    free(memory);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    need_device();
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release};
    stk_error error;
    int n = 1, failed = 0;
    stk_allocator_set(&hook);
    for (bool refused = true; refused; n++) {
        allocations_left = n;
        const int before = allocations;
        const stk_status status = open_and_augment(&error);
        refused = allocations_left == 0;
        if (status != STK_OK) assert_int_equal(status, STK_ERROR_MEMORY);
        failed += status != STK_OK;
        assert_int_equal(allocations - (refused ? 1 : 0),
                         before); /* a refused one is counted, never released */
        assert_int_equal(live, 0);
    }
    allocations_left = -1;
    stk_allocator_set(NULL);
    assert_true(failed >= 2);
}

/* After the largest batch nothing is allocated, neither here nor on the device, and no event is left. */
static void nothing_is_allocated_after_warm_up(void **state)
{
    (void)state;
    need_device();
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release};
    stk__device *device = open_device();
    assert_int_equal(stk__device_augment(device, &trial.batch, NULL), STK_OK);
    const int made_before = buffers_made, live_before = live;
    stk_allocator_set(&hook);
    allocations = 0;
    for (int i = 0; i < 5; i++)
        assert_int_equal(stk__device_augment(device, &trial.batch, NULL), STK_OK);
    assert_int_equal(allocations, 0);
    stk_allocator_set(NULL);
    assert_int_equal(buffers_made, made_before);
    assert_int_equal(live, live_before);
    assert_true(device->last_copy_ns > 0 && device->last_kernel_ns > 0);
    stk__device_close(&device);
    assert_int_equal(live, 0);
}

static stk__device
    *volatile abandoned; /* a device that hangs is left behind on purpose; this keeps it reachable */

static void a_hanging_kernel_ends_in_a_time_out(void **state)
{
    (void)state;
    need_device();
    stk_error error;
    stk__device *device = abandoned = open_device();
    assert_int_equal(stk__device_augment(device, &trial.batch, &error), STK_OK);
    stk__trial_spoil(&trial);
    device->timeout_ns = STK_SECOND_NS / 20;
    hangs = true;
    const uint64_t start_ns = stk__clock_ns();
    assert_int_equal(stk__device_augment(device, &trial.batch, &error), STK_ERROR_TIMEOUT);
    assert_true(stk__clock_ns() - start_ns < 5 * STK_SECOND_NS);
    assert_non_null(strstr(error.message, "opencl:0"));
    hangs = false;
    assert_int_equal(stk__device_augment(device, &trial.batch, &error), STK_ERROR_TIMEOUT);
    for (size_t i = 0; i < trial.output.size_bytes; i++)
        assert_int_equal(trial.output.data[i], 0xA5);
    stk__device_close(&device);
    assert_null(device);
    live = 0;
}

static void text_that_cannot_be_built(void **state)
{
    (void)state;
    need_device();
    stk_error error;
    stk__device *device = open_device();
    stk__opencl other = *(stk__opencl *)device;
    const int before = live;
    other.program = other.grey = other.augment = NULL;
    assert_int_equal(stk__opencl_build(&other, "__kernel void stk_grey() { nonsense; }", &error),
                     STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "cannot compile the kernels"));
    assert_non_null(strstr(error.message, "nonsense"));
    assert_int_equal(stk__opencl_build(&other, "__kernel void another() {}", &error), STK_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "CL_INVALID_KERNEL_NAME"));
    assert_int_equal(live, before);
    stk__device_close(&device);
}

/* The second start takes the program from disk; a damaged file is built again and replaced. */
static void programs_are_kept_on_disk(void **state)
{
    (void)state;
    need_device();
    static const char text[] = "__kernel void stk_grey() {} __kernel void stk_augment() {}";
    char before[512] = "", command[600];
    stk__device *device = open_device();
    workspace folder = workspace_make();
    if (getenv("STOKER_CACHE_DIR")) snprintf(before, sizeof before, "%s", getenv("STOKER_CACHE_DIR"));
    setenv("STOKER_CACHE_DIR", folder.path, 1);
    static const int expected[] = {1, 0, 1, 0}; /* builds of the text at each start */
    for (int start = 0; start < 4; start++) {
        stk__opencl other = *(stk__opencl *)device;
        other.program = other.grey = other.augment = NULL;
        builds_of_text = 0;
        assert_int_equal(stk__opencl_build(&other, text, NULL), STK_OK);
        assert_int_equal(builds_of_text, expected[start]);
        assert_int_equal(workspace_count(&folder), 1);
        api->clReleaseKernel(other.grey);
        api->clReleaseKernel(other.augment);
        api->clReleaseProgram(other.program);
        snprintf(command, sizeof command, "for f in '%s'/*; do echo x >$f; done", folder.path);
        if (start == 1) assert_int_equal(system(command), 0);
    }
    setenv("STOKER_CACHE_DIR", before, 1);
    workspace_remove(&folder);
    stk__device_close(&device);
}

static void a_device_that_is_not_there(void **state)
{
    (void)state;
    need_device();
    stk_error error;
    stk__device *device;
    assert_int_equal(stk__device_open(&device, "opencl:60", &error), STK_ERROR_UNSUPPORTED);
    assert_null(device);
    assert_non_null(strstr(error.message, "no device opencl:60"));
}

/* More than the device gives in one piece is refused before it is asked. */
static void a_batch_that_is_too_large(void **state)
{
    (void)state;
    need_device();
    stk_error error;
    stk__device *device = open_device();
    device->info.largest_buffer_bytes = 100;
    assert_int_equal(stk__device_augment(device, &trial.batch, &error), STK_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "at most 100"));
    stk__device_close(&device);
    assert_int_equal(live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(nothing_is_allocated_after_warm_up),
        cmocka_unit_test(text_that_cannot_be_built),
        cmocka_unit_test(programs_are_kept_on_disk),
        cmocka_unit_test(a_device_that_is_not_there),
        cmocka_unit_test(a_batch_that_is_too_large),
        cmocka_unit_test(a_hanging_kernel_ends_in_a_time_out),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
