/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of the fake CUDA driver, and what it lets nobody do while a stream is captured; memory of the host
 * that is locked in part. */
#include "core/clock.h"
#include "fake/cuda/fake_cuda.h"
#include "fake_cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { BYTES = 4096, GLOBAL = 0, THREAD = 1, RELAXED = 2 };
enum { ALREADY_REGISTERED = 712, UNSUPPORTED = 900, INVALIDATED = 901, ISOLATION = 905, IMPLICIT = 906 };

/* Calls that Stoker does not make itself. */
#define GRAPH_CALLS(X)                                                                                       \
    X(cuStreamBeginCapture_v2)                                                                               \
    X(cuStreamEndCapture)                                                                                    \
    X(cuStreamIsCapturing)                                                                                   \
    X(cuThreadExchangeStreamCaptureMode)                                                                     \
    X(cuGraphGetNodes)                                                                                       \
    X(cuGraphInstantiateWithFlags)                                                                           \
    X(cuGraphLaunch)                                                                                         \
    X(cuGraphExecDestroy)                                                                                    \
    X(cuGraphDestroy)
typedef struct graph_calls {
#define MEMBER(name) __typeof__(&name) name;
    GRAPH_CALLS(MEMBER)
#undef MEMBER
} graph_calls;

static const fake_driver *fake;
static const stk__cuda_api *cuda;
static graph_calls graphs;
static stk__cu_handle context, stream, other, event;
static stk__cu_pointer device;
static uint8_t *pinned;

#define GOOD(call) assert_int_equal(call, CUDA_SUCCESS)

