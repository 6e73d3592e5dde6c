/* SPDX-License-Identifier: Apache-2.0 */
/* Where the engine torch keeps its tensors, host or GPU: choosing and checking the device, arenas, and
 * mapping tensors for the host. The only file that tells the two apart. */
#include "engine/torch/torch_device.h"

#include "core/memory.h"
#include "core/number.h"
#include "engine/host_arena.h"
#include "engine/torch/torch_call.h"
#include "engine/torch/torch_place.h"

#include <stdio.h>
#include <string.h>

static const char on_cpu[] = "run.device=cpu trains on the CPU";

stk_status stk__torch_device_refuse(const char *word, const char *why, const char *hint, stk_error *error)
{
    stk__fail(error, STK_ERROR_UNSUPPORTED, "run.device = '%s' cannot be used: %s", word, why);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_UNSUPPORTED;
}

/* "cuda" is "cuda:0". */
static bool is_cuda(const char *word, int64_t *index)
{
    *index = 0;
    if (strcmp(word, "cuda") == 0) return true;
    return strncmp(word, "cuda:", 5) == 0 && stk__number_whole(word + 5, strlen(word + 5), index) &&
           *index >= 0;
}

static stk_status find_gpu(const char *word, int64_t index, stk_error *error)
{
    char why[400];
    stk__device_info gpus[STK_DEVICE_MOST];
    const int count = stk__device_cuda.list(gpus, STK_DEVICE_MOST);
    if (count < 1 || (count == 1 && !gpus[0].available)) {
        snprintf(why, sizeof why, "no NVIDIA GPU (%s)", count ? gpus[0].why : "the driver lists none");
        return stk__torch_device_refuse(
            word, why, "`stoker devices` lists the available devices; run.device=cpu trains on the CPU",
            error);
    }
    snprintf(why, sizeof why, "the driver lists only %d GPU%s", count, count == 1 ? "" : "s");
    if (index >= count) return stk__torch_device_refuse(word, why, on_cpu, error);
    if (!gpus[index].available) return stk__torch_device_refuse(word, gpus[index].why, on_cpu, error);
    return STK_OK;
}

/* A machine without a GPU, or whose GPUs are hidden from this process. */
static bool has_none(void)
{
    const stk__cuda_api *driver = stk__cuda_api_open(NULL);
    int count = 0;
    if (!driver) return true;
    const int code = driver->cuInit(0);
    return code == CUDA_ERROR_NO_DEVICE ||
           (code == CUDA_SUCCESS && driver->cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 0);
}

bool stk__torch_device_lists_gpu(char why[STK_ENGINE_WHY])
{
    stk__device_info gpu = {0};
    const bool listed = stk__device_cuda.list(&gpu, 1) == 1;
    why[0] = '\0';
    if (listed && gpu.available) return true;
    if (!has_none()) snprintf(why, STK_ENGINE_WHY, "%.*s", STK_ENGINE_WHY - 1, gpu.why);
    return false;
}

static stk_status open_cuda(const stk__torch_api *api, const char *word, int64_t index,
                            stk__torch_device *device, stk_error *error)
{
    char why[96];
    stk_error own = {0};
    if (!stk__torch_cuda_is_built(api)) {
        snprintf(why, sizeof why, "this PyTorch (%d.%d.%d) was built without CUDA", api->major, api->minor,
                 api->patch);
        return stk__torch_device_refuse(
            word, why, "install a PyTorch build with CUDA; run.device=cpu trains on the CPU", error);
    }
    const stk_status status = stk__torch_cuda_open(&device->cuda, api, (int)index, &own);
    if (status == STK_ERROR_UNSUPPORTED) return stk__torch_device_refuse(word, own.message, own.hint, error);
    if (status != STK_OK) {
        if (error) *error = own;
        return status;
    }
    device->type = device->cuda->api.device_type();
    device->index = (int32_t)index;
    return STK_OK;
}

