/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: streams are captured instead of doing their work, and the graph does it when it is launched. Nodes
 * are done in the order in which they were captured. What would wait, allocate or ask meanwhile is refused
 * and spoils the capture, as the driver's documentation says. */
#include "fake_gpu.h"

#include <stdlib.h>
#include <string.h>

enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };
enum { STATUS_NONE, STATUS_ACTIVE, STATUS_INVALIDATED };

typedef struct node {
    struct node *next;
    fake_work *work; /* of the driver, or … */
    void (*run)(const void *task);
    void *task; /* … of another library */
} node;

typedef struct fake_graph {
    fake_handle handle;
    node *first, **last;     /* lock, while it is captured */
    size_t count;            /* lock */
    fake_stream *origin;     /* where the capture began; NULL: it is over */
    int mode, spoilt;        /* lock: spoilt: the code of what did it */
    pthread_t thread;        /* that began it */
    struct fake_graph *next; /* lock: in the list of those under way */
} fake_graph;

typedef struct fake_exec {
    fake_handle handle;
    fake_graph *graph; /* lives as long as the process, as all handles do */
} fake_exec;

static fake_graph *captures;        /* lock: under way */
static _Thread_local int mode_here; /* MODE_GLOBAL */

/* Lock held. */
static int spoil(fake_graph *graph, int code)
{
    if (!graph->spoilt) graph->spoilt = code;
    fake_counts[FAKE_CAPTURE_ERRORS]++;
    return code;
}

/* Those that wait, allocate, free or ask, of the calls that Stoker makes. */
static bool is_unsafe(fake_function function)
{
    static const fake_function unsafe[] = {
        FAKE_cuMemAlloc_v2,        FAKE_cuMemFree_v2,        FAKE_cuMemHostAlloc, FAKE_cuMemFreeHost,
        FAKE_cuMemHostRegister_v2, FAKE_cuMemHostUnregister, FAKE_cuEventQuery,   FAKE_cuModuleLoadData};
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
        if (unsafe[i] == function) return true;
    return false;
}

