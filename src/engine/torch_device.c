#include "engine/torch_device.h"

#include "core/number.h"
#include "device/device.h"
#include "engine/host_arena.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

stk_status stk__torch_device_refuse(const char *word, const char *why, const char *hint, stk_error *error)
{
    stk__fail(error, STK_ERROR_UNSUPPORTED, "run.device = '%s' cannot be used: %s", word, why);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_UNSUPPORTED;
}

/* Its part for CUDA is a library beside the one that is open. */
static bool has_cuda(const stk__torch_api *api)
{
    Dl_info info;
    void *symbol;
    char path[PATH_MAX];
    memcpy(&symbol, &api->aoti_torch_abi_version, sizeof symbol);
    if (!dladdr(symbol, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof path, "%.*slibtorch_cuda.so", slash ? (int)(slash + 1 - info.dli_fname) : 0,
             info.dli_fname);
    return access(path, R_OK) == 0;
}

/* "cuda" is "cuda:0". */
static bool is_cuda(const char *word, int64_t *index)
{
    *index = 0;
    if (strcmp(word, "cuda") == 0) return true;
    return strncmp(word, "cuda:", 5) == 0 && stk__number_whole(word + 5, strlen(word + 5), index) &&
           *index >= 0;
}

/* So far it ends in a refusal, but in one that says what is missing here. */
static stk_status find_cuda(const stk__torch_api *api, const char *word, int64_t index, stk_error *error)
{
    static const char on_cpu[] = "run.device=cpu trains on the CPU";
    char why[400];
    stk__device_info gpus[STK_DEVICE_MOST];
    if (!has_cuda(api)) {
        snprintf(why, sizeof why, "this PyTorch (%d.%d.%d) was built without CUDA", api->major, api->minor,
                 api->patch);
        return stk__torch_device_refuse(
            word, why, "install a PyTorch with CUDA; until then run.device=cpu trains on the CPU", error);
    }
    const int count = stk__device_cuda.list(gpus, STK_DEVICE_MOST);
    if (count < 1 || (count == 1 && !gpus[0].available)) {
        snprintf(why, sizeof why, "there is no NVIDIA GPU (%s)", count ? gpus[0].why : "none is listed");
        return stk__torch_device_refuse(
            word, why, "`stoker devices` says what is here; run.device=cpu trains on the CPU", error);
    }
    snprintf(why, sizeof why, "there %s only %d GPU%s", count == 1 ? "is" : "are", count,
             count == 1 ? "" : "s");
    if (index >= count) return stk__torch_device_refuse(word, why, on_cpu, error);
    return stk__torch_device_refuse(word, "this version does not train on GPUs yet", on_cpu, error);
}

stk_status stk__torch_device_find(const stk__torch_api *api, const char *word, stk__torch_device *device,
                                  stk_error *error)
{
    int64_t index;
    *device = (stk__torch_device){.type = api->aoti_torch_device_type_cpu(), .index = 0};
    if (!word || strcmp(word, "auto") == 0 || strcmp(word, "cpu") == 0) return STK_OK;
    if (is_cuda(word, &index)) return find_cuda(api, word, index, error);
    return stk__torch_device_refuse(word, "there is no such device", "auto, cpu, or cuda:0", error);
}

const char *stk__torch_device_name(const stk__torch_device *device)
{
    (void)device;
    return "CPU";
}

stk_status stk__torch_arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                   stk_error *error)
{
    return stk__host_arena_create(engine, size_bytes, arena, error);
}

void stk__torch_arena_destroy(stk__arena *arena)
{
    stk__host_arena_destroy(arena);
}
