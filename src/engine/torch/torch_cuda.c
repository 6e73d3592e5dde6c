/* SPDX-License-Identifier: Apache-2.0 */
/* The engine torch on an NVIDIA GPU: pinned staging buffers for what the host reads or writes,
 * asynchronous copies with events, one stream that our kernels and PyTorch's share, and PyTorch's switches
 * for TF32 and deterministic algorithms. One thread. */
#include "engine/torch/torch_cuda.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_S = 600 }; /* for what is queued between two looks of the host */

/* --- pinned memory ---------------------------------------------------------------------------------------
 */

/* If there is none yet. */
static stk_status make_event(stk__cuda *driver, stk__cu_handle *event, stk_error *error)
{
    stk__cu_handle made;
    if (*event) return STK_OK;
    STK__TRY(stk__cuda_check(driver, driver->api->cuEventCreate(&made, CU_EVENT_DISABLE_TIMING),
                             "cuEventCreate", error));
    *event = made;
    return STK_OK;
}

static stk_status wait_for(stk__torch_cuda *cuda, stk__torch_stage *stage, stk__cuda_site site,
                           stk_error *error)
{
    cuda->waits++;
    STK__TRY(stk__cuda_wait(&cuda->driver, site, stage->over, error));
    stage->flying = false;
    return STK_OK;
}

/* Whether it is not mapped and no copy uses it. */
static stk_status is_idle(stk__torch_cuda *cuda, stk__torch_stage *stage, bool *idle, stk_error *error)
{
    *idle = !stage->lent;
    if (stage->lent || !stage->flying) return STK_OK;
    STK__TRY(stk__cuda_ask(&cuda->driver, STK_CUDA_WAIT_STAGE, stage->over, idle, error));
    stage->flying = !*idle;
    return STK_OK;
}

/* The idle one that fits best: large enough, else any, else one more; when all are on their way, the first
 * that is waited for. */
static stk_status find_stage(stk__torch_cuda *cuda, size_t bytes, stk__torch_stage **found, stk_error *error)
{
    stk__torch_stage *flying = NULL;
    *found = NULL;
    for (int i = 0; i < STK_TORCH_STAGES; i++) {
        stk__torch_stage *stage = &cuda->stages[i];
        bool idle;
        STK__TRY(is_idle(cuda, stage, &idle, error));
        if (idle && (!*found || (*found)->memory.capacity_bytes < bytes)) *found = stage;
        if (!idle && !stage->lent && !flying) flying = stage;
        if (idle && stage->memory.capacity_bytes >= bytes) return STK_OK;
    }
    if (*found) return STK_OK;
    if (!flying)
        return stk__fail(error, STK_ERROR_ARGUMENT, "more than %d tensors are mapped at once",
                         STK_TORCH_STAGES);
    *found = flying;
    return wait_for(cuda, flying, STK_CUDA_WAIT_STAGE, error);
}

static stk_status take_stage(stk__torch_cuda *cuda, size_t bytes, stk__torch_stage **found, stk_error *error)
{
    stk__cuda *driver = &cuda->driver;
    stk__torch_stage *stage;
    STK__TRY(find_stage(cuda, bytes, &stage, error));
    STK__TRY(stk__cuda_grow_pinned(driver, &stage->memory, bytes, error));
    STK__TRY(make_event(driver, &stage->over, error));
    stage->lent = true;
    *found = stage;
    return STK_OK;
}

static stk__torch_stage *stage_of(stk__torch_cuda *cuda, const stk_tensor *view)
{
    stk__torch_stage *stage = cuda->stages;
    while (stage->memory.data != view->data)
        stage++;
    return stage;
}

/* Copies and waits would be kept in a graph with the host's memory of now, or break it. */
static stk_status enter(stk__torch_cuda *cuda, stk_error *error)
{
    if (cuda->capturing) return stk__fail(error, STK_ERROR_UNSUPPORTED, "the host takes part in it");
    return stk__cuda_enter(&cuda->driver, error);
}

/* --- copies ----------------------------------------------------------------------------------------------
 */