int fake_capture_refuses(fake_function function)
{
    if (!captures || mode_here == MODE_RELAXED || !is_unsafe(function)) return CUDA_SUCCESS;
    for (fake_graph *g = captures; g; g = g->next) {
        const bool mine = pthread_equal(g->thread, pthread_self());
        if (g->handle.age != fake_age || g->mode == MODE_RELAXED) continue;
        if (mine || (g->mode == MODE_GLOBAL && mode_here == MODE_GLOBAL))
            return spoil(g, FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return CUDA_SUCCESS;
}

int fake_cuda_unsafe(void)
{
    pthread_mutex_lock(&fake_lock);
    const int code = fake_capture_refuses(FAKE_cuEventQuery);
    pthread_mutex_unlock(&fake_lock);
    return code;
}

/* Lock held. Work on the default stream would wait for blocking streams, which are captured. */
static int judge_default(const fake_stream *stream)
{
    for (fake_graph *g = captures; g; g = g->next)
        if (g->handle.age == fake_age && g->origin->blocking && !stream->capture && stream->legacy &&
            g->handle.gpu == stream->handle.gpu)
            return spoil(g, FAKE_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return -1;
}

/* Lock held. Takes the node's content over. -1: the stream is not captured. */
static int add_node(fake_stream *stream, node content)
{
    fake_graph *graph = stream->capture;
    if (!graph) return judge_default(stream);
    if (graph->spoilt) return FAKE_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    node *made = malloc(sizeof *made);
    if (!made) return spoil(graph, CUDA_ERROR_OUT_OF_MEMORY);
    *made = content;
    *graph->last = made;
    graph->last = &made->next;
    graph->count++;
    return CUDA_SUCCESS;
}

int fake_capture_work(fake_stream *stream, fake_work *work)
{
    pthread_mutex_lock(&fake_lock);
    int code = -1;
    if (stream->capture && (work->own || (work->function == FAKE_copy_out && !work->uses[1])))
        code = spoil(stream->capture, FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); /* pageable memory */
    else
        code = add_node(stream, (node){.work = work});
    pthread_mutex_unlock(&fake_lock);
    return code;
}

int fake_cuda_capture(void *stream, int device, void (*run)(const void *task), const void *task, size_t bytes)
{
    const int gpu = fake_listed(device);
    fake_stream *known = gpu == FAKE_ANY ? NULL : fake_stream_of(stream, gpu);
    if (!known) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    void *kept = malloc(bytes);
    if (!kept) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(kept, task, bytes);
    pthread_mutex_lock(&fake_lock);
    const int code = add_node(known, (node){.run = run, .task = kept});
    pthread_mutex_unlock(&fake_lock);
    if (code != CUDA_SUCCESS) free(kept);
    return code;
}

int fake_capture_record(fake_stream *stream, fake_event *event)
{
    pthread_mutex_lock(&fake_lock);
    event->capture = stream->capture;
    const int code = stream->capture ? CUDA_SUCCESS : judge_default(stream);
    pthread_mutex_unlock(&fake_lock);
    return code;
}

/* A stream that waits for an event of a capture is captured from then on. */
int fake_capture_wait(fake_stream *stream, fake_event *event)
{
    int code = CUDA_SUCCESS;
    pthread_mutex_lock(&fake_lock);
    fake_graph *of_event = event->capture && event->capture->origin ? event->capture : NULL;
    if (!stream->capture && !of_event)
        code = -1;
    else if (!stream->capture)
        stream->capture = of_event;
    else if (stream->capture != of_event)
        code = spoil(stream->capture, FAKE_CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    pthread_mutex_unlock(&fake_lock);
    return code;
}

int fake_capture_ask(const fake_event *event)
{
    int code = CUDA_SUCCESS;
    pthread_mutex_lock(&fake_lock);
    if (event->capture && event->capture->origin)
        code = spoil(event->capture, FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    pthread_mutex_unlock(&fake_lock);
    return code;
}

/* The stream of a handle, in the current context. */
static fake_stream *stream_of(stk__cu_handle handle)
{
    const int gpu = fake_current();
    return gpu < 0 ? NULL : fake_stream_of(handle, gpu);
}

int cuStreamBeginCapture_v2(stk__cu_handle stream, int mode)
{
    fake_stream *s = stream_of(stream);
    if (!s) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    if (mode < MODE_GLOBAL || mode > MODE_RELAXED) return FAKE_CUDA_ERROR_INVALID_VALUE;
    if (s->legacy) return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    fake_graph *graph = fake_make(FAKE_GRAPH, s->handle.gpu, sizeof *graph);
    if (!graph) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake_lock);
    const bool already = s->capture;
    graph->last = &graph->first;
    graph->mode = mode;
    graph->thread = pthread_self();
    if (!already) {
        graph->origin = s;
        graph->next = captures;
        captures = graph;
        s->capture = graph;
        fake_counts[FAKE_CAPTURES]++;
    }
    pthread_mutex_unlock(&fake_lock);
    return already ? FAKE_CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

/* Lock held. */
static void end_capture(fake_graph *graph)
{
    fake_graph **at = &captures;
    while (*at != graph)
        at = &(*at)->next;
    *at = graph->next;
    fake_release_streams(graph);
    graph->origin = NULL;
}

int cuStreamEndCapture(stk__cu_handle stream, stk__cu_handle *graph)
{
    fake_stream *s = stream_of(stream);
    *graph = NULL;
    if (!s) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&fake_lock);
    fake_graph *made = s->capture;
    int code = !made               ? FAKE_CUDA_ERROR_ILLEGAL_STATE
               : made->origin != s ? FAKE_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
               : made->spoilt      ? FAKE_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                   : CUDA_SUCCESS;
    if (made && made->origin == s) end_capture(made);
    if (!code) *graph = made;
    pthread_mutex_unlock(&fake_lock);
    return code;
}

int cuStreamIsCapturing(stk__cu_handle stream, int *status)
{
    fake_stream *s = stream_of(stream);
    if (!s) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&fake_lock);
    *status = !s->capture ? STATUS_NONE : s->capture->spoilt ? STATUS_INVALIDATED : STATUS_ACTIVE;
    pthread_mutex_unlock(&fake_lock);
    return CUDA_SUCCESS;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    const int before = mode_here;
    if (*mode < MODE_GLOBAL || *mode > MODE_RELAXED) return FAKE_CUDA_ERROR_INVALID_VALUE;
    mode_here = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* Only how many there are. */
int cuGraphGetNodes(stk__cu_handle graph, stk__cu_handle *nodes, size_t *count)
{
    if (!fake_is(graph, FAKE_GRAPH, FAKE_ANY)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = NULL;
    *count = ((const fake_graph *)graph)->count;
    return CUDA_SUCCESS;
}

int cuGraphInstantiateWithFlags(stk__cu_handle *exec, stk__cu_handle graph, unsigned long long flags)
{
    (void)flags;
    if (!fake_is(graph, FAKE_GRAPH, FAKE_ANY)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    fake_exec *made = fake_make(FAKE_GRAPH_EXEC, ((const fake_graph *)graph)->handle.gpu, sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    made->graph = graph;
    *exec = made;
    return CUDA_SUCCESS;
}

static int launch_node(fake_stream *stream, const node *n)
{
    if (n->run) {
        fake_drain(stream);
        n->run(n->task);
        return CUDA_SUCCESS;
    }
    fake_work *work = malloc(sizeof *work);
    if (!work) return CUDA_ERROR_OUT_OF_MEMORY;
    *work = *n->work;
    return fake_queue(stream, work);
}

/* A graph inside of a graph is not there. */
int cuGraphLaunch(stk__cu_handle exec, stk__cu_handle stream)
{
    fake_stream *s = stream_of(stream);
    if (!s || !fake_is(exec, FAKE_GRAPH_EXEC, FAKE_ANY)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    if (s->capture) return FAKE_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    int code = fake_lost(s->handle.gpu);
    fake_add(FAKE_GRAPH_LAUNCHES, 1);
    for (const node *n = ((const fake_exec *)exec)->graph->first; !code && n; n = n->next)
        code = launch_node(s, n);
    return code;
}

int cuGraphExecDestroy(stk__cu_handle exec)
{
    if (!fake_is(exec, FAKE_GRAPH_EXEC, FAKE_ANY)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    fake_end(exec);
    return CUDA_SUCCESS;
}

int cuGraphDestroy(stk__cu_handle graph)
{
    if (!fake_is(graph, FAKE_GRAPH, FAKE_ANY)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    fake_end(graph);
    return CUDA_SUCCESS;
}
