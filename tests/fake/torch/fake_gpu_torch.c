/* SPDX-License-Identifier: Apache-2.0 */
/* A libtorch that claims to have GPUs: tensors live in the fake driver's memory, operators are computed by
 * the real CPU library on the host's copy, in the order of streams. It counts operators and
 * synchronisations, and runs out of memory on request. */
#include "fake_gpu_torch.h"

#include "core/clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUDA = 1, CPU = 0, GPUS = 8 }; /* PyTorch's numbers of devices */

/* The real library's calls, those of the fake driver, and what is theirs on each GPU. */
static stk__torch_api real;
static stk__torch_cuda_api real_cuda;
static size_t item_bytes(int32_t dtype);
static int32_t run(const char *name, const char *overload, uint64_t *stack, uint64_t version);
static void move(stk__torch_handle tensor, uint64_t own);
static void free_on_gpu(uint64_t own);
static fake_real real_more = {.api = &real,
                              .cuda = &real_cuda,
                              .item_bytes = item_bytes,
                              .move = move,
                              .free_on_gpu = free_on_gpu,
                              .run = run};
static stk__cuda_api driver;
static void *(*host_of)(uint64_t address);
static int (*owner_of)(uint64_t address);
static int (*settle)(void *stream, int device);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static stk__cu_handle contexts[GPUS], streams[GPUS]; /* lock, while they are made */
static atomic_bool has_stream[GPUS];
static fake_rules rules;

static _Thread_local char failure[256]; /* of the last call, our own; empty: PyTorch's */
static atomic_long operators, syncs;
static long short_from;
static FILE *trace; /* NULL: none is wanted */

static void find(void *library, const char *name, void *member)
{
    void *symbol = dlsym(library, name);
    memcpy(member, &symbol, sizeof symbol);
    if (symbol || strncmp(name, "_Z", 2) == 0 || strncmp(name, "torch_exception", 15) == 0) return;
    fprintf(stderr, "fake PyTorch: there is no '%s'\n", name);
    abort();
}

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "fake PyTorch: %s\n", dlerror());
    if (!library) abort();
    return library;
}

static void open_real(void)
{
    char path[4096];
    const char *folder = getenv("STOKER_FAKE_TORCH_REAL"), *late = getenv("STOKER_FAKE_TORCH_SHORT"),
               *spans = getenv("STOKER_FAKE_TORCH_TRACE");
    snprintf(path, sizeof path, "%s/libtorch_cpu.so", folder ? folder : ".");
    void *library = open_library(path);
#define FIND(result, name, parameters) find(library, #name, &real.name);
    STK_TORCH_CALLS(FIND)
#undef FIND
    find(library, "torch_exception_get_what_without_backtrace", &real.last_error);
    find(library, "_Znwm", &real.operator_new);
    find(library, "_ZdlPv", &real.operator_delete);
    find(library, "_ZN2at15set_num_threadsEi", &real.set_num_threads);
    find(library, "_ZN2at13globalContextEv", &real_cuda.context);
    find(library, "_ZN2at7Context18setAllowTF32CuBLASEb", &real_cuda.allow_products);
    find(library, "_ZN2at7Context17setAllowTF32CuDNNEb", &real_cuda.allow_convolutions);
    find(library, "aoti_torch_get_dim", &real_more.get_dim);
    find(library, "aoti_torch_is_defined", &real_more.is_defined);
    find(library, "aoti_torch_get_sizes", &real_more.get_sizes);
    find(library, "_ZN2at7Context17setBenchmarkCuDNNEb", &real_cuda.set_benchmark);
    find(library, "_ZN2at7Context21setDeterministicCuDNNEb", &real_cuda.set_deterministic);
    find(library, "_ZN2at7Context26setDeterministicAlgorithmsEbb", &real_cuda.set_deterministic_all);
    find(library,
         "_ZN2at7Context19setFloat32PrecisionENS_14Float32BackendENS_9Float32OpENS_16Float32PrecisionE",
         &real_cuda.set_precision);
    find(library, "aoti_torch_get_numel", &rules.get_numel);
    find(library, "aoti_torch_get_sizes", &rules.get_sizes);
    rules.real = &real;
    find(library, "aoti_torch_dtype_bfloat16", &real_more.bfloat16);
    find(library, "aoti_torch_dtype_float16", &real_more.half);
    short_from = late ? strtol(late, NULL, 10) : 0;
    trace = spans ? fopen(spans, "we") : NULL;
}