static stk_status fetch(stk__torch_cuda *cuda, const stk__tensor *tensor, stk__torch_stage *stage,
                        size_t bytes, stk_error *error)
{
    stk__cuda *driver = &cuda->driver;
    const stk__cu_pointer from = (stk__cu_pointer)(uintptr_t)tensor->memory;
    cuda->fetches++;
    STK__TRY(stk__cuda_check(
        driver, driver->api->cuMemcpyDtoHAsync_v2(stage->memory.data, from, bytes, driver->stream),
        "cuMemcpyDtoHAsync", error));
    STK__TRY(stk__cuda_mark(driver, stage->over, error));
    stage->flying = true;
    return STK_OK;
}

/* What of a tensor is wanted in pinned memory. */
typedef enum content { NOTHING, LATER, NOW } content;

static stk_status map(stk__torch_cuda *cuda, const stk__tensor *tensor, content wanted, stk_tensor *view,
                      stk_error *error)
{
    const size_t bytes = (size_t)stk_tensor_bytes(view);
    stk__torch_stage *stage;
    STK__TRY(take_stage(cuda, bytes, &stage, error));
    stk_status status = wanted != NOTHING ? fetch(cuda, tensor, stage, bytes, error) : STK_OK;
    if (status == STK_OK && wanted == NOW) status = wait_for(cuda, stage, STK_CUDA_WAIT_READ, error);
    if (status != STK_OK) {
        stage->lent = false;
        stk__cuda_drain(&cuda->driver, stage->over);
        return status;
    }
    view->data = stage->memory.data;
    return STK_OK;
}

static stk_status enter_and_map(stk__torch_cuda *cuda, const stk__tensor *tensor, content wanted,
                                stk_tensor *view, stk_error *error)
{
    STK__TRY(enter(cuda, error));
    const stk_status status = map(cuda, tensor, wanted, view, error);
    stk__cuda_leave(&cuda->driver);
    return status;
}

stk_status stk__torch_cuda_map(stk__torch_cuda *cuda, const stk__tensor *tensor, stk_tensor *view,
                               stk_error *error)
{
    return enter_and_map(cuda, tensor, NOW, view, error);
}

stk_status stk__torch_cuda_map_new(stk__torch_cuda *cuda, stk_tensor *view, stk_error *error)
{
    return enter_and_map(cuda, NULL, NOTHING, view, error);
}

stk_status stk__torch_cuda_fetch(stk__torch_cuda *cuda, const stk__tensor *tensor, stk_tensor *view,
                                 stk_error *error)
{
    return enter_and_map(cuda, tensor, LATER, view, error);
}

stk_status stk__torch_cuda_ask(stk__torch_cuda *cuda, const stk_tensor *view, bool *there, stk_error *error)
{
    stk__torch_stage *stage = stage_of(cuda, view);
    STK__TRY(enter(cuda, error));
    const stk_status status = stk__cuda_ask(&cuda->driver, STK_CUDA_WAIT_LATE, stage->over, there, error);
    stk__cuda_leave(&cuda->driver);
    stage->flying = !*there;
    return status;
}

/* A caller that knows it is complete does not wait. */
stk_status stk__torch_cuda_wait(stk__torch_cuda *cuda, const stk_tensor *view, stk_error *error)
{
    stk__torch_stage *stage = stage_of(cuda, view);
    if (!stage->flying) return STK_OK;
    STK__TRY(enter(cuda, error));
    const stk_status status = wait_for(cuda, stage, STK_CUDA_WAIT_LATE, error);
    stk__cuda_leave(&cuda->driver);
    return status;
}

static stk_status put_back(stk__torch_cuda *cuda, const stk__tensor *tensor, stk__torch_stage *stage,
                           size_t bytes, stk_error *error)
{
    stk__cuda *driver = &cuda->driver;
    const stk__cu_pointer to = (stk__cu_pointer)(uintptr_t)tensor->memory;
    STK__TRY(stk__cuda_copy_in(driver, to, stage->memory.data, bytes, error));
    const stk_status status = stk__cuda_mark(driver, stage->over, error);
    stage->flying = status == STK_OK;
    if (status != STK_OK) stk__cuda_drain(driver, stage->over);
    return status;
}

