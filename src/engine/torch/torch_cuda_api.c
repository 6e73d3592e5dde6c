/* SPDX-License-Identifier: Apache-2.0 */
/* Finds PyTorch's CUDA part: a library beside the one that is open. */
#include "engine/torch/torch_cuda.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder of the open library, with its last slash; empty: it is not known. */
static void find_folder(const stk__torch_api *api, char *folder, size_t size)
{
    Dl_info info;
    void *symbol;
    memcpy(&symbol, &api->aoti_torch_abi_version, sizeof symbol);
    const char *file = dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "";
    const char *slash = strrchr(file, '/');
    snprintf(folder, size, "%.*s", slash ? (int)(slash + 1 - file) : 0, file);
}

bool stk__torch_cuda_is_built(const stk__torch_api *api)
{
    char folder[PATH_MAX - 32], path[PATH_MAX];
    find_folder(api, folder, sizeof folder);
    snprintf(path, sizeof path, "%slibtorch_cuda.so", folder);
    return access(path, R_OK) == 0;
}

/* PyTorch looks for its CUDA part once, at the first operator that must know, and what is loaded later it
 * never finds: an engine on the CPU would switch GPUs off for the whole process. Loading takes a quarter of
 * the time that libtorch_cpu.so takes, without NVIDIA's own libraries, so it is left out where there is no
 * driver. A request for a GPU reports why it could not be loaded. */
void stk__torch_cuda_load(const stk__torch_api *api)
{
    char folder[PATH_MAX - 32], path[PATH_MAX];
    if (!stk__torch_cuda_is_built(api) || !stk__cuda_api_open(NULL)) return;
    find_folder(api, folder, sizeof folder);
    snprintf(path, sizeof path, "%slibtorch_cuda.so", folder);
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) dlerror(); /* clears the error state */
}

static bool take(void *library, const char *name, void *member)
{
    void *symbol = dlsym(library, name);
    if (symbol) memcpy(member, &symbol, sizeof symbol); /* C has no cast from void * to a function */
    return symbol != NULL;
}

static stk_status refuse_call(const char *name, stk_error *error)
{
    stk__fail(error, STK_ERROR_UNSUPPORTED, "unsupported PyTorch: libtorch_cuda.so lacks '%s'", name);
    stk__error_hint(error, "install another PyTorch with CUDA; run.device=cpu trains on the CPU");
    return STK_ERROR_UNSUPPORTED;
}

static stk_status take_calls(void *cuda, void *host, stk__torch_cuda_api *calls, stk_error *error)
{
    const struct {
        void *library, *member;
        const char *name;
    } needed[] = {{cuda, &calls->get_stream, "aoti_torch_get_current_cuda_stream"},
                  {host, &calls->get_data, "aoti_torch_get_data_ptr"},
                  {host, &calls->device_type, "aoti_torch_device_type_cuda"}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!take(needed[i].library, needed[i].name, needed[i].member))
            return refuse_call(needed[i].name, error);
    take(host, "_ZN2at13globalContextEv", &calls->context);
    take(host, "_ZN2at7Context18setAllowTF32CuBLASEb", &calls->allow_products);
    take(host, "_ZN2at7Context17setAllowTF32CuDNNEb", &calls->allow_convolutions);
    take(host, "_ZN2at7Context17setBenchmarkCuDNNEb", &calls->set_benchmark);
    take(host, "_ZN2at7Context21setDeterministicCuDNNEb", &calls->set_deterministic);
    take(host, "_ZN2at7Context26setDeterministicAlgorithmsEbb", &calls->set_deterministic_all);
    take(host, "_ZN2at7Context19setFloat32PrecisionENS_14Float32BackendENS_9Float32OpENS_16Float32PrecisionE",
         &calls->set_precision);
    return STK_OK;
}

stk_status stk__torch_cuda_api_open(stk__torch_cuda_api *calls, const stk__torch_api *api, stk_error *error)
{
    char folder[PATH_MAX - 32], path[PATH_MAX];
    find_folder(api, folder, sizeof folder);
    snprintf(path, sizeof path, "%slibtorch_cpu.so", folder);
    void *host = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* the open one once more */
    snprintf(path, sizeof path, "%slibtorch_cuda.so", folder);
    void *cuda = host ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (cuda) stk__torch_graph_api_find(&calls->graphs, cuda, host);
    if (cuda) return take_calls(cuda, host, calls, error);
    stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot load libtorch_cuda.so of PyTorch: %s", dlerror());
    stk__error_hint(error, "install the NVIDIA packages that this PyTorch needs (pip install torch does); "
                           "run.device=cpu trains on the CPU");
    return STK_ERROR_UNSUPPORTED;
}