static void open_driver(void)
{
    const char *path = getenv("STOKER_CUDA_LIBRARY");
    void *library = open_library(path ? path : "libcuda.so.1");
#define FIND(name, parameters) find(library, #name, &driver.name);
    STK_CUDA_CALLS(FIND)
#undef FIND
    find(library, "fake_cuda_host", &host_of);
    find(library, "fake_cuda_owner", &owner_of);
    find(library, "fake_cuda_settle", &settle);
    fake_capture_find(&real_more.capture, library);
}

const fake_real *fake_real_open(void)
{
    static pthread_once_t real_once = PTHREAD_ONCE_INIT, driver_once = PTHREAD_ONCE_INIT;
    pthread_once(&real_once, open_real);
    pthread_once(&driver_once, open_driver);
    return &real_more;
}

static int32_t fail(const char *text)
{
    snprintf(failure, sizeof failure, "%s", text);
    return 1;
}

/* --- the GPU ---------------------------------------------------------------------------------------------
 */

enum { GLOBAL, RELAXED = 2 }; /* modes of captures */

static bool enter(int32_t index)
{
    int ordinal;
    if (index < 0 || index >= GPUS) return false;
    pthread_mutex_lock(&lock);
    if (!contexts[index] && (driver.cuInit(0) || driver.cuDeviceGet(&ordinal, index) ||
                             driver.cuDevicePrimaryCtxRetain(&contexts[index], ordinal)))
        contexts[index] = NULL;
    const stk__cu_handle context = contexts[index];
    pthread_mutex_unlock(&lock);
    if (!context || driver.cuCtxPushCurrent_v2(context) != 0) return false;
    real_more.capture.exchange_mode(&(int){RELAXED}); /* as PyTorch's allocator does it in a capture */
    return true;
}

static void leave(void)
{
    stk__cu_handle popped;
    real_more.capture.exchange_mode(&(int){GLOBAL});
    driver.cuCtxPopCurrent_v2(&popped);
}

/* PyTorch asks for its CUDA part at its first operator: what comes later is never found. */
static enum { UNASKED, PRESENT, ABSENT } cuda_part;

void fake_torch_register_cuda(void)
{
    if (cuda_part == UNASKED) cuda_part = PRESENT;
}

int32_t fake_torch_stream(int32_t index, void **stream)
{
    const char *which = getenv("STOKER_FAKE_TORCH_STREAM");
    fake_real_open();
    if (which && strcmp(which, "none") == 0) return fail("there is no stream");
    if (!enter(index)) return fail("CUDA error: the fake driver does not start");
    if (!has_stream[index] && which && strcmp(which, "own") == 0) {
        if (driver.cuStreamCreate(&streams[index], CU_STREAM_NON_BLOCKING)) streams[index] = NULL;
    }
    has_stream[index] = true;
    leave();
    *stream = streams[index];
    return 0;
}

int32_t fake_torch_set_stream(void *stream, int32_t index)
{
    streams[index] = stream;
    has_stream[index] = true;
    return 0;
}

int32_t fake_torch_new_stream(int32_t index, void **stream)
{
    fake_real_open();
    if (!enter(index)) return fail("CUDA error: the fake driver does not start");
    const int code = driver.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
    leave();
    return code ? fail("CUDA error: there is no stream") : 0;
}

/* What the streams of these GPUs have to do is done before an operator that is called now. */
static int32_t settle_all(uint32_t gpus)
{
    for (int i = 0; i < GPUS; i++) {
        if (!has_stream[i] || !(gpus >> i & 1)) continue;
        const int code = settle(streams[i], i);
        if (!code) continue;
        snprintf(failure, sizeof failure, "CUDA error: the context is lost (code %d)", code);
        return 1;
    }
    return 0;
}

static int32_t new_on_gpu(int64_t bytes, int32_t index, uint64_t *address)
{
    if (!enter(index)) return fail("CUDA error: the context is lost");
    const int code = driver.cuMemAlloc_v2(address, (size_t)(bytes ? bytes : 1));
    leave();
    if (!code) return 0;
    snprintf(failure, sizeof failure, "CUDA out of memory. Tried to allocate %lld bytes. GPU %d has no more.",
             (long long)bytes, index);
    return 1;
}