stk_status stk__torch_cuda_unmap(stk__torch_cuda *cuda, const stk__tensor *tensor, const stk_tensor *view,
                                 bool changed, stk_error *error)
{
    stk__torch_stage *stage = stage_of(cuda, view);
    stage->lent = false;
    if (!changed) return STK_OK;
    STK__TRY(enter(cuda, error));
    const stk_status status = put_back(cuda, tensor, stage, (size_t)stk_tensor_bytes(view), error);
    stk__cuda_leave(&cuda->driver);
    return status;
}

static stk_status wait_for_stream(stk__torch_cuda *cuda, stk_error *error)
{
    stk__torch_stage *stage;
    STK__TRY(take_stage(cuda, 1, &stage, error));
    stage->lent = false;
    STK__TRY(stk__cuda_mark(&cuda->driver, stage->over, error));
    return wait_for(cuda, stage, STK_CUDA_WAIT_SYNC, error);
}

stk_status stk__torch_cuda_sync(stk__torch_cuda *cuda, stk_error *error)
{
    STK__TRY(enter(cuda, error));
    const stk_status status = wait_for_stream(cuda, error);
    stk__cuda_leave(&cuda->driver);
    return status;
}

void stk__torch_cuda_mark(stk__torch_cuda *cuda)
{
    if (enter(cuda, NULL) != STK_OK) return;
    if (make_event(&cuda->driver, &cuda->behind, NULL) == STK_OK)
        stk__cuda_mark(&cuda->driver, cuda->behind, NULL);
    stk__cuda_leave(&cuda->driver);
}

bool stk__torch_cuda_is_busy(stk__torch_cuda *cuda)
{
    if (!cuda->behind || enter(cuda, NULL) != STK_OK) return false;
    const int code = cuda->driver.api->cuEventQuery(cuda->behind);
    stk__cuda_leave(&cuda->driver);
    return code == CUDA_ERROR_NOT_READY;
}

/* PyTorch keeps what it once took, so the minimum of free memory gives the maximum in use. */
stk__engine_memory stk__torch_cuda_measure(stk__torch_cuda *cuda)
{
    size_t there = 0, total = 0;
    stk__engine_memory memory = {-1, -1, -1};
    if (enter(cuda, NULL) != STK_OK) return memory;
    const int code = cuda->driver.api->cuMemGetInfo_v2(&there, &total);
    stk__cuda_leave(&cuda->driver);
    if (stk__cuda_check(&cuda->driver, code, "cuMemGetInfo", NULL) != STK_OK) return memory;
    memory.free_bytes = (int64_t)there;
    memory.total_bytes = (int64_t)total;
    if (cuda->first_free_bytes < 0) cuda->first_free_bytes = cuda->least_free_bytes = memory.free_bytes;
    if (memory.free_bytes < cuda->least_free_bytes) cuda->least_free_bytes = memory.free_bytes;
    memory.peak_bytes = cuda->first_free_bytes - cuda->least_free_bytes;
    return memory;
}

/* --- opening ---------------------------------------------------------------------------------------------
 */

/* PyTorch has old switches and new ones. Writing the old ones sets both alike and never throws; reading them
 * throws a C++ exception where this process has set one kind only, so it is never read here. Off
 * means "as the rest is" for convolutions, which may be TF32 by the new switches: those are set as well. */
bool stk__torch_cuda_set_tf32(stk__torch_cuda *cuda, bool allow)
{
    enum { BACKEND_CUDA = 1, OP_CONV = 1, OP_RNN = 2, PRECISION_IEEE = 1 }; /* as PyTorch counts them */
    const stk__torch_cuda_api *api = &cuda->api;
    if (!api->context || !api->allow_products || !api->allow_convolutions) return false;
    void *context = api->context();
    api->allow_products(context, allow);
    api->allow_convolutions(context, allow);
    for (int op = OP_CONV; !allow && api->set_precision && op <= OP_RNN; op++)
        api->set_precision(context, BACKEND_CUDA, op, PRECISION_IEEE);
    return allow && cuda->driver.architecture >= 80;
}

