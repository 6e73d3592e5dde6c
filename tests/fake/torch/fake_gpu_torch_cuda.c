/* libtorch_cuda.so of the fake PyTorch: when it is loaded it reports to the libtorch_cpu.so beside it, as
 * PyTorch's does. Everything else is there. */
#include "fake_gpu_torch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int32_t (*current_stream)(int32_t index, void **stream);
static int32_t (*set_stream)(void *stream, int32_t index);
static int32_t (*new_stream)(int32_t index, void **stream);
static void (*call_graph)(const char *member, void *object, int mode);

FAKE_EXPORT int32_t aoti_torch_get_current_cuda_stream(int32_t index, void **stream);
int32_t aoti_torch_get_current_cuda_stream(int32_t index, void **stream)
{
    return current_stream(index, stream);
}

FAKE_EXPORT int32_t torch_set_current_cuda_stream(void *stream, int32_t index);
int32_t torch_set_current_cuda_stream(void *stream, int32_t index)
{
    return set_stream(stream, index);
}

FAKE_EXPORT int32_t torch_get_cuda_stream_from_pool(bool high_priority, int32_t index, void **stream);
int32_t torch_get_cuda_stream_from_pool(bool high_priority, int32_t index, void **stream)
{
    (void)high_priority;
    return new_stream(index, stream);
}

/* at::cuda::CUDAGraph */
#define MEMBER(symbol, word)                                                                                 \
    FAKE_EXPORT void symbol(void *object);                                                                   \
    void symbol(void *object)                                                                                \
    {                                                                                                        \
        call_graph(word, object, 0);                                                                         \
    }
MEMBER(_ZN2at4cuda9CUDAGraphD1Ev, "destruct")
MEMBER(_ZN2at4cuda9CUDAGraph11capture_endEv, "end")
MEMBER(_ZN2at4cuda9CUDAGraph6replayEv, "replay")

FAKE_EXPORT void _ZN2at4cuda9CUDAGraphC1Eb(void *object, bool keep);
void _ZN2at4cuda9CUDAGraphC1Eb(void *object, bool keep)
{
    call_graph("construct", object, keep);
}

FAKE_EXPORT void _ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode(void *object,
                                                                                         stk__torch_pool pool,
                                                                                         int mode);
void _ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode(void *object,
                                                                             stk__torch_pool pool, int mode)
{
    (void)pool;
    call_graph("begin", object, mode);
}

FAKE_EXPORT stk__torch_pool _ZN2at4cuda9CUDAGraph4poolEv(void *object);
stk__torch_pool _ZN2at4cuda9CUDAGraph4poolEv(void *object)
{
    (void)object;
    return (stk__torch_pool){0, 1};
}

static void find(void *host, const char *name, void *member)
{
    void *symbol = host ? dlsym(host, name) : NULL;
    memcpy(member, &symbol, sizeof symbol);
}

static void __attribute__((constructor)) report(void)
{
    char path[4096];
    void (*register_cuda)(void) = NULL;
    Dl_info info;
    if (!dladdr((const void *)&current_stream, &info)) return;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof path, "%.*slibtorch_cpu.so", slash ? (int)(slash + 1 - info.dli_fname) : 0,
             info.dli_fname);
    void *host = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    find(host, "fake_torch_stream", &current_stream);
    find(host, "fake_torch_set_stream", &set_stream);
    find(host, "fake_torch_new_stream", &new_stream);
    find(host, "fake_torch_graph", &call_graph);
    find(host, "fake_torch_register_cuda", &register_cuda);
    if (register_cuda) register_cuda();
}