/* --- tensors ---------------------------------------------------------------------------------------------
 */

int32_t fake_noted(int32_t result, stk__torch_handle *tensor, fake_thing thing)
{
    failure[0] = '\0';
    if (result != 0) return result;
    thing.key = *tensor;
    fake_put(thing);
    return 0;
}

static uint32_t bit_of(int32_t index)
{
    return UINT32_C(1) << index;
}

static size_t item_bytes(int32_t dtype)
{
    return dtype == real.aoti_torch_dtype_uint8() || dtype == real.aoti_torch_dtype_bool() ? 1
           : dtype == real.aoti_torch_dtype_float32()                                      ? 4
           : dtype == real_more.half() || dtype == real_more.bfloat16()                    ? 2
                                                                                           : 8;
}

static int64_t span_of(int64_t ndim, const int64_t *sizes, const int64_t *strides, int32_t dtype)
{
    int64_t last = 0;
    for (int64_t i = 0; i < ndim; i++) {
        if (sizes[i] == 0) return 0;
        last += (sizes[i] - 1) * strides[i];
    }
    return (last + 1) * (int64_t)item_bytes(dtype);
}

FAKE_EXPORT int32_t aoti_torch_create_tensor_from_blob(void *data, int64_t ndim, const int64_t *size,
                                                       const int64_t *stride, int64_t offset, int32_t dtype,
                                                       int32_t type, int32_t index,
                                                       stk__torch_handle *tensor);
int32_t aoti_torch_create_tensor_from_blob(void *data, int64_t ndim, const int64_t *size,
                                           const int64_t *stride, int64_t offset, int32_t dtype, int32_t type,
                                           int32_t index, stk__torch_handle *tensor)
{
    const bool gpu = type == CUDA, empty = span_of(ndim, size, stride, dtype) == 0;
    void *host = gpu && data ? host_of((uint64_t)(uintptr_t)data) : data;
    if (gpu && !host && !empty) return fail("the pointer is no memory of the GPU");
    if (gpu && host && owner_of((uint64_t)(uintptr_t)data) != index)
        return fail("the pointer is memory of another GPU");
    if (gpu && fake_has_wrong(dtype == real_more.bfloat16() ? "bf16"
                              : dtype == real_more.half()   ? "fp16"
                                                            : ""))
        return fail("this GPU has no such numbers");
    if (gpu && empty) host = NULL;
    return fake_noted(
        real.aoti_torch_create_tensor_from_blob(host, ndim, size, stride, offset, dtype, CPU, 0, tensor),
        tensor, (fake_thing){.gpus = gpu ? bit_of(index) : 0, .host = !gpu, .number = !gpu && ndim == 0});
}

FAKE_EXPORT int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t *size, const int64_t *stride,
                                             int32_t dtype, int32_t type, int32_t index,
                                             stk__torch_handle *tensor);
int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t *size, const int64_t *stride, int32_t dtype,
                                 int32_t type, int32_t index, stk__torch_handle *tensor)
{
    uint64_t address = 0;
    fake_real_open();
    if (type != CUDA)
        return fake_noted(real.aoti_torch_empty_strided(ndim, size, stride, dtype, type, index, tensor),
                          tensor, (fake_thing){.host = true, .number = ndim == 0});
    if (cuda_part != PRESENT) return fail("Cannot initialize CUDA without ATen_cuda library");
    if (new_on_gpu(span_of(ndim, size, stride, dtype), index, &address)) return 1;
    return fake_noted(real.aoti_torch_create_tensor_from_blob(host_of(address), ndim, size, stride, 0, dtype,
                                                              CPU, 0, tensor),
                      tensor, (fake_thing){.gpus = bit_of(index), .own = address});
}

static int64_t bytes_of(stk__torch_handle tensor)
{
    int32_t dtype = -1;
    int64_t count = 0;
    real.aoti_torch_get_dtype(tensor, &dtype);
    rules.get_numel(tensor, &count);
    return span_of(1, &count, &(int64_t){1}, dtype);
}

static void move(stk__torch_handle tensor, uint64_t own)
{
    void *values = NULL;
    real.aoti_torch_get_data_ptr(tensor, &values);
    memcpy(host_of(own), values, (size_t)bytes_of(tensor));
}

