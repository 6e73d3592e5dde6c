/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs of the fake PyTorch: at::cuda::CUDAGraph, as far as the engine calls it.
 *
 * Operators that are called during a capture are kept with their arguments: tensors of the GPU as they are,
 * numbers of the host with their values of that moment. They are computed once, for their results' shapes,
 * and at the end of the capture all memory of the GPU that they were given is as it was before. A launch
 * computes them again; results go where those of the capture were. One capture at a time, by one thread, on
 * GPU 0, whose driver captures the stream, too: kernels that somebody else launches come in their turn. */
#include "fake_gpu_torch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 16, RESULTS = 3, THREAD_LOCAL = 1 };

typedef enum value_kind { RAW, TENSOR, LIST, TENSOR_LIST, TEXT } value_kind;

/* One argument. optional: it comes in a cell. */
typedef struct kept_value {
    value_kind kind;
    bool optional;
    uint64_t raw; /* or the tensor */
    uint64_t *items;
    size_t count;
    char text[32];
} kept_value;

typedef struct kept_call {
    char name[64], overload[32]; /* name empty: a tensor is filled with a number, or moved */
    kept_value arg[STACK];
    uint64_t version, result[RESULTS];
    double fill;
    uint64_t own; /* moved there, which is the graph's memory; 0: filled */
    struct kept_call *next;
} kept_call;

typedef struct memory_before {
    void *data, *bytes;
    size_t size;
    struct memory_before *next; /* the one before it */
} memory_before;

typedef struct fake_graph {
    kept_call *first, **last;
    memory_before *undo;
    void *stream;
    stk__cu_handle exec; /* the driver's; NULL: it has not ended */
} fake_graph;

static fake_graph *capturing;
static const fake_real *launching;    /* NULL: an operator has failed */
static long captures, launches, live; /* graphs: so far, so far, that there are now */

static void *take_memory(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory) abort();
    return memory;
}

static void *pointer_of(uint64_t value)
{
    return (void *)(uintptr_t)value; /* NOLINT: as PyTorch has it */
}

void fake_capture_find(fake_capture *capture, void *driver)
{
    const struct {
        void *member;
        const char *name;
    } calls[] = {{&capture->add, "fake_cuda_capture"},
                 {&capture->begin, "cuStreamBeginCapture_v2"},
                 {&capture->end, "cuStreamEndCapture"},
                 {&capture->instantiate, "cuGraphInstantiateWithFlags"},
                 {&capture->launch, "cuGraphLaunch"},
                 {&capture->destroy, "cuGraphExecDestroy"},
                 {&capture->exchange_mode, "cuThreadExchangeStreamCaptureMode"}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *symbol = dlsym(driver, calls[i].name);
        if (!symbol) abort();
        memcpy(calls[i].member, &symbol, sizeof symbol);
    }
}

/* --- arguments -------------------------------------------------------------------------------------------
 */

static uint64_t same_tensor(const fake_real *real, uint64_t tensor)
{
    stk__torch_handle another = NULL;
    if (real->api->aoti_torch_new_tensor_handle(pointer_of(tensor), &another)) abort();
    return (uint64_t)(uintptr_t)another;
}

/* The host's memory may hold something else later. */
static uint64_t same_values(const fake_real *real, uint64_t tensor)
{
    uint64_t stack[2] = {same_tensor(real, tensor), 0};
    if (real->api->torch_call_dispatcher("aten::clone", "", stack, (uint64_t)2 << 56 | (uint64_t)10 << 48))
        abort();
    return stack[0];
}

static void remember(const fake_real *real, uint64_t tensor)
{
    int64_t *size = NULL, *stride = NULL, ndim = 0, last = 0;
    void *data = NULL;
    stk__torch_handle handle = pointer_of(tensor);
    if (real->api->aoti_torch_get_data_ptr(handle, &data) || real->get_dim(handle, &ndim) ||
        real->get_sizes(handle, &size) || real->api->aoti_torch_get_strides(handle, &stride))
        abort();
    for (int64_t i = 0; i < ndim; i++) {
        if (size[i] == 0) return;
        last += (size[i] - 1) * stride[i];
    }
    int32_t dtype = 0;
    real->api->aoti_torch_get_dtype(handle, &dtype);
    memory_before *before = take_memory(sizeof *before);
    *before = (memory_before){
        .data = data, .size = (size_t)(last + 1) * real->item_bytes(dtype), .next = capturing->undo};
    before->bytes = take_memory(before->size);
    memcpy(before->bytes, data, before->size);
    capturing->undo = before;
}