static int set_up(void **state)
{
    (void)state;
    fake_driver_play("late 0");
    GOOD(cuda->cuInit(0));
    GOOD(cuda->cuDevicePrimaryCtxRetain(&context, 0));
    GOOD(cuda->cuCtxPushCurrent_v2(context));
    GOOD(cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    GOOD(cuda->cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    GOOD(cuda->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    GOOD(cuda->cuMemAlloc_v2(&device, BYTES));
    GOOD(cuda->cuMemHostAlloc((void **)&pinned, BYTES, 0));
    return 0;
}

static void drain(void)
{
    const uint64_t until_ns = stk__clock_ns() + 20 * STK_SECOND_NS;
    int code;
    GOOD(cuda->cuEventRecord(event, stream));
    while ((code = cuda->cuEventQuery(event)) == CUDA_ERROR_NOT_READY && stk__clock_ns() < until_ns)
        usleep(50);
    GOOD(code);
}

/* Twice the same work, with what is there at each launch. */
static void graphs_are_launched_again(void **state)
{
    stk__cu_handle graph, exec;
    size_t count = 0;
    int status;
    (void)state;
    memset(pinned, 1, BYTES);
    GOOD(graphs.cuStreamBeginCapture_v2(stream, GLOBAL));
    GOOD(graphs.cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, 1);
    GOOD(cuda->cuMemcpyHtoDAsync_v2(device, pinned, BYTES, stream));
    GOOD(graphs.cuStreamEndCapture(stream, &graph));
    GOOD(graphs.cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 1);
    assert_int_equal(fake->count("copies_in"), 0); /* nothing was done yet */
    GOOD(graphs.cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int value = 2; value < 4; value++) {
        memset(pinned, value, BYTES);
        GOOD(graphs.cuGraphLaunch(exec, stream));
        drain();
        assert_int_equal(*(const uint8_t *)fake->host(device), value);
    }
    assert_int_equal(fake->count("graph_launches"), 2);
    GOOD(graphs.cuGraphExecDestroy(exec));
    GOOD(graphs.cuGraphDestroy(graph));
    assert_int_not_equal(graphs.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
}

/* A capture in which this gave that code is over. */
static void expect_spoilt(int code, int right)
{
    stk__cu_handle graph;
    int status;
    assert_int_equal(code, right);
    GOOD(graphs.cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, 2);
    assert_int_equal(graphs.cuStreamEndCapture(stream, &graph), INVALIDATED);
    assert_null(graph);
    GOOD(graphs.cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, 0);
}

static void captures_are_spoilt(void **state)
{
    stk__cu_pointer more;
    uint8_t pageable[16];
    (void)state;
    assert_int_equal(graphs.cuStreamBeginCapture_v2(NULL, GLOBAL), UNSUPPORTED); /* the default stream */
    GOOD(graphs.cuStreamBeginCapture_v2(stream, GLOBAL));
    expect_spoilt(cuda->cuMemAlloc_v2(&more, BYTES), UNSUPPORTED);
    GOOD(graphs.cuStreamBeginCapture_v2(stream, THREAD));
    expect_spoilt(cuda->cuEventQuery(event), UNSUPPORTED);
    GOOD(graphs.cuStreamBeginCapture_v2(stream, THREAD));
    expect_spoilt(cuda->cuMemcpyHtoDAsync_v2(device, pageable, sizeof pageable, stream), UNSUPPORTED);
    GOOD(cuda->cuEventRecord(event, other));
    GOOD(graphs.cuStreamBeginCapture_v2(stream, THREAD));
    expect_spoilt(cuda->cuStreamWaitEvent(stream, event, 0), ISOLATION);
    assert_int_equal(fake->count("capture_errors"), 4);
}

/* A relaxed thread may; so may one while another captures for itself alone. */
static void *allocate(void *code)
{
    stk__cu_handle popped;
    stk__cu_pointer pointer;
    GOOD(cuda->cuCtxPushCurrent_v2(context));
    *(int *)code = cuda->cuMemAlloc_v2(&pointer, BYTES);
    GOOD(cuda->cuCtxPopCurrent_v2(&popped));
    return NULL;
}

static int allocate_elsewhere(void)
{
    pthread_t thread;
    int code = -1;
    assert_int_equal(pthread_create(&thread, NULL, allocate, &code), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return code;
}

static void modes_say_who_may(void **state)
{
    stk__cu_handle graph;
    stk__cu_pointer pointer;
    int mode = RELAXED;
    (void)state;
    GOOD(graphs.cuStreamBeginCapture_v2(stream, GLOBAL));
    GOOD(graphs.cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, GLOBAL);
    GOOD(cuda->cuMemAlloc_v2(&pointer, BYTES));
    mode = GLOBAL;
    GOOD(graphs.cuThreadExchangeStreamCaptureMode(&mode));
    GOOD(graphs.cuStreamEndCapture(stream, &graph));
    GOOD(graphs.cuStreamBeginCapture_v2(stream, THREAD));
    GOOD(allocate_elsewhere());
    GOOD(graphs.cuStreamEndCapture(stream, &graph));
    GOOD(graphs.cuStreamBeginCapture_v2(stream, GLOBAL));
    expect_spoilt(allocate_elsewhere(), UNSUPPORTED);
}

/* Another stream joins by an event; the default stream may not meet a blocking one. */
static void streams_join(void **state)
{
    stk__cu_handle graph, blocking;
    size_t count;
    int status;
    (void)state;
    GOOD(graphs.cuStreamBeginCapture_v2(stream, GLOBAL));
    GOOD(cuda->cuEventRecord(event, stream));
    GOOD(cuda->cuStreamWaitEvent(other, event, 0));
    GOOD(cuda->cuMemcpyHtoDAsync_v2(device, pinned, BYTES, other));
    GOOD(cuda->cuEventRecord(event, other));
    GOOD(cuda->cuStreamWaitEvent(stream, event, 0));
    GOOD(graphs.cuStreamEndCapture(stream, &graph));
    GOOD(graphs.cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 1);
    GOOD(graphs.cuStreamIsCapturing(other, &status));
    assert_int_equal(status, 0);
    GOOD(cuda->cuStreamCreate(&blocking, 0));
    GOOD(graphs.cuStreamBeginCapture_v2(blocking, GLOBAL));
    assert_int_equal(cuda->cuMemcpyHtoDAsync_v2(device, pinned, BYTES, NULL), IMPLICIT);
    assert_int_equal(graphs.cuStreamEndCapture(blocking, &graph), INVALIDATED);
}

/* Pages are locked, not bytes; and a copy is of locked memory or of other memory, not of both. */
static void pages_are_locked_whole(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages = aligned_alloc(page, 3 * page);
    (void)state;
    assert_non_null(pages);
    GOOD(cuda->cuMemHostRegister_v2(pages, page, 0));
    assert_int_equal(cuda->cuMemHostRegister_v2(pages + page - 8, page, 0), ALREADY_REGISTERED);
    assert_int_not_equal(cuda->cuMemcpyHtoDAsync_v2(device, pages + page - 8, 16, stream), CUDA_SUCCESS);
    assert_int_equal(fake->count("misuses"), 2); /* a range that ends in a page, and a copy of both */
    GOOD(cuda->cuMemHostRegister_v2(pages + 2 * page, 100, 0));
    assert_int_equal(cuda->cuMemHostRegister_v2(pages + 2 * page + 200, 100, 0), ALREADY_REGISTERED);
    GOOD(cuda->cuMemHostUnregister(pages));
    GOOD(cuda->cuMemHostUnregister(pages + 2 * page));
    free(pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(graphs_are_launched_again, set_up),
        cmocka_unit_test_setup(captures_are_spoilt, set_up),
        cmocka_unit_test_setup(modes_say_who_may, set_up),
        cmocka_unit_test_setup(streams_join, set_up),
        cmocka_unit_test_setup(pages_are_locked_whole, set_up),
    };
    fake = fake_driver_open();
    cuda = &fake->cuda;
    void *library = dlopen(getenv("STOKER_CUDA_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
#define FIND(name)                                                                                           \
    {                                                                                                        \
        void *symbol = dlsym(library, #name);                                                                \
        memcpy(&graphs.name, &symbol, sizeof symbol);                                                        \
    }
    GRAPH_CALLS(FIND)
#undef FIND
    return cmocka_run_group_tests(tests, NULL, NULL);
}