static void free_on_gpu(uint64_t own)
{
    const int device = owner_of(own);
    if (settle_all(bit_of(device)) || !enter(device)) return;
    driver.cuMemFree_v2(own);
    leave();
}

/* What an operator hands out lies in host memory here: a copy on the GPU, which goes with this handle, or
 * with the graph that is being captured. */
static int32_t put_on_gpu(stk__torch_handle tensor, fake_thing *thing)
{
    if (!thing->gpus || new_on_gpu(bytes_of(tensor), __builtin_ctz(thing->gpus), &thing->own)) return 1;
    move(tensor, thing->own);
    thing->lent = fake_graph_captures();
    if (thing->lent) fake_graph_keep_move(&real_more, tensor, thing->own);
    fake_put(*thing);
    return 0;
}

FAKE_EXPORT int32_t aoti_torch_get_data_ptr(stk__torch_handle tensor, void **data);
int32_t aoti_torch_get_data_ptr(stk__torch_handle tensor, void **data)
{
    fake_thing thing;
    const bool known = fake_look(tensor, &thing);
    if (known && thing.host) return real.aoti_torch_get_data_ptr(tensor, data);
    if (known && !thing.own && put_on_gpu(tensor, &thing)) return 1;
    if (!known || !thing.own) return fail("the tensor has no memory of the GPU of its own");
    *data = (void *)(uintptr_t)thing.own; /* NOLINT: an address of the device */
    return 0;
}

FAKE_EXPORT int32_t aoti_torch_new_tensor_handle(stk__torch_handle tensor, stk__torch_handle *another);
int32_t aoti_torch_new_tensor_handle(stk__torch_handle tensor, stk__torch_handle *another)
{
    fake_thing thing;
    if (!fake_look(tensor, &thing)) thing = (fake_thing){.host = true};
    thing.own = 0; /* it goes with the first */
    return fake_noted(real.aoti_torch_new_tensor_handle(tensor, another), another, thing);
}

FAKE_EXPORT int32_t aoti_torch_delete_tensor_object(stk__torch_handle tensor);
int32_t aoti_torch_delete_tensor_object(stk__torch_handle tensor)
{
    fake_thing thing = {0};
    fake_take(tensor, &thing);
    const int32_t result = real.aoti_torch_delete_tensor_object(tensor);
    if (thing.own && !thing.lent) free_on_gpu(thing.own);
    return result;
}

FAKE_EXPORT int32_t aoti_torch_scalar_to_tensor_float64(double value, stk__torch_handle *tensor);
int32_t aoti_torch_scalar_to_tensor_float64(double value, stk__torch_handle *tensor)
{
    return fake_noted(real.aoti_torch_scalar_to_tensor_float64(value, tensor), tensor,
                      (fake_thing){.host = true, .number = true});
}

FAKE_EXPORT int32_t aoti_torch_aten_fill__Scalar(stk__torch_handle tensor, double value);
int32_t aoti_torch_aten_fill__Scalar(stk__torch_handle tensor, double value)
{
    fake_thing thing = {0};
    failure[0] = '\0';
    fake_look(tensor, &thing);
    if (settle_all(thing.gpus)) return 1;
    if (thing.gpus && fake_graph_captures()) fake_graph_keep_fill(&real_more, tensor, value);
    return real.aoti_torch_aten_fill__Scalar(tensor, value);
}

/* --- operators -------------------------------------------------------------------------------------------
 */

/* What a member of at::cuda::CUDAGraph would throw comes back from here, as PyTorch has it. */
static _Thread_local bool thrown;

FAKE_EXPORT int32_t torch_parallel_for(int64_t begin, int64_t end, int64_t grain,
                                       void (*call)(int64_t begin, int64_t end, void *context),
                                       void *context);
int32_t torch_parallel_for(int64_t begin, int64_t end, int64_t grain,
                           void (*call)(int64_t begin, int64_t end, void *context), void *context)
{
    (void)grain;
    thrown = false;
    failure[0] = '\0';
    call(begin, end, context);
    return thrown;
}

