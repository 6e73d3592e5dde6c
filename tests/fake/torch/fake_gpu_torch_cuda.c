/* libtorch_cuda.so of the fake PyTorch: when it is loaded it reports to the libtorch_cpu.so beside it, as
 * PyTorch's does. Everything else is there. */
#include "fake_gpu_torch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int32_t (*current_stream)(int32_t index, void **stream);

FAKE_EXPORT int32_t aoti_torch_get_current_cuda_stream(int32_t index, void **stream);
int32_t aoti_torch_get_current_cuda_stream(int32_t index, void **stream)
{
    return current_stream(index, stream);
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
    void *host = dlopen(path, RTLD_NOW | RTLD_LOCAL),
         *symbols[] = {host ? dlsym(host, "fake_torch_stream") : NULL,
                       host ? dlsym(host, "fake_torch_register_cuda") : NULL};
    memcpy(&current_stream, &symbols[0], sizeof symbols[0]);
    memcpy(&register_cuda, &symbols[1], sizeof symbols[1]);
    if (register_cuda) register_cuda();
}
