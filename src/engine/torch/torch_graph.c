/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs by PyTorch's own CUDAGraph class, called through its exported C++ symbols: a pass is
 * captured once and replayed. Calls run inside PyTorch's parallel-for, which catches C++ exceptions for
 * us. */
#include "engine/torch/torch_graph.h"

#include "core/memory.h"
#include "engine/torch/torch_call.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>

/* The object's size is not in any interface; it has some hundred bytes. What lies behind must stay zero. */
enum { OBJECT_BYTES = 4096, GUARD_BYTES = 4096, CAPTURE_THREAD_LOCAL = 1 };

typedef struct torch_graph {
    stk__graph front;
    bool made;     /* there is an object */
    bool captured; /* and it counts among the engine's */
    _Alignas(64) unsigned char object[OBJECT_BYTES];
    unsigned char guard[GUARD_BYTES];
} torch_graph;

void stk__torch_graph_api_find(stk__torch_graph_api *calls, void *cuda, void *host)
{
    const struct {
        void *library, *member;
        const char *name;
    } needed[] = {
        {cuda, &calls->set_stream, "torch_set_current_cuda_stream"},
        {cuda, &calls->pool_stream, "torch_get_cuda_stream_from_pool"},
        {cuda, &calls->enter_device, "aoti_torch_create_cuda_guard"},
        {cuda, &calls->leave_device, "aoti_torch_delete_cuda_guard"},
        {host, &calls->guard, "torch_parallel_for"},
        {cuda, &calls->construct, "_ZN2at4cuda9CUDAGraphC1Eb"},
        {cuda, &calls->destruct, "_ZN2at4cuda9CUDAGraphD1Ev"},
        {cuda, &calls->begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode"},
        {cuda, &calls->end, "_ZN2at4cuda9CUDAGraph11capture_endEv"},
        {cuda, &calls->replay, "_ZN2at4cuda9CUDAGraph6replayEv"},
        {cuda, &calls->pool, "_ZN2at4cuda9CUDAGraph4poolEv"}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0] && !calls->missing; i++) {
        void *symbol = dlsym(needed[i].library, needed[i].name);
        if (symbol)
            memcpy(needed[i].member, &symbol, sizeof symbol); /* C has no cast from void * to a function */
        else
            calls->missing = needed[i].name;
    }
}

/* --- members, called inside the guard --------------------------------------------------------------------
 */

typedef struct member_call {
    const stk__torch_graph_api *api;
    torch_graph *graph;
    stk__torch_pool pool;
} member_call;

static void construct(int64_t begin, int64_t end, void *context)
{
    const member_call *c = context;
    (void)begin, (void)end;
    c->api->construct(c->graph->object, false);
    c->graph->made = true;
}

static void destruct(int64_t begin, int64_t end, void *context)
{
    const member_call *c = context;
    (void)begin, (void)end;
    c->api->destruct(c->graph->object);
}

static void capture(int64_t begin, int64_t end, void *context)
{
    const member_call *c = context;
    (void)begin, (void)end;
    c->api->begin(c->graph->object, c->pool, CAPTURE_THREAD_LOCAL);
}

static void finish(int64_t begin, int64_t end, void *context)
{
    member_call *c = context;
    (void)begin, (void)end;
    c->api->end(c->graph->object);
    c->pool = c->api->pool(c->graph->object);
}

static void replay(int64_t begin, int64_t end, void *context)
{
    const member_call *c = context;
    (void)begin, (void)end;
    c->api->replay(c->graph->object);
}

/* The class works on the current device of the thread, and on that device's current stream. */
static stk_status call(member_call *c, void (*member)(int64_t, int64_t, void *), const char *what,
                       stk_error *error)
{
    stk__torch_scope s = stk__torch_begin(c->graph->front.engine, error);
    const stk__torch_cuda *cuda = s.engine->device.cuda;
    void *entered = NULL;
    stk__torch_cuda_prepare_thread(cuda);
    if (stk__torch_went_well(&s, c->api->enter_device(cuda->driver.device.index, &entered), what))
        stk__torch_went_well(&s, c->api->guard(0, 1, 1, member, c), what);
    if (entered) c->api->leave_device(entered);
    return stk__torch_end(&s);
}

/* --- graphs ----------------------------------------------------------------------------------------------
 */

static member_call member_of(torch_graph *graph)
{
    const stk__torch_cuda *cuda = stk__torch_of(graph->front.engine)->device.cuda;
    return (member_call){.api = &cuda->api.graphs, .graph = graph, .pool = cuda->pool};
}

static bool has_overflown(const torch_graph *graph)
{
    static const unsigned char zeros[GUARD_BYTES];
    return memcmp(graph->guard, zeros, sizeof zeros) != 0;
}

void stk__torch_graph_destroy(stk__graph *graph)
{
    torch_graph *gone = (torch_graph *)graph;
    stk__torch_cuda *cuda = stk__torch_of(graph->engine)->device.cuda;
    member_call c = member_of(gone);
    if (gone->made) call(&c, destruct, "a graph's end", NULL);
    if (gone->captured && --cuda->graph_count == 0)
        cuda->pool = (stk__torch_pool){0}; /* it went with the last */
    stk__free(gone);
}

stk_status stk__torch_graph_begin(stk__engine *engine, stk_error *error)
{
    stk__torch_cuda *cuda = stk__torch_of(engine)->device.cuda;
    torch_graph *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "a graph");
    made->front.engine = engine;
    member_call c = member_of(made);
    stk_status status = call(&c, construct, "a graph", error);
    if (status == STK_OK && has_overflown(made))
        status = stk__fail(error, STK_ERROR_UNSUPPORTED, "this PyTorch's CUDAGraph has more than %d bytes",
                           OBJECT_BYTES);
    if (status == STK_OK) status = call(&c, capture, "the begin of a capture", error);
    if (status != STK_OK) {
        stk__torch_graph_destroy(&made->front);
        return status;
    }
    cuda->capturing = &made->front;
    return STK_OK;
}

stk_status stk__torch_graph_end(stk__engine *engine, stk__graph **graph, stk_error *error)
{
    stk__torch_cuda *cuda = stk__torch_of(engine)->device.cuda;
    torch_graph *made = (torch_graph *)cuda->capturing;
    member_call c = member_of(made);
    cuda->capturing = NULL;
    STK__TRY(call(&c, finish, "the end of a capture", error)); /* the object is left behind: PyTorch's
                                                                  allocator may still know it */
    made->captured = true;
    cuda->graph_count++;
    cuda->pool = c.pool; /* all graphs of an engine run one after the other */
    *graph = &made->front;
    return STK_OK;
}

stk_status stk__torch_graph_launch(stk__graph *graph, stk_error *error)
{
    member_call c = member_of((torch_graph *)graph);
    return call(&c, replay, "the launch of a graph", error);
}
