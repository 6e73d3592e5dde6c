/* SPDX-License-Identifier: Apache-2.0 */
/* libtorch_cuda.so of the fake PyTorch: when it is loaded it reports to the libtorch_cpu.so beside it, as
 * PyTorch's does. Everything else is there. */
#include "fake_gpu_torch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The thread's current device, on which graphs are captured. */
static _Thread_local int32_t current_device;

FAKE_EXPORT int32_t aoti_torch_create_cuda_guard(int32_t index, void **entered);
int32_t aoti_torch_create_cuda_guard(int32_t index, void **entered)
{
    *entered = (void *)((uintptr_t)current_device + 1);
    current_device = index;
    return 0;
}

FAKE_EXPORT int32_t aoti_torch_delete_cuda_guard(void *entered);
int32_t aoti_torch_delete_cuda_guard(void *entered)
{
    current_device = (int32_t)((uintptr_t)entered - 1);
    return 0;
}

/* at::cuda::CUDAGraph. A pool lives as long as one of its graphs; who asks for it later is wrong. */
enum { MARK = 1000 }; /* a byte of the object: it was captured */
static int pool_graphs;
static unsigned long long pool_number = 1;

FAKE_EXPORT void _ZN2at4cuda9CUDAGraphD1Ev(void *object);
void _ZN2at4cuda9CUDAGraphD1Ev(void *object)
{
    if (((unsigned char *)object)[MARK] && --pool_graphs == 0) pool_number++;
    call_graph("destruct", object, 0);
}

FAKE_EXPORT void _ZN2at4cuda9CUDAGraph11capture_endEv(void *object);
void _ZN2at4cuda9CUDAGraph11capture_endEv(void *object)
{
    call_graph("end", object, 0);
    ((unsigned char *)object)[MARK] = 1;
    pool_graphs++;
}

FAKE_EXPORT void _ZN2at4cuda9CUDAGraph6replayEv(void *object);
void _ZN2at4cuda9CUDAGraph6replayEv(void *object)
{
    call_graph("replay", object, 0);
}

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
    if (pool.second && (pool.second != pool_number || pool_graphs == 0)) {
        fprintf(stderr, "fake PyTorch: a memory pool is used after its last graph\n");
        abort();
    }
    call_graph("begin", object, mode);
}

FAKE_EXPORT stk__torch_pool _ZN2at4cuda9CUDAGraph4poolEv(void *object);
stk__torch_pool _ZN2at4cuda9CUDAGraph4poolEv(void *object)
{
    (void)object;
    return (stk__torch_pool){0, pool_number};
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