static uint64_t keep_tensor(const fake_real *real, uint64_t tensor, const fake_thing *thing)
{
    if (!thing->gpus) return same_values(real, tensor);
    remember(real, tensor);
    return same_tensor(real, tensor);
}

static void keep_list(const fake_real *real, const fake_thing *thing, kept_value *value)
{
    void *list = (void *)(uintptr_t)thing->key;
    value->kind = thing->gpus || thing->host ? TENSOR_LIST : LIST;
    real->api->torch_list_size(list, &value->count);
    value->items = take_memory(value->count * sizeof *value->items);
    for (size_t i = 0; i < value->count; i++) {
        real->api->torch_list_get_item(list, i, &value->items[i]);
        if (value->kind == TENSOR_LIST) value->items[i] = keep_tensor(real, value->items[i], thing);
    }
}

static void keep_value(const fake_real *real, uint64_t raw, kept_value *value)
{
    fake_thing thing;
    value->raw = raw;
    if (!raw || !fake_look(pointer_of(raw), &thing)) return;
    if (thing.cell) {
        keep_value(real, *(const uint64_t *)thing.key, value);
        value->optional = true;
    } else if (thing.list) {
        keep_list(real, &thing, value);
    } else if (thing.text[0]) {
        value->kind = TEXT;
        snprintf(value->text, sizeof value->text, "%s", thing.text);
    } else {
        value->kind = TENSOR;
        value->raw = keep_tensor(real, raw, &thing);
    }
}

static uint64_t make_value(const fake_real *real, const kept_value *value)
{
    uint64_t made = value->raw;
    void *object = NULL;
    if (value->kind == TENSOR) made = same_tensor(real, value->raw);
    if (value->kind == LIST || value->kind == TENSOR_LIST) {
        if (real->api->torch_new_list_reserve_size(value->count, &object)) abort();
        for (size_t i = 0; i < value->count; i++)
            real->api->torch_list_push_back(object, value->kind == LIST ? value->items[i]
                                                                        : same_tensor(real, value->items[i]));
        made = (uint64_t)(uintptr_t)object;
    }
    if (value->kind == TEXT) {
        if (real->api->torch_new_string_handle(value->text, strlen(value->text), &object)) abort();
        made = (uint64_t)(uintptr_t)object;
    }
    if (!value->optional) return made;
    uint64_t *cell = real->api->operator_new(sizeof *cell);
    *cell = made;
    return (uint64_t)(uintptr_t)cell;
}

static void drop_tensor(const fake_real *real, uint64_t tensor)
{
    if (tensor) real->api->aoti_torch_delete_tensor_object(pointer_of(tensor));
}

static void drop_value(const fake_real *real, kept_value *value)
{
    if (value->kind == TENSOR) drop_tensor(real, value->raw);
    for (size_t i = 0; value->kind == TENSOR_LIST && i < value->count; i++)
        drop_tensor(real, value->items[i]);
    free(value->items);
}

/* --- calls -----------------------------------------------------------------------------------------------
 */

static void run_kept(const void *task);

static kept_call *append(const fake_real *real)
{
    kept_call *call = take_memory(sizeof *call);
    *capturing->last = call;
    capturing->last = &call->next;
    if (real->capture.add(capturing->stream, 0, run_kept, &call, sizeof call) < 0) abort();
    return call;
}

bool fake_graph_captures(void)
{
    return capturing != NULL;
}

void *fake_graph_keep(const fake_real *real, const char *name, const char *overload, const uint64_t *stack,
                      uint64_t version)
{
    kept_call *call = append(real);
    snprintf(call->name, sizeof call->name, "%s", name);
    snprintf(call->overload, sizeof call->overload, "%s", overload);
    call->version = version;
    for (int i = 0; i < STACK; i++)
        keep_value(real, stack[i], &call->arg[i]);
    return call;
}

void fake_graph_change(const fake_real *real, void *kept, const char *name, const uint64_t *stack)
{
    enum { NUMBER = 1 };
    kept_call *call = kept;
    snprintf(call->name, sizeof call->name, "%s", name);
    drop_value(real, &call->arg[NUMBER]);
    call->arg[NUMBER] = (kept_value){.kind = TENSOR, .raw = same_values(real, stack[NUMBER])};
}

void fake_graph_keep_results(const fake_real *real, void *kept, const uint64_t *stack, int count)
{
    for (int i = 0; i < count; i++)
        ((kept_call *)kept)->result[i] = same_tensor(real, stack[i]);
}