/* The first GPU, if all of it works; else the host. */
static void open_best(const stk__torch_api *api, stk__torch_device *device)
{
    stk_error why = {0};
    if (!stk__torch_device_lists_gpu(device->why) || open_cuda(api, "cuda:0", 0, device, &why) == STK_OK)
        return;
    snprintf(device->why, sizeof device->why, "%.*s", STK_ENGINE_WHY - 1, why.message);
}

stk_status stk__torch_device_open(const stk__torch_api *api, const char *word, stk__torch_device *device,
                                  stk_error *error)
{
    int64_t index;
    *device = (stk__torch_device){.type = api->aoti_torch_device_type_cpu(), .index = 0};
    if (word && strcmp(word, "cpu") == 0) return STK_OK;
    if (!word || strcmp(word, "auto") == 0) {
        open_best(api, device);
        return STK_OK;
    }
    is_cuda(word, &index);
    return open_cuda(api, word, index, device, error);
}

void stk__torch_device_plan(const char *word, stk__torch_device *device)
{
    int64_t index = 0;
    char why[STK_ENGINE_WHY];
    *device = (stk__torch_device){.index = 0};
    if (word && strcmp(word, "cpu") == 0) return;
    const bool automatic = !word || strcmp(word, "auto") == 0;
    device->dry_gpu = automatic ? stk__torch_device_lists_gpu(why) : is_cuda(word, &index);
    device->index = (int32_t)index;
}

stk_status stk__torch_device_check(const char *word, stk_error *error)
{
    int64_t index;
    if (!word || strcmp(word, "auto") == 0 || strcmp(word, "cpu") == 0) return STK_OK;
    if (is_cuda(word, &index)) return find_gpu(word, index, error);
    stk__fail(error, STK_ERROR_CONFIG, "run.device = '%s': unknown device", word);
    stk__error_hint(error, "run.device is auto, cpu or cuda:N");
    return STK_ERROR_CONFIG;
}

void stk__torch_device_close(stk__torch_device *device)
{
    stk__torch_cuda_close(&device->cuda);
}

const char *stk__torch_device_name(const stk__torch_device *device)
{
    return device->cuda ? device->cuda->driver.device.info.name : "CPU";
}

/* --- arenas ----------------------------------------------------------------------------------------------
 */

/* Bytes of PyTorch's allocator, so that both take from one store. */
typedef struct gpu_arena {
    stk__arena front;
    stk__torch_handle bytes;
} gpu_arena;

static stk_status allocate(stk__torch *engine, gpu_arena *arena, size_t size_bytes, stk_error *error)
{
    stk__torch_scope s = stk__torch_begin(&engine->front, error);
    const int64_t size = (int64_t)size_bytes, stride = 1;
    const int32_t made =
        engine->api->aoti_torch_empty_strided(1, &size, &stride, engine->api->aoti_torch_dtype_uint8(),
                                              engine->device.type, engine->device.index, &arena->bytes);
    if (made != 0) arena->bytes = NULL;
    if (made != 0 && !engine->api->last_error) /* before 2.13 it says nothing; what else could it be? */
        return stk__fail_memory(error, size_bytes, "tensors on the GPU");
    if (!stk__torch_went_well(&s, made, "memory for tensors")) return stk__torch_end(&s);
    STK_TORCH_RUN(&s, "aten::zero_", "", STK_TORCH_T(arena->bytes));
    stk__torch_went_well(&s, engine->device.cuda->api.get_data(arena->bytes, &arena->front.memory),
                         "a tensor's address");
    return stk__torch_end(&s);
}

static void destroy_gpu_arena(stk__torch *engine, gpu_arena *arena)
{
    if (arena->bytes) engine->api->aoti_torch_delete_tensor_object(arena->bytes);
    stk__free(arena);
}