/* Plain assignments in PyTorch: they do not throw. Operators that are never deterministic (gradients of
 * bilinear resizing) still run, with a warning of PyTorch's. */
bool stk__torch_cuda_set_algorithms(stk__torch_cuda *cuda, bool measured, bool deterministic)
{
    const stk__torch_cuda_api *api = &cuda->api;
    if (!api->context || !api->set_benchmark || !api->set_deterministic || !api->set_deterministic_all)
        return false;
    void *context = api->context();
    api->set_benchmark(context, measured);
    api->set_deterministic(context, deterministic);
    api->set_deterministic_all(context, deterministic, true);
    return true;
}

/* Since sm_70 GPUs multiply matrices of f16 in units of their own, since sm_80 those of bf16, too. */
void stk__torch_cuda_tell_half(stk__torch_cuda *cuda, stk__engine_info *info)
{
    const int architecture = cuda->driver.architecture;
    info->bf16 = architecture >= 80 ? STK_HALF_FAST : STK_HALF_NATIVE;
    info->f16 = architecture >= 70 ? STK_HALF_FAST : STK_HALF_NATIVE;
    snprintf(cuda->half_why, sizeof cuda->half_why,
             architecture >= 70
                 ? "bf16 needs sm_80 or newer to be fast; this GPU (sm_%d) is fast in fp16"
                 : "this GPU (sm_%d) is not faster with fp16 or bf16; that needs sm_70 or newer",
             architecture);
    info->half_why = architecture >= 80 ? NULL : cuda->half_why;
}

stk_status stk__torch_cuda_build(stk__torch_cuda *cuda, stk_error *error)
{
    STK__TRY(enter(cuda, error));
    const stk_status status = stk__cuda_build(&cuda->driver, stk__kernel_source, error);
    stk__cuda_leave(&cuda->driver);
    return status;
}

static _Thread_local void *current_stream; /* of ours, in the calling thread; NULL: PyTorch's default */

void stk__torch_cuda_prepare_thread(const stk__torch_cuda *cuda)
{
    if (!cuda->own_stream || current_stream == cuda->driver.stream) return;
    if (cuda->api.graphs.set_stream(cuda->driver.stream, cuda->driver.device.index) == 0)
        current_stream = cuda->driver.stream;
}

void stk__torch_cuda_use_graphs(stk__torch_cuda *cuda, stk__engine_info *info)
{
    const int index = cuda->driver.device.index;
    void *stream = NULL;
    if (cuda->api.graphs.missing)
        snprintf(info->graphs_why, sizeof info->graphs_why, "this PyTorch lacks '%.60s'",
                 cuda->api.graphs.missing);
    else if (!cuda->driver.stream && cuda->api.graphs.pool_stream(false, index, &stream) != 0)
        snprintf(info->graphs_why, sizeof info->graphs_why, "PyTorch provides no stream for CUDA graphs");
    info->graphs = !info->graphs_why[0];
    if (!stream) return; /* or it is not the default one already */
    cuda->driver.stream = stream;
    cuda->own_stream = true;
    stk__torch_cuda_prepare_thread(cuda);
}

/* Who uses PyTorch in this thread after us finds its default stream again. */
static void leave_stream(stk__torch_cuda *cuda)
{
    if (!cuda->own_stream || current_stream != cuda->driver.stream) return;
    cuda->api.graphs.set_stream(NULL, cuda->driver.device.index);
    current_stream = NULL;
}

static void release_stages(stk__torch_cuda *cuda)
{
    stk__cuda *driver = &cuda->driver;
    for (int i = 0; i < STK_TORCH_STAGES; i++) {
        stk__torch_stage *stage = &cuda->stages[i];
        if (stage->flying) stk__cuda_wait(driver, STK_CUDA_WAIT_STAGES, stage->over, NULL);
        if (stk__cuda_has_lost(driver)) return; /* its memory is left behind */
        if (stage->over) driver->api->cuEventDestroy_v2(stage->over);
        if (stage->memory.data) driver->api->cuMemFreeHost(stage->memory.data);
    }
    if (driver->module && cuda->behind && stk__cuda_mark(driver, cuda->behind, NULL) == STK_OK)
        stk__cuda_wait(driver, STK_CUDA_WAIT_STAGES, cuda->behind, NULL); /* kernels of ours may be queued */
    if (stk__cuda_has_lost(driver)) return;
    if (cuda->behind) driver->api->cuEventDestroy_v2(cuda->behind);
    stk__cuda_unload(driver);
}