void fake_torch_graph(const char *member, void *object, int mode)
{
    const char *why = NULL;
    const bool entered = !settle_all(1) && enter(0);
    if (!entered)
        why = failure;
    else if (strcmp(member, "construct") == 0)
        fake_graph_construct(object, false);
    else if (strcmp(member, "destruct") == 0)
        fake_graph_destruct(&real_more, object);
    else if (strcmp(member, "begin") == 0)
        why = fake_graph_begin(&real_more, object, streams[0], mode);
    else if (strcmp(member, "end") == 0)
        why = fake_graph_end(&real_more, object);
    else
        why = fake_graph_replay(&real_more, object);
    if (entered) leave();
    if (why && why != failure) fail(why);
    thrown = thrown || why;
}

/* By the real library, or by us where only CUDA has the operator. */
static int32_t run(const char *name, const char *overload, uint64_t *stack, uint64_t version)
{
    if (strcmp(name, "aten::cudnn_convolution") == 0) return fake_convolve(&rules, stack, version);
    if (!fake_has_cell(name)) return real.torch_call_dispatcher(name, overload, stack, version);
    const char *why = fake_run_cell(&real_more, name, stack);
    return why ? fail(why) : 0;
}

/* A call that is refused drops its arguments, as PyTorch does: here they are left behind. */
FAKE_EXPORT int32_t torch_call_dispatcher(const char *name, const char *overload, uint64_t *stack,
                                          uint64_t version);
int32_t torch_call_dispatcher(const char *name, const char *overload, uint64_t *stack, uint64_t version)
{
    void *kept = fake_graph_captures() ? fake_graph_keep(&real_more, name, overload, stack, version) : NULL;
    const fake_call call = fake_judge(name, overload, stack);
    if (cuda_part == UNASKED) cuda_part = ABSENT;
    const long number = atomic_fetch_add(&operators, 1) + 1;
    if (call.gpus) fake_spoil_norm(name, stack);
    failure[0] = '\0';
    if (call.gpus && settle_all(call.gpus)) return 1;
    if (call.gpus && short_from && number >= short_from)
        return fail("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has no more.");
    if (fake_is_mixed(&call))
        return fail(call.host ? "Expected all tensors to be on the same device, but found at least two "
                                "devices, cuda:0 and cpu!"
                              : "Expected all tensors to be on the same device, but found at least two "
                                "devices, cuda:0 and cuda:1!");
    const char *refused = fake_refuses(&rules, &call, stack);
    if (refused) return fail(refused);
    if (fake_multiplies(&rules, &call, stack)) {
        name = "aten::mul";
        if (kept) fake_graph_change(&real_more, kept, name, stack);
    }
    syncs += fake_syncs(&call);
    const uint64_t start_ns = stk__clock_ns();
    const int32_t result = run(name, overload, stack, version);
    if (kept && result == 0) fake_graph_keep_results(&real_more, kept, stack, fake_results(name));
    if (trace && call.gpus)
        fprintf(trace, "{\"what\": \"%s\", \"start_ns\": %llu, \"end_ns\": %llu}\n", name,
                (unsigned long long)start_ns, (unsigned long long)stk__clock_ns());
    for (int i = 0; result == 0 && i < fake_results(name); i++)
        fake_put((fake_thing){.key = (const void *)(uintptr_t)stack[i], /* NOLINT: as PyTorch has it */
                              .gpus = call.gpus,
                              .host = !call.gpus,
                              .number = !call.gpus && call.number_only});
    return result;
}

FAKE_EXPORT const char *torch_exception_get_what_without_backtrace(void);
const char *torch_exception_get_what_without_backtrace(void)
{
    return failure[0] ? failure : real.last_error ? real.last_error() : "";
}

FAKE_EXPORT int32_t aoti_torch_device_type_cuda(void);
int32_t aoti_torch_device_type_cuda(void)
{
    return CUDA;
}

long fake_torch_count(const char *what)
{
    if (strcmp(what, "operators") == 0) return operators;
    if (strcmp(what, "syncs") == 0) return syncs;
    return strcmp(what, "tensors") == 0 ? fake_book_size() : fake_graph_count(what);
}

/* At the end of the program, for who started it. */
static void __attribute__((destructor)) tell(void)
{
    if (trace) fclose(trace);
    const char *path = getenv("STOKER_FAKE_TORCH_COUNTS");
    FILE *file = path ? fopen(path, "we") : NULL;
    if (!file) return;
    fprintf(file, "{\"operators\": %ld, \"syncs\": %ld, \"launches\": %ld}\n", atomic_load(&operators),
            atomic_load(&syncs), fake_graph_count("launches"));
    fclose(file);
}