/* Without places results are taken over, and much of an arena is never touched. */
static stk_status create_host_arena(stk__torch *engine, size_t size_bytes, stk__arena **arena,
                                    stk_error *error)
{
    if (!engine->places) return stk__host_arena_create(&engine->front, size_bytes, arena, error);
    STK__TRY(stk__host_arena_create_backed(&engine->front, size_bytes, arena, error));
    stk__torch_place_add(*arena);
    return STK_OK;
}

stk_status stk__torch_arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena,
                                   stk_error *error)
{
    stk__torch *torch = stk__torch_of(engine);
    if (!torch->device.cuda) return create_host_arena(torch, size_bytes, arena, error);
    gpu_arena *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "an arena");
    made->front = (stk__arena){.engine = engine, .size_bytes = size_bytes};
    const stk_status status = allocate(torch, made, size_bytes, error);
    if (status == STK_OK)
        *arena = &made->front;
    else
        destroy_gpu_arena(torch, made);
    return status;
}

void stk__torch_arena_destroy(stk__arena *arena)
{
    stk__torch *torch = stk__torch_of(arena->engine);
    if (torch->device.cuda) {
        destroy_gpu_arena(torch, (gpu_arena *)arena);
        return;
    }
    stk__torch_place_remove(arena);
    stk__host_arena_destroy(arena);
}

/* --- what the host sees ----------------------------------------------------------------------------------
 */

static stk__torch_cuda *cuda_of(const stk__engine *engine)
{
    return stk__torch_of(engine)->device.cuda;
}

stk_status stk__torch_tensor_map(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    stk__torch_cuda *cuda = cuda_of(tensor->engine);
    return cuda ? stk__torch_cuda_map(cuda, tensor, view, error) : STK_OK;
}

stk_status stk__torch_tensor_map_new(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    stk__torch_cuda *cuda = cuda_of(tensor->engine);
    return cuda ? stk__torch_cuda_map_new(cuda, view, error) : STK_OK;
}

stk_status stk__torch_tensor_unmap(stk__tensor *tensor, const stk_tensor *view, bool changed,
                                   stk_error *error)
{
    stk__torch_cuda *cuda = cuda_of(tensor->engine);
    return cuda ? stk__torch_cuda_unmap(cuda, tensor, view, changed, error) : STK_OK;
}

/* The front asks for these three on GPUs only. */
stk_status stk__torch_fetch_begin(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    return stk__torch_cuda_fetch(cuda_of(tensor->engine), tensor, view, error);
}

stk_status stk__torch_fetch_ask(stk__tensor *tensor, const stk_tensor *view, bool *there, stk_error *error)
{
    return stk__torch_cuda_ask(cuda_of(tensor->engine), view, there, error);
}

stk_status stk__torch_fetch_wait(stk__tensor *tensor, const stk_tensor *view, stk_error *error)
{
    return stk__torch_cuda_wait(cuda_of(tensor->engine), view, error);
}

stk_status stk__torch_sync(stk__engine *engine, stk_error *error)
{
    stk__torch_cuda *cuda = cuda_of(engine);
    return cuda ? stk__torch_cuda_sync(cuda, error) : STK_OK;
}

void stk__torch_mark(stk__engine *engine)
{
    stk__torch_cuda *cuda = cuda_of(engine);
    if (cuda) stk__torch_cuda_mark(cuda);
}

bool stk__torch_is_busy(const stk__engine *engine)
{
    stk__torch_cuda *cuda = cuda_of(engine);
    return cuda && stk__torch_cuda_is_busy(cuda);
}

bool stk__torch_stream(const stk__engine *engine, void **stream)
{
    const stk__torch_cuda *cuda = cuda_of(engine);
    if (cuda) *stream = cuda->driver.stream;
    return cuda != NULL;
}

stk__engine_memory stk__torch_measure(stk__engine *engine)
{
    stk__torch_cuda *cuda = cuda_of(engine);
    return cuda ? stk__torch_cuda_measure(cuda) : (stk__engine_memory){-1, -1, -1};
}