void stk__torch_cuda_close(stk__torch_cuda **cuda)
{
    stk__torch_cuda *gone = *cuda;
    if (!gone) return;
    leave_stream(gone);
    if (gone->driver.context && stk__cuda_enter(&gone->driver, NULL) == STK_OK) {
        release_stages(gone);
        stk__cuda_leave(&gone->driver);
        if (!stk__cuda_has_lost(&gone->driver))
            gone->driver.api->cuDevicePrimaryCtxRelease_v2(gone->driver.ordinal);
    }
    stk__free(gone);
    *cuda = NULL;
}

static stk_status ask_attribute(stk__cuda *driver, int attribute, int *value, stk_error *error)
{
    return stk__cuda_check(driver, driver->api->cuDeviceGetAttribute(value, attribute, driver->ordinal),
                           "cuDeviceGetAttribute", error);
}

/* The GPU was listed, so the driver is open and runs. */
static stk_status start_driver(stk__torch_cuda *cuda, int index, stk_error *error)
{
    stk__cuda *driver = &cuda->driver;
    stk__cu_handle context;
    int major = 0, minor = 0;
    driver->api = stk__cuda_api_open(NULL);
    STK__TRY(
        stk__cuda_check(driver, driver->api->cuDeviceGet(&driver->ordinal, index), "cuDeviceGet", error));
    STK__TRY(ask_attribute(driver, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major, error));
    STK__TRY(ask_attribute(driver, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor, error));
    driver->architecture = 10 * major + minor;
    STK__TRY(stk__cuda_check(driver, driver->api->cuDevicePrimaryCtxRetain(&context, driver->ordinal),
                             "cuDevicePrimaryCtxRetain", error));
    driver->context = context;
    return STK_OK;
}

static stk_status ask_stream(stk__torch_cuda *cuda, const stk__torch_api *api, int index, stk_error *error)
{
    void *stream = NULL;
    if (cuda->api.get_stream(index, &stream) == 0) {
        cuda->driver.stream = stream;
        return STK_OK;
    }
    const char *why = api->last_error ? api->last_error() : NULL;
    if (!why || !*why) why = "no error message";
    stk__fail(error, STK_ERROR_UNSUPPORTED, "PyTorch cannot use the GPU: %.*s", (int)strcspn(why, "\n"), why);
    stk__error_hint(error, "check that python3 -c 'import torch; torch.zeros(1).cuda()' works");
    return STK_ERROR_UNSUPPORTED;
}

stk_status stk__torch_cuda_open(stk__torch_cuda **cuda, const stk__torch_api *api, int index,
                                stk_error *error)
{
    stk__torch_cuda *made = stk__alloc(sizeof *made);
    *cuda = NULL;
    if (!made) return stk__fail_memory(error, sizeof *made, "an engine's GPU");
    made->first_free_bytes = -1;
    made->driver.device.timeout_ns = (uint64_t)PATIENCE_S * 1000000000;
    made->driver.device.index = index;
    snprintf(made->driver.device.info.name, sizeof made->driver.device.info.name, "cuda:%d", index);
    snprintf(made->driver.device.info.model, sizeof made->driver.device.info.model, "cuda:%d", index);
    stk_status status = stk__torch_cuda_api_open(&made->api, api, error);
    if (status == STK_OK) status = start_driver(made, index, error);
    if (status == STK_OK) status = ask_stream(made, api, index, error);
    if (status != STK_OK) {
        stk__torch_cuda_close(&made);
        return status;
    }
    stk__torch_cuda_measure(made);
    *cuda = made;
    return STK_OK;
}
