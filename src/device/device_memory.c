/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that stay in a device's memory: the front of the few calls for them, and what consumers call. */
#include "device/device.h"
#include "device/kernel/launch.h"

stk_status stk__device_memory_create(stk__device *device, const stk__device_room *room,
                                     stk__device_memory **memory, stk_error *error)
{
    *memory = NULL;
    if (!stk__device_keeps(device)) {
        stk__fail(error, STK_ERROR_UNSUPPORTED, "'%s' cannot keep batches in device memory",
                  device->info.name);
        stk__error_hint(error, "only CUDA devices support this");
        return STK_ERROR_UNSUPPORTED;
    }
    return device->ops->memory_create(device, room, memory, error);
}

bool stk__device_memory_destroy(stk__device_memory **memory)
{
    const bool clean = !*memory || (*memory)->device->ops->memory_destroy(*memory);
    *memory = NULL;
    return clean;
}

stk_status stk__device_submit(stk__device_memory *memory, const stk__device_task *task, stk_error *error)
{
    stk__augment_batch batch = task->augment;
    if (batch.target.dtype == STK_DTYPE_U8) batch.target.dtype = STK_DTYPE_F32; /* what kernels make first */
    if (batch.count) STK__TRY(stk__launch_check(&batch, error));
    return memory->device->ops->submit(memory, task, error);
}

stk_status stk__device_ready(stk__device_memory *memory, stk_error *error)
{
    return memory->device->ops->ready(memory, error);
}

stk_status stk__device_ready_on(stk__device_memory *memory, void *stream, stk_error *error)
{
    return memory->device->ops->ready_on(memory, stream, error);
}

stk_status stk__device_release_on(stk__device_memory *memory, void *stream, stk_error *error)
{
    return memory->device->ops->release_on(memory, stream, error);
}

stk_status stk__device_ask(stk__device_memory *memory, bool *free, stk_error *error)
{
    memory->device->last_kernel_ns = memory->device->last_copy_ns = 0; /* of a slot that was free before */
    return memory->device->ops->ask(memory, free, error);
}

stk_status stk__device_fetch(stk__device_memory *memory, const stk__device_copy *copy, stk_error *error)
{
    return memory->device->ops->fetch(memory, copy, error);
}

static stk_status refuse_null(stk_error *error)
{
    return stk__fail(error, STK_ERROR_ARGUMENT, "a batch, tensor or target is NULL");
}

stk_status stk_batch_wait(const stk_batch *batch, stk_error *error)
{
    if (!batch) return refuse_null(error);
    return batch->ready ? stk__device_ready(batch->ready, error) : STK_OK;
}

stk_status stk_batch_wait_on(const stk_batch *batch, void *stream, stk_error *error)
{
    if (!batch) return refuse_null(error);
    return batch->ready ? stk__device_ready_on(batch->ready, stream, error) : STK_OK;
}

stk_status stk_batch_fetch(const stk_batch *batch, const stk_tensor *tensor, void *to, stk_error *error)
{
    if (!batch || !tensor || !to) return refuse_null(error);
    const stk__device_copy copy = {to, tensor->data, (size_t)stk_tensor_bytes(tensor)};
    if (tensor->device == STK_DEVICE_CPU || !batch->ready)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the tensor is in host memory: read it directly");
    STK__TRY(stk_batch_wait(batch, error));
    return stk__device_fetch(batch->ready, &copy, error);
}