void fake_graph_keep_fill(const fake_real *real, stk__torch_handle tensor, double value)
{
    kept_call *call = append(real);
    keep_value(real, (uint64_t)(uintptr_t)tensor, &call->arg[0]);
    call->fill = value;
}

void fake_graph_keep_move(const fake_real *real, stk__torch_handle tensor, uint64_t own)
{
    kept_call *call = append(real);
    keep_value(real, (uint64_t)(uintptr_t)tensor, &call->arg[0]);
    call->own = own;
}

static bool run_again(const fake_real *real, const kept_call *call)
{
    uint64_t stack[STACK];
    if (call->own) return real->move(pointer_of(call->arg[0].raw), call->own), true;
    if (!call->name[0])
        return real->api->aoti_torch_aten_fill__Scalar(pointer_of(call->arg[0].raw), call->fill) == 0;
    for (int i = 0; i < STACK; i++)
        stack[i] = make_value(real, &call->arg[i]);
    if (real->run(call->name, call->overload, stack, call->version)) return false;
    for (int i = 0; i < RESULTS && call->result[i]; i++) {
        bool defined = false; /* gradients that are not wanted are not */
        if (real->is_defined(pointer_of(stack[i]), &defined)) return false;
        if (!defined) drop_tensor(real, stack[i]);
        if (!defined) continue;
        uint64_t copy[3] = {same_tensor(real, call->result[i]), stack[i], 0};
        if (real->api->torch_call_dispatcher("aten::copy_", "", copy, call->version)) return false;
        drop_tensor(real, copy[0]);
    }
    return true;
}

static void run_kept(const void *task)
{
    const kept_call *call;
    memcpy(&call, task, sizeof call);
    if (launching && !run_again(launching, call)) launching = NULL;
}

/* --- graphs ----------------------------------------------------------------------------------------------
 */

void fake_graph_construct(void *object, bool keep)
{
    (void)keep;
    fake_graph *graph = take_memory(sizeof *graph);
    graph->last = &graph->first;
    memcpy(object, &graph, sizeof graph);
    live++;
}

static fake_graph *graph_at(const void *object)
{
    fake_graph *graph;
    memcpy(&graph, object, sizeof graph);
    return graph;
}

void fake_graph_destruct(const fake_real *real, void *object)
{
    fake_graph *graph = graph_at(object);
    for (kept_call *call = graph->first, *next; call; call = next) {
        next = call->next;
        for (int i = 0; i < STACK; i++)
            drop_value(real, &call->arg[i]);
        for (int i = 0; i < RESULTS; i++)
            drop_tensor(real, call->result[i]);
        if (call->own) real->free_on_gpu(call->own);
        free(call);
    }
    if (graph->exec) real->capture.destroy(graph->exec);
    free(graph);
    live--;
}

const char *fake_graph_begin(const fake_real *real, void *object, void *stream, int mode)
{
    if (!stream) return "CUDA graphs must be captured on a non-default stream.";
    if (capturing || mode != THREAD_LOCAL || real->capture.begin(stream, mode))
        return "operation not permitted when stream is capturing";
    capturing = graph_at(object);
    capturing->stream = stream;
    captures++;
    return NULL;
}

static void undo(fake_graph *graph)
{
    for (memory_before *before = graph->undo, *next; before; before = next) {
        next = before->next;
        memcpy(before->data, before->bytes, before->size);
        free(before->bytes);
        free(before);
    }
    graph->undo = NULL;
}

const char *fake_graph_end(const fake_real *real, void *object)
{
    fake_graph *graph = graph_at(object);
    stk__cu_handle captured = NULL;
    if (graph != capturing) return "Capture must end on the same stream it began on.";
    capturing = NULL;
    undo(graph);
    if (real->capture.end(graph->stream, &captured) || real->capture.instantiate(&graph->exec, captured, 0))
        return "operation failed due to a previous error during capture";
    return NULL;
}

const char *fake_graph_replay(const fake_real *real, void *object)
{
    const fake_graph *graph = graph_at(object);
    if (!graph->exec) return "Called CUDAGraph::replay without a preceding successful capture.";
    launches++;
    launching = real;
    const int code = real->capture.launch(graph->exec, graph->stream);
    return code || !launching ? "a graph's operator failed" : NULL;
}

long fake_graph_count(const char *what)
{
    if (strcmp(what, "captures") == 0) return captures;
    if (strcmp(what, "graphs") == 0) return live;
    return strcmp(what, "launches") == 0 ? launches : -1;
}
